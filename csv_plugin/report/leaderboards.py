"""Real and predicted accuracies side by side, to read and as files."""
import json
import os
from collections.abc import (Callable, Collection, Iterable, Iterator, Mapping,
                             Sequence)
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.differences import JointPredictions, predict_jointly
from csv_plugin.core.escaping import markdown
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import number, percent, possible_ranks
from csv_plugin.core.model_losses import DumpInfo
from csv_plugin.core.overall import MEAN_ERROR, Overall
from csv_plugin.core.predicting import (Change, Predictors, RealScores,
                                        collect_features, predict_models,
                                        predictable_benchmarks)
from csv_plugin.core.predictions import REAL, Missing, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath, file_set, write_text
from csv_plugin.io.runs.run_dumps import RunDumps
from csv_plugin.io.runs.run_plan import read_most_items
from csv_plugin.io.tables import write_csv
from csv_plugin.report.notes import (SCORING_LM, engine_notes,
                                     prediction_notes, predictor_notes,
                                     scoring_lm_notes)
from csv_plugin.report.screen import (WIDTH, markdown_table, side_by_side,
                                      wrapped)

#: Changes the predictions of a predictor by a table `known` of real accuracies
#: of the same models, as `extras.score_imputation.with_known_scores` does.
Complete = Callable[..., Predictions]
#: Feature columns by predictor and folder of the model.
RunColumns = Mapping[str, Mapping[str, Union[FeatureTable, Missing]]]

#: Most models that a note names as perhaps the best.
_LIKELY = 3
#: Columns of the CSV file and fields of the JSON rows.
FIELDS = ('model', 'benchmark', 'predictor', 'real', 'predicted', 'low',
          'high', 'difference', 'extrapolated', 'in_sample', 'missing',
          'scoring_lm', 'with_scores', 'at_chance', 'expected_error')


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Models with their real and predicted accuracies.

    Methods of the predictions are the labels of predictors. `folders` has the
    name of each model in the files of the run. `notes`, one line each, are the
    meaning of marks, the reasons for missing values, and remarks. By
    predictor, `scoring_lms` has the model that is its scoring LM, and `ranges`
    the possible ranks of each model as cells, such as '2-4'; both may be
    missing.
    """
    predictions: Predictions
    folders: Mapping[str, str]
    notes: tuple[str, ...]
    scoring_lms: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}))
    ranges: Mapping[str, Sequence[str]] = field(
        default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        return f'Leaderboard({self.predictions!r}, {len(self.notes)} notes)'

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        folders: Optional[Mapping[str, str]] = None,
        remarks: Sequence[str] = (),
        scoring_lms: Mapping[str, str] = MappingProxyType({})
    ) -> 'Leaderboard':
        """A leaderboard that explains its marks and its missing values.

        Args as in the class, but `remarks` are notes to add at the end.
        """
        notes = (*prediction_notes(predictions),
                 *scoring_lm_notes(scoring_lms), *remarks)
        models = predictions.models
        return cls(predictions, folders or dict(zip(models, models)), notes,
                   scoring_lms)

    def shown_name(self, model: str) -> str:
        """The name of a model, marked if it is a scoring LM."""
        marked = model in self.scoring_lms.values()
        return f'{model} ({SCORING_LM})' if marked else model

    def rows(self) -> Iterator[dict[str, Any]]:
        """The `FIELDS` of every model, benchmark and predictor, in this order.

        Accuracies are in percent, flags 0 and 1; None stands for no value.
        """
        for record in self.predictions.records():
            row = {**record, 'predictor': record['method']}
            for name in ('real', 'predicted', 'low', 'high', 'expected_error'):
                if row[name] is not None:
                    row[name] = percent(row[name])
            for name in ('extrapolated', 'in_sample', 'with_scores',
                         'at_chance'):
                if row[name] is not None:
                    row[name] = int(row[name])
            row['difference'] = None
            if None not in (row['predicted'], row['real']):
                row['difference'] = row['predicted'] - row['real']
            row['scoring_lm'] = int(
                self.scoring_lms.get(row['method']) == row['model'])
            yield {name: row[name] for name in FIELDS}


def run_leaderboard(
    predictions: Predictions,
    folders: Mapping[str, str],
    real: RealScores,
    remarks: Sequence[str] = (),
    scoring_lms: Mapping[str, str] = MappingProxyType({})
) -> Leaderboard:
    """The leaderboard of a run.

    Models of the predictions have their names in the files of the run, those
    of `real` the names to show. Other args as in `Leaderboard.of`.
    """
    table = predictions.select(folders)
    missing = dict(table.missing)
    for model, benchmark in product(table.models, table.benchmarks):
        accuracy = real.get((model, benchmark))
        if isinstance(accuracy, Missing):
            missing[model, benchmark, REAL] = accuracy
    accuracies = _real_accuracies(real, table.models, table.benchmarks)
    return Leaderboard.of(
        replace(table, real=accuracies, missing=missing), folders, remarks,
        scoring_lms)


def _real_accuracies(real: RealScores, models: Collection[str],
                     benchmarks: Collection[str]) -> NDArray[np.float64]:
    """Real accuracies, NaN where there are none. `(M, B)`."""
    cells = [real.get(place) for place in product(models, benchmarks)]
    return np.array(
        [cell if isinstance(cell, (float, int)) else np.nan for cell in cells],
        np.float64).reshape(len(models), len(benchmarks))


def predict_run(
        dumps: RunDumps,
        folders: Mapping[str, str],
        predictors: Predictors,
        files: Mapping[str, str],
        real: RealScores,
        progress: Progress = iter,
        complete: Optional[Complete] = None) -> tuple[Leaderboard, RunColumns]:
    """Predict the models of a run anew.

    By label, `predictors` are predictors or why they are unusable, and `files`
    their files. `real` are accuracies of all models on all
    `predictable_benchmarks`. `folders` are as in `Leaderboard`. `progress`
    wraps the models; `complete` changes predictions by the known real
    accuracies.

    Returns the leaderboard, and the feature columns of the models.
    """
    columns = collect_features(predictors, list(folders.values()), dumps.read,
                               progress)
    change = None
    if complete:
        names = predictable_benchmarks(predictors)
        n_items = read_most_items(dumps.work_dir)
        known = AccuracyTable(
            tuple(folders.values()), names,
            _real_accuracies(real, folders, names), np.zeros(len(names)),
            np.array([n_items.get(name, 0) for name in names], np.int64))
        change = partial(complete, known=known)
    return predict_columns(columns, folders, predictors, files, real,
                           dumps.of_models(folders), change), columns


def predict_columns(columns: RunColumns,
                    folders: Mapping[str, str],
                    predictors: Predictors,
                    files: Mapping[str, str],
                    real: RealScores,
                    infos: Mapping[str, DumpInfo] = MappingProxyType({}),
                    change: Optional[Change] = None) -> Leaderboard:
    """Predict models from their feature columns.

    Args as in `predict_run`, but `infos` describe the dumps of models by
    name, and `change` changes the predictions of a predictor.
    """
    predictions = predict_models(predictors, columns,
                                 predictable_benchmarks(predictors), change)
    remarks = [*engine_notes(infos), *predictor_notes(predictors, files)]
    board = run_leaderboard(predictions, folders, real, remarks,
                            scoring_lms(predictors, infos))
    # Known scores make smaller errors, which nothing has measured.
    if change:
        return board
    return with_possible_ranks(board, predictors, columns)


def with_possible_ranks(board: Leaderboard, predictors: Predictors,
                        columns: RunColumns) -> Leaderboard:
    """The leaderboard with possible ranks by predicted means.

    Notes name the models that are most likely to be the best.
    """
    predictions = board.predictions
    overall = Overall.of(predictions)
    ranges, notes = {}, []
    for places, label in zip(overall.predicted_ranks().T, overall.methods):
        ranked = np.flatnonzero(places > 0)
        names = [predictions.models[m] for m in ranked]
        found = _jointly(predictors[label],
                         [columns[label][board.folders[n]] for n in names],
                         overall.benchmarks)
        if found is None:
            continue
        cells = np.full(len(places), '-', object)
        cells[ranked] = [
            possible_ranks(*ends)
            for ends in zip(*found.rank_ranges(predictions.level))
        ]
        ranges[label] = list(cells)
        known = predictions.select(names, overall.benchmarks, [label])
        if '1' not in ranges[label] and not known.uninformative(label).all():
            first = sorted(zip(-found.chances(), names))[:_LIKELY]
            notes.append(f'{label}: the largest mean is probably that of ' +
                         ', '.join(f'{name} ({-chance:.0%})'
                                   for chance, name in first))
    if any('-' in cell[1:] for cells in ranges.values() for cell in cells):
        notes.append(
            'rank 2-4: the error of predicted differences leaves these ranks '
            f'possible ({predictions.level:.0%} for each pair of models).')
    return replace(board, ranges=ranges, notes=(*board.notes, *notes))


def _jointly(predictor: Union[Predictor, Missing],
             rows: Sequence[Union[FeatureTable, Missing]],
             main: Sequence[str]) -> Optional[JointPredictions]:
    """Predict models with known columns; None without errors of differences.
    """
    tables = [row for row in rows if isinstance(row, FeatureTable)]
    if (len(main) < 2 or len(tables) < 2
            or not isinstance(predictor, Predictor)
            or predictor.training_scores is None):
        return None
    return predict_jointly(
        predictor, FeatureTable.concatenate(tables), main=main)


def scoring_lms(predictors: Predictors,
                infos: Mapping[str, DumpInfo]) -> dict[str, str]:
    """Models that are the scoring LM of a predictor, by its label."""
    return {
        label: model
        for label, predictor in predictors.items()
        if isinstance(predictor, Predictor) for model, info in infos.items()
        if info.is_of(predictor.scoring_lm)
    }


class MeanRow(NamedTuple):
    """Means and ranks of all models as cells, real or by one predictor.

    Means are in percent, marked if the model is a training model; ranks are
    from 1 for the largest mean, see `Overall`. Differences are predicted minus
    real means, and their mean size; empty for the real means.
    """
    label: str
    means: list[str]
    ranks: list[str]
    differences: list[str]


def mean_rows(predictions: Predictions) -> tuple[str, list[MeanRow]]:
    """Title and means over the main benchmarks, the real ones first.

    What has no means is left out; there are none of a single benchmark.
    """
    if len(predictions.main) < 2:
        return '', []
    overall = Overall.of(predictions)
    is_known = predictions.select(benchmarks=predictions.main).has_real()
    found = []
    if is_known:
        found.append(
            MeanRow(REAL, _cells(overall.real), _ranks(overall.real_ranks()),
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
            MeanRow(label, means, _ranks(places[:, p]),
                    differences if is_known else []))
    return f'mean of {len(overall.benchmarks)}', found


def _cells(fractions: Iterable[float], sign: str = '') -> list[str]:
    return [number(percent(value), f'{sign}.1f') for value in fractions]


def _ranks(ranks: Iterable[float]) -> list[str]:
    return [number(rank, '.0f') for rank in ranks]


def as_text(board: Leaderboard, width: float = WIDTH, cut: bool = True) -> str:
    """Models as rows, notes below; for reading.

    As many benchmarks as fit into the width are side by side; `cut` as in
    `side_by_side`.
    """
    groups = list(_groups(board))
    if groups:
        groups[0].insert(0, _names(board))
    table = side_by_side(groups, 2, width, cut)
    return '\n\n'.join(filter(None, [table, wrapped(board.notes)]))


def as_markdown(board: Leaderboard) -> str:
    """Models as rows, all benchmarks side by side."""
    columns = [_names(board), *chain.from_iterable(_groups(board))]
    return markdown_table(
        list(zip(*([' '.join(column[:2]), *column[2:]]
                   for column in columns))))  # yapf: disable


def _names(board: Leaderboard) -> list[str]:
    foot = [MEAN_ERROR] if board.predictions.has_real() else []
    names = map(board.shown_name, board.predictions.models)
    return ['', 'model', *names, *foot]


def _groups(board: Leaderboard) -> Iterator[list[list[str]]]:
    """Columns of the means, then of each benchmark, in groups.

    A column has two lines of header, the models and, where real accuracies
    are known, the mean difference.
    """
    predictions = board.predictions
    is_known = predictions.has_real()
    foot = [''] if is_known else []
    title, found = mean_rows(predictions)
    columns: list[list[str]] = []
    for row in found:
        ranks = board.ranges.get(row.label, row.ranks)
        columns += [['', row.label, *row.means, *foot],
                    ['', 'rank', *ranks, *foot]]
        if row.differences:
            columns.append(['', 'diff', *row.differences])
    if columns:
        columns[0][0] = title
        yield columns
    sizes = [predictions.mean_difference(p) for p in predictions.methods]
    for b, benchmark in enumerate(predictions.benchmarks):
        real = predictions.real[:, b]
        columns = [['', REAL, *_cells(real), *foot]] if is_known else []
        for p, label in enumerate(predictions.methods):
            cells = predictions.cells(benchmark, label)
            columns.append(['', label, *cells, *foot])
            if is_known:
                # Adding 0 turns -0.0 into 0.0.
                differences = [
                    number(
                        round(percent(predicted) - percent(observed), 1) + 0.0,
                        '+.1f')
                    for predicted, observed in zip(predictions.values[:, b,
                                                                      p], real)
                ]
                columns.append(
                    ['', 'diff', *differences, *_cells(sizes[p][b:b + 1])])
        columns[0][0] = benchmark
        yield columns


def write_leaderboard(stem: FilePath, board: Leaderboard) -> list[Path]:
    """Write `stem.txt`, `.md`, `.csv` and `.json`, and return these paths.

    Files are replaced if they exist. CSV and JSON contain the `rows`, JSON
    also the notes, the folders, and accuracies at random guessing. An
    `InputError` if the folder does not exist.
    """
    text, page, table, data = (
        Path(f'{os.fspath(stem)}.{kind}')
        for kind in ('txt', 'md', 'csv', 'json'))
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
        'notes': board.notes,
    }
    with file_set():
        write_text(text, f'{as_text(board, cut=False)}\n')
        write_markdown(page, board)
        write_csv(table, FIELDS, (list(row.values()) for row in rows))
        write_text(data,
                   json.dumps(content, indent=1, ensure_ascii=False) + '\n')
    return [text, page, table, data]


def write_markdown(path: FilePath, board: Leaderboard) -> None:
    """Write a leaderboard as a Markdown table with its notes as a list."""
    notes = [f'* {markdown(note)}' for note in board.notes]
    write_text(path, '\n'.join([as_markdown(board), '', *notes, '']))
