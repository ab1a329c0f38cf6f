"""Coverage of prediction intervals on held-out models."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.input_error import InputError
from csv_plugin.core.predictions import PREDICTED, Predictions
from csv_plugin.core.predictor import Losses, Predictor

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class Coverage:
    """Observed coverage of held-out models at n levels.

    Args:
        benchmarks (tuple[str, ...]): B names.
        levels (NDArray): Levels of the intervals, `(n,)`.
        covered (NDArray): Share of intervals that contain the observed
            accuracy, `(n, B)`; NaN where no model was held out.
        pooled (NDArray): The same over the cells of all benchmarks, `(n,)`.
        n_models (NDArray): Models held out, int, `(B,)`.
    """
    benchmarks: tuple[str, ...]
    levels: NDArray[np.float64]
    covered: NDArray[np.float64]
    pooled: NDArray[np.float64]
    n_models: NDArray[np.int64]

    __repr__ = short_repr


def coverage_by_level(predictor: Predictor,
                      losses: Losses,
                      observed: AccuracyTable,
                      levels: Sequence[float] = LEVELS) -> Coverage:
    """Return the share of intervals that contain the observed accuracy.

    Args:
        predictor (Predictor): Makes the intervals.
        losses (Losses): Of M models, as in `Predictor.predict`.
        observed (AccuracyTable): Of these models, in any order.
        levels (Sequence[float]): In (0, 1).

    Raises:
        InputError: As in `Predictor.predict`, a model has no accuracies,
            or no model was held out.
    """
    features = predictor.features(losses)
    inside = []
    for level in levels:
        table = Predictions.side_by_side(
            {
                PREDICTED: predictor.predict(features, level)
            }, features.models, observed.benchmarks).with_real(observed)
        held_out = table.held_out(PREDICTED)
        inside.append(np.where(held_out, table.covered(PREDICTED), np.nan))
    if not held_out.any():
        raise InputError('coverage_by_level',
                         'a model with an accuracy that was not fitted on',
                         f'none of {len(features.models)}',
                         'Give features of models of another split.')
    return Coverage(
        observed.benchmarks, np.array(levels),
        np.array([[_share(column) for column in cells.T] for cells in inside]),
        np.array([_share(cells) for cells in inside]), held_out.sum(axis=0))


def _share(cells: NDArray) -> float:
    judged = cells[~np.isnan(cells)]
    return float(judged.mean()) if len(judged) else float('nan')
