"""Tables: losses and accuracies of models, families, and benchmarks.

A CSV file is UTF-8 with a header. The readers take columns in any order and
raise `InputError` with the file, line, column and text of the wrong cell.
Losses and accuracies may be in files of other formats too.
"""
import csv
import math
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import csv_cell
from csv_plugin.io.csv_rows import CsvRow, read_rows
from csv_plugin.io.files import FilePath, atomic_path
from csv_plugin.io.model_columns import (ModelColumns, Quantity,
                                         read_model_columns)

_LOSSES = Quantity('a loss of 0 or more', float(np.finfo(np.float64).max),
                   False, 'Leave the model or the column out.',
                   'Losses are -log p: change the sign of log-likelihoods.',
                   '', 'losses')
#: Losses that differ by no more are the same.
_SAME = 1e-9
_NOT_RUN = 'Leave the cell empty if the benchmark was not run.'
_ACCURACIES = Quantity(
    'an accuracy in 0..1', 1, True, _NOT_RUN, _NOT_RUN,
    'The accuracies of this column seem to be in percent: divide them by 100.')


@dataclass(frozen=True)
class ModelInfo:
    """Family, split and size of a model.

    Args:
        family (str): Cross-validation never separates models of one family.
        split (str): Any name, such as 'train', 'validation' or 'test'; empty
            if unknown.
        params_b (float): Parameters in billions, NaN where unknown.
        tokens (float): Tokens that it was trained on, NaN where unknown.
    """
    family: str
    split: str
    params_b: float
    tokens: float = math.nan


@dataclass(frozen=True)
class BenchmarkInfo:
    """Chance level and size of a benchmark.

    Args:
        chance (float): Accuracy of random guessing, at least 0, below 1.
        n_items (int): Number of items, 0 where unknown.
        main (bool): Whether tables of results show it.
        kind (str): The metric, such as 'accuracy'; may be empty.
    """
    chance: float
    n_items: int
    main: bool
    kind: str


def read_losses(path: FilePath) -> ModelColumns:
    """Read losses by model and unit of text.

    Args:
        path (FilePath): The file, for example `losses.csv`,
            `losses.parquet` or `losses.safetensors`; see
            `read_model_columns`.

    Returns:
        ModelColumns: Losses in the unit of the file, such as nats per token
        or bits per byte, which the file does not tell. Shape `(M, K)`.

    Raises:
        InputError: The file is not such a table, a loss is missing, not
            finite or negative, or all losses of a model are the same.
    """
    losses = read_model_columns(path, _LOSSES)
    _check_not_constant(os.fspath(path), losses)
    return losses


def _check_not_constant(file: str, losses: ModelColumns) -> None:
    """Refuse models with one loss for all of several units."""
    lowest, highest = losses.values.min(axis=1), losses.values.max(axis=1)
    n_units = len(losses.columns)
    # Some programs write 0, or next to nothing, where they fail.
    for m in np.flatnonzero((highest - lowest <= _SAME) & (n_units > 1)):
        raise InputError(
            f'{file}, model {losses.models[m]!r}',
            'losses that differ from unit to unit',
            f'{lowest[m]:g} on each of {n_units} units',
            'Its scoring failed: score it again, or leave the model out.')


def read_accuracy_columns(path: FilePath) -> ModelColumns:
    """Read accuracies: a column `model`, and one column per benchmark.

    Args:
        path (FilePath): The file, for example `scores.csv` or
            `scores.parquet`. A cell is empty where the model was not run on
            the benchmark.

    Returns:
        ModelColumns: Accuracies in 0..1, NaN where the cell is empty. Shape
        `(M, B)`.

    Raises:
        InputError: The file is not such a table, or an accuracy is not a
            number in 0..1.
    """
    return read_model_columns(path, _ACCURACIES)


def split_name(text: str) -> str:
    """The name of a split, of which one has two.

    >>> split_name('val'), split_name('seen')
    ('validation', 'seen')
    """
    return 'validation' if text == 'val' else text


def read_models(path: FilePath) -> dict[str, ModelInfo]:
    """Read `model` and `family`, and perhaps `split`, `params_b`, `tokens`.

    Args:
        path (FilePath): The file, for example `models.csv`. The columns
            `split`, `params_b` and `tokens` may be missing or have empty
            cells. Splits have any names; `val` means `validation`.

    Returns:
        dict[str, ModelInfo]: By model, in the file's order.

    Raises:
        InputError: The file is not such a table, a family is empty, or a
            size is not positive.
    """
    rows = read_rows(path, ('model', 'family'))
    return {
        row.cells['model']:
        ModelInfo(
            row.text('family'), split_name(row.cells.get('split', '')),
            _positive(row, 'params_b', 'billions of parameters'),
            _positive(row, 'tokens', 'a number of tokens'))
        for row in rows
    }


def read_benchmarks(path: FilePath) -> dict[str, BenchmarkInfo]:
    """Read the columns `benchmark`, `chance`, `n_items`, `main`, `kind`.

    Args:
        path (FilePath): The file, for example `benchmarks.csv`. An empty
            `n_items` means that the number is unknown. The columns `main`
            and `kind` may be missing; `main` is 1 by default.

    Returns:
        dict[str, BenchmarkInfo]: By benchmark, in the file's order.

    Raises:
        InputError: The file is not such a table, or a cell is out of its
            range.
    """
    rows = read_rows(path, ('benchmark', 'chance', 'n_items'))
    return {
        row.cells['benchmark']:
        BenchmarkInfo(
            _chance(row), _n_items(row), _main(row), row.cells.get('kind', ''))
        for row in rows
    }


def read_accuracies(scores_path: FilePath,
                    benchmarks_path: FilePath) -> AccuracyTable:
    """Join the accuracies of one file with the benchmarks of another.

    Args:
        scores_path (FilePath): As in `read_accuracy_columns`.
        benchmarks_path (FilePath): As in `read_benchmarks`; it may
            describe more benchmarks than the first file has.

    Returns:
        AccuracyTable: Models and benchmarks in the order of the first file.

    Raises:
        InputError: One of the files cannot be used, or a benchmark of the
            first has no row in the second.
    """
    accuracies = read_accuracy_columns(scores_path)
    info = read_benchmarks(benchmarks_path)
    for benchmark in accuracies.columns:
        if benchmark not in info:
            raise InputError(
                f'{os.fspath(scores_path)}, column {benchmark!r}',
                f'a benchmark of {os.fspath(benchmarks_path)}',
                repr(benchmark),
                'Add a row with its chance level and number of items there.')
    benchmarks = [info[benchmark] for benchmark in accuracies.columns]
    return AccuracyTable(
        accuracies.models, accuracies.columns, accuracies.values,
        np.array([benchmark.chance for benchmark in benchmarks], np.float64),
        np.array([benchmark.n_items for benchmark in benchmarks], np.int64))


def check_models_in(path: FilePath, models: Collection[str],
                    other_path: FilePath,
                    other_models: Collection[str]) -> None:
    """Refuse a file that names models which another file lacks.

    Args:
        path (FilePath): The file, for the error.
        models (Collection[str]): Models of the file.
        other_path (FilePath): The other file, for the error.
        other_models (Collection[str]): Models of the other file.

    Raises:
        InputError: The other file lacks a model.
    """
    missing = [model for model in models if model not in other_models]
    if missing:
        more = f' and {len(missing) - 1} more' if len(missing) > 1 else ''
        raise InputError(
            os.fspath(path), f'models of {os.fspath(other_path)}',
            f'{missing[0]!r}{more}', 'Add them there or remove them here.')


def with_all_models(accuracies: AccuracyTable,
                    models: Sequence[str]) -> AccuracyTable:
    """A row for each model, NaN where it was run on no benchmark.

    Args:
        accuracies (AccuracyTable): Of some of the models.
        models (Sequence[str]): M names, in the order of the rows to return.
    """
    values = np.full((len(models), len(accuracies.benchmarks)), np.nan)
    row = {model: index for index, model in enumerate(models)}
    values[[row[model] for model in accuracies.models]] = accuracies.values
    return replace(accuracies, models=tuple(models), values=values)


def write_csv(path: FilePath, header: Sequence[str],
              rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, which the functions above can read.

    The file appears whole or not at all, in UTF-8 with plain line feeds.

    Args:
        path (FilePath): The file to create or replace.
        header (Sequence[str]): Names of the columns.
        rows (Iterable[Sequence[object]]): Cells in the order of the header.
            Floats are written with all their digits, NaN as an empty cell,
            texts by `csv_cell`.

    Raises:
        InputError: The folder does not exist.
    """
    with atomic_path(path) as temporary:
        # UTF-8 cannot hold names of files that are not Unicode.
        with temporary.open(
                'w', encoding='utf-8', errors='backslashreplace',
                newline='') as file:
            plain = csv.writer(file, lineterminator='\n')
            quoted = csv.writer(
                file, lineterminator='\n', quoting=csv.QUOTE_ALL)
            for row in chain([header], rows):
                cells = list(map(_cell, row))
                # Python before 3.13 quotes no carriage return by itself.
                breaks = any('\r' in str(cell) for cell in cells)
                (quoted if breaks else plain).writerow(cells)


def _cell(value: object) -> object:
    if isinstance(value, str):
        return csv_cell(value)
    # Only NaN, of whatever float type, differs from itself.
    return '' if value != value else value


def _positive(row: CsvRow, column: str, meaning: str) -> float:
    """A number, or NaN for an empty or absent cell."""
    if not row.cells.get(column):
        return math.nan
    number = row.number(column)
    if number <= 0:
        raise row.error(column, f'{meaning}, more than 0',
                        'Leave the cell empty where it is unknown.')
    return number


def _chance(row: CsvRow) -> float:
    chance = row.number('chance')
    if not 0 <= chance < 1:
        raise row.error(
            'chance', 'a chance level in 0..1, below 1',
            'With k choices it is 1/k; divide percentages by 100.')
    return chance


def _n_items(row: CsvRow) -> int:
    if not row.cells['n_items']:
        return 0
    n_items = row.number('n_items')
    if not (n_items.is_integer() and 0 <= n_items < 2**53):
        raise row.error('n_items', 'a whole number, 0 or more',
                        'Leave the cell empty where the number is unknown.')
    return int(n_items)


def _main(row: CsvRow) -> bool:
    main = row.cells.get('main') or '1'
    if main not in ('0', '1'):
        raise row.error('main', '1 or 0', 'Use 1 to show it in tables.')
    return main == '1'
