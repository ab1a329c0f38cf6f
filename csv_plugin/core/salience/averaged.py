"""Ridges and means of the units that tell most, averaged.

Cross-validation tells a good setting from a bad one, but hardly one good
setting from the next, so fits with all settings are averaged, the better the
more: all penalties of ridge regressions, and means over all numbers of units.
What is good for other benchmarks counts as well.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.conventions import InputError, Progress, short_repr
from csv_plugin.core.salience.base import (SalienceFit, SharedFeatures, Task,
                                           fit_notes, floor_candidates,
                                           held_out_mse)
from csv_plugin.core.salience.equal_weights import EqualWeights
from csv_plugin.core.salience.ridge import PENALTIES, Uniform
from csv_plugin.core.salience.ridge_regressions import (Problems,
                                                        RidgeRegressions,
                                                        Solutions,
                                                        errors_by_floor)
from csv_plugin.core.salience_model import (LEAST_TYPICAL, LogTerms,
                                            SalienceModel, relative_logs)
from csv_plugin.core.scaling_law import accuracy_at

#: An error larger by this share makes the weight of a setting e times smaller.
SHARPNESS = 0.05
#: What a floor of 0 must gain on the chance level, as a share of the error:
#: models far better than those fitted on are predicted worse with low floors.
FLOOR_GAIN = 0.2
#: Members are averaged by this power of the product of two errors: on the
#: benchmark and, on average, on all.
POWER = -6
#: Smaller squared errors count as this, as 0 has no logarithm.
LEAST_ERROR = 1e-12
#: Said where uniform weights count for half or more.
LITTLE_GAIN = ('little gain over uniform weights on held-out families: mostly '
               'uniform weights used')


class Member(Protocol):
    """Fits of one kind to all models and without held-out families.

    They differ in S settings, of which the first lets all columns count
    alike, and in L floors.
    """

    @property
    def errors(self) -> NDArray:
        """Mean squared errors on held-out models, `(S, L)`."""

    def average(self, floor: int,
                weights: NDArray) -> tuple[NDArray, SalienceModel]:
        """Exponents of all n models, averaged over settings.

        Args:
            floor (int): Which of the L.
            weights (NDArray): Of the settings, `(S,)`.

        Returns:
            tuple[NDArray, SalienceModel]: Exponents of each fit, that to all
            models last, `(F + 1, n)`, and models of them `(F + 1,)`.
        """


class _Shared(NamedTuple):
    """What benchmarks say of all members, in logarithms of errors.

    Args:
        excess (list[NDArray]): How much worse a setting is than the best one
            of its member, `(S,)`.
        members (NDArray): The least errors, one of each member.
    """
    excess: list[NDArray]
    members: NDArray


@dataclass(frozen=True)
class Averaged:
    """Signed weights of losses and their logarithms, shrunk toward uniform.

    Three members predict together: ridge regressions on the losses, ridge
    regressions on their logarithms, and equal weights of the logarithms that
    go with accuracy most. Each has a setting, the penalty or the number of
    units, and is fitted with all of them. Their exponents are averaged, which
    makes one capability score of them. The weight of a setting, and that of a
    member, falls with its error on held-out families, of the benchmark and,
    on average, of all benchmarks. The fit states the penalty that counts most
    in both ridges.

    These weights and the floor are the same in all fold models, so the
    accuracies of families that one of them holds out had a part in them, and
    in nothing else of it.

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
        members = [self._members(*pair) for pair in progress(pairs)]
        shared = _shared([of_task for of_task in members if of_task])
        return [
            self._averaged(*pair, of_task, shared) if of_task else _uniform(
                *pair, self.name) for pair, of_task in zip(pairs, members)
        ]

    def _members(self, task: Task, masks: NDArray) -> list[Member]:
        """Empty with a single family."""
        lowest = task.features.once(_lowest)
        if lowest < 0:
            raise InputError(self.name, 'losses of 0 or more', f'{lowest}',
                             "Use the solver 'ridge' for these features.")
        if not len(masks):
            return []
        logs = Logarithms(task.features)
        return [
            *(Ridges.of(ridge, task, masks, self.penalties)
              for ridge in task.features.once(_both_scales)),
            EqualWeights.of(logs.values, logs.uniform, task.accuracy, masks,
                            floor_candidates(task.chance)),
        ]

    def _averaged(self, task: Task, masks: NDArray, members: list[Member],
                  shared: _Shared) -> SalienceFit:
        """One model of all members and settings."""
        floors = floor_candidates(task.chance)
        excess = [
            _logs(member.errors) + of_all[:, None]
            for member, of_all in zip(members, shared.excess)
        ]
        floor = _best_floor(excess[:2])
        weights = [_normalised(-part[:, floor] / SHARPNESS) for part in excess]

        def error_of(exponents: NDArray) -> float:
            """On held-out families, of exponents of all fits, `(F + 1, n)`."""
            predicted = accuracy_at(exponents[:-1], floors[floor])
            return float(held_out_mse(predicted, task.accuracy, masks))

        averages = [
            member.average(floor, part)
            for member, part in zip(members, weights)
        ]
        logs = [_logs(error_of(exponents)) for exponents, _ in averages]
        shares = _normalised(POWER * (np.array(logs) + shared.members))
        models = _joined(task, [models for _, models in averages], shares)
        exponents = sum(share * part
                        for share, (part, _) in zip(shares, averages))
        # Of both ridges, which have the same settings.
        by_penalty = shares[:2] @ np.array(weights[:2])
        tried = np.array([np.inf, *self.penalties])
        notes = fit_notes(models[-1], masks, gained=True)
        if shares @ [part[0] for part in weights] >= 0.5:
            notes = (LITTLE_GAIN, *notes)
        return SalienceFit(self.name, models[-1], models[:-1], masks,
                           float(tried[by_penalty.argmax()]),
                           error_of(np.asarray(exponents)), notes)


@dataclass(frozen=True, eq=False)
class Ridges:
    """Ridge regressions with all penalties; see `Member`.

    Args:
        ridge (RidgeRegressions): Solves them.
        task (Task): What they are fitted to.
        masks (NDArray): As in `Solver.fit`, `(F, n)`.
        penalties (tuple[float, ...]): Candidates, in falling order.
        errors (NDArray): See `Member`; an infinite penalty is the first.
        likely (int): The floor that these errors alone would take.
        path (list[Solutions]): With it, `(F + 1, n)` each. Those of all
            floors would be too much to keep.
    """
    ridge: RidgeRegressions
    task: Task
    masks: NDArray
    penalties: tuple[float, ...]
    errors: NDArray
    likely: int
    path: list[Solutions]

    __repr__ = short_repr

    @classmethod
    def of(cls, ridge: RidgeRegressions, task: Task, masks: NDArray,
           penalties: tuple[float, ...]) -> 'Ridges':
        """Fit to a task."""
        floors = floor_candidates(task.chance)
        path = ridge.path(Problems.of_folds(task, masks, floors), penalties)
        errors = errors_by_floor(path, task, masks, floors)
        likely = _best_floor([_logs(errors)])
        rows = likely * (len(masks) + 1) + np.arange(len(masks) + 1)
        return cls(ridge, task, masks, penalties, errors, likely,
                   [solutions[rows] for solutions in path])

    def average(self, floor: int,
                weights: NDArray) -> tuple[NDArray, SalienceModel]:
        """See `Member.average`."""
        floors, path = floor_candidates(self.task.chance)[[floor]], self.path
        if floor != self.likely:
            problems = Problems.of_folds(self.task, self.masks, floors)
            path = self.ridge.path(problems, self.penalties)
        average = _average(path, weights)
        return average.exponents, self.ridge.models(average, floors[0])


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
    return losses.once(RidgeRegressions.of), RidgeRegressions.of(
        Logarithms(losses))


def _typical(losses: SharedFeatures) -> NDArray:
    """The mean of each column; 1 where all losses are about 0. `(K,)`."""
    means = losses.values.mean(axis=0)
    return np.where(means >= LEAST_TYPICAL, means, 1)


def _lowest(losses: SharedFeatures) -> float:
    return float(losses.values.min())


def _logs(errors: ArrayLike) -> NDArray:
    """Logarithms of errors of any shape."""
    return np.log(np.maximum(errors, LEAST_ERROR))


def _normalised(logs: NDArray) -> NDArray:
    """Weights that sum to 1, of logarithms of weights, `(S,)`."""
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _shared(tasks: Sequence[list[Member]]) -> _Shared:
    """Means over benchmarks, of errors with the best floors."""
    # Of each member, those of each benchmark.
    logs = [
        np.array([_logs(member.errors.min(axis=1)) for member in members])
        for members in zip(*tasks)
    ]
    least = [part.min(axis=1) for part in logs]
    return _Shared([
        np.mean(part - best[:, None], axis=0)
        for part, best in zip(logs, least)
    ], np.array([best.mean() for best in least]))


def _best_floor(excess: Sequence[NDArray]) -> int:
    """Which floor has the least errors, `(S, L)` in logarithms."""
    best = np.mean([part.min(axis=0) for part in excess], axis=0)
    return int(np.argmin(best + FLOOR_GAIN * np.linspace(0, 1, len(best))))


def _average(path: list[Solutions], weights: NDArray) -> Solutions:
    """Solutions of one floor, averaged over penalties."""
    return Solutions(*(sum(weight * getattr(part, name)
                           for weight, part in zip(weights, path))
                       for name in ('free', 'penalised', 'exponents')))


def _joined(task: Task, parts: Sequence[SalienceModel],
            shares: NDArray) -> SalienceModel:
    """Models `(F + 1,)` whose exponents are averages of the members'.

    The first is one of the losses, the others are of their logarithms.
    """
    typical = task.features.once(_typical)
    slopes = [share * part.curve.alpha for share, part in zip(shares, parts)]
    plain, *others = (slope[:, None] * part.coefficients
                      for slope, part in zip(slopes, parts))
    logs = sum(others)
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
