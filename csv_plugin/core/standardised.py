"""Standardise losses: what the model of accuracies sees of them.

This file takes losses of M models on K units, `(M, K)`; a unit is a text or a
column of a table. It standardises the losses into C mean losses per model,
`(M, C)`, and deviations of single units from the mean, `(M, K)`. From these,
core.kernels computes the prior covariances of exponents. The formulas stand in
docs/appendix/method.md, "What it sees of losses".

The loss of a unit is divided by its typical loss, and some forms of the model
take the logarithm of this ratio. All units share one common factor: the trend
of losses over models. The noise of a unit is the standard deviation about this
trend. The ratio or its logarithm, divided by this noise, is the *value* of the
unit, and the mean loss is the plain mean of the values. So units that follow
the trend count more.

A model is *sound* if its mean loss is within `Settings.sound` widths
(`middle_and_width`) of the median over the fitted models. Models that are not
sound, such as broken models, are left out of most that is learned from losses
here. The table "Words of the code" in docs/appendix/method.md explains
further words.
"""
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Booleans, Floats, Integers
from csv_plugin.core.numerics import TINY
from csv_plugin.core.settings import Settings

#: Indices of models, or a range of them.
Rows = Union[NDArray, slice]

#: Number of steps of the factor analysis in `noise_of_units`. On the models of
#: the demonstration, four times as many change no noise by more than 0.2 %.
FACTOR_STEPS = 20
#: Number of models whose units' deviations are computed at once: enough for
#: speed, and few enough to take little memory beside a table.
MODELS_AT_ONCE = 100
#: Largest number of units that are clustered. Time and memory of clustering
#: grow with the square of this number.
CLUSTERED = 1000
#: Digits after the point that standardised losses are rounded to. Rounding
#: removes differences in last bits, which the unit of losses and the order of
#: columns would cause.
DIGITS = 10


@dataclass(frozen=True, eq=False)
class UnitLosses:
    """Losses of M models on K units, which are texts or columns of a table.

    `table`, `(M, N)`, has losses that were all measured in the same way.
    `columns`, `(K,)`, are the indices of the columns of `table` that are
    units, in the order of the units. `sources`, `(K,)`, has the name of each
    unit's source, '' if it has none. `answers` maps the index of a benchmark
    to the losses in nats, `(M, T)`, of the T tokens of the right answers in
    the benchmark's own texts. These tokens are called the benchmark's *own
    answers*.
    """
    table: Floats
    columns: Integers
    sources: NDArray[np.str_]
    answers: dict[int, Floats]

    @classmethod
    def of(cls, units: NDArray) -> 'UnitLosses':
        """Return losses without sources and answers, with K columns as units.

        `units`, `(M, K)`, are the losses.
        """
        n_units = units.shape[1]
        columns = np.arange(n_units)
        no_sources = np.full(n_units, '')
        return cls(units, columns, no_sources, answers={})

    @property
    def units(self) -> Floats:
        """The losses on the units, `(M, K)`.

        Each access makes a new copy, which the caller may change. It may take
        much memory, so it is not stored.
        """
        return self.table[:, self.columns]

    def take(self, rows: Rows) -> 'UnitLosses':
        """Return the losses of the models with the given row indices."""
        table = self.table[rows]
        answers = _rows_of(self.answers, rows)
        return replace(self, table=table, answers=answers)

    def __len__(self) -> int:
        return len(self.table)


def _rows_of(tables: dict[int, Floats], rows: Rows) -> dict[int, Floats]:
    """Return the given rows of each table, by the key of the table."""
    found = {}
    for b, table in tables.items():
        found[b] = table[rows]
    return found


@dataclass(frozen=True, eq=False)
class Standardised:
    """Standardised losses of M models, as one form of the model sees them.

    `mean_losses` are `(M, C)`; a better model has smaller ones. Column 0 is
    the mean over all units. Then come the means over groups of units, and last
    the means over the own answers of each benchmark that has any.
    `answer_deviations` maps the index of a benchmark to the deviations,
    `(M, T)`, of the T tokens of its own answers from their mean. `families`,
    `(M,)`, has the number of each model's family. `losses` are the losses that
    were standardised, and `standardiser` is the object that standardised them.
    """
    mean_losses: Floats
    answer_deviations: dict[int, Floats]
    families: Integers
    losses: UnitLosses
    standardiser: 'Standardiser'

    def take(self, rows: NDArray) -> 'Standardised':
        """Return the models with the given row indices."""
        return Standardised(
            mean_losses=self.mean_losses[rows],
            answer_deviations=_rows_of(self.answer_deviations, rows),
            families=self.families[rows],
            losses=self.losses.take(rows),
            standardiser=self.standardiser)

    @property
    def unit_deviations(self) -> Floats:
        """Deviations of each unit from the mean over all units, `(M, K)`.

        They take as much memory as the losses, so each access computes them
        again.
        """
        return self.standardiser.deviations(self.losses)

    def followed_losses(self, shares: NDArray) -> Floats:
        """Return the mean loss that each of B benchmarks follows, `(B, M)`.

        It is a weighted mean of the C mean losses, with weights `shares`,
        `(C, B)`.
        """
        return (self.mean_losses @ shares).T

    def worst_losses(self, followed: NDArray) -> Floats:
        """Return the largest mean loss of a sound fitted model, `(B,)`.

        `followed`, `(B, M)`, are the mean losses that the benchmarks follow.
        """
        distances = np.abs(self.mean_losses[:, 0])
        is_sound = distances <= self.standardiser.settings.sound
        return followed[:, is_sound].max(axis=1)

    def __len__(self) -> int:
        return len(self.mean_losses)


class Standardiser:
    """Turn the losses of any models into a `Standardised`.

    The medians, means and widths below are learned from the losses of the
    fitted models. The value of a unit is (loss / typical loss) / noise or,
    with `logarithms`, log(loss / typical loss) / noise.

    Attributes:
        typical: Typical loss of each unit, `(K,)`.
        reliability: 1 / (noise of the unit), `(K,)`.
        middle, width: Median and width, over models, of the mean over units.
        centre: Mean value of each unit over the sound models, `(K,)`.
        groups: Weight of each of the K units in the mean of each of the G
            groups, `(K, G)`.
        group_middle, group_width: Median and width, over the sound models, of
            the mean of each group, `(G,)`.
        size: Root mean square, over the sound models, of the length of a
            model's vector of deviations.
        of_answers: The `AnswerStandardiser` of each benchmark with own
            answers, by the index of the benchmark.
    """

    def __init__(self, losses: UnitLosses, logarithms: bool,
                 settings: Settings) -> None:
        self.logarithms = logarithms
        self.settings = settings
        n_units = len(losses.columns)
        self.typical = typical_losses(losses.units)
        self.reliability = np.ones(n_units)
        if n_units > 2:
            # The losses on two units do not show the noise of each of them.
            # First, all units have the noise 1. This shows which models are
            # sound, and the noise of units is estimated from them.
            values = self._values(losses)
            sound = self._sound(values)
            values = values[sound]
            noise = noise_of_units(values, settings.least_noise)
            self.reliability = 1 / noise
            del values
        values = self._values(losses)
        means = values.mean(axis=1)
        self.middle, self.width = middle_and_width(means)
        sound = self._sound(values)
        values = values[sound]
        self.centre = values.mean(axis=0)
        self.groups = self._groups(values, losses.sources)
        of_groups = values @ self.groups
        self.group_middle, self.group_width = middle_and_width(of_groups)
        deviations = self._deviations(values)
        self.size = _size(deviations)
        self.of_answers = {}
        for b, of_benchmark in losses.answers.items():
            sound_losses = of_benchmark[sound]
            self.of_answers[b] = AnswerStandardiser(sound_losses,
                                                    settings.knee)

    @cached_property
    def columns_of_answers(self) -> dict[int, int]:
        """Columns of `mean_losses` with the means over own answers.

        This maps the index of each benchmark that has own answers to the index
        of the column with the mean over these answers.
        """
        # Column 0 is the mean over all units, and the groups come next.
        n_groups = self.groups.shape[1]
        found: dict[int, int] = {}
        for b in self.of_answers:
            found[b] = 1 + n_groups + len(found)
        return found

    def standardise(self, losses: UnitLosses,
                    families: NDArray) -> Standardised:
        """Return the standardised losses of M models.

        `families`, `(M,)`, has the number of each model's family.
        """
        values = self._values(losses)
        of_all_units = values.mean(axis=1)
        of_all_units -= self.middle
        of_all_units /= self.width
        of_groups = values @ self.groups
        of_groups -= self.group_middle
        of_groups /= self.group_width
        columns = [of_all_units, of_groups]
        answer_deviations = {}
        for b, standardiser in self.of_answers.items():
            of_benchmark = losses.answers[b]
            mean, deviations = standardiser.standardise(of_benchmark)
            columns.append(mean)
            answer_deviations[b] = rounded(deviations)
        mean_losses = np.column_stack(columns)
        return Standardised(
            mean_losses=rounded(mean_losses),
            answer_deviations=answer_deviations,
            families=families,
            losses=losses,
            standardiser=self)

    def deviations(self, losses: UnitLosses) -> Floats:
        """Return the standardised deviations of units, `(M, K)`.

        They are computed for a few models at a time, as a table may take much
        memory.
        """
        n_models = len(losses)
        n_units = len(losses.columns)
        found = np.empty((n_models, n_units))
        for first in range(0, n_models, MODELS_AT_ONCE):
            rows = slice(first, first + MODELS_AT_ONCE)
            of_rows = losses.take(rows)
            values = self._values(of_rows)
            deviations = self._deviations(values)
            deviations /= self.size
            found[rows] = rounded(deviations)
        return found

    def _values(self, losses: UnitLosses) -> NDArray:
        """Return the values of units, `(M, K)`.

        A ratio of a loss and its typical loss that is below `Settings.least`
        counts as `Settings.least`.
        """
        # The copy is changed in place: a table may take much memory.
        values = losses.units
        values /= self.typical
        np.maximum(values, self.settings.least, out=values)
        if self.logarithms:
            np.log(values, out=values)
        values *= self.reliability
        return values

    def slope(self, losses: NDArray) -> Floats:
        """Return the derivatives of values with respect to losses, `(K,)`.

        `losses`, `(K,)`, are the losses of one model. A value does not depend
        on a loss below the least loss that counts (`Settings.least`), so the
        derivative is 0 there.
        """
        least = self.settings.least * self.typical
        # The derivative of loss / typical is 1 / typical, and the derivative
        # of its logarithm is 1 / loss.
        divisor = self.typical
        if self.logarithms:
            divisor = np.maximum(losses, least)
        slopes = self.reliability / divisor
        is_above = losses > least
        return np.where(is_above, slopes, 0)

    def _sound(self, values: NDArray) -> Booleans:
        """Return the mask of the fitted models that are sound, `(M,)`.

        `values`, `(M, K)`, are the values of units for all fitted models.
        """
        means = values.mean(axis=1)
        middle, width = middle_and_width(means)
        standardised = (means - middle) / width
        return np.abs(standardised) <= self.settings.sound

    def _deviations(self, values: NDArray) -> NDArray:
        """Turn values, `(M, K)`, into deviations in place, and return them.

        A value minus the mean value of its unit is a difference. A deviation
        is this difference minus the mean of the model's differences over
        units.
        """
        values -= self.centre
        values -= values.mean(axis=1, keepdims=True)
        return values

    def _groups(self, values: NDArray, sources: NDArray) -> NDArray:
        """Return the weight of each unit in the mean of each group, `(K, G)`.

        The weights of a group have the sum 1. Groups are the sources of the
        units if all sources are known, otherwise clusters of units whose
        deviations are alike.
        """
        n_units = values.shape[1]
        groups: list[NDArray] = []
        if (sources != '').all():
            names = np.unique(sources)
            # A single source has all units, whose mean is column 0 already.
            if len(names) > 1:
                groups = [sources == name for name in names]
        elif n_units > 2:
            # Two units have no group but that of both.
            groups = self._clusters(values)
        # `(G, K)`, also without any group.
        is_member = np.reshape(groups, (-1, n_units))
        sizes = is_member.sum(axis=1, keepdims=True)
        weights = is_member / sizes
        return weights.T

    def _clusters(self, values: NDArray) -> list[NDArray]:
        """Return the mask of the units, `(K,)`, of each cluster.

        These are all clusters that Ward's method forms, except the cluster of
        all units and clusters smaller than `Settings.cluster`. So large
        clusters contain smaller ones.
        """
        n_units = values.shape[1]
        # At most `CLUSTERED` units are clustered.
        n_clustered = min(n_units, CLUSTERED)
        evenly_spaced = np.linspace(0, n_units - 1, n_clustered)
        indices = evenly_spaced.round().astype(int)
        clustered = np.unique(indices)
        # Deviations of these units, each divided by its standard deviation
        # over models. `_deviations` would need a copy of the values of all
        # units, which may take much memory.
        of_all_units = values.mean(axis=1, keepdims=True)
        shift = of_all_units - self.centre.mean()
        deviations = values[:, clustered]
        deviations -= self.centre[clustered]
        deviations -= shift
        deviations /= deviations.std(axis=0) + TINY
        least_size = self.settings.cluster * len(clustered)
        found = []
        # The first cluster contains all units.
        _, *smaller = clusters(deviations.T)
        for members in smaller:
            if len(members) >= least_size:
                units = clustered[members]
                is_member = np.zeros(n_units, bool)
                is_member[units] = True
                found.append(is_member)
        return found


class AnswerStandardiser:
    """Standardise the losses of a benchmark's own answers.

    Losses, `(M, T)`, are in nats, on the T tokens of the answers. Their values
    are log(1 + loss / knee); see `Settings.knee`. The numbers that standardise
    values, such as their median and their width, are learned from `losses`,
    which are the losses of the sound fitted models. The attributes are as in
    `Standardiser`.
    """

    def __init__(self, losses: NDArray, knee: float) -> None:
        self.knee = knee
        values = self._values(losses)
        means = values.mean(axis=1)
        self.middle, self.width = middle_and_width(means)
        self.centre = values.mean(axis=0)
        deviations = self._deviations(values)
        self.size = _size(deviations)

    def standardise(self, losses: NDArray) -> tuple[NDArray, NDArray]:
        """Return the standardised means, `(M,)`, and deviations, `(M, T)`."""
        values = self._values(losses)
        means = values.mean(axis=1)
        means -= self.middle
        means /= self.width
        deviations = self._deviations(values)
        deviations /= self.size
        return means, deviations

    def _values(self, losses: NDArray) -> NDArray:
        """Return the values of tokens, `(M, T)`."""
        return np.log1p(losses / self.knee)

    def _deviations(self, values: NDArray) -> NDArray:
        """Return the deviations of values, `(M, T)`, as in `Standardiser`."""
        centred = values - self.centre
        of_models = centred.mean(axis=1, keepdims=True)
        return centred - of_models


def clusters(rows: NDArray) -> list[list[int]]:
    """Return the row indices of every cluster that Ward's method forms.

    Clusters of a single row are left out. The last cluster that is formed, of
    all rows, is the first in the list.
    """
    # Not at the top of the file: the import takes a tenth of a prediction's
    # time, and units with sources are not clustered.
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    # `linkage` numbers the single rows first, then the clusters that it forms,
    # in the order in which it forms them.
    n_rows = len(rows)
    members = [[row] for row in range(n_rows)]
    # Given rows, `linkage` computes the same distances, but warns if the rows
    # look like distances, as a square matrix of zeros does.
    joins = linkage(pdist(rows), 'ward').astype(int)
    for first, second, *_ in joins:
        joined = members[first] + members[second]
        members.append(joined)
    formed = members[n_rows:]
    return formed[::-1]


def _size(deviations: NDArray) -> float:
    """Return the root mean square length of the rows of deviations.

    A row has the deviations of one model. Divided by this size, the deviations
    of a typical model have length 1, whatever the number of units. So the
    amounts of `Settings` mean the same for every table.
    """
    total_square = np.einsum('mk,mk->', deviations, deviations)
    mean_square = total_square / len(deviations)
    size = np.sqrt(max(mean_square, TINY))
    return float(size)


def typical_losses(losses: NDArray) -> Floats:
    """Return the median of each unit's losses above 0, `(K,)`.

    `losses` are `(M, K)`, and are changed in place, as they may take much
    memory. The median is 1 if no loss of the unit is above 0.
    """
    above = losses > 0
    n_models = len(losses)
    n_above = above.sum(axis=0)
    # For each unit, its losses above 0 in ascending order come first.
    ordered = losses
    ordered[~above] = np.inf
    ordered.sort(axis=0)
    # The indices of the two losses in the middle, or twice the same index. An
    # index of -1, where no loss is above 0, gets the median 1 below.
    lower_indices = (n_above - 1) // 2
    upper_indices = n_above // 2
    upper_indices = np.minimum(upper_indices, n_models - 1)
    units = np.arange(len(n_above))
    lower = ordered[lower_indices, units]
    upper = ordered[upper_indices, units]
    medians = lower / 2 + upper / 2
    medians[n_above == 0] = 1
    return medians


def rounded(values: NDArray) -> Floats:
    """Return the values rounded to `DIGITS`, in row-major memory layout.

    The memory layout determines the order in which numpy sums the values, and
    so the last bits of the sums.
    """
    found = np.empty(values.shape)
    return values.round(DIGITS, out=found)


def middle_and_width(values: NDArray) -> tuple[NDArray, NDArray]:
    """Return the median and a robust width along the first axis.

    The width is the distance between the quartiles divided by 1.35, which
    would be the standard deviation if values were normal. If half of the
    standard deviation is larger, the width is this half, but at most 1.5 times
    the distance between the quartiles. This helps where the quartiles are too
    close to each other, with few models or with models in two clusters. If the
    quartiles are equal, the width is the standard deviation.
    """
    quartiles = np.quantile(values, [.25, .5, .75], axis=0)
    low, middle, high = quartiles
    between_quartiles = high - low
    normal = between_quartiles / 1.35
    deviation = values.std(axis=0)
    half_deviation = deviation / 2
    most = 1.5 * between_quartiles
    half_deviation = np.minimum(half_deviation, most)
    width = np.maximum(normal, half_deviation)
    width = np.where(between_quartiles > 0, width, deviation)
    return middle, width + TINY


def noise_of_units(values: NDArray, least: float) -> Floats:
    """Return the standard deviation of each unit about the trend, `(K,)`.

    `values`, `(M, K)`, are modelled as loading x factor + noise, with a
    loading for each unit and a factor for each model. The factor is the
    weighted sum of the model's values over units, with weights loading /
    noise^2. Factor, loadings and noise are refined in turns. To the square of
    each unit's noise, the square of `least` times the standard deviation of
    the unit's values is added. The values are changed in place, as they may
    take much memory.
    """
    n_models = len(values)
    centred = values
    centred -= values.mean(axis=0)
    squares = np.einsum('mk,mk->k', centred, centred)
    variance = squares / n_models
    # The small number avoids a division by 0.
    deviation = np.sqrt(variance) + 1e-9
    least_variance = (least * deviation)**2
    weights = 1 / deviation
    for _ in range(FACTOR_STEPS):
        factor = centred @ weights
        factor /= factor.std() + TINY
        loadings = centred.T @ factor
        loadings /= n_models
        # The part of the variance that the factor does not explain.
        noise_variance = variance - loadings**2
        noise_variance = np.maximum(noise_variance, 0)
        noise_variance += least_variance
        weights = loadings / noise_variance
    return np.sqrt(noise_variance)
