"""Predict a language model's benchmark accuracy from its token losses.

    import csv_plugin as cp
    predictor = cp.fit(cp.read_dumps(paths, texts), accuracies, families)
    losses = cp.score(model, tokenizer, texts)   # of another model
    predictor.predict(losses).to_frame()

Names are loaded when they are first used: importing the package loads
neither torch nor OpenCompass.
"""
from importlib import import_module
from typing import Any

__version__ = '0.1.0'

#: Where each public name comes from: module, and its name there.
_PUBLIC = {
    'AccuracyTable': ('core.accuracies', 'AccuracyTable'),
    'CTranslate2Engine': ('extras.engines.ctranslate2', 'CTranslate2Engine'),
    'CapabilityPoints': ('extras.capability_points', 'CapabilityPoints'),
    'Collection': ('io.collection', 'Collection'),
    'CompletionsEngine': ('extras.engines.completions', 'CompletionsEngine'),
    'Coverage': ('extras.coverage', 'Coverage'),
    'DEFAULT_SOLVER': ('core.salience', 'DEFAULT_SOLVER'),
    'DumpInfo': ('core.model_losses', 'DumpInfo'),
    'FeatureTable': ('core.features', 'FeatureTable'),
    'HeatMap': ('extras.heat_maps', 'HeatMap'),
    'InputError': ('core.conventions', 'InputError'),
    'LivePredictions': ('extras.live.live_predictions', 'LivePredictions'),
    'LlamaCppEngine': ('extras.engines.llama_cpp', 'LlamaCppEngine'),
    'LossTable': ('core.losses', 'LossTable'),
    'MLflowLog': ('extras.live.trackers', 'MLflowLog'),
    'Missing': ('core.predictions', 'Missing'),
    'ModelLosses': ('core.model_losses', 'ModelLosses'),
    'Outlier': ('core.outliers', 'Outlier'),
    'Prediction': ('core.predictions', 'Prediction'),
    'PredictionCallback':
    ('extras.live.trainer_callback', 'PredictionCallback'),
    'Predictions': ('core.predictions', 'Predictions'),
    'Predictor': ('core.predictor', 'Predictor'),
    'SOLVERS': ('core.salience', 'SOLVERS'),
    'Study': ('core.study', 'Study'),
    'TargetTokens': ('core.losses', 'TargetTokens'),
    'TensorBoardLog': ('extras.live.trackers', 'TensorBoardLog'),
    'Text': ('core.texts', 'Text'),
    'TextSet': ('core.texts', 'TextSet'),
    'TokenLossDump': ('core.model_losses', 'TokenLossDump'),
    'TokenLosses': ('core.losses', 'TokenLosses'),
    'TokenSpans': ('core.spans', 'TokenSpans'),
    'TrackioLog': ('extras.live.trackers', 'TrackioLog'),
    'TransformersEngine':
    ('lm.engines.transformers_engine', 'TransformersEngine'),
    'Triage': ('triage.judging', 'Triage'),
    'VLLMEngine': ('lm.engines.vllm_engine', 'VLLMEngine'),
    'WandbLog': ('extras.live.trackers', 'WandbLog'),
    'capability_points': ('extras.capability_points', 'capability_points'),
    'choose_units': ('extras.choosing_units', 'choose_units'),
    'coverage_by_level': ('extras.coverage', 'coverage_by_level'),
    'fit': ('lm.methods', 'fit'),
    'forecast': ('triage.judging', 'forecast'),
    'heat_maps': ('extras.heat_maps', 'strongest_maps'),
    'import_losses': ('extras.importers.importing', 'import_losses'),
    'leave_families_out': ('core.study', 'leave_families_out'),
    'load': ('io.predictors', 'load_predictor'),
    'merge_contributions': ('extras.sharing.merging', 'merge_contributions'),
    'outliers': ('core.outliers', 'outliers'),
    'plot_capability':
    ('extras.pictures.accuracy_by_score', 'plot_capability'),
    'plot_leaderboard': ('extras.pictures.models_in_rows', 'plot_leaderboard'),
    'plot_predicted': ('extras.pictures.predicted_by_real', 'plot_predicted'),
    'plot_trajectories':
    ('extras.pictures.accuracy_by_tokens', 'plot_trajectories'),
    'predictor_card': ('extras.sharing.predictor_cards', 'predictor_card'),
    'read_accuracies': ('io.tables', 'read_accuracies'),
    'read_collection': ('io.collection', 'read_collection'),
    'read_dumps': ('io.dumps', 'read_dumps'),
    'read_every_eval_ever': ('extras.sharing.every_eval_ever',
                             'read_every_eval_ever'),
    'read_lm_eval_accuracies': ('extras.importers.lm_eval_accuracies',
                                'read_lm_eval_accuracies'),
    'read_loss_features': ('io.model_tables', 'read_loss_features'),
    'read_model_tables': ('io.model_tables', 'read_model_tables'),
    'read_texts': ('io.text_sets', 'read_texts'),
    'save': ('io.predictors', 'save_predictor'),
    'score': ('lm.dumping', 'score'),
    'shipped_texts': ('io.validation_sets', 'shipped_texts'),
    'split_study': ('core.study', 'split_study'),
    'with_known_scores': ('extras.partial_scores', 'with_known_scores'),
    'write_contribution': ('extras.sharing.contributions',
                           'write_contribution'),
    'write_dump': ('io.dumps', 'write_dump'),
    'write_lm_eval_task': ('extras.importers.lm_eval', 'write_lm_eval_task'),
    'write_texts': ('io.text_sets', 'write_texts'),
}

__all__ = ['__version__', *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module, attribute = _PUBLIC[name]
    value = getattr(import_module(f'{__name__}.{module}'), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
