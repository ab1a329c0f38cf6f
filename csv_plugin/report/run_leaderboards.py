"""The leaderboard of a run: its dumps, predicted, beside real accuracies."""
from collections.abc import Mapping
from typing import Union

from csv_plugin.core.conventions import Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.model_losses import DumpInfo
from csv_plugin.core.predicting import (collect_features, predict_models,
                                        predictable_benchmarks)
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.runs.run_dumps import RunDumps
from csv_plugin.report.leaderboards import Leaderboard, compare
from csv_plugin.report.notes import engine_notes, predictor_notes

#: Feature columns by predictor and folder of the model.
RunColumns = Mapping[str, Mapping[str, Union[FeatureTable, Missing]]]


def predict_run(dumps: RunDumps,
                folders: Mapping[str, str],
                predictors: Mapping[str, Union[Predictor, Missing]],
                files: Mapping[str, str],
                real: Mapping[tuple[str, str], Union[float, Missing]],
                verbose: bool = False,
                progress: Progress = iter) -> tuple[Leaderboard, RunColumns]:
    """Predict the models of a run anew.

    Args:
        dumps (RunDumps): Those of the run.
        folders (Mapping[str, str]): As in `Leaderboard`.
        predictors (Mapping): By label, a predictor or why it is unusable.
        files (Mapping[str, str]): The file of each predictor.
        real (Mapping): As in `compare`, of all models and
            `predictable_benchmarks`.
        verbose (bool): As in `predictor_notes`.
        progress (Progress): Wraps the models.

    Returns:
        tuple[Leaderboard, RunColumns]: The leaderboard, and what it was
        predicted from.
    """
    columns = collect_features(predictors, list(folders.values()), dumps.read,
                               progress)
    predictions = predict_models(predictors, columns,
                                 predictable_benchmarks(predictors))
    infos = dumps.of_models(folders)
    remarks = [
        *engine_notes(infos), *predictor_notes(predictors, files, verbose)
    ]
    return compare(predictions, folders, real, remarks,
                   scoring_lms(predictors, infos)), columns


def scoring_lms(predictors: Mapping[str, Union[Predictor, Missing]],
                infos: Mapping[str, DumpInfo]) -> dict[str, str]:
    """Models that are the scoring LM of a predictor, by its label.

    Args:
        predictors (Mapping): By label, a predictor or why it is unusable.
        infos (Mapping[str, DumpInfo]): How the losses were made, by model.
    """
    return {
        label: model
        for label, predictor in predictors.items()
        if isinstance(predictor, Predictor) for model, info in infos.items()
        if info.is_of(predictor.scoring_lm)
    }
