"""Accuracies on benchmarks from the results of lm-evaluation-harness."""
from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.io.importers.json_rows import JsonPart, is_number
from csv_plugin.io.importers.lm_eval import newest_results
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.model_paths import paths_by_model

#: Metrics that are accuracies; the first that a benchmark has counts.
METRICS = 'acc_norm', 'acc', 'exact_match'


def read_lm_eval_accuracies(
        paths: Mapping[str, FilePath] | Iterable[FilePath],
        benchmarks: Sequence[str],
        metrics: Optional[Mapping[str, str]] = None,
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Accuracies of models from output folders of lm-evaluation-harness.

    Of several runs of a benchmark, the newest counts. Its accuracy is
    `acc_norm` where the harness gives it, else `acc`, else `exact_match`.

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
        AccuracyTable: Fractions, `(M, B)`.

    Raises:
        InputError: As in `newest_results` and `benchmark_infos`; a benchmark
            has no such metric, or has it with several filters; an accuracy
            is no fraction; or two models were run on different numbers of
            items.
    """
    folders = paths_by_model(paths)
    infos = benchmark_infos(benchmarks, chance or {})
    named = metrics or {}
    for benchmark in named:
        if benchmark not in infos:
            raise InputError('metrics', f'some of {", ".join(benchmarks)}',
                             repr(benchmark), 'Correct or add the name.')
    cells = [[_cell(folder, name, named.get(name)) for name in benchmarks]
             for folder in folders.values()]
    values, n_items = np.moveaxis(
        np.array(cells, np.float64).reshape(len(folders), len(infos), 2), 2, 0)
    for b, name in enumerate(benchmarks):
        if len(set(n_items[:, b])) > 1:
            raise InputError(
                f'results on {name!r}', 'one number of items for all models',
                ', '.join(f'{n:g}' for n in sorted(set(n_items[:, b]))),
                'Run it whole, without --limit, with all models.')
    return AccuracyTable(
        tuple(folders), tuple(benchmarks), values,
        np.array([info.chance for info in infos.values()]),
        n_items.max(axis=0, initial=0).astype(np.int64))


def _cell(folder: FilePath, benchmark: str,
          metric: Optional[str]) -> tuple[float, int]:
    """Accuracy and number of items of one model on one benchmark."""
    path, content = newest_results(folder, benchmark)
    scores = content.part('results').part(benchmark)
    key = _metric(scores, metric)
    accuracy = scores.fields[key]
    if not is_number(accuracy) or not 0 <= accuracy <= 1:
        raise InputError(f'{path}, {benchmark}', f'a fraction as {key!r}',
                         repr(accuracy)[:80], 'Name another metric.')
    return accuracy, scores.get('sample_len', int)


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
