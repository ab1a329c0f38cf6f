"""Predicted accuracies beside the real ones, and reasons for gaps."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.cells import (ALARM, WITH_SCORES, explain_marks,
                                   predicted_cell)
from csv_plugin.core.conventions import (InputError, check_list, check_unique,
                                         shortened)

#: What `Predictions.missing` calls the real accuracy; no method has the name.
REAL = 'real'
#: What the predictions of a single predictor are called.
PREDICTED = 'predicted'

_MARKS = ('extrapolated', 'in_sample', 'alarm', 'with_scores')
_CUBES = ('values', 'low', 'high', *_MARKS)


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
        with_scores (NDArray): See `Prediction`; bool, `(M, B, P)`, or one
            value for all of them.
        alarm (NDArray): See `Prediction`; likewise.
        contradictions (Mapping): By model, benchmark and method, what
            contradicts a prediction; not every alarm needs to have it.

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
    missing: Mapping[tuple[str, str, str], Missing] = field(
        default_factory=lambda: MappingProxyType({}))
    chance: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({}))
    with_scores: NDArray[np.bool_] = field(
        default_factory=lambda: np.zeros((1, 1, 1), bool))
    alarm: NDArray[np.bool_] = field(
        default_factory=lambda: np.zeros((1, 1, 1), bool))
    contradictions: Mapping[tuple[str, str, str],
                            tuple[Contradiction, ...]] = field(
                                default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        check_unique('models of predictions', self.models)
        check_unique('benchmarks of predictions', self.benchmarks)
        check_labels('predictors', self.methods)
        shape = len(self.models), len(self.benchmarks), len(self.methods)
        for part in ('with_scores', 'alarm'):
            if getattr(self, part).shape == (1, 1, 1):
                marks = np.broadcast_to(getattr(self, part), shape)
                object.__setattr__(self, part, marks)
        for part in (*_CUBES, REAL):
            expected = shape[:2] if part == REAL else shape
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
        real = np.full((len(models), len(benchmarks)), np.nan)
        return cls(
            tuple(models),
            tuple(benchmarks), (PREDICTED, ),
            real=real,
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
        tables = {
            method: table
            for method, table in by_method.items() if table is not None
        }
        shape = len(models), len(benchmarks), len(by_method)
        cubes = _empty_cubes(shape)
        chance: dict[str, float] = {}
        for method, table in tables.items():
            table._copy_into(cubes,
                             tuple(by_method).index(method), models,
                             benchmarks)
            chance = {**table.chance, **chance}
        levels = [table.level for table in tables.values()]
        return cls(
            tuple(models),
            tuple(benchmarks),
            tuple(by_method),
            real=np.full(shape[:2], np.nan),
            level=levels[0] if levels else np.nan,
            missing=_unknown(tables, models, benchmarks) | dict(missing),
            chance=chance,
            contradictions=_contradictions(tables, models, benchmarks),
            **cubes)

    def _copy_into(self, cubes: Mapping[str, NDArray], p: int,
                   models: Sequence[str], benchmarks: Sequence[str]) -> None:
        """Copy the cells of a single method to place p of larger cubes."""
        rows = [m for m, name in enumerate(models) if name in self.models]
        columns = [
            b for b, name in enumerate(benchmarks) if name in self.benchmarks
        ]
        table = self.select([models[m] for m in rows],
                            [benchmarks[b] for b in columns])
        for part, cube in cubes.items():
            cube[np.ix_(rows, columns, [p])] = getattr(table, part)

    @classmethod
    def concatenate(cls, tables: Sequence['Predictions']) -> 'Predictions':
        """The models of all tables; benchmarks, methods and level agree."""
        parts: dict[str, Any] = {
            part: np.concatenate([getattr(table, part) for table in tables])
            for part in (*_CUBES, REAL)
        }
        return replace(
            tables[0],
            models=tuple(model for table in tables for model in table.models),
            missing={
                cell: reason
                for table in tables
                for cell, reason in table.missing.items()
            },
            contradictions={
                cell: said
                for table in tables
                for cell, said in table.contradictions.items()
            },
            **parts)

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
        asked = {
            'models': models,
            'benchmarks': benchmarks,
            'methods': methods
        }
        chosen: dict[str, Any] = {}
        for axis, names in asked.items():
            check_list(axis, names)
            own = getattr(self, axis)
            chosen[axis] = own if names is None else tuple(names)
        index = np.ix_(*([self._place(axis, name) for name in names]
                         for axis, names in chosen.items()))
        cubes: dict[str, Any] = {
            part: getattr(self, part)[index]
            for part in _CUBES
        }
        kept = [{*names} for names in chosen.values()]
        return replace(
            self,
            real=self.real[index[0][:, :, 0], index[1][:, :, 0]],
            missing={
                cell: reason
                for cell, reason in self.missing.items()
                if cell[0] in kept[0] and cell[1] in kept[1] and (
                    cell[2] == REAL or cell[2] in kept[2])
            },
            contradictions={
                cell: said
                for cell, said in self.contradictions.items()
                if all(name in names for name, names in zip(cell, kept))
            },
            **chosen,
            **cubes)

    def restricted(self, benchmarks: Sequence[str],
                   reason: Missing) -> 'Predictions':
        """The same, with predictions on some of the benchmarks alone.

        Args:
            benchmarks (Sequence[str]): Those to be predicted.
            reason (Missing): Why the others are not.
        """
        check_list('benchmarks', benchmarks)
        dropped = [b for b in self.benchmarks if b not in benchmarks]
        columns = [self._place('benchmarks', b) for b in dropped]
        cubes = {part: getattr(self, part).copy() for part in _CUBES}
        for part, empty in _empty_cubes((1, 1, 1)).items():
            cubes[part][:, columns] = empty
        cells = product(self.models, dropped, self.methods)
        return replace(
            self,
            contradictions={
                cell: said
                for cell, said in self.contradictions.items()
                if cell[1] not in dropped
            },
            missing={
                **self.missing,
                **dict.fromkeys(cells, reason)
            },
            **cubes)

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
        cell = (self._place('models',
                            model), self._place('benchmarks', benchmark),
                self._place('methods', method))
        if np.isnan(self.values[cell]):
            return self.missing.get((model, benchmark, method),
                                    Missing('no prediction'))
        return Prediction(
            float(self.values[cell]), float(self.low[cell]),
            float(self.high[cell]), self.level, bool(self.extrapolated[cell]),
            bool(self.in_sample[cell]), bool(self.with_scores[cell]),
            bool(self.alarm[cell]))

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
        columns = (getattr(self, part)[:, b, p] for part in _CUBES)
        return [
            predicted_cell(
                value, low, high, chance,
                '*' * bool(in_sample) + '>' * bool(extrapolated) +
                '!' * bool(alarm) + '+' * bool(with_scores)) for value, low,
            high, extrapolated, in_sample, alarm, with_scores in zip(*columns)
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
        values = vars(cell) if isinstance(cell, Prediction) else {}
        return {
            'model': model,
            'benchmark': benchmark,
            'method': method,
            REAL: None if isinstance(real, Missing) else real,
            'predicted': values.get('value'),
            'low': values.get('low'),
            'high': values.get('high'),
            'extrapolated': values.get('extrapolated'),
            'in_sample': values.get('in_sample'),
            'with_scores': values.get('with_scores'),
            'alarm': values.get('alarm'),
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


def _unknown(tables: Mapping[str, Predictions], models: Sequence[str],
             benchmarks: Sequence[str]) -> dict[tuple[str, str, str], Missing]:
    """Cells of benchmarks that a method does not know."""
    return {
        (model, benchmark, method): UNKNOWN_BENCHMARK
        for method, table in tables.items()
        for benchmark in benchmarks if benchmark not in table.benchmarks
        for model in models
    }


def _contradictions(
    tables: Mapping[str, Predictions], models: Sequence[str],
    benchmarks: Sequence[str]
) -> dict[tuple[str, str, str], tuple[Contradiction, ...]]:
    """Those of single methods, under the names they have in `tables`."""
    return {
        (model, benchmark, method): said
        for method, table in tables.items()
        for (model, benchmark, _), said in table.contradictions.items()
        if model in models and benchmark in benchmarks
    }


def _empty_cubes(shape: tuple[int, int, int]) -> dict[str, Any]:
    """Arrays `(M, B, P)` without a prediction, by part."""
    return {
        part:
        np.zeros(shape, bool) if part in _MARKS else np.full(shape, np.nan)
        for part in _CUBES
    }
