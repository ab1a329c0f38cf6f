"""The variance of errors on held-out families, shared between benchmarks.

The variance of an error is a constant part plus a part that grows with the
squared slope of the curve: where the curve is steep, an error of the score
moves the accuracy most.

Few families do not tell these two parts from each other: one odd family where
the curve is steep looks like a slope of all of them. What the parts are in
proportion to each other, the *shape* of the variance, is taken to be alike on
all benchmarks of the same models: they share it, the more the fewer families
they have. How large errors are in all is each benchmark's own matter.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import SalienceFit, Task

#: Standard deviations of errors are not taken to be smaller than this.
LEAST_DEVIATION = 1e-6
#: The shape that benchmarks share counts like that many families of one's own.
SHARED_FAMILIES = 6
_ROUNDS = 10


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """Errors of fold models on the models that they have not seen.

    Args:
        fold (NDArray): Which fold model made each error, `(N,)` integers.
        sizes (NDArray): Absolute differences of accuracies, fractions,
            `(N,)`.
        slopes (NDArray): Of the curve of the fold model (Eq. 2), fractions
            per unit of its exponent, `(N,)` (`SalienceModel.slopes`).
        n_families (int): Families of the models that were fitted on.
        constant (bool): Whether all fold models predict one accuracy each,
            whatever the score, as the mean accuracy does.
    """
    fold: NDArray[np.int64]
    sizes: NDArray[np.float64]
    slopes: NDArray[np.float64]
    n_families: int
    constant: bool = False

    __repr__ = short_repr

    @classmethod
    def of(cls, task: Task, fit: SalienceFit) -> 'HeldOutErrors':
        """The errors of the folds of a fit to a task."""
        fold, held_out = np.nonzero(~fit.masks)
        scores = fit.folds.scores(task.values)
        predicted = fit.folds.curve.accuracies(scores)[fold, held_out]
        return cls(fold, np.abs(predicted - task.accuracy[held_out]),
                   fit.folds.curve.slopes(scores)[fold, held_out],
                   len(np.unique(task.families)),
                   not np.any(fit.folds.curve.alpha))

    def in_deviations(self, variance: NDArray) -> NDArray[np.float64]:
        """The sizes in standard deviations, by a variance `(2,)`. `(N,)`."""
        return self.sizes / deviation(variance, self.slopes)


def deviation(variance: NDArray, slopes: NDArray) -> NDArray[np.float64]:
    """Standard deviation of errors.

    Args:
        variance (NDArray): Its constant part, in squared fractions, and its
            part per squared slope, in squared exponents. Shape `(2,)`.
        slopes (NDArray): Of curves, as in `HeldOutErrors`, in any shape.

    Returns:
        NDArray: Fractions in the same shape, `LEAST_DEVIATION` or more.
    """
    modelled = variance[0] + variance[1] * slopes**2
    return np.maximum(np.sqrt(modelled), LEAST_DEVIATION)


def fit_variance(sizes: NDArray, slopes: NDArray) -> NDArray[np.float64]:
    """Both parts of the variance, by weighted least squares.

    Args:
        sizes (NDArray): As in `HeldOutErrors`, `(N,)`.
        slopes (NDArray): As there, `(N,)`.

    Returns:
        NDArray: Shape `(2,)`; `[1, 0]` without an error.
    """
    columns = np.stack([np.ones_like(slopes), slopes**2], axis=1)
    parts = np.array([1.0, 0.0])
    for _ in range(_ROUNDS if len(sizes) else 0):
        # The variance of a squared error is that of the error, squared.
        weight = 1 / deviation(parts, slopes)**2
        parts, _ = nnls(columns * weight[:, None], sizes**2 * weight)
    return parts


def shared_variances(errors: Sequence[HeldOutErrors]) -> list[NDArray]:
    """The variance on each benchmark, drawn to the shape that all share.

    With n families, that of the benchmark's own errors counts n times, and the
    shared one, with the benchmark's own level, `SHARED_FAMILIES` times.

    Args:
        errors (Sequence[HeldOutErrors]): Of B benchmarks. Those that are
            `constant`, or have no error above 0, tell nothing of the shape
            and keep their own variances.

    Returns:
        list[NDArray]: B variances, `(2,)` each.
    """
    variances = [fit_variance(part.sizes, part.slopes) for part in errors]
    sharing = [
        b for b, part in enumerate(errors)
        if part.sizes.any() and not part.constant
    ]
    shared = _of_one_shape([errors[b] for b in sharing])
    for b, variance in zip(sharing, shared):
        n = errors[b].n_families
        variances[b] = (n * variances[b] + SHARED_FAMILIES * variance) / (
            n + SHARED_FAMILIES)
    return variances


def _of_one_shape(errors: Sequence[HeldOutErrors]) -> list[NDArray]:
    """Variances that differ by a factor only, for each benchmark.

    The rounds settle the shape where errors tell one. Where they hardly do,
    it is as good wherever the rounds end.
    """
    levels, shape = np.ones(len(errors)), np.zeros(2)
    for _ in range(_ROUNDS if errors else 0):
        shape = fit_variance(
            np.concatenate(
                [part.sizes / level for part, level in zip(errors, levels)]),
            np.concatenate([part.slopes for part in errors]))
        levels = np.array(
            [_root_mean_square(part.in_deviations(shape)) for part in errors])
        # Shape and levels have one unit between them.
        levels /= np.exp(np.log(levels).mean())
    return [shape * level**2 for level in levels]


def _root_mean_square(values: NDArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
