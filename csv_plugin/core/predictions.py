"""Predicted accuracies beside the real ones, and reasons for gaps."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.cells import (ALARM, MARKS, WITH_SCORES, explain_marks,
                                   predicted_cell)
from csv_plugin.core.conventions import (InputError, check_list, check_unique,
                                         shortened)

#: What `Predictions.missing` calls the real accuracy; no method has the name.
REAL = 'real'
#: What the predictions of a single predictor are called.
PREDICTED = 'predicted'

#: Model, benchmark, and method or `REAL`.
Cell = tuple[str, str, str]

#: Kinds of the parts of `Predictions`: with a value per cell, and what it is
#: where nothing is predicted; and with an entry for some of the cells.
_NUMBER: dict[str, Any] = {'empty': np.nan}
_MARK: dict[str, Any] = {'empty': False}
_BY_CELL: dict[str, Any] = {'by_cell': True}


def check_labels(where: str, labels: Sequence[str]) -> None:
    """Refuse labels of predictors that are not unique, or are `REAL`.

    Args:
        where (str): What to call the labels in an error.
        labels (Sequence[str]): The labels.

    Raises:
        InputError: A label occurs twice or is `REAL`.
    """
    if REAL in labels:
        raise InputError(where, 'labels of predictors', f'{REAL!r}, which is '
                         'what the real accuracies are called',
                         'Choose another label.')  # yapf: disable
    check_unique(where, labels)


@dataclass(frozen=True)
class Missing:
    """Stands where a value should be, and says why there is none.

    Args:
        reason (str): One line, for the user.
    """
    reason: str


#: Why a predictor says nothing about a benchmark.
UNKNOWN_BENCHMARK = Missing('the predictor does not know the benchmark')


@dataclass(frozen=True)
class Contradiction:
    """What another measure of the same losses predicts instead.

    Args:
        witness (str): The measure, such as 'mean loss'.
        value (float): The accuracy that it predicts, a fraction.
    """
    witness: str
    value: float


@dataclass(frozen=True)
class Prediction:
    """One predicted accuracy.

    Args:
        value (float): A fraction in 0..1.
        low (float): Lower end of the interval, a fraction.
        high (float): Upper end, a fraction.
        level (float): Share of such intervals that should hold the
            observed accuracy.
        extrapolated (bool): Whether the capability score lies outside
            those fitted on.
        in_sample (bool): Whether the model's observed accuracy was fitted
            on, so that the prediction proves nothing.
        with_scores (bool): Whether it was made from losses and known scores
            of the model, and not from losses alone.
        alarm (bool): Whether the mean loss or the label-token loss
            contradicts it more than is usual on held-out families.
    """
    value: float
    low: float
    high: float
    level: float
    extrapolated: bool
    in_sample: bool
    with_scores: bool = False
    alarm: bool = False


@dataclass(frozen=True, eq=False)
class Predictions:
    """Accuracies of M models on B benchmarks as P methods predict them.

    All accuracies are fractions.

    Args:
        models (tuple[str, ...]): M names, unique.
        benchmarks (tuple[str, ...]): B names, unique.
        methods (tuple[str, ...]): P names of what predicts, unique and not
            `REAL`; the main one first.
        values (NDArray): NaN where a method says nothing. `(M, B, P)`.
        low (NDArray): Lower ends of the intervals, `(M, B, P)`.
        high (NDArray): Upper ends of the intervals, `(M, B, P)`.
        extrapolated (NDArray): See `Prediction`; bool, `(M, B, P)`.
        in_sample (NDArray): See `Prediction`; bool, `(M, B, P)`.
        real (NDArray): Observed accuracies, NaN where not known, `(M, B)`.
        level (float): Level of the intervals; NaN where it is not known.
        missing (Mapping): By model, benchmark and method (or `REAL`), why
            there is no value; not every gap needs to have a reason.
        chance (Mapping[str, float]): Accuracy at random guessing, by
            benchmark; benchmarks may be absent.
        with_scores (NDArray): See `Prediction`; bool, `(M, B, P)`.
        alarm (NDArray): See `Prediction`; bool, `(M, B, P)`.
        contradictions (Mapping): By model, benchmark and method, what
            contradicts a prediction; not every alarm needs to have it.

    An array of shape `()` stands for the same value in all cells.

    Raises:
        InputError: A name occurs twice, a shape does not fit, or an accuracy
            lies outside of 0..1.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    methods: tuple[str, ...]
    values: NDArray[np.float64] = field(metadata=_NUMBER)
    low: NDArray[np.float64] = field(metadata=_NUMBER)
    high: NDArray[np.float64] = field(metadata=_NUMBER)
    extrapolated: NDArray[np.bool_] = field(metadata=_MARK)
    in_sample: NDArray[np.bool_] = field(metadata=_MARK)
    real: NDArray[np.float64]
    level: float
    missing: Mapping[Cell, Missing] = field(
        default_factory=lambda: MappingProxyType({}), metadata=_BY_CELL)
    chance: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({}))
    with_scores: NDArray[np.bool_] = field(
        default_factory=lambda: np.array(False), metadata=_MARK)
    alarm: NDArray[np.bool_] = field(
        default_factory=lambda: np.array(False), metadata=_MARK)
    contradictions: Mapping[Cell, tuple[Contradiction, ...]] = field(
        default_factory=lambda: MappingProxyType({}), metadata=_BY_CELL)

    def __post_init__(self) -> None:
        check_unique('models of predictions', self.models)
        check_unique('benchmarks of predictions', self.benchmarks)
        check_labels('predictors', self.methods)
        shape = len(self.models), len(self.benchmarks), len(self.methods)
        shapes = {**dict.fromkeys(_cubes(), shape), REAL: shape[:2]}
        for part, expected in shapes.items():
            if np.ndim(getattr(self, part)) == 0:
                filled = np.full(expected, getattr(self, part))
                object.__setattr__(self, part, filled)
            if getattr(self, part).shape != expected:
                raise InputError(
                    f'Predictions.{part}', f'shape {expected}',
                    str(getattr(self, part).shape),
                    'Give one value per model, benchmark and method.')
        for part in ('values', 'low', 'high', REAL):
            self._check_fractions(part)

    def _check_fractions(self, part: str) -> None:
        numbers = getattr(self, part)
        outside = numbers[(numbers < 0) | (numbers > 1)]
        if outside.size:
            raise InputError(f'Predictions.{part}', 'fractions in 0..1 or NaN',
                             str(outside[0]), 'Divide percentages by 100.')

    def __repr__(self) -> str:
        methods = shortened(', '.join(self.methods), 100)
        level = '' if np.isnan(self.level) else f'; {self.level:.0%} intervals'
        return (f'Predictions({len(self.models)} models x '
                f'{len(self.benchmarks)} benchmarks by {methods}{level})')

    @classmethod
    def of_method(
        cls,
        models: Sequence[str],
        benchmarks: Sequence[str],
        columns: Mapping[str, NDArray],
        level: float,
        chance: Mapping[str, float] = MappingProxyType({})
    ) -> 'Predictions':
        """Predictions of a single predictor, without real accuracies.

        Args:
            models (Sequence[str]): M names.
            benchmarks (Sequence[str]): B names.
            columns (Mapping): `values`, `low`, `high`, `extrapolated`,
                `in_sample` and perhaps `with_scores` and `alarm`, `(M, B)`
                each.
            level (float): Level of the intervals.
            chance (Mapping[str, float]): As in the class.
        """
        cubes: dict[str, Any] = {
            part: column[:, :, None]
            for part, column in columns.items()
        }
        return cls(
            tuple(models),
            tuple(benchmarks), (PREDICTED, ),
            real=np.array(np.nan),
            level=level,
            chance=chance,
            **cubes)

    @classmethod
    def side_by_side(
        cls,
        by_method: Mapping[str, Optional['Predictions']],
        models: Sequence[str],
        benchmarks: Sequence[str],
        missing: Mapping[tuple[str, str, str], Missing] = MappingProxyType({})
    ) -> 'Predictions':
        """Predictions of several predictors, without real accuracies.

        Args:
            by_method (Mapping): Predictions of one method each, at one
                level, by the name to call it; None of a method that says
                nothing at all.
            models (Sequence[str]): Models to hold.
            benchmarks (Sequence[str]): Benchmarks to hold.
            missing (Mapping): Why cells have no value, as in the class; a
                benchmark that a method does not know has a reason already.
        """
        nothing = Predictions.of_method(
            (), (), {part: np.zeros((0, 0))
                     for part in _cubes()}, np.nan)
        said = [table for table in by_method.values() if table is not None]
        tables = [
            table._arranged(
                _same(models), _same(benchmarks), {method: table.methods[0]})
            for method, table in ((method, table or nothing)
                                  for method, table in by_method.items())
        ]
        unknown = {
            (model, benchmark, method): UNKNOWN_BENCHMARK
            for method, table in by_method.items() if table is not None
            for benchmark in benchmarks if benchmark not in table.benchmarks
            for model in models
        }
        joined = cls._joined(tables, 2, methods=tuple(by_method))
        return replace(
            joined,
            real=np.full_like(joined.real, np.nan),
            level=said[0].level if said else np.nan,
            missing={
                **unknown,
                **joined.missing,
                **missing
            },
            chance={
                name: chance
                for table in reversed(said)
                for name, chance in table.chance.items()
            })

    @classmethod
    def concatenate(cls, tables: Sequence['Predictions']) -> 'Predictions':
        """The models of all tables; benchmarks, methods and level agree."""
        return cls._joined(
            tables,
            0,
            models=tuple(model for table in tables for model in table.models),
            real=np.concatenate([table.real for table in tables]))

    @classmethod
    def _joined(cls, tables: Sequence['Predictions'], axis: int,
                **parts: Any) -> 'Predictions':
        """All cells of the tables, next to each other on one axis.

        Args:
            tables (Sequence[Predictions]): Alike on the other axes.
            axis (int): 0 for models, 2 for methods.
            **parts: Names on this axis, and what else is not as in the
                first table.
        """
        for part in _cubes():
            parts[part] = np.concatenate(
                [getattr(table, part) for table in tables], axis)
        for part in _mappings():
            parts[part] = {
                cell: value
                for table in tables
                for cell, value in getattr(table, part).items()
            }
        return replace(tables[0], **parts)

    def _arranged(self, *axes: Mapping[str, str]) -> 'Predictions':
        """The same cells in other places, under other names.

        Cells of which the table lacks a name are empty.

        Args:
            *axes (Mapping[str, str]): Models, benchmarks and methods: the
                name in this table by the name to have.
        """
        own = self.models, self.benchmarks, self.methods
        found = [_places(axis, names) for axis, names in zip(axes, own)]
        to = [list(places) for places in found]
        source = [list(places.values()) for places in found]
        shape = tuple(map(len, axes))
        parts: dict[str, Any] = {'real': np.full(shape[:2], np.nan)}
        parts['real'][np.ix_(*to[:2])] = self.real[np.ix_(*source[:2])]
        for part, empty in _cubes().items():
            parts[part] = np.full(shape, empty)
            parts[part][np.ix_(*to)] = getattr(self, part)[np.ix_(*source)]
        models, benchmarks, methods = axes
        cells = dict(
            zip(
                product(models, benchmarks, [*methods, REAL]),
                product(models.values(), benchmarks.values(),
                        [*methods.values(), REAL])))
        for part in _mappings():
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
        """Some of the models, under other names.

        Args:
            names (Mapping[str, str]): The name of each model in this table,
                by the name to have.

        Raises:
            InputError: The table lacks a model.
        """
        for name in names.values():
            self._place('models', name)
        return self._arranged(names, _same(self.benchmarks),
                              _same(self.methods))

    def with_real(self, accuracies: AccuracyTable) -> 'Predictions':
        """The same predictions beside observed accuracies.

        Args:
            accuracies (AccuracyTable): Of these models and benchmarks and
                perhaps more, in any order.

        Raises:
            InputError: The table lacks a model or a benchmark.
        """
        table = accuracies.select(self.models, self.benchmarks)
        return replace(self, real=table.values)

    def select(self,
               models: Optional[Sequence[str]] = None,
               benchmarks: Optional[Sequence[str]] = None,
               methods: Optional[Sequence[str]] = None) -> 'Predictions':
        """The given models, benchmarks and methods, in the given order.

        Args:
            models (Optional[Sequence[str]]): Names; all by default.
            benchmarks (Optional[Sequence[str]]): Names; all by default.
            methods (Optional[Sequence[str]]): Names; all by default.

        Raises:
            InputError: The table lacks a name, or as in `check_list`.
        """
        axes = []
        for axis, names in (('models', models), ('benchmarks', benchmarks),
                            ('methods', methods)):
            check_list(axis, names)
            chosen = getattr(self, axis) if names is None else names
            check_unique(axis, chosen)
            for name in chosen:
                self._place(axis, name)
            axes.append(_same(chosen))
        return self._arranged(*axes)

    def restricted(self, benchmarks: Sequence[str],
                   reason: Missing) -> 'Predictions':
        """The same, with predictions on some of the benchmarks alone.

        Args:
            benchmarks (Sequence[str]): Those to be predicted.
            reason (Missing): Why the others are not.
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
        """One prediction, or why there is none.

        Args:
            model (str): One of `models`.
            benchmark (str): One of `benchmarks`.
            method (Optional[str]): One of `methods`, by default the first.

        Raises:
            InputError: The table lacks a name.
        """
        method = self.methods[0] if method is None else method
        place = (self._place('models',
                             model), self._place('benchmarks', benchmark),
                 self._place('methods', method))
        if np.isnan(self.values[place]):
            return self.missing.get((model, benchmark, method),
                                    Missing('no prediction'))
        parts = {part: getattr(self, part)[place].item() for part in _cubes()}
        return Prediction(parts.pop('values'), level=self.level, **parts)

    def real_at(self, model: str, benchmark: str) -> Union[float, Missing]:
        """The observed accuracy, or why there is none.

        Raises:
            InputError: The table lacks a name.
        """
        accuracy = self.real[self._place('models', model),
                             self._place('benchmarks', benchmark)]
        if np.isnan(accuracy):
            return self.missing.get((model, benchmark, REAL),
                                    Missing('no real accuracy'))
        return float(accuracy)

    def cells(self, benchmark: str, method: Optional[str] = None) -> list[str]:
        """Predictions of all models as texts: percent, interval and marks.

        Args:
            benchmark (str): One of `benchmarks`.
            method (Optional[str]): One of `methods`, by default the first.

        Returns:
            list[str]: As `explain_marks` explains them; '-' for none.

        Raises:
            InputError: The table lacks a name.
        """
        b = self._place('benchmarks', benchmark)
        p = 0 if method is None else self._place('methods', method)
        chance = self.chance.get(benchmark, 0.0)
        marks = [''.join(mark for part, mark in MARKS.items()
                         if getattr(self, part)[m, b, p])
                 for m in range(len(self.models))]  # yapf: disable
        ends = (part[:, b, p] for part in (self.values, self.low, self.high))
        return [
            predicted_cell(value, low, high, chance, mark)
            for value, low, high, mark in zip(*ends, marks)
        ]

    def legend(self) -> list[str]:
        """The meaning of the cells and their marks, one line each."""
        lines = [explain_marks(self.level)]
        if self.alarm.any():
            lines.append(ALARM)
        return lines + [WITH_SCORES] if self.with_scores.any() else lines

    def has_real(self) -> bool:
        """Whether an observed accuracy is known."""
        return bool(np.isfinite(self.real).any())

    def difference(self, method: str) -> NDArray[np.float64]:
        """Predicted minus real accuracy, NaN without either. `(M, B)`."""
        return self.values[:, :, self._place('methods', method)] - self.real

    def held_out(self, method: str) -> NDArray[np.bool_]:
        """Cells with a prediction and an accuracy that was not fitted on.

        Returns:
            NDArray: Shape `(M, B)`.
        """
        in_sample = self.in_sample[:, :, self._place('methods', method)]
        return ~np.isnan(self.difference(method)) & ~in_sample

    def mean_difference(self, method: str) -> NDArray[np.float64]:
        """Mean absolute difference on held-out models; NaN of none. `(B,)`."""
        sizes = np.abs(self.difference(method))
        held_out = self.held_out(method)
        totals = np.where(held_out, sizes, 0).sum(axis=0)
        return np.divide(
            totals,
            held_out.sum(axis=0),
            out=np.full(len(totals), np.nan),
            where=held_out.any(axis=0))

    def covered(self, method: str) -> NDArray[np.bool_]:
        """Held-out cells whose interval holds the real accuracy. `(M, B)`."""
        p = self._place('methods', method)
        inside = (self.low[:, :, p] <= self.real) & (
            self.real <= self.high[:, :, p])
        return inside & self.held_out(method)

    def records(self) -> Iterator[dict[str, Any]]:
        """One record for every model, benchmark and method, in this order.

        Yields:
            dict: `model`, `benchmark`, `method`, `real`, `predicted`, `low`,
            `high` (fractions, None where not known), `extrapolated`,
            `in_sample`, `with_scores`, `alarm` and `missing`, the reasons.
        """
        for model in self.models:
            for benchmark in self.benchmarks:
                for method in self.methods:
                    yield self._record(model, benchmark, method)

    def _record(self, model: str, benchmark: str,
                method: str) -> dict[str, Any]:
        real = self.real_at(model, benchmark)
        cell = self.at(model, benchmark, method)
        reasons = [
            self.missing[model, benchmark, column].reason
            for column in (REAL, method)
            if (model, benchmark, column) in self.missing
        ]
        parts = dict.fromkeys(['value', *_cubes()])
        if isinstance(cell, Prediction):
            parts |= vars(cell)
        return {
            'model': model,
            'benchmark': benchmark,
            'method': method,
            REAL: None if isinstance(real, Missing) else real,
            'predicted': parts['value'],
            **{
                part: parts[part]
                for part in _cubes() if part != 'values'
            },
            'missing': '; '.join(reasons),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold: the level and all records."""
        return {
            'level': None if np.isnan(self.level) else self.level,
            'predictions': list(self.records())
        }

    def to_frame(self) -> Any:
        """A pandas table of the records; pandas must be installed.

        Returns:
            pandas.DataFrame: One row for every model, benchmark and method.
        """
        import pandas
        return pandas.DataFrame(list(self.records()))

    def _place(self, axis: str, name: str) -> int:
        names: tuple[str, ...] = getattr(self, axis)
        if name not in names:
            raise InputError('predictions', f'one of the {axis} '
                             f'{shortened(", ".join(names), 200)}', repr(name),
                             'Correct the name.')  # yapf: disable
        return names.index(name)


def _cubes() -> dict[str, Union[float, bool]]:
    """The parts with a value per cell, and its value where there is none."""
    return {
        part.name: part.metadata['empty']
        for part in fields(Predictions) if 'empty' in part.metadata
    }


def _mappings() -> list[str]:
    """The parts that map some of the cells."""
    return [
        part.name for part in fields(Predictions) if 'by_cell' in part.metadata
    ]


def _same(names: Sequence[str]) -> dict[str, str]:
    """Names by themselves."""
    return dict(zip(names, names))


def _places(axis: Mapping[str, str], names: Sequence[str]) -> dict[int, int]:
    """Where `names` has those that the axis wants, by place on the axis."""
    place = {name: i for i, name in enumerate(names)}
    return {
        i: place[name]
        for i, name in enumerate(axis.values()) if name in place
    }
