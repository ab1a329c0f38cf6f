"""The curve of Eq. 2 (Ge et al., ACL 2025, arXiv 2506.13216), and tangents.

    accuracy = floor + (1 - floor) / (1 + exp(-exponent))

The floor is the accuracy of a model that knows nothing, near the chance level.
Predictions use this curve. Fits replace it by a tangent (`line_at`): the
tangent at the current exponent or, if this is beyond `Form.straight` or
-`Form.straight`, at that limit.
"""
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from csv_plugin.core.arrays import Floats

#: Range to which accuracies p are clipped before p (1 - p) is computed, so
#: that accuracies near 0 and 1 have some noise, too. A convention, not fitted.
CLIPPED = 0.01, 0.99
#: Least variance of an exponent. Rounding may make smaller ones negative.
LEAST_VARIANCE = 1e-8


def accuracy_of(exponents: NDArray, floor: NDArray) -> Floats:
    """Return the accuracy at each exponent (Eq. 2), a fraction.

    Exponents may have any shape, to which the shape of the floor broadcasts.
    """
    sigmoid = expit(exponents)
    return floor + (1 - floor) * sigmoid


def item_variance(accuracy: NDArray) -> Floats:
    """Return p (1 - p) for each accuracy p, in the same shape.

    Accuracies are clipped to `CLIPPED` before.
    """
    clipped = np.clip(accuracy, *CLIPPED)
    return clipped * (1 - clipped)


class Line(NamedTuple):
    """Tangents of the curve at the exponents of M models on B benchmarks.

    All attributes are `(M, B)`. `heights` are the accuracies on the tangents
    at these exponents, and `slopes` the slopes of the tangents. `targets` are
    the exponents at which the tangents reach the observed accuracies.
    """
    heights: Floats
    slopes: Floats
    targets: Floats


def line_at(exponents: NDArray, observed: NDArray, floor: NDArray,
            straight: float) -> Line:
    """Return the tangents of the curve at exponents.

    For exponents beyond -`straight` or `straight`, this limit's tangent is
    taken; see `Form.straight`. Exponents and observed accuracies are `(M, B)`,
    and the floor is `(B,)`.
    """
    near = np.clip(exponents, -straight, straight)
    sigmoid = expit(near)
    slopes = (1 - floor) * sigmoid * (1 - sigmoid)
    # The heights where the tangents touch the curve, and at the exponents.
    touching = accuracy_of(near, floor)
    heights = touching + slopes * (exponents - near)
    targets = exponents + (observed - heights) / slopes
    return Line(heights, slopes, targets)


def moments(mean: NDArray,
            variance: NDArray,
            floor: NDArray,
            noise: NDArray,
            n_nodes: int = 41) -> tuple[NDArray, NDArray]:
    """Return means and standard deviations of accuracies, `(M, B)` each.

    Exponents are normally distributed; `mean` and `variance` are `(M, B)`. To
    the variance of accuracies that follows, noise of items is added: `noise *
    p (1 - p)`, where p is the mean accuracy. `floor` and `noise` are `(B,)`.
    Integrals over exponents are computed by Gauss-Hermite quadrature with
    `n_nodes` nodes. With 41 nodes, means are right to .05 points for standard
    deviations of exponents up to 4; with nine nodes, up to 2.
    """
    nodes, weights = _quadrature(n_nodes)
    deviation = np.sqrt(variance)
    # Shape `(M, B, n_nodes)`, with one value for each node.
    away = deviation[..., None] * nodes
    exponents = mean[..., None] + away
    accuracies = accuracy_of(exponents, floor[:, None])
    middle = accuracies @ weights
    distances = accuracies - middle[..., None]
    from_exponents = distances**2 @ weights
    from_items = noise * item_variance(middle)
    variance_of_accuracies = from_exponents + from_items
    return middle, np.sqrt(variance_of_accuracies)


@cache
def _quadrature(n_nodes: int) -> tuple[NDArray, NDArray]:
    """Return the nodes and weights of means over a standard normal variable.

    They are computed once, as they take longer than the means themselves.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / weights.sum()
