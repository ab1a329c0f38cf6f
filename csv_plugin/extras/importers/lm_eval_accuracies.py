"""Accuracies on benchmarks from the results of lm-evaluation-harness."""
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.json_rows import JsonPart, is_number
from csv_plugin.extras.importers.lm_eval import (Results, newest_results,
                                                 read_results, tasks_of)
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.model_paths import paths_by_model

#: Metrics that are accuracies; the first that a benchmark has counts.
METRICS = 'acc_norm', 'acc', 'exact_match'


@dataclass(frozen=True)
class _Cell:
    """The accuracy of one model on one benchmark, and how it was measured.

    Args:
        accuracy (float): A fraction.
        n_items (int): How many items it is of, 0 where unknown.
        metric (str): With its filter, such as 'acc,none'.
        shots (str): Few-shot examples; empty where the results do not tell.
        version (str): Of the task; empty likewise.
    """
    accuracy: float
    n_items: int
    metric: str
    shots: str
    version: str


def read_lm_eval_accuracies(
        paths: Mapping[str, FilePath] | Iterable[FilePath],
        benchmarks: Sequence[str],
        metrics: Optional[Mapping[str, str]] = None,
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Accuracies of models from output folders of lm-evaluation-harness.

    Of several runs of a benchmark, the newest counts. Its accuracy is
    `acc_norm` where the harness gives it, else `acc`, else `exact_match`.
    A warning tells where versions of a task differ.

    Args:
        paths (Mapping | Iterable): Output folder of each of M models, by the
            name to call it, or folders that are named after their models.
        benchmarks (Sequence[str]): Tasks or groups of the harness.
        metrics (Optional[Mapping[str, str]]): Metric of some of the
            benchmarks, and perhaps a filter, such as
            `{'gsm8k': 'exact_match,strict-match'}`.
        chance (Optional[Mapping[str, float]]): Chance level of each
            benchmark that `io.known_benchmarks` lacks.

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
            max(cell.n_items for cell in cells.values()) for cells in columns
        ], np.int64))


def _cells(benchmark: str, results: Mapping[str, Results],
           metric: Optional[str]) -> dict[str, _Cell]:
    """The accuracies on a benchmark by model, all measured alike."""
    cells: dict[str, _Cell] = {}
    for model, found in results.items():
        newest = newest_results(found, benchmark)
        if newest:
            cells[model] = _cell(*newest, benchmark, metric)
    if not cells:
        tasks = tasks_of([*chain.from_iterable(results.values())])
        raise InputError(
            f'results of {", ".join(results)}'[:200],
            f'the task {benchmark!r} of a model or more', tasks,
            'Run the harness with this task, or correct the name.')
    _check_alike(benchmark, cells)
    return cells


def _cell(path: Path, content: JsonPart, benchmark: str,
          metric: Optional[str]) -> _Cell:
    """What the results of one model say about one benchmark."""
    scores = content.part('results').part(benchmark)
    key = _metric(scores, metric)
    accuracy = scores.fields[key]
    if not is_number(accuracy) or not 0 <= accuracy <= 1:
        raise InputError(f'{path}, {benchmark}', f'a fraction as {key!r}',
                         repr(accuracy)[:80], 'Name another metric.')
    if _is_lower_better(content, benchmark, key):
        raise InputError(f'{path}, {benchmark}',
                         'a metric that is higher for better models',
                         repr(key), 'Name another metric.')
    if 'sample_len' in scores.fields:
        n_items = scores.get('sample_len', int)
    else:
        n_items = _n_items(content, benchmark)
    return _Cell(accuracy, n_items, key, _stated(content, 'n-shot', benchmark),
                 _stated(content, 'versions', benchmark))


def _is_lower_better(content: JsonPart, benchmark: str, key: str) -> bool:
    """Whether the results say so of a metric, such as a Brier score."""
    by_metric = content.fields.get('higher_is_better')
    for name in (benchmark, key.partition(',')[0]):
        by_metric = by_metric.get(name) if isinstance(by_metric,
                                                      dict) else None
    return by_metric is False


def _n_items(content: JsonPart, name: str) -> int:
    """Number of items of a task, or of the tasks of a group.

    As versions of the harness tell that do not state it with the accuracy;
    0 where they do not tell either.
    """
    counted, n_items = content.fields.get('n-samples'), 0
    if isinstance(counted, dict):
        for task in _tasks(content, name, counted):
            if task not in counted:
                return 0
            n_items += content.part('n-samples').part(task).get(
                'effective', int)
    return n_items


def _tasks(content: JsonPart, name: str, stated: Mapping[str,
                                                         object]) -> list[str]:
    """A task, or those of a group of which nothing is stated itself."""
    groups = content.fields.get('group_subtasks')
    names = [name]
    for task in names:
        members = groups.get(task) if isinstance(groups, dict) else None
        if task not in stated and isinstance(members, list):
            names += [new for new in members if new not in names]
    return [
        task for task in names if task in stated
        or not isinstance(groups, dict) or not groups.get(task)
    ]


def _stated(content: JsonPart, field: str, benchmark: str) -> str:
    """A field of a benchmark; those of its tasks where it is a group.

    Groups have none themselves in some versions.
    """
    stated = content.fields.get(field)
    if not isinstance(stated, dict):
        return ''
    values = {
        str(stated[task])
        for task in _tasks(content, benchmark, stated)
        if stated.get(task) is not None
    }
    return ' and '.join(sorted(values))


def _check_alike(benchmark: str, cells: Mapping[str, _Cell]) -> None:
    """Refuse accuracies that were not measured in the same way.

    Raises:
        InputError: As in `read_lm_eval_accuracies`.
    """
    _check_same(
        benchmark, 'one metric', {
            m: cell.metric
            for m, cell in cells.items()
        },
        'Name one that all have, or run it with one version of the harness.')
    _check_same(benchmark, 'one number of few-shot examples', {
        m: cell.shots
        for m, cell in cells.items() if cell.shots
    }, 'Run it with the same --num_fewshot.')
    _check_same(benchmark, 'one number of items', {
        m: str(cell.n_items)
        for m, cell in cells.items() if cell.n_items
    }, 'Run it whole, without --limit, with all models.')
    versions = {m: cell.version for m, cell in cells.items() if cell.version}
    if len(set(versions.values())) > 1:
        warnings.warn(
            f'results on {benchmark!r} are of several versions of the task: '
            f'{_differing(versions)}. Their prompts or metrics may differ: '
            'run it with one version of the harness.',
            stacklevel=4)


def _check_same(benchmark: str, expected: str, values: Mapping[str, str],
                remedy: str) -> None:
    if len(set(values.values())) > 1:
        raise InputError(f'results on {benchmark!r}',
                         f'{expected} for all models', _differing(values),
                         remedy)


def _differing(values: Mapping[str, str]) -> str:
    """Every value once, with the first model that has it."""
    first: dict[str, str] = {}
    for model, value in values.items():
        first.setdefault(value, model)
    return ', '.join(f'{value} of {model}' for value, model in first.items())


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
