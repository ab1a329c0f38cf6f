"""Signed weights, shrunk toward uniform: the default solver.

`min mean_m (A_m - Ahat_m)^2 + penalty min_a |c - a u|^2` over the
coefficients `c`, with `u` the uniform ones: the mean loss keeps its own
unpenalised coefficient, so without evidence the answer is the all-token
baseline. Penalty and floor come from family-grouped cross-validation.
"""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import (RegularisationPath, SalienceFit,
                                           SalienceModel, Task, fit_notes,
                                           floor_candidates, held_out_mse)
from csv_plugin.core.scaling_law import Regressions

#: Relative to the largest variance of any direction of the features.
PENALTIES = tuple(10**(-i / 2) for i in range(21))


@dataclass(frozen=True, eq=False)
class Basis:
    """The n-dimensional subspace in which ridge solutions lie.

    Args:
        design (NDArray): Ones, standardised mean loss, scaled principal
            coordinates of the features; shape `(n, 2 + r)`.
        directions (NDArray): The same columns as linear functions of the
            features, without the ones, shape `(1 + r, K)`.
        centre (NDArray): Feature means, shape `(K,)`.
    """
    design: NDArray
    directions: NDArray
    centre: NDArray

    __repr__ = short_repr

    @classmethod
    def of(cls, values: NDArray, uniform: NDArray) -> 'Basis':
        """The basis of features `(n, K)` around their means."""
        centre = values.mean(axis=0)
        centred = values - centre
        mean = uniform / (centred @ uniform).std()
        _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
        kept = sizes > 1e-9 * sizes[0]
        scale = np.sqrt(len(values)) / sizes[0]
        directions = np.vstack([mean, axes[kept] * scale])
        design = np.hstack([np.ones((len(values), 1)), centred @ directions.T])
        return cls(design, directions, centre)

    def models(self, theta: NDArray, floors: NDArray,
               uniform: NDArray) -> SalienceModel:
        """Coefficients `(..., p)` of the design, as salience models."""
        gradient = theta[..., 1:] @ self.directions[:theta.shape[-1] - 1]
        offset = theta[..., 0] - gradient @ self.centre
        return SalienceModel.from_linear(gradient, offset, floors, uniform)


@dataclass(frozen=True)
class Uniform:
    """The all-token baseline: every weight 1, the curve fitted to the loss.

    Args:
        learn_floor (bool): Choose the floor in [0, chance] by
            cross-validation rather than fix it at chance.
    """
    learn_floor: bool = False
    name: str = 'uniform'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return _cross_validate(task, masks, self.name, (), self.learn_floor)


@dataclass(frozen=True)
class Ridge:
    """Signed weights, shrunk toward uniform, with a learned floor.

    Args:
        penalties (tuple[float, ...]): Candidates, in falling order.
        learn_floor (bool): As in `Uniform`.
    """
    penalties: tuple[float, ...] = PENALTIES
    learn_floor: bool = True
    name: str = 'ridge'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return _cross_validate(task, masks, self.name, self.penalties,
                               self.learn_floor)


def _cross_validate(task: Task, masks: NDArray, name: str,
                    penalties: tuple[float,
                                     ...], learn_floor: bool) -> SalienceFit:
    """Fit every penalty and floor, keep the best on held-out models."""
    floors = floor_candidates(task.chance)[:None if learn_floor else 1]
    if not len(masks):
        penalties, floors = (), floors[:1]
    basis = Basis.of(task.values, task.uniform)
    # The last mask is the fit on all models.
    rows = np.vstack([masks, np.ones((1, len(task.accuracy)), dtype=bool)])
    problems = Regressions(
        basis.design,
        task.accuracy,
        np.tile(rows, (len(floors), 1)).astype(float),
        np.repeat(floors, len(rows)),
        n_free=2)
    path = _regularisation_path(problems, penalties)
    shape = (len(path), len(floors), len(rows), -1)
    predicted = np.array([problems.predict(t) for t in path]).reshape(shape)
    errors = held_out_mse(predicted[:, :, :-1], task.accuracy, masks)
    best, floor = np.unravel_index(np.argmin(errors), errors.shape)
    # By penalty and mask.
    models = basis.models(
        np.array(path).reshape(shape)[:, floor], floors[floor], task.uniform)
    chosen = models[int(best)]
    gained = bool(best > 0) or name == Uniform.name
    tried = np.array([np.inf, *penalties])
    return SalienceFit(
        name, chosen[-1], chosen[:-1], masks, float(tried[best]),
        float(errors[best, floor]), fit_notes(chosen[-1], masks, gained),
        RegularisationPath(tried, models[:, -1], errors[:, floor]))


def _regularisation_path(problems: Regressions,
                         penalties: tuple[float, ...]) -> list[NDArray]:
    """Solutions from uniform weights on, each started at the one before."""
    mean_only = replace(problems, design=problems.design[:, :2])
    theta = np.zeros((len(problems.masks), problems.design.shape[1]))
    theta[:, :2] = mean_only.solve(0.0, mean_only.start())
    path = [theta]
    for penalty in penalties:
        path.append(problems.solve(penalty, path[-1]))
    return path
