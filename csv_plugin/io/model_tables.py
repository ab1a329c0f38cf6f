"""Read tables of losses and accuracies with one row per model.

The ending of a file's name tells its format: .csv, .parquet or, for losses,
.safetensors. docs/formats.md describes the formats.
"""
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.arrays import Booleans, Floats
from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.core.failed_scoring import check_models
from csv_plugin.core.features import FeatureTable, places_of_columns
from csv_plugin.core.formatting import first_names, shortened
from csv_plugin.core.measured import (ALIKE, METRIC, Measured, check_measured,
                                      check_weights)
from csv_plugin.io.files import FilePath, read_bytes, read_text
from csv_plugin.io.json_files import check_fields, read_json, write_json
from csv_plugin.io.loss_columns import no_accuracies, no_losses, zero_losses
from csv_plugin.io.tables import (DIGITS, BenchmarkInfo, ModelInfo,
                                  check_names_in, decimal, models_in,
                                  models_to_fit, read_benchmarks, read_models,
                                  read_rows, write_csv)

#: Names of the tables that `write_accuracies` writes.
SCORES, BENCHMARKS = 'scores.csv', 'benchmarks.csv'
#: Name of the file, in the folder of a table, that records on which weights
#: and with which settings the numbers were measured.
MEASURED = 'measured.json'
#: Remedies in errors about cells that are not numbers, such as 'N/A' or '-',
#: in tables of accuracies and in tables of losses.
_NOT_RUN = 'Leave the cell empty where the benchmark was not run.'
_NO_LOSS = 'Leave a model or a column with gaps out: no loss may be empty.'
_IMPORT_AGAIN = 'Import the numbers again, or remove the file.'


class ModelColumns(NamedTuple):
    """Names of M models and K columns, and the numbers in them, `(M, K)`.

    A number is NaN where the cell is empty.
    """
    models: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class ModelTables:
    """Losses and accuracies of M models, and facts about the models.

    `features` has one column of losses per unit, such as a text or an item,
    `(M, K)`. `accuracies` has the same models in the same order. `info` has
    the family, split and size of each model, and may have more models.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return {model: info.family for model, info in self.info.items()}

    def models_in(self,
                  *splits: str,
                  where: str = 'models') -> tuple[str, ...]:
        """Return the models of some splits, in the order of `features`.

        `where` is as in `tables.models_in`.
        """
        return models_in(splits, self.features.models, self.info, where)

    def models_to_fit(self,
                      splits: Sequence[str] = (),
                      predicted: Sequence[str] = (),
                      where: str = 'models') -> tuple[str, ...]:
        """Return the models to fit to, as `tables.models_to_fit` does."""
        return models_to_fit(splits, self.features.models, self.info,
                             predicted, where)

    def select(self,
               models: Sequence[str],
               benchmarks: Optional[Sequence[str]] = None) -> 'ModelTables':
        """Return the tables of some models, in the given order.

        The result has the given benchmarks, or all if they are None.
        """
        return replace(
            self,
            features=self.features.select(models),
            accuracies=self.accuracies.select(models, benchmarks))


def read_model_tables(losses_path: FilePath, scores_path: FilePath,
                      models_path: FilePath,
                      benchmarks_path: FilePath) -> ModelTables:
    """Read and join tables of losses, accuracies, models and benchmarks.

    `read_loss_features`, `read_accuracies` and `read_models` describe the
    formats. The result has the models with losses. A model without a row in
    the table of accuracies was run on no benchmark. A warning names benchmarks
    of the table of benchmarks without a column of accuracies.

    Raises:
        InputError: A file cannot be used, a model with losses is not in the
            table of models, a model with accuracies has no losses, or the
            records in `measured.json` state that losses and accuracies of a
            model were measured with different weights.
    """
    features = read_loss_features(losses_path)
    scores = _accuracies_alone(scores_path)
    benchmarks = read_benchmarks(benchmarks_path)
    accuracies = _joined(scores_path, scores, benchmarks_path, benchmarks)
    without_column = [
        name for name in benchmarks if name not in scores.columns
    ]
    if without_column:
        warnings.warn(
            f'{first_names(without_column)}: in {os.fspath(benchmarks_path)}, '
            f'but without a column of accuracies in {os.fspath(scores_path)}, '
            'so nothing is predicted there.',
            stacklevel=2)
    info = read_models(models_path)
    check_names_in(losses_path, 'models', features.models, models_path, info)
    check_names_in(scores_path, 'models', accuracies.models, losses_path,
                   features.models)
    measured = [*read_measured(losses_path), *read_measured(scores_path)]
    check_weights(measured)
    accuracies = accuracies.reindexed(features.models, accuracies.benchmarks)
    return ModelTables(features, accuracies, info)


def read_loss_features(path: FilePath,
                       units: Optional[Sequence[str]] = None) -> FeatureTable:
    """Read a table of losses, to fit a predictor to or to predict from.

    The table has one row per model and one column of losses per text or item.
    All losses are measured in the same unit, such as nats per token. The file
    is CSV, Parquet or safetensors, by the ending of its name; see
    docs/formats.md. `units` names the columns to keep, in this order, such as
    the columns of a predictor; by default all columns are kept, except for
    columns that cannot be losses (see `no_losses`), which a warning names.
    Another warning names the columns of zeros, which are kept.

    Raises:
        InputError: The file is not such a table, a loss is missing, not finite
            or negative, the losses of a model seem to come from a failed
            scoring (see `failed_scoring`), or a column of `units` is missing.
    """
    file = os.fspath(path)
    table = _read(file, losses=True)
    if units is None:
        reasons = no_losses(table.columns, table.values)
        table = _left_out(file, table, reasons, 'losses')
    else:
        table = _chosen(file, table, units)
    models, columns, values = table
    _refuse(file, table, values < 0, 'a loss of 0 or more',
            'Losses are -log p: change the sign of log-likelihoods.')
    _refuse(file, table, ~np.isfinite(values), 'a loss of 0 or more', _NO_LOSS)
    check_models(file, models, values)
    zeros = zero_losses(columns, values) if units is None else []
    if zeros:
        named = ', '.join(map(repr, zeros))
        warnings.warn(
            f'{file}: columns with the loss 0 for all models are kept: '
            f'{named}. If models were not scored there, remove the columns.',
            stacklevel=2)
    check_measured(measured_losses(file, models), ALIKE)
    return FeatureTable.of_losses(models, columns, values)


def _chosen(file: str, table: ModelColumns,
            units: Sequence[str]) -> ModelColumns:
    """Return the columns `units` of a table, in this order."""
    check_list('units', units)
    places = places_of_columns(file, table.columns, units)
    return ModelColumns(table.models, tuple(units), table.values[:, places])


def _left_out(file: str, table: ModelColumns, reasons: Mapping[str, str],
              content: str) -> ModelColumns:
    """Return the table without the columns in `reasons`, and warn of them.

    `content` says in the warning what the columns should be, such as 'losses'.
    """
    if not reasons:
        return table
    named: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        of_reason = named.setdefault(reason, [])
        of_reason.append(repr(name))
    parts = []
    for reason, names in named.items():
        parts.append(f'{", ".join(names)} ({reason})')
    line = '; '.join(parts)
    kept = []
    columns = []
    for k, name in enumerate(table.columns):
        if name not in reasons:
            kept.append(k)
            columns.append(name)
    if not kept:
        raise InputError(file, f'columns of {content}', f'only {line}',
                         'Add a column per text or benchmark.')
    warnings.warn(
        f'{file}: columns that cannot be {content} are left out: {line}. '
        f'Rename a column that does have {content}.',
        stacklevel=3)
    return ModelColumns(table.models, tuple(columns), table.values[:, kept])


def read_accuracy_columns(path: FilePath) -> ModelColumns:
    """Read a table of accuracies in 0..1, one column per benchmark.

    An accuracy is NaN where the cell is empty: the benchmark was not run.
    """
    file = os.fspath(path)
    return _checked_accuracies(file, _read(file, losses=False))


def _checked_accuracies(file: str, table: ModelColumns) -> ModelColumns:
    """Return a table of accuracies; raise an `InputError` if it has others."""
    is_outside = (table.values < 0) | (table.values > 1)
    remedy = 'If they are in percent, divide them by 100.'
    known = table.values[~np.isnan(table.values)]
    # Losses per token are seldom larger than this.
    largest_loss = 20
    if known.size and 1 < known.min() and known.max() < largest_loss:
        remedy += ' Or is it a table of losses?'
    _refuse(file, table, is_outside, 'an accuracy in 0..1',
            f'{remedy} {_NOT_RUN}')
    measured = measured_accuracies(file, table.models, table.columns)
    check_measured(measured, ALIKE)
    return table


def read_accuracies(scores_path: FilePath,
                    benchmarks_path: FilePath) -> AccuracyTable:
    """Read accuracies, and the chance levels of their benchmarks.

    `read_accuracy_columns` and `tables.read_benchmarks` describe the formats.
    Models and benchmarks are in the order of the table of accuracies; the
    table of benchmarks may have further benchmarks. Columns that cannot be
    accuracies (see `no_accuracies`) are left out, and a warning names them.

    Raises:
        InputError: One of the files cannot be used, or a benchmark with
            accuracies has no row in the table of benchmarks.
    """
    scores = _accuracies_alone(scores_path)
    info = read_benchmarks(benchmarks_path)
    return _joined(scores_path, scores, benchmarks_path, info)


def _joined(scores_path: FilePath, scores: ModelColumns,
            benchmarks_path: FilePath,
            info: Mapping[str, BenchmarkInfo]) -> AccuracyTable:
    """Return accuracies with the chance levels of their benchmarks."""
    check_names_in(scores_path, 'benchmarks', scores.columns, benchmarks_path,
                   info)
    kept = {name: info[name] for name in scores.columns}
    return accuracy_table(scores.models, kept, scores.values)


def read_scores_alone(path: FilePath) -> AccuracyTable:
    """Read accuracies whose chance levels and numbers of items are not known.

    Columns are read, left out or refused as in `read_accuracies`. Chance
    levels and numbers of items are set to 0.
    """
    return scores_alone(*_accuracies_alone(path))


def _accuracies_alone(path: FilePath) -> ModelColumns:
    """Read the columns of a table that may be accuracies.

    A warning names the other columns, whose values may be any numbers.
    """
    file = os.fspath(path)
    table = _read(file, losses=False)
    reasons = no_accuracies(table.columns)
    table = _left_out(file, table, reasons, 'accuracies')
    return _checked_accuracies(file, table)


def accuracy_table(models: Sequence[str], info: Mapping[str, BenchmarkInfo],
                   values: NDArray) -> AccuracyTable:
    """Return a table of M models on the benchmarks in `info`.

    `values` are the accuracies, `(M, B)`.
    """
    chance = []
    n_items = []
    outside_means = []
    for name, row in info.items():
        chance.append(row.chance)
        n_items.append(row.n_items)
        if not row.main:
            outside_means.append(name)
    return AccuracyTable(
        tuple(models),
        tuple(info),
        values,
        np.array(chance, np.float64),
        np.array(n_items, np.int64),
        outside_means=tuple(outside_means))


def write_accuracies(folder: FilePath, table: AccuracyTable) -> None:
    """Write `scores.csv` and `benchmarks.csv`, which `read_accuracies` reads.
    """
    root = Path(folder)
    rows = []
    for model, values in zip(table.models, table.values.tolist()):
        rows.append((model, *values))
    write_csv(root / SCORES, ('model', *table.benchmarks), rows)
    columns = {
        'benchmark': table.benchmarks,
        'chance': table.chance.tolist(),
        'n_items': table.n_items.tolist(),
    }
    main = [int(name in table.main) for name in table.benchmarks]
    if not all(main):
        columns['main'] = main
    info = zip(*columns.values())
    write_csv(root / BENCHMARKS, list(columns), info)


def scores_alone(models: Sequence[str], benchmarks: Sequence[str],
                 values: NDArray) -> AccuracyTable:
    """Return a table of accuracies whose chance levels are not known.

    `values` are fractions, `(M, B)`. Chance levels and numbers of items are
    set to 0.
    """
    info = dict.fromkeys(benchmarks, BenchmarkInfo(0.0, 0))
    return accuracy_table(models, info, values)


def _read(file: str, losses: bool) -> ModelColumns:
    """Read a table in the format that the ending of its name states.

    If `losses` is True, the table contains losses. Otherwise it contains
    accuracies, and a safetensors file is refused.
    """
    ending = Path(file).suffix.lower()
    if ending == '.csv':
        return _of_csv(file, losses)
    if ending == '.parquet':
        from csv_plugin.io.parquet_tables import read_numbers
        return ModelColumns(*read_numbers(file, 'model'))
    if ending == '.safetensors' and losses:
        return _of_tensor(file)
    raise InputError(
        file, 'a name that ends in .csv, .parquet or, for losses, '
        '.safetensors', ending or 'no ending',
        'Write the table in such a format.')


def _of_csv(file: str, losses: bool) -> ModelColumns:
    """Read a CSV file with a column `model` and columns of numbers.

    The numbers are losses if `losses` is True, else accuracies.
    """
    rows = read_rows(file, ('model', ))
    columns = list(rows[0].cells)
    columns.remove('model')
    if not columns:
        raise InputError(f'{file}, header', "a column besides 'model'", 'none',
                         'Add one column per text or benchmark.')
    models = []
    shape = len(rows), len(columns)
    values = np.empty(shape)
    for m, row in enumerate(rows):
        models.append(row.cells['model'])
        numbers = [decimal(row.cells[name]) for name in columns]
        values[m] = numbers
    # `decimal` gives NaN for an empty cell, which is allowed, and for a cell
    # with text that is no number, which is an error.
    wrong = []
    places = []
    for m, k in np.argwhere(np.isnan(values)):
        row = rows[m]
        column = columns[k]
        if row.cells[column]:
            wrong.append((row, column))
            places.append(row.place(column))
    if wrong:
        row, column = wrong[0]
        on_gaps = _NO_LOSS if losses else _NOT_RUN
        remedy = f'{DIGITS} {on_gaps}'
        more = _and_more(places[1:])
        raise row.error(column, 'a number', remedy, more)
    return ModelColumns(tuple(models), tuple(columns), values)


def _of_tensor(file: str) -> ModelColumns:
    """Read losses from a safetensors file, the tensor 'losses', `(M, K)`.

    The files beside it name its rows (models.csv) and columns (units.txt).
    """
    remedy = "Write 'losses' as float32, in the order of the files beside it."
    try:
        tensors = load(read_bytes(file))
    # A KeyError means that numpy does not have the type of a tensor.
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(file, "a tensor 'losses'", str(error),
                         remedy) from error
    if 'losses' not in tensors:
        found = 'none'
        if tensors:
            names = ', '.join(map(repr, tensors))
            found = f'only {shortened(names, 100)}'
        raise InputError(
            file, "a tensor 'losses'", found,
            'Give a table of losses of several models here. Dumps (token '
            'losses of one model each) have an argument of their own.')
    values = tensors['losses']
    names_of_models = Path(file).with_name('models.csv')
    rows = read_rows(names_of_models, ('model', ))
    models = tuple(row.cells['model'] for row in rows)
    units = Path(file).with_name('units.txt')
    lines = read_text(units).strip().split('\n')
    columns = tuple(map(str.strip, lines))
    check_unique(str(units), columns)
    expected = len(models), len(columns)
    if values.shape != expected or values.dtype.kind != 'f':
        raise InputError(
            file, f'floating-point numbers of shape {expected}: the models '
            f'of models.csv, the lines of {units.name}',
            f'{values.dtype} of shape {values.shape}', remedy)
    return ModelColumns(models, columns, values.astype(np.float64))


def _refuse(file: str, table: ModelColumns, wrong: Booleans, expected: str,
            remedy: str) -> None:
    """Raise an `InputError` about the cells where `wrong`, `(M, K)`, is True.
    """
    places = []
    for m, k in np.argwhere(wrong):
        model = table.models[m]
        column = table.columns[k]
        places.append(f'model {model!r}, column {column!r}')
    if places:
        first, *rest = places
        found = f'{table.values[wrong][0]:g}'
        if Path(file).suffix.lower() == '.csv':
            # A cell with other text than a number was refused before.
            found = found.replace('nan', 'an empty cell')
            rows = read_rows(file, ('model', ))
            m, _ = np.argwhere(wrong)[0]
            first = f'line {rows[m].line}, {first}'
        raise InputError(f'{file}, {first}', expected,
                         f'{found}{_and_more(rest)}', remedy)


def _and_more(places: Sequence[str]) -> str:
    """Return text that lists the further cells that an error is about.

    It is '' if there are no further cells.
    """
    if not places:
        return ''
    n_more = len(places)
    named = '; '.join(places[:3])
    if n_more <= 3:
        return f', and {n_more} more such cells: {named}'
    return f', and {n_more} more such cells, such as {named}'


def write_measured(folder: FilePath, records: Sequence[Measured]) -> Path:
    """Write `measured.json`, a list with an object for each record."""
    path = Path(folder) / MEASURED
    write_json(path, [asdict(record) for record in records])
    return path


def measured_losses(table: FilePath, models: Sequence[str]) -> list[Measured]:
    """Return the records in `measured.json` beside a table of losses.

    Only records of losses of these models are returned.
    """
    records = []
    for record in read_measured(table):
        is_loss = record.facts.get(METRIC) is None
        if is_loss and record.name in models:
            records.append(record)
    return records


def measured_accuracies(table: FilePath, models: Sequence[str],
                        benchmarks: Sequence[str]) -> list[Measured]:
    """Return the records in `measured.json` beside a table of accuracies.

    Only records of accuracies of these models and benchmarks are returned.
    """
    records = []
    for record in read_measured(table):
        is_wanted = record.name in models and record.task in benchmarks
        if is_wanted and record.facts.get(METRIC) is not None:
            records.append(record)
    return records


def read_measured(table: FilePath) -> tuple[Measured, ...]:
    """Return all records in `measured.json` beside a table.

    There are none if the file does not exist.
    """
    path = Path(table).with_name(MEASURED)
    if not path.is_file():
        return ()
    try:
        content = read_json(path, _IMPORT_AGAIN)
        records = [Measured(**record) for record in content]
    except TypeError as error:
        raise InputError(path, 'records of numbers', str(error),
                         _IMPORT_AGAIN) from error
    types = dict.fromkeys(('name', 'task', 'file'), 'a text')
    types['facts'] = 'values by name'
    for record in records:
        check_fields(str(path), 'a record', vars(record), types, _IMPORT_AGAIN)
    return tuple(records)
