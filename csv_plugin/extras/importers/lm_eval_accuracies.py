"""Accuracies on benchmarks from the results of lm-evaluation-harness."""
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.json_rows import JsonPart, is_number
from csv_plugin.extras.importers.lm_eval import (Results, newest_results,
                                                 read_results, tasks_of)
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.model_paths import paths_by_model

#: Metrics that are accuracies; the first that a benchmark has counts.
METRICS = 'acc_norm', 'acc', 'exact_match'
#: What has to be the same for all models on a benchmark, and what to do.
_ALIKE = {
    'metric':
    'Name one that all have, or run it with one version of the harness.',
    'number of few-shot examples': 'Run it with the same --num_fewshot.',
    'number of items': 'Run it whole, without --limit, with all models.',
}


class _Cell(NamedTuple):
    """A fraction and how it was measured: by `_ALIKE`, and the version."""
    accuracy: float
    measured: dict[str, Any]
    version: Any


def read_lm_eval_accuracies(
        paths: Mapping[str, FilePath] | Iterable[FilePath],
        benchmarks: Sequence[str],
        metrics: Optional[Mapping[str, str]] = None,
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from outputs of lm-evaluation-harness.

    Of several runs of a benchmark, the newest counts. Its accuracy is
    `acc_norm` where the harness gives it, else `acc`, else `exact_match`.
    Different versions of a task are a warning.

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
        AccuracyTable: Fractions, `(M, B)`, NaN where a model was not run.

    Raises:
        InputError: As in `read_results` and `benchmark_infos`; there is no
            path; no model was run on a benchmark; it has no such metric, or
            has it with several filters; an accuracy is no fraction, or lower
            for better models; or two models have other metrics, other
            numbers of few-shot examples or of items.
    """
    folders = paths_by_model(paths)
    infos = benchmark_infos(benchmarks, chance or {})
    named = metrics or {}
    for benchmark in named:
        if benchmark not in infos:
            raise InputError('metrics', f'some of {", ".join(benchmarks)}',
                             repr(benchmark), 'Correct or add the name.')
    results = {model: read_results(path) for model, path in folders.items()}
    columns = [_cells(name, results, named.get(name)) for name in benchmarks]
    return AccuracyTable(
        tuple(folders), tuple(benchmarks),
        np.array([[
            cells[model].accuracy if model in cells else np.nan
            for cells in columns
        ] for model in folders]),
        np.array([info.chance for info in infos.values()]),
        np.array([
            max(cell.measured['number of items'] or 0
                for cell in cells.values()) for cells in columns
        ], np.int64))


def _cells(benchmark: str, results: Mapping[str, Results],
           metric: Optional[str]) -> dict[str, _Cell]:
    """The accuracies on a benchmark by model, all measured alike."""
    cells: dict[str, _Cell] = {}
    for model, parts in results.items():
        newest = newest_results(parts, benchmark)
        if newest:
            cells[model] = _cell(*newest, benchmark, metric)
    if not cells:
        tasks = tasks_of([*chain.from_iterable(results.values())])
        raise InputError(
            f'results of {", ".join(results)}'[:200],
            f'the task {benchmark!r} of a model or more', tasks,
            'Run the harness with this task, or correct the name.')
    for fact, remedy in _ALIKE.items():
        found = _differing({
            model: cell.measured[fact]
            for model, cell in cells.items()
        })
        if found:
            raise InputError(f'results on {benchmark!r}',
                             f'one {fact} for all models', found, remedy)
    found = _differing({model: cell.version for model, cell in cells.items()})
    if found:
        warnings.warn(
            f'results on {benchmark!r} are of several versions of the task: '
            f'{found}. Their prompts or metrics may differ: run it with one '
            'version of the harness.',
            stacklevel=3)
    return cells


def _differing(values: Mapping[str, Any]) -> str:
    """Every known value with a model that has it; empty if there is one."""
    first: dict[str, str] = {}
    for model, value in values.items():
        if value is not None:
            first.setdefault(str(value), model)
    if len(first) < 2:
        return ''
    return ', '.join(f'{value} of {model}' for value, model in first.items())


def _cell(path: Path, content: JsonPart, benchmark: str,
          metric: Optional[str]) -> _Cell:
    """The accuracy of one model, from its results on one benchmark."""
    where = f'{path}, {benchmark}'
    scores = content.part('results').part(benchmark)
    key = _metric(scores, metric)
    accuracy = scores.fields[key]
    if not is_number(accuracy) or not 0 <= accuracy <= 1:
        raise InputError(where, f'a fraction as {key!r}',
                         repr(accuracy)[:80], 'Name another metric.')

    def stated(field: str) -> Any:
        by_benchmark = content.fields.get(field)
        return (by_benchmark.get(benchmark)
                if isinstance(by_benchmark, dict) else None)

    higher = stated('higher_is_better')
    if isinstance(higher, dict) and higher.get(key.split(',')[0]) is False:
        raise InputError(where, 'a metric that is higher for better models',
                         repr(key), 'Name another metric.')
    # Earlier versions count the items of tasks here, of groups nowhere.
    counts, n_items = stated('n-samples'), None
    if 'sample_len' in scores.fields:
        n_items = scores.get('sample_len', int)
    elif isinstance(counts, dict):
        n_items = JsonPart(f'{path}, n-samples', counts,
                           scores.remedy).get('effective', int)
    measured = {
        'metric': key,
        'number of few-shot examples': stated('n-shot'),
        'number of items': n_items,
    }
    return _Cell(accuracy, measured, stated('versions'))


def _metric(scores: JsonPart, metric: Optional[str]) -> str:
    """The key that counts, such as 'acc,none': a metric and a filter."""
    keys = [
        key for key in scores.fields if ',' in key and '_stderr,' not in key
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
