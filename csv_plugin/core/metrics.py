"""Measures of how good predictions are: errors, ranks and intervals.

The arguments of each measure are arrays with one fraction per model, `(n,)`.
Models with NaN in any argument are left out. A measure is NaN if it is
undefined for the models that are left.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray


def mse(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean squared error, as in Table 1 of Ge et al., ACL 2025."""
    return _mean(_differences(observed, predicted)**2)


def mae(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean absolute error."""
    return _mean(np.abs(_differences(observed, predicted)))


def spearman(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Return Spearman's rank correlation; tied values share their mean rank.

    It is NaN if all observed or all predicted accuracies are equal.
    """
    pairs = _complete(observed, predicted)
    if not pairs.size or (np.ptp(pairs, axis=1) == 0).any():
        return float('nan')
    ranks = [_centred_ranks(values) for values in pairs]
    return float(np.corrcoef(ranks)[0, 1])


def _centred_ranks(values: NDArray) -> NDArray[np.float64]:
    """Return twice the mean rank of each of n values, minus n + 1, `(n,)`.

    Tied values share their mean rank. Doubling ranks and subtracting n + 1
    does not change a correlation.
    """
    return best_ranks(values) - best_ranks(-values)


def best_ranks(values: NDArray) -> NDArray[np.float64]:
    """Return the rank of each value, 1 for the largest; NaN stays NaN.

    Equal values share the best rank of the group. scipy.stats has such a
    function, but importing it takes longer than a prediction.
    """
    found = np.full(len(values), np.nan)
    is_number = ~np.isnan(values)
    ordered = np.sort(-values[is_number])
    found[is_number] = 1 + np.searchsorted(ordered, -values[is_number])
    return found


def coverage(observed: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Return the fraction of observed accuracies within their intervals.

    Accuracies at a limit, `low` or `high`, count as within.
    """
    accuracies, lows, highs = _complete(observed, low, high)
    return _mean((lows <= accuracies) & (accuracies <= highs))


def mean_width(low: ArrayLike, high: ArrayLike) -> float:
    """Return the mean width of the intervals from `low` to `high`."""
    return _mean(_differences(high, low))


def _differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return a minus b of the models that have a number in both."""
    first, second = _complete(a, b)
    return first - second


def _complete(*arguments: ArrayLike) -> NDArray[np.float64]:
    """Return one row per argument, with the models that have no NaN in any."""
    rows = [np.asarray(part, np.float64) for part in arguments]
    table = np.stack(rows)
    is_complete = ~np.isnan(table).any(axis=0)
    return table[:, is_complete]


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """Return the mean of the values, or NaN if there is none."""
    return float(values.mean()) if values.size else float('nan')
