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

__version__ = '0.2.0'

#: Where each public name comes from: module, and its name there.
_PUBLIC = {
    'AccuracyTable': ('core.accuracies', 'AccuracyTable'),
    'Collection': ('io.collection', 'Collection'),
    'Comparison': ('core.comparison', 'Comparison'),
    'DumpInfo': ('core.model_losses', 'DumpInfo'),
    'FeatureTable': ('core.features', 'FeatureTable'),
    'InputError': ('core.conventions', 'InputError'),
    'LivePredictions': ('extras.live.live_predictions', 'LivePredictions'),
    'LossTable': ('core.losses', 'LossTable'),
    'ModelLosses': ('core.model_losses', 'ModelLosses'),
    'Prediction': ('core.predictions', 'Prediction'),
    'PredictionCallback':
    ('extras.live.trainer_callback', 'PredictionCallback'),
    'Predictions': ('core.predictions', 'Predictions'),
    'Predictor': ('core.predictor', 'Predictor'),
    'Study': ('core.study', 'Study'),
    'TargetTokens': ('core.losses', 'TargetTokens'),
    'Text': ('core.texts', 'Text'),
    'TextSet': ('core.texts', 'TextSet'),
    'TokenLossDump': ('core.model_losses', 'TokenLossDump'),
    'TokenLosses': ('core.losses', 'TokenLosses'),
    'TokenSpans': ('core.spans', 'TokenSpans'),
    'TransformersEngine':
    ('lm.engines.transformers_engine', 'TransformersEngine'),
    'Triage': ('triage.result', 'Triage'),
    'VLLMEngine': ('lm.engines.vllm_engine', 'VLLMEngine'),
    'compare': ('core.comparing', 'compare'),
    'fit': ('lm.methods', 'fit'),
    'import_losses': ('extras.importers.importing', 'import_losses'),
    'judge_runs': ('triage.judging', 'judge_runs'),
    'load': ('io.predictors', 'load_predictor'),
    'read_accuracies': ('io.model_tables', 'read_accuracies'),
    'read_collection': ('io.collection', 'read_collection'),
    'read_dumps': ('io.dumps', 'read_dumps'),
    'read_loss_features': ('io.model_tables', 'read_loss_features'),
    'read_model_tables': ('io.model_tables', 'read_model_tables'),
    'read_texts': ('io.text_sets', 'read_texts'),
    'save': ('io.predictors', 'save_predictor'),
    'score': ('lm.dumping', 'score'),
    'shipped_texts': ('io.text_sets', 'shipped_texts'),
    'split_study': ('core.study', 'split_study'),
    'write_dump': ('io.dumps', 'write_dump'),
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
    return sorted(__all__)
