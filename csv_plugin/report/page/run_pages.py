"""What a run's folder gives for the page."""
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError, Progress, check_unique
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.files import FilePath
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_scores import read_run_accuracies
from csv_plugin.io.tables import read_accuracy_columns, read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboards import Real
from csv_plugin.report.outliers import outliers
from csv_plugin.report.page.drawings import run_pictures
from csv_plugin.report.page.rendering import Page
from csv_plugin.report.page.sections import heat_sections
from csv_plugin.report.page.summaries import (LEADERBOARD, Summary, newest,
                                              read_summary, summary_of)
from csv_plugin.report.page.tables import predicted_table, real_table
from csv_plugin.report.run_predictions import (RunPredictions, compare,
                                               predict_run)

#: Percent by model and benchmark; what is not known is missing.
_Scores = dict[str, dict[str, float]]
_HOST_SUMMARY = 'summary_*.csv'


def read_run(work_dir: FilePath,
             predictors: Sequence[tuple[str, str]] = (),
             scores: Optional[FilePath] = None,
             models: Optional[FilePath] = None,
             texts: Optional[FilePath] = None,
             progress: Progress = iter) -> Page:
    """The page of a run.

    Args:
        work_dir (FilePath): Time-stamped folder of the run.
        predictors (Sequence[tuple[str, str]]): As in `predicted_summary`;
            without any the page shows what the run's leaderboard says.
        scores (Optional[FilePath]): As in `predicted_summary`.
        models (Optional[FilePath]): Table of the models' families.
        texts (Optional[FilePath]): Validation set of the first predictor.
        progress (Progress): Wraps the models to show progress.

    Raises:
        InputError: If a file cannot be read, or does not fit the others.
    """
    info = read_models(models) if models else {}
    families = {model: known.family for model, known in info.items()}
    loaded = [load_predictor(path) for _, path in predictors]
    # Before the dumps, which take long: texts may be of another predictor.
    heat_maps = heat_sections(loaded[0] if loaded else None,
                              read_texts(texts) if texts else None)
    found: list[RunPredictions] = []
    if predictors:
        summary, found = predicted_summary(work_dir, predictors, loaded,
                                           scores, progress)
    else:
        summary = written_summary(work_dir)
    return Page(
        title=Path(work_dir).resolve().name,
        summary=summary,
        outliers=outliers(
            predicted_table(summary, summary.labels[0]), real_table(summary)),
        predictors=found,
        heat_maps=heat_maps,
        families=families,
        pictures=run_pictures(summary, found[0], families) if found else ())


def written_summary(work_dir: FilePath) -> Summary:
    """What the run's newest leaderboard says.

    Raises:
        InputError: If the run has none, or one that cannot be read.
    """
    path = newest(work_dir, LEADERBOARD)
    if path is None:
        raise InputError(
            os.fspath(work_dir), 'a run with summary/leaderboard_*.json',
            'none', 'Give the time-stamped folder of a run; if its summary '
            'made no predictions, name a predictor.')
    return read_summary(path)


def predicted_summary(
        work_dir: FilePath,
        paths: Sequence[tuple[str, str]],
        loaded: Sequence[Predictor],
        scores: Optional[FilePath] = None,
        progress: Progress = iter) -> tuple[Summary, list[RunPredictions]]:
    """Predict the models of a run anew, beside their real scores.

    Args:
        work_dir (FilePath): Time-stamped folder of the run, with the
            token-loss dumps of its models.
        paths (Sequence[tuple[str, str]]): Label and file of each predictor,
            the main one first.
        loaded (Sequence[Predictor]): What these files hold.
        scores (Optional[FilePath]): Table of real scores, fractions by
            model and benchmark, in place of those of the run: of its
            newest leaderboard and of the host's summary.
        progress (Progress): Wraps the models to show progress.

    Raises:
        InputError: If the folder has no predictions, the scores cannot be
            read, or two predictors have one label.
    """
    check_unique('predictors', ['real', *(label for label, _ in paths)])
    benchmarks = tuple(
        dict.fromkeys(known.benchmark for predictor in loaded
                      for known in predictor.benchmarks))
    folders: dict[str, str] = {}
    if scores:
        known, source = _table_scores(scores), Path(scores).name
    else:
        known, folders, source = _run_scores(work_dir, benchmarks)
    in_run = {*folders.values()}
    folders |= {name: name for name in _models(work_dir) if name not in in_run}
    found = predict_run(work_dir, list(folders.values()), paths, progress,
                        loaded)
    real: Mapping[tuple[str, str], Real] = {
        (model, benchmark):
        known.get(model, {}).get(benchmark, f'no score in {source}')
        for model in folders
        for benchmark in benchmarks
    }
    return summary_of(compare(folders, real, found)), found


def _models(work_dir: FilePath) -> list[str]:
    """Models of which the run left predictions."""
    folder = Path(work_dir, 'predictions')
    models = sorted(path.name for path in folder.glob('*') if path.is_dir())
    if not models:
        raise InputError(
            os.fspath(work_dir), 'a run with predictions/<model>', 'none',
            'Give the time-stamped folder of a run.')
    return models


def _table_scores(path: FilePath) -> _Scores:
    table = read_accuracy_columns(path)
    return {
        model: {
            name: 100 * float(value)
            for name, value in zip(table.columns, row) if value == value
        }
        for model, row in zip(table.models, table.values)
    }  # yapf: disable


def _run_scores(
        work_dir: FilePath,
        benchmarks: Sequence[str]) -> tuple[_Scores, dict[str, str], str]:
    """Real scores, folders of the models, where the scores are from.

    The leaderboard says what it knows, unless the host's summary is newer;
    that also has benchmarks which no predictor knew at the time.
    """
    path = newest(work_dir, LEADERBOARD)
    host = newest(work_dir, _HOST_SUMMARY)
    known: _Scores = {}
    folders: dict[str, str] = {}
    lacking = benchmarks
    if path:
        board = read_summary(path)
        folders |= board.folders
        for (_, model, benchmark), cell in board.cells.items():
            if cell.real is not None:
                known.setdefault(model, {})[benchmark] = cell.real
        if not host or _time(host) <= _time(path):
            lacking = [b for b in benchmarks if b not in board.benchmarks]
    if lacking and (host or not path):
        for model, row in read_run_accuracies(work_dir, lacking).items():
            folders.setdefault(model, model)
            known.setdefault(model, {}).update({
                name: 100 * score
                for name, score in row.items()
            })
    sources = [found.name for found in (path, host) if found]
    return known, folders, ' or '.join(sources)


def _time(path: Path) -> str:
    return path.stem.partition('_')[2]
