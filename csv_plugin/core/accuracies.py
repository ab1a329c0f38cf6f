"""Observed benchmark accuracies, with chance levels and item counts."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import compress
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.arrays import Floats, Integers
from csv_plugin.core.conventions import (InputError, PublicNames, check_list,
                                         check_type, check_unique)
from csv_plugin.core.measured import Measured


@dataclass(frozen=True, eq=False)
class AccuracyTable(PublicNames):
    """Observed accuracies of M models on B benchmarks.

    Lists may be given in place of tuples and arrays. Names of models are
    unique, and so are names of benchmarks. `values`, `(M, B)`, are accuracies
    in 0..1, NaN where a model was not run on a benchmark. `chance`, `(B,)`, is
    the accuracy at random guessing, in [0, 1). `n_items`, `(B,)`, is the
    number of items of each benchmark, 0 where it is unknown. `measured` says
    how imported accuracies were measured; it may contain records of models
    that are not in the table. Means over benchmarks leave out the benchmarks
    named in `outside_means`.

    Raises:
        InputError: A name occurs twice, a shape does not fit the names, or a
            number is out of range.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    values: Floats
    chance: Floats
    n_items: Integers
    measured: tuple[Measured, ...] = ()
    outside_means: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in ('models', 'benchmarks'):
            names = getattr(self, field)
            check_list(f'AccuracyTable.{field}', names)
            check_unique(f'AccuracyTable.{field}', names)
            object.__setattr__(self, field, tuple(names))
        n_models = len(self.models)
        n_benchmarks = len(self.benchmarks)
        shapes = {
            'values': (n_models, n_benchmarks),
            'chance': (n_benchmarks, ),
            'n_items': (n_benchmarks, )
        }
        for field, shape in shapes.items():
            where = f'AccuracyTable.{field}'
            given = getattr(self, field)
            array = _numbers(where, given)
            if array.shape != shape:
                raise InputError(
                    where, f'shape {shape}', str(array.shape),
                    'Give one row per model and one column per benchmark.')
            object.__setattr__(self, field, array)
        self._check_numbers()

    def column(self, benchmark: str) -> Floats:
        """Return the accuracies of all models on one benchmark, `(M,)`.

        They are NaN for models that were not run on it.
        """
        index = position('benchmarks', benchmark, self.benchmarks)
        return self.values[:, index]

    def select(self,
               models: Optional[Sequence[str]] = None,
               benchmarks: Optional[Sequence[str]] = None) -> 'AccuracyTable':
        """Return a table of the given models and benchmarks, in this order.

        By default, it has all models and all benchmarks. Raises an
        `InputError` if a name is not in the table, or is given twice.
        """
        if models is None:
            models = self.models
        if benchmarks is None:
            benchmarks = self.benchmarks
        axes = {'models': models, 'benchmarks': benchmarks}
        for axis, names in axes.items():
            own_names = getattr(self, axis)
            check_list(axis, names)
            unknown = {*names} - {*own_names}
            for name in sorted(unknown):
                # This raises an error that suggests other names.
                position(axis, name, own_names)
        return self.reindexed(models, benchmarks)

    def reindexed(self, models: Sequence[str],
                  benchmarks: Sequence[str]) -> 'AccuracyTable':
        """Return a table of the given models and benchmarks, in this order.

        Names may be missing from this table. Their accuracies are NaN, and
        the chance level and the number of items of a missing benchmark are 0.
        """
        rows = indices_of(models, self.models)
        columns = indices_of(benchmarks, self.benchmarks)
        # Names that are missing have the index -1, which selects an added last
        # row or column of NaN.
        values = np.asarray(self.values, np.float64)
        padded = np.pad(values, (0, 1), constant_values=np.nan)
        cells = np.ix_(rows, columns)
        chance = np.append(self.chance, 0)
        n_items = np.append(self.n_items, 0)
        return replace(
            self,
            models=tuple(models),
            benchmarks=tuple(benchmarks),
            values=padded[cells],
            chance=chance[columns],
            n_items=n_items[columns])

    @property
    def main(self) -> tuple[str, ...]:
        """Return the benchmarks that count in means over benchmarks."""
        outside = self.outside_means
        return tuple(name for name in self.benchmarks if name not in outside)

    @property
    def benchmarks_run(self) -> tuple[str, ...]:
        """Return the benchmarks on which at least one model was run."""
        was_run = ~np.isnan(self.values)
        any_ran = was_run.any(axis=0)
        return tuple(compress(self.benchmarks, any_ran))

    def to_dict(self) -> dict[str, dict[str, Optional[float]]]:
        """Return `{model: {benchmark: accuracy}}`, None where not run."""
        rows = self.values.astype(object)
        was_not_run = np.isnan(self.values)
        rows[was_not_run] = None
        found = {}
        for model, row in zip(self.models, rows):
            by_benchmark = zip(self.benchmarks, row)
            found[model] = dict(by_benchmark)
        return found

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per model.

        The package pandas must be installed.
        """
        import pandas
        return pandas.DataFrame(self.values, self.models, self.benchmarks)

    def __repr__(self) -> str:
        n_models, n_benchmarks = self.values.shape
        known = ~np.isnan(self.values)
        n_known = np.count_nonzero(known)
        return (f'AccuracyTable({n_models} models x {n_benchmarks} '
                f'benchmarks, {n_known} accuracies)')

    def _check_numbers(self) -> None:
        """Raise an `InputError` for a number that is out of range."""
        values = self.values
        chance = self.chance
        n_items = self.n_items
        is_fraction = (0 <= values) & (values <= 1)
        is_accuracy = is_fraction | np.isnan(values)
        is_chance = (0 <= chance) & (chance < 1)
        is_whole = n_items == np.rint(n_items)
        is_count = is_whole & (n_items >= 0)
        self._refuse('accuracy', values, ~is_accuracy,
                     'a number in 0..1 or NaN',
                     'Divide percentages by 100; NaN stands for "not run".')
        self._refuse(
            'chance level', chance, ~is_chance, 'a number in 0..1, below 1',
            'Divide percentages by 100. With k answers to choose '
            'from, the chance level is 1/k.')
        self._refuse('number of items', n_items, ~is_count,
                     'a whole number, 0 or more', 'Use 0 where it is unknown.')

    def _refuse(self, what: str, numbers: NDArray, is_wrong: NDArray,
                expected: str, remedy: str) -> None:
        """Raise an `InputError` for the first wrong number, if there is one.

        `numbers` and the mask `is_wrong` are `(M, B)` or `(B,)`. `what` is how
        the error calls such a number.
        """
        if not is_wrong.any():
            return
        first = np.argwhere(is_wrong)[0]
        # Accuracies are `(M, B)`. Chance levels and numbers of items are
        # `(B,)`, so they belong to no model.
        *row, column = first.tolist()
        where = what
        if row:
            model = self.models[row[0]]
            where += f' of {model!r}'
        benchmark = self.benchmarks[column]
        number = numbers[tuple(first)]
        raise InputError(f'{where} on {benchmark!r}', expected, f'{number:g}',
                         remedy)


def check_accuracies(where: str, given: object) -> None:
    """Raise an `InputError` if an argument is no `AccuracyTable`."""
    check_type(where, given, AccuracyTable, 'an AccuracyTable',
               'Make one, or read one with read_accuracies(...).')


def _numbers(where: str, values: ArrayLike) -> NDArray:
    """Return an array of the values, to check its shape and numbers.

    Integers and floats keep their type. Other values, such as None (which
    becomes NaN), are converted to floats; `where` is what the error calls
    them if that fails.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in 'iuf':
            return array
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(where, 'an array of numbers', str(error),
                         'Give NaN in place of a missing number.') from error


def indices_of(names: Iterable[str], axis: Sequence[str]) -> list[int]:
    """Return the index of each name in `axis`, -1 for a missing name."""
    index_by_name = {name: i for i, name in enumerate(axis)}
    return [index_by_name.get(name, -1) for name in names]


def position(axis: str, name: str, names: Sequence[str]) -> int:
    """Return the index of `name` in `names`.

    `axis` says what the names are, such as 'models'. Raises an `InputError`
    that suggests similar names if the name is missing.
    """
    if name not in names:
        nearest = get_close_matches(name, names, cutoff=0)
        listed = ', '.join(nearest) or 'none'
        raise InputError(axis, f'one of the {axis} of the table', repr(name),
                         f'Nearest names: {listed}.')
    return names.index(name)
