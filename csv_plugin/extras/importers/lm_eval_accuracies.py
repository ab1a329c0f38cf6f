"""Accuracies on benchmarks from the results of lm-evaluation-harness."""
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.input_error import InputError
from csv_plugin.core.measured import Measured, check_measured
from csv_plugin.extras.importers.json_rows import JsonPart, is_number
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lm_eval_results import (REMEDY, Run,
                                                         read_runs, runs_of,
                                                         tasks_of)
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.model_paths import paths_by_model

#: Metrics that are accuracies; the first that a benchmark has counts.
METRICS = 'acc_norm', 'acc', 'exact_match'


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
        benchmarks (Sequence[str]): Tasks or groups of the harness.
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
    folders = paths_by_model(paths)
    infos = benchmark_infos(benchmarks, chance or {})
    named = metrics or {}
    for benchmark in named:
        if benchmark not in infos:
            raise InputError('metrics', f'some of {", ".join(benchmarks)}',
                             repr(benchmark), 'Correct or add the name.')
    left_out = LeftOut()
    runs = usable(
        {
            model: partial(read_runs, path, left_out)
            for model, path in folders.items()
        }, 'model', left_out)
    chosen = {name: _runs(name, runs, left_out) for name in benchmarks}
    cells = usable(
        {
            name: partial(_cells, name, chosen[name], named.get(name),
                          left_out)
            for name in benchmarks
        }, 'benchmark', left_out)
    left_out.warn()
    measured = tuple(record for column in cells.values()
                     for _, record in column.values())
    check_measured(measured)
    return AccuracyTable(
        tuple(runs), tuple(cells),
        np.array([[
            column[model][0] if model in column else np.nan
            for column in cells.values()
        ]
                  for model in runs]),
        np.array([infos[name].chance for name in cells]),
        np.array([
            max(record.n_items or 0 for _, record in column.values())
            for column in cells.values()
        ], np.int64), measured)


def _runs(benchmark: str, runs: Mapping[str, list[Run]],
          left_out: LeftOut) -> dict[str, Run]:
    """The run of a benchmark that counts, by model."""
    found = {
        model: runs_of(those, model, benchmark, left_out)
        for model, those in runs.items()
    }
    if not any(found.values()):
        raise InputError(
            f'results of {", ".join(runs)}'[:200],
            f'the task {benchmark!r} of a model or more',
            tasks_of(chain.from_iterable(runs.values()), left_out),
            'Run the harness with this task, or correct the name.')
    return {model: those[0] for model, those in found.items() if those}


def _cells(benchmark: str, runs: Mapping[str, Run], metric: Optional[str],
           left_out: LeftOut) -> dict[str, tuple[float, Measured]]:
    """Accuracies on a benchmark, and their records, by model."""
    return usable(
        {
            model: partial(_cell, run, model, benchmark, metric)
            for model, run in runs.items()
        }, 'result', left_out)


def _cell(run: Run, model: str, benchmark: str,
          metric: Optional[str]) -> tuple[float, Measured]:
    where = f'{run.path}, {benchmark}'
    scores = JsonPart(where, run.results[benchmark], REMEDY)
    key = _metric(scores, metric)
    accuracy = scores.fields[key]
    if not is_number(accuracy) or not 0 <= accuracy <= 1:
        raise InputError(where, f'a fraction as {key!r}',
                         repr(accuracy)[:80], 'Name another metric.')
    higher = run.stated('higher_is_better', benchmark)
    if isinstance(higher, dict) and higher.get(key.split(',')[0]) is False:
        raise InputError(where, 'a metric that is higher for better models',
                         repr(key), 'Name another metric.')
    # 0.3 has no filters.
    named = key if ',' in key else f'{key},none'
    return accuracy, run.measured(model, benchmark, named)


def _metric(scores: JsonPart, metric: Optional[str]) -> str:
    """The key that counts, such as 'acc,none': a metric and a filter."""
    keys = [
        key for key, value in scores.fields.items()
        if (isinstance(value, float) or ',' in key) and '_stderr' not in key
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
