"""Predicted accuracies beside observed ones, and reasons for gaps."""
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, islice, product
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csv_plugin.core.accuracies import AccuracyTable, indices_of, position
from csv_plugin.core.arrays import Booleans, Floats
from csv_plugin.core.conventions import InputError, PublicNames, check_unique
from csv_plugin.core.curve import item_variance
from csv_plugin.core.far_models import far_notes
from csv_plugin.core.formatting import (ANY, first_names, interval, number,
                                        or_none, percent, predicted_cell,
                                        shortened)
from csv_plugin.core.text_tables import wrapped

#: Stands for the method in keys of `Predictions.missing` that are about an
#: observed accuracy (`Predictions.observed`).
OBSERVED = 'observed'
#: Name of the method in a table with the predictions of one predictor.
PREDICTED = 'predicted'

#: Names of a model, a benchmark, and a method (or `OBSERVED`).
CellNames = tuple[str, str, str]
#: Names of one axis, or a mapping from new names to the old names.
Names = Union[Sequence[str], Mapping[str, str]]

#: Fields of `Predictions` of shape `(M, B, P)`. Maps each to its value in a
#: cell without a prediction.
_EMPTY_CELL: dict[str, Any] = {
    'values': np.nan,
    'low': np.nan,
    'high': np.nan,
    'extrapolated': False,
    'in_sample': False,
    'with_scores': False,
    'at_chance': False,
    'expected_error': np.nan,
    'more_noise': 0.0,
    'measurement_factor': 1.0,
    'contradicted': np.nan,
}
#: Names in `_EMPTY_CELL` that are no fields of `Prediction`, and not in files.
_INTERNAL = 'more_noise', 'measurement_factor', 'contradicted'
#: The mark that is shown behind a prediction for each flag, in this order.
MARKS = {
    'in_sample': '*',
    'extrapolated': '>',
    'with_scores': '+',
    'at_chance': '?',
}
#: The mark of predictions that say little, see `Predictions.says_little`.
SAYS_LITTLE = '~'
#: The meaning of `SAYS_LITTLE`, for users.
LITTLE_MEANING = (
    f'{SAYS_LITTLE} says little: the interval covers more than half of '
    'the range from guessing to 100.')

#: The meaning of the mark `>`, for users.
FAR_MEANING = ('far from the training models: expect errors of 1.5 times the '
               'usual ones, or more')
#: Why a benchmark is not predictable yet.
WHY_NOT_YET = 'all training models are at chance, or all at 100 %'
#: Note for users on benchmarks that are not predictable yet.
NOT_YET = (f'not predictable yet, because {WHY_NOT_YET}. Whether another '
           'model does better or worse cannot be told from its losses.')

#: Fields of `Predictions` that hold the names along its three axes.
_AXES = 'models', 'benchmarks', 'methods'

_NAN = np.array(np.nan)


def check_labels(where: str, labels: Sequence[str]) -> None:
    """Raise an `InputError` if labels are not unique, or one is `OBSERVED`."""
    if OBSERVED in labels:
        raise InputError(
            where, 'labels that are not reserved', repr(OBSERVED),
            'Choose another label: this one stands for observed '
            'accuracies.')
    check_unique(where, labels)


@dataclass(frozen=True)
class Missing:
    """The reason why a value is missing, in one line."""
    reason: str


#: Why a predictor has no prediction on a benchmark.
UNKNOWN_BENCHMARK = Missing('the predictor was not fitted to the benchmark')


@dataclass(frozen=True)
class Prediction:
    """One predicted accuracy, a fraction in 0..1.

    `low` and `high` are the limits of its interval, fractions, and `level` is
    the coverage that the interval is meant to have, such as 0.9.
    `extrapolated` is True if the model lies so far from the training models
    that errors of at least 1.5 times the usual ones are expected: the
    predicted standard deviation of the exponent is more than 1.5 times the
    usual one of families left out. `in_sample` is True if the predictor was
    fitted to the accuracy of this model on this benchmark, or if this accuracy
    is known (`known` in `Predictor.predict`). `with_scores` is True if known
    accuracies of the model on other benchmarks, or of other models of its
    family, changed the prediction; the name does not refer to capability
    scores. `at_chance` is True if all training models are at chance, or all
    have accuracies of 1, so that the benchmark is not predictable yet.
    `expected_error` is the expected standard deviation of the error, a
    fraction; None if unknown.
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
    """Make a field of `Predictions` with this default value in all cells."""
    return field(default_factory=lambda: np.array(value))


@dataclass(frozen=True, eq=False)
class Predictions(PublicNames):
    """Accuracies of M models on B benchmarks, predicted by P methods.

    All accuracies are fractions. `values` are the predicted accuracies, NaN
    where there is no prediction. `values`, the limits of the intervals (`low`,
    `high`), `expected_error` and the flags of `Prediction` are `(M, B, P)`.
    The main method is the first, and no method is called `OBSERVED`.
    `observed`, `(M, B)`, are observed accuracies, NaN where unknown. An array
    of shape `()` stands for the same value in all cells. `level` is the
    coverage that the intervals are meant to have, NaN if unknown.
    Where fewer items were run than the intervals assume, observed accuracies
    have a larger variance. `more_noise`, `(M, B, P)`, is this additional
    variance divided by p (1 - p), where p is the accuracy; see
    `widened_intervals`.
    `measurement_factor`, `(M, B, P)`, is how many times too large all losses
    of the model seem; see the module `measurement_units`.
    Where a known accuracy is far from its prediction, `contradicted`,
    `(M, B, P)`, is the prediction without known accuracies; it is NaN in all
    other cells. See `contradictions`.
    `missing` maps (model, benchmark, method or `OBSERVED`) to the reason why
    this value is missing. A missing value may have no reason. `chance` maps
    benchmarks to the accuracy of random guessing, where it is known. Means
    over benchmarks leave out the benchmarks of `outside_means`.

    Raises:
        InputError: A name occurs twice.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    methods: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    extrapolated: Booleans
    in_sample: Booleans
    observed: Floats
    level: float
    missing: Mapping[CellNames, Missing] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    with_scores: Booleans = _everywhere(False)
    at_chance: Booleans = _everywhere(False)
    expected_error: Floats = _everywhere(np.nan)
    more_noise: Floats = _everywhere(0.0)
    measurement_factor: Floats = _everywhere(1.0)
    contradicted: Floats = _everywhere(np.nan)
    outside_means: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_unique('models of predictions', self.models)
        check_unique('benchmarks of predictions', self.benchmarks)
        check_labels('predictors', self.methods)
        n_models = len(self.models)
        n_benchmarks = len(self.benchmarks)
        cube = n_models, n_benchmarks, len(self.methods)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_EMPTY_CELL, cube)
        shapes[OBSERVED] = n_models, n_benchmarks
        for name, shape in shapes.items():
            given = getattr(self, name)
            full = np.full(shape, given)
            object.__setattr__(self, name, full)

    def __repr__(self) -> str:
        n_models, n_benchmarks = self.observed.shape
        methods = shortened(', '.join(self.methods), 100)
        level = ''
        if not np.isnan(self.level):
            level = f'; {self.level:.0%} intervals'
        return (f'Predictions({n_models} models x {n_benchmarks} benchmarks '
                f'by {methods}{level})')

    def __str__(self) -> str:
        """Return a table of the first predictions, in percent, and notes."""
        from tabulate import tabulate
        with_observed = self.has_observed()
        header = ['model', 'benchmark', *self.methods]
        if with_observed:
            header.insert(2, OBSERVED)
        # `print` shows at most this number of rows.
        n_printed = 20
        all_places = np.ndindex(self.observed.shape)
        rows = []
        for m, b in islice(all_places, n_printed):
            benchmark = self.benchmarks[b]
            row = [self.models[m], benchmark]
            if with_observed:
                observed = percent(self.observed[m, b])
                row.append(number(observed))
            for method in self.methods:
                of_models = self.cells(benchmark, method)
                row.append(of_models[m])
            rows.append(row)
        table = tabulate(rows, header, disable_numparse=True)
        more = self.observed.size - len(rows)
        if more:
            table += f'\n... and {more} more'
        parts = [table, wrapped(self.notes)]
        return '\n\n'.join(filter(None, parts))

    @classmethod
    def side_by_side(
        cls,
        by_method: Mapping[str, Optional['Predictions']],
        models: Sequence[str],
        benchmarks: Sequence[str],
        missing: Mapping[CellNames, Missing] = MappingProxyType({})
    ) -> 'Predictions':
        """Join predictions of several predictors, without observed accuracies.

        `by_method` maps each new name of a method to predictions by one
        method, or to None if there are no predictions by this method. All
        predictions have the same level. Cells of benchmarks that a method was
        not fitted to get the reason `UNKNOWN_BENCHMARK`, unless `missing` has
        another reason.
        """
        arranged = []
        reasons: dict[CellNames, Missing] = {}
        level = np.nan
        for method, table in by_method.items():
            if table is None:
                # Each field is given as one value for all cells.
                empty = cls(
                    models=tuple(models),
                    benchmarks=tuple(benchmarks),
                    methods=(method, ),
                    observed=_NAN,
                    level=np.nan,
                    **_EMPTY_CELL)
                arranged.append(empty)
                continue
            level = table.level
            own = table.benchmarks
            unknown = [name for name in benchmarks if name not in own]
            cells = product(models, unknown, [method])
            reasons |= dict.fromkeys(cells, UNKNOWN_BENCHMARK)
            renamed = {method: table.methods[0]}
            arranged.append(table._arranged(models, benchmarks, renamed))
        methods = tuple(by_method)
        found = _joined(arranged, 2, methods=methods, observed=_NAN)
        all_missing = {**found.missing, **reasons, **missing}
        return replace(found, level=level, missing=all_missing)

    @classmethod
    def concatenate(cls, tables: Sequence['Predictions']) -> 'Predictions':
        """Join tables of different models into one.

        Their benchmarks, methods and levels are the same.
        """
        models: tuple[str, ...] = ()
        rows = []
        for table in tables:
            models = (*models, *table.models)
            rows.append(table.observed)
        observed = np.concatenate(rows)
        return _joined(tables, 0, models=models, observed=observed)

    def _arranged(self, *axes: Names) -> 'Predictions':
        """Reorder or rename models, benchmarks and methods.

        The three axes are the new names of the models, the benchmarks and the
        methods, or mappings from each new name to the old name. Cells of names
        that this table does not have are empty.
        """
        fields: dict[str, Any] = {}
        old_names: list[dict[str, str]] = []
        index = []
        for name, axis in zip(_AXES, axes):
            if not isinstance(axis, Mapping):
                axis = dict(zip(axis, axis))
            fields[name] = tuple(axis)
            old_names.append(dict(axis))
            own_names = getattr(self, name)
            index.append(indices_of(axis.values(), own_names))
        of_cubes = np.ix_(*index)
        for name, empty in _EMPTY_CELL.items():
            cube = _padded(getattr(self, name), empty)
            fields[name] = cube[of_cubes]
        rows, columns, _ = index
        observed = _padded(self.observed, np.nan)
        fields[OBSERVED] = observed[np.ix_(rows, columns)]
        missing = self._reasons(*old_names)
        return replace(self, missing=missing, **fields)

    def _reasons(self, models: Mapping[str, str], benchmarks: Mapping[str,
                                                                      str],
                 methods: Mapping[str, str]) -> dict[CellNames, Missing]:
        """Return the reasons in `missing` by new names.

        The arguments map each new name to the old name.
        """
        columns = {**methods, OBSERVED: OBSERVED}
        found: dict[CellNames, Missing] = {}
        for cell in product(models, benchmarks, columns):
            model, benchmark, column = cell
            old = models[model], benchmarks[benchmark], columns[column]
            if old in self.missing:
                found[cell] = self.missing[old]
        return found

    def with_observed(self, accuracies: AccuracyTable) -> 'Predictions':
        """Return these predictions with observed accuracies from a table.

        Raises an `InputError` if a model or a benchmark is not in
        `accuracies`.
        """
        table = accuracies.select(self.models, self.benchmarks)
        return replace(self, observed=table.values)

    def select(self,
               models: Optional[Names] = None,
               benchmarks: Optional[Sequence[str]] = None,
               methods: Optional[Sequence[str]] = None) -> 'Predictions':
        """Return the given models, benchmarks and methods, in this order.

        With None, all names of this axis are taken. Models may be a mapping
        from new names to the names in this table. Raises an `InputError` for
        unknown names.
        """
        axes = []
        for axis, names in zip(_AXES, (models, benchmarks, methods)):
            own_names = getattr(self, axis)
            if names is None:
                names = own_names
            old_names = names
            if isinstance(names, Mapping):
                old_names = [*names.values()]
            check_unique(axis, old_names)
            unknown = {*old_names} - {*own_names}
            for name in sorted(unknown):
                # This raises an error with the name.
                self._place(axis, name)
            axes.append(names)
        return self._arranged(*axes)

    def at(self,
           model: str,
           benchmark: str,
           method: Optional[str] = None) -> Union[Prediction, Missing]:
        """Return one prediction, or the reason for its absence.

        The default method is the first one. Raises an `InputError` for unknown
        names.
        """
        if method is None:
            method = self.methods[0]
        cell = model, benchmark, method
        place = tuple(map(self._place, _AXES, cell))
        found = self._cell(place)
        if found is not None:
            return found
        unexplained = Missing('no prediction')
        return self.missing.get(cell, unexplained)

    def _cell(self, place: tuple[int, ...]) -> Optional[Prediction]:
        """Return the prediction with these three indices, if there is one."""
        fields: dict[str, Any] = {}
        for name in _EMPTY_CELL:
            if name not in _INTERNAL:
                fields[name] = getattr(self, name)[place].item()
        value = fields.pop('values')
        if np.isnan(value):
            return None
        if np.isnan(fields['expected_error']):
            fields['expected_error'] = None
        return Prediction(value, level=self.level, **fields)

    def cells(self, benchmark: str, method: Optional[str] = None) -> list[str]:
        """Return the predictions of all models on a benchmark as texts.

        Such a cell of a table has the prediction in percent, its interval and
        its marks, or '-' if there is no prediction; `legend` explains it. The
        default method is the first one.
        """
        b, p = self._column(benchmark, method)
        values = self.values[:, b, p]
        lows = self.low[:, b, p]
        highs = self.high[:, b, p]
        chance = self._chances[b]
        all_marks = self.marks(benchmark, method)
        found = []
        for value, low, high, marks in zip(values, lows, highs, all_marks):
            cell = predicted_cell(value, low, high, chance, marks)
            found.append(cell)
        return found

    def marks(self, benchmark: str, method: Optional[str] = None) -> list[str]:
        """Return the marks of the predictions of all models on a benchmark.

        The marks of one prediction are a text such as '', '*' or '>+'. The
        default method is the first one.
        """
        b, p = self._column(benchmark, method)
        found = [''] * len(self.models)
        flags = {}
        for name, mark in MARKS.items():
            flags[mark] = getattr(self, name)
        flags[SAYS_LITTLE] = self.says_little
        for mark, flag in flags.items():
            of_models = flag[:, b, p]
            for m in np.flatnonzero(of_models):
                found[m] += mark
        return found

    def _column(self, benchmark: str,
                method: Optional[str]) -> tuple[int, int]:
        """Return the indices of a benchmark and of a method.

        If the method is None, it is the first one.
        """
        b = self._place('benchmarks', benchmark)
        p = 0
        if method is not None:
            p = self._place('methods', method)
        return b, p

    @property
    def _chances(self) -> list[float]:
        """The chance level of each benchmark, 0 where it is unknown."""
        return [self.chance.get(name, 0.0) for name in self.benchmarks]

    @property
    def says_little(self) -> Booleans:
        """True where an interval covers most of what is possible, `(M, B, P)`.

        Such an interval covers more than half of the range from the chance
        level to 1. Benchmarks that are not predictable yet do not count.
        """
        chance = np.reshape(self._chances, (-1, 1))
        covered = self.high - np.maximum(self.low, chance)
        is_most = covered > .5 * (1 - chance)
        return is_most & ~self.at_chance

    @property
    def not_yet(self) -> tuple[str, ...]:
        """Benchmarks that are not predictable yet by the first method."""
        by_first_method = self.at_chance[:, :, 0:1]
        at_chance = by_first_method.any(axis=(0, 2))
        not_yet = compress(self.benchmarks, at_chance)
        return tuple(not_yet)

    def rules_nothing_out(self, method: str) -> Booleans:
        """Return True where an interval rules nothing out, `(M, B)`.

        Such an interval is shown as `ANY`.
        """
        p = self._place('methods', method)
        lows = self.low[:, :, p]
        highs = self.high[:, :, p]
        chances = self._chances
        found = np.zeros(lows.shape, bool)
        for place in np.ndindex(found.shape):
            _, b = place
            text = interval(lows[place], highs[place], chances[b])
            found[place] = text == ANY
        return found

    @property
    def interval_name(self) -> str:
        """What the intervals are called for users, such as '90% interval'."""
        if np.isnan(self.level):
            return 'interval'
        return f'{self.level:.0%} interval'

    def legend(self) -> list[str]:
        """Return the meaning of the cells and their marks, one line each.

        Marks that no cell has are left out.
        """
        lines = [f'Percent ({self.interval_name}, rounded outwards).']
        if any(self.rules_nothing_out(name).any() for name in self.methods):
            lines.append(f'{ANY}: all from guessing or below to 100.')
        is_shown = np.isfinite(self.values)
        if (self.in_sample & is_shown).any():
            lines.append(
                '* a training model, or its own accuracy is known (of a '
                'mean, one of its accuracies).')
        if (self.extrapolated & is_shown).any():
            lines.append(f'> {FAR_MEANING}.')
        if self.with_scores.any():
            lines.append('+ made from losses and from known accuracies, of '
                         'the model on other benchmarks or of models of its '
                         'family.')
        if self.at_chance.any():
            lines.append(f'? {NOT_YET}')
        if self.says_little.any():
            lines.append(LITTLE_MEANING)
        return lines

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of these predictions, as the command prints it.

        One line each: the legend, which explains the marks that occur, models
        that are far from the training models or seem to have losses in another
        unit, and known accuracies far from what losses predict.
        """
        if not np.isfinite(self.values).any():
            return ()
        return (*self.legend(), *far_notes(self), *self.contradictions())

    @property
    def main(self) -> tuple[str, ...]:
        """The benchmarks that are included in means over benchmarks."""
        outside = self.outside_means
        return tuple(name for name in self.benchmarks if name not in outside)

    def has_observed(self) -> bool:
        """Return True if at least one observed accuracy is known."""
        is_known = np.isfinite(self.observed)
        return bool(is_known.any())

    def can_be_tested(self) -> bool:
        """Return True if at least one cell is `held_out` by any method."""
        return any(self.held_out(method).any() for method in self.methods)

    def difference(self, method: str) -> Floats:
        """Return predicted minus observed accuracies, `(M, B)`.

        The difference is NaN where one of the two accuracies is missing, and
        where the accuracy was known, so that there was nothing to predict.
        """
        p = self._place('methods', method)
        predicted = self.values[:, :, p]
        # A known accuracy is its own prediction, with no error.
        was_known = self.expected_error[:, :, p] == 0
        return np.where(was_known, np.nan, predicted - self.observed)

    def held_out(self, method: str) -> Booleans:
        """Return True for cells that can test the predictions, `(M, B)`.

        They have a predicted and an observed accuracy and are not `in_sample`.
        """
        p = self._place('methods', method)
        in_sample = self.in_sample[:, :, p]
        lacks_one = np.isnan(self.difference(method))
        return ~lacks_one & ~in_sample

    def mean_difference(self, method: str) -> Floats:
        """Return mean absolute differences over `held_out` cells, `(B,)`.

        NaN for a benchmark without such a cell.
        """
        held_out = self.held_out(method)
        differences = self.difference(method)
        sizes = np.abs(differences)
        total = np.sum(sizes, axis=0, where=held_out)
        n_models = held_out.sum(axis=0)
        n_or_nan = np.where(n_models, n_models, np.nan)
        return total / n_or_nan

    def widened_intervals(self, method: str) -> tuple[NDArray, NDArray]:
        """Return the intervals that observed accuracies are compared with.

        They are the lower and the upper limits, `(M, B)` each, widened where
        `more_noise` says that the observed accuracies have more variance.
        """
        p = self._place('methods', method)
        values = self.values[:, :, p]
        low = self.low[:, :, p]
        high = self.high[:, :, p]
        probability = (1 + self.level) / 2
        quantile = ndtri(probability)
        more_noise = self.more_noise[:, :, p]
        variance = more_noise * item_variance(values)
        noise = quantile * np.sqrt(variance)
        below = np.hypot(values - low, noise)
        above = np.hypot(high - values, noise)
        wide_low = np.maximum(values - below, 0)
        wide_high = np.minimum(values + above, 1)
        # Where all items were run, the limits stay as they are.
        ran_fewer_items = noise > 0
        low = np.where(ran_fewer_items, wide_low, low)
        high = np.where(ran_fewer_items, wide_high, high)
        return low, high

    def covered(self, method: str) -> Booleans:
        """Return True for `held_out` cells inside their intervals, `(M, B)`.

        `widened_intervals` returns these intervals.
        """
        low, high = self.widened_intervals(method)
        is_above = low <= self.observed
        is_below = self.observed <= high
        return is_above & is_below & self.held_out(method)

    @property
    def model_measurement_factors(self) -> Floats:
        """The `measurement_factor` of each model, if it is not 1, `(M,)`."""
        largest = self.measurement_factor.max(axis=(1, 2), initial=1)
        smallest = self.measurement_factor.min(axis=(1, 2), initial=1)
        return np.where(largest > 1, largest, smallest)

    def contradictions(self) -> list[str]:
        """Return a note that names known accuracies far from predictions.

        There is no note without such accuracies.
        """
        named = {}
        for m, b, p in np.argwhere(np.isfinite(self.contradicted)):
            without = percent(self.contradicted[m, b, p])
            known = percent(self.values[m, b, p])
            cell = f'{self.models[m]} on {self.benchmarks[b]}'
            named[cell] = f'{cell} ({known:.1f}, predicted {without:.1f})'
        if not named:
            return []
        cells = first_names(list(named.values()))
        return [
            f'Known accuracies far from what losses predict: {cells}. Check '
            'that they are fractions, and accuracies of these models.'
        ]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every model, benchmark and method, in this order.

        A record has `model`, `benchmark`, `method`, `observed`, `predicted`,
        the fields of `Prediction` except for `value` and `level`, and
        `missing`. Missing values are None. `missing` is a text with the
        reasons for missing values, '' if there is none.
        """
        names = product(self.models, self.benchmarks, self.methods)
        # The value has the name `predicted`.
        shown = [*_EMPTY_CELL]
        for name in ('values', *_INTERNAL):
            shown.remove(name)
        nothing = dict.fromkeys(['value', *shown])
        all_places = np.ndindex(self.values.shape)
        for place, cell in zip(all_places, names):
            model, benchmark, method = cell
            m, b, _ = place
            observed = self.observed[m, b].item()
            found = self._cell(place)
            fields = vars(found) if found else nothing
            record: dict[str, Any] = {
                'model': model,
                'benchmark': benchmark,
                'method': method,
                OBSERVED: or_none(observed),
                'predicted': fields['value']
            }
            for name in shown:
                record[name] = fields[name]
            reasons = []
            for column in (OBSERVED, method):
                missing = self.missing.get((model, benchmark, column))
                if missing:
                    reasons.append(missing.reason)
            record['missing'] = '; '.join(reasons)
            yield record

    def to_dict(self) -> dict[str, Any]:
        """Return the level and all records as plain values for JSON."""
        return {
            'level': or_none(self.level),
            'predictions': list(self.records())
        }

    def to_frame(self) -> Any:
        """Return the records as a pandas table.

        Names, predictions and limits of intervals are the first columns.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise InputError(
                'to_frame()', 'pandas', 'no package of this name',
                'Install it: pip install pandas. records() needs none.'
            ) from error
        table = pandas.DataFrame(self.records())
        # A column without any number would be of type `object`.
        numbers = ['observed', 'predicted', 'low', 'high', 'expected_error']
        table = table.astype(dict.fromkeys(numbers, float))
        first = ['model', 'benchmark', 'predicted', 'low', 'high']
        others = [name for name in table if name not in first]
        return table[first + others]

    def _place(self, axis: str, name: str) -> int:
        """Return the index of a name on an axis, a name of `_AXES`."""
        return position(axis, name, getattr(self, axis))


def _padded(values: NDArray, empty: Any) -> NDArray:
    """Return values with one more index, -1, on each axis, which is empty.

    The index -1 is taken for names that a table does not have.
    """
    return np.pad(values, (0, 1), constant_values=empty)


def _joined(tables: Sequence[Predictions], axis: int,
            **names: Any) -> Predictions:
    """Join tables along axis 0 (models), 1 (benchmarks) or 2 (methods).

    `names` has fields of the result, such as the joined names. Fields that are
    neither joined nor in `names` are taken from the first table.
    """
    cubes = {}
    for name in _EMPTY_CELL:
        of_tables = [getattr(table, name) for table in tables]
        cubes[name] = np.concatenate(of_tables, axis)
    missing: dict[CellNames, Missing] = {}
    chance: dict[str, float] = {}
    # If several tables have an entry for a key, the first table counts.
    for table in reversed(tables):
        missing |= table.missing
        chance |= table.chance
    # A dict, because its keys keep their order.
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

    Accuracies are fractions. `low` and `high` are the limits of the interval.
    """
    model: str
    benchmark: str
    observed: float
    predicted: float
    low: float
    high: float

    @property
    def distance(self) -> float:
        """How far the observed accuracy is away, in units of the interval.

        It is the observed minus the predicted accuracy, divided by the width
        of the interval between the prediction and the limit on the side of the
        observed accuracy. It is infinite if this width is 0 and the
        accuracies differ.
        """
        difference = self.observed - self.predicted
        if difference > 0:
            width = self.high - self.predicted
        else:
            width = self.predicted - self.low
        if width:
            return difference / width
        return math.copysign(math.inf, difference) if difference else 0.0


def farthest_first(misses: Iterable[Miss]) -> list[Miss]:
    """Return the misses, the one with the largest distance first."""
    return sorted(misses, key=lambda miss: -abs(miss.distance))


def misses(predictions: Predictions) -> list[Miss]:
    """Return observed accuracies outside of intervals, the farthest first.

    Predictions are by the first method. `Predictions.widened_intervals`
    returns the intervals. Training models are left out.
    """
    method = predictions.methods[0]
    values = predictions.values[:, :, 0]
    low, high = predictions.widened_intervals(method)
    held_out = predictions.held_out(method)
    found = []
    for m, b in np.argwhere(held_out):
        cell = m, b
        miss = Miss(
            model=predictions.models[m],
            benchmark=predictions.benchmarks[b],
            observed=predictions.observed[cell].item(),
            predicted=values[cell].item(),
            low=low[cell].item(),
            high=high[cell].item())
        if abs(miss.distance) > 1:
            found.append(miss)
    return farthest_first(found)
