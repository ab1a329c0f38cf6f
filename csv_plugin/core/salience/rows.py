"""Arithmetic on rows, of which each belongs to one regression."""
import numpy as np
from numpy.typing import NDArray


def dots(first: NDArray, second: NDArray) -> NDArray:
    """Inner products of the rows of two arrays `(q, n)`, `(q,)`."""
    return np.einsum('qn,qn->q', first, second)


def ratio(numerator: NDArray,
          denominator: NDArray,
          otherwise: float = 0) -> NDArray:
    """The ratio where the denominator is positive, of arrays of any shape.

    Args:
        numerator (NDArray): In the shape of the denominator.
        denominator (NDArray): Of any shape.
        otherwise (float): Stands where the denominator is 0 or less.
    """
    return np.divide(
        numerator,
        denominator,
        where=denominator > 0,
        out=np.full_like(numerator, otherwise))
