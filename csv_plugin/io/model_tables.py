"""Losses and accuracies by model, in CSV, Parquet or safetensors files.

The ending of a file's name tells its format; docs/formats.md describes them.
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
from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.failed_scoring import check_models
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import shortened
from csv_plugin.core.measured import (ALIKE, METRIC, Measured, check_measured,
                                      check_weights)
from csv_plugin.io.files import FilePath, read_bytes, read_text
from csv_plugin.io.json_files import check_fields, read_json, write_json
from csv_plugin.io.loss_columns import no_accuracies, no_losses
from csv_plugin.io.tables import (DIGITS, BenchmarkInfo, ModelInfo,
                                  check_names_in, decimal, models_in,
                                  models_to_fit, read_benchmarks, read_models,
                                  read_rows, write_csv)

#: Tables of accuracies in folders that this package writes.
SCORES, BENCHMARKS = 'scores.csv', 'benchmarks.csv'
#: Records of what numbers were measured on, in the folder of their tables.
MEASURED = 'measured.json'
#: What to do where there is no number, such as 'NaN', 'N/A' or '-'.
_NOT_RUN = 'Leave the cell empty where the benchmark was not run.'
_NO_LOSS = 'Leave a model or a column with gaps out: no loss may be empty.'
_IMPORT_AGAIN = 'Import the numbers again, or remove the file.'


class ModelColumns(NamedTuple):
    """Numbers by model and column, `(M, K)`; NaN where a cell is empty."""
    models: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelTables:
    """Losses and accuracies, and facts about models and benchmarks.

    `features` have one loss column per unit, `(M, K)`; `accuracies` are of the
    same models in the same order.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return {model: info.family for model, info in self.info.items()}

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """Return the models of some splits, in the order of the losses."""
        return models_in(splits, self.features.models, self.info)

    def models_to_fit(
        self, splits: Sequence[str] = (), predicted: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the models of some splits, as `tables.models_to_fit`."""
        return models_to_fit(splits, self.features.models, self.info,
                             predicted)

    def select(self,
               models: Sequence[str],
               benchmarks: Optional[Sequence[str]] = None) -> 'ModelTables':
        """Return models and benchmarks, by default all, in the given order."""
        return replace(
            self,
            features=self.features.select(models),
            accuracies=self.accuracies.select(models, benchmarks))


def read_model_tables(losses_path: FilePath, scores_path: FilePath,
                      models_path: FilePath,
                      benchmarks_path: FilePath) -> ModelTables:
    """Read and join the four tables of a study.

    The formats are those of `read_loss_features`, `read_accuracies` and
    `read_models`. Models without a row of accuracies were run on no benchmark.

    Raises:
        InputError: A file cannot be used, a model with losses is not in the
            table of models, a model with accuracies has no losses, or records
            beside the tables state that they are of other weights.
    """
    features = read_loss_features(losses_path)
    accuracies = read_accuracies(scores_path, benchmarks_path)
    info = read_models(models_path)
    check_names_in(losses_path, 'models', features.models, models_path, info)
    check_names_in(scores_path, 'models', accuracies.models, losses_path,
                   features.models)
    check_weights((*read_measured(losses_path), *read_measured(scores_path)))
    accuracies = accuracies.reindexed(features.models, accuracies.benchmarks)
    return ModelTables(features, accuracies, info)


def read_loss_features(path: FilePath,
                       units: Optional[Sequence[str]] = None) -> FeatureTable:
    """Read a table of losses as columns to fit to or to predict from.

    Losses are by model and unit, in any unit, the same for all models: CSV,
    Parquet or safetensors, by the ending of the name; see docs/formats.md.
    `units` are those to keep, in this order, such as those of a predictor; by
    default all.

    Raises:
        InputError: The file is not such a table, a loss is missing, not finite
            or negative, the losses of a model are none (see `failed_scoring`),
            or a unit is missing.

    Warns of columns that cannot be losses (see `no_losses`), which are left
    out unless they are among the units.
    """
    file = os.fspath(path)
    table = _read(file, True)
    if units is None:
        table = _left_out(file, table, no_losses(*table[1:]), 'losses')
    else:
        table = _chosen(file, table, units)
    models, columns, values = table
    _refuse(file, table, values < 0, 'a loss of 0 or more',
            'Losses are -log p: change the sign of log-likelihoods.')
    _refuse(file, table, ~np.isfinite(values), 'a loss of 0 or more', _NO_LOSS)
    check_models(file, models, values)
    check_measured(measured_losses(file, models), ALIKE)
    return FeatureTable.of_losses(models, columns, values)


def _chosen(file: str, table: ModelColumns,
            units: Sequence[str]) -> ModelColumns:
    """Return the needed columns in this order, without checking values."""
    check_list('units', units)
    place = {unit: k for k, unit in enumerate(table.columns)}
    kept = []
    missing = []
    for unit in units:
        if unit in place:
            kept.append(place[unit])
        else:
            missing.append(unit)
    if missing:
        names = ', '.join(map(repr, missing))
        raise InputError(file, f'the {len(units)} columns that are needed',
                         f'none of {shortened(names, 300)}',
                         f'{did_you_mean(missing, place)}Add them.')
    return ModelColumns(table.models, tuple(units), table.values[:, kept])


def _left_out(file: str, table: ModelColumns, reasons: Mapping[str, str],
              content: str) -> ModelColumns:
    """Return the table without some columns, and warn of their names."""
    if not reasons:
        return table
    named: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        named.setdefault(reason, []).append(repr(name))
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
        'Rename one that is.',
        stacklevel=3)
    return ModelColumns(table.models, tuple(columns), table.values[:, kept])


def read_accuracy_columns(path: FilePath) -> ModelColumns:
    """Read accuracies in 0..1, NaN where a benchmark was not run."""
    file = os.fspath(path)
    table = _read(file, False)
    _refuse(file, table, (table.values < 0) | (table.values > 1),
            'an accuracy in 0..1',
            f'If they are in percent, divide them by 100. {_NOT_RUN}')
    check_measured(
        measured_accuracies(file, table.models, table.columns), ALIKE)
    return table


def read_accuracies(scores_path: FilePath,
                    benchmarks_path: FilePath) -> AccuracyTable:
    """Join accuracies, as in `read_accuracy_columns`, with their benchmarks.

    Models and benchmarks are in the order of the first file; the second, as in
    `tables.read_benchmarks`, may describe more. A warning names columns that
    cannot be accuracies (see `no_accuracies`), which are left out.

    Raises:
        InputError: One of the files cannot be used, or a benchmark of the
            first has no row in the second.
    """
    file = os.fspath(scores_path)
    accuracies = read_accuracy_columns(scores_path)
    accuracies = _left_out(file, accuracies, no_accuracies(accuracies.columns),
                           'accuracies')
    info = read_benchmarks(benchmarks_path)
    check_names_in(scores_path, 'benchmarks', accuracies.columns,
                   benchmarks_path, info)
    kept = {name: info[name] for name in accuracies.columns}
    return accuracy_table(accuracies.models, kept, accuracies.values)


def accuracy_table(models: Sequence[str], info: Mapping[str, BenchmarkInfo],
                   values: NDArray) -> AccuracyTable:
    """Return accuracies of M models on these benchmarks, `(M, B)`."""
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
    """Write `scores.csv` and `benchmarks.csv` for `read_accuracies`."""
    rows = []
    for model, values in zip(table.models, table.values.tolist()):
        rows.append((model, *values))
    write_csv(Path(folder) / SCORES, ('model', *table.benchmarks), rows)
    header = ['benchmark', 'chance', 'n_items']
    columns = [table.benchmarks, table.chance.tolist(), table.n_items.tolist()]
    main = [int(name in table.main) for name in table.benchmarks]
    if not all(main):
        header.append('main')
        columns.append(main)
    write_csv(Path(folder) / BENCHMARKS, header, zip(*columns))


def scores_alone(models: Sequence[str], benchmarks: Sequence[str],
                 values: NDArray) -> AccuracyTable:
    """Return a table of accuracies, fractions `(M, B)`, without chance levels.

    Chance levels and numbers of items are 0, which stands for unknown.
    """
    info = dict.fromkeys(benchmarks, BenchmarkInfo(0.0, 0))
    return accuracy_table(models, info, values)


def _read(file: str, losses: bool) -> ModelColumns:
    """Read a table in the format that the ending of its name states.

    A safetensors file is refused unless the table has losses.
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
    rows = read_rows(file, ('model', ))
    columns = tuple(name for name in rows[0].cells if name != 'model')
    if not columns:
        raise InputError(f'{file}, header', "a column besides 'model'", 'none',
                         'Add one column per text or benchmark.')
    models = []
    values = np.empty((len(rows), len(columns)))
    for m, row in enumerate(rows):
        models.append(row.cells['model'])
        values[m] = [decimal(row.cells[name]) for name in columns]
    # NaN stands for an empty cell; other cells that are no number are wrong.
    wrong = []
    places = []
    for m, k in np.argwhere(np.isnan(values)):
        if rows[m].cells[columns[k]]:
            wrong.append((rows[m], columns[k]))
            places.append(rows[m].place(columns[k]))
    if wrong:
        row, column = wrong[0]
        remedy = f'{DIGITS} {_NO_LOSS if losses else _NOT_RUN}'
        raise row.error(column, 'a number', remedy, _and_more(places[1:]))
    return ModelColumns(tuple(models), columns, values)


def _of_tensor(file: str) -> ModelColumns:
    """Read losses with rows as in models.csv and columns as in units.txt."""
    remedy = "Write 'losses' as float32, in the order of the files beside it."
    try:
        values = load(read_bytes(file))['losses']
    # KeyError: no such tensor, or a type that numpy does not have.
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(file, "a tensor 'losses'", str(error),
                         remedy) from error
    rows = read_rows(Path(file).with_name('models.csv'), ('model', ))
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


def _refuse(file: str, table: ModelColumns, wrong: NDArray[np.bool_],
            expected: str, remedy: str) -> None:
    """Name the cells that are wrong, `(M, K)`."""
    places = []
    for m, k in np.argwhere(wrong):
        model = table.models[m]
        column = table.columns[k]
        places.append(f'model {model!r}, column {column!r}')
    if places:
        first = table.values[wrong][0]
        raise InputError(f'{file}, {places[0]}', expected,
                         f'{first:g}{_and_more(places[1:])}', remedy)


def _and_more(places: Sequence[str]) -> str:
    """Name the first further cells that an error is about, and how many."""
    if not places:
        return ''
    sign = ':' if len(places) <= 3 else ', such as'
    return (f', and {len(places)} more such cells{sign} '
            f'{", ".join(places[:3])}')


def write_measured(folder: FilePath, records: Sequence[Measured]) -> Path:
    """Write `measured.json`, an object a record."""
    path = Path(folder) / MEASURED
    write_json(path, [asdict(record) for record in records])
    return path


def measured_losses(table: FilePath, models: Sequence[str]) -> list[Measured]:
    """Return the records of losses of models beside a table."""
    records = []
    for record in read_measured(table):
        if record.name in models and record.facts.get(METRIC) is None:
            records.append(record)
    return records


def measured_accuracies(table: FilePath, models: Sequence[str],
                        benchmarks: Sequence[str]) -> list[Measured]:
    """Return the records of accuracies of models beside a table."""
    records = []
    for record in read_measured(table):
        is_wanted = record.name in models and record.task in benchmarks
        if is_wanted and record.facts.get(METRIC) is not None:
            records.append(record)
    return records


def read_measured(table: FilePath) -> tuple[Measured, ...]:
    """Read the records beside a table; none without such a file."""
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
