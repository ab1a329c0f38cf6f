"""Correlations of a model's errors on each pair of benchmarks.

Benchmarks that need alike skills go together more than others. This file takes
the standardised errors of M fitted models on B benchmarks, `(M, B)`, each
predicted without its family (`calibration.LeftOut`), and the mean correlation
over all pairs, `between`. It returns one correlation for each pair of
benchmarks, `(B, B)`. Only `Joint.given` uses them, to learn from known
accuracies. The formula stands in docs/appendix/method.md, "Known accuracies".

The estimate of a pair is the weighted mean of products of a model's errors on
the two benchmarks. Part of what the estimates of pairs differ by is chance.
How large the variance by chance is, is seen from how far products differ
between families; the rest of the variance is called genuine. The correlation
of each pair is the mean correlation plus genuine / (genuine + chance) of the
estimate's distance from the mean (empirical Bayes; Morris, JASA 78(381),
1983).
"""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.calibration import (LARGEST_ERROR, MOST_CORRELATED,
                                         LeftOut, weights_of_models)
from csv_plugin.core.kernels import TINY


def correlations_of_pairs(left_out: LeftOut, stretch: float, families: NDArray,
                          between: float) -> NDArray[np.float64]:
    """Return correlations of exponents between benchmarks, `(B, B)`.

    Args:
        left_out (LeftOut): Errors of M fitted models without their families.
        stretch (float): Deviations are larger than predicted by this factor.
        families (NDArray): Numbers that are equal in a family, `(M,)`.
        between (float): The mean correlation over all pairs.
    """
    seen = ~np.isnan(left_out.errors)
    errors = np.where(seen, left_out.errors, 0) / stretch
    errors = np.clip(errors, -LARGEST_ERROR, LARGEST_ERROR)
    weight = weights_of_models(families)
    # Errors are divided by their root mean square on each benchmark.
    total_weight = np.maximum(weight @ seen, TINY)
    mean_square = np.maximum(weight @ errors**2 / total_weight, TINY)
    errors = errors / np.sqrt(mean_square)
    # Noise of items has no part in exponents. So the product of errors on
    # benchmarks 1 and 2 has the expectation correlation x root_1 root_2, where
    # `root` is that of the share of the variance that is not noise of items.
    # Least squares weigh the product by root_1 root_2.
    root = np.where(seen, np.sqrt(left_out.uncertain), 0)
    with_errors = np.unique(families[seen.any(axis=1)])
    members = [np.flatnonzero(families == family) for family in with_errors]
    products = _sums_over_families(errors * root, weight, members)
    expected = _sums_over_families(root**2, weight, members)
    correlations = between + _shifts(products, expected)
    correlations = np.clip(correlations, -MOST_CORRELATED, MOST_CORRELATED)
    np.fill_diagonal(correlations, 1)
    return correlations


def _sums_over_families(values: NDArray, weight: NDArray,
                        members: Sequence[NDArray]) -> NDArray[np.float64]:
    """Weighted sums, over the models of each family, of products of values.

    `(F, B, B)`: the products are those on pairs of benchmarks. Values are
    `(M, B)`, 0 without an accuracy, and weights `(M,)`. `members` are the
    rows of the models of each of F families.
    """
    n_benchmarks = values.shape[1]
    sums = np.zeros((len(members), n_benchmarks, n_benchmarks))
    for family, rows in enumerate(members):
        weighted = values[rows] * weight[rows, None]
        sums[family] = weighted.T @ values[rows]
    return sums


def _shifts(products: NDArray, expected: NDArray) -> NDArray[np.float64]:
    """What the correlation of each pair exceeds the mean by, `(B, B)`.

    `products` are sums of products of errors by family, and `expected` what
    these would be at a correlation of 1, `(F, B, B)` each.
    """
    total = np.maximum(expected.sum(axis=0), TINY)
    # Each pair of benchmarks once, if any model has errors on both.
    pairs = np.triu(expected.sum(axis=0) > TINY, 1)
    n_families = len(products)
    # One family does not show how far its products are off by chance.
    if n_families < 2 or not pairs.any():
        return np.zeros_like(total)
    estimate = products.sum(axis=0) / total
    # The variance of the estimate, from how families differ from it.
    differences = products - estimate * expected
    scatter = (differences**2).sum(axis=0) / total**2
    scatter *= n_families / (n_families - 1)
    # The mean over pairs weighs them by how much is known of them.
    weights = total[pairs] / total[pairs].sum()
    away = estimate - weights @ estimate[pairs]
    # The scatter of a single pair is rough. Its variance by chance is the mean
    # over pairs of scatter x total, over its own total.
    chance = (scatter * total)[pairs].mean() / total
    # The square of a distance is expected to be genuine + scatter.
    excess = away**2 - scatter
    square_weights = total[pairs]**2
    genuine = square_weights @ excess[pairs] / square_weights.sum()
    genuine = max(float(genuine), 0.)
    kept = genuine / (genuine + chance + TINY)
    return kept * away
