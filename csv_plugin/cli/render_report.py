"""Make one HTML page of an OpenCompass run with predictions.

Example (the folder of a run, the texts and predictors of its summary):

    salience report outputs/csv/20260101_120000 \\
        --predictor predicted=predictor.safetensors --texts texts.jsonl

Without --predictor the page shows what the run's leaderboard says. The page
loads nothing from elsewhere and can be sent as it is.
"""
import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from csv_plugin.cli.arguments import (add_verbose, add_work_dir, check_folder,
                                      run_tool)
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.capability_points import capability_points
from csv_plugin.core.conventions import InputError, Progress, shortened
from csv_plugin.core.coverage import coverage_by_level
from csv_plugin.core.escaping import one_line, visible
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.outliers import outliers
from csv_plugin.core.percentages import without_fractions
from csv_plugin.core.predicting import predictable_benchmarks
from csv_plugin.core.predictions import (REAL, UNKNOWN_BENCHMARK, Missing,
                                         Predictions, check_labels)
from csv_plugin.extras.page.drawings import Picture, run_pictures
from csv_plugin.extras.page.rendering import Page, write_page
from csv_plugin.extras.page.sections import PredictorFile, heat_sections
from csv_plugin.io.files import FilePath, check_target
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import RunDumps, run_models
from csv_plugin.io.runs.run_scores import (LEADERBOARD, SUMMARY,
                                           newest_summary, read_run_accuracies)
from csv_plugin.io.tables import read_accuracy_columns, read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboards import Leaderboard, read_leaderboard
from csv_plugin.report.notes import reasons
from csv_plugin.report.run_leaderboards import predict_run

#: Accuracies by model and benchmark, fractions; unknown values are absent.
_Accuracies = dict[str, dict[str, float]]
#: Feature columns by folder of the model.
_Columns = Mapping[str, Union[FeatureTable, Missing]]


def labelled(text: str) -> tuple[str, str]:
    """Type of the option `--predictor LABEL=FILE`.

    Raises:
        argparse.ArgumentTypeError: The label or the file is missing.

    >>> labelled('salience=p.safetensors')
    ('salience', 'p.safetensors')
    """
    label, _, path = text.partition('=')
    if not (label and path):
        raise argparse.ArgumentTypeError(
            f'expected LABEL=FILE, found {text!r}')
    return label, path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_work_dir(parser)
    parser.add_argument(
        '--predictor',
        action='append',
        default=[],
        type=labelled,
        metavar='LABEL=FILE',
        help='predict anew from the dumps of the run, the main\n'
        'predictor first (default: the predictions of the\n'
        'leaderboard of the run)')
    parser.add_argument(
        '--scores',
        metavar='CSV',
        help='real accuracies, fractions in 0..1; needs --predictor\n'
        '(default: those of the run)')
    parser.add_argument(
        '--models',
        metavar='CSV',
        help='families of models, as in training (default: each\n'
        'model is one of its own)')
    parser.add_argument(
        '--texts',
        metavar='JSONL',
        help='validation set of the first predictor, to show its\n'
        'tokens; needs --predictor (default: no tokens)')
    parser.add_argument(
        '--title',
        metavar='TEXT',
        help='heading of the page (default: the name of the folder)')
    add_verbose(parser)
    parser.add_argument(
        '--out',
        metavar='HTML',
        type=Path,
        help='the page (default WORK_DIR/report.html)')


def run(args: argparse.Namespace) -> None:
    for option in ('scores', 'texts'):
        if getattr(args, option) and not args.predictor:
            raise InputError(f'--{option}', '--predictor beside it', 'none',
                             'Name a predictor, or leave the option out.')
    out = args.out or args.work_dir / 'report.html'
    # A folder that is no run is told of in other words.
    if args.out or out.parent.is_dir():
        check_target(out)
        check_folder(out.parent)
    page = run_page(
        args.work_dir,
        args.predictor,
        accuracies=args.scores,
        models=args.models,
        texts=args.texts,
        title=args.title,
        verbose=args.verbose,
        progress=partial(tqdm, desc='models', delay=2))
    if args.models:
        for model, folder in page.board.folders.items():
            if not page.families.keys() & {model, folder}:
                print(f'warning: {visible(model)} has no family in '
                      f'{visible(args.models)} and is one of its own')
    for line in _without_predictions(page.board.predictions):
        print(f'warning: {one_line(line)}')
    write_page(out, page)
    print(f'Written to {visible(str(out))}')


def _without_predictions(predictions: Predictions) -> Iterable[str]:
    """Why models have no prediction on benchmarks that predictors know."""
    missing = {
        cell: reason
        for cell, reason in predictions.missing.items()
        if cell[2] != REAL and reason != UNKNOWN_BENCHMARK
    }
    return reasons(replace(predictions, missing=missing))


def run_page(work_dir: FilePath,
             predictors: Sequence[tuple[str, str]] = (),
             accuracies: Optional[FilePath] = None,
             models: Optional[FilePath] = None,
             texts: Optional[FilePath] = None,
             title: Optional[str] = None,
             verbose: bool = False,
             progress: Progress = iter) -> Page:
    """The page of a run.

    Args:
        work_dir (FilePath): Time-stamped folder of the run.
        predictors (Sequence[tuple[str, str]]): Label and file of each
            predictor, the main one first, to predict the models anew;
            without any the page shows the newest leaderboard of the run.
        accuracies (Optional[FilePath]): Table of real accuracies, in place
            of those of the run: of its newest leaderboard and of
            OpenCompass's summary.
        models (Optional[FilePath]): Table of the models' families.
        texts (Optional[FilePath]): Validation set of the first predictor.
        title (Optional[str]): Heading, by default the name of the folder.
        verbose (bool): As in `Page`.
        progress (Progress): Wraps the models.

    Raises:
        InputError: A file cannot be read or does not fit the others, two
            predictors have one label, or one was fitted to tables.
    """
    info = read_models(models) if models else {}
    families = {name: model.family for name, model in info.items()}
    check_labels('predictors', [label for label, _ in predictors])
    sources = [
        PredictorFile(label, path, load_predictor(path))
        for label, path in predictors
    ]
    for source in sources:
        source.predictor.check_tokens(f'predictor {source.label!r}')
    # Before the dumps, which take long: texts may be of another predictor.
    heat_maps = heat_sections(sources[0].predictor if sources else None,
                              read_texts(texts) if texts else None)
    if sources:
        board, columns = _predicted_leaderboard(work_dir, sources, accuracies,
                                                families, progress)
        pictures = _pictures(board, sources[0], columns, families)
    else:
        board, pictures = _written_leaderboard(work_dir), []
        _check_families(families, board.folders, ())
    return Page(
        title or Path(work_dir).resolve().name, board,
        outliers(board.predictions), sources, heat_maps, families, pictures,
        verbose)


def _written_leaderboard(work_dir: FilePath) -> Leaderboard:
    """The newest leaderboard of the run."""
    path = newest_summary(work_dir, LEADERBOARD)
    if path is None:
        raise InputError(
            os.fspath(work_dir), 'a run with summary/leaderboard_*.json',
            'none', 'Give the time-stamped folder of a run; if its summary '
            'made no predictions, name a predictor.')
    return read_leaderboard(path)


def _predicted_leaderboard(work_dir: FilePath,
                           sources: Sequence[PredictorFile],
                           accuracies: Optional[FilePath],
                           families: Mapping[str, str],
                           progress: Progress) -> tuple[Leaderboard, _Columns]:
    """Predictions anew, beside the real accuracies.

    Returns:
        tuple[Leaderboard, _Columns]: The leaderboard, and the columns of all
        models for the main predictor.
    """
    predictors = {source.label: source.predictor for source in sources}
    paths = {source.label: source.path for source in sources}
    benchmarks = predictable_benchmarks(predictors)
    folders: dict[str, str] = {}
    if accuracies:
        real, file = _table_accuracies(accuracies), Path(accuracies).name
    else:
        real, folders, file = _run_accuracies(work_dir, benchmarks)
    named = {*folders.values()}
    folders |= {
        model: model
        for model in run_models(work_dir) if model not in named
    }
    _check_families(families, folders, [
        model for predictor in predictors.values()
        for part in predictor.benchmarks for model in part.fit_models
    ])
    missing = Missing(f'no score in {file}')
    scores = {
        (model, benchmark): real.get(model, {}).get(benchmark, missing)
        for model in folders
        for benchmark in benchmarks
    }
    if not accuracies:
        scores = without_fractions(scores, predictors)
    board, columns = predict_run(
        RunDumps(work_dir),
        folders,
        predictors,
        paths,
        scores,
        progress=progress)
    return board, columns[sources[0].label]


def _check_families(families: Mapping[str, str], folders: Mapping[str, str],
                    fitted: Sequence[str]) -> None:
    """Refuse a table that tells of no model of the page."""
    models = {*folders, *folders.values(), *fitted}
    if families and models.isdisjoint(families):
        raise InputError('table of models',
                         f'models of the run such as {min(models)!r}',
                         shortened(', '.join(families), 200),
                         'Use the names that models have in the run.')


def _table_accuracies(path: FilePath) -> _Accuracies:
    table = read_accuracy_columns(path)
    return {
        model: _accuracies_of(table.columns, row)
        for model, row in zip(table.models, table.values)
    }


def _accuracies_of(benchmarks: Sequence[str],
                   accuracies: NDArray) -> dict[str, float]:
    """Accuracies of a model by benchmark, without NaN."""
    return {
        name: accuracy
        for name, accuracy in zip(benchmarks, accuracies.tolist())
        if not np.isnan(accuracy)
    }


def _run_accuracies(
        work_dir: FilePath,
        benchmarks: Sequence[str]) -> tuple[_Accuracies, dict[str, str], str]:
    """Real accuracies, folders by model, and names of the files read.

    The leaderboard has precedence, unless OpenCompass's summary is newer;
    the summary also has benchmarks that no predictor knew at the time.
    """
    path = newest_summary(work_dir, LEADERBOARD)
    summary = newest_summary(work_dir, SUMMARY)
    real: _Accuracies = {}
    folders: dict[str, str] = {}
    lacking = benchmarks
    if path:
        board = read_leaderboard(path)
        folders |= board.folders
        table = board.predictions
        real = {
            model: _accuracies_of(table.benchmarks, row)
            for model, row in zip(table.models, table.real)
        }
        if not summary or _time(summary) <= _time(path):
            lacking = [b for b in benchmarks if b not in table.benchmarks]
    if lacking and (summary or not path):
        for model, row in read_run_accuracies(work_dir, lacking).items():
            folders.setdefault(model, model)
            real.setdefault(model, {}).update(row)
    files = [file.name for file in (path, summary) if file]
    return real, folders, ' or '.join(files)


def _time(path: Path) -> str:
    return path.stem.partition('_')[2]


def _pictures(board: Leaderboard, source: PredictorFile, columns: _Columns,
              families: Mapping[str, str]) -> list[Picture]:
    """Pictures of the main predictor, of models with losses and accuracies.

    Models have the names of their folders, under which predictors are
    fitted; a model without a known family is a family of its own.
    """
    predictor = source.predictor
    predictions = board.predictions.select(
        benchmarks=predictor.names, methods=[source.label])
    folders = tuple(board.folders[model] for model in predictions.models)
    unknown = np.zeros(len(predictions.benchmarks))
    observed = AccuracyTable(folders, predictions.benchmarks, predictions.real,
                             unknown, unknown.astype(int))
    tables = [
        table
        for table, row in zip(map(columns.get, folders), observed.values)
        if isinstance(table, FeatureTable) and np.isfinite(row).any()
    ]
    if not tables:
        return []
    features = FeatureTable.concatenate(tables)
    shown = {folder: model for model, folder in board.folders.items()}
    points = capability_points(predictor, features, observed, {
        **shown,
        **families
    })
    coverage = None
    if predictions.held_out(source.label).any():
        coverage = coverage_by_level(predictor, features, observed)
    far = [
        replace(outlier, model=board.folders[outlier.model])
        for outlier in outliers(predictions)
    ]
    return run_pictures(points, predictions, coverage, far)


def main(argv: Optional[Sequence[str]] = None) -> int:
    return run_tool('render_report', __doc__, add_arguments, run, argv)
