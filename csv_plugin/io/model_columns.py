"""Numbers by model and column, in CSV, Parquet or safetensors files.

The ending of a file's name tells its format. Whatever the format, the same
numbers are refused, with the file and the place.
"""
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.io.containers import metadata_of
from csv_plugin.io.csv_rows import decimals, read_rows
from csv_plugin.io.files import FilePath, read_bytes, read_text
from csv_plugin.io.json_files import check_fields, parse_json
from csv_plugin.io.parquet_tables import read_numbers

#: What names the rows and the columns of a tensor, in its folder.
ROWS, UNITS = 'models.txt', 'units.txt'
#: The table whose order the rows have if nothing else names them.
MODELS = 'models.csv'
#: What names the rows in the tensor's own metadata: a JSON list.
ROWS_KEY = 'models'
#: How to name rows and columns of a tensor.
_HOW_TO_NAME = 'docs/formats.md says how rows and columns are named.'
#: Types of floating-point numbers by their names in safetensors files. Those
#: of BF16 are the upper halves of numbers of 32 bits.
_FLOATS = {'F64': '<f8', 'F32': '<f4', 'F16': '<f2', 'BF16': '<u2'}


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
        check_list('columns', columns)
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
        absent (str): What to do where there is no number.
        too_small (str): What to do about a negative number.
        too_large (str): What to do about a number above the largest.
        tensor (str): Name of the tensor in safetensors files; empty if they
            cannot hold the table.
    """
    name: str
    most: float
    optional: bool
    absent: str
    too_small: str
    too_large: str
    tensor: str = ''

    def refused(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of the numbers cannot be; NaN is one of them."""
        return ~((0 <= numbers) & (numbers <= self.most))

    def remedy(self, number: float) -> str:
        """What to do about a number that cannot be; NaN is one of them."""
        if not np.isfinite(number):
            return self.absent
        return self.too_small if number < 0 else self.too_large


def read_model_columns(path: FilePath, quantity: Quantity) -> ModelColumns:
    """Read a table of numbers, in the format of its name's ending.

    Args:
        path (FilePath): A CSV or Parquet file with a column `model` and
            others of numbers; or a safetensors file with a tensor `(M, K)`,
            beside `units.txt`, the K names of its columns, one a line. Its
            rows are named by the JSON list `models` in its metadata, by
            `models.txt` beside it, one a line, or by `models.csv` beside
            it, of which a warning tells.
        quantity (Quantity): What the numbers are.

    Raises:
        InputError: The name has another ending, the file is not such a
            table, or a number cannot be.
    """
    file = os.fspath(path)
    ending = Path(file).suffix.lower()
    if ending == '.csv':
        return _checked(file, quantity, *_of_csv(file, quantity))
    if ending == '.parquet':
        return _checked(file, quantity, *_of_parquet(file))
    if ending == '.safetensors' and quantity.tensor:
        return _checked(file, quantity, *_of_tensor(file, quantity.tensor))
    endings = '.csv, .parquet or .safetensors' if quantity.tensor else (
        '.csv or .parquet')
    raise InputError(file, f'a name that ends in {endings}', ending
                     or 'no ending', 'Write the table in such a format.')


_Table = tuple[Sequence[str], Sequence[str], NDArray[np.float64]]


def _of_csv(file: str, quantity: Quantity) -> _Table:
    rows = read_rows(file, ('model', ))
    models = [row.cells['model'] for row in rows]
    columns = [name for name in rows[0].cells if name != 'model']
    if not columns:
        raise InputError(f'{file}, header', "a column besides 'model'", 'none',
                         'Add one column per text or benchmark.')
    values = np.array(
        [decimals([row.cells[name] for name in columns]) for row in rows])
    # NaN stands for an empty cell; other cells that are no number are wrong.
    for m, k in np.argwhere(np.isnan(values)):
        if rows[m].cells[columns[k]]:
            raise rows[m].error(columns[k], quantity.name, quantity.absent)
    return models, columns, values


def _of_parquet(file: str) -> _Table:
    names, columns, values = read_numbers(file, 'model')
    if not names or not columns:
        raise InputError(file, "a row or more, and a column besides 'model'",
                         f'{len(names)} rows, {len(columns)} such columns',
                         'Add one row per model, one column per text or '
                         'benchmark.')  # yapf: disable
    return _names(f'{file}, models', names), columns, values


def _of_tensor(file: str, tensor: str) -> _Table:
    data = read_bytes(file)
    values = _floats(file, data, tensor)
    metadata = metadata_of(data)
    if ROWS_KEY in metadata:
        source = f'{file}, metadata {ROWS_KEY!r}'
        names = parse_json(metadata[ROWS_KEY], source, _HOW_TO_NAME)
        check_fields(source, 'it', {ROWS_KEY: names},
                     {ROWS_KEY: 'a list of texts'}, _HOW_TO_NAME)
        names = _names(source, names)
    elif Path(file).with_name(ROWS).exists():
        source = str(Path(file).with_name(ROWS))
        names = _lines(source)
    else:
        source = str(Path(file).with_name(MODELS))
        names = [row.cells['model'] for row in read_rows(source, ('model', ))]
        warnings.warn(
            f'{file} does not name its models: its rows were taken in the '
            f'order of {source}. Name them in {ROWS} beside it, one a line.',
            stacklevel=2)
    units = str(Path(file).with_name(UNITS))
    columns = _lines(units)
    expected = len(names), len(columns)
    if values.shape != expected:
        raise InputError(
            f'{file}, {tensor!r}', f'a tensor of shape {expected}: the models '
            f'of {source}, the lines of {units}', f'the shape {values.shape}',
            'Name every row and every column.')
    return names, columns, values


def _floats(file: str, data: bytes, name: str) -> NDArray[np.float64]:
    """One tensor of floating-point numbers; others are ignored."""
    try:
        tensors = dict(deserialize(data))
    except (SafetensorError, ValueError) as error:
        raise InputError(file, 'a readable safetensors file', f'{error}',
                         'Fetch an intact copy.') from error
    if name not in tensors:
        raise InputError(file, f'a tensor {name!r}',
                         ', '.join(sorted(tensors))[:200] or 'none',
                         'Rename the tensor.')
    kind, shape = (tensors[name][part] for part in ('dtype', 'shape'))
    if kind not in _FLOATS:
        raise InputError(f'{file}, {name!r}',
                         f'numbers of a type of {", ".join(_FLOATS)}', kind,
                         'Write it as float32.')
    numbers = np.frombuffer(tensors[name]['data'], _FLOATS[kind])
    if kind == 'BF16':
        numbers = (numbers.astype('<u4') << 16).view('<f4')
    return numbers.astype(np.float64).reshape(shape)


def _lines(file: str) -> list[str]:
    """Names that stand in a file beside a tensor, one a line."""
    if not os.path.exists(file):
        raise InputError(file, 'a file that names rows or columns', 'none',
                         _HOW_TO_NAME)
    lines = read_text(file).removesuffix('\n').split('\n')
    return _names(file, [line.strip() for line in lines])


def _names(source: str, names: Sequence[Optional[str]]) -> list[str]:
    """Names that are there, each once."""
    given = [name for name in names if name]
    if len(given) < len(names):
        raise InputError(source, 'names without a gap',
                         f'only {len(given)} of {len(names)}',
                         'Write it there, or take the place away.')
    check_unique(source, given)
    return given


def _checked(file: str, quantity: Quantity, models: Sequence[str],
             columns: Sequence[str], values: NDArray) -> ModelColumns:
    refused = quantity.refused(values)
    if quantity.optional:
        refused &= ~np.isnan(values)
    for m, k in np.argwhere(refused):
        raise InputError(f'{file}, model {models[m]!r}, column {columns[k]!r}',
                         quantity.name, f'{values[m, k]:g}',
                         quantity.remedy(values[m, k]))
    return ModelColumns(tuple(models), tuple(columns), values)
