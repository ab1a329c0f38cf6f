"""Real and predicted accuracies side by side, to read and as files."""
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.escaping import markdown
from csv_plugin.core.formatting import (number, percent, possible_ranks,
                                        predicted_cell)
from csv_plugin.core.model_losses import mixed_engines
from csv_plugin.core.overall import MEAN_ERROR, NamedJoint, Overall
from csv_plugin.core.predicting import (ColumnsByLabel, Predictors, RealScores,
                                        collect_features, known_items,
                                        predict_models, predictable_benchmarks)
from csv_plugin.core.predictions import REAL, Missing, Predictions
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath, file_set, write_text
from csv_plugin.io.json_files import write_json
from csv_plugin.io.model_tables import scores_alone
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.tables import write_csv
from csv_plugin.report.notes import (item_notes, mean_notes, outcome,
                                     outside_notes, prediction_notes,
                                     predictor_notes, reasons)
from csv_plugin.report.screen import (WIDTH, markdown_table, side_by_side,
                                      wrapped)

#: Columns of the CSV file and fields of the JSON rows, see `Leaderboard.rows`.
FIELDS = ('model', 'benchmark', 'predictor', 'real', 'predicted', 'low',
          'high', 'difference', 'extrapolated', 'in_sample', 'missing',
          'with_scores', 'at_chance', 'expected_error')

#: Numbers of items by model and benchmark.
Items = Mapping[tuple[str, str], int]


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Models with their real and predicted accuracies.

    Methods of the predictions are the labels of predictors. `folders` has the
    name of each model in the files of the run. `notes`, one line each, are the
    meaning of marks, the reasons for missing values, and remarks. `overall`
    has means over benchmarks, and ranks. `known` are accuracies that the
    predictions are conditioned on, by folder. `items` are the numbers of items
    that real accuracies are of, where known.
    """
    predictions: Predictions
    folders: Mapping[str, str]
    notes: tuple[str, ...]
    overall: Overall
    items: Items = field(default_factory=dict)
    known: Optional[AccuracyTable] = None

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        folders: Optional[Mapping[str, str]] = None,
        remarks: Sequence[str] = (),
        joints: Mapping[str, NamedJoint] = MappingProxyType({})
    ) -> 'Leaderboard':
        """A leaderboard that explains its marks and its missing values.

        Args as in the class, but `remarks` are notes to add, and `joints` are
        the joint distributions of the accuracies, by label, where known.
        """
        models = predictions.models
        overall = Overall.of(predictions, joints)
        notes = (*prediction_notes(predictions, overall), *remarks,
                 *mean_notes(overall, predictions.level))
        return cls(predictions, folders or dict(zip(models, models)), notes,
                   overall)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The `FIELDS` of every model, benchmark and predictor, in this order.

        Accuracies are in percent, flags 0 and 1; None stands for no value.
        """
        for record in self.predictions.records():
            row = {name: _plain(value) for name, value in record.items()}
            row['predictor'] = row['method']
            row['difference'] = None
            if None not in (row['predicted'], row['real']):
                row['difference'] = row['predicted'] - row['real']
            yield {name: row[name] for name in FIELDS}


def _plain(value: Any) -> Any:
    """A fraction in percent, a flag as 0 or 1; a name as it is."""
    if isinstance(value, bool):
        return int(value)
    return percent(value) if isinstance(value, float) else value


def predict_run(work_dir: FilePath,
                folders: Mapping[str, str],
                predictors: Predictors,
                files: Mapping[str, str],
                real: RealScores,
                progress: Progress = iter,
                known: Optional[AccuracyTable] = None,
                items: Items = MappingProxyType({}),
                families: Optional[Mapping[str, str]] = None
                ) -> tuple[Leaderboard, ColumnsByLabel]:  # yapf: disable
    """Predict the models of a run anew; return their feature columns, too.

    By label, `predictors` are predictors or why they are unusable, and `files`
    their files. `real` are accuracies of all models on all
    `predictable_benchmarks`, or why there is none. `folders` are as in
    `Leaderboard`. `progress` wraps the models. `known`, `items` and
    `families` are as in `predict_columns`.
    """
    columns, infos = collect_features(predictors, list(folders.values()),
                                      partial(read_run_dump, work_dir),
                                      progress)
    remarks = mixed_engines({
        model: infos[folder]
        for model, folder in folders.items() if folder in infos
    })
    return predict_columns(columns, folders, predictors, files, real, remarks,
                           known, items, families), columns


def predict_columns(
        columns: ColumnsByLabel,
        folders: Mapping[str, str],
        predictors: Predictors,
        files: Mapping[str, str],
        real: RealScores,
        remarks: Sequence[str] = (),
        known: Optional[AccuracyTable] = None,
        items: Items = MappingProxyType({}),
        families: Optional[Mapping[str, str]] = None) -> Leaderboard:
    """Predict models from their feature columns.

    Args as in `predict_run` and `Leaderboard.of`. `known` accuracies and
    `families` of the models, by their folders, are as in `Predictor.predict`.
    `items` are the numbers of items that real accuracies are of, by model and
    benchmark, where known. If they are fewer than those that predictors were
    fitted to, intervals are wider when the accuracies are judged.
    """
    predictions, joints = predict_models(predictors, columns,
                                         predictable_benchmarks(predictors),
                                         known, families)
    predictions = predictions.select(folders)
    missing = {
        (*cell, REAL): accuracy
        for cell, accuracy in real.items() if isinstance(accuracy, Missing)
    }
    predictions = replace(
        predictions,
        real=_real_accuracies(real, folders, predictions.benchmarks),
        missing={
            **predictions.missing,
            **missing
        },
        more_noise=_more_noise(predictions, predictors, items))
    remarks = [*remarks, *item_notes(predictions, items)]
    joints = {label: joint.renamed(folders) for label, joint in joints.items()}
    board = Leaderboard.of(predictions, folders,
                           [*remarks, *predictor_notes(predictors, files)],
                           joints)
    return replace(board, known=known, items=items)


def known_in_run(real: RealScores, folders: Mapping[str, str],
                 benchmarks: Sequence[str]) -> AccuracyTable:
    """Return the real accuracies of a run, by the folders of its models."""
    return scores_alone([*folders.values()], benchmarks,
                        _real_accuracies(real, folders, benchmarks))


def _more_noise(predictions: Predictions, predictors: Predictors,
                items: Items) -> NDArray[np.float64]:
    """Variance because only a part of the items was run, `(M, B, P)`.

    It is divided by p (1 - p) of the accuracy p. For n items that were drawn
    without replacement from the N items that predictors were fitted to, it is
    1/n - 1/N; 0 where all items were run or n is unknown. An unknown N counts
    as infinite.
    """
    whole = known_items(predictors)
    found = np.zeros(predictions.values.shape)
    for m, model in enumerate(predictions.models):
        for b, name in enumerate(predictions.benchmarks):
            n_items = items.get((model, name), 0)
            if n_items:
                share = 1 / whole[name] if whole[name] else 0
                found[m, b] = max(1 / n_items - share, 0)
    return found


def _real_accuracies(real: RealScores, models: Collection[str],
                     benchmarks: Collection[str]) -> NDArray[np.float64]:
    """Real accuracies as fractions, `(M, B)`; NaN where there are none."""
    values = np.full((len(models), len(benchmarks)), np.nan)
    for m, model in enumerate(models):
        for b, name in enumerate(benchmarks):
            accuracy = real.get((model, name), np.nan)
            if not isinstance(accuracy, Missing):
                values[m, b] = accuracy
    return values


def percents(fractions: Iterable[float], form: str = '.1f') -> list[str]:
    """Return fractions in percent, as cells; '-' for NaN."""
    # Adding 0 turns -0.0 into 0.0.
    return [
        number(round(percent(value), 1) + 0.0, form) for value in fractions
    ]


def as_text(board: Leaderboard, width: float = WIDTH) -> str:
    """Models as rows, notes below; for reading.

    As many benchmarks as fit into the width are side by side.
    """
    table = side_by_side(_names(board), _groups(board), 2, width)
    return '\n\n'.join(filter(None, [table, wrapped(board.notes)]))


def as_short_text(board: Leaderboard, width: int) -> str:
    """Real accuracies and main predictions, and what came out; for a screen.

    At most `width` columns wide. Other predictors, marks and most notes are
    left to `as_text`.
    """
    predictions = board.predictions
    if not predictions.benchmarks:
        return wrapped(board.notes, width)
    foot = _foot(predictions, 'error')
    table = side_by_side(['', 'model', *predictions.models, *foot],
                         _short_groups(board), 2, width)
    # Most lines of what came out, and of reasons for empty cells.
    most = 6
    notes = [*outcome(predictions), *reasons(predictions)]
    if len(notes) > most:
        notes[most:] = [f'... and {len(notes) - most} more such lines.']
    notes += [*item_notes(predictions, board.items),
              *outside_notes(predictions)]  # yapf: disable
    return f'{table}\n\n{wrapped(notes, width)}'


def _short_groups(board: Leaderboard) -> Iterator[list[list[str]]]:
    """Real accuracies and main predictions: of the means, and benchmarks."""
    predictions, overall = board.predictions, board.overall
    main = predictions.methods[0]
    is_known = predictions.has_real()
    if len(predictions.main) > 1 and main in overall.methods:
        p = overall.methods.index(main)
        size = overall.mean_differences()[p] if is_known else math.nan
        yield _pair(f'mean of {len(overall.benchmarks)}', main, is_known,
                    overall.real, mean_cells(overall, main), size)
    for b, benchmark in enumerate(predictions.benchmarks):
        yield _pair(benchmark, main, is_known, predictions.real[:, b],
                    predictions.cells(benchmark, main),
                    predictions.mean_difference(main)[b])


def _pair(above: str, main: str, is_known: bool, real: Iterable[float],
          cells: Sequence[str], size: float) -> list[list[str]]:
    """Columns of real accuracies, where known, and of predictions."""
    if not is_known:
        return [[above, main, *cells]]
    return [['', REAL, *percents(real), ''],
            [above, main, *cells, *percents([size])]]


def as_markdown(board: Leaderboard) -> str:
    """Models as rows, all benchmarks side by side."""
    columns = [_names(board), *chain.from_iterable(_groups(board))]
    merged = []
    for column in columns:
        # One line of header for the benchmark and the predictor.
        merged.append([' '.join(column[:2]), *column[2:]])
    return markdown_table(list(zip(*merged)))


def _foot(predictions: Predictions, cell: str = '') -> list[str]:
    """The last cell of a column; only tables with real accuracies have one."""
    return [cell] if predictions.has_real() else []


def _names(board: Leaderboard) -> list[str]:
    """The column with the names of the models."""
    foot = _foot(board.predictions, MEAN_ERROR)
    return ['', 'model', *board.predictions.models, *foot]


def _groups(board: Leaderboard) -> Iterator[list[list[str]]]:
    """Columns of the means, then of each benchmark, in groups.

    A column has two lines of header, the models and, where real accuracies
    are known, the mean difference.
    """
    predictions = board.predictions
    # There are no means of a single benchmark.
    if len(predictions.main) > 1 and (columns := _of_means(board)):
        yield columns
    is_known = predictions.has_real()
    foot = _foot(predictions)
    for b, benchmark in enumerate(predictions.benchmarks):
        real = percents(predictions.real[:, b])
        columns = [['', REAL, *real, *foot]] if is_known else []
        for label in predictions.methods:
            cells = predictions.cells(benchmark, label)
            columns.append(['', label, *cells, *foot])
            if is_known:
                gaps = predictions.difference(label)[:, b]
                size = predictions.mean_difference(label)[b]
                columns.append(
                    ['', 'diff', *percents(gaps, '+.1f'), *percents([size])])
        columns[0][0] = benchmark
        yield columns


def _of_means(board: Leaderboard) -> list[list[str]]:
    """Means over the main benchmarks and ranks by them, the real ones first.

    Means of training models are marked. There are none where no benchmark is
    predictable yet.
    """
    predictions, overall = board.predictions, board.overall
    if not overall.benchmarks:
        return []
    foot = _foot(predictions)
    is_known = predictions.select(benchmarks=predictions.main).has_real()
    columns = []
    if is_known:
        columns += [['', REAL, *percents(overall.real), *foot],
                    ['', 'rank', *_ranks(overall.real_ranks()), *foot]]
    gaps = overall.differences()
    for p, size in enumerate(overall.mean_differences()):
        label = overall.methods[p]
        columns += [['', label, *mean_cells(overall, label), *foot],
                    ['', 'rank', *rank_cells(overall, label), *foot]]
        if is_known:
            columns.append(
                ['', 'diff', *percents(gaps[:, p], '+.1f'), *percents([size])])
    if columns:
        columns[0][0] = f'mean of {len(overall.benchmarks)}'
    return columns


def mean_cells(overall: Overall, method: str) -> list[str]:
    """Return predicted means in percent, with intervals where known.

    Means of training models have a `*`; '-' stands for no mean.
    """
    p = overall.methods.index(method)
    marks = ['*' * bool(fitted) for fitted in overall.in_sample[:, p]]
    values = overall.values[:, p]
    view = overall.views.get(method)
    if view is None:
        return [cell + mark for cell, mark in zip(percents(values), marks)]
    return [
        predicted_cell(value, low, high, marks=mark)
        for value, low, high, mark in zip(values, view.low, view.high, marks)
    ]


def rank_cells(overall: Overall, method: str) -> list[str]:
    """Return ranks by predicted means: ranges, such as '2-4', where known."""
    view = overall.views.get(method)
    if view is None:
        p = overall.methods.index(method)
        return _ranks(overall.predicted_ranks()[:, p])
    return [*map(possible_ranks, view.first, view.last)]


def _ranks(ranks: Iterable[float]) -> list[str]:
    return [number(rank, '.0f') for rank in ranks]


def write_leaderboard(stem: FilePath, board: Leaderboard) -> None:
    """Write `stem.txt`, `.md`, `.csv` and `.json`.

    Files are replaced if they exist, and the folder is made. CSV and JSON
    contain the `rows`, JSON also the notes, the folders, known accuracies that
    the predictions are conditioned on, and accuracies at random guessing.
    """
    rows = list(board.rows())
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
        'items': [[*cell, n_items] for cell, n_items in board.items.items()],
        'known': {
            model: {
                name: percent(accuracy)
                for name, accuracy in row.items() if accuracy is not None
            }
            for model, row in board.known.to_dict().items()
        } if board.known else {},
        'notes': board.notes,
    }
    with file_set(Path(stem).parent):
        write_text(f'{stem}.txt', f'{as_text(board)}\n')
        write_markdown(f'{stem}.md', board)
        write_csv(f'{stem}.csv', FIELDS, (list(row.values()) for row in rows))
        write_json(f'{stem}.json', content)


def write_markdown(path: FilePath, board: Leaderboard) -> None:
    """Write a leaderboard as a Markdown table with its notes as a list."""
    notes = [f'* {markdown(note)}' for note in board.notes]
    write_text(path, '\n'.join([as_markdown(board), '', *notes, '']))
