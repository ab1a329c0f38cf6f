"""Real and predicted accuracies side by side, to read and as files."""
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.cells import interval, number, percent
from csv_plugin.core.escaping import markdown, one_line
from csv_plugin.core.overall import FilledMeans, Overall
from csv_plugin.core.predictions import REAL, Missing, Predictions
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.report.notes import (FILLED, SCORING_LM, prediction_notes,
                                     scoring_lm_notes)

#: Longest line of the text, in characters, if one benchmark fits into it.
WIDTH = 150

_percents = np.vectorize(percent, otypes=[np.float64])


class Beside(NamedTuple):
    """A number that stands beside each prediction.

    Args:
        title (str): What stands above it in tables.
        points (Callable): Gives it for all cells, in points of percent, NaN
            where there is none, `(M, B, P)`.
        foot (Callable): Gives its last row likewise, `(B, P)`.
    """
    title: str
    points: Callable[[Predictions], NDArray[np.float64]]
    foot: Callable[[Predictions], NDArray[np.float64]]


def _differences(predictions: Predictions) -> NDArray[np.float64]:
    """Predicted minus real accuracies."""
    return _percents(predictions.values) - _percents(predictions.real)[:, :,
                                                                       None]


def _mean_differences(predictions: Predictions) -> NDArray[np.float64]:
    """Mean sizes of the differences of held-out models."""
    return _percents(
        np.stack([
            predictions.mean_difference(label) for label in predictions.methods
        ],
                 axis=1))


#: What stands beside predictions, by its field in files.
BESIDE = {'difference': Beside('diff', _differences, _mean_differences)}
#: Columns of the CSV file and fields of the JSON rows.
FIELDS = ('model', 'benchmark', 'predictor', 'real', 'predicted', 'low',
          'high', *BESIDE, 'extrapolated', 'in_sample', 'missing',
          'scoring_lm', 'with_scores', 'alarm')


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
        main (Optional[Sequence[str]]): Benchmarks of the means; all by
            default.
    """
    predictions: Predictions
    folders: Mapping[str, str]
    notes: tuple[str, ...]
    scoring_lms: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}))
    main: Optional[Sequence[str]] = None

    def __repr__(self) -> str:
        return f'Leaderboard({self.predictions}, {len(self.notes)} notes)'

    @classmethod
    def of(cls,
           predictions: Predictions,
           folders: Optional[Mapping[str, str]] = None,
           remarks: Sequence[str] = (),
           scoring_lms: Mapping[str, str] = MappingProxyType({}),
           main: Optional[Sequence[str]] = None) -> 'Leaderboard':
        """A leaderboard that explains its marks and its missing values.

        Args:
            predictions (Predictions): As in the class.
            folders (Optional[Mapping[str, str]]): As in the class; models
                have one name by default.
            remarks (Sequence[str]): Notes to add at the end.
            scoring_lms (Mapping[str, str]): As in the class.
            main (Optional[Sequence[str]]): As in the class.
        """
        notes = (*prediction_notes(predictions, main),
                 *scoring_lm_notes(scoring_lms), *remarks)
        models = predictions.models
        return cls(predictions, folders or dict(zip(models, models)), notes,
                   scoring_lms, main)

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
        beside = {
            name: column.points(self.predictions).ravel()
            for name, column in BESIDE.items()
        }
        for i, record in enumerate(self.predictions.records()):
            row = {**record, 'predictor': record['method']}
            for name in ('real', 'predicted', 'low', 'high'):
                if row[name] is not None:
                    row[name] = percent(row[name])
            for name, numbers in beside.items():
                row[name] = None if np.isnan(numbers[i]) else float(numbers[i])
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


class Standing(NamedTuple):
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


def standings(
        predictions: Predictions,
        main: Optional[Sequence[str]] = None) -> tuple[str, list[Standing]]:
    """Means over the benchmarks, the real ones first.

    Args:
        predictions (Predictions): Beside the real accuracies.
        main (Optional[Sequence[str]]): As in `Leaderboard`.

    Returns:
        tuple[str, list[Standing]]: What to call the means, and the means of
        the real accuracies and of each predictor, if there are some; none of
        a single benchmark, which is its own mean.
    """
    table = predictions.select(benchmarks=main)
    if len(table.benchmarks) < 2:
        return '', []
    overall = Overall.of(table).of_methods_with_means()
    is_known = table.has_real()
    found = []
    if is_known:
        found.append(
            Standing(REAL, _cells(overall.real), _ranks(overall.real_ranks()),
                     []))
    places, sizes = overall.predicted_ranks(), overall.mean_differences()
    for p, label in enumerate(overall.methods):
        means = [
            cell + '*' * bool(fitted) for cell, fitted in zip(
                _cells(overall.values[:, p]), overall.in_sample[:, p])
        ]
        differences = [
            *_cells(overall.differences()[:, p], '+'), *_cells(sizes[p:p + 1])
        ]
        found.append(
            Standing(label, means, _ranks(places[:, p]),
                     differences if is_known else []))
    return f'mean of {len(overall.benchmarks)}', found


def _cells(fractions: Iterable[float], sign: str = '') -> list[str]:
    return [number(percent(value), f'{sign}.1f') for value in fractions]


def _ranks(ranks: Iterable[float]) -> list[str]:
    return [number(rank, '.0f') for rank in ranks]


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
    is_known = predictions.has_real()
    foot = [''] if is_known else []
    title, found = standings(predictions, board.main)
    columns: list[list[str]] = []
    for standing in found:
        columns += [['', standing.label, *standing.means, *foot],
                    ['', 'rank', *standing.ranks, *foot]]
        if standing.differences:
            columns.append(['', 'diff', *standing.differences])
    if columns:
        columns[0][0] = title
        yield columns
    filled = FilledMeans.of(predictions.select(benchmarks=board.main))
    if filled.has_both:
        yield _filled_columns(filled, foot)
    beside = [(column.title, column.points(predictions),
               column.foot(predictions)) for column in BESIDE.values()]
    for b, benchmark in enumerate(predictions.benchmarks):
        columns = []
        if is_known:
            columns = [['', REAL, *_cells(predictions.real[:, b]), *foot]]
        for p, label in enumerate(predictions.methods):
            cells = predictions.cells(benchmark, label)
            columns.append(['', label, *cells, *foot])
            for title, points, last in beside:
                if is_known or np.isfinite(points).any():
                    shown = [
                        number(value, '+.1f') for value in points[:, b, p]
                    ]
                    columns.append([
                        '', title, *shown, *(number(last[b, p]) for _ in foot)
                    ])
        columns[0][0] = benchmark
        yield columns


def _filled_columns(filled: FilledMeans,
                    foot: Sequence[str]) -> list[list[str]]:
    """The means over real and predicted accuracies, ranks and counts."""
    n_benchmarks = len(filled.benchmarks)
    has_mean = ~np.isnan(filled.values)
    means = [
        cell + f' ({interval(low, high)})' * bool(n and known)
        for cell, known, low, high, n in zip(
            _cells(filled.values), has_mean, filled.low, filled.high,
            filled.n_predicted)
    ]
    counts = [
        f'{n} of {n_benchmarks}' if known else '-'
        for n, known in zip(filled.n_predicted, has_mean)
    ]
    return [[f'mean of {n_benchmarks}', FILLED, *means, *foot],
            ['', 'rank', *_ranks(filled.ranks()), *foot],
            ['', 'are predicted', *counts, *foot]]


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
    write_markdown(page, board)
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


def write_markdown(path: FilePath, board: Leaderboard) -> None:
    """Write a leaderboard as a Markdown table with its notes as a list.

    Args:
        path (FilePath): The file to create or replace.
        board (Leaderboard): The leaderboard.

    Raises:
        InputError: The folder does not exist.
    """
    notes = [f'* {markdown(note)}' for note in board.notes]
    write_text(path, '\n'.join([as_markdown(board), '', *notes, '']))
