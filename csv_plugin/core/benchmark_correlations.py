"""Correlation between a model's errors on two benchmarks, for each pair.

If two benchmarks need similar skills, a model that is better than predicted on
one is likely to be better than predicted on the other. This file estimates how
strongly, from the standardised errors of M fitted models on B benchmarks,
`(M, B)`, each predicted without its family (`calibration.LeftOut`), and from
the mean correlation over all pairs. It returns one correlation for each pair
of benchmarks, `(B, B)`. Only `Joint.given` uses them, to predict from known
accuracies. The formula is in docs/appendix/method.md, "Known
accuracies".

The estimate of a pair is the weighted sum over models of the product of a
model's errors on the two benchmarks, divided by what this sum would be if the
correlation was 1. Estimates differ from pair to pair, in part because there
are few families. This sampling variance is computed from how much the products
differ between families. The rest of the variance between pairs is called
genuine. Each estimate is then shrunk toward the mean over pairs: its distance
from the mean is multiplied by genuine / (genuine + sampling) (empirical Bayes;
Morris, JASA 78(381), 1983).
"""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.calibration import (MOST_CORRELATED, LeftOut,
                                         clipped_errors)
from csv_plugin.core.families import rows_of_families, weights_of_models
from csv_plugin.core.numerics import TINY


def correlations_of_pairs(left_out: LeftOut, stretch: float, families: NDArray,
                          mean_correlation: float) -> Floats:
    """Return the correlation of exponents on each two benchmarks, `(B, B)`.

    Args:
        left_out (LeftOut): Errors of M fitted models, each predicted without
            its family.
        stretch (float): Factor by which errors are larger than their predicted
            standard deviations.
        families (NDArray): The number of each model's family, `(M,)`.
        mean_correlation (float): The mean over all pairs.
    """
    seen = ~np.isnan(left_out.errors)
    errors, root = clipped_errors(left_out.errors / stretch,
                                  left_out.exponent_share)
    # Scale errors to a root mean square of 1 on each benchmark, so that larger
    # errors on a benchmark do not make larger correlations.
    weight = weights_of_models(families)
    total_weight = np.maximum(weight @ seen, TINY)
    mean_square = weight @ errors**2
    mean_square /= total_weight
    mean_square = np.maximum(mean_square, TINY)
    errors /= np.sqrt(mean_square)
    # As in `calibration.fit_correlation`, the product of errors on benchmarks
    # 1 and 2 has the expectation correlation x root_1 root_2, and a fit by
    # least squares weighs it by root_1 root_2.
    family_rows = []
    for rows in rows_of_families(families):
        if seen[rows].any():
            family_rows.append(rows)
    products = _sums_over_families(errors * root, weight, family_rows)
    expected = _sums_over_families(root**2, weight, family_rows)
    excess = _excess(products, expected)
    correlations = mean_correlation + excess
    correlations = np.clip(correlations, -MOST_CORRELATED, MOST_CORRELATED)
    np.fill_diagonal(correlations, 1)
    return correlations


def _sums_over_families(values: NDArray, weight: NDArray,
                        family_rows: Sequence[NDArray]) -> Floats:
    """Return the sum of products of values on two benchmarks, `(F, B, B)`.

    Element f, i, j is the weighted sum over the models of family f of the
    product of the model's values on benchmarks i and j. `values` are `(M, B)`,
    0 where there is no accuracy, and `weight` is `(M,)`. `family_rows` has the
    indices of the models of each of the F families.
    """
    n_families = len(family_rows)
    n_benchmarks = values.shape[1]
    sums = np.zeros((n_families, n_benchmarks, n_benchmarks))
    of_models = weight[:, None]
    for f, rows in enumerate(family_rows):
        of_family = values[rows]
        weighted = of_models[rows] * of_family
        sums[f] = weighted.T @ of_family
    return sums


def _excess(products: NDArray, expected: NDArray) -> Floats:
    """Return each pair's correlation minus the mean over pairs, `(B, B)`.

    `products` are sums over the models of each family of products of errors.
    `expected` is what these sums would be if the correlation was 1. Both are
    `(F, B, B)`. In four steps:

    1. The estimate of each pair is its total product, divided by what it would
       be with a correlation of 1.
    2. The scatter of a pair is the variance of its estimate, from how unlike
       its families are. Smoothed over all pairs, it is the sampling variance.
    3. The genuine variance between pairs is what estimates vary more than
       their scatter.
    4. Of the difference between an estimate and the mean, the share genuine /
       (genuine + sampling) is kept.
    """
    total = expected.sum(axis=0)
    # Select each pair of benchmarks once, if a model has errors on both.
    pairs = np.triu(total > TINY, 1)
    total = np.maximum(total, TINY)
    n_families = len(products)
    # With one family, the sampling variance is unknown.
    if n_families < 2 or not pairs.any():
        return np.zeros_like(total)
    estimate = products.sum(axis=0) / total
    # The scatter estimates the sampling variance of each estimate, from how
    # far the products of each family are from the products that the estimate
    # implies.
    implied = estimate * expected
    squares = (products - implied)**2
    scatter = squares.sum(axis=0)
    scatter /= total**2
    scatter *= n_families / (n_families - 1)
    # The mean over pairs gives more weight to pairs with more data.
    of_pairs = total[pairs]
    weights = of_pairs / of_pairs.sum()
    mean_estimate = weights @ estimate[pairs]
    away = estimate - mean_estimate
    # The scatter of a single pair is rough. As the sampling variance is taken
    # to be proportional to 1 / total, scatter x total is averaged over pairs.
    scatter_times_total = scatter * total
    mean_scatter = scatter_times_total[pairs].mean()
    sampling = mean_scatter / total
    # The genuine variance is a mean over pairs of away^2 - scatter. It may use
    # the rough scatter, as errors of the scatter cancel in the mean. Weights
    # are total^2: without a genuine variance, the variance of away^2 would be
    # proportional to 1 / total^2.
    beyond_scatter = away**2 - scatter
    square_weights = of_pairs**2
    genuine = square_weights @ beyond_scatter[pairs]
    genuine /= square_weights.sum()
    genuine = max(float(genuine), 0.)
    kept = genuine / (genuine + sampling + TINY)
    return kept * away
