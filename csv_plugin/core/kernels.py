"""What the model of accuracies sees of losses, and covariances of exponents.

This file takes losses of M models on K units, `(M, K)`; a unit is a text or a
column of a table. It standardises them: they become mean losses, `(M, C)`, and
deviations of single units from the mean, `(M, K)`. From these it computes the
kernel, which is the covariance between the exponents of two models on one
benchmark, `(M, M)`. The formulas stand in docs/appendix/method.md, "What it
sees of losses" and "The prior". The kernel is a sum of parts, each with an
amount of its own:

    spread    product of the mean losses: slopes differ between benchmarks
    units     inner product of the units' deviations: the salience weights
    answers   inner product of the deviations of tokens of the right answers,
              on benchmarks that have texts of their own among the losses
    bend      a smooth curve of the mean loss that bends toward better models
    family    models of one family deviate together
    own       each model deviates by itself

A value of a unit is its loss over the typical loss, or the logarithm of that.
Units share one common factor: the trend of losses over models. What the values
of a unit deviate by from this factor is the noise of the unit. Values are
divided by the noise of their unit, and the mean loss is the plain mean of the
results. So units that follow the trend count more.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.settings import Settings

PARTS = ('spread', 'units', 'answers', 'bend', 'family', 'own')

#: Steps that refine the common factor of units.
FACTOR_STEPS = 20
#: Number of models whose units' deviations are computed at once.
MODELS_AT_ONCE = 100
#: Largest number of units that are clustered.
CLUSTERED = 1000
#: Added to widths before anything is divided by them.
TINY = 1e-12
#: Digits after the point that standardised losses are rounded to. Rounding
#: removes differences in last bits, which the unit of losses and the order of
#: columns would cause.
DIGITS = 10


@dataclass(frozen=True, eq=False)
class UnitLosses:
    """Losses of M models on K units, which are texts or columns of a table.

    `table` has losses that were all measured in the same way, `(M, N)`. The
    units are its columns `columns`, indices `(K,)`, in this order, and
    `sources` are the names of their sources, `(K,)`, '' where there is none.
    `answers` are losses in nats of the T tokens of the right answers in a
    benchmark's own texts, `(M, T)`, by the index of the benchmark. These
    tokens are called the benchmark's own answers.
    """
    table: NDArray[np.float64]
    columns: NDArray[np.int64]
    sources: NDArray[np.str_]
    answers: dict[int, NDArray[np.float64]]

    @classmethod
    def of(cls, units: NDArray) -> 'UnitLosses':
        """Make losses without sources and answers; all columns are units."""
        n_units = units.shape[1]
        return cls(units, np.arange(n_units), np.full(n_units, ''), {})

    @property
    def units(self) -> NDArray[np.float64]:
        """The losses on the units, `(M, K)`.

        This is a copy, which may be changed. It may take much memory, so it
        is not kept.
        """
        return self.table[:, self.columns]

    def take(self, rows: Union[NDArray, slice]) -> 'UnitLosses':
        """Return some of the models."""
        answers = {b: part[rows] for b, part in self.answers.items()}
        return replace(self, table=self.table[rows], answers=answers)

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, eq=False)
class Standardised:
    """Standardised losses of M models, as one form of the model sees them.

    `means`, `(M, C)`, are mean losses, of which small ones are good: column 0
    is the mean of all units, then come those of groups of units, then those of
    benchmarks' own answers. `answers`, `(M, T)`, are deviations of the tokens
    of a benchmark's own answers from their mean, by the index of the
    benchmark. `families`, `(M,)`, are numbers, equal in a family. `losses` are
    what was standardised, and `scale` is what standardised them.
    """
    means: NDArray[np.float64]
    answers: dict[int, NDArray[np.float64]]
    families: NDArray[np.int64]
    losses: UnitLosses
    scale: 'Scale'

    def take(self, rows: NDArray) -> 'Standardised':
        """Some of the models."""
        answers = {b: part[rows] for b, part in self.answers.items()}
        return Standardised(self.means[rows], answers, self.families[rows],
                            self.losses.take(rows), self.scale)

    @property
    def units(self) -> NDArray[np.float64]:
        """Deviations of units from the mean of all, `(M, K)`.

        They are as large as a table of losses, so they are not kept.
        """
        return self.scale.deviations(self.losses)

    @cached_property
    def sound(self) -> NDArray[np.bool_]:
        """True for models that are not absurd; see `Settings.sound`, `(M,)`.
        """
        return np.abs(self.means[:, 0]) <= self.scale.settings.sound

    def __len__(self) -> int:
        return len(self.means)


class Scale:
    """Turns losses into a `Standardised`; learned from the fitted models.

    Losses over typical losses are ratios. Values of units are these ratios, or
    with `logarithms` their logarithms, over the noise of the unit.

    Attributes:
        typical: Typical loss of each unit, `(K,)`.
        reliability: One over the noise of each unit, `(K,)`.
        middle, width: Median and width of the mean of all units.
        centre: Mean value of each unit, `(K,)`.
        groups: Weights of units in the means of groups, `(K, C)`.
        group_middle, group_width: Medians and widths of these means, `(C,)`.
        size: Length of the deviations of a typical model.
        answers: Scales of own answers, by the index of the benchmark.
    """

    def __init__(self, losses: UnitLosses, logarithms: bool,
                 settings: Settings) -> None:
        self.logarithms, self.settings = logarithms, settings
        n_units = len(losses.columns)
        self.typical = typical_losses(losses.units)
        self.reliability = np.ones(n_units)
        if n_units > 2:
            # A first mean of all units, to leave out absurd models.
            values = self._values(losses)
            values = values[self._sound(values)]
            self.reliability = 1 / noise_of_units(values, settings.least_noise)
            del values
        values = self._values(losses)
        self.middle, self.width = middle_and_width(values.mean(axis=1))
        sound = self._sound(values)
        values = values[sound]
        self.centre = values.mean(axis=0)
        self.groups = self._groups(values, losses.sources)
        of_groups = values @ self.groups
        self.group_middle, self.group_width = middle_and_width(of_groups)
        self.size = _size(self._deviations(values))
        self.answers = {}
        for b, of_benchmark in losses.answers.items():
            self.answers[b] = AnswerScale(of_benchmark[sound], settings.knee)

    @cached_property
    def columns_of_answers(self) -> dict[int, int]:
        """Columns of `Standardised.means` of own answers, by benchmark."""
        first = 1 + self.groups.shape[1]
        columns = range(first, first + len(self.answers))
        return dict(zip(self.answers, columns))

    def __call__(self, losses: UnitLosses, families: NDArray) -> Standardised:
        """Standardise losses of models, whose families are numbers, `(M,)`."""
        values = self._values(losses)
        of_all_units = values.mean(axis=1) - self.middle
        of_groups = values @ self.groups - self.group_middle
        means = [of_all_units / self.width, of_groups / self.group_width]
        answers = {}
        for b, scale in self.answers.items():
            mean, deviations = scale(losses.answers[b])
            means.append(mean)
            answers[b] = rounded(deviations)
        return Standardised(
            means=rounded(np.column_stack(means)),
            answers=answers,
            families=np.asarray(families),
            losses=losses,
            scale=self)

    def deviations(self, losses: UnitLosses) -> NDArray[np.float64]:
        """Return the standardised deviations of units, `(M, K)`.

        A few models at a time: a table may take much memory.
        """
        found = np.empty((len(losses), len(losses.columns)))
        for first in range(0, len(losses), MODELS_AT_ONCE):
            rows = slice(first, first + MODELS_AT_ONCE)
            part = self._deviations(self._values(losses.take(rows)))
            found[rows] = rounded(part / self.size)
        return found

    def _values(self, losses: UnitLosses) -> NDArray:
        # The copy is changed in place: a table may take much memory.
        values = losses.units
        values /= self.typical
        np.maximum(values, self.settings.least, out=values)
        if self.logarithms:
            np.log(values, out=values)
        values *= self.reliability
        return values

    def slope(self, losses: NDArray) -> NDArray[np.float64]:
        """Return the derivatives of values by losses of one model, `(K,)`.

        0 for losses that count as the least one.
        """
        least = self.settings.least * self.typical
        by = np.maximum(losses, least) if self.logarithms else self.typical
        return np.where(losses > least, self.reliability / by, 0)

    def _sound(self, values: NDArray) -> NDArray[np.bool_]:
        """True for fitted models whose mean loss is near enough to others'.

        See `Settings.sound`. Values are those of all fitted models, `(M, K)`.
        """
        means = values.mean(axis=1)
        middle, width = middle_and_width(means)
        return np.abs(means - middle) / width <= self.settings.sound

    def _deviations(self, values: NDArray) -> NDArray:
        """Turn values into deviations, in place."""
        values -= self.centre
        values -= values.mean(axis=1, keepdims=True)
        return values

    def _groups(self, values: NDArray, sources: NDArray) -> NDArray:
        """Weights of K units in the means of groups, `(K, C)`; sums are 1.

        Groups are the sources of texts where these are known, else clusters of
        units whose deviations are alike.
        """
        n_units = values.shape[1]
        groups: list[NDArray] = []
        if (sources != '').all():
            names = np.unique(sources)
            # The group of all units is no group of its own.
            if len(names) > 1:
                groups = [sources == name for name in names]
        elif n_units > 2:
            groups = self._clusters(values)
        is_member = np.reshape(groups, (-1, n_units))
        return (is_member / is_member.sum(axis=1, keepdims=True)).T

    def _clusters(self, values: NDArray) -> list[NDArray]:
        """Masks of the units of each cluster, `(K,)`, but not of that of all.

        These are all large enough clusters that Ward's method joins, so large
        clusters contain small ones.
        """
        n_units = values.shape[1]
        # Of very many units, only some are clustered: those of `part`.
        part = np.linspace(0, n_units - 1, min(n_units, CLUSTERED))
        part = np.unique(part.round().astype(int))
        # Deviations from the mean of all units, each over its own size.
        shift = values.mean(axis=1, keepdims=True) - self.centre.mean()
        alike = values[:, part]
        alike -= self.centre[part]
        alike -= shift
        alike /= alike.std(axis=0) + TINY
        least_size = self.settings.cluster * len(part)
        found = []
        # The first cluster, the largest one, is that of all units.
        for members in clusters(alike.T)[1:]:
            if len(members) >= least_size:
                found.append(np.isin(np.arange(n_units), part[members]))
        return found


class AnswerScale:
    """Standardises losses in nats of a benchmark's own answers, `(M, T)`.

    Learned from the fitted models. Values are log(1 + loss / knee).
    """

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
    """Return the members of every cluster that Ward's method joins.

    Members are indices of rows. The cluster of all rows is the first.
    """
    # Loading it takes a tenth of a prediction's time, and units with sources
    # are not clustered.
    from scipy.cluster.hierarchy import linkage

    # First come clusters of one row; `linkage` counts those that it joins on.
    members = [[row] for row in range(len(rows))]
    for first, second, *_ in linkage(rows, 'ward').astype(int):
        members.append(members[first] + members[second])
    joined = members[len(rows):]
    return joined[::-1]


def _size(deviations: NDArray) -> float:
    """Root mean square, over models, of the length of their deviations.

    Over it, deviations of a typical model have length 1, whatever the number
    of units, so that amounts mean the same on every table.
    """
    total = np.einsum('mk,mk->', deviations, deviations)
    return float(np.sqrt(max(total / len(deviations), TINY)))


def typical_losses(losses: NDArray) -> NDArray[np.float64]:
    """Return the median of each unit's losses `(M, K)` above 0, else 1."""
    above = losses > 0
    n_above = above.sum(axis=0)
    # Losses above 0 first, in their order.
    ordered = np.where(above, losses, np.inf)
    ordered.sort(axis=0)
    units = np.arange(losses.shape[1])
    # The two in the middle, or twice the same one.
    lower = ordered[(n_above - 1) // 2, units]
    upper = ordered[np.minimum(n_above // 2, len(losses) - 1), units]
    return np.where(n_above > 0, lower / 2 + upper / 2, 1)


def rounded(values: NDArray) -> NDArray[np.float64]:
    """Return rounded values, in one layout of memory.

    The layout decides in which order values are summed, and so on last bits.
    """
    return values.round(DIGITS, out=np.empty(values.shape))


def middle_and_width(values: NDArray) -> tuple[NDArray, NDArray]:
    """Return the median and a robust width along the first axis.

    The width is that of the quartiles over 1.35, which is the standard
    deviation of a normal distribution. It is half of the standard deviation
    if that is larger, but then at most 1.5 times the distance of the
    quartiles: those of few models, or of models in two heaps, may be too close
    to each other. Where more than half of the values are equal, it is the
    standard deviation.
    """
    low, middle, high = np.quantile(values, [.25, .5, .75], axis=0)
    quartiles = high - low
    deviations = values.std(axis=0)
    wide = np.minimum(deviations / 2, 1.5 * quartiles)
    width = np.maximum(quartiles / 1.35, wide)
    return middle, np.where(quartiles > 0, width, deviations) + TINY


def noise_of_units(values: NDArray, least: float) -> NDArray[np.float64]:
    """Return deviations of units about their one common factor, `(K,)`.

    Values are `(M, K)`. They are modelled as loading x factor + noise, with a
    loading for each unit and a factor for each model. The factor is a weighted
    sum of the units; weights are loadings over squared noise. Factor, loadings
    and noise are refined in turns. The noise of a unit includes `least` times
    the standard deviation of its values.
    """
    centred = values - values.mean(axis=0)
    variance = np.einsum('mk,mk->k', centred, centred) / len(centred)
    deviation = np.sqrt(variance) + 1e-9
    weights = 1 / deviation
    for _ in range(FACTOR_STEPS):
        factor = centred @ weights
        factor /= factor.std() + TINY
        loadings = centred.T @ factor / len(factor)
        noise = np.maximum(variance - loadings**2, 0)
        noise += (least * deviation)**2
        weights = loadings / noise
    return np.sqrt(noise)


def wiener(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Return the covariance of a smooth curve that is 0 up to 0, `(M, N)`.

    It is that of a Wiener process integrated once, between its values at
    `(M,)` and `(N,)` (Wahba, J. R. Stat. Soc. B 40(3), 1978).
    """
    first = np.maximum(first, 0)[:, None]
    second = np.maximum(second, 0)[None]
    # low^2 (3 high - low) / 6, in place.
    low = np.minimum(first, second)
    found = np.maximum(first, second)
    found *= 3
    found -= low
    found *= low
    found *= low
    found /= 6
    return found


def slope_of_wiener(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Return the derivative of `wiener` by the first value, `(M, N)`."""
    first = np.maximum(first, 0)[:, None]
    second = np.maximum(second, 0)[None]
    return np.where(first < second, first * second - first**2 / 2,
                    second**2 / 2)


def shared_parts(new: Standardised, old: Standardised, tilt: float,
                 same: bool) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the covariances that are those of every benchmark, by name.

    They are `(M, N)`. With `same`, new and old are the same models; else none
    is in both, so the part `own` is 0.
    """
    units = new.units
    yield 'units', units @ (units if same else old.units).T
    del units  # They may take more memory than all covariances.
    related = new.families[:, None] == old.families
    # In place, as of many models these take much memory.
    family = np.outer(new.means[:, 0], old.means[:, 0])
    family *= tilt
    family += 1
    family *= related
    yield 'family', family
    del family
    shape = len(new), len(old)
    yield 'own', np.eye(*shape) if same else np.zeros(shape)


def parts_of_benchmark(new: Standardised, old: Standardised, new_mean: NDArray,
                       old_mean: NDArray, worst: float,
                       b: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the other covariances, those of benchmark b, by name, `(M, N)`.

    `new_mean`, `(M,)`, and `old_mean`, `(N,)`, are the mean losses that the
    benchmark follows, and `worst` is the largest of the fitted models. Without
    own answers there is no part `answers`.
    """
    yield 'bend', wiener(worst - new_mean, worst - old_mean)
    yield 'spread', np.outer(new_mean, old_mean)
    if b in new.answers:
        yield 'answers', new.answers[b] @ old.answers[b].T


def covariances(models: Standardised, means: NDArray, worst: NDArray,
                shared: dict[str, NDArray]) -> list[NDArray]:
    """Return the covariance of each of `PARTS`, in this order.

    They are `(B, M, M)`, or `(1, M, M)` if the same on all benchmarks. `means`
    and `worst` are as in `variances`, and `shared` are `shared_parts`.
    """
    n_models, n_benchmarks = len(models), len(worst)
    found = {name: part[None] for name, part in shared.items()}
    found['answers'] = np.zeros((1, n_models, n_models))
    own_parts = ['spread', 'bend']
    if models.answers:
        own_parts.append('answers')
    for name in own_parts:
        found[name] = np.zeros((n_benchmarks, n_models, n_models))
    for b in range(n_benchmarks):
        parts = parts_of_benchmark(models, models, means[b], means[b],
                                   worst[b], b)
        for name, part in parts:
            found[name][b] = part
    return [found[name] for name in PARTS]


def variances(models: Standardised, means: NDArray, worst: NDArray,
              tilt: float) -> dict[str, NDArray[np.float64]]:
    """Return the variance of each of `PARTS`, by name, `(B or 1, M)`.

    These are the diagonals of `covariances`, without the memory of these.
    `means`, `(B, M)`, are the mean losses that benchmarks follow, and `worst`,
    `(B,)`, the largest of the fitted models.
    """
    n_rows = len(worst) if models.answers else 1
    answers = np.zeros((n_rows, len(models)))
    for b, part in models.answers.items():
        answers[b] = (part**2).sum(axis=1)
    better = np.maximum(worst[:, None] - means, 0)
    units = models.units
    return dict(
        spread=means**2,
        units=np.einsum('mk,mk->m', units, units)[None],
        answers=answers,
        bend=better**3 / 3,
        family=(1 + tilt * models.means[:, 0]**2)[None],
        own=np.ones((1, len(models))))


def families_by_number(families: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each name, in order of the first appearance."""
    numbers: dict[str, int] = {}
    found = []
    for family in families:
        found.append(numbers.setdefault(family, len(numbers)))
    return np.array(found, int)


def numbers_of(families: Optional[Sequence[str]],
               n_models: int) -> NDArray[np.int64]:
    """Return numbers of families, `(M,)`; by default each model has one."""
    if families is None:
        return np.arange(n_models)
    return families_by_number(families)
