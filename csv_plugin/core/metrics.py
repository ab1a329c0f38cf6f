"""Measures of predictions: errors, ranks and intervals.

All take one fraction per model, shape `(n,)`. Models with NaN in any argument
are left out, and a measure that is then undefined is NaN.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray


def mse(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean squared error, the measure of the paper's Table 1."""
    return _mean(_differences(observed, predicted)**2)


def mae(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute error."""
    return _mean(np.abs(_differences(observed, predicted)))


def spearman(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's rank correlation; tied values share their mean rank.

    NaN if all observed or all predicted accuracies are equal.
    """
    pairs = _complete(observed, predicted)
    if not pairs.size or (np.ptp(pairs, axis=1) == 0).any():
        return float('nan')
    ranks = [_centred_ranks(values) for values in pairs]
    return float(np.corrcoef(ranks)[0, 1])


def _centred_ranks(values: NDArray) -> NDArray[np.float64]:
    """Twice the mean rank of each of n values, minus n + 1.

    Tied values share their mean rank. The scale and the shift do not change a
    correlation.
    """
    return best_ranks(values) - best_ranks(-values)


def best_ranks(values: NDArray) -> NDArray[np.float64]:
    """Return ranks, 1 for the largest; NaN stays NaN.

    Equal values share the better rank. scipy.stats, which has such a function,
    takes longer to load than a prediction.
    """
    found = np.full(len(values), np.nan)
    is_number = ~np.isnan(values)
    ordered = np.sort(-values[is_number])
    found[is_number] = 1 + np.searchsorted(ordered, -values[is_number])
    return found


def coverage(observed: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Share of observed accuracies inside their intervals, bounds included."""
    accuracies, low_ends, high_ends = _complete(observed, low, high)
    return _mean((low_ends <= accuracies) & (accuracies <= high_ends))


def mean_width(low: ArrayLike, high: ArrayLike) -> float:
    """Mean width of intervals."""
    return _mean(_differences(high, low))


def _differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """The first minus the second, without the models that lack either."""
    first, second = _complete(a, b)
    return first - second


def _complete(*arguments: ArrayLike) -> NDArray[np.float64]:
    """One row per argument, without the models that have a NaN in any."""
    rows = [np.asarray(part, np.float64) for part in arguments]
    table = np.stack(rows)
    is_complete = ~np.isnan(table).any(axis=0)
    return table[:, is_complete]


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """The mean of some values; NaN of none."""
    return float(values.mean()) if values.size else float('nan')
