"""Losses and accuracies by model, in CSV, Parquet or safetensors files.

The ending of a file's name tells its format; docs/formats.md describes them.
"""
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_list, check_unique
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.failed_scoring import check_models
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import shortened
from csv_plugin.core.measured import Measured, check_weights
from csv_plugin.io.containers import metadata_of
from csv_plugin.io.files import FilePath, read_bytes, read_text, write_text
from csv_plugin.io.json_files import parse_json, read_json
from csv_plugin.io.tables import (DIGITS, ModelInfo, and_more, check_names_in,
                                  decimal, models_in, models_to_fit,
                                  read_benchmarks, read_models, read_rows)

#: Types of floating-point numbers by their names in safetensors files. Those
#: of BF16 are the upper halves of numbers of 32 bits.
_FLOATS = {'F64': '<f8', 'F32': '<f4', 'F16': '<f2', 'BF16': '<u2'}
#: Most further cells that an error names.
_SHOWN = 3
_HOW_TO_NAME = 'docs/formats.md says how rows and columns are named.'
#: Records of what numbers were measured on, in the folder of their tables.
MEASURED = 'measured.json'
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
    same models in the same order. `source` is the table of models, for errors.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]
    source: str = 'models'

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return {model: info.family for model, info in self.info.items()}

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """Return the models of some splits, in the order of the losses."""
        return models_in(splits, self.features.models, self.info, self.source)

    def models_to_fit(
        self, splits: Sequence[str] = (), predicted: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return those of `tables.models_to_fit`."""
        return models_to_fit(splits, self.features.models, self.info,
                             predicted, self.source)

    def select(self, models: tuple[str, ...]) -> 'ModelTables':
        """Return the given models, in the given order."""
        return replace(
            self,
            features=self.features.select(models),
            accuracies=self.accuracies.select(models))

    def select_benchmarks(self, benchmarks: Sequence[str]) -> 'ModelTables':
        """Return the given benchmarks, in the given order."""
        return replace(
            self, accuracies=self.accuracies.select(benchmarks=benchmarks))


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
    return ModelTables(features, with_all_models(accuracies, features.models),
                       info, os.fspath(models_path))


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
    """
    file = os.fspath(path)
    models, columns, values = table = _read(file, True)
    _refuse(file, table, values < 0, 'a loss of 0 or more',
            'Losses are -log p: change the sign of log-likelihoods.')
    _refuse(file, table, ~np.isfinite(values), 'a loss of 0 or more',
            'Leave a model or a column with gaps out.')
    check_models(file, models, values)
    features = FeatureTable.of_losses(models, columns, values)
    return features if units is None else _of_units(file, features, units)


def _of_units(where: str, features: FeatureTable,
              units: Sequence[str]) -> FeatureTable:
    check_list('units', units)
    place = {unit: k for k, unit in enumerate(features.columns.units)}
    missing = [unit for unit in units if unit not in place]
    if missing:
        raise InputError(
            where, f'the {len(units)} columns that are needed',
            f'none of {shortened(", ".join(map(repr, missing)), 300)}',
            f'{did_you_mean(missing, place)}Add them, or fit to the columns '
            'that are there.')
    return FeatureTable.of_losses(
        features.models, units,
        features.values[:, [place[unit] for unit in units]])


def read_accuracy_columns(path: FilePath) -> ModelColumns:
    """Read accuracies in 0..1: a column `model`, and one column per benchmark.

    The file is CSV or Parquet. A cell is empty, and the value NaN, where the
    model was not run on the benchmark.
    """
    file = os.fspath(path)
    table = _read(file, False)
    _refuse(
        file, table, (table.values < 0) | (table.values > 1),
        'an accuracy in 0..1', 'If they are in percent, divide them by 100. '
        'Leave the cell empty if the benchmark was not run.')
    return table


def read_accuracies(scores_path: FilePath,
                    benchmarks_path: FilePath) -> AccuracyTable:
    """Join accuracies, as in `read_accuracy_columns`, with their benchmarks.

    Models and benchmarks are in the order of the first file; the second, as in
    `tables.read_benchmarks`, may describe more.

    Raises:
        InputError: One of the files cannot be used, or a benchmark of the
            first has no row in the second.
    """
    accuracies = read_accuracy_columns(scores_path)
    info = read_benchmarks(benchmarks_path)
    check_names_in(scores_path, 'benchmarks', accuracies.columns,
                   benchmarks_path, info)
    benchmarks = [info[benchmark] for benchmark in accuracies.columns]
    return AccuracyTable(
        accuracies.models,
        accuracies.columns,
        accuracies.values,
        np.array([benchmark.chance for benchmark in benchmarks], np.float64),
        np.array([benchmark.n_items for benchmark in benchmarks], np.int64),
        outside_means=tuple(
            name for name, benchmark in zip(accuracies.columns, benchmarks)
            if not benchmark.main))


def with_all_models(accuracies: AccuracyTable,
                    models: Sequence[str]) -> AccuracyTable:
    """Return a row for each model, NaN where it was run on no benchmark."""
    values = np.full((len(models), len(accuracies.benchmarks)), np.nan)
    row = {model: index for index, model in enumerate(models)}
    values[[row[model] for model in accuracies.models]] = accuracies.values
    return replace(accuracies, models=tuple(models), values=values)


def _read(file: str, losses: bool) -> ModelColumns:
    """A table in the format of its name's ending; only losses are tensors."""
    ending = Path(file).suffix.lower()
    if ending == '.csv':
        return _of_csv(file,
                       'a number' if losses else 'a number or an empty cell')
    if ending == '.parquet':
        from csv_plugin.io.parquet_tables import read_numbers
        names, columns, values = read_numbers(file, 'model')
        if not names or not columns:
            raise InputError(
                file, "a row or more, and a column besides 'model'",
                f'{len(names)} rows, {len(columns)} such columns',
                'Add one row per model, one column per text or benchmark.')
        return ModelColumns(
            _names(f'{file}, models', names), tuple(columns), values)
    if ending == '.safetensors' and losses:
        return _of_tensor(file)
    endings = '.csv or .parquet'
    if losses:
        endings = '.csv, .parquet or .safetensors'
    raise InputError(file, f'a name that ends in {endings}', ending
                     or 'no ending', 'Write the table in such a format.')


def _of_csv(file: str, expected: str) -> ModelColumns:
    rows = read_rows(file, ('model', ))
    columns = tuple(name for name in rows[0].cells if name != 'model')
    if not columns:
        raise InputError(f'{file}, header', "a column besides 'model'", 'none',
                         'Add one column per text or benchmark.')
    values = np.array([[decimal(row.cells[name]) for name in columns]
                       for row in rows])
    # NaN stands for an empty cell; other cells that are no number are wrong.
    wrong = [(rows[m], columns[k]) for m, k in np.argwhere(np.isnan(values))
             if rows[m].cells[columns[k]]]  # yapf: disable
    if wrong:
        (row, column), *others = wrong
        raise row.error(
            column, expected, DIGITS,
            and_more(
                len(others), [r.place(name) for r, name in others[:_SHOWN]]))
    return ModelColumns(
        tuple(row.cells['model'] for row in rows), columns, values)


def _of_tensor(file: str) -> ModelColumns:
    data = read_bytes(file)
    try:
        tensors = dict(deserialize(data))
    except (SafetensorError, ValueError) as error:
        raise InputError(file, 'a readable safetensors file', f'{error}',
                         'Fetch an intact copy.') from error
    tensor = tensors.get('losses', {'dtype': 'none'})
    if tensor['dtype'] not in _FLOATS:
        found = ', '.join(f'{name} of {tensors[name]["dtype"]}'
                          for name in sorted(tensors))[:200] or 'none'
        raise InputError(file, "a tensor 'losses' of " + ', '.join(_FLOATS),
                         found, 'Rename it, or write it as float32.')
    numbers = np.frombuffer(tensor['data'], _FLOATS[tensor['dtype']])
    if tensor['dtype'] == 'BF16':
        numbers = (numbers.astype('<u4') << 16).view('<f4')
    values = numbers.astype(np.float64).reshape(tensor['shape'])
    source, models = _models_of(file, metadata_of(data))
    units = str(Path(file).with_name('units.txt'))
    columns = _lines(units)
    expected = len(models), len(columns)
    if values.shape != expected:
        raise InputError(
            f"{file}, 'losses'", f'a tensor of shape {expected}: the models '
            f'of {source}, the lines of {units}', f'the shape {values.shape}',
            'Name every row and every column.')
    return ModelColumns(models, columns, values)


def _models_of(file: str,
               metadata: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """What names the rows of a tensor, and the names."""
    if 'models' in metadata:
        source = f"{file}, metadata 'models'"
        return source, _names(
            source, parse_json(metadata['models'], source, _HOW_TO_NAME))
    source = str(Path(file).with_name('models.txt'))
    if os.path.exists(source):
        return source, _lines(source)
    source = str(Path(file).with_name('models.csv'))
    names = tuple(row.cells['model'] for row in read_rows(source, ['model']))
    warnings.warn(
        f'{file} does not name its models: its rows were taken in the '
        f'order of {source}. Name them in models.txt beside it, one a line.',
        stacklevel=2)
    return source, names


def _lines(file: str) -> tuple[str, ...]:
    """Names in a file beside a tensor, one a line."""
    if not os.path.exists(file):
        raise InputError(file, 'a file that names rows or columns', 'none',
                         _HOW_TO_NAME)
    lines = read_text(file).removesuffix('\n').split('\n')
    return _names(file, [line.strip() for line in lines])


def _names(source: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(
            name and isinstance(name, str) for name in names):
        raise InputError(source, 'a list of names without a gap',
                         repr(names)[:80], _HOW_TO_NAME)
    check_unique(source, names)
    return tuple(names)


def _refuse(file: str, table: ModelColumns, wrong: NDArray[np.bool_],
            expected: str, remedy: str) -> None:
    cells = np.argwhere(wrong)
    if len(cells):
        places = [f'model {table.models[m]!r}, column {table.columns[k]!r}'
                  for m, k in cells[:_SHOWN + 1]]  # yapf: disable
        more = and_more(len(cells) - 1, places[1:])
        raise InputError(f'{file}, {places[0]}', expected,
                         f'{table.values[wrong][0]:g}{more}', remedy)


def write_measured(folder: FilePath, records: Sequence[Measured]) -> Path:
    """Write `measured.json`, an object a record."""
    path = Path(folder) / MEASURED
    rows = [asdict(record) for record in records]
    write_text(path, json.dumps(rows, indent=1) + '\n')
    return path


def read_measured(table: FilePath) -> tuple[Measured, ...]:
    """Read the records beside a table; none without such a file."""
    path = Path(table).with_name(MEASURED)
    if not path.is_file():
        return ()
    try:
        return tuple(
            Measured(**record, facts={**facts})
            for record in read_json(path, _IMPORT_AGAIN)
            for facts in [record.pop('facts')])
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(
            str(path), 'records of numbers', str(error),
            _IMPORT_AGAIN) from error
