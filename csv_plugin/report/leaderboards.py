"""Real and predicted accuracies side by side, to read and as files."""
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.cells import interval, number, percent
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import markdown, one_line
from csv_plugin.core.overall import FilledMeans, Overall
from csv_plugin.core.predictions import (REAL, Missing, Predictions,
                                         check_labels)
from csv_plugin.io.files import FilePath, check_fields, write_text
from csv_plugin.io.json_files import read_json
from csv_plugin.io.tables import write_csv
from csv_plugin.report.notes import (FILLED, SCORING_LM, alarms, filled_notes,
                                     findings, legend, outside_notes, reasons,
                                     scoring_lm_notes)

#: Longest line of the text, in characters, if one benchmark fits into it.
WIDTH = 150
#: Columns of the CSV file and fields of the JSON rows.
FIELDS = ('model', 'benchmark', 'predictor', 'real', 'predicted', 'low',
          'high', 'difference', 'extrapolated', 'in_sample', 'missing',
          'scoring_lm', 'with_scores', 'alarm')

_REMEDY = 'Write the summary again, with -m viz -r.'


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Models with their real and predicted accuracies.

    Args:
        predictions (Predictions): Beside the real accuracies; its methods
            are the labels of predictors.
        folders (Mapping[str, str]): By model, its name in the files of the
            run.
        notes (tuple[str, ...]): The meaning of marks, the reasons for
            missing values, and remarks. One line each.
        scoring_lms (Mapping[str, str]): By predictor, the model that is its
            scoring LM, where it is one of the models.
    """
    predictions: Predictions
    folders: Mapping[str, str]
    notes: tuple[str, ...]
    scoring_lms: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        return f'Leaderboard({self.predictions}, {len(self.notes)} notes)'

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        folders: Mapping[str, str],
        remarks: Sequence[str],
        scoring_lms: Mapping[str, str] = MappingProxyType({})
    ) -> 'Leaderboard':
        """A leaderboard that explains its marks and its missing values.

        Args:
            predictions (Predictions): As in the class.
            folders (Mapping[str, str]): As in the class.
            remarks (Sequence[str]): Notes to add at the end.
            scoring_lms (Mapping[str, str]): As in the class.
        """
        notes = (*legend(predictions), *reasons(predictions),
                 *alarms(predictions), *findings(predictions),
                 *filled_notes(predictions), *outside_notes(predictions),
                 *scoring_lm_notes(scoring_lms), *remarks)
        return cls(predictions, folders, notes, scoring_lms)

    def shown_name(self, model: str) -> str:
        """The name of a model, marked if it is a scoring LM."""
        marked = model in self.scoring_lms.values()
        return f'{model} ({SCORING_LM})' if marked else model

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for every model, benchmark and predictor, in this order.

        Yields:
            dict: Of the `FIELDS`: percent, flags as 0 and 1, None where a
            value is missing, and the reasons why.
        """
        for record in self.predictions.records():
            row = {**record, 'predictor': record['method'], 'difference': None}
            for name in ('real', 'predicted', 'low', 'high'):
                if row[name] is not None:
                    row[name] = percent(row[name])
            if None not in (row['real'], row['predicted']):
                row['difference'] = row['predicted'] - row['real']
            for name in ('extrapolated', 'in_sample', 'with_scores', 'alarm'):
                if row[name] is not None:
                    row[name] = int(row[name])
            row['scoring_lm'] = int(
                self.scoring_lms.get(row['method']) == row['model'])
            yield {name: row[name] for name in FIELDS}


def compare(
    predictions: Predictions,
    folders: Mapping[str, str],
    real: Mapping[tuple[str, str], Union[float, Missing]],
    remarks: Sequence[str] = (),
    scoring_lms: Mapping[str, str] = MappingProxyType({})
) -> Leaderboard:
    """The leaderboard of a run.

    Args:
        predictions (Predictions): Of the models of the run, under the names
            that they have in its files.
        folders (Mapping[str, str]): These names, by the names to show.
        real (Mapping): By model, under the name to show, and benchmark: the
            real accuracy, a fraction, or why there is none.
        remarks (Sequence[str]): As in `Leaderboard.of`.
        scoring_lms (Mapping[str, str]): As in `Leaderboard`.
    """
    table = predictions.of_models(folders)
    accuracies = np.full(table.real.shape, np.nan)
    missing = dict(table.missing)
    for (m, model), (b, benchmark) in product(
            enumerate(table.models), enumerate(table.benchmarks)):
        accuracy = real[model, benchmark]
        if isinstance(accuracy, Missing):
            missing[model, benchmark, REAL] = accuracy
        else:
            accuracies[m, b] = accuracy
    return Leaderboard.of(
        replace(table, real=accuracies, missing=missing), folders, remarks,
        scoring_lms)


@dataclass(frozen=True)
class Standing:
    """Means and ranks of all models, real or by one predictor, as cells.

    Args:
        label (str): Of the predictor, or `REAL`.
        means (list[str]): Percent; marked where a score was fitted on.
        ranks (list[str]): From 1 for the largest mean; see `Overall`.
        differences (list[str]): Predicted minus real means, and their mean
            size; empty of the real means.
    """
    label: str
    means: list[str]
    ranks: list[str]
    differences: list[str]


def standings(predictions: Predictions) -> tuple[str, list[Standing]]:
    """Means over the benchmarks, the real ones first.

    Args:
        predictions (Predictions): Beside the real accuracies.

    Returns:
        tuple[str, list[Standing]]: What to call the means, and the means of
        the real accuracies and of each predictor, if there are some; none of
        a single benchmark, which is its own mean.
    """
    if len(predictions.benchmarks) < 2:
        return '', []
    overall = Overall.of(predictions).of_methods_with_means()
    is_known = predictions.has_real()
    found = [_standing(REAL, overall.real, overall.real_ranks())
             ] if is_known else []
    by_method = zip(overall.methods, overall.values.T,
                    overall.predicted_ranks().T, overall.in_sample.T,
                    overall.differences().T, overall.mean_differences())
    for label, means, places, fitted, differences, mean in by_method:
        cells = [
            *(number(percent(d), '+.1f') for d in differences),
            number(percent(mean))
        ] if is_known else []
        found.append(_standing(label, means, places, fitted, cells))
    return f'mean of {len(overall.benchmarks)}', found


def _standing(
    label: str,
    means: NDArray,
    ranks: NDArray,
    fitted: Iterable[bool] = repeat(False),
    differences: Sequence[str] = ()
) -> Standing:
    return Standing(label, [
        number(percent(mean)) + '*' * bool(mark)
        for mean, mark in zip(means, fitted)
    ], [number(rank, '.0f') for rank in ranks], [*differences])


def as_text(board: Leaderboard) -> str:
    """Models as rows, notes below; for reading.

    As many benchmarks stand side by side as fit into `WIDTH`, the rest
    follows below.
    """
    names = _one_line(_names(board))
    blocks: list[list[list[str]]] = []
    room = 0
    for columns in _groups(board):
        group = list(map(_one_line, columns))
        width = sum(2 + _width(column) for column in group)
        if width > room:
            blocks.append([names])
            room = WIDTH - _width(names)
        blocks[-1] += group
        room -= width
    return '\n\n'.join(
        [*map(_plain, blocks), '\n'.join(_one_line(board.notes))])


def _plain(columns: Sequence[Sequence[str]]) -> str:
    """Two lines of header, a rule, and the rest."""
    ruled = [[*column[:2], '-' * _width(column), *column[2:]]
             for column in columns]
    return tabulate(list(zip(*ruled)), tablefmt='plain',
                    colalign=_alignment(columns),
                    disable_numparse=True)  # yapf: disable


def as_markdown(board: Leaderboard) -> str:
    """Models as rows, all benchmarks side by side."""
    header, *rows = _side_by_side(board)
    return tabulate([list(map(markdown, row)) for row in rows],
                    list(map(markdown, header)), tablefmt='pipe',
                    colalign=_alignment(header),
                    disable_numparse=True)  # yapf: disable


def _side_by_side(board: Leaderboard) -> list[Sequence[str]]:
    """The header in one line, and the rows, of all benchmarks."""
    columns = [_names(board), *chain.from_iterable(_groups(board))]
    return list(
        zip(*([' '.join(column[:2]), *column[2:]] for column in columns)))


def _names(board: Leaderboard) -> list[str]:
    foot = ['mean abs. diff'] if board.predictions.has_real() else []
    names = map(board.shown_name, board.predictions.models)
    return ['', 'model', *names, *foot]


def _one_line(cells: Sequence[str]) -> list[str]:
    return list(map(one_line, cells))


def _groups(board: Leaderboard) -> Iterator[list[list[str]]]:
    """Columns that stay together: of the means, then of each benchmark.

    A column has two lines of header, the models and, where real accuracies
    are known, the mean difference.
    """
    predictions = board.predictions
    foot = [''] if predictions.has_real() else []
    title, found = standings(predictions)
    columns: list[list[str]] = []
    for standing in found:
        columns += [['', standing.label, *standing.means, *foot],
                    ['', 'rank', *standing.ranks, *foot]]
        if standing.differences:
            columns.append(['', 'diff', *standing.differences])
    if columns:
        columns[0][0] = title
        yield columns
    filled = FilledMeans.of(predictions)
    if filled.has_both:
        yield _filled_columns(filled, foot)
    for benchmark in predictions.benchmarks:
        yield _columns(predictions, benchmark, foot)


def _filled_columns(filled: FilledMeans,
                    foot: Sequence[str]) -> list[list[str]]:
    n_benchmarks = len(filled.benchmarks)
    means = [
        number(percent(value)) +
        f' ({interval(low, high)})' * bool(n and not np.isnan(value))
        for value, low, high, n in zip(filled.values, filled.low, filled.high,
                                       filled.n_predicted)
    ]
    places = [number(rank, '.0f') for rank in filled.ranks()]
    counts = [
        '-' if np.isnan(value) else f'{n} of {n_benchmarks}'
        for value, n in zip(filled.values, filled.n_predicted)
    ]
    return [[f'mean of {n_benchmarks}', FILLED, *means, *foot],
            ['', 'rank', *places, *foot],
            ['', 'are predicted', *counts, *foot]]


def _columns(predictions: Predictions, benchmark: str,
             foot: Sequence[str]) -> list[list[str]]:
    table = predictions.select(benchmarks=[benchmark])
    real = [percent(accuracy) for accuracy in table.real[:, 0]]
    columns = [['', 'real', *map(number, real), *foot]] if foot else []
    for p, label in enumerate(table.methods):
        cells = table.cells(benchmark, label)
        columns.append(['', label, *cells, *foot])
        if foot:
            differences = [
                percent(value) - accuracy
                for value, accuracy in zip(table.values[:, 0, p], real)
            ]
            mean = percent(table.mean_difference(label)[0])
            columns.append([
                '', 'diff', *(number(d, '+.1f') for d in differences),
                number(mean)
            ])
    columns[0][0] = benchmark
    return columns


def _width(column: Sequence[str]) -> int:
    return max(map(len, column))


def _alignment(columns: Sequence[object]) -> list[str]:
    return ['left', *['right'] * (len(columns) - 1)]


def write_leaderboard(stem: FilePath, board: Leaderboard) -> list[Path]:
    """Write a leaderboard as text, Markdown, CSV and JSON.

    Args:
        stem (FilePath): Path of the files without `.txt`, `.md`, `.csv` and
            `.json`; they are replaced if they exist.
        board (Leaderboard): The leaderboard. CSV and JSON have its `rows`.
            JSON also has the notes, as `folders` the names of the models in
            the files of the run, and as `chance` the accuracies of guessing.

    Returns:
        list[Path]: The files, in this order.

    Raises:
        InputError: The folder does not exist.
    """
    text, page, table, data = (
        Path(f'{os.fspath(stem)}.{kind}')
        for kind in ('txt', 'md', 'csv', 'json'))
    write_text(text, f'{as_text(board)}\n')
    notes = [f'* {markdown(note)}' for note in board.notes]
    lines = [as_markdown(board), '', *notes]
    write_text(page, '\n'.join([*lines, '']))
    rows = list(board.rows())
    write_csv(table, FIELDS, (list(row.values()) for row in rows))
    content = {
        'models': board.predictions.models,
        'benchmarks': board.predictions.benchmarks,
        'predictors': board.predictions.methods,
        'rows': rows,
        'chance': {
            name: percent(level)
            for name, level in board.predictions.chance.items()
        },
        'folders': dict(board.folders),
        'notes': board.notes,
    }
    write_text(data, json.dumps(content, indent=1, ensure_ascii=False) + '\n')
    return [text, page, table, data]


#: Kinds of the fields of a row that are read.
_ROW = dict.fromkeys(('model', 'benchmark', 'predictor', 'missing'), 'a text')
_NUMBERS = ('predicted', 'low', 'high', 'extrapolated', 'in_sample',
            'with_scores', 'alarm')
_ROW |= dict.fromkeys(('real', *_NUMBERS), 'a number or null')
_ROW |= {'scoring_lm': 'a count'}
#: The largest number in each field of a row: percent, or 1 for yes.
_MOST = {name: 100 for name in ('real', 'predicted', 'low', 'high')}
_MOST |= dict.fromkeys(
    ('extrapolated', 'in_sample', 'scoring_lm', 'with_scores', 'alarm'), 1)
_LISTS = ('models', 'benchmarks', 'predictors', 'notes')
#: Rows by predictor, model and benchmark.
_Rows = dict[tuple[str, str, str], dict[str, Any]]


def read_leaderboard(path: FilePath) -> Leaderboard:
    """Read the JSON file of a leaderboard.

    Args:
        path (FilePath): A file that `write_leaderboard` wrote.

    Returns:
        Leaderboard: The level of the intervals is not in the file: NaN.

    Raises:
        InputError: The file cannot be read, or is not a leaderboard.
    """
    where = os.fspath(path)
    content = _read_content(where)
    models, benchmarks, labels, notes = (tuple(content[key]) for key in _LISTS)
    rows = _read_rows(where, content['rows'], labels, models, benchmarks)
    cubes = _read_cubes(where, rows, labels, models, benchmarks)
    predictions = Predictions(
        models,
        benchmarks,
        labels,
        values=cubes['predicted'] / 100,
        low=cubes['low'] / 100,
        high=cubes['high'] / 100,
        extrapolated=np.nan_to_num(cubes['extrapolated']).astype(bool),
        in_sample=np.nan_to_num(cubes['in_sample']).astype(bool),
        with_scores=np.nan_to_num(cubes['with_scores']).astype(bool),
        alarm=np.nan_to_num(cubes['alarm']).astype(bool),
        real=cubes['real'][:, :, 0] / 100,
        level=np.nan,
        missing={
            cell: Missing(reason)
            for model, benchmark in product(models, benchmarks)
            for cell, reason in _read_reasons(rows, model, benchmark, labels)
            if reason
        },
        chance={
            name: level / 100
            for name, level in content['chance'].items()
        })
    folders = content['folders']
    return Leaderboard(
        predictions, {model: folders.get(model, model)
                      for model in models}, notes,
        {
            label: model
            for (label, model, _), row in rows.items() if row['scoring_lm']
        })


def _read_rows(where: str, rows: Sequence[Any], labels: Sequence[str],
               models: Sequence[str], benchmarks: Sequence[str]) -> _Rows:
    """All rows by their places, each of which has one."""
    if not labels or not models:
        raise InputError(where, 'a model and a predictor or more', 'none',
                         _REMEDY)
    check_unique(f'{where}, models', models)
    check_unique(f'{where}, benchmarks', benchmarks)
    check_labels(f'{where}, predictors', labels)
    places = [_read_row(where, row) for row in rows]
    check_unique(f'{where}, rows', [', '.join(place) for place, _ in places])
    by_place = dict(places)
    for place in product(labels, models, benchmarks):
        if place not in by_place:
            raise InputError(where, f'a row of {", ".join(place)}', 'none',
                             _REMEDY)
    return by_place


def _read_cubes(where: str, rows: _Rows, labels: Sequence[str],
                models: Sequence[str],
                benchmarks: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The numbers of the rows by field, each of shape `(M, B, P)`."""
    shape = len(models), len(benchmarks), len(labels)
    cubes = {
        name: np.array([
            rows[label, model, benchmark][name]
            for model, benchmark, label in product(models, benchmarks, labels)
        ], np.float64).reshape(shape)
        for name in ('real', *_NUMBERS)
    }  # yapf: disable
    real = np.broadcast_to(cubes['real'][:, :, :1], shape)
    if not np.array_equal(cubes['real'], real, equal_nan=True):
        raise InputError(
            where, 'the same real score in all rows of a model '
            'and a benchmark', 'others', _REMEDY)
    return cubes


def _read_content(where: str) -> dict[str, Any]:
    content = read_json(where, _REMEDY)
    check_fields(where, 'the leaderboard', content, {
        **dict.fromkeys(_LISTS, 'a list of texts'), 'rows': 'a list'
    }, _REMEDY)
    # Files of earlier versions lack them.
    content.setdefault('folders', {})
    content.setdefault('chance', {})
    check_fields(where, 'the leaderboard', content, {
        'folders': 'texts by name',
        'chance': 'numbers by name'
    }, _REMEDY)
    for benchmark, level in content['chance'].items():
        if not 0 <= level <= 100:
            raise InputError(where, f'chance of {benchmark!r} in 0..100',
                             repr(level), _REMEDY)
    return dict(content)


def _read_row(where: str,
              row: Any) -> tuple[tuple[str, str, str], dict[str, Any]]:
    if isinstance(row, dict):
        # Files of earlier versions lack them.
        row.setdefault('scoring_lm', 0)
        for name in ('with_scores', 'alarm'):
            row.setdefault(name, row.get('in_sample') and 0)
    check_fields(where, 'a row', row, _ROW, _REMEDY)
    place = row['predictor'], row['model'], row['benchmark']
    for name, most in _MOST.items():
        if not (row[name] is None or 0 <= row[name] <= most):
            raise InputError(where,
                             f'{name!r} of {", ".join(place)} in 0..{most}',
                             repr(row[name]), _REMEDY)
    prediction = [row[name] for name in _NUMBERS]
    if None in prediction and prediction != [None] * len(prediction):
        raise InputError(
            where, f'{", ".join(_NUMBERS)} of {", ".join(place)} '
            'or none of them', repr(prediction), _REMEDY)
    return place, row


def _read_reasons(
        rows: _Rows, model: str, benchmark: str,
        labels: Sequence[str]) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Reasons of a model on a benchmark, which its rows hold joined.

    Where the real accuracy and a prediction are missing, the reason of the
    first stands in front.
    """
    cells = [rows[label, model, benchmark] for label in labels]
    real: Optional[str] = None
    if cells[0]['real'] is None:
        real = next((cell['missing']
                     for cell in cells if cell['predicted'] is not None),
                    cells[0]['missing'].partition('; ')[0])
        yield (model, benchmark, REAL), real
    for label, cell in zip(labels, cells):
        if cell['predicted'] is None:
            reason = cell['missing']
            if real:
                reason = reason.removeprefix(real).removeprefix('; ')
            yield (model, benchmark, label), reason
