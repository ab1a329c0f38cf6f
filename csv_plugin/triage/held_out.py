"""Accuracies that losses predict of pretraining runs not learned from."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_models
from csv_plugin.core.salience import (DEFAULT_SOLVER, SOLVERS, SalienceFit,
                                      Task, held_out_predictions)
from csv_plugin.core.salience_model import SalienceModel


def fit_holding_out(
        features: FeatureTable,
        accuracies: AccuracyTable,
        runs: Sequence[str],
        seed: int = 0,
        progress: Progress = iter) -> tuple[list[SalienceModel], NDArray]:
    """Fit to the checkpoints of some runs, and predict them all the same.

    Args:
        features (FeatureTable): Losses of the checkpoints.
        accuracies (AccuracyTable): Of the M checkpoints to fit to, `(M, B)`.
        runs (Sequence[str]): Run of each of them; folds divide no run.
        seed (int): Of the folds.
        progress (Progress): Wraps the benchmarks.

    Returns:
        tuple[list[SalienceModel], NDArray]: What predicts each of B
        benchmarks, and what fits to other runs predict of each checkpoint,
        `(M, B)`; NaN without a score.

    Raises:
        InputError: As in `fit_predictor`.
    """
    predicted = np.full(accuracies.values.shape, np.nan)

    def watch(benchmark: str, task: Task, fit: SalienceFit) -> None:
        b = accuracies.benchmarks.index(benchmark)
        known = ~np.isnan(accuracies.values[:, b])
        predicted[known, b] = held_out_predictions(task, fit)

    models = fit_models(features, accuracies, runs, SOLVERS[DEFAULT_SOLVER],
                        seed, progress, watch)
    return models, predicted
