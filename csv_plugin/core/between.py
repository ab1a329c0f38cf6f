"""Correlations of a model's errors on each pair of benchmarks.

The mean correlation over all pairs comes from `core.calibration`. Benchmarks
that need alike skills go together more than others, and errors of families
left out show by how much. Few families show it badly. So the correlation of a
pair is shrunk toward the mean of all pairs, the more, the less is known of it
(empirical Bayes; Morris, JASA 78(381), 1983). How much of its variance is
noise comes from the scatter of families.
"""
import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.calibration import LARGEST_ERROR, MOST_CORRELATED, LeftOut
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
    # Noise of items has no part in exponents, and weakens correlations.
    expected = np.where(seen, np.sqrt(left_out.uncertain), 0)
    # Models of a family are alike, so k of them count as the root of k.
    weight = 1 / np.sqrt(np.bincount(families)[families])
    square = weight @ errors**2 / np.maximum(weight @ seen, TINY)
    scaled = errors * expected / np.sqrt(np.maximum(square, TINY))
    members = (families[:, None] == np.unique(families)) * weight[:, None]
    # Sums over the models of each of F families, (F, B, B).
    products, sizes = (
        np.einsum('mf,mb,mc->fbc', members, part, part, optimize=True)
        for part in (scaled, expected**2))
    total = np.maximum(sizes.sum(axis=0), TINY)
    found = products.sum(axis=0) / total
    scatter = ((products - found * sizes)**2).sum(axis=0) / total**2
    scatter *= len(products) / max(len(products) - 1, 1)
    pairs = np.triu(sizes.sum(axis=0) > TINY, 1)
    if not pairs.any():
        shift = np.zeros_like(found)
    else:
        weights = total[pairs] / total[pairs].sum()
        away = found - weights @ found[pairs]
        # Noise falls with what is known of a pair.
        by_noise = (scatter * total)[pairs].mean() / total
        squares = total[pairs]**2
        genuine = squares @ (away**2 - scatter)[pairs] / squares.sum()
        genuine = max(float(genuine), 0.)
        shift = genuine / (genuine + by_noise + TINY) * away
    matrix = np.clip(between + shift, -MOST_CORRELATED, MOST_CORRELATED)
    matrix[np.diag_indices(len(matrix))] = 1
    return matrix
