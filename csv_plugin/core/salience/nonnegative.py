"""Non-negative weights, as in the paper, shrunk toward uniform.

Alpha and beta are eliminated, that is, fitted anew for all weights that are
tried, which turns the paper's gradient step on the weights (Eq. 5) into Newton
steps on `min_{alpha, beta} mean_m (A_m - Ahat_m)^2 / var(A) + penalty mean_k
(w_k - 1)^2`.
"""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, short_repr
from csv_plugin.core.salience.base import (RegularisationPath, SalienceFit,
                                           Task, fit_notes, held_out_mse)
from csv_plugin.core.salience.nonnegative_regressions import \
    NonNegativeRegressions
from csv_plugin.core.salience.ridge import Uniform
from csv_plugin.core.salience.ridge_regressions import Problems
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import AT_CHANCE, diagnose

#: Relative to the variance of the accuracies.
PENALTIES = tuple(10**(-i / 2) for i in range(9))
#: A penalty is left, and no weaker one is tried, as soon as the error on
#: held-out models is over so many times the least one.
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
        candidates, errors = self._candidates(task, masks, uniform)
        best = int(np.argmin(errors))
        if not errors[best] < uniform.cv_mse:
            return fallback
        models = candidates[best - 1]
        notes = fit_notes(models[-1], masks, gained=True)
        penalties = np.array([np.inf, *self.penalties])[:len(errors)]
        path = RegularisationPath(
            penalties,
            SalienceModel.stack(
                [uniform.model, *(part[-1] for part in candidates)]),
            np.array(errors))
        return SalienceFit(self.name, models[-1], models[:-1], masks,
                           float(penalties[best]), errors[best], notes, path)

    def _candidates(
            self, task: Task, masks: NDArray,
            uniform: SalienceFit) -> tuple[list[SalienceModel], list[float]]:
        """Fits with one penalty after the other.

        Args:
            task (Task): Of n models.
            masks (NDArray): As in `Solver.fit`, `(F, n)`.
            uniform (SalienceFit): With uniform weights, to the same.

        Returns:
            tuple[list[SalienceModel], list[float]]: Models of each mask, and
            last of all n models, `(F + 1,)` for each penalty; mean squared
            errors on held-out models, squared fractions, of which the first
            is that of uniform weights and has no such models.
        """
        rows = np.vstack([masks, np.ones_like(masks[:1])])
        accuracies = [task.accuracy[mask] for mask in rows]
        constant = SalienceModel.constant(
            np.array([accuracy.mean() for accuracy in accuracies]),
            task.uniform)
        mean = task.values @ task.uniform
        # Without the held-out models there may be no slope.
        solved = np.array([
            set(diagnose(mean[mask], accuracy, task.chance)) <= {AT_CHANCE}
            for mask, accuracy in zip(rows, accuracies)
        ])
        floor = float(uniform.model.curve.floor)
        problems = Problems(task.accuracy, rows[solved].astype(float),
                            np.full(solved.sum(), floor))
        regressions = NonNegativeRegressions(task.values, task.uniform,
                                             problems)
        predicted = constant.predict(task.values)

        def error() -> float:
            """On held-out models, where the regressions are."""
            predicted[solved] = regressions.accuracies
            return float(held_out_mse(predicted[:-1], task.accuracy, masks))

        candidates: list[SalienceModel] = []
        errors = [uniform.cv_mse]

        def hopeless() -> bool:
            """Whether to leave the regressions where they are."""
            return error() > HOPELESS * min(errors)

        for penalty in self.penalties:
            regressions.follow(penalty, hopeless)
            if hopeless():
                break
            errors.append(error())
            candidates.append(
                _replaced(constant, solved, regressions.models()))
        return candidates, errors


def _replaced(stack: SalienceModel, rows: NDArray,
              models: SalienceModel) -> SalienceModel:
    """The stack with other models in some rows."""
    order = np.cumsum(rows) - 1
    return SalienceModel.stack(
        [models[order[i]] if row else stack[i] for i, row in enumerate(rows)])
