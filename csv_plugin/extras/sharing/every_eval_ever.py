"""Accuracies from records of Every Eval Ever.

Every Eval Ever (github.com/evaleval/every_eval_ever, MIT licence) is a JSON
format for scores of any evaluation, one record per model. Its converters of
other programs fill different fields.
"""
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from csv_plugin.core.accuracies import (AccuracyTable, fractions_found,
                                        seem_fractions)
from csv_plugin.core.input_error import InputError, check_list
from csv_plugin.extras.importers.json_rows import JsonPart, read_json_part
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos

#: Versions of the format; the fields that are read are the same in all.
VERSIONS = '0.1', '0.2', '0.3'
#: Metrics that are accuracies; the first that a model has on an evaluation
#: counts. Others are those that `_IN_WORDS` finds.
METRICS = ('acc norm', 'accuracy', 'exact match', 'quasi exact match',
           'prefix exact match', 'quasi prefix exact match',
           'chain of thought correctness', 'math equiv',
           'math equiv chain of thought')
_SAME = {
    'acc': 'accuracy',
    'em': 'exact match',
    'cot correct': 'chain of thought correctness',
    'equivalent': 'math equiv',
    'equivalent (cot)': 'math equiv chain of thought',
}
#: Such as 'Accuracy on GPQA', 'Overall accuracy', 'acc (filter: flexible)'.
_IN_WORDS = re.compile(
    r'(?:[\w-]+ ){0,3}(acc norm|acc|accuracy|em|exact match)(?: on\b| for\b|'
    r' \(| -|$)')
_LARGEST = {'proportion': 1, 'percent': 100, 'percentage': 100}
_REMEDY = 'Check it by the tool of Every Eval Ever.'


class _Score(NamedTuple):
    """An accuracy, of how many items it is, and the record."""
    metric: str
    accuracy: float
    n_items: int
    file: str


def read_every_eval_ever(
        paths: Iterable[FilePath],
        benchmarks: Sequence[str] = (),
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from records of Every Eval Ever.

    What cannot be used is left out, and a warning for each reason lists it:
    files that are no such record, other metrics, scores outside their range,
    and scores of a model on an evaluation that differ. Of several accuracies
    of an evaluation, the first of `METRICS` that all its models have counts.

    Args:
        paths (Iterable[FilePath]): Records, or folders with them.
        benchmarks (Sequence[str]): Names or patterns such as 'mmlu*' of the
            evaluations to read, by default all.
        chance (Optional[Mapping[str, float]]): Chance level of each that
            is not in `io.known_benchmarks`.

    Returns:
        AccuracyTable: Fractions, `(M, B)`; models, by the id in their record,
        and benchmarks are sorted. Numbers of items are those of the records,
        the least if they differ, else of `io.known_benchmarks`.

    Raises:
        InputError: A name matches no evaluation with an accuracy, or as in
            `benchmark_infos`.
    """
    check_list('paths of records', paths)
    check_list('benchmarks', benchmarks)
    left_out = LeftOut()
    by_name: dict[str, dict[str, list[_Score]]] = {}
    for model, name, score in _scores(paths, benchmarks, left_out):
        of_name = by_name.setdefault(name, {})
        of_name.setdefault(model, []).append(score)
    columns = {
        name: cells
        for name in sorted(by_name)
        if (cells := _cells(name, by_name[name], left_out))
    }
    lacking = [
        pattern for pattern in benchmarks
        if not any(fnmatchcase(name, pattern) for name in columns)
    ]
    if not columns or lacking:
        raise InputError(
            'records', 'accuracies on '
            f'{", ".join(lacking) or "an evaluation"}',
            '; '.join(left_out.lines) or 'none',
            'Name evaluations whose metric is an accuracy.')
    table = _table(columns, chance or {})
    left_out.warn()
    return table


def _table(columns: Mapping[str, Mapping[str, _Score]],
           chance: Mapping[str, float]) -> AccuracyTable:
    models = sorted({model for cells in columns.values() for model in cells})
    infos = benchmark_infos([*columns], chance)
    n_items = []
    for name, cells in columns.items():
        stated = {score.n_items for score in cells.values() if score.n_items}
        if len(stated) > 1:
            warnings.warn(
                f'accuracies on {name!r} are of {min(stated)} to '
                f'{max(stated)} items: the least counts for all.',
                stacklevel=3)
        n_items.append(min(stated, default=infos[name].n_items))
    values = np.array([[
        cells[model].accuracy if model in cells else np.nan
        for cells in columns.values()
    ] for model in models])
    table = AccuracyTable(
        tuple(models), tuple(columns), values,
        np.array([info.chance for info in infos.values()]),
        np.array(n_items, np.int64))
    for name, column, guessing in zip(columns, table.values.T,
                                      table.chance.tolist()):
        if seem_fractions(column[~np.isnan(column)], guessing):
            raise InputError(f'accuracies on {name!r}',
                             'scores from 0 to 100, as in their max_score',
                             fractions_found(guessing),
                             'Correct max_score of the records.')
    return table


def _cells(name: str, models: Mapping[str, Sequence[_Score]],
           left_out: LeftOut) -> dict[str, _Score]:
    """The accuracies on an evaluation, all by the same metric."""
    metrics = {score.metric for scores in models.values() for score in scores}
    metric = max(
        sorted(metrics, key=_rank),
        key=lambda metric: sum(
            any(score.metric == metric for score in scores)
            for scores in models.values()))
    cells = {}
    for model, scores in models.items():
        wanted = [score for score in scores if score.metric == metric]
        if len({score.accuracy for score in wanted}) == 1:
            cells[model] = wanted[0]
        elif wanted:
            files = dict.fromkeys(score.file for score in wanted)
            left_out.add(
                'result', f'scores of {model} differ, in '
                f'{" and ".join(files)}', name)
        else:
            left_out.add('result', f'other models have the {metric}',
                         f'{name} of {model}')
    return cells


def _rank(metric: str) -> tuple[int, str]:
    known = metric in METRICS
    return METRICS.index(metric) if known else len(METRICS), metric


def _files(paths: Iterable[FilePath]) -> Iterator[Path]:
    for path in map(Path, paths):
        yield from (sorted(path.rglob('*.json')) if path.is_dir() else [path])


def _scores(paths: Iterable[FilePath], wanted: Sequence[str],
            left_out: LeftOut) -> Iterator[tuple[str, str, _Score]]:
    """Models, evaluations and accuracies."""
    for path in _files(paths):
        try:
            record = _record(path)
            model = record.part('model_info').get('id', str)
            results = record.parts('evaluation_results')
        except InputError as error:
            left_out.add('record', str(error), path.name)
            continue
        for result in results:
            name = str(result.fields.get('evaluation_name'))
            if wanted and not any(fnmatchcase(name, p) for p in wanted):
                continue
            try:
                score = _score(str(path), result)
            except InputError as error:
                left_out.add('result', str(error), name)
                continue
            if isinstance(score, str):
                left_out.add('result', score, name)
            else:
                yield model, name, score


def _record(path: Path) -> JsonPart:
    record = read_json_part(path, _REMEDY, finite=False)
    version = record.get('schema_version', str)
    if version.rpartition('.')[0] not in VERSIONS:
        raise InputError(
            str(path), 'a record of Every Eval Ever in version '
            f'{" or ".join(VERSIONS)}', f'version {version!r}'[:80],
            'Migrate it by the tool of Every Eval Ever.')
    return record


def _score(file: str, result: JsonPart) -> _Score | str:
    """The accuracy in a result, or why there is none."""
    config, details = result.part('metric_config'), result.part(
        'score_details')
    name = result.get('evaluation_name', str)
    metric = _metric(config.fields) or _metric_in(name, config.fields)
    if metric is None:
        named = _general(config.fields)
        return (f'{named!r} is no accuracy'
                if len(named) <= 40 else 'they name no accuracy')
    if config.fields.get('lower_is_better'):
        return f'{metric}, of which less is better'
    accuracy = _fraction(config, details.number('score'))
    return _Score(metric, accuracy, _n_items(result, details), file)


def _general(config: Mapping[str, Any]) -> str:
    """The most general name that a metric has."""
    names = (*(f'metric_{name}'
               for name in ('kind', 'id', 'name')), 'evaluation_description')
    return next((config[name]
                 for name in names if isinstance(config.get(name), str)), '')


def _metric(config: Mapping[str, Any]) -> Optional[str]:
    """The name of an accuracy, or None for another metric."""
    if _plain(_general(config)) is None:
        return None
    names = map(config.get, ('metric_id', 'metric_name'))
    plain = [_plain(name) for name in names if isinstance(name, str)]
    return next(filter(None, plain), _plain(_general(config)))


def _metric_in(name: str, config: Mapping[str, Any]) -> Optional[str]:
    """An accuracy in the name of an evaluation, such as 'MMLU - EM'."""
    is_named = any(f'metric_{key}' in config for key in ('kind', 'id', 'name'))
    _, dash, metric = name.rpartition(' - ')
    return _plain(metric) if dash and not is_named else None


def _plain(name: str) -> Optional[str]:
    """A name of an accuracy as in `METRICS`; None for another metric."""
    words = name.lower().replace('_', ' ')
    # An id may begin with the name of its leaderboard.
    last = words.rpartition('.')[2]
    for text in (words, last):
        if text in METRICS or text in _SAME:
            return _SAME.get(text, text)
    found = _IN_WORDS.match(words) or _IN_WORDS.match(last)
    return found and _SAME.get(found[1], found[1])


def _n_items(result: JsonPart, details: JsonPart) -> int:
    """Items that the record states; 0 if it states none."""
    uncertainty = details.fields.get('uncertainty') or {}
    source = result.fields.get('source_data') or {}
    stated = (uncertainty.get('num_samples'), source.get('samples_number'))
    return next((n for n in stated if type(n) is int and n > 0), 0)


def _fraction(metric: JsonPart, score: float) -> float:
    of_unit = _LARGEST.get(str(metric.fields.get('metric_unit')))
    if metric.fields.get('max_score') is None and of_unit:
        largest: float = of_unit
    else:
        largest = metric.number('max_score')
    if score <= 1 and of_unit and largest != of_unit:
        raise metric.error(
            'max_score',
            f'the largest score in {metric.fields["metric_unit"]}')
    if largest not in (1, 100) or not 0 <= score <= largest:
        raise InputError(metric.where, 'a score from 0 to 1, or to 100',
                         f'{score} of '
                         f'{largest}', 'Leave the record out, or correct it.')
    return score / largest
