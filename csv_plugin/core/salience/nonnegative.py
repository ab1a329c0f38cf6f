"""Non-negative weights, as in the paper, shrunk toward uniform.

Weights are `softplus(theta)`. Alpha and beta are eliminated, that is, fitted
anew for every theta, which turns the paper's gradient step on theta (Eq. 5)
into L-BFGS on `min_{alpha, beta} mean_m (A_m - Ahat_m)^2 / var(A) + penalty
mean_k (w_k - 1)^2`.
"""
from dataclasses import dataclass, replace
from typing import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from csv_plugin.core.conventions import InputError, short_repr
from csv_plugin.core.salience.base import (RegularisationPath, SalienceFit,
                                           SalienceModel, Task, fit_notes,
                                           held_out_mse)
from csv_plugin.core.salience.linear import Uniform
from csv_plugin.core.scaling_law import fit_curve

#: Relative to the variance of the accuracies.
PENALTIES = tuple(10**(-i / 2) for i in range(9))
#: softplus of this is 1, the uniform weight.
THETA_OF_ONE = float(np.log(np.expm1(1.0)))


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
        floor = uniform.model.curve.floor
        rows = [*masks, np.ones(len(task.accuracy), dtype=bool)]
        paths = [self._path(task.select(row), float(floor)) for row in rows]
        candidates = [SalienceModel.stack(models) for models in zip(*paths)]
        errors = [
            held_out_mse(models[:-1].predict(task.values), task.accuracy,
                         masks) for models in candidates
        ]
        best = int(np.argmin(errors))
        if not errors[best] < uniform.cv_mse:
            return fallback
        models = candidates[best]
        notes = fit_notes(models[-1], masks, gained=True)
        path = RegularisationPath(
            np.array([np.inf, *self.penalties]),
            SalienceModel.stack(
                [uniform.model, *(models[-1] for models in candidates)]),
            np.array([uniform.cv_mse, *errors]))
        return SalienceFit(self.name, models[-1],
                           models[:-1], masks, self.penalties[best],
                           float(errors[best]), notes, path)

    def _path(self, task: Task, floor: float) -> Iterator[SalienceModel]:
        """One model per penalty, each started at the one before."""
        if task.problems:  # Without the held-out models there is no slope.
            mean = np.array(task.accuracy.mean())
            yield from [SalienceModel.constant(mean, task.uniform)] * len(
                self.penalties)
            return
        problem = _Problem(task, floor)
        theta = np.full(len(task.uniform), THETA_OF_ONE)
        for penalty in self.penalties:
            theta = minimize(problem.objective, theta, args=(penalty, ),
                             jac=True, method='L-BFGS-B', options=dict(
                                 gtol=1e-9, ftol=1e-13, maxiter=1000,
                                 maxfun=2000)).x  # yapf: disable
            yield problem.model(theta)


class _Problem:
    """The objective with alpha and beta eliminated."""

    def __init__(self, task: Task, floor: float) -> None:
        self.task, self.floor = task, floor
        columns = task.values * task.uniform
        mean_loss = columns.sum(axis=1)
        self.centre, self.spread = mean_loss.mean(), mean_loss.std()
        self.columns = columns / self.spread
        self.scale = task.accuracy.var()

    def score(self, weights: NDArray) -> NDArray:
        """Capability scores in standard units of the mean loss, `(n,)`."""
        return self.columns @ weights - self.centre / self.spread

    def objective(self, theta: NDArray,
                  penalty: float) -> tuple[float, NDArray]:
        """Value and gradient in theta, shape `(K,)`."""
        weights = np.logaddexp(0, theta)
        score = self.score(weights)
        curve, _ = fit_curve(score, self.task.accuracy, self.floor)
        residual = curve.accuracies(score) - self.task.accuracy
        value = (
            np.mean(residual**2) / self.scale + penalty * np.mean(
                (weights - 1)**2))
        by_score = residual * curve.slopes(score) * curve.alpha / self.scale
        by_weight = (
            by_score @ self.columns / len(score) + penalty *
            (weights - 1) / len(weights))
        return float(value), 2 * by_weight * expit(theta)

    def model(self, theta: NDArray) -> SalienceModel:
        """The salience model with weights softplus(theta)."""
        weights = np.logaddexp(0, theta)
        curve, _ = fit_curve(
            self.score(weights), self.task.accuracy, self.floor)
        gradient = curve.alpha * weights * self.task.uniform / self.spread
        offset = -curve.alpha * (self.centre / self.spread + curve.beta)
        return SalienceModel.from_linear(gradient, offset, self.floor,
                                         self.task.uniform)
