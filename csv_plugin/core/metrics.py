"""Measures of predictions: errors, ranks, decisions and intervals.

All take one fraction per model, shape `(n,)`. Models with NaN in any argument
are left out, and a measure that is then undefined is NaN.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray


def mse(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean squared error, the measure of the paper's Table 1."""
    known, forecast = _complete(observed, predicted)
    return _mean((known - forecast)**2)


def mae(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute error."""
    known, forecast = _complete(observed, predicted)
    return _mean(np.abs(known - forecast))


def spearman(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's rank correlation; tied values share their mean rank.

    NaN if all observed or all predicted accuracies are equal.
    """
    known, forecast = _complete(observed, predicted)
    if not len(known) or np.ptp(known) == 0 or np.ptp(forecast) == 0:
        return float('nan')
    return float(np.corrcoef(_mean_ranks(known), _mean_ranks(forecast))[0, 1])


def _mean_ranks(values: NDArray) -> NDArray[np.float64]:
    """Mean ranks of tied values, times a constant and shifted by another."""
    return best_ranks(values) - best_ranks(-values)


def best_ranks(values: NDArray) -> NDArray[np.float64]:
    """Return ranks, 1 for the largest; NaN stays NaN.

    Equal values share the better rank. scipy.stats, which has such a function,
    takes longer to load than a prediction.
    """
    found = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    ordered = np.sort(-values[known])
    found[known] = 1 + np.searchsorted(ordered, -values[known])
    return found


def coverage(observed: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Share of observed accuracies inside their intervals, bounds included."""
    known, lower, upper = _complete(observed, low, high)
    return _mean((lower <= known) & (known <= upper))


def mean_width(low: ArrayLike, high: ArrayLike) -> float:
    """Mean width of intervals."""
    lower, upper = _complete(low, high)
    return _mean(upper - lower)


def _complete(*arguments: ArrayLike) -> NDArray[np.float64]:
    """One row per argument, without the models that have a NaN in any."""
    rows = [np.asarray(part, np.float64) for part in arguments]
    table = np.stack(rows)
    is_complete = ~np.isnan(table).any(axis=0)
    return table[:, is_complete]


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else float('nan')
