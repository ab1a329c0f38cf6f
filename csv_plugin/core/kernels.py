"""What the model of accuracies sees of losses, and covariances of exponents.

Losses of M models on K units become a mean loss, and what single units
deviate from it. A unit is a text or a column of a table. In the kernel, the
covariance between the exponents of two models on one benchmark, every part has
an amount of its own:

    spread    product of the mean losses: slopes differ between benchmarks
    units     inner product of the units' deviations: the salience weights
    answers   the same for tokens of a benchmark's own answers
    bend      a smooth curve of the mean loss that bends toward better models
    family    models of one family lie off together
    own       a model lies off by itself
"""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from csv_plugin.core.settings import Settings

PARTS = ('spread', 'units', 'answers', 'bend', 'family', 'own')

#: A common factor of units is refined so many times.
FACTOR_STEPS = 20
#: Most units that are clustered.
CLUSTERED = 1000
#: Smallest width of anything that is divided by.
TINY = 1e-12
#: Features are rounded to so many digits, so that the unit in which losses
#: come, and the order of columns, do not decide by their last bits.
DIGITS = 10


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of M models, `(M, K)` on K units in any one unit.

    `sources` are names of the source of each unit, `(K,)`, or '' where there
    is none. `answers` are losses in nats of the tokens of a benchmark's own
    answers, `(M, T)`, by the place of the benchmark.
    """
    units: NDArray[np.float64]
    sources: NDArray[np.str_]
    answers: dict[int, NDArray[np.float64]]

    @classmethod
    def of(cls, units: NDArray) -> 'Losses':
        """Losses without sources and answers."""
        return cls(units, np.full(units.shape[1], ''), {})

    def take(self, rows: NDArray) -> 'Losses':
        """Some of the models."""
        answers = {b: part[rows] for b, part in self.answers.items()}
        return Losses(self.units[rows], self.sources, answers)


@dataclass(frozen=True, eq=False)
class Place:
    """Where M models lie, as one form of the model sees their losses.

    `means`, `(M, C)`, are standardised mean losses, small is good: that of all
    units, of groups of them, and of benchmarks' own answers. `units`, `(M,
    K)`, are what units deviate from the first. `answers`, `(M, T)`, are what
    tokens deviate from their mean, by the place of the benchmark. `families`
    are numbers, equal in a family.
    """
    means: NDArray[np.float64]
    units: NDArray[np.float64]
    answers: dict[int, NDArray[np.float64]]
    families: NDArray[np.int64]

    def take(self, rows: NDArray) -> 'Place':
        """Some of the models."""
        answers = {b: part[rows] for b, part in self.answers.items()}
        return Place(self.means[rows], self.units[rows], answers,
                     self.families[rows])

    def __len__(self) -> int:
        return len(self.means)


class Scale:
    """Places models by their losses; learned from the fitted models.

    With `logarithms`, values of units are logarithms of losses over typical
    ones, else these ratios; see `settings.Form`.
    """

    def __init__(self, losses: Losses, logarithms: bool,
                 settings: Settings) -> None:
        self.logarithms, self.settings = logarithms, settings
        self.typical = typical_losses(losses.units)
        self.reliability = np.ones(losses.units.shape[1])
        if losses.units.shape[1] > 2:
            values = self._values(losses.units)
            self.middle, self.width = middle_and_width(values.mean(axis=1))
            noise = noise_of_units(values[self._sound(values)],
                                   settings.reliable)
            self.reliability = 1 / noise
        values = self._values(losses.units)
        self.middle, self.width = middle_and_width(values.mean(axis=1))
        self.sound = self._sound(values)
        values = values[self.sound]
        self.centre = values.mean(axis=0)
        self.size = _size(self._deviations(values))
        self.groups = self._groups(values, losses.sources)
        self.group_middle, self.group_width = middle_and_width(
            values @ self.groups)
        self.answers = {
            b: AnswerScale(part[self.sound], settings.knee)
            for b, part in losses.answers.items()
        }

    @cached_property
    def own(self) -> dict[int, int]:
        """The mean loss of its own answers, by the place of the benchmark."""
        first = 1 + self.groups.shape[1]
        return {b: first + i for i, b in enumerate(self.answers)}

    def __call__(self, losses: Losses, families: NDArray) -> Place:
        values = self._values(losses.units)
        all_units = (values.mean(axis=1) - self.middle) / self.width
        groups = (values @ self.groups - self.group_middle) / self.group_width
        answers = {
            b: scale(losses.answers[b])
            for b, scale in self.answers.items()
        }
        own = [mean for mean, _ in answers.values()]
        means = np.column_stack([all_units, groups, *own])
        return Place(
            rounded(means), rounded(self._deviations(values) / self.size), {
                b: rounded(deviations)
                for b, (_, deviations) in answers.items()
            }, np.asarray(families))

    def _values(self, losses: NDArray) -> NDArray:
        ratios = np.maximum(losses / self.typical, self.settings.least)
        if self.logarithms:
            ratios = np.log(ratios)
        return ratios * self.reliability

    def slope(self, losses: NDArray) -> NDArray[np.float64]:
        """Return the derivatives of values by losses of one model, `(K,)`."""
        least = self.settings.least * self.typical
        by = np.maximum(losses, least) if self.logarithms else self.typical
        return np.where(losses > least, self.reliability / by, 0)

    def _sound(self, values: NDArray) -> NDArray[np.bool_]:
        """Models whose mean loss is not absurdly far from the others."""
        away = np.abs(values.mean(axis=1) - self.middle) / self.width
        return away <= self.settings.sound

    def _deviations(self, values: NDArray) -> NDArray:
        centred = values - self.centre
        return centred - centred.mean(axis=1, keepdims=True)

    def _groups(self, values: NDArray, sources: NDArray) -> NDArray:
        """Shares of K units in groups of them, `(K, C)`.

        Groups are the sources of texts where these are known, else clusters of
        units whose deviations are alike (Ward's method).
        """
        n_units = values.shape[1]
        groups = []
        if (sources != '').all():
            names = np.unique(sources)
            groups = [sources == name for name in names if len(names) > 1]
        elif n_units > 2:
            # Clusters of very many units are those of a part of them.
            part = np.linspace(0, n_units - 1, min(n_units, CLUSTERED))
            part = np.unique(part.round().astype(int))
            alike = self._deviations(values)[:, part]
            alike = alike / (alike.std(axis=0) + TINY)
            for members in clusters(alike.T):
                if self.settings.cluster * len(part) <= len(members):
                    groups.append(np.isin(np.arange(n_units), part[members]))
            groups = groups[1:]
        shares = [group / group.sum() for group in groups]
        return np.reshape(shares, (-1, n_units)).T


class AnswerScale:
    """Places models by tokens of a benchmark's own answers, `(M, T)` nats."""

    def __init__(self, losses: NDArray, knee: float) -> None:
        self.knee = knee
        values = self._values(losses)
        self.middle, self.width = middle_and_width(values.mean(axis=1))
        self.centre = values.mean(axis=0)
        self.size = _size(self._deviations(values))

    def __call__(self, losses: NDArray) -> tuple[NDArray, NDArray]:
        """Return standardised means `(M,)`, and deviations `(M, T)`."""
        values = self._values(losses)
        means = (values.mean(axis=1) - self.middle) / self.width
        return means, self._deviations(values) / self.size

    def _values(self, losses: NDArray) -> NDArray:
        return np.log1p(losses / self.knee)

    def _deviations(self, values: NDArray) -> NDArray:
        centred = values - self.centre
        return centred - centred.mean(axis=1, keepdims=True)


def clusters(rows: NDArray) -> list[list[int]]:
    """Return the members of every cluster that Ward's method joins."""
    members = [[place] for place in range(len(rows))]
    for first, second, *_ in linkage(rows, 'ward').astype(int):
        members.append(members[first] + members[second])
    return members[len(rows):][::-1]


def _size(deviations: NDArray) -> float:
    """Root of the mean over models of the sum of squares over units."""
    return float(np.sqrt(max((deviations**2).sum(axis=1).mean(), TINY)))


def typical_losses(losses: NDArray) -> NDArray[np.float64]:
    """Return the median of each unit's losses `(M, K)` above 0, else 1."""
    above = np.where(losses > 0, losses, np.nan)
    found = np.ones(losses.shape[1])
    some = (losses > 0).any(axis=0)
    found[some] = np.nanmedian(above[:, some], axis=0)
    return found


def rounded(values: NDArray) -> NDArray[np.float64]:
    """Return rounded values in one layout, on which last bits may hang."""
    return np.ascontiguousarray(values.round(DIGITS))


def middle_and_width(values: NDArray) -> tuple[NDArray, NDArray]:
    """Return the median and a robust deviation along the first axis."""
    low, middle, high = np.quantile(values, [.25, .5, .75], axis=0)
    quartiles = high - low
    wide = np.minimum(values.std(axis=0) / 2, 1.5 * quartiles)
    return middle, np.maximum(quartiles / 1.35, wide) + TINY


def noise_of_units(values: NDArray, least: float) -> NDArray[np.float64]:
    """Return deviations of units about their one common factor, `(K,)`.

    Values are `(M, K)`. Loadings of the factor and noise of the units are
    refined in turns. `least` is a share of a unit's own deviation.
    """
    centred = values - values.mean(axis=0)
    deviation = centred.std(axis=0) + 1e-9
    loadings = 1 / deviation
    for _ in range(FACTOR_STEPS):
        factor = centred @ loadings
        factor /= factor.std() + TINY
        slopes = centred.T @ factor / len(factor)
        rest = np.mean((centred - np.outer(factor, slopes))**2, axis=0)
        rest += (least * deviation)**2
        loadings = slopes / rest
    return np.sqrt(rest)


def wiener(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Return the covariance of a smooth curve that is straight below 0.

    It is that of a Wiener process integrated once, between places `(M,)` and
    `(N,)`: `(M, N)` (Wahba, J. R. Stat. Soc. B 40(3), 1978).
    """
    first = np.maximum(first, 0)[:, None]
    second = np.maximum(second, 0)[None]
    low, high = np.minimum(first, second), np.maximum(first, second)
    return low**2 * (3 * high - low) / 6


def covariances(new: Place, old: Place, new_means: NDArray, old_means: NDArray,
                worst: NDArray, tilt: float) -> list[NDArray]:
    """Return the covariance of each of `PARTS`, `(B or 1, M, N)`.

    `new_means`, `(B, M)`, and `old_means`, `(B, N)`, are the mean losses that
    benchmarks follow, and `worst`, `(B,)`, the largest of the fitted models.
    The part `own` is 0: new and old are other models.
    """
    n_benchmarks, shape = len(worst), (len(new), len(old))
    answers = np.zeros((n_benchmarks if new.answers else 1, *shape))
    for b, part in new.answers.items():
        answers[b] = part @ old.answers[b].T
    bend = [
        wiener(start - first, start - second)
        for start, first, second in zip(worst, new_means, old_means)
    ]
    same = new.families[:, None] == old.families
    family = same * (1 + tilt * np.outer(new.means[:, 0], old.means[:, 0]))
    return [
        new_means[:, :, None] * old_means[:, None],
        (new.units @ old.units.T)[None], answers,
        np.array(bend), family[None],
        np.zeros((1, *shape))
    ]


def variances(new: Place, means: NDArray, worst: NDArray,
              tilt: float) -> list[NDArray]:
    """Return the variance of each of `PARTS`, `(B or 1, M)`."""
    answers = np.zeros((len(worst) if new.answers else 1, len(new)))
    for b, part in new.answers.items():
        answers[b] = (part**2).sum(axis=1)
    better = np.maximum(worst[:, None] - means, 0)
    return [
        means**2, (new.units**2).sum(axis=1)[None], answers, better**3 / 3,
        (1 + tilt * new.means[:, 0]**2)[None],
        np.ones((1, len(new)))
    ]


def families_by_number(families: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each name, in order of the first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(f, len(numbers)) for f in families])


def numbers_of(families: Optional[Sequence[str]],
               n_models: int) -> NDArray[np.int64]:
    """Return numbers of families, `(M,)`; by default each model has one."""
    if families is None:
        return np.arange(n_models)
    return families_by_number(families)
