"""Non-negative weights, as in the paper, shrunk toward uniform.

Alpha and beta are eliminated, that is, fitted anew for all weights that are
tried, which turns the paper's gradient step on the weights (Eq. 5) into Newton
steps on `min_{alpha, beta} mean_m (A_m - Ahat_m)^2 / var(A) + penalty mean_k
(w_k - 1)^2`.
"""
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, short_repr
from csv_plugin.core.salience.base import (RegularisationPath, SalienceFit,
                                           SalienceModel, Task, fit_notes,
                                           held_out_mse)
from csv_plugin.core.salience.linear import Uniform
from csv_plugin.core.salience.nonnegative_regressions import \
    NonNegativeRegressions
from csv_plugin.core.salience.ridge_regressions import Problems
from csv_plugin.core.scaling_law import AT_CHANCE, diagnose

#: Relative to the variance of the accuracies.
PENALTIES = tuple(10**(-i / 2) for i in range(9))
#: No weaker penalty is tried after one whose error on held-out models is over
#: so many times the least one.
HOPELESS = 2


@dataclass(frozen=True)
class NonNegative:
    """Weights that cannot be negative, with the floor of the mean loss.

    Args:
        penalties (tuple[float, ...]): Candidates, in falling order.
    """
    penalties: tuple[float, ...] = PENALTIES
    name: str = 'nonnegative'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`.

        Raises:
            InputError: A column has no positive uniform coefficient, so
                that the sign of its weight would mean nothing.
        """
        if task.uniform.min() <= 0:
            raise InputError('nonnegative', 'positive uniform coefficients',
                             f'{task.uniform.min()}',
                             "Use the solver 'ridge' for these features.")
        uniform = Uniform(learn_floor=True).fit(task, masks)
        fallback = replace(
            uniform,
            solver=self.name,
            notes=fit_notes(uniform.model, masks, gained=False))
        if not len(masks):
            return fallback
        floor = float(uniform.model.curve.floor)
        rows = np.vstack([masks, np.ones_like(masks[:1])])
        candidates: list[SalienceModel] = []
        errors: list[float] = []
        for models in self._candidates(task, rows, floor):
            predicted = models[:-1].predict(task.values)
            candidates.append(models)
            errors.append(float(held_out_mse(predicted, task.accuracy, masks)))
            if errors[-1] > HOPELESS * min(uniform.cv_mse, *errors):
                break
        best = int(np.argmin(errors))
        if not errors[best] < uniform.cv_mse:
            return fallback
        models = candidates[best]
        notes = fit_notes(models[-1], masks, gained=True)
        path = RegularisationPath(
            np.array([np.inf, *self.penalties[:len(errors)]]),
            SalienceModel.stack(
                [uniform.model, *(models[-1] for models in candidates)]),
            np.array([uniform.cv_mse, *errors]))
        return SalienceFit(self.name, models[-1],
                           models[:-1], masks, self.penalties[best],
                           float(errors[best]), notes, path)

    def _candidates(self, task: Task, masks: NDArray,
                    floor: float) -> Iterator[SalienceModel]:
        """Models of every mask, stacked, for one penalty after the other."""
        accuracies = [task.accuracy[mask] for mask in masks]
        constant = SalienceModel.constant(
            np.array([accuracy.mean() for accuracy in accuracies]),
            task.uniform)
        mean = task.values @ task.uniform
        # Without the held-out models there may be no slope.
        solved = np.array([
            set(diagnose(mean[mask], accuracy, task.chance)) <= {AT_CHANCE}
            for mask, accuracy in zip(masks, accuracies)
        ])
        problems = Problems(task.accuracy, masks[solved].astype(float),
                            np.full(solved.sum(), floor))
        regressions = NonNegativeRegressions(task.values, task.uniform,
                                             problems)
        for penalty in self.penalties:
            yield _replaced(constant, solved, regressions.follow(penalty))


def _replaced(stack: SalienceModel, rows: NDArray,
              models: SalienceModel) -> SalienceModel:
    """The stack with other models in some rows."""
    order = np.cumsum(rows) - 1
    return SalienceModel.stack(
        [models[order[i]] if row else stack[i] for i, row in enumerate(rows)])
