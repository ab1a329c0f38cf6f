"""Accuracies from records of Every Eval Ever.

Every Eval Ever (github.com/evaleval/every_eval_ever, MIT licence) is a JSON
format for scores of any evaluation, one record per model. Its converters of
other programs fill different fields.
"""
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np

from csv_plugin.core.accuracies import (AccuracyTable, fractions_found,
                                        seem_fractions)
from csv_plugin.core.input_error import InputError, check_list
from csv_plugin.core.measured import (Measured, check_weights, differing,
                                      warn_of_prompts)
from csv_plugin.extras.importers.json_rows import JsonPart, read_json_part
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lm_eval_results import arguments, quantization
from csv_plugin.io.files import FilePath
from csv_plugin.io.known_benchmarks import benchmark_infos, known_benchmarks

#: Versions of the format; the fields that are read are the same in all.
VERSIONS = '0.1', '0.2', '0.3'
#: Such as 'acc_norm', 'Accuracy on GPQA', 'quasi_exact_match', 'COT correct',
#: 'acc (filter: flexible)', in lower case with blanks.
_ACCURACY = re.compile(
    r'((?:[\w-]+ ){0,3}?)(acc(?: norm)?|accuracy|em|exact match|pass@1|'
    r'success rate|cot correct|'
    r'chain of thought correctness|equivalent|math equiv(?:alent)?)'
    r'(?: on\b| for\b| chain| \(| -|$)')
_SAME = {'acc': 'accuracy', 'em': 'exact match'}
_LARGEST = {'proportion': 1, 'percent': 100, 'percentage': 100}
_REMEDY = 'Check it by the tool of Every Eval Ever.'
#: An accuracy and what is stated about it.
_Score = tuple[float, Measured]


def read_every_eval_ever(
        paths: Iterable[FilePath],
        benchmarks: Sequence[str] = (),
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from records of Every Eval Ever.

    What cannot be used is left out, and a warning for each reason lists it:
    files that are no such record, other metrics, scores outside their range,
    what differs between records of one model, and evaluations without a chance
    level, if others have one. Of several accuracies on an
    evaluation, the one of most models counts.

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
    left_out, paths = LeftOut(), [*paths]
    models: dict[str, list[_Score]] = {}
    for path in _files(paths):
        for score in _scores(path, benchmarks, left_out):
            models.setdefault(score[1].name, []).append(score)
    models = usable({m: partial(_of_one_model, models[m])
                     for m in models}, 'model', left_out)
    by_name: dict[str, dict[str, list[_Score]]] = {}
    for model, scores in models.items():
        for score in scores:
            of_name = by_name.setdefault(score[1].task, {})
            of_name.setdefault(model, []).append(score)
    columns = usable(
        {
            name: partial(_column, name, by_name[name], left_out)
            for name in sorted(by_name)
        }, 'evaluation', left_out)
    names = [name for name in columns if columns[name]]
    missing = [
        pattern for pattern in benchmarks
        if not any(fnmatchcase(name, pattern) for name in names)
    ]
    if not names or missing:
        raise InputError(
            ', '.join(str(path) for path in paths), 'accuracies on '
            f'{", ".join(missing) or "an evaluation"}',
            '; '.join(left_out.lines) or 'none',
            'Name evaluations whose metric is an accuracy.')
    known = {*known_benchmarks(), *(chance or {}), *benchmarks}
    guessed = [name for name in names if name in known] or names
    for name in sorted({*names} - {*guessed}):
        left_out.add('evaluation', 'give its chance level, --chance NAME=0.25',
                     name)
    table = _table({name: columns[name] for name in guessed}, chance or {})
    left_out.warn()
    warn_of_prompts(table.measured)
    return table


def _table(columns: Mapping[str, Mapping[str, _Score]],
           chance: Mapping[str, float]) -> AccuracyTable:
    models = sorted({model for cells in columns.values() for model in cells})
    infos = benchmark_infos([*columns], chance)
    n_items = []
    for name, cells in columns.items():
        stated = {s.n_items for _, s in cells.values() if s.n_items}
        if len(stated) > 1:
            warnings.warn(
                f'accuracies on {name!r} are of {min(stated)} to '
                f'{max(stated)} items: the least counts for all.',
                stacklevel=3)
        n_items.append(min(stated, default=infos[name].n_items))
    values = np.array([[
        cells[model][0] if model in cells else np.nan
        for cells in columns.values()
    ] for model in models])
    table = AccuracyTable(
        tuple(models), tuple(columns), values,
        np.array([info.chance for info in infos.values()]),
        np.array(n_items, np.int64),
        tuple(s for cells in columns.values() for _, s in cells.values()))
    for name, column, guessing in zip(columns, table.values.T,
                                      table.chance.tolist()):
        if seem_fractions(column[~np.isnan(column)], guessing):
            raise InputError(f'accuracies on {name!r}',
                             'scores from 0 to 100, as in their max_score',
                             fractions_found(guessing),
                             'Correct max_score of the records.')
    return table


def _of_one_model(scores: list[_Score]) -> list[_Score]:
    check_weights(measured for _, measured in scores)
    return scores


def _column(name: str, models: Mapping[str, Sequence[_Score]],
            left_out: LeftOut) -> dict[str, _Score]:
    """The accuracies on an evaluation, all by the same metric."""
    uses = Counter(
        metric for scores in models.values()
        for metric in {str(measured.metric)
                       for _, measured in scores})
    metric = max(sorted(uses), key=lambda metric: uses[metric])
    cells = {}
    for model, scores in models.items():
        same = [s for s in scores if s[1].metric == metric]
        # Without trials on a few of the items.
        most = max((s.n_items or 0 for _, s in same), default=0)
        wanted = [s for s in same if (s[1].n_items or 0) == most]
        if len(wanted) < len(same):
            left_out.add('result', 'another record has more items',
                         f'{name} of {model}')
        if len({accuracy for accuracy, _ in wanted}) == 1:
            cells[model] = wanted[0]
        elif wanted:
            files = ' and '.join(dict.fromkeys(s.file for _, s in wanted))
            left_out.add('result', f'scores of {model} differ, in {files}',
                         name)
        else:
            left_out.add('result', f'other models have the {metric}',
                         f'{name} of {model}')
    if shots := differing([s for _, s in cells.values()], 'shots'):
        raise InputError(f'results on {name!r}',
                         'one number of few-shot examples', shots,
                         'Import the records of each number apart.')
    return cells


def _files(paths: Iterable[FilePath]) -> Iterator[Path]:
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
        # Models, and so their folders, may be called '*.json'.
        yield from sorted(filter(Path.is_file, path.rglob('*.json')))


def _scores(path: Path, wanted: Sequence[str],
            left_out: LeftOut) -> Iterator[_Score]:
    """The accuracies in a record, on all or some evaluations."""
    try:
        record = read_json_part(path, _REMEDY, finite=False)
        version = record.get('schema_version', str)
        if version.rpartition('.')[0] not in VERSIONS:
            raise InputError(
                str(path), 'a record of Every Eval Ever in version '
                f'{" or ".join(VERSIONS)}', f'version {version!r}'[:80],
                'Migrate it by the tool of Every Eval Ever.')
        measured = _weights(path, record.part('model_info'))
        results, model = record.parts('evaluation_results'), measured.name
    except InputError as error:
        left_out.add('record', str(error), path.name)
        return
    for result in results:
        name = str(result.fields.get('evaluation_name'))
        if not wanted or any(fnmatchcase(name, p) for p in wanted):
            try:
                yield _score(result, replace(measured, task=name))
            except InputError as error:
                reason = str(error).removeprefix(f'{result.where}, ')
                left_out.add('result', reason, f'{name} of {model}')
            except _NoAccuracy as reason:
                left_out.add('result', str(reason), f'{name} of {model}')


def _weights(path: Path, model: JsonPart) -> Measured:
    """What a record states about the model."""
    stated = partial(_inside, model.fields, 'additional_details')
    args = arguments({'model_args': stated('model_args')})
    return Measured(
        model.get('id', str),
        file=str(path),
        revision=stated('revision') or args.get('revision'),
        commit=stated('sha'),
        dtype=stated('dtype') or stated('precision'),
        quantization=quantization(args))


def _inside(value: Any, *names: str) -> Any:
    """A field of objects inside each other; None if one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


class _NoAccuracy(Exception):
    """The metric of a result is not an accuracy."""


def _score(result: JsonPart, measured: Measured) -> _Score:
    config = result.part('metric_config')
    details = result.part('score_details')
    metric, named = _metric(measured.task, config)
    if metric is None or config.fields.get('lower_is_better'):
        raise _NoAccuracy(f'{named!r} is no accuracy' if len(named) <=
                          40 else 'the metric is not named, or no accuracy')
    counts = (_inside(details.fields, 'uncertainty', 'num_samples'),
              _inside(result.fields, 'source_data', 'samples_number'))
    return _fraction(config, details.number('score')), replace(
        measured,
        metric=metric,
        shots=_inside(result.fields, 'generation_config', 'additional_details',
                      'num_fewshot'),
        n_items=next((n for n in counts if type(n) is int and n > 0), None))


def _metric(evaluation: str, config: JsonPart) -> tuple[Optional[str], str]:
    """The accuracy that a result has, or None, and what names its metric."""
    fields = config.fields
    names = [
        fields[f'metric_{name}'] for name in ('kind', 'id', 'name')
        if isinstance(fields.get(f'metric_{name}'), str)
    ]
    if names and _accuracy(names[0]) is None:
        return None, names[0]
    if not names:
        # Such as 'MMLU - EM', with a description of the evaluation.
        names = [
            str(fields.get('evaluation_description')),
            evaluation.rpartition(' - ')[2]
        ]
    specific = filter(None, map(_accuracy, names[1:]))
    return next(specific, _accuracy(names[0])), names[0]


def _accuracy(name: str) -> Optional[str]:
    """The accuracy that a name or a description is about."""
    words = name.lower().replace('_', ' ')
    # An id may begin with the name of its leaderboard.
    found = _ACCURACY.match(words) or _ACCURACY.match(words.rpartition('.')[2])
    return found and found[1] + _SAME.get(found[2], found[2])


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
