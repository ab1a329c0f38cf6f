"""Measures of predictions: errors, ranks, decisions and intervals.

All take one fraction per model, shape `(n,)`. Models with NaN in any argument
are left out, and a measure that is then undefined is NaN.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray


def mse(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean squared error, the measure of the paper's Table 1."""
    actual, forecast = _complete(observed, predicted)
    return _mean((actual - forecast)**2)


def mae(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute error."""
    actual, forecast = _complete(observed, predicted)
    return _mean(np.abs(actual - forecast))


def spearman(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's rank correlation; tied values share their mean rank.

    NaN if all observed or all predicted accuracies are equal.
    """
    pairs = _complete(observed, predicted)
    if pairs.shape[1] == 0 or np.ptp(pairs, axis=1).min() == 0:
        return float('nan')
    # The mean rank of tied values, but for a constant.
    ranks = [best_ranks(pair) - best_ranks(-pair) for pair in pairs]
    return float(np.corrcoef(ranks)[0, 1])


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
    actual, lower, upper = _complete(observed, low, high)
    return _mean((lower <= actual) & (actual <= upper))


def mean_width(low: ArrayLike, high: ArrayLike) -> float:
    """Mean width of intervals."""
    lower, upper = _complete(low, high)
    return _mean(upper - lower)


def _complete(*arguments: ArrayLike) -> NDArray[np.float64]:
    """One row per argument, without the models that have a NaN in any."""
    table = np.stack([np.asarray(part, np.float64) for part in arguments])
    return table[:, ~np.isnan(table).any(axis=0)]


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else float('nan')
