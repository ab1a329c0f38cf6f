"""Small operations on matrices, and the least divisor."""
import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats

#: Widths and mean squares are at least this, or this is added to them, to
#: avoid a division by 0.
TINY = 1e-12


def diagonals(matrices: NDArray) -> Floats:
    """Return the diagonals, `(N, K)`, of N matrices, `(N, K, K)`."""
    return np.diagonal(matrices, axis1=1, axis2=2)


def add_to_diagonals(matrices: NDArray, values: NDArray) -> None:
    """Add values, `(N, K)`, to the diagonals of matrices, `(N, K, K)`."""
    diagonal = np.arange(values.shape[1])
    matrices[:, diagonal, diagonal] += values


def products_of_pairs(first: NDArray, second: NDArray) -> Floats:
    """Return N outer products, `(N, K, L)`.

    They are the products of each value in a row of `first`, `(N, K)`, and each
    value in the same row of `second`, `(N, L)`.
    """
    return first[:, :, None] * second[:, None]
