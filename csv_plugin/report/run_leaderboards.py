"""Make the leaderboard of a finished OpenCompass run."""
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
    """Predict the models of a run, and show the run's accuracies beside it.

    Args:
        work_dir: The time-stamped folder of the run.
        predictors: Predictors by label, the main one first.
        files: The files of the predictors, by label.
        progress: Wraps the loop over the models whose losses are read.
        known: Accuracies that predictions are conditioned on; its models are
            named by their folders. By default, the accuracies that the newest
            leaderboard of the run is conditioned on.
        families: Maps the names of the models' folders to families.

    Returns:
        The leaderboard, and the feature columns that it was predicted from.
        Models have the names in the newest summary of the run.

    Raises:
        InputError: `work_dir` is not the folder of a run.
    """
    benchmarks = fitted_benchmarks(predictors)
    # `other_metrics` has the metrics of benchmarks without an accuracy.
    observed, other_metrics = read_run_accuracies(work_dir, benchmarks)
    path = newest_summary(work_dir, LEADERBOARD)
    leaderboard = {}
    if path:
        # The package wrote this file: a user can do nothing if it is broken.
        leaderboard = read_json(path, remedy='')
    # In OpenCompass' summary of accuracies, models may have other names than
    # their folders. An earlier leaderboard has the folder of each name.
    folder_of = leaderboard.get('folders', {})
    folders = {}
    for model in observed:
        folders[model] = folder_of.get(model, model)
    named = set(folders.values())
    for model in run_models(work_dir):
        if model not in named:
            folders[model] = model
    accuracy_of: dict[tuple[str, str], float | Missing] = {}
    for model in folders:
        accuracies = observed.get(model, {})
        for benchmark in benchmarks:
            if benchmark in accuracies:
                accuracy_of[model, benchmark] = accuracies[benchmark]
                continue
            reason = 'no accuracy in the run'
            if benchmark in other_metrics:
                reason = why_no_accuracy(other_metrics[benchmark])
            accuracy_of[model, benchmark] = Missing(reason)
    items = {}
    for model, benchmark, n_items in leaderboard.get('items', ()):
        items[model, benchmark] = n_items
    if known is None:
        known = _known(leaderboard)
    return predict_run(work_dir, folders, predictors, files, accuracy_of,
                       progress, known, items, families)


def _known(leaderboard: Mapping[str, Any]) -> Optional[AccuracyTable]:
    """Return the accuracies that a leaderboard is conditioned on.

    `leaderboard` is the content of its JSON file, where accuracies are in
    percent. The result is None if it is conditioned on no accuracies.
    """
    rows = leaderboard.get('known', {})
    benchmarks: dict[str, None] = {}
    for row in rows.values():
        benchmarks.update(dict.fromkeys(row))
    if not benchmarks:
        return None
    shape = len(rows), len(benchmarks)
    percents = np.full(shape, np.nan)
    for m, row in enumerate(rows.values()):
        for b, name in enumerate(benchmarks):
            percents[m, b] = row.get(name, np.nan)
    return scores_alone(list(rows), list(benchmarks), percents / 100)
