"""Accuracies on benchmarks from the results of lm-evaluation-harness."""
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain, product
from typing import Optional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_list
from csv_plugin.core.measured import check_measured
from csv_plugin.extras.importers.accuracy_cells import Cell, accuracy_table
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lm_eval_results import (METRICS, REMEDY, Run,
                                                         read_runs, run_of)
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import JsonPart, is_number
from csv_plugin.io.model_paths import paths_by_model


def read_lm_eval_accuracies(
        paths: Mapping[str, FilePath] | Iterable[FilePath],
        benchmarks: Sequence[str],
        metrics: Optional[Mapping[str, str]] = None,
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from outputs of lm-evaluation-harness.

    Of several runs of a benchmark, the newest whole one counts. Its accuracy
    is `acc_norm` where the harness gives it, else `acc`, else `exact_match`.
    What cannot be used is left out with a warning. Different prompts and
    versions of a task are warnings, too.

    Args:
        paths (Mapping | Iterable): Output folder of each of M models, by the
            name to call it, or folders that are named after their models.
        benchmarks (Sequence[str]): Tasks or groups of the harness, or
            patterns such as 'arc*'.
        metrics (Optional[Mapping[str, str]]): Metric of some of the
            benchmarks, and perhaps a filter, such as
            `{'gsm8k': 'exact_match,strict-match'}`.
        chance (Optional[Mapping[str, float]]): Chance level of each
            benchmark that is not in `io.known_benchmarks`.

    Returns:
        AccuracyTable: Fractions, `(M, B)`, NaN where a model was not run. Its
        `measured` has a record of each.

    Raises:
        InputError: As in `read_runs` and `benchmark_infos`; there is no path;
            no accuracy on a benchmark can be used; the accuracies of a model
            are of several weights; or those on a benchmark have several
            metrics, numbers of few-shot examples or of items.
    """
    check_list('benchmarks', benchmarks)
    folders, left_out = paths_by_model(paths), LeftOut()
    for benchmark in metrics or {}:
        if benchmark not in benchmarks:
            raise InputError('metrics', f'some of {", ".join(benchmarks)}',
                             repr(benchmark), 'Correct or add the name.')
    runs = usable(lambda model: read_runs(folders[model], left_out), folders,
                  'model', left_out)
    where = f'results of {", ".join(runs)}'[:200]
    tasks = {
        task
        for run in chain.from_iterable(runs.values())
        for task, scores in run.results.items() if isinstance(scores, dict)
    }
    by_task: dict[str, str] = {}
    for pattern in benchmarks:
        matching = {task for task in tasks if fnmatchcase(task, pattern)}
        if not matching:
            raise InputError(
                where, f'the task {pattern!r} of a model or more',
                '; '.join([', '.join(sorted(tasks)), *left_out.lines]),
                'Run the harness with this task, or correct the name.')
        by_task |= dict.fromkeys(sorted(matching), pattern)
    cells = []
    for model, task in product(runs, by_task):
        # Several weights are an error, whatever else can be used.
        run = run_of(runs[model], model, task, left_out)
        metric = (metrics or {}).get(by_task[task])
        try:
            if run is not None:
                cells.append(_cell(run, model, task, metric))
        except InputError as error:
            left_out.add('result', str(error), f'{task} of {model}')
    return accuracy_table(where, [*runs], cells, benchmarks, chance,
                          check_measured, left_out)


def _cell(run: Run, model: str, benchmark: str, metric: Optional[str]) -> Cell:
    where = f'{run.path}, {benchmark}'
    scores = JsonPart(where, run.results[benchmark], REMEDY)
    key = _metric(scores, metric)
    accuracy = scores.fields[key]
    if not is_number(accuracy) or not 0 <= accuracy <= 1:
        raise InputError(where, f'a fraction as {key!r}',
                         repr(accuracy)[:80], 'Name another metric.')
    return accuracy, run.measured(model, benchmark, key)


def _metric(scores: JsonPart, metric: Optional[str]) -> str:
    """The key that counts, such as 'acc,none': a metric and a filter."""
    keys = [
        key for key in scores.fields if ',' in key and '_stderr' not in key
    ]
    for wanted in (metric, ) if metric else METRICS:
        matching = [
            key for key in keys if wanted in (key, key.partition(',')[0])
        ]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise InputError(scores.where, f'one filter of {wanted!r}',
                             ' and '.join(matching), 'Name one of these.')
    raise InputError(
        scores.where, f'one of {", ".join(METRICS)}'
        if metric is None else f'the metric {metric!r}', ', '.join(keys)
        or 'none', 'Name one of these.')
