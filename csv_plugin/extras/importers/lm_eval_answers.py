"""Answers to single items, from samples of lm-evaluation-harness."""
from functools import partial
from pathlib import Path

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.json_rows import read_plain_rows
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lm_eval_accuracies import METRICS
from csv_plugin.extras.importers.lm_eval_results import (REMEDY, Run,
                                                         read_runs, runs_of)
from csv_plugin.io.files import FilePath


def read_lm_eval_answers(path: FilePath) -> dict[str, dict[str, float]]:
    """Read the grades of one model by task and item.

    Of several runs of a task, the newest whole one counts, and of several
    metrics and filters the first that is an accuracy. Items of other prompts,
    metrics and numbers of few-shot examples have other names. What cannot be
    used is left out with a warning.

    Args:
        path (FilePath): A file of results, with `samples_*.jsonl` beside it,
            or a folder with such files.

    Raises:
        InputError: As in `read_runs` and `runs_of`, or no task has samples.
    """
    left_out, name = LeftOut(), Path(path).name
    runs = read_runs(path, left_out)
    # Groups have no configuration, and no samples.
    tasks = {
        task
        for run in runs
        for task in run.results if run.stated('configs', task)
    }
    answers = usable(
        {
            task: partial(_grades,
                          runs_of(runs, name, task, left_out)[0], task)
            for task in sorted(tasks)
        }, 'task', left_out)
    left_out.warn()
    return answers


def _grades(run: Run, task: str) -> dict[str, float]:
    shots = run.measured('', task).shots
    grades: dict[str, float] = {}
    for row in read_plain_rows(run.samples(task), REMEDY):
        metric = next((name for name in METRICS if name in row.fields), '')
        item = (f'{row.fields.get("doc_id")} {row.fields.get("doc_hash", "")} '
                f'{metric} {shots}')
        if metric and item not in grades:  # Each filter repeats the items.
            grades[item] = row.number(metric)
    if not grades:
        raise InputError(f'{run.path}, {task}', 'samples with an accuracy',
                         'none', 'Choose tasks with acc or exact_match.')
    return grades
