"""What ridge regressions on the curve are asked and what they answer."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import SalienceModel, Task, held_out_mse
from csv_plugin.core.scaling_law import accuracy_at


class Features(Protocol):
    """Feature columns of n models."""

    @property
    def values(self) -> NDArray:
        """Shape `(n, K)`."""

    @property
    def uniform(self) -> NDArray:
        """Coefficients of the mean loss, `(K,)`."""


@dataclass(frozen=True, eq=False)
class Problems:
    """Q regressions on the same n models, as cross-validation needs them.

    Each minimises `mean_i mask_i (a_i - A(e_i))^2 + penalty |g|^2` over `b`
    and `g`, where `A` is Eq. 2 and `e = b_0 + b_1 mean loss + features g` the
    exponents. Penalties are relative to the largest variance of any direction
    of the features.

    Args:
        accuracy (NDArray): Shape `(n,)`, fractions.
        masks (NDArray): Models that count, 0 or 1, shape `(Q, n)`.
        floors (NDArray): Shape `(Q,)`, fractions in [0, 1).
    """
    accuracy: NDArray
    masks: NDArray
    floors: NDArray

    __repr__ = short_repr

    @classmethod
    def of_folds(cls, task: Task, masks: NDArray,
                 floors: NDArray) -> 'Problems':
        """With each floor, the fits without held-out families, and to all.

        Args:
            task (Task): Of n models.
            masks (NDArray): As in `Solver.fit`, `(F, n)`.
            floors (NDArray): Fractions, `(L,)`.

        Returns:
            Problems: `L (F + 1)` of them; the last of each floor is the fit
            to all models.
        """
        rows = np.vstack([masks, np.ones((1, len(task.accuracy)), dtype=bool)])
        return cls(task.accuracy,
                   np.tile(rows, (len(floors), 1)).astype(float),
                   np.repeat(floors, len(rows)))

    def __getitem__(self, rows: Any) -> 'Problems':
        return Problems(self.accuracy, self.masks[rows], self.floors[rows])


@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions of Q regressions on n models.

    Args:
        free (NDArray): `b`, the coefficients that no penalty is on, `(Q, 2)`.
        penalised (NDArray): What `g` is made of, `(Q, ...)`.
        exponents (NDArray): Of all models, `(Q, n)`.
    """
    free: NDArray
    penalised: NDArray
    exponents: NDArray

    __repr__ = short_repr

    def __getitem__(self, rows: Any) -> 'Solutions':
        return Solutions(self.free[rows], self.penalised[rows],
                         self.exponents[rows])

    @classmethod
    def concatenate(cls, parts: Sequence['Solutions']) -> 'Solutions':
        """Solutions of the same kind as one."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts])
                     for name in ('free', 'penalised', 'exponents')))


def errors_by_floor(path: Sequence[Solutions], task: Task, masks: NDArray,
                    floors: NDArray) -> NDArray:
    """Mean squared errors on held-out models of solutions along a path.

    Args:
        path (Sequence[Solutions]): One per penalty, of the problems of
            `Problems.of_folds`.
        task (Task): As there.
        masks (NDArray): As there, `(F, n)`.
        floors (NDArray): As there, `(L,)`.

    Returns:
        NDArray: Shape `(P, L)`; NaN if nothing is held out.
    """
    exponents = np.array([solutions.exponents for solutions in path])
    predicted = accuracy_at(
        exponents.reshape(len(path), len(floors),
                          len(masks) + 1, -1), floors[:, None, None])
    return held_out_mse(predicted[:, :, :-1], task.accuracy, masks)


class RidgeRegressions(Protocol):
    """Solves ridge regressions on the features of n models."""

    def path(self, problems: Problems,
             penalties: tuple[float, ...]) -> list[Solutions]:
        """Follow regressions from uniform weights to ever freer ones.

        Args:
            problems (Problems): The regressions.
            penalties (tuple[float, ...]): In falling order.

        Returns:
            list[Solutions]: At an infinite penalty, where `g` is 0, then one
            per penalty.
        """

    def refined(self, problems: Problems, solutions: Solutions,
                penalty: float) -> Solutions:
        """Solutions to the last digits, from those of a path."""

    def models(self, solutions: Solutions, floor: float) -> SalienceModel:
        """Solutions with one floor, as salience models `(Q,)`."""
