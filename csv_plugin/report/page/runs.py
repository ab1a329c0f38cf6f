"""What a run's folder gives for the page."""
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from csv_plugin.core.errors import InputError, check_unique
from csv_plugin.core.progress import Progress
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.run_scores import read_run_scores
from csv_plugin.io.tables import read_models, read_scores
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboards import Real
from csv_plugin.report.outliers import outliers
from csv_plugin.report.page.pictures import run_pictures
from csv_plugin.report.page.rendering import Page
from csv_plugin.report.page.sections import heat_sections
from csv_plugin.report.page.summaries import (Summary, find_leaderboard,
                                              read_summary, summary_of)
from csv_plugin.report.page.tables import predicted_table, real_table
from csv_plugin.report.run_predictions import (RunPredictions, compare,
                                               predict_run)

FilePath = str | os.PathLike[str]
#: Percent by model and benchmark; what is not known is missing.
_Scores = dict[str, dict[str, float]]


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
    found: list[RunPredictions] = []
    if predictors:
        summary, found = predicted_summary(work_dir, predictors, scores,
                                           progress)
    else:
        summary = written_summary(work_dir)
    main = found[0].predictor if found else None
    assert not isinstance(main, str)
    return Page(
        title=Path(work_dir).resolve().name,
        summary=summary,
        outliers=outliers(
            predicted_table(summary, summary.labels[0]), real_table(summary)),
        predictors=found,
        heat_maps=heat_sections(main,
                                read_texts(texts) if texts else None),
        families=families,
        pictures=run_pictures(work_dir, summary, found[0], families)
        if found else ())


def written_summary(work_dir: FilePath) -> Summary:
    """What the run's newest leaderboard says.

    Raises:
        InputError: If the run has none, or one that cannot be read.
    """
    path = find_leaderboard(work_dir)
    if path is None:
        raise InputError(
            os.fspath(work_dir), 'a run with summary/leaderboard_*.json',
            'none', 'Give the time-stamped folder of a run; if its summary '
            'made no predictions, name a predictor.')
    return read_summary(path)


def predicted_summary(
        work_dir: FilePath,
        paths: Sequence[tuple[str, str]],
        scores: Optional[FilePath] = None,
        progress: Progress = iter) -> tuple[Summary, list[RunPredictions]]:
    """Predict the models of a run anew, beside their real scores.

    Args:
        work_dir (FilePath): Time-stamped folder of the run, with the
            token-loss dumps of its models.
        paths (Sequence[tuple[str, str]]): Label and file of each predictor,
            the main one first.
        scores (Optional[FilePath]): Table of real scores, fractions by
            model and benchmark, in place of those of the run: of its
            newest leaderboard or, without one, of the host's summary.
        progress (Progress): Wraps the models to show progress.

    Raises:
        InputError: If the folder has no predictions, a predictor or the
            scores cannot be read, or two predictors have one label.
    """
    check_unique('predictors', ['real', *(label for label, _ in paths)])
    # Of predictors that were named, none is left out.
    loaded = [load_predictor(path) for _, path in paths]
    benchmarks = tuple(
        dict.fromkeys(known.benchmark for predictor in loaded
                      for known in predictor.benchmarks))
    known, source = _scores(work_dir, benchmarks, scores)
    in_run = [] if scores else list(known)
    models = list(dict.fromkeys([*in_run, *_models(work_dir)]))
    found = predict_run(work_dir, models, paths, progress)
    real: Mapping[tuple[str, str], Real] = {
        (model, benchmark):
        known.get(model, {}).get(benchmark, f'no score in {source}')
        for model in models
        for benchmark in benchmarks
    }
    board = compare({model: model for model in models}, real, found)
    return summary_of(board), found


def _models(work_dir: FilePath) -> list[str]:
    """Models of which the run left predictions."""
    folder = Path(work_dir, 'predictions')
    models = sorted(path.name for path in folder.glob('*') if path.is_dir())
    if not models:
        raise InputError(
            os.fspath(work_dir), 'a run with predictions/<model>', 'none',
            'Give the time-stamped folder of a run.')
    return models


def _scores(work_dir: FilePath, benchmarks: Sequence[str],
            scores: Optional[FilePath]) -> tuple[_Scores, str]:
    """Real scores and the name of the file that they are from."""
    if scores is not None:
        table = read_scores(scores)
        cells = zip(table.models, table.values)
        return {
            model: {
                name: 100 * float(value)
                for name, value in zip(table.columns, row) if value == value
            }
            for model, row in cells
        }, Path(scores).name  # yapf: disable
    path = find_leaderboard(work_dir)
    if path is None:
        return {
            model: {
                name: 100 * score
                for name, score in row.items()
            }
            for model, row in read_run_scores(work_dir, benchmarks).items()
        }, 'the summary of this run'
    summary = read_summary(path)
    known: _Scores = {model: {} for model in summary.models}
    for (_, model, benchmark), cell in summary.cells.items():
        if cell.real is not None:
            known[model][benchmark] = cell.real
    return known, path.name
