"""Predicted accuracies beside the real ones, and reasons for gaps."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.formatting import (ANY, interval, number, percent,
                                        predicted_cell, shortened)

#: Name of the real accuracy in `Predictions.missing`.
REAL = 'real'
#: Method of the predictions of a single predictor.
PREDICTED = 'predicted'

#: Model, benchmark, and method or `REAL`.
Cell = tuple[str, str, str]

#: Parts of `Predictions` with a value per cell, and the value of an empty one.
_CUBES: dict[str, Any] = {
    'values': np.nan, 'low': np.nan, 'high': np.nan, 'extrapolated': False,
    'in_sample': False, 'with_scores': False, 'disagrees': False,
    'at_chance': False, 'expected_error': np.nan
}  # yapf: disable
#: Parts with an entry for some of the cells.
_BY_CELL = ('missing', 'disagreements')
#: Marks behind a prediction, in their order, by part.
_MARKS = {'in_sample': '*', 'extrapolated': '>', 'disagrees': '!',
          'with_scores': '+', 'at_chance': '?'}  # yapf: disable

#: Most rows that `print` shows.
_PRINTED = 20


def check_labels(where: str, labels: Sequence[str]) -> None:
    """Raise an `InputError` if labels are not unique, or one is `REAL`."""
    if REAL in labels:
        raise InputError(where, 'labels of predictors', f'{REAL!r}, which is '
                         'what the real accuracies are called',
                         'Choose another label.')  # yapf: disable
    check_unique(where, labels)


@dataclass(frozen=True)
class Missing:
    """Reason for a missing value, one line."""
    reason: str


#: Why a predictor has no prediction on a benchmark.
UNKNOWN_BENCHMARK = Missing('the predictor was not fitted to the benchmark')


@dataclass(frozen=True)
class Disagreement:
    """Accuracy, a fraction, that a reference predictor predicts instead."""
    reference: str
    value: float


@dataclass(frozen=True)
class Prediction:
    """One predicted accuracy, a fraction in 0..1.

    `low` and `high` are the ends of its interval, fractions; `level` is the
    intended coverage, such as 0.9. It is `extrapolated` if the model lies so
    far from the training models that errors are expected to be more than half
    as large again, and `in_sample` if it is a training model of this
    benchmark. With `with_scores`, known scores of the model changed it. It
    `disagrees` if the mean loss or the label-token loss contradicts it more
    than is usual on held-out families. With `at_chance`, all training models
    are at chance: the benchmark is not predictable yet. `expected_error` is
    the root mean square error to expect, where known.
    """
    value: float
    low: float
    high: float
    level: float
    extrapolated: bool
    in_sample: bool
    with_scores: bool = False
    disagrees: bool = False
    at_chance: bool = False
    expected_error: Optional[float] = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Accuracies of M models on B benchmarks, predicted by P methods.

    All accuracies are fractions. An array of shape `()` stands for the same
    value in all cells. `values` are NaN without a prediction. They, the ends
    of the intervals (`low`, `high`) and the flags of `Prediction` are `(M, B,
    P)`. The main method is first, and none is called `REAL`. `real`, `(M, B)`,
    are observed accuracies, NaN where unknown. `level` is NaN if unknown.
    `missing` has reasons for missing values by model, benchmark and method (or
    `REAL`); some gaps have none. `chance` has accuracies at random guessing,
    by benchmark, where known. `disagreements` has contradicting predictions of
    reference predictors, by model, benchmark and method. Means leave out the
    benchmarks of `outside_means`.

    Raises:
        InputError: A name occurs twice, a shape does not fit, or an accuracy
            lies outside of 0..1.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    methods: tuple[str, ...]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extrapolated: NDArray[np.bool_]
    in_sample: NDArray[np.bool_]
    real: NDArray[np.float64]
    level: float
    missing: Mapping[Cell, Missing] = field(
        default_factory=lambda: MappingProxyType({}))
    chance: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({}))
    with_scores: NDArray[np.bool_] = field(
        default_factory=lambda: np.array(False))
    disagrees: NDArray[np.bool_] = field(
        default_factory=lambda: np.array(False))
    at_chance: NDArray[np.bool_] = field(
        default_factory=lambda: np.array(False))
    expected_error: NDArray[np.float64] = field(
        default_factory=lambda: np.array(np.nan))
    disagreements: Mapping[Cell, tuple[Disagreement, ...]] = field(
        default_factory=lambda: MappingProxyType({}))
    outside_means: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_unique('models of predictions', self.models)
        check_unique('benchmarks of predictions', self.benchmarks)
        check_labels('predictors', self.methods)
        shape = len(self.models), len(self.benchmarks), len(self.methods)
        shapes = {**dict.fromkeys(_CUBES, shape), REAL: shape[:2]}
        for part, expected in shapes.items():
            numbers = getattr(self, part)
            if np.ndim(numbers) == 0:
                numbers = np.full(expected, numbers)
                object.__setattr__(self, part, numbers)
            if numbers.shape != expected:
                raise InputError(
                    f'Predictions.{part}', f'shape {expected}',
                    str(numbers.shape),
                    'Give one value per model, benchmark and method.')
            outside = numbers[(numbers < 0) | (numbers > 1)]
            if outside.size:
                raise InputError(f'Predictions.{part}',
                                 'fractions in 0..1 or NaN', str(outside[0]),
                                 'Divide percentages by 100.')

    def __repr__(self) -> str:
        methods = shortened(', '.join(self.methods), 100)
        level = '' if np.isnan(self.level) else f'; {self.level:.0%} intervals'
        return (f'Predictions({len(self.models)} models x '
                f'{len(self.benchmarks)} benchmarks by {methods}{level})')

    def __str__(self) -> str:
        """A table of the first accuracies in percent, with intervals."""
        columns = [[self.cells(benchmark, method) for method in self.methods]
                   for benchmark in self.benchmarks]
        has_real = self.has_real()
        rows = []
        for (m, model), (b, benchmark) in product(
                enumerate(self.models), enumerate(self.benchmarks)):
            real = [number(percent(self.real[m, b]))] * has_real
            predicted = (cells[m] for cells in columns[b])
            rows.append([model, benchmark, *real, *predicted])
        header = ['model', 'benchmark', *[REAL] * has_real, *self.methods]
        table = tabulate(rows[:_PRINTED], header, disable_numparse=True)
        more = len(rows) - _PRINTED
        return f'{table}\n... and {more} more' if more > 0 else table

    @classmethod
    def side_by_side(
        cls,
        by_method: Mapping[str, Optional['Predictions']],
        models: Sequence[str],
        benchmarks: Sequence[str],
        missing: Mapping[Cell, Missing] = MappingProxyType({})
    ) -> 'Predictions':
        """Join predictions of several predictors, without real accuracies.

        Predictions are of one method each, at one level, by its new name; None
        if it has none at all. The first method that predicts a benchmark
        decides whether means are over it. Benchmarks unknown to a method get a
        reason without one in `missing`.
        """
        shape = len(models), len(benchmarks), len(by_method)
        parts: dict[str, Any] = {part: {} for part in _BY_CELL}
        for part, empty in _CUBES.items():
            parts[part] = np.full(shape, empty)
        level, chance, outside = np.nan, dict[str, float](), dict[str, bool]()
        for p, (method, table) in enumerate(by_method.items()):
            if table is None:
                continue
            level, chance = table.level, {**table.chance, **chance}
            for name in table.benchmarks:
                outside.setdefault(name, name not in table.main)
            parts['missing'].update({
                (model, benchmark, method):
                UNKNOWN_BENCHMARK
                for benchmark in benchmarks
                if benchmark not in table.benchmarks for model in models
            })
            placed = table._arranged(
                _same(models), _same(benchmarks), {method: table.methods[0]})
            for part in _CUBES:
                parts[part][:, :, p] = getattr(placed, part)[:, :, 0]
            for part in _BY_CELL:
                parts[part].update(getattr(placed, part))
        parts['missing'].update(missing)
        return cls(
            tuple(models),
            tuple(benchmarks),
            tuple(by_method),
            real=np.array(np.nan),
            level=level,
            chance=chance,
            outside_means=tuple(name for name in outside if outside[name]),
            **parts)

    @classmethod
    def concatenate(cls, tables: Sequence['Predictions']) -> 'Predictions':
        """Join the models of tables with equal other names and level."""
        parts: dict[str, Any] = {
            part: np.concatenate([getattr(table, part) for table in tables])
            for part in (*_CUBES, REAL)
        }
        for part in _BY_CELL:
            parts[part] = {
                cell: value
                for table in tables
                for cell, value in getattr(table, part).items()
            }
        models = tuple(model for table in tables for model in table.models)
        return replace(tables[0], models=models, **parts)

    def _arranged(self, *axes: Mapping[str, str]) -> 'Predictions':
        """The same cells in other places, under other names, else empty.

        For models, benchmarks and methods, axes map each new name to the old
        one.
        """
        own = self.models, self.benchmarks, self.methods
        found = [_places(axis, names) for axis, names in zip(axes, own)]
        to = [list(places) for places in found]
        source = [list(places.values()) for places in found]
        shape = tuple(map(len, axes))
        parts: dict[str, Any] = {REAL: np.full(shape[:2], np.nan)}
        parts[REAL][np.ix_(*to[:2])] = self.real[np.ix_(*source[:2])]
        for part, empty in _CUBES.items():
            parts[part] = np.full(shape, empty)
            parts[part][np.ix_(*to)] = getattr(self, part)[np.ix_(*source)]
        models, benchmarks, methods = axes
        cells = dict(
            zip(
                product(models, benchmarks, [*methods, REAL]),
                product(models.values(), benchmarks.values(),
                        [*methods.values(), REAL])))
        for part in _BY_CELL:
            values = getattr(self, part)
            parts[part] = {
                cell: values[earlier]
                for cell, earlier in cells.items() if earlier in values
            }
        return replace(
            self,
            models=tuple(models),
            benchmarks=tuple(benchmarks),
            methods=tuple(methods),
            **parts)

    def of_models(self, names: Mapping[str, str]) -> 'Predictions':
        """Return some of the models, under other names.

        Args:
            names (Mapping[str, str]): Name in this table by the new name.

        Raises:
            InputError: A model is missing from the table.
        """
        for name in names.values():
            self._place('models', name)
        return self._arranged(names, _same(self.benchmarks),
                              _same(self.methods))

    def with_real(self, accuracies: AccuracyTable) -> 'Predictions':
        """Return the same predictions with observed accuracies.

        An `InputError` if a model or a benchmark is missing from them.
        """
        table = accuracies.select(self.models, self.benchmarks)
        return replace(self, real=table.values)

    def select(self,
               models: Optional[Sequence[str]] = None,
               benchmarks: Optional[Sequence[str]] = None,
               methods: Optional[Sequence[str]] = None) -> 'Predictions':
        """Return the given models, benchmarks and methods, in this order.

        All names of an axis by default. An `InputError` for unknown names.
        """
        axes = []
        for axis, names in (('models', models), ('benchmarks', benchmarks),
                            ('methods', methods)):
            chosen = getattr(self, axis) if names is None else names
            check_unique(axis, chosen)
            for name in chosen:
                self._place(axis, name)
            axes.append(_same(chosen))
        return self._arranged(*axes)

    def restricted(self, benchmarks: Sequence[str],
                   reason: Missing) -> 'Predictions':
        """Return predictions on some of the benchmarks alone.

        The others stay, without predictions, with the reason.
        """
        kept = [name for name in self.benchmarks if name in benchmarks]
        dropped = [name for name in self.benchmarks if name not in benchmarks]
        table = self.select(benchmarks=kept)._arranged(
            *map(_same, (self.models, self.benchmarks, self.methods)))
        cells = product(self.models, dropped, self.methods)
        return replace(
            table,
            real=self.real,
            missing={
                **self.missing,
                **dict.fromkeys(cells, reason)
            })

    def at(self,
           model: str,
           benchmark: str,
           method: Optional[str] = None) -> Union[Prediction, Missing]:
        """Return one prediction, or the reason for its absence.

        The method is the first by default. An `InputError` for unknown names.
        """
        method = self.methods[0] if method is None else method
        place = (self._place('models',
                             model), self._place('benchmarks', benchmark),
                 self._place('methods', method))
        if np.isnan(self.values[place]):
            return self.missing.get((model, benchmark, method),
                                    Missing('no prediction'))
        parts = {part: getattr(self, part)[place].item() for part in _CUBES}
        if np.isnan(parts['expected_error']):
            parts['expected_error'] = None
        return Prediction(parts.pop('values'), level=self.level, **parts)

    def cells(self, benchmark: str, method: Optional[str] = None) -> list[str]:
        """Return predictions of all models as texts, explained by `legend`.

        Percent, interval and marks, or '-' without a prediction. The method is
        the first by default.
        """
        b = self._place('benchmarks', benchmark)
        p = 0 if method is None else self._place('methods', method)
        chance = self.chance.get(benchmark, 0.0)
        marks = [''.join(mark for part, mark in _MARKS.items()
                         if getattr(self, part)[m, b, p])
                 for m in range(len(self.models))]  # yapf: disable
        ends = (part[:, b, p] for part in (self.values, self.low, self.high))
        return [
            predicted_cell(value, low, high, chance, mark)
            for value, low, high, mark in zip(*ends, marks)
        ]

    def uninformative(self, method: str) -> NDArray[np.bool_]:
        """Return True for cells with the interval `ANY`, `(M, B)`."""
        p = self._place('methods', method)
        chance = [self.chance.get(name, 0.0) for name in self.benchmarks]
        return np.array([[interval(*ends) == ANY for ends in zip(*row, chance)]
                         for row in zip(self.low[:, :, p], self.high[:, :, p])
                         ])  # yapf: disable

    def legend(self) -> list[str]:
        """Return the meaning of the cells and their marks, one line each."""
        share = '' if np.isnan(self.level) else f'{self.level:.0%} '
        lines = [
            f'Percent ({share}interval); ({ANY}): all from guessing or below '
            'to 100; * a training model; > far from the training models: '
            'errors are expected to be more than half as large again.'
        ]
        if self.disagrees.any():
            lines.append('! the mean loss or the label-token loss contradicts '
                         'the learned score more than is usual on held-out '
                         'families; the interval contains both.')
        if self.with_scores.any():
            lines.append('+ made from the losses and the known scores of the '
                         'model on other benchmarks.')
        if self.at_chance.any():
            lines.append('? not predictable yet, as all training models are '
                         'at chance: the interval reaches to where the '
                         'steepest of the other benchmarks would be.')
        return lines

    @property
    def main(self) -> tuple[str, ...]:
        """Benchmarks that means are over."""
        return tuple(name for name in self.benchmarks
                     if name not in self.outside_means)

    def has_real(self) -> bool:
        """Return True if there is an observed accuracy."""
        return bool(np.isfinite(self.real).any())

    def difference(self, method: str) -> NDArray[np.float64]:
        """Return predicted minus real accuracies, `(M, B)`; NaN if missing."""
        return self.values[:, :, self._place('methods', method)] - self.real

    def held_out(self, method: str) -> NDArray[np.bool_]:
        """Return the mask of held-out accuracies with predictions, `(M, B)`.
        """
        in_sample = self.in_sample[:, :, self._place('methods', method)]
        return ~np.isnan(self.difference(method)) & ~in_sample

    def mean_difference(self, method: str) -> NDArray[np.float64]:
        """Return mean absolute differences on held-out models, `(B,)`.

        NaN where there is none.
        """
        sizes = np.abs(self.difference(method))
        held_out = self.held_out(method)
        totals = np.where(held_out, sizes, 0).sum(axis=0)
        return np.divide(
            totals,
            held_out.sum(axis=0),
            out=np.full(len(totals), np.nan),
            where=held_out.any(axis=0))

    def covered(self, method: str) -> NDArray[np.bool_]:
        """Return True for held-out cells inside their intervals, `(M, B)`."""
        p = self._place('methods', method)
        inside = (self.low[:, :, p] <= self.real) & (
            self.real <= self.high[:, :, p])
        return inside & self.held_out(method)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every model, benchmark and method, in this order.

        They have `model`, `benchmark`, `method`, `real`, `predicted`, `low`,
        `high` (fractions); `extrapolated`, `in_sample`, `with_scores`,
        `disagrees`, `at_chance`, `expected_error` (None without a prediction);
        `missing`, the reasons.
        """
        cells = product(
            enumerate(self.models), enumerate(self.benchmarks), self.methods)
        for (m, model), (b, benchmark), method in cells:
            real = self.real[m, b].item()
            parts = dict.fromkeys(['value', *_CUBES])
            cell = self.at(model, benchmark, method)
            if isinstance(cell, Prediction):
                parts |= vars(cell)
            reasons = [
                self.missing[model, benchmark, column].reason
                for column in (REAL, method)
                if (model, benchmark, column) in self.missing
            ]
            yield {
                'model': model,
                'benchmark': benchmark,
                'method': method,
                REAL: None if np.isnan(real) else real,
                'predicted': parts['value'],
                **{
                    part: parts[part]
                    for part in _CUBES if part != 'values'
                },
                'missing': '; '.join(reasons),
            }

    def to_dict(self) -> dict[str, Any]:
        """Return the level and all records as plain values for JSON."""
        return {
            'level': None if np.isnan(self.level) else self.level,
            'predictions': list(self.records())
        }

    def to_frame(self) -> Any:
        """Return a pandas table of the records; pandas must be installed."""
        import pandas
        return pandas.DataFrame(list(self.records()))

    def _place(self, axis: str, name: str) -> int:
        names: tuple[str, ...] = getattr(self, axis)
        if name not in names:
            raise InputError('predictions', f'one of the {axis} '
                             f'{shortened(", ".join(names), 200)}', repr(name),
                             'Correct the name.')  # yapf: disable
        return names.index(name)


def _same(names: Sequence[str]) -> dict[str, str]:
    return dict(zip(names, names))


def _places(axis: Mapping[str, str], names: Sequence[str]) -> dict[int, int]:
    """Places in `names` by place on the axis, of the names in both."""
    place = {name: i for i, name in enumerate(names)}
    return {
        i: place[name]
        for i, name in enumerate(axis.values()) if name in place
    }
