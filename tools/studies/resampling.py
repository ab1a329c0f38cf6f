"""Intervals of comparisons, from draws of families or runs."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Level of the intervals.
LEVEL = 0.9
#: Draws of groups for ratios, and of values for means, which are cheaper.
RATIO_DRAWS, MEAN_DRAWS = 1000, 2000


def mean_with_interval(values: NDArray) -> tuple[float, float, float]:
    """A mean, and both ends of its 90 % interval.

    Args:
        values (NDArray): One per run, drawn again and again, `(n,)`.
    """
    rng = np.random.default_rng(0)
    means = rng.choice(values, (MEAN_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(values.mean()), float(low), float(high)


def error_ratio(squares: NDArray, reference: NDArray,
                groups: Sequence[str]) -> tuple[float, float, float]:
    """How many times the errors of one method are those of another.

    Args:
        squares (NDArray): Squared errors of M models on B benchmarks,
            `(M, B)`.
        reference (NDArray): Those of the other method. Where both are NaN,
            the accuracy is not known, and the model does not count.

    Returns:
        tuple[float, float, float]: Ratio of the mean squared errors, a
        geometric mean over the benchmarks, and both ends of its 90 %
        interval: groups are drawn, as many as there are, with repetition.
        A single group has no interval: NaN. All is NaN where one method says
        nothing of an accuracy that is known.
    """
    names, group = np.unique(groups, return_inverse=True)
    n = len(names)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n),
                                                 RATIO_DRAWS)
    weights = np.vstack([np.ones(n), drawn])[:, group]
    known = ~(np.isnan(squares) & np.isnan(reference))
    with np.errstate(divide='ignore', invalid='ignore'):
        logs = np.log([(weights @ np.where(known, part, 0)) / (weights @ known)
                       for part in (squares, reference)])
    ratios = np.exp((logs[0] - logs[1]).mean(axis=1))
    # A draw may lack all models that were run on a benchmark.
    low, high = np.nanquantile(ratios[1:], [
        (1 - LEVEL) / 2, (1 + LEVEL) / 2
    ]) if n > 1 and np.isfinite(ratios[0]) else (np.nan, np.nan)
    return float(ratios[0]), float(low), float(high)
