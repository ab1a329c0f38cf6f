"""Numbers by model and column, in CSV, Parquet or safetensors files.

The ending of a file's name tells its format. Whatever the format, the same
numbers are refused, with the file and the place.
"""
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.io.csv_rows import decimals, each_row, read_rows
from csv_plugin.io.files import FilePath, read_bytes, read_text
from csv_plugin.io.parquet_tables import read_numbers
from csv_plugin.io.safetensors_files import read_floats

#: What names the rows and the columns of a tensor, in its folder.
MODELS, UNITS = 'models.csv', 'units.txt'


@dataclass(frozen=True, eq=False)
class ModelColumns:
    """A table with one row of numbers per model.

    Args:
        models (tuple[str, ...]): Unique names of M models.
        columns (tuple[str, ...]): Unique names of K units of text, or of B
            benchmarks.
        values (NDArray): Losses on the units, in whatever unit the file
            has, shape `(M, K)`; or accuracies in 0..1, NaN where a model
            was not run on a benchmark, shape `(M, B)`.
    """
    models: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]

    def select(self, columns: Sequence[str],
               where: FilePath) -> 'ModelColumns':
        """The given columns, in the given order.

        Args:
            columns (Sequence[str]): Names.
            where (FilePath): The file, for the error.

        Raises:
            InputError: The table lacks one of them.
        """
        place = {name: k for k, name in enumerate(self.columns)}
        for name in columns:
            if name not in place:
                raise InputError(
                    os.fspath(where), f'the {len(columns)} columns that are '
                    'needed', f'none of {name!r}',
                    'Add it, or fit to the columns that are there.')
        places = [place[name] for name in columns]
        return ModelColumns(self.models, tuple(columns),
                            np.take(self.values, places, axis=1))


@dataclass(frozen=True)
class Quantity:
    """What the numbers of a table are: finite, 0 or more, and perhaps less.

    Args:
        name (str): With the range, for errors.
        most (float): The largest number.
        optional (bool): Whether a number may be missing.
        too_small (str): What to do about a negative number.
        too_large (str): What to do about a number above the largest.
        tensor (str): Name of the tensor in safetensors files; empty if they
            cannot hold the table.
    """
    name: str
    most: float
    optional: bool
    too_small: str
    too_large: str
    tensor: str = ''

    def refused(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of the numbers cannot be; NaN is one of them."""
        return ~((0 <= numbers) & (numbers <= self.most))

    def fault(self, number: float, not_finite: str) -> tuple[str, str]:
        """What was expected in the place of a number, and what to do.

        Args:
            number (float): One that cannot be.
            not_finite (str): What to do if it is not finite.
        """
        if not np.isfinite(number):
            return 'a finite number', not_finite
        return self.name, self.too_small if number < 0 else self.too_large


def read_model_columns(path: FilePath,
                       quantity: Quantity,
                       models: Optional[FilePath] = None) -> ModelColumns:
    """Read a table of numbers, in the format of its name's ending.

    Args:
        path (FilePath): A CSV or Parquet file with a column `model` and
            others of numbers; or a safetensors file with a tensor `(M, K)`,
            beside `units.txt`, the K names of its columns, one a line.
        quantity (Quantity): What the numbers are.
        models (Optional[FilePath]): A CSV file with a column `model`, in the
            order of the tensor's rows; by default `models.csv` beside it.
            Files of other formats do not need it.

    Raises:
        InputError: The name has another ending, the file is not such a
            table, or a number cannot be.
    """
    file = os.fspath(path)
    ending = Path(file).suffix.lower()
    if ending == '.csv':
        return _of_csv(file, quantity)
    if ending == '.parquet':
        return _checked(file, quantity, *_of_parquet(file))
    if ending == '.safetensors' and quantity.tensor:
        return _checked(file, quantity, *_of_tensor(file, quantity, models))
    endings = '.csv, .parquet or .safetensors' if quantity.tensor else (
        '.csv or .parquet')
    raise InputError(file, f'a name that ends in {endings}', ending
                     or 'no ending', 'Write the table in such a format.')


def _of_csv(file: str, quantity: Quantity) -> ModelColumns:
    models, values = [], []
    columns: tuple[str, ...] = ()
    for row in each_row(file, ('model', )):
        cells = dict(row.cells)
        models.append(cells.pop('model'))
        columns = tuple(cells)
        numbers = np.array(decimals(list(cells.values())))
        refused = quantity.refused(numbers)
        if quantity.optional:
            refused &= [cell != '' for cell in cells.values()]
        for k in np.flatnonzero(refused):
            raise row.error(
                columns[k],
                *quantity.fault(
                    numbers[k],
                    'Write it with a decimal point, such as 0.25.'))
        values.append(numbers)
    if not columns:
        raise InputError(f'{file}, line 1', "a column besides 'model'",
                         "only 'model'", 'Add one column per text or '
                         'benchmark.')  # yapf: disable
    return ModelColumns(tuple(models), columns, np.array(values))


_Table = tuple[Sequence[str], Sequence[str], NDArray[np.float64]]


def _of_parquet(file: str) -> _Table:
    names, columns, values = read_numbers(file, read_bytes(file), 'model')
    if not names or not columns:
        raise InputError(file, "a row or more, and a column besides 'model'",
                         f'{len(names)} rows, {len(columns)} such columns',
                         'Add one row per model, one column per text or '
                         'benchmark.')  # yapf: disable
    places = {
        f'row {number}': name or ''
        for number, name in enumerate(names, start=1)
    }
    return _names(file, places), columns, values


def _of_tensor(file: str, quantity: Quantity,
               models: Optional[FilePath]) -> _Table:
    values = read_floats(file, read_bytes(file), quantity.tensor)
    table, units = models or _beside(file, MODELS), _beside(file, UNITS)
    names = [row.cells['model'] for row in read_rows(table, ('model', ))]
    lines = read_text(units).removesuffix('\n').split('\n')
    columns = _names(
        units, {
            f'line {number}': line.strip()
            for number, line in enumerate(lines, start=1)
        })
    expected = len(names), len(columns)
    if values.shape != expected:
        raise InputError(
            f'{file}, {quantity.tensor!r}', f'a tensor of shape {expected}: '
            f'the models of {os.fspath(table)}, the lines of {units}',
            f'the shape {values.shape}', 'Name every row and every column.')
    return names, columns, values


def _beside(file: str, name: str) -> str:
    """A file in the same folder, which must be there."""
    path = Path(file).with_name(name)
    if not os.path.exists(path):
        raise InputError(
            str(path), f'a file beside {Path(file).name} that names its '
            f'{"rows" if name == MODELS else "columns"}', 'none',
            'docs/formats.md describes it.')
    return str(path)


def _names(file: str, places: Mapping[str, str]) -> list[str]:
    """Names by their places, if each is there once."""
    first: dict[str, str] = {}
    for place, name in places.items():
        if not name:
            raise InputError(f'{file}, {place}', 'a name', 'none',
                             'Write it there, or take the place away.')
        if first.setdefault(name, place) != place:
            raise InputError(
                f'{file}, {place}', 'a name that stands nowhere '
                'before', repr(name), f'It is that of '
                f'{first[name]}: remove one of the two.')
    return list(places.values())


def _checked(file: str, quantity: Quantity, models: Sequence[str],
             columns: Sequence[str], values: NDArray) -> ModelColumns:
    refused = quantity.refused(values)
    if quantity.optional:
        refused &= ~np.isnan(values)
    for m, k in np.argwhere(refused):
        expected, remedy = quantity.fault(
            values[m, k], 'Leave the model or the column out.')
        raise InputError(f'{file}, model {models[m]!r}, column {columns[k]!r}',
                         expected, f'{values[m, k]}', remedy)
    return ModelColumns(tuple(models), tuple(columns), values)
