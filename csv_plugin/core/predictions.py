"""Predicted accuracies beside observed ones, and reasons for gaps."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csv_plugin.core.accuracies import AccuracyTable, places, position
from csv_plugin.core.conventions import InputError, PublicNames, check_unique
from csv_plugin.core.curve import item_variance
from csv_plugin.core.formatting import (ANY, interval, number, percent,
                                        predicted_cell, shortened)

#: Name of the observed accuracy in `Predictions.missing`.
OBSERVED = 'observed'
#: Method of the predictions of a single predictor.
PREDICTED = 'predicted'

#: Model, benchmark, and method or `OBSERVED`.
Cell = tuple[str, str, str]
#: Names of one axis, or earlier names by new ones.
Names = Union[Sequence[str], Mapping[str, str]]

#: Parts of `Predictions` with a value per cell, and the value of an empty one.
_CUBES: dict[str, Any] = {
    'values': np.nan, 'low': np.nan, 'high': np.nan, 'extrapolated': False,
    'in_sample': False, 'with_scores': False,
    'at_chance': False, 'expected_error': np.nan, 'more_noise': 0.0
}  # yapf: disable
#: Marks behind a prediction, in their order, by part.
MARKS = {'in_sample': '*', 'extrapolated': '>',
         'with_scores': '+', 'at_chance': '?'}  # yapf: disable

#: What a user may conclude where all training models are at chance.
NOT_YET = ('not predictable yet, because all training models are at chance. '
           'Whether another model is better than chance cannot be told from '
           'its losses.')

#: Fields of `Predictions` with the names on its three axes.
_AXES = 'models', 'benchmarks', 'methods'

_NAN = np.array(np.nan)


def check_labels(where: str, labels: Sequence[str]) -> None:
    """Raise an `InputError` if labels are not unique, or one is `OBSERVED`."""
    if OBSERVED in labels:
        raise InputError(where, 'labels of predictors', repr(OBSERVED),
                         'Choose another: observed accuracies are called so.')
    check_unique(where, labels)


@dataclass(frozen=True)
class Missing:
    """Reason for a missing value, one line."""
    reason: str


#: Why a predictor has no prediction on a benchmark.
UNKNOWN_BENCHMARK = Missing('the predictor was not fitted to the benchmark')


@dataclass(frozen=True)
class Prediction:
    """One predicted accuracy, a fraction in 0..1.

    `low` and `high` are the ends of its interval, fractions; `level` is the
    intended coverage, such as 0.9. It is `extrapolated` if the model lies so
    far from the training models that errors of at least 1.5 times the usual
    ones are expected, and `in_sample` if it is a training model of this
    benchmark, or its own accuracy is known to the prediction. With
    `with_scores`, known accuracies of the model on other benchmarks, or of
    models of its family, changed it. With `at_chance`, all
    training models are at chance: the benchmark is not predictable yet.
    `expected_error` is the expected standard deviation, where known.
    """
    value: float
    low: float
    high: float
    level: float
    extrapolated: bool
    in_sample: bool
    with_scores: bool = False
    at_chance: bool = False
    expected_error: Optional[float] = None


def _everywhere(value: Any) -> Any:
    """A part of `Predictions` that has this value in all cells by default."""
    return field(default_factory=lambda: np.array(value))


@dataclass(frozen=True, eq=False)
class Predictions(PublicNames):
    """Accuracies of M models on B benchmarks, predicted by P methods.

    All accuracies are fractions. An array of shape `()` stands for the same
    value in all cells. `values` are NaN without a prediction. They, the ends
    of the intervals (`low`, `high`) and the flags of `Prediction` are `(M, B,
    P)`. The main method is first, and none is called `OBSERVED`. `observed`,
    `(M, B)`, are observed accuracies, NaN where unknown. `level` is NaN if
    unknown.
    `more_noise`, `(M, B, P)`, is extra variance of the observed accuracy, over
    p (1 - p), where fewer items were run than the interval assumes; see
    `judged`.
    `missing` has reasons for missing values by model, benchmark and method (or
    `OBSERVED`); some gaps have none. `chance` has accuracies at random
    guessing, by benchmark, where known. Means leave out the benchmarks of
    `outside_means`.

    Raises:
        InputError: A name occurs twice.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    methods: tuple[str, ...]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extrapolated: NDArray[np.bool_]
    in_sample: NDArray[np.bool_]
    observed: NDArray[np.float64]
    level: float
    missing: Mapping[Cell, Missing] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    with_scores: NDArray[np.bool_] = _everywhere(False)
    at_chance: NDArray[np.bool_] = _everywhere(False)
    expected_error: NDArray[np.float64] = _everywhere(np.nan)
    more_noise: NDArray[np.float64] = _everywhere(0.0)
    outside_means: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_unique('models of predictions', self.models)
        check_unique('benchmarks of predictions', self.benchmarks)
        check_labels('predictors', self.methods)
        shape = len(self.models), len(self.benchmarks), len(self.methods)
        for part in (*_CUBES, OBSERVED):
            full = np.full(shape[:2] if part == OBSERVED else shape,
                           getattr(self, part))
            object.__setattr__(self, part, full)

    def __repr__(self) -> str:
        methods = shortened(', '.join(self.methods), 100)
        level = '' if np.isnan(self.level) else f'; {self.level:.0%} intervals'
        return (f'Predictions({len(self.models)} models x '
                f'{len(self.benchmarks)} benchmarks by {methods}{level})')

    def __str__(self) -> str:
        """A table of the first accuracies in percent, with intervals."""
        from tabulate import tabulate
        with_observed = self.has_observed()
        header = ['model', 'benchmark', *self.methods]
        if with_observed:
            header.insert(2, OBSERVED)
        # Most rows that `print` shows.
        n_printed = 20
        rows = []
        for m, b in islice(np.ndindex(self.observed.shape), n_printed):
            benchmark = self.benchmarks[b]
            row = [self.models[m], benchmark]
            if with_observed:
                row.append(number(percent(self.observed[m, b])))
            for method in self.methods:
                row.append(self.cells(benchmark, method)[m])
            rows.append(row)
        table = tabulate(rows, header, disable_numparse=True)
        more = self.observed.size - len(rows)
        return f'{table}\n... and {more} more' if more else table

    @classmethod
    def side_by_side(
        cls,
        by_method: Mapping[str, Optional['Predictions']],
        models: Sequence[str],
        benchmarks: Sequence[str],
        missing: Mapping[Cell, Missing] = MappingProxyType({})
    ) -> 'Predictions':
        """Join predictions of several predictors, without observed accuracies.

        Predictions are of one method each, at one level, by its new name; None
        if it has none at all. Benchmarks unknown to a method get a reason
        without one in `missing`.
        """
        nothing = cls((), (), (PREDICTED, ),
                      **_CUBES,
                      observed=_NAN,
                      level=np.nan)
        placed = []
        reasons: dict[Cell, Missing] = {}
        level = np.nan
        for method, table in by_method.items():
            if table is None:
                table = nothing
            else:
                level = table.level
                unknown = [b for b in benchmarks if b not in table.benchmarks]
                cells = product(models, unknown, [method])
                reasons |= dict.fromkeys(cells, UNKNOWN_BENCHMARK)
            own = {method: table.methods[0]}
            placed.append(table._arranged(models, benchmarks, own))
        found = _joined(placed, 2, methods=tuple(by_method), observed=_NAN)
        return replace(
            found,
            level=level,
            missing=dict(found.missing) | reasons | dict(missing))

    @classmethod
    def concatenate(cls, tables: Sequence['Predictions']) -> 'Predictions':
        """Join the models of tables with equal other names and level."""
        models: list[str] = []
        observed = []
        for table in tables:
            models += table.models
            observed.append(table.observed)
        return _joined(
            tables, 0, models=tuple(models), observed=np.concatenate(observed))

    def _arranged(self, *axes: Names) -> 'Predictions':
        """The same cells in other places, under other names, else empty.

        For models, benchmarks and methods, axes are names, or map each new
        name to the old one.
        """
        parts: dict[str, Any] = {}
        old_names: list[dict[str, str]] = []
        index = []
        for name, axis in zip(_AXES, axes):
            if not isinstance(axis, Mapping):
                axis = dict(zip(axis, axis))
            parts[name] = tuple(axis)
            old_names.append(dict(axis))
            index.append(places(axis.values(), getattr(self, name)))
        for part, empty in {**_CUBES, OBSERVED: np.nan}.items():
            cube = getattr(self, part)
            # Names that this table does not have are at the place -1.
            padded = np.pad(cube, [(0, 1)] * cube.ndim, constant_values=empty)
            parts[part] = padded[np.ix_(*index[:cube.ndim])]
        of_models, of_benchmarks, of_methods = old_names
        of_methods[OBSERVED] = OBSERVED
        missing: dict[Cell, Missing] = {}
        for cell in product(of_models, of_benchmarks, of_methods):
            model, benchmark, method = cell
            old = (of_models[model], of_benchmarks[benchmark],
                   of_methods[method])
            if old in self.missing:
                missing[cell] = self.missing[old]
        return replace(self, missing=missing, **parts)

    def with_observed(self, accuracies: AccuracyTable) -> 'Predictions':
        """Return the same predictions with observed accuracies of all."""
        table = accuracies.select(self.models, self.benchmarks)
        return replace(self, observed=table.values)

    def select(self,
               models: Optional[Names] = None,
               benchmarks: Optional[Sequence[str]] = None,
               methods: Optional[Sequence[str]] = None) -> 'Predictions':
        """Return the given models, benchmarks and methods, in this order.

        All names of an axis by default. Models may be a mapping from new names
        to those in this table. An `InputError` for unknown names.
        """
        axes = []
        for axis, names in zip(_AXES, (models, benchmarks, methods)):
            if names is None:
                names = getattr(self, axis)
            own = [*names.values()] if isinstance(names, Mapping) else names
            check_unique(axis, own)
            unknown = set(own) - set(getattr(self, axis))
            for name in sorted(unknown):
                # Raises an error that names it.
                self._place(axis, name)
            axes.append(names)
        return self._arranged(*axes)

    def at(self,
           model: str,
           benchmark: str,
           method: Optional[str] = None) -> Union[Prediction, Missing]:
        """Return one prediction, or the reason for its absence.

        The method is the first by default. An `InputError` for unknown names.
        """
        method = self.methods[0] if method is None else method
        place = (self._place('models', model),
                 self._place('benchmarks', benchmark),
                 self._place('methods', method))  # yapf: disable
        return self._cell(place) or self.missing.get(
            (model, benchmark, method), Missing('no prediction'))

    def _cell(self, place: tuple[int, ...]) -> Optional[Prediction]:
        parts: dict[str, Any] = {}
        for part in _CUBES:
            parts[part] = getattr(self, part)[place].item()
        value = parts.pop('values')
        if np.isnan(value):
            return None
        del parts['more_noise']
        if np.isnan(parts['expected_error']):
            parts['expected_error'] = None
        return Prediction(value, level=self.level, **parts)

    def cells(self, benchmark: str, method: Optional[str] = None) -> list[str]:
        """Return predictions of all models as texts, explained by `legend`.

        Percent, interval and marks, or '-' without a prediction. The method is
        the first by default.
        """
        b = self._place('benchmarks', benchmark)
        p = 0 if method is None else self._place('methods', method)
        chance = self.chance.get(benchmark, 0.0)
        found = []
        for m, marks in enumerate(self.marks(benchmark, method)):
            cell = predicted_cell(self.values[m, b, p], self.low[m, b, p],
                                  self.high[m, b, p], chance, marks)
            found.append(cell)
        return found

    def marks(self, benchmark: str, method: Optional[str] = None) -> list[str]:
        """Return the marks of all models, such as '*' or '>+'.

        The method is the first by default.
        """
        b = self._place('benchmarks', benchmark)
        p = 0 if method is None else self._place('methods', method)
        found = [''] * len(self.models)
        for part, mark in MARKS.items():
            for m in np.flatnonzero(getattr(self, part)[:, b, p]):
                found[m] += mark
        return found

    @property
    def not_yet(self) -> tuple[str, ...]:
        """Benchmarks that are not predictable yet by the first method."""
        at_chance = self.at_chance[:, :, :1].any(axis=(0, 2))
        return tuple(self.benchmarks[b] for b in np.flatnonzero(at_chance))

    def uninformative(self, method: str) -> NDArray[np.bool_]:
        """Return True for cells with the interval `ANY`, `(M, B)`."""
        p = self._place('methods', method)
        chance = [self.chance.get(name, 0.0) for name in self.benchmarks]
        any_of = np.vectorize(lambda *ends: interval(*ends) == ANY, [bool])
        return any_of(self.low[:, :, p], self.high[:, :, p], chance)

    def legend(self) -> list[str]:
        """Return the meaning of the cells and their marks, one line each."""
        share = '' if np.isnan(self.level) else f'{self.level:.0%} '
        lines = [
            f'Percent ({share}interval); ({ANY}): all from guessing or below '
            'to 100; * a training model; > far from the training models: '
            'expect 1.5 times the errors of families left out, or more.'
        ]
        if self.with_scores.any():
            lines.append('+ made from losses and from known accuracies, of '
                         'the model on other benchmarks or of models of its '
                         'family; * may mean that its own accuracy is known.')
        if self.at_chance.any():
            lines.append(f'? {NOT_YET}')
        return lines

    @property
    def main(self) -> tuple[str, ...]:
        """Benchmarks that means are over."""
        return tuple(name for name in self.benchmarks
                     if name not in self.outside_means)

    def has_observed(self) -> bool:
        """Return True if there is an observed accuracy."""
        return bool(np.isfinite(self.observed).any())

    def difference(self, method: str) -> NDArray[np.float64]:
        """Return predicted minus observed accuracies, `(M, B)`, or NaN."""
        return self.values[:, :,
                           self._place('methods', method)] - self.observed

    def held_out(self, method: str) -> NDArray[np.bool_]:
        """Return True for predictions that are held out, `(M, B)`."""
        in_sample = self.in_sample[:, :, self._place('methods', method)]
        return ~np.isnan(self.difference(method)) & ~in_sample

    def mean_difference(self, method: str) -> NDArray[np.float64]:
        """Return mean absolute differences on held-out models, `(B,)`."""
        held_out = self.held_out(method)
        sizes = np.where(held_out, np.abs(self.difference(method)), 0)
        n_models = held_out.sum(axis=0)
        return sizes.sum(axis=0) / np.where(n_models, n_models, np.nan)

    def judged(self, method: str) -> tuple[NDArray, NDArray]:
        """Return intervals, widened by `more_noise`, as ends `(M, B)` each.

        Observed accuracies are judged by these.
        """
        p = self._place('methods', method)
        values = self.values[:, :, p]
        low, high = self.low[:, :, p], self.high[:, :, p]
        quantile = ndtri((1 + self.level) / 2)
        variance = self.more_noise[:, :, p] * item_variance(values)
        noise = quantile * np.sqrt(variance)
        wide_low = np.maximum(values - np.hypot(values - low, noise), 0)
        wide_high = np.minimum(values + np.hypot(high - values, noise), 1)
        # Where all items were run, the ends stay as they are.
        fewer = noise > 0
        return np.where(fewer, wide_low, low), np.where(fewer, wide_high, high)

    def covered(self, method: str) -> NDArray[np.bool_]:
        """Return True for held-out cells that `judged` covers, `(M, B)`."""
        low, high = self.judged(method)
        return (low <= self.observed) & (self.observed
                                         <= high) & self.held_out(method)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every model, benchmark and method, in this order.

        They have `model`, `benchmark`, `method`, `observed`, `predicted`, the
        other parts of a `Prediction` but its level (None without one), and
        `missing`, the reasons.
        """
        names = product(self.models, self.benchmarks, self.methods)
        # The value is `predicted`, and `more_noise` is for judging alone.
        parts_shown = [*_CUBES]
        parts_shown.remove('values')
        parts_shown.remove('more_noise')
        nothing = dict.fromkeys(['value', *parts_shown])
        for place, cell in zip(np.ndindex(self.values.shape), names):
            model, benchmark, method = cell
            observed = self.observed[place[:2]].item()
            found = self._cell(place)
            parts = vars(found) if found else nothing
            record: dict[str, Any] = dict(
                model=model, benchmark=benchmark, method=method)
            record[OBSERVED] = None if np.isnan(observed) else observed
            record['predicted'] = parts['value']
            for part in parts_shown:
                record[part] = parts[part]
            reasons = []
            for column in (OBSERVED, method):
                if missing := self.missing.get((model, benchmark, column)):
                    reasons.append(missing.reason)
            record['missing'] = '; '.join(reasons)
            yield record

    def to_dict(self) -> dict[str, Any]:
        """Return the level and all records as plain values for JSON."""
        level = None if np.isnan(self.level) else self.level
        return {'level': level, 'predictions': list(self.records())}

    def to_frame(self) -> Any:
        """Return a pandas table of the records, accuracies and ends first.

        pandas must be installed.
        """
        import pandas
        table = pandas.DataFrame(list(self.records()))
        first = ['model', 'benchmark', 'predicted', 'low', 'high']
        return table[first + [name for name in table if name not in first]]

    def _place(self, axis: str, name: str) -> int:
        return position(axis, name, getattr(self, axis))


def _joined(tables: Sequence[Predictions], axis: int,
            **names: Any) -> Predictions:
    """Tables joined along an axis; other parts are given, or the first's."""
    cubes = {}
    for part in _CUBES:
        arrays = [getattr(table, part) for table in tables]
        cubes[part] = np.concatenate(arrays, axis)
    missing: dict[Cell, Missing] = {}
    chance: dict[str, float] = {}
    # Of several entries for one key, that of the first table counts.
    for table in reversed(tables):
        missing |= table.missing
        chance |= table.chance
    outside_means: dict[str, None] = {}
    for table in tables:
        outside_means |= dict.fromkeys(table.outside_means)
    return replace(
        tables[0],
        missing=missing,
        chance=chance,
        outside_means=tuple(outside_means),
        **cubes,
        **names)


@dataclass(frozen=True)
class Miss:
    """An observed accuracy outside the interval of its prediction.

    Accuracies are fractions. `distance` is observed minus predicted, in halves
    of the interval on that side; infinite if that half has no width.
    """
    model: str
    benchmark: str
    observed: float
    predicted: float
    low: float
    high: float
    distance: float


def misses(predictions: Predictions) -> list[Miss]:
    """Return observed accuracies outside of intervals, the farthest first.

    The intervals are those of `Predictions.judged`. Predictions are those of
    the first method; training models are left out.
    """
    method = predictions.methods[0]
    table = predictions.select(methods=[method])
    values = table.values[:, :, 0]
    low, high = table.judged(method)
    gap = table.observed - values
    half = np.where(gap > 0, high - values, values - low)
    with np.errstate(divide='ignore', invalid='ignore'):
        # Without a difference and a width, it is no number.
        distance = gap / half
    outside = table.held_out(method) & (np.abs(distance) > 1)
    # (M, B, 5), in the order of the numbers of a `Miss`.
    numbers = np.stack([table.observed, values, low, high, distance], axis=2)
    found = []
    for m, b in np.argwhere(outside):
        cell = numbers[m, b].tolist()
        found.append(Miss(table.models[m], table.benchmarks[b], *cell))
    return sorted(found, key=lambda miss: -abs(miss.distance))
