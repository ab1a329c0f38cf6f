"""Read and write CSV tables, such as tables of models and benchmarks.

Errors name the line and the column.
"""
import csv
import io
import math
import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Optional

from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.core.escaping import (csv_cell, did_you_mean, from_csv_cell,
                                      same_look)
from csv_plugin.core.formatting import first_names, shortened
from csv_plugin.io.files import FilePath, atomic_path, read_text

#: Remedy in errors about cells that are not numbers.
DIGITS = ('Write digits alone, such as 1172, 0.25 or 2e12: no unit, % or '
          'comma.')


@dataclass(frozen=True)
class ModelInfo:
    """Family, split and size of a model.

    Cross-validation never separates models of the same family. `split` is any
    name, such as 'train', 'validation' or 'test', or empty. `params_b` is the
    number of parameters in billions, and `tokens` the number of tokens that
    the model was trained on; either is NaN where it is unknown.
    """
    family: str
    split: str
    params_b: float
    tokens: float = math.nan


#: Maps models to their family, split and size.
Infos = Mapping[str, ModelInfo]


@dataclass(frozen=True)
class BenchmarkInfo:
    """Chance level and number of items of a benchmark.

    `chance` is the accuracy of guessing, at least 0 and below 1. `n_items` is
    0 where it is unknown. `main` is False if means over benchmarks leave this
    benchmark out.
    """
    chance: float
    n_items: int
    main: bool = True


def decimal(text: str) -> float:
    """Return the number that the whole text states, or NaN if it is no number.

    >>> decimal('-2.5e1'), decimal('1_000'), decimal('25%')
    (-25.0, nan, nan)
    """
    # `float` would also accept 1_000 and digits of other scripts.
    if not text.isascii() or '_' in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


@dataclass(frozen=True)
class CsvRow:
    """One row of a CSV file: its line number, and its cells by column."""
    path: str
    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return the text of a cell, or raise `InputError` if it is empty."""
        if not self.cells[column]:
            raise self.error(column, 'some text', 'Fill the cell in.')
        return self.cells[column]

    def number(self, column: str, empty: Optional[float] = None) -> float:
        """Return the finite number in a cell, or raise `InputError`.

        If `empty` is given, it is returned for an empty cell or a missing
        column.
        """
        if empty is not None and not self.cells.get(column):
            return empty
        number = decimal(self.cells[column])
        if not math.isfinite(number):
            expected = 'a finite number'
            remedy = DIGITS
            if empty is not None:
                expected += ' or an empty cell'
                remedy += ' Leave the cell empty where it is unknown.'
            raise self.error(column, expected, remedy)
        return number

    def error(self,
              column: str,
              expected: str,
              remedy: str,
              more: str = '') -> InputError:
        """Return the error for a cell.

        `more` is text about further cells with the same error.
        """
        cell = self.cells[column]
        found = repr(cell) if cell else 'an empty cell'
        return InputError(f'{self.path}, {self.place(column)}', expected,
                          found + more, remedy)

    def place(self, column: str) -> str:
        """Return where a cell is in the file."""
        return f'line {self.line}, column {column!r}'


def read_rows(path: FilePath, columns: Sequence[str]) -> list[CsvRow]:
    """Read a CSV file in UTF-8 with a header and at least one row.

    The file must have the given columns and may have further columns. The
    first given column is the key: its cells must not be empty, and no text may
    occur in it twice. Spreadsheets leave rows without any text, and empty
    columns at the end; both are skipped.
    """
    file = os.fspath(path)
    key = columns[0]
    records = _records(file)
    if not records:
        raise InputError(file, 'a table with a header', 'an empty file',
                         f'Write a header and one row per {key}.')
    _, names = records[0]
    header = _header(f'{file}, header', names, columns)
    if len(records) < 2:
        raise InputError(file, 'a row', 'none',
                         f'Add one row per {key} below the header.')
    n_columns = len(header)
    first_line: dict[str, int] = {}
    rows = []
    for line, cells in records[1:]:
        if len(cells) < n_columns or any(cells[n_columns:]):
            raise InputError(
                f'{file}, line {line}', f'{n_columns} cells, as in the header',
                str(len(cells)),
                'Leave no cell out and quote cells that contain commas.')
        row = CsvRow(file, line, dict(zip(header, cells)))
        earlier = first_line.setdefault(row.text(key), line)
        if earlier != line:
            raise row.error(
                key, f'a {key} that no earlier line has',
                f'Line {earlier} has it too: remove one of the two rows.')
        rows.append(row)
    return rows


def _header(where: str, names: list[str], columns: Sequence[str]) -> list[str]:
    """Return the names of columns, without empty names at the end.

    Raises:
        InputError: One of `columns` is missing, or a name is empty or occurs
            twice.
    """
    names = [*names]
    while names and not names[-1]:
        names.pop()
    for column in columns:
        if column not in names:
            remedy = ('Add it, and separate columns by commas, not by '
                      'semicolons or tabs.')
            near = [n for n in names if same_look(n) == same_look(column)]
            if near:
                remedy = f'Rename {near[0]!r}.'
            raise InputError(where, f'a column {column!r}',
                             repr(','.join(names)[:80]), remedy)
    if '' in names:
        raise InputError(where, 'a name for every column',
                         f'none for column {names.index("") + 1}',
                         'Name the column, or remove it.')
    check_unique(where, names)
    return names


def _records(file: str) -> list[tuple[int, list[str]]]:
    """Return the line number and the stripped cells of every row with text.
    """
    text = read_text(file)
    # Unescaping is slow on millions of cells, and seldom needed.
    has_escapes = "'" in text
    reader = csv.reader(io.StringIO(text, newline=''), strict=True)
    line = 1
    records = []
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if has_escapes:
                cells = list(map(from_csv_cell, cells))
            if any(cells):
                records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f'{file}, line {line}', 'comma-separated cells', str(error),
            'Close every quotation mark; double those inside a cell.'
        ) from error
    return records


def split_name(text: str) -> str:
    """Return the name of a split; 'val' is short for 'validation'."""
    return 'validation' if text == 'val' else text


def read_models(path: FilePath) -> dict[str, ModelInfo]:
    """Read a table with the columns `model` and `family`.

    The columns `split`, `params_b` and `tokens` may be missing or have empty
    cells. The split `val` means `validation`. The result has the models in the
    order of the file.
    """
    models = {}
    for row in read_rows(path, ('model', 'family')):
        sizes = {}
        for column in ('params_b', 'tokens'):
            size = row.number(column, math.nan)
            if size <= 0:
                raise row.error(column, 'a number above 0',
                                'Leave the cell empty where it is unknown.')
            sizes[column] = size
        name = row.cells['model']
        split = split_name(row.cells.get('split', ''))
        models[name] = ModelInfo(row.text('family'), split, **sizes)
    return models


def read_benchmarks(path: FilePath) -> dict[str, BenchmarkInfo]:
    """Read a table with the columns `benchmark`, `chance` and `n_items`.

    An empty cell of `n_items` means that the number is unknown. In the column
    `main`, 0 says that means over benchmarks leave the benchmark out. Without
    this column, or if its cell is empty, the benchmark is in the means. The
    result has the benchmarks in the order of the file.
    """
    benchmarks = {}
    for row in read_rows(path, ('benchmark', 'chance', 'n_items')):
        chance = row.number('chance')
        n_items = row.number('n_items', 0)
        main = row.cells.get('main') or '1'
        if not 0 <= chance < 1:
            raise row.error(
                'chance', 'a chance level in 0..1, below 1',
                'With k choices it is 1/k; divide percentages by 100.')
        if n_items != int(n_items) or not 0 <= n_items < 2**53:
            raise row.error('n_items', 'a whole number, 0 or more',
                            'Leave the cell empty where it is unknown.')
        if main not in ('0', '1'):
            raise row.error('main', '1 or 0',
                            'Write 0 to leave the benchmark out of means.')
        name = row.cells['benchmark']
        is_main = main == '1'
        benchmarks[name] = BenchmarkInfo(chance, int(n_items), is_main)
    return benchmarks


def check_names_in(path: FilePath, kind: str, names: Collection[str],
                   other_path: FilePath, known: Collection[str]) -> None:
    """Raise an `InputError` if a file has names that another file lacks.

    `names` are in the file `path`, and `known` are in the file `other_path`.
    `kind` is what the names name, such as 'models'.
    """
    missing = [name for name in names if name not in known]
    if missing:
        listed = ', '.join(map(repr, missing))
        raise InputError(
            path, f'{kind} of {os.fspath(other_path)}', shortened(listed, 300),
            f'{did_you_mean(missing, known)}Add them to '
            f'{os.fspath(other_path)}, or remove them from '
            f'{os.fspath(path)}.')


def _splits_of(models: Sequence[str], info: Infos) -> set[str]:
    """Return the splits of some models."""
    return {info[model].split for model in models}


def models_in(splits: Sequence[str],
              models: Sequence[str],
              info: Mapping[str, ModelInfo],
              where: str = 'models') -> tuple[str, ...]:
    """Return the models that are in one of the splits, in the given order.

    `where` is what the error for a split without models calls the table of
    models, and perhaps the option with the splits.
    """
    check_list('splits', splits)
    present = _splits_of(models, info) - {''}
    for split in splits:
        if split not in present:
            also = " (or 'val')" if split == split_name('val') else ''
            found = 'no split of any model'
            remedy = 'Add a column split with the split of each model'
            if present:
                found = f'only the splits {", ".join(sorted(present))}'
                remedy = 'Name one or several of these splits'
            raise InputError(
                where, f'models in split {split!r}{also}', found,
                f'{remedy}. With tables and no model to hold out, use '
                'salience fit --leave-family-out.')
    return tuple(model for model in models if info[model].split in splits)


def models_to_fit(splits: Sequence[str],
                  models: Sequence[str],
                  info: Mapping[str, ModelInfo],
                  predicted: Sequence[str] = (),
                  where: str = 'models') -> tuple[str, ...]:
    """Return the models of `splits`, to which a predictor is fitted.

    Without `splits`, they are all splits but 'test' and the splits in
    `predicted`. `where` is as in `models_in`. A warning names models without a
    split beside others with a split.
    """
    present = _splits_of(models, info)
    without = [model for model in models if not info[model].split]
    if 0 < len(without) < len(models):
        warnings.warn(
            f'{where}: models with an empty cell in the column split are left '
            f'out: {first_names(without)}.',
            stacklevel=2)
    rest = sorted(present - {'', 'test', *predicted})
    if not (splits or rest) and 'train' in predicted:
        raise InputError(
            where, 'some to fit to, by default neither of split test nor '
            f'of {", ".join(predicted)}', 'none',
            'Name splits to fit to, or predict fewer.')
    return models_in(splits or rest or ('train', ), models, info, where)


def write_csv(path: FilePath, header: Sequence[str],
              rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file; it appears completely or not at all.

    Floats are written with all their digits, and NaN as an empty cell.
    `csv_cell` says how texts are written.
    """
    # File names that are not Unicode cannot be encoded, so they are escaped.
    with atomic_path(path) as temporary, temporary.open(
            'w', encoding='utf-8', errors='backslashreplace',
            newline='') as file:
        plain = csv.writer(file, lineterminator='\n')
        quoted = csv.writer(file, lineterminator='\n', quoting=csv.QUOTE_ALL)
        for row in chain([header], rows):
            cells = list(map(_cell, row))
            # Before Python 3.13, `csv` does not quote cells because of a
            # carriage return, so all cells of such a row are quoted.
            has_return = '\r' in ''.join(map(str, cells))
            writer = quoted if has_return else plain
            writer.writerow(cells)


def _cell(value: object) -> object:
    """Return a value as it is written into a CSV file."""
    if isinstance(value, str):
        return csv_cell(value)
    # Only NaN, of any float type, differs from itself.
    return '' if value != value else value
