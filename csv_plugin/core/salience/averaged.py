"""Ridges on losses and on their logarithms, averaged: the most accurate.

Cross-validation tells a good penalty from a bad one, but hardly one good
penalty from the next, so fits of all penalties are averaged, the better the
more. The penalty that is good for other benchmarks counts as well.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, Progress, short_repr
from csv_plugin.core.salience.base import (LogTerms, SalienceFit,
                                           SalienceModel, Task, fit_notes,
                                           floor_candidates, held_out_mse,
                                           relative_logs)
from csv_plugin.core.salience.linear import PENALTIES, Uniform, regressions_on
from csv_plugin.core.salience.ridge_regressions import (Problems,
                                                        RidgeRegressions,
                                                        Solutions)
from csv_plugin.core.scaling_law import accuracy_at

#: An error larger by this share makes the weight of a penalty e times smaller.
SHARPNESS = 0.05
#: What a floor of 0 must gain on the chance level, as a share of the error:
#: models far better than those fitted on are predicted worse with low floors.
FLOOR_GAIN = 0.2
#: Losses and logarithms are averaged by this power of their errors.
POWER = -4
#: Smaller squared errors count as this, as 0 has no logarithm.
LEAST_ERROR = 1e-12


class _Scale(NamedTuple):
    """Losses, or their logarithms, as features of ridge regressions."""
    ridge: RidgeRegressions
    errors: NDArray


@dataclass(frozen=True)
class AveragedRidge:
    """Signed weights of losses and their logarithms, shrunk toward uniform.

    Each scale has its own ridge regressions at all penalties. Their exponents
    are averaged, which makes one capability score of them. The weight of a
    penalty falls with its error on held-out families, of the benchmark and,
    on average, of all benchmarks.

    Args:
        penalties (tuple[float, ...]): Candidates, in falling order.
    """
    penalties: tuple[float, ...] = PENALTIES
    name: str = 'averaged'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`.

        Raises:
            InputError: As in `fit_together`.
        """
        return self.fit_together([task], [masks])[0]

    def fit_together(self,
                     tasks: Sequence[Task],
                     masks: Sequence[NDArray],
                     progress: Progress = iter) -> list[SalienceFit]:
        """See `JointSolver.fit_together`.

        Raises:
            InputError: A feature is negative, so that it has no logarithm.
        """
        pairs = list(zip(tasks, masks))
        scales = [self._scales(*pair) for pair in progress(pairs)]
        shared = _shared([scale for scale in scales if scale])
        return [
            self._averaged(task, mask, parts, shared) if parts else _uniform(
                task, mask, self.name)
            for (task, mask), parts in zip(pairs, scales)
        ]

    def _scales(self, task: Task, masks: NDArray) -> list[_Scale]:
        """Errors of all penalties and floors; none with a single family."""
        if task.values.min() < 0:
            raise InputError(self.name, 'losses of 0 or more',
                             f'{task.values.min()}',
                             "Use the solver 'ridge' for these features.")
        if not len(masks):
            return []
        floors = floor_candidates(task.chance)
        scales = []
        for values in (task.values, relative_logs(task.values,
                                                  _typical(task))):
            ridge = regressions_on(replace(task, values=values))
            path = ridge.path(_problems(task, masks, floors), self.penalties)
            exponents = np.array([part.exponents for part in path]).reshape(
                len(path), len(floors),
                len(masks) + 1, -1)
            predicted = accuracy_at(exponents, floors[:, None, None])
            errors = held_out_mse(predicted[:, :, :-1], task.accuracy, masks)
            scales.append(_Scale(ridge, np.maximum(errors, LEAST_ERROR)))
        return scales

    def _averaged(self, task: Task, masks: NDArray, scales: list[_Scale],
                  shared: NDArray) -> SalienceFit:
        """One model of all penalties and both scales."""
        floors = floor_candidates(task.chance)
        dislike = FLOOR_GAIN * np.linspace(0, 1, len(floors))
        # Of scale, penalty and floor.
        evidence = np.log([scale.errors for scale in scales])
        evidence += shared[:, :, None] + dislike
        best = int(evidence.min(axis=1).mean(axis=0).argmin())
        floor = floors[best]
        rows = _problems(task, masks, floors[best:best + 1])
        averages, errors, weights = [], [], []
        for scale, by_penalty in zip(scales, evidence[:, :, best]):
            weight = np.exp((by_penalty.min() - by_penalty) / SHARPNESS)
            weights.append(weight / weight.sum())
            averages.append(
                _average(scale.ridge.path(rows, self.penalties), weights[-1]))
            predicted = accuracy_at(averages[-1].exponents[:-1], floor)
            errors.append(held_out_mse(predicted, task.accuracy, masks))
        powers = np.maximum(errors, LEAST_ERROR)**POWER
        shares = powers / powers.sum()
        models = _joined(task, scales, averages, shares, floor)
        predicted = models[:-1].predict(task.values)
        by_penalty = shares @ np.array(weights)
        tried = np.array([np.inf, *self.penalties])
        return SalienceFit(
            self.name, models[-1], models[:-1], masks,
            float(tried[by_penalty.argmax()]),
            float(held_out_mse(predicted, task.accuracy, masks)),
            fit_notes(models[-1], masks, gained=bool(by_penalty[0] < 0.5)))


def _typical(task: Task) -> NDArray:
    """The mean of each column; 1 where all losses are 0. `(K,)`."""
    means = task.values.mean(axis=0)
    return np.where(means > 0, means, 1)


def _problems(task: Task, masks: NDArray, floors: NDArray) -> Problems:
    """With each floor, the fits without held-out families and that to all."""
    rows = np.vstack([masks, np.ones((1, len(task.accuracy)), dtype=bool)])
    return Problems(task.accuracy,
                    np.tile(rows, (len(floors), 1)).astype(float),
                    np.repeat(floors, len(rows)))


def _shared(scales: list[list[_Scale]]) -> NDArray:
    """How much worse a penalty is than the best, on average, `(2, P)`.

    In logarithms of the error with the best floor.
    """
    if not scales:
        return np.zeros((2, 1))
    logs = np.log([[scale.errors.min(axis=1) for scale in parts]
                   for parts in scales])
    return np.mean(logs - logs.min(axis=2, keepdims=True), axis=0)


def _average(path: list[Solutions], weights: NDArray) -> Solutions:
    """Solutions of one floor, averaged over penalties."""
    return Solutions(*(sum(weight * getattr(part, name)
                           for weight, part in zip(weights, path))
                       for name in ('free', 'penalised', 'exponents')))


def _joined(task: Task, scales: list[_Scale], averages: list[Solutions],
            shares: NDArray, floor: float) -> SalienceModel:
    """Models `(F + 1,)` of exponents that are averages over both scales."""
    typical = _typical(task)
    parts = [
        scale.ridge.models(average, floor)
        for scale, average in zip(scales, averages)
    ]
    slopes = [share * part.curve.alpha for share, part in zip(shares, parts)]
    plain, logs = (slope[:, None] * part.coefficients
                   for slope, part in zip(slopes, parts))
    offset = -sum(slope * part.curve.beta
                  for slope, part in zip(slopes, parts))
    # A logarithm counts as typical losses times one more than itself.
    return SalienceModel.from_linear(plain, offset - logs.sum(axis=-1), floor,
                                     task.uniform,
                                     LogTerms(logs / typical, typical))


def _uniform(task: Task, masks: NDArray, name: str) -> SalienceFit:
    """With a single family."""
    fit = Uniform().fit(task, masks)
    return replace(
        fit, solver=name, notes=fit_notes(fit.model, masks, gained=False))
