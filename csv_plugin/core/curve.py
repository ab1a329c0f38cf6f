"""Eq. 2, the accuracy of an exponent (Ge et al., ACL 2025, arXiv 2506.13216).

    accuracy = floor + (1 - floor) / (1 + exp(-exponent))

The floor is the accuracy of a model that knows nothing, near the chance level.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

#: Noise of a predicted accuracy is that of a share in this range: there is
#: some noise even where 0 or 1 is predicted.
SHARES = 0.01, 0.99
#: Least variance of an exponent.
LEAST_VARIANCE = 1e-8


def accuracy_of(exponents: NDArray, floor: NDArray) -> NDArray[np.float64]:
    """Return accuracies in 0..1 of exponents; shapes broadcast (Eq. 2)."""
    return floor + (1 - floor) * expit(exponents)


def item_variance(accuracy: NDArray) -> NDArray[np.float64]:
    """Return p (1 - p) of predicted accuracies, at least a little."""
    share = np.clip(accuracy, *SHARES)
    return share * (1 - share)


class Line(NamedTuple):
    """The curve as a straight line at M exponents of B benchmarks, `(M, B)`.

    `heights` are the accuracies that the line gives the exponents, and
    `slopes` its slopes. `targets` are the exponents to which it gives the
    observed accuracies.
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
    share = expit(near)
    slopes = (1 - floor) * share * (1 - share)
    heights = accuracy_of(near, floor) + slopes * (exponents - near)
    return Line(heights, slopes, exponents + (observed - heights) / slopes)


def moments(mean: NDArray, variance: NDArray, floor: NDArray,
            noise: NDArray) -> tuple[NDArray, NDArray]:
    """Return means and standard deviations of accuracies, `(M, B)` each.

    Exponents are normal, with a mean and a variance `(M, B)`; the accuracy
    that is observed has noise of variance `noise * p (1 - p)` besides. Floor
    and noise are `(B,)`. Gauss-Hermite quadrature with nine nodes.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    exponents = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    accuracies = accuracy_of(exponents, floor[:, None])
    middle = accuracies @ weights
    spread = (accuracies - middle[..., None])**2 @ weights
    return middle, np.sqrt(spread + noise * item_variance(middle))
