"""Accuracies from records of Every Eval Ever.

Every Eval Ever (github.com/evaleval/every_eval_ever, MIT licence) is a JSON
format for scores of any evaluation, one record per model.
"""
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from csv_plugin.core.accuracies import (AccuracyTable, fractions_found,
                                        seem_fractions)
from csv_plugin.core.input_error import InputError, check_list
from csv_plugin.extras.importers.json_rows import JsonPart, read_json_part
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos

#: Version of the format; all of its minor version are read.
SCHEMA_VERSION = '0.3.0'
#: Kinds of metrics that are accuracies.
_ACCURACIES = ('accuracy', 'acc', 'exact_match')
#: Value of `max_score` that contradicts a unit.
_OTHER_LARGEST = {'proportion': 100, 'percent': 1}
_REMEDY = 'Check it by the tool of Every Eval Ever.'


def read_every_eval_ever(
        paths: Iterable[FilePath],
        benchmarks: Sequence[str] = (),
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from records of Every Eval Ever.

    Results whose metric is no accuracy are skipped.

    Args:
        paths (Iterable[FilePath]): Records, or folders with them.
        benchmarks (Sequence[str]): Evaluations to read, by default all.
        chance (Optional[Mapping[str, float]]): Chance level of each that
            is not in `io.known_benchmarks`.

    Returns:
        AccuracyTable: Fractions, `(M, B)`; models, by the id in their record,
        and benchmarks are sorted.

    Raises:
        InputError: A file is no such record or of another version of the
            format, there is no accuracy, two of a model on an evaluation
            differ, one is not in its range or seems to have another unit, or
            as in `benchmark_infos`.
    """
    check_list('paths of records', paths)
    check_list('benchmarks', benchmarks)
    cells: dict[tuple[str, str], float] = {}
    origins: dict[tuple[str, str], str] = {}
    for path in _files(paths):
        for key, where, value in _accuracies(path, set(benchmarks)):
            if cells.setdefault(key, value) != value:
                raise InputError(f'{where} and {origins[key]}',
                                 f'one accuracy of {key[0]!r} on {key[1]!r}',
                                 f'{value} and {cells[key]}',
                                 'Remove one of the records.')
            origins.setdefault(key, where)
    models = sorted({model for model, _ in cells})
    found = {name for _, name in cells}
    missing = [name for name in benchmarks if name not in found]
    if not cells or missing:
        raise InputError(
            'records', 'accuracies on '
            f'{", ".join(missing) or "an evaluation"}', 'none',
            'Name evaluations whose metric is an accuracy.')
    names = list(benchmarks) or sorted(found)
    infos = benchmark_infos(names, chance or {}).values()
    values = [[cells.get((model, name), np.nan) for name in names]
              for model in models]
    table = AccuracyTable(
        tuple(models), tuple(names), np.array(values),
        np.array([info.chance for info in infos]),
        np.array([info.n_items for info in infos], np.int64))
    for name, column, guessing in zip(names, table.values.T,
                                      table.chance.tolist()):
        if seem_fractions(column[~np.isnan(column)], guessing):
            raise InputError(f'accuracies on {name!r}',
                             'scores from 0 to 100, as in their max_score',
                             fractions_found(guessing),
                             'Correct max_score of the records.')
    return table


def _files(paths: Iterable[FilePath]) -> Iterator[Path]:
    for path in map(Path, paths):
        yield from (sorted(path.rglob('*.json')) if path.is_dir() else [path])


def _accuracies(
        path: Path,
        wanted: set[str]) -> Iterator[tuple[tuple[str, str], str, float]]:
    """(model, evaluation), where it stands, and the accuracy."""
    record = read_json_part(path, _REMEDY)
    version = record.get('schema_version', str)
    if version.split('.')[:2] != SCHEMA_VERSION.split('.')[:2]:
        raise InputError(
            str(path), 'a record of Every Eval Ever in version '
            f'{SCHEMA_VERSION}', f'version {version!r}'[:80],
            'Migrate it by the tool of Every Eval Ever.')
    model = record.part('model_info').get('id', str)
    for result in record.parts('evaluation_results'):
        name = result.get('evaluation_name', str)
        metric = result.part('metric_config')
        if _is_accuracy(metric.fields) and (not wanted or name in wanted):
            score = result.part('score_details').number('score')
            yield (model, name), result.where, _fraction(metric, score)


def _is_accuracy(metric: Mapping[str, Any]) -> bool:
    """By the most general name that the metric has."""
    names = (metric.get(f'metric_{name}') for name in ('kind', 'id', 'name'))
    kind = next((name for name in names if isinstance(name, str)), '')
    return kind.lower() in _ACCURACIES and not metric.get('lower_is_better')


def _fraction(metric: JsonPart, score: float) -> float:
    largest = metric.number('max_score')
    unit = str(metric.fields.get('metric_unit'))
    if score <= 1 and largest == _OTHER_LARGEST.get(unit):
        raise metric.error('max_score', f'the largest score in {unit}')
    if largest not in (1, 100) or not 0 <= score <= largest:
        raise InputError(metric.where, 'a score from 0 to 1, or to 100',
                         f'{score} of '
                         f'{largest}', 'Leave the record out, or correct it.')
    return score / largest
