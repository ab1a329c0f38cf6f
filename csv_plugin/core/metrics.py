"""Measures of how good predictions are: errors, ranks and intervals.

The arguments of each measure are arrays with one fraction per model, `(n,)`.
Models with NaN in any argument are left out. A measure is NaN if it is
undefined for the models that are left.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.arrays import Booleans, Floats


def mse(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean squared error, as in Table 1 of Ge et al., ACL 2025."""
    errors = _differences(observed, predicted)
    return _mean(errors**2)


def mae(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean absolute error."""
    errors = _differences(observed, predicted)
    return _mean(np.abs(errors))


def spearman(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Return Spearman's rank correlation; tied values share their mean rank.

    It is NaN if all observed or all predicted accuracies are equal.
    """
    accuracies = _without_gaps(observed, predicted)
    ranks = []
    for values in accuracies:
        if not len(values) or np.ptp(values) == 0:
            return float('nan')
        ranks.append(_centred_ranks(values))
    correlations = np.corrcoef(ranks)
    correlation = correlations[0, 1]
    return float(correlation)


def _centred_ranks(values: NDArray) -> Floats:
    """Return twice the mean rank of each of n values, minus n + 1, `(n,)`.

    Tied values share their mean rank. Doubling ranks and subtracting n + 1
    does not change a correlation.
    """
    from_largest = best_ranks(values)
    from_smallest = best_ranks(-values)
    return from_largest - from_smallest


def best_ranks(values: NDArray) -> Floats:
    """Return the rank of each value, 1 for the largest; NaN stays NaN.

    Equal values share the best rank of the group. scipy.stats has such a
    function, but importing it takes longer than a prediction.
    """
    ranks = np.full(values.shape, np.nan)
    is_number = ~np.isnan(values)
    negative = -values[is_number]
    ascending = np.sort(negative)
    n_larger = np.searchsorted(ascending, negative)
    ranks[is_number] = 1 + n_larger
    return ranks


def coverage(observed: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Return the fraction of observed accuracies within their intervals.

    Accuracies at a limit, `low` or `high`, count as within.
    """
    accuracies, lows, highs = _without_gaps(observed, low, high)
    is_above = lows <= accuracies
    is_below = accuracies <= highs
    return _mean(is_above & is_below)


def mean_width(low: ArrayLike, high: ArrayLike) -> float:
    """Return the mean width of the intervals from `low` to `high`."""
    widths = _differences(high, low)
    return _mean(widths)


def known_mean(values: ArrayLike) -> float:
    """Return the mean of the values that are not NaN; NaN if all are NaN."""
    (known, ) = _without_gaps(np.ravel(values))
    return _mean(known)


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return a - b for each model that has a number in both."""
    first, second = _without_gaps(a, b)
    return first - second


def _without_gaps(*arguments: ArrayLike) -> Floats:
    """Return one row per argument, without models that have a NaN in any."""
    table = np.array(arguments, np.float64)
    is_missing = np.isnan(table)
    is_incomplete = is_missing.any(axis=0)
    return table[:, ~is_incomplete]


def _mean(values: Floats | Booleans) -> float:
    """Return the mean of the values, or NaN if there is none."""
    if not values.size:
        return float('nan')
    return float(values.mean())
