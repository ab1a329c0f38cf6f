"""Covariances of exponents between models, from their losses."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from csv_plugin.core.conventions import InputError
from tools.studies.one_model.settings import Settings, View

#: Losses of the tokens of own answers in nats, `(M, T)` for each of B
#: benchmarks, T = 0 for those without; or there are none at all.
Answers = Sequence[NDArray]

#: Parts of the covariance; each has a standard deviation of its own.
PARTS = ('spread', 'units', 'bend', 'family', 'own', 'answers')


@dataclass(frozen=True, eq=False)
class Place:
    """Where M models lie.

    `mean` (M,) is the standardised mean loss, small is good; `groups`, (M, C),
    are those of all units, of clusters of units, and of benchmarks' own
    answers; `units`, (M, K), are what single units deviate from the mean;
    `family` has M names. `answers` has what the T tokens of own answers
    deviate from their mean, (M, T) for each of B benchmarks, or is empty.
    """
    mean: NDArray
    groups: NDArray
    units: NDArray
    family: NDArray
    answers: tuple[NDArray, ...] = ()

    def take(self, rows: NDArray) -> 'Place':
        """Some of the models."""
        return Place(self.mean[rows], self.groups[rows], self.units[rows],
                     self.family[rows],
                     tuple(part[rows] for part in self.answers))


class Scale:
    """Places models by their losses `(M, K)`; learned from fitted models.

    `own` is the group of each benchmark's own answers, `(B,)`, or 0.
    """

    def __init__(self,
                 losses: NDArray,
                 sources: NDArray,
                 view: View,
                 settings: Settings,
                 answers: Answers = ()) -> None:
        self.view, self.settings, self.sources = view, settings, sources
        self.typical = np.median(losses, axis=0)
        self.reliability = np.ones(losses.shape[1])
        if losses.shape[1] > 2:
            logs = self._standardised(losses)
            noise = noise_of_units(logs[self.sound(logs)], settings.reliable)
            self.reliability = 1 / noise
        logs = self._standardised(losses)
        sound = self.sound(logs)
        logs = logs[sound]
        self.centre = logs.mean(axis=0)
        squares = (self._deviations(logs)**2).sum(axis=1)
        self.size = np.sqrt(max(squares.mean(), 1e-12))
        self.clusters = self._clusters(logs)
        means = logs @ self.clusters
        self.group_middle, self.group_width = middle_and_width(means)
        self.answers = [
            AnswerScale(part[sound], settings.knee) for part in answers
        ]
        has = np.array([part.n_tokens > 0 for part in self.answers], bool)
        self.own = np.where(has, means.shape[1] - 1 + np.cumsum(has), 0)

    def __call__(self,
                 losses: NDArray,
                 family: Sequence[str],
                 answers: Answers = ()) -> Place:
        n_tokens = [part.shape[1] for part in answers]
        expected = [scale.n_tokens for scale in self.answers]
        if n_tokens != expected:
            raise InputError('own answers',
                             f'losses of {expected} tokens by benchmark',
                             str(n_tokens),
                             'Give the tokens that were fitted to.')
        logs = self._logs(losses)
        groups = logs @ self.clusters - self.group_middle
        groups /= self.group_width
        groups[:, 0] = self._mean(logs)
        own = [scale(part) for scale, part in zip(self.answers, answers)]
        means = [mean for mean, deviations in own if deviations.shape[1]]
        return Place(groups[:, 0], np.column_stack([groups, *means]),
                     self._deviations(logs) / self.size, np.asarray(family),
                     tuple(deviations for _, deviations in own))

    def sound(self, logs: NDArray) -> NDArray[np.bool_]:
        """Models whose mean loss is not absurdly far from the others."""
        return np.abs(self._mean(logs)) <= self.settings.sound

    def _logs(self, losses: NDArray) -> NDArray:
        ratios = np.maximum(losses / self.typical, self.settings.least)
        if self.view.power:
            return ratios**self.view.power * self.reliability
        return np.log(ratios) * self.reliability

    def _standardised(self, losses: NDArray) -> NDArray:
        logs = self._logs(losses)
        self.middle, self.width = middle_and_width(logs.mean(axis=1))
        return logs

    def _mean(self, logs: NDArray) -> NDArray:
        return (logs.mean(axis=1) - self.middle) / self.width

    def _deviations(self, logs: NDArray) -> NDArray:
        centred = logs - self.centre
        return centred - centred.mean(axis=1, keepdims=True)

    def _clusters(self, logs: NDArray) -> NDArray:
        """Shares of K units in C groups, `(K, C)`; the first has all."""
        n_units = logs.shape[1]
        groups = [np.full(n_units, 1 / n_units)]
        if self.view.groups and (self.sources != '').all():
            for source in np.unique(self.sources):
                of_source = self.sources == source
                groups.append(of_source / of_source.sum())
        elif self.view.groups and n_units > 2:
            alike = self._deviations(logs)
            alike = alike / (alike.std(axis=0) + 1e-9)
            members = [[unit] for unit in range(n_units)]
            for first, second, *_ in linkage(alike.T, 'ward').astype(int):
                members.append(members[first] + members[second])
            least = self.settings.group_least * n_units
            # The clusters that were joined last, without that of all units.
            last = members[:n_units - 1:-1][1:]
            for cluster in last[:self.view.groups]:
                if len(cluster) >= least:
                    group = np.zeros(n_units)
                    group[cluster] = 1 / len(cluster)
                    groups.append(group)
        return np.array(groups).T


class AnswerScale:
    """Places models by the tokens of a benchmark's own answers, `(M, T)`."""

    def __init__(self, losses: NDArray, knee: float) -> None:
        self.knee, self.n_tokens = knee, losses.shape[1]
        if self.n_tokens:
            logs = np.log1p(losses / knee)
            self.middle, self.width = middle_and_width(logs.mean(axis=1))
            self.centre = logs.mean(axis=0)
            squares = (self._deviations(logs)**2).sum(axis=1)
            self.size = np.sqrt(max(squares.mean(), 1e-12))

    def __call__(self, losses: NDArray) -> tuple[NDArray, NDArray]:
        """Standardised mean `(M,)`, and deviations from it `(M, T)`."""
        if not self.n_tokens:
            return np.zeros(len(losses)), losses
        logs = np.log1p(losses / self.knee)
        mean = (logs.mean(axis=1) - self.middle) / self.width
        return mean, self._deviations(logs) / self.size

    def _deviations(self, logs: NDArray) -> NDArray:
        centred = logs - self.centre
        return centred - centred.mean(axis=1, keepdims=True)


def middle_and_width(values: NDArray) -> tuple[NDArray, NDArray]:
    """Median and robust standard deviation along the first axis."""
    low, middle, high = np.quantile(values, [.25, .5, .75], axis=0)
    quartiles = high - low
    wide = np.minimum(values.std(axis=0) / 2, 1.5 * quartiles)
    return middle, np.maximum(quartiles / 1.35, wide) + 1e-12


def noise_of_units(logs: NDArray, least: float) -> NDArray[np.float64]:
    """Standard deviations of units about their one common factor, `(K,)`.

    Logarithms are `(M, K)`; `least` is a share of a unit's own deviation.
    """
    centred = logs - logs.mean(axis=0)
    deviation = centred.std(axis=0) + 1e-9
    loadings = 1 / deviation
    for _ in range(20):
        factor = centred @ loadings
        factor /= factor.std() + 1e-12
        slopes = centred.T @ factor / len(factor)
        rest = np.mean((centred - np.outer(factor, slopes))**2, axis=0)
        rest += (least * deviation)**2
        loadings = slopes / rest
    return np.sqrt(rest)


def wiener(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Covariance of a smooth curve that is straight below 0."""
    first = np.maximum(first, 0)[:, None]
    second = np.maximum(second, 0)[None]
    low, high = np.minimum(first, second), np.maximum(first, second)
    return low**2 * (3 * high - low) / 6


def covariances(new: Place,
                old: Place,
                new_means: NDArray,
                old_means: NDArray,
                worst: NDArray,
                tilt: float,
                same: bool = False) -> list[NDArray]:
    """Covariances by part, each `(B or 1, M', M)`.

    `new_means`, `(B, M')`, and `old_means`, `(B, M)`, are the mean losses that
    each benchmark follows; `worst` are the largest, `(B,)`. `same` if new and
    old are the same models.
    """
    if (new_means == new_means[0]).all() and (old_means == old_means[0]).all():
        new_means, old_means = new_means[:1], old_means[:1]
    units = new.units @ old.units.T
    family = (new.family[:, None]
              == old.family) * (1 + tilt * np.outer(new.mean, old.mean))
    own = np.eye(len(units)) if same else np.zeros(units.shape)
    bend = [
        wiener(start - first, start - second)
        for start, first, second in zip(worst, new_means, old_means)
    ]
    answers = [
        first @ second.T for first, second in zip(new.answers, old.answers)
    ] or [np.zeros(units.shape)]
    return [
        new_means[:, :, None] * old_means[:, None], units[None],
        np.array(bend), family[None], own[None],
        np.array(answers)
    ]


def variances(new: Place, means: NDArray, worst: NDArray,
              tilt: float) -> list[NDArray]:
    """Variances by part of models of new families, each `(B or 1, M)`."""
    better = np.maximum(worst[:, None] - means, 0)
    answers = [(part**2).sum(axis=1) for part in new.answers]
    return [
        means**2, (new.units**2).sum(axis=1)[None], better**3 / 3,
        (1 + tilt * new.mean**2)[None],
        np.ones((1, len(new.mean))),
        np.array(answers or np.zeros((1, len(new.mean))))
    ]
