"""Correlations of a model's errors on each pair of benchmarks.

The mean correlation over all pairs comes from `core.calibration`. Benchmarks
that need alike skills go together more than others, and errors of families
left out show by how much. Each pair's estimate is the weighted mean of
products of errors. How far it is off by chance is seen from how products
differ between families. What pairs differ by beyond that is genuine; each pair
keeps genuine / (genuine + chance) of its distance from the mean (empirical
Bayes; Morris, JASA 78(381), 1983).
"""
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
    # Mean squares of errors, by benchmark.
    square = weight @ errors**2 / np.maximum(weight @ seen, TINY)
    # Noise of items has no part in exponents. So the product of standardised
    # errors on benchmarks 1 and 2 has the expectation correlation x
    # root(share_1 share_2). Least squares weigh it by this root.
    root = np.where(seen, np.sqrt(left_out.uncertain), 0)
    scaled = errors * root / np.sqrt(np.maximum(square, TINY))
    with_errors = np.unique(families[seen.any(axis=1)])
    members = (families[:, None] == with_errors) * weight[:, None]
    # Sums over the models of each of F families, for each pair: (F, B, B).
    products = _sums_over_families(members, scaled)
    sizes = _sums_over_families(members, root**2)
    matrix = between + _shifts(products, sizes)
    matrix = np.clip(matrix, -MOST_CORRELATED, MOST_CORRELATED)
    matrix[np.diag_indices(len(matrix))] = 1
    return matrix


def _sums_over_families(members: NDArray, values: NDArray) -> NDArray:
    """Sums of products of values on pairs of benchmarks, `(F, B, B)`.

    Values are `(M, B)`. Members, `(M, F)`, are the weights of models, 0 in
    other families.
    """
    return np.einsum('mf,mb,mc->fbc', members, values, values, optimize=True)


def _shifts(products: NDArray, sizes: NDArray) -> NDArray[np.float64]:
    """What pairs of benchmarks are shifted by from their mean, `(B, B)`.

    `products` are sums of products of errors by family, and `sizes` what these
    would be at a correlation of 1, `(F, B, B)` each.
    """
    total = np.maximum(sizes.sum(axis=0), TINY)
    # Each pair of benchmarks once, if any model has errors on both.
    pairs = np.triu(sizes.sum(axis=0) > TINY, 1)
    n_families = len(products)
    # One family does not show how far its products are off by chance.
    if n_families < 2 or not pairs.any():
        return np.zeros_like(total)
    estimate = products.sum(axis=0) / total
    # The variance of the estimate, from how families differ from it.
    scatter = ((products - estimate * sizes)**2).sum(axis=0) / total**2
    scatter *= n_families / (n_families - 1)
    # Pairs weigh by how much is known of them.
    weights = total[pairs] / total[pairs].sum()
    away = estimate - weights @ estimate[pairs]
    # The scatter of a single pair is rough. Its variance by chance is the mean
    # over pairs of scatter x total, over its own total.
    chance = (scatter * total)[pairs].mean() / total
    # Squares of distances are expected to be genuine + scatter.
    squares = total[pairs]**2
    genuine = squares @ (away**2 - scatter)[pairs] / squares.sum()
    genuine = max(float(genuine), 0.)
    return genuine / (genuine + chance + TINY) * away
