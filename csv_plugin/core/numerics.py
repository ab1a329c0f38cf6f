"""Small operations on matrices, and the least divisor."""
import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats

#: Widths and mean squares are at least this, or this is added to them, to
#: avoid a division by 0.
TINY = 1e-12
#: A covariance is inverted as if its eigenvalues below this fraction of the
#: largest one were 0. Before correlations are drawn from, their eigenvalues
#: are raised to at least this number: rounding, and the approximations for
#: known accuracies, make some eigenvalues negative.
SINGULAR = 1e-9


def diagonals(matrices: NDArray) -> Floats:
    """Return the diagonals, `(N, K)`, of N matrices, `(N, K, K)`."""
    return np.diagonal(matrices, axis1=1, axis2=2)


def add_to_diagonals(matrices: NDArray, values: NDArray) -> None:
    """Add values, `(N, K)`, to the diagonals of matrices, `(N, K, K)`."""
    diagonal = np.arange(values.shape[1])
    matrices[:, diagonal, diagonal] += values


def set_diagonals(matrices: NDArray, values: NDArray) -> None:
    """Replace the diagonals of matrices, `(N, K, K)`, by values, `(N, K)`."""
    diagonal = np.arange(values.shape[1])
    matrices[:, diagonal, diagonal] = values


def products_of_pairs(first: NDArray, second: NDArray) -> Floats:
    """Return N outer products, `(N, K, L)`.

    They are the products of each value in a row of `first`, `(N, K)`, and each
    value in the same row of `second`, `(N, L)`.
    """
    return first[:, :, None] * second[:, None]


def geometric_means(values: NDArray) -> Floats:
    """Return the geometric mean of each two of N values, `(N, N)`."""
    products = np.outer(values, values)
    return np.sqrt(products)


def correlations_of(covariance: NDArray) -> Floats:
    """Return the correlations that belong to covariances, `(B, M, M)` both."""
    variance = diagonals(covariance)
    deviation = np.sqrt(variance)
    correlations = covariance / products_of_pairs(deviation, deviation)
    return np.clip(correlations, -1, 1)


def possible_correlations(correlations: NDArray) -> Floats:
    """Return correlations without negative eigenvalues, `(N, N)`.

    Estimated correlations may have negative eigenvalues. The correlations of a
    distribution never have any.
    """
    values, vectors = np.linalg.eigh(correlations)
    if values[0] >= 0:
        return correlations
    positive = np.maximum(values, SINGULAR)
    covariance = vectors * positive @ vectors.T
    (possible, ) = correlations_of(covariance[None])
    return possible


def root_of_correlations(correlations: NDArray) -> Floats:
    """Return the symmetric square root of correlations, `(M, M)`.

    Eigenvalues below `SINGULAR` count as `SINGULAR`.
    """
    values, vectors = np.linalg.eigh(correlations)
    positive = np.maximum(values, SINGULAR)
    roots = np.sqrt(positive)
    return vectors * roots @ vectors.T
