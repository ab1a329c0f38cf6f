"""Average of ridge regressions and of means of the most informative units.

Cross-validation separates good settings from bad ones, but not good ones from
each other. So fits with all settings are averaged, with larger weights for
smaller errors: all penalties of ridge regressions, and means over all numbers
of units. Errors on other benchmarks count as well.

Equal weights: units are ordered by how much their losses fall as accuracy
rises. The capability score (Eq. 1) is the mean over the logarithms of all
units, of the first half, the first quarter, and so on, and over the losses of
the first few. The order by rank correlations and the equal weights are after
the estimator of Thrush, Potts and Hashimoto, "Improving Pretraining Data Using
Perplexity Correlations", ICLR 2025, arXiv 2409.05816; here, only accuracies
are ranked.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Optional, Union

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience.base import (SalienceFit, SharedFeatures, Task,
                                           fit_notes, held_out_mse, with_all)
from csv_plugin.core.salience.choice import Constant
from csv_plugin.core.salience.ridge import (PENALTIES, Problems,
                                            RidgeRegressions, Solutions,
                                            Uniform, errors_by_floor)
from csv_plugin.core.salience.slopes import pulled, slope_of, typical_slope
from csv_plugin.core.salience_model import (LEAST_RATIO, LEAST_TYPICAL,
                                            LogTerms, SalienceModel)
from csv_plugin.core.scaling_law import CHANCE_MARGIN, Regressions, accuracy_at

#: An error larger by this share makes the weight of a setting e times smaller.
SHARPNESS = 0.05
#: Candidate floors, as shares of the chance level.
FLOORS = (1.0, 0.96, 0.9, 0.8, 0.5, 0.0)
#: Least gain of a floor of 0 over the chance level, as a share of the error:
#: models far better than those fitted on are predicted worse with low floors.
FLOOR_GAIN = 0.2
#: Members are averaged by this power of the product of two errors: on the
#: benchmark and, on average, on all.
POWER = -6
#: Smaller squared errors count as this, as 0 has no logarithm.
LEAST_ERROR = 1e-12
#: Tolerances of paths, which show what settings have a weight, and of
#: the solutions of these; see `ridge.TOLERANCE`.
PATH_TOLERANCE, TOLERANCE = 1e-2, 1e-4
#: Settings whose errors are larger than the least one by this factor have next
#: to no weight.
NEAR = 1.3
#: Of penalties stronger than this, the path has one in so many.
STRONG, STRIDE = 1e-4, 5
#: Weaker penalties have no hope where errors have risen by this factor, and
#: floors where they have always been larger than those of another by this one.
RISE, FAR = 1.5, 3
#: Weaker penalties change next to nothing once errors on fitted models are
#: this share of those on held-out models.
SPENT = 1e-3
#: Fewer units than these, if not all, count by their losses over typical ones:
#: logarithms of one loss lead too far beyond the training models.
LEAST_LOGS = 8
#: Logarithms that differ less than this, in standard deviations, may differ by
#: rounding alone.
LEAST_SPREAD = 1e-4
#: A curve is fitted once a step improves its squares by less, as a share.
LINE_TOLERANCE = 1e-4
#: Note where uniform weights count for half or more.
LITTLE_GAIN = ('little gain over uniform weights on held-out families: mostly '
               'uniform weights used')

_Member = Union['Ridges', 'EqualWeights']


class _SharedErrors(NamedTuple):
    """Weighted means over benchmarks of logarithms of errors.

    For each member, errors of its settings over the least one, `(S,)`; and the
    least error of each member.
    """
    excess: list[NDArray]
    members: NDArray


class _Terms(NamedTuple):
    """Parts of the exponents of R fits.

    An offset, `(R,)`, and coefficients of losses and of logarithms of losses
    over typical ones, `(R, K)`.
    """
    offset: NDArray
    losses: NDArray
    logs: NDArray


@dataclass(frozen=True)
class Averaged:
    """Signed weights of losses and their logarithms, shrunk toward uniform.

    Three members predict together: ridge regressions on losses, ridge
    regressions on their logarithms, and equal weights of the units most
    correlated with accuracy. Each is fitted with all its settings: penalties,
    or numbers of units. Their exponents are averaged, which gives one
    capability score. The weight of a setting, and that of a member, falls with
    its error on held-out families, on the benchmark and, on average, on the
    main benchmarks, which count by how much of their variance losses explain.
    The floor is that with the least errors of ridge regressions on losses.
    The fit records the penalty with the largest weight in both ridges. Slopes
    follow a prior; see `slopes`.

    These weights, the floor and the prior are the same in all fold models.
    They are all that the accuracies of held-out families affect in a fold.

    Args:
        penalties (tuple[float, ...]): Candidates, in falling order.
    """
    penalties: tuple[float, ...] = PENALTIES
    name: str = 'averaged'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return self.fit_together([task], [masks])[0]

    def fit_together(self,
                     tasks: Sequence[Task],
                     masks: Sequence[NDArray],
                     progress: Progress = iter,
                     with_folds: bool = True) -> list[SalienceFit]:
        """See `JointSolver.fit_together`."""
        pairs = list(zip(tasks, masks))
        members = [self._members(*pair) for pair in progress(pairs)]
        fitted = [b for b, of_task in enumerate(members) if of_task]
        signals = [_signal(*pairs[b], members[b]) for b in fitted]
        weights = _weights([tasks[b].main for b in fitted], signals)
        shared = _shared([members[b] for b in fitted], weights)
        averages = [
            self._averaged(*pairs[b], members[b], shared, with_folds)
            for b in fitted
        ]
        typical = typical_slope([
            slope_of(tasks[b], exponents[-1])
            for b, (_, exponents) in zip(fitted, averages)
        ], weights)
        fits = {
            b: pulled(tasks[b], *average, typical, signal)
            for b, average, signal in zip(fitted, averages, signals)
        }
        return [
            fits[b] if b in fits else replace(
                Uniform().fit(*pair), solver=self.name)
            for b, pair in enumerate(pairs)
        ]

    def _members(self, task: Task, masks: NDArray) -> list[_Member]:
        """Fits of all kinds; none with a single family."""
        lowest = task.features.once(_lowest)
        if lowest < 0:
            raise InputError(self.name, 'losses of 0 or more', f'{lowest}',
                             "Use the solver 'ridge' for these features.")
        if not len(masks):
            return []
        losses, logs = task.features.once(_both_scales)
        first = Ridges(losses, task, masks, self.penalties)
        second = Ridges(logs, task, masks, self.penalties, first.floor)
        return [first, second, EqualWeights(task, masks, first.floor)]

    def _averaged(self, task: Task, masks: NDArray, members: list[_Member],
                  shared: _SharedErrors,
                  with_folds: bool) -> tuple[SalienceFit, NDArray]:
        """Average of all members and settings, and its exponents."""
        rows = np.s_[:] if with_folds else np.s_[-1:]
        floor = members[0].floor
        weights = [
            scipy.special.softmax(-(_logs(member.errors) + of_all) / SHARPNESS)
            for member, of_all in zip(members, shared.excess)
        ]
        averages = [
            member.average(part, rows)
            for member, part in zip(members, weights)
        ]
        logs = _logs([
            _error_of(task, masks, exponents, floor)
            for exponents, _ in averages
        ])
        shares = scipy.special.softmax(POWER * (logs + shared.members))
        models = _joined(task, [terms for _, terms in averages], shares, floor)
        exponents = np.tensordot(shares, [part for part, _ in averages], 1)
        # Both ridges have the same settings.
        by_penalty = shares[:2] @ np.array(weights[:2])
        tried = np.array([np.inf, *self.penalties])
        notes = fit_notes(models[-1], masks, gained=True)
        if shares @ [part[0] for part in weights] >= 0.5:
            notes = (LITTLE_GAIN, *notes)
        fit = SalienceFit(self.name, models[-1], models[:-1], masks,
                          float(tried[by_penalty.argmax()]),
                          _error_of(task, masks, exponents, floor), notes)
        return fit, exponents


class Ridges:
    """Ridge regressions with S penalties and a floor.

    They are fitted without each held-out part, and to all models. The first
    penalty is infinite. `errors`, `(S,)`, are mean squared ones on held-out
    models, of the solutions in `path`. Without a floor, the best of several is
    found.
    """

    def __init__(self,
                 ridge: RidgeRegressions,
                 task: Task,
                 masks: NDArray,
                 penalties: tuple[float, ...],
                 floor: Optional[float] = None) -> None:
        self._ridge, self._task, self._masks = ridge, task, masks
        self._penalties, self._n_fits = penalties, len(masks) + 1
        floors = _floors(task.chance) if floor is None else np.array([floor])
        path, errors = self._loose_path(floors)
        best = _best_floor(errors)
        self.floor, self.errors = float(floors[best]), errors[:, best]
        rows = best * self._n_fits + np.arange(self._n_fits)
        self.path = [solutions[rows] for solutions in path]
        # Where a path was followed no further, its last solution counts, which
        # has the same errors.
        moved = np.flatnonzero(np.diff(self.errors, prepend=np.inf))
        near = moved[self.errors[moved] <= NEAR * self.errors.min()]
        self._solve(near[near > 0])
        last = np.searchsorted(moved, np.arange(len(self.path)), 'right') - 1
        self.path = [self.path[s] for s in moved[last]]
        self.errors[:] = self.errors[moved[last]]

    def _solve(self, places: NDArray[np.int64]) -> None:
        """Solve the path at some of its places."""
        if not len(places):
            return
        floors = np.full(len(places), self.floor)
        penalties = np.repeat(
            np.array(self._penalties)[places - 1], self._n_fits)
        solved = self._ridge.refined(
            Problems.of_folds(self._task, self._masks, floors),
            Solutions.joined(np.concatenate, [self.path[s] for s in places]),
            penalties, TOLERANCE)
        for i, s in enumerate(places):
            self.path[s] = solved[i * self._n_fits:(i + 1) * self._n_fits]
        self.errors[places] = errors_by_floor([self.path[s] for s in places],
                                              self._task, self._masks,
                                              floors[:1])[:, 0]

    def average(self, weights: NDArray, rows: slice) -> tuple[NDArray, _Terms]:
        """Average over settings with weights `(S,)`.

        Returns exponents of all n models by each fit, the fit to all models
        last, `(F + 1, n)`, and the terms of the fits of `rows`.
        """
        average = Solutions.average(self.path, weights)
        offset, gradient = self._ridge.linear(average[rows])
        none = np.zeros_like(gradient)
        on_logs = isinstance(self._ridge.features, Logarithms)
        terms = (none, gradient) if on_logs else (gradient, none)
        return average.exponents, _Terms(offset, *terms)

    def _loose_path(self, floors: NDArray) -> tuple[list[Solutions], NDArray]:
        """Approximate solutions at all penalties and their errors, `(S, L)`.

        Of strong penalties, few are followed, and solutions at the others are
        interpolated. A floor without hope stays at the penalty that it has
        reached.
        """
        task, masks = self._task, self._masks
        errors: list[NDArray] = []

        def hopeful(solutions: Solutions) -> NDArray:
            """Fits, of all folds and floors, that go on."""
            unseen, seen = (
                errors_by_floor([solutions], task, fitted, floors)[0]
                for fitted in (masks, ~masks))
            errors.append(unseen)
            least = np.maximum(np.min(errors, axis=0), LEAST_ERROR)
            hope = (unseen <= RISE * least) & (least <= FAR * least.min())
            return np.repeat(hope & (seen > SPENT * unseen), self._n_fits)

        penalties = np.array(self._penalties)
        places = 1 + np.arange(len(penalties))
        followed = places[(penalties <= max(STRONG, penalties[-1]))
                          | (places % STRIDE == 0)]
        first, *found = self._ridge.path(
            Problems.of_folds(task, masks, floors),
            tuple(penalties[followed - 1]), PATH_TOLERANCE, hopeful)
        path = [first]
        for solutions, place in zip(found, followed):
            last, n = path[-1], place + 1 - len(path)
            path += [
                Solutions.average((last, solutions), (1 - i / n, i / n))
                for i in range(1, n)
            ]
            path.append(solutions)
        return path, errors_by_floor(path, task, masks, floors)


@dataclass(frozen=True, eq=False)
class Logarithms:
    """Logarithms of losses over typical ones."""
    losses: SharedFeatures

    @property
    def values(self) -> NDArray:
        """Shape `(n, K)`; only the last ones are kept, to save memory."""
        return _last_logs(self.losses)

    @property
    def uniform(self) -> NDArray:
        """Coefficients of the mean, `(K,)`."""
        return self.losses.uniform


class EqualWeights:
    """Equal weights of the first units, with a floor; errors as in `Ridges`.

    There are R fits: without each held-out part, and to all n models. `sizes`,
    `(S,)`, are numbers of units, falling from K to 1. `n_sizes`, `(R, K)`, is
    the number of sizes of which a unit is a part, more for those more
    correlated with accuracy.
    """

    def __init__(self, task: Task, masks: NDArray, floor: float) -> None:
        rows = with_all(masks)
        logs, means = _last_by_unit(task.features)
        self.floor, self._typical = floor, task.features.once(_typical)
        self.sizes = len(logs) // 2**np.arange(len(logs).bit_length())
        self.n_sizes = _n_sizes(
            _correlations(task.features, task.accuracy, rows), self.sizes)
        scores = self._scores = _scores(logs, means, task.values,
                                        self._typical, self.sizes,
                                        self.n_sizes)
        lines = fit_curves(
            scores.reshape(-1, scores.shape[2]), task.accuracy,
            np.repeat(rows, len(self.sizes), axis=0), floor)
        # Both are `(R, S)`.
        self._slopes, self._offsets = (
            part.reshape(scores.shape[:2]) for part in lines)
        exponents = self._slopes[..., None] * scores
        exponents += self._offsets[..., None]
        self.errors = np.array([
            _error_of(task, masks, by_fit, floor)
            for by_fit in exponents.swapaxes(0, 1)
        ])

    def average(self, weights: NDArray, rows: slice) -> tuple[NDArray, _Terms]:
        """See `Ridges.average`."""
        slopes, offset = weights * self._slopes, self._offsets @ weights
        exponents = (slopes[:, None] @ self._scores)[:, 0] + offset[:, None]
        few, of_units = _are_few(self.sizes), slopes[rows] / self.sizes
        losses, logs = (
            np.take_along_axis(
                np.cumsum(of_units * part, axis=1),
                self.n_sizes[rows] - 1,
                axis=1) for part in (few, ~few))
        return exponents, _Terms(offset[rows], losses / self._typical, logs)


def _both_scales(losses: SharedFeatures) -> tuple[RidgeRegressions, ...]:
    """Ridge regressions on losses, and on their logarithms."""
    return losses.once(RidgeRegressions.of), RidgeRegressions.of(
        Logarithms(losses))


def _lowest(losses: SharedFeatures) -> float:
    return float(losses.values.min())


def _typical(losses: SharedFeatures) -> NDArray:
    """The mean of each column; 1 where all losses are about 0. `(K,)`."""
    means = losses.values.mean(axis=0)
    return np.where(means >= LEAST_TYPICAL, means, 1)


@lru_cache(maxsize=1)
def _last_logs(losses: SharedFeatures) -> NDArray:
    logs = losses.logs - np.log(losses.once(_typical))
    return np.maximum(logs, np.log(LEAST_RATIO), out=logs)


def _logs(errors: ArrayLike) -> NDArray:
    return np.log(np.maximum(errors, LEAST_ERROR))


def _error_of(task: Task, masks: NDArray, exponents: NDArray,
              floor: float) -> float:
    """Error of exponents `(F + 1, n)` on held-out families."""
    predicted = accuracy_at(exponents[:-1], floor)
    return held_out_mse(predicted, task.accuracy, masks)


def _signal(task: Task, masks: NDArray, members: list[_Member]) -> float:
    """Share of the variance of accuracies that the best setting explains.

    Variance of the size of `CHANCE_MARGIN` is added to it, as noise.
    """
    least = min(float(member.errors.min()) for member in members)
    variance = Constant().fit(task, masks).cv_mse
    return max(variance - least, 0) / (variance + CHANCE_MARGIN**2)


def _weights(main: Sequence[bool], signals: Sequence[float]) -> NDArray:
    """Weights of benchmarks in what they share; equal without a signal."""
    weights = np.where(main, signals, 0)
    weights = weights if weights.any() else np.ones_like(weights)
    return weights / weights.sum()


def _shared(tasks: Sequence[list[_Member]], weights: NDArray) -> _SharedErrors:
    """Errors of all members of tasks; see `_SharedErrors`."""
    logs = [
        _logs([member.errors for member in members]) for members in zip(*tasks)
    ]
    least = [part.min(axis=1) for part in logs]
    return _SharedErrors(
        [weights @ (part - best[:, None]) for part, best in zip(logs, least)],
        np.array([weights @ best for best in least]))


def _best_floor(errors: NDArray) -> int:
    """Index of the floor with the least errors, `(S, L)`."""
    gains = FLOOR_GAIN * np.array(FLOORS[:errors.shape[1]])
    return int(np.argmin(_logs(errors.min(axis=0)) - gains))


def _floors(chance: float) -> NDArray[np.float64]:
    """Candidate floors, `(L,)`, the chance level first; 0 alone if it is 0."""
    return chance * np.array(FLOORS if chance > 0 else FLOORS[:1])


def _joined(task: Task, parts: Sequence[_Terms], shares: NDArray,
            floor: float) -> SalienceModel:
    """Models `(F + 1,)` whose exponents are averages of the members'."""
    typical = task.features.once(_typical)
    offset, losses, logs = (
        sum(share * term for share, term in zip(shares, terms))
        for terms in zip(*parts))
    # A logarithm counts as typical losses times one more than itself.
    return SalienceModel.from_linear(losses, offset - logs.sum(axis=-1), floor,
                                     task.uniform,
                                     LogTerms(logs / typical, typical))


def _are_few(sizes: NDArray) -> NDArray[np.bool_]:
    """Where losses count in place of their logarithms."""
    return sizes < min(sizes[0], LEAST_LOGS)


@lru_cache(maxsize=1)
def _last_by_unit(losses: SharedFeatures) -> tuple[NDArray, NDArray]:
    """Logarithms less the means of units, `(K, n)`, and these; of 32 bits."""
    logs = _last_logs(losses)
    means = logs.mean(axis=0)
    logs = np.ascontiguousarray((logs - means).T, dtype=np.float32)
    return logs, means.astype(np.float32)


def _correlations(losses: SharedFeatures, accuracy: NDArray,
                  rows: NDArray) -> NDArray:
    """Correlations with ranks of accuracies, times a factor, `(R, K)`."""
    from scipy.stats import rankdata
    logs, _ = _last_by_unit(losses)
    ranks = np.zeros(rows.shape, logs.dtype)
    for row, rank in zip(rows, ranks):
        rank[row] = rankdata(accuracy[row])
        rank[row] -= rank[row].mean()
    return (ranks @ logs.T) / _last_deviations(losses, rows.tobytes())


@lru_cache(maxsize=1)
def _last_deviations(losses: SharedFeatures, rows: bytes) -> NDArray:
    """Standard deviations of logarithms by fit, `(R, K)`, or infinity."""
    logs, _ = _last_by_unit(losses)
    masks = np.frombuffer(rows, dtype=bool).reshape(-1, logs.shape[1])
    shares = (masks / masks.sum(axis=1, keepdims=True)).astype(logs.dtype)
    variances = shares @ (logs**2).T - (shares @ logs.T)**2
    return np.sqrt(np.where(variances > LEAST_SPREAD**2, variances, np.inf))


def _n_sizes(correlations: NDArray, sizes: NDArray) -> NDArray:
    """Number of sizes of which each unit is a part, `(R, K)`."""
    counts = np.ones(correlations.shape, np.int8)
    for row, count in zip(correlations, counts):
        units = np.arange(len(row))
        for size in sizes[1:]:
            units = units[np.argpartition(row[units], size - 1)[:size]]
            count[units] += 1
    return counts


def _scores(logs: NDArray, means: NDArray, losses: NDArray, typical: NDArray,
            sizes: NDArray, n_sizes: NDArray) -> NDArray:
    """Scores of all models by R fits and S numbers of units, `(R, S, n)`.

    Logarithms and means are those of `_last_by_unit`.
    """
    scores = np.empty((len(n_sizes), len(sizes), len(losses)))
    # All units are the same in all fits; many are added faster as a product.
    scores[:, 0] = (
        np.ones(len(logs), logs.dtype) @ logs / len(logs) + means.mean())
    many, few = sizes > len(means) / 16, _are_few(sizes)
    many[0] = False
    units = n_sizes[:, None] > np.flatnonzero(many)[:, None].astype(np.int8)
    units = units.astype(logs.dtype)
    totals = np.tensordot(units, logs, 1)
    scores[:, many] = (totals + (units @ means)[..., None]) / sizes[many, None]
    for of_fit, n in zip(scores, n_sizes):
        first = np.arange(len(n))
        for s in np.flatnonzero(few | ~many)[1:]:
            first = first[n[first] > s]
            if few[s]:
                of_fit[s] = (losses[:, first] / typical[first]).mean(axis=1)
            else:
                of_fit[s] = logs[first].mean(axis=0) + means[first].mean()
    return scores


def fit_curves(scores: NDArray, accuracy: NDArray, masks: NDArray,
               floor: float) -> tuple[NDArray, NDArray]:
    """Fit Eq. 2 to each of Q scores `(Q, n)`, where its mask is True.

    Returns slopes and offsets of exponents, `(Q,)` each; constant scores have
    the slope 0.
    """
    centre, spread = (
        part(scores, axis=1, keepdims=True, where=masks)
        for part in (np.mean, np.std))
    spread[spread <= 1e-12 * np.abs(centre)] = np.inf
    z = (scores - centre) / spread
    curves = Regressions(
        np.stack([np.ones_like(z), z], axis=2), accuracy, masks.astype(float),
        np.full(len(z), floor))
    offset, slope = curves.solve(curves.start(), LINE_TOLERANCE).T
    slope /= spread[:, 0]
    return slope, offset - slope * centre[:, 0]
