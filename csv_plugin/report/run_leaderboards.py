"""The leaderboard of a finished OpenCompass run, with its accuracies."""
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.metric_names import why_no_accuracy
from csv_plugin.core.predicting import (ColumnsByLabel, Predictors,
                                        fitted_benchmarks)
from csv_plugin.core.predictions import Missing
from csv_plugin.core.progress import Progress
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import read_json
from csv_plugin.io.model_tables import scores_alone
from csv_plugin.io.runs.run_dumps import run_models
from csv_plugin.io.runs.run_scores import (LEADERBOARD, newest_summary,
                                           read_run_accuracies)
from csv_plugin.report.leaderboards import Leaderboard, predict_run


def run_leaderboard(
    work_dir: FilePath,
    predictors: Predictors,
    files: Mapping[str, str],
    progress: Progress = iter,
    known: Optional[AccuracyTable] = None,
    families: Optional[Mapping[str, str]] = None
) -> tuple[Leaderboard, ColumnsByLabel]:
    """Predict the models of a run, beside the accuracies that it observed.

    Args:
        work_dir: The time-stamped folder of the run.
        predictors: Predictors by label, the main one first.
        files: The files of the predictors, by label.
        progress: Wraps the models whose losses are read.
        known: Accuracies that predictions are conditioned on, by folder (by
            default those of the newest leaderboard of the run).
        families: Families of the models, by the names of their folders.

    Returns:
        The leaderboard, and the columns that it was predicted from. Models
        have the names of the newest summary of the run.

    Raises:
        InputError: The folder is not that of a run.
    """
    benchmarks = fitted_benchmarks(predictors)
    # The other metrics are those of benchmarks without an accuracy.
    observed, other_metrics = read_run_accuracies(work_dir, benchmarks)
    path = newest_summary(work_dir, LEADERBOARD)
    # The package wrote this file: there is no advice if it is broken.
    leaderboard = read_json(path, remedy='') if path else {}
    # OpenCompass' summary of accuracies may call models otherwise than their
    # folders; an earlier leaderboard tells.
    folder_of = leaderboard.get('folders', {})
    folders = {model: folder_of.get(model, model) for model in observed}
    named = set(folders.values())
    for model in run_models(work_dir):
        if model not in named:
            folders[model] = model
    scores: dict[tuple[str, str], float | Missing] = {}
    for model in folders:
        for benchmark in benchmarks:
            accuracy = observed.get(model, {}).get(benchmark)
            if accuracy is None:
                reason = 'no score in the run'
                if benchmark in other_metrics:
                    reason = why_no_accuracy(other_metrics[benchmark])
                scores[model, benchmark] = Missing(reason)
            else:
                scores[model, benchmark] = accuracy
    items = {}
    for model, benchmark, n_items in leaderboard.get('items', ()):
        items[model, benchmark] = n_items
    if known is None:
        known = _known(leaderboard)
    return predict_run(work_dir, folders, predictors, files, scores, progress,
                       known, items, families)


def _known(leaderboard: Mapping[str, Any]) -> Optional[AccuracyTable]:
    """Accuracies that predictions of a leaderboard are conditioned on.

    The file has them in percent.
    """
    rows = leaderboard.get('known', {})
    names = [*dict.fromkeys(name for row in rows.values() for name in row)]
    if not names:
        return None
    values = [[row.get(name, np.nan) for name in names]
              for row in rows.values()]
    return scores_alone([*rows], names, np.array(values) / 100)
