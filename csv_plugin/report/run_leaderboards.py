"""The leaderboard of a run: its dumps, predicted, beside real accuracies."""
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Optional, Union

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.model_losses import DumpInfo
from csv_plugin.core.predicting import (collect_features, predict_models,
                                        predictable_benchmarks)
from csv_plugin.core.predictions import Missing, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.runs.run_dumps import RunDumps
from csv_plugin.io.runs.run_plan import read_most_items
from csv_plugin.report.leaderboards import Leaderboard, compare
from csv_plugin.report.notes import engine_notes, predictor_notes

#: Changes the predictions of a predictor by a table `known` of real accuracies
#: of the same models, as `extras.partial_scores.with_known_scores` does.
Complete = Callable[..., Predictions]
#: Feature columns by predictor and folder of the model.
RunColumns = Mapping[str, Mapping[str, Union[FeatureTable, Missing]]]


def predict_run(
        dumps: RunDumps,
        folders: Mapping[str, str],
        predictors: Mapping[str, Union[Predictor, Missing]],
        files: Mapping[str, str],
        real: Mapping[tuple[str, str], Union[float, Missing]],
        verbose: bool = False,
        progress: Progress = iter,
        complete: Optional[Complete] = None) -> tuple[Leaderboard, RunColumns]:
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
        complete (Optional[Complete]): What real accuracies change in
            predictions of those that the run lacks; by default nothing.

    Returns:
        tuple[Leaderboard, RunColumns]: The leaderboard, and what it was
        predicted from.
    """
    columns = collect_features(predictors, list(folders.values()), dumps.read,
                               progress)
    return predict_columns(columns, folders, predictors, files, real,
                           dumps.of_models(folders),
                           read_most_items(dumps.work_dir), verbose,
                           complete), columns


def predict_columns(columns: RunColumns,
                    folders: Mapping[str, str],
                    predictors: Mapping[str, Union[Predictor, Missing]],
                    files: Mapping[str, str],
                    real: Mapping[tuple[str, str], Union[float, Missing]],
                    infos: Mapping[str, DumpInfo] = MappingProxyType({}),
                    most_items: Mapping[str, int] = MappingProxyType({}),
                    verbose: bool = False,
                    complete: Optional[Complete] = None) -> Leaderboard:
    """Predict models from their feature columns.

    Args:
        columns (RunColumns): Of all predictors and models.
        folders (Mapping[str, str]): As in `Leaderboard`.
        predictors (Mapping): As in `predict_run`, like the next two.
        files (Mapping[str, str]): See there.
        real (Mapping): See there.
        infos (Mapping[str, DumpInfo]): How the losses were made, by model,
            where there are dumps of them.
        most_items (Mapping[str, int]): Numbers of items of benchmarks that
            the run cuts short.
        verbose (bool): As in `predictor_notes`.
        complete (Optional[Complete]): As in `predict_run`.
    """
    known = _known(folders, predictable_benchmarks(predictors), real,
                   most_items)
    predictions = predict_models(predictors, columns, known.benchmarks,
                                 complete and partial(complete, known=known))
    remarks = [
        *engine_notes(infos), *predictor_notes(predictors, files, verbose)
    ]
    return compare(predictions, folders, real, remarks,
                   scoring_lms(predictors, infos))


def _known(folders: Mapping[str, str], benchmarks: Sequence[str],
           real: Mapping[tuple[str, str], Union[float, Missing]],
           most_items: Mapping[str, int]) -> AccuracyTable:
    """Real accuracies of the models, under their names in the run's files.

    Numbers of items are known of benchmarks that the run cuts short.
    """
    values = [[real[model, benchmark] for benchmark in benchmarks]
              for model in folders]
    return AccuracyTable(
        tuple(folders.values()), tuple(benchmarks),
        np.array([[
            np.nan if isinstance(value, Missing) else value for value in row
        ] for row in values]).reshape(len(folders), len(benchmarks)),
        np.zeros(len(benchmarks)),
        np.array([most_items.get(name, 0) for name in benchmarks], np.int64))


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
