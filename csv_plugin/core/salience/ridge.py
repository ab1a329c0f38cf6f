"""Signed weights, shrunk toward uniform.

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
                                           Task, fit_notes, floor_candidates)
from csv_plugin.core.salience.ridge_regressions import (Problems,
                                                        RidgeRegressions,
                                                        Solutions,
                                                        errors_by_floor)

#: Relative to the largest variance of any direction of the features.
PENALTIES = tuple(10**(-i / 2) for i in range(21))
#: What `Plain` takes: so weak that three columns are hardly shrunk.
WEAK = 10**-3.5


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


@dataclass(frozen=True)
class Plain:
    """Signed weights, hardly shrunk, and nothing chosen: for few columns.

    The floor is the chance level. Where a handful of families must tell which
    of many penalties and floors is best, for a handful of columns, the choice
    costs more than it gains.

    Args:
        penalty (float): The only one.
    """
    penalty: float = WEAK
    name: str = 'plain'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; of a single family, the mean loss is used."""
        if not len(masks):
            return replace(Uniform().fit(task, masks), solver=self.name)
        floors = floor_candidates(task.chance)[:1]
        problems = Problems.of_folds(task, masks, floors)
        ridge = task.features.once(RidgeRegressions.of)
        start = ridge.path(problems, (self.penalty, ))[-1]
        solutions = ridge.refined(problems, start, self.penalty)
        models = ridge.models(solutions, floors[0])
        error = errors_by_floor([solutions], task, masks, floors)
        return SalienceFit(self.name, models[-1], models[:-1], masks,
                           self.penalty, float(error[0, 0]),
                           fit_notes(models[-1], masks, gained=True))


def _cross_validate(task: Task, masks: NDArray, name: str,
                    penalties: tuple[float,
                                     ...], learn_floor: bool) -> SalienceFit:
    """Fit every penalty and floor, keep the best on held-out models."""
    floors = floor_candidates(task.chance)[:None if learn_floor else 1]
    if not len(masks):
        penalties, floors = (), floors[:1]
    problems = Problems.of_folds(task, masks, floors)
    ridge = task.features.once(RidgeRegressions.of)
    path = ridge.path(problems, penalties)
    errors = errors_by_floor(path, task, masks, floors)
    best, floor = (
        int(i) for i in np.unravel_index(np.argmin(errors), errors.shape))
    tried = np.array([np.inf, *penalties])
    n_fits = len(masks) + 1
    of_floor = slice(floor * n_fits, (floor + 1) * n_fits)
    path = [solutions[of_floor] for solutions in path]
    if best:
        path[best] = ridge.refined(problems[of_floor], path[best],
                                   penalties[best - 1])
    # The folds at the chosen penalty, then the fits to all models.
    models = ridge.models(
        Solutions.concatenate(
            [path[best][:-1], *(solutions[-1:] for solutions in path)]),
        floors[floor])
    folds, on_all = models[:len(masks)], models[len(masks):]
    model = on_all[best]
    gained = bool(best > 0) or name == Uniform.name
    return SalienceFit(name, model, folds, masks, float(tried[best]),
                       float(errors[best, floor]),
                       fit_notes(model, masks, gained),
                       RegularisationPath(tried, on_all, errors[:, floor]))
