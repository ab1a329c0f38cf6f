"""Ridges on losses and on their logarithms, averaged.

Cross-validation tells a good penalty from a bad one, but hardly one good
penalty from the next, so fits of all penalties are averaged, the better the
more. The penalty that is good for other benchmarks counts as well.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, Progress, short_repr
from csv_plugin.core.salience.base import (LEAST_TYPICAL, LogTerms,
                                           SalienceFit, SalienceModel, Task,
                                           fit_notes, floor_candidates,
                                           held_out_mse, relative_logs)
from csv_plugin.core.salience.linear import PENALTIES, Uniform, regressions_on
from csv_plugin.core.salience.ridge_regressions import (Problems,
                                                        RidgeRegressions,
                                                        Solutions,
                                                        errors_by_floor)
from csv_plugin.core.salience.shared_features import SharedFeatures
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
#: Said where uniform weights count for half or more.
LITTLE_GAIN = ('little gain over uniform weights on held-out families: mostly '
               'uniform weights used')


@dataclass(frozen=True)
class AveragedRidge:
    """Signed weights of losses and their logarithms, shrunk toward uniform.

    Each scale has its own ridge regressions at all penalties. Their exponents
    are averaged, which makes one capability score of them. The weight of a
    penalty falls with its error on held-out families, of the benchmark and,
    on average, of all benchmarks. The fit states the penalty of the largest
    weight.

    These weights, the floor, and the shares of the two scales are the same in
    all fold models, so the accuracies of families that one of them holds out
    had a part in them, and in nothing else of it.

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
        errors = [self._errors(*pair) for pair in progress(pairs)]
        shared = _shared(
            [of_task for of_task, mask in zip(errors, masks) if len(mask)])
        return [
            self._averaged(*pair, of_task, shared)
            if len(pair[1]) else _uniform(*pair, self.name)
            for pair, of_task in zip(pairs, errors)
        ]

    def _errors(self, task: Task, masks: NDArray) -> NDArray:
        """On held-out families, by scale, penalty and floor, `(2, P, L)`.

        NaN with a single family.
        """
        lowest = task.features.once(_lowest)
        if lowest < 0:
            raise InputError(self.name, 'losses of 0 or more', f'{lowest}',
                             "Use the solver 'ridge' for these features.")
        floors = floor_candidates(task.chance)
        if not len(masks):
            return np.full((2, len(self.penalties) + 1, len(floors)), np.nan)
        errors = []
        for ridge in task.features.once(_both_scales):
            path = ridge.path(
                Problems.of_folds(task, masks, floors), self.penalties)
            errors.append(errors_by_floor(path, task, masks, floors))
        return np.maximum(errors, LEAST_ERROR)

    def _averaged(self, task: Task, masks: NDArray, errors: NDArray,
                  shared: NDArray) -> SalienceFit:
        """One model of all penalties and both scales."""
        floors = floor_candidates(task.chance)
        dislike = FLOOR_GAIN * np.linspace(0, 1, len(floors))
        excess = np.log(errors) + shared[:, :, None] + dislike
        best = int(excess.min(axis=1).mean(axis=0).argmin())
        excess = excess[:, :, best] - excess[:, :, best].min(axis=1)[:, None]
        weights = np.exp(-excess / SHARPNESS)
        weights /= weights.sum(axis=1)[:, None]
        rows = Problems.of_folds(task, masks, floors[best:best + 1])

        def error_of(exponents: NDArray) -> float:
            """On held-out families, of exponents of all fits, `(F + 1, n)`."""
            predicted = accuracy_at(exponents[:-1], floors[best])
            return float(held_out_mse(predicted, task.accuracy, masks))

        ridges = task.features.once(_both_scales)
        averages = [
            _average(ridge.path(rows, self.penalties), of_penalties)
            for ridge, of_penalties in zip(ridges, weights)
        ]
        powers = np.array([
            max(error_of(average.exponents), LEAST_ERROR)**POWER
            for average in averages
        ])
        shares = powers / powers.sum()
        models = _joined(task, [
            ridge.models(average, floors[best])
            for ridge, average in zip(ridges, averages)
        ], shares)
        by_penalty = shares @ weights
        tried = np.array([np.inf, *self.penalties])
        notes = fit_notes(models[-1], masks, gained=True)
        if by_penalty[0] >= 0.5:
            notes = (LITTLE_GAIN, *notes)
        return SalienceFit(
            self.name, models[-1], models[:-1], masks,
            float(tried[by_penalty.argmax()]),
            error_of(
                sum(share * average.exponents
                    for share, average in zip(shares, averages))), notes)


@dataclass(frozen=True, eq=False)
class Logarithms:
    """Logarithms of losses over typical ones.

    Args:
        losses (SharedFeatures): The losses.
    """
    losses: SharedFeatures

    __repr__ = short_repr

    @property
    def values(self) -> NDArray:
        """Shape `(n, K)`; calculated whenever asked, to save memory."""
        return relative_logs(self.losses.values, self.losses.once(_typical))

    @property
    def uniform(self) -> NDArray:
        """Coefficients of the mean, `(K,)`."""
        return self.losses.uniform


def _both_scales(losses: SharedFeatures) -> tuple[RidgeRegressions, ...]:
    """Ridge regressions on losses, and on their logarithms."""
    return losses.once(regressions_on), regressions_on(Logarithms(losses))


def _typical(losses: SharedFeatures) -> NDArray:
    """The mean of each column; 1 where all losses are about 0. `(K,)`."""
    means = losses.values.mean(axis=0)
    return np.where(means >= LEAST_TYPICAL, means, 1)


def _lowest(losses: SharedFeatures) -> float:
    return float(losses.values.min())


def _shared(errors: Sequence[NDArray]) -> NDArray:
    """How much worse a penalty is than the best, on average, `(2, P)`.

    In logarithms of the error with the best floor.
    """
    logs = [np.log(of_task.min(axis=2)) for of_task in errors]
    excess = [part - part.min(axis=1, keepdims=True) for part in logs]
    return np.sum(excess, axis=0) / max(len(excess), 1)


def _average(path: list[Solutions], weights: NDArray) -> Solutions:
    """Solutions of one floor, averaged over penalties."""
    return Solutions(*(sum(weight * getattr(part, name)
                           for weight, part in zip(weights, path))
                       for name in ('free', 'penalised', 'exponents')))


def _joined(task: Task, parts: Sequence[SalienceModel],
            shares: NDArray) -> SalienceModel:
    """Models `(F + 1,)` whose exponents are averages of both scales'."""
    typical = task.features.once(_typical)
    slopes = [share * part.curve.alpha for share, part in zip(shares, parts)]
    plain, logs = (slope[:, None] * part.coefficients
                   for slope, part in zip(slopes, parts))
    offset = -sum(slope * part.curve.beta
                  for slope, part in zip(slopes, parts))
    # A logarithm counts as typical losses times one more than itself.
    return SalienceModel.from_linear(plain, offset - logs.sum(axis=-1),
                                     parts[0].curve.floor, task.uniform,
                                     LogTerms(logs / typical, typical))


def _uniform(task: Task, masks: NDArray, name: str) -> SalienceFit:
    """With a single family."""
    fit = Uniform().fit(task, masks)
    return replace(
        fit, solver=name, notes=fit_notes(fit.model, masks, gained=False))
