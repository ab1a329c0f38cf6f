"""Eq. 2, the accuracy of an exponent (Ge et al., ACL 2025, arXiv 2506.13216).

    accuracy = floor + (1 - floor) / (1 + exp(-exponent))

The floor is the accuracy of a model that knows nothing, near the chance level.
Predictions use this curve. Fits use `line_at`, which replaces the curve by its
tangent; far from 0 the tangent is that at `Form.straight`.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

#: Accuracies are clipped to this range before p (1 - p) is taken: accuracies
#: near 0 and 1 have some noise, too. A convention, not fitted.
SHARES = 0.01, 0.99
#: Least variance of an exponent.
LEAST_VARIANCE = 1e-8


def accuracy_of(exponents: NDArray, floor: NDArray) -> NDArray[np.float64]:
    """Return accuracies in 0..1 of exponents (Eq. 2).

    Exponents are of any shape, to which the floor broadcasts.
    """
    return floor + (1 - floor) * expit(exponents)


def item_variance(accuracy: NDArray) -> NDArray[np.float64]:
    """Return p (1 - p) of accuracies p, clipped to `SHARES`; same shape."""
    clipped = np.clip(accuracy, *SHARES)
    return clipped * (1 - clipped)


class Line(NamedTuple):
    """Tangents of the curve at exponents, `(M, B)`.

    `heights` are the accuracies at the exponents, and `slopes` the slopes of
    the tangents there. At `targets`, exponents, the tangents have the heights
    of the observed accuracies.
    """
    heights: NDArray[np.float64]
    slopes: NDArray[np.float64]
    targets: NDArray[np.float64]


def line_at(exponents: NDArray, observed: NDArray, floor: NDArray,
            straight: float) -> Line:
    """Linearise the curve at exponents; see `Form.straight`.

    Exponents and observed accuracies are `(M, B)`, the floor `(B,)`.
    """
    near = np.clip(exponents, -straight, straight)
    sigmoid = expit(near)
    slopes = (1 - floor) * sigmoid * (1 - sigmoid)
    heights = accuracy_of(near, floor) + slopes * (exponents - near)
    targets = exponents + (observed - heights) / slopes
    return Line(heights, slopes, targets)


def moments(mean: NDArray, variance: NDArray, floor: NDArray,
            noise: NDArray) -> tuple[NDArray, NDArray]:
    """Return means and standard deviations of accuracies, `(M, B)` each.

    Exponents are normal, with a mean and a variance `(M, B)`. The observed
    accuracy also has noise, of variance `noise * p (1 - p)` with the mean
    accuracy as p. Floor and noise are `(B,)`. Integrals over exponents are
    sums over nine nodes (Gauss-Hermite quadrature).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    deviation = np.sqrt(variance)
    # The last axis is that of the nodes.
    exponents = mean[..., None] + deviation[..., None] * nodes
    accuracies = accuracy_of(exponents, floor[:, None])
    middle = accuracies @ weights
    squares = (accuracies - middle[..., None])**2
    from_exponents = squares @ weights
    from_items = noise * item_variance(middle)
    return middle, np.sqrt(from_exponents + from_items)
