"""Read accuracies from records of Every Eval Ever.

Every Eval Ever (github.com/evaleval/every_eval_ever, MIT licence) is a JSON
format for scores of any evaluation, one record per model. Its converters from
the formats of other programs fill different fields.
"""
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Optional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_list
from csv_plugin.core.measured import (METRIC, N_ITEMS, SHOTS, Measured,
                                      check_settings, check_weights,
                                      warn_of_differences)
from csv_plugin.core.metric_names import is_no_accuracy
from csv_plugin.extras.importers.accuracy_cells import Cell, accuracy_table
from csv_plugin.extras.importers.left_out import LeftOut, usable
from csv_plugin.extras.importers.lm_eval_results import arguments, quantization
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import JsonPart, inside, read_json_part

#: Versions of the format that are read. The fields that are used here are
#: the same in all of them.
VERSIONS = '0.1', '0.2', '0.3'
#: Matches names of metrics that are accuracies, in lower case and with spaces
#: for underscores: 'acc norm', 'accuracy on gpqa', 'quasi exact match', 'cot
#: correct', 'acc (filter: flexible)' and the like.
_ACCURACY = re.compile(
    r'((?:[\w-]+ ){0,3}?)(acc(?: norm)?|accuracy|em|exact match|pass@1|'
    r'success rate|cot correct|'
    r'chain of thought correctness|equivalent|math equiv(?:alent)?)'
    r'(?: on\b| for\b| chain| \(| -|$)')
_SAME = {'acc': 'accuracy', 'em': 'exact match'}
_LARGEST = {'proportion': 1, 'percent': 100, 'percentage': 100}
_REMEDY = 'Check the record with the tool of Every Eval Ever.'


def read_every_eval_ever(
        paths: Iterable[FilePath],
        benchmarks: Sequence[str] = (),
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Read accuracies of models from records of Every Eval Ever.

    What cannot be used is left out, with a warning for each reason. If an
    evaluation has several metrics that are accuracies, the metric that most
    models have counts. If a model has several records, the record with the
    most items counts.

    Args:
        paths (Iterable[FilePath]): Files of records, or folders that contain
            them.
        benchmarks (Sequence[str]): Names or patterns such as 'mmlu*' of the
            evaluations to read, by default all.
        chance (Optional[Mapping[str, float]]): Chance level of each
            evaluation that is not in `io.known_benchmarks`.

    Returns:
        AccuracyTable: Accuracies as fractions, `(M, B)`, of M models and B
        evaluations. Models have the id in their record, and are sorted.

    Raises:
        InputError: One of `benchmarks` matches no evaluation with an
            accuracy, or `benchmark_infos` refuses an evaluation.
    """
    check_list('paths of records', paths)
    check_list('benchmarks', benchmarks)
    left_out = LeftOut()
    paths = list(paths)
    cells: list[Cell] = []
    for path in _files(paths):
        cells += _cells(path, benchmarks, left_out)
    by_model = _by('name', cells)

    def of_one_model(model: str) -> list[Cell]:
        of_model = by_model[model]
        records = [record for _, record in of_model]
        check_weights(records)
        return of_model

    models = usable(of_one_model, by_model, 'model', left_out)
    by_task = _by('task', chain.from_iterable(models.values()))

    def of_one_task(task: str) -> list[Cell]:
        return _column(task, by_task[task], left_out)

    columns = usable(of_one_task, sorted(by_task), 'evaluation', left_out)
    where = ', '.join(map(str, paths))
    for pattern in benchmarks:
        if not any(fnmatchcase(name, pattern) for name in columns):
            raise InputError(where, f'accuracies on {pattern}', left_out.text,
                             'Name evaluations whose metric is an accuracy.')
    chosen = chain.from_iterable(columns.values())
    return accuracy_table(where, None, chosen, benchmarks, chance,
                          warn_of_differences, left_out)


def _by(owner: str, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Group cells by the attribute `owner` of their records."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        _, record = cell
        name = getattr(record, owner)
        groups.setdefault(name, []).append(cell)
    return groups


def _column(name: str, scores: Sequence[Cell],
            left_out: LeftOut) -> list[Cell]:
    """Return the accuracies on an evaluation, one for each model.

    All accuracies have the same metric. `left_out` takes the accuracies that
    are not used. An `InputError` if no model has a usable accuracy.
    """
    metric = _most_used_metric(scores)
    cells = []
    records = []
    for model, of_model in _by('name', scores).items():
        part = f'{name} of {model}'
        same = []
        for cell in of_model:
            _, record = cell
            if record.facts[METRIC] == metric:
                same.append(cell)
        if not same:
            left_out.add('result', f'other models have the {metric}', part)
            continue
        # A record with fewer items is a trial run on a part of the items.
        most = max(map(_n_items, same))
        wanted = [cell for cell in same if _n_items(cell) == most]
        # Dicts keep each value once, in the order of the records.
        accuracies: dict[float, None] = {}
        files: dict[str, None] = {}
        for accuracy, record in wanted:
            accuracies[accuracy] = None
            files[record.file] = None
        if len(accuracies) > 1:
            named = ' and '.join(files)
            left_out.add('result', f'scores differ, in {named}', part)
            continue
        if len(wanted) < len(same):
            left_out.add('result', 'another record has more items', part)
        first = wanted[0]
        _, record = first
        cells.append(first)
        records.append(record)
    check_settings(records, (SHOTS, ))
    if not cells:
        raise InputError(name, f'a model with a single {metric}',
                         'only models with several different values',
                         'Leave out all records but one of each model.')
    return cells


def _most_used_metric(scores: Sequence[Cell]) -> str:
    """Return the metric that most models have.

    If several metrics are equally frequent, return the first in alphabetical
    order.
    """
    uses = Counter[str]()
    for of_model in _by('name', scores).values():
        # A metric counts once for each model that has it.
        metrics = {record.facts[METRIC] for _, record in of_model}
        uses.update(metrics)
    return max(sorted(uses), key=lambda metric: uses[metric])


def _n_items(cell: Cell) -> int:
    """Return the number of items of an accuracy, 0 if it is unknown."""
    _, record = cell
    return record.facts[N_ITEMS] or 0


def _files(paths: Iterable[FilePath]) -> Iterator[Path]:
    """Yield the paths of files, and the JSON files in folders."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
        found = path.rglob('*.json')
        # A folder may be called '*.json' too, after its model.
        yield from sorted(filter(Path.is_file, found))


def _cells(path: Path, wanted: Sequence[str],
           left_out: LeftOut) -> Iterator[Cell]:
    """Yield the accuracies in the record in the file `path`.

    `wanted` are names or patterns of evaluations; if empty, all are read.
    What cannot be used, the record or results of it, is added to `left_out`.
    """
    try:
        record = read_json_part(path, _REMEDY)
        version = record.get('schema_version', str)
        major_and_minor, _, _ = version.rpartition('.')
        if major_and_minor not in VERSIONS:
            raise InputError(
                path, 'a record of Every Eval Ever in version '
                f'{" or ".join(VERSIONS)}', f'version {version!r}'[:80],
                'Migrate the record with the tool of Every Eval Ever.')
        measured = _weights(path, record.part('model_info'))
        results = record.parts('evaluation_results')
    except InputError as error:
        reason = str(error).removeprefix(str(path)).lstrip(':, ')
        left_out.add('record', reason, path.name)
        return
    for result in results:
        name = str(result.fields.get('evaluation_name'))
        is_wanted = any(fnmatchcase(name, pattern) for pattern in wanted)
        if wanted and not is_wanted:
            continue
        record_of_task = replace(measured, task=name)
        try:
            yield _cell(result, record_of_task)
        except InputError as error:
            reason = str(error).removeprefix(f'{result.where}, ')
            left_out.add('result', reason, f'{name} of {measured.name}')


def _weights(path: Path, model: JsonPart) -> Measured:
    """Return what a record states about the weights of its model."""
    stated = partial(inside, model.fields, 'additional_details')
    args = arguments(stated('model_args'))
    facts = {
        'revision': stated('revision') or args.get('revision'),
        'commit': stated('sha'),
        'dtype': stated('dtype') or stated('precision'),
        'quantization': quantization(args),
    }
    name = model.get('id', str)
    return Measured(name, '', str(path), facts)


def _cell(result: JsonPart, measured: Measured) -> Cell:
    """Return the accuracy in a result, and how it was measured.

    `measured` states the model and the evaluation. An `InputError` if the
    result is not an accuracy.
    """
    config = result.part('metric_config')
    details = result.part('score_details')
    stated_numbers = (
        inside(details.fields, 'uncertainty', 'num_samples'),
        inside(result.fields, 'source_data', 'samples_number'),
    )
    n_items = None
    for stated in stated_numbers:
        if n_items is None and type(stated) is int and stated > 0:
            n_items = stated
    generation = inside(result.fields, 'generation_config',
                        'additional_details')
    facts = measured.facts | {
        METRIC: _metric(measured.task, config),
        SHOTS: inside(generation, 'num_fewshot'),
        N_ITEMS: n_items
    }
    accuracy = _fraction(config, details.number('score'))
    return accuracy, replace(measured, facts=facts)


def _metric(evaluation: str, config: JsonPart) -> str:
    """Return the name of a result's metric, an accuracy.

    An `InputError` if the metric is not an accuracy.
    """
    fields = config.fields
    names = []
    for field in ('metric_kind', 'metric_id', 'metric_name'):
        name = fields.get(field)
        if isinstance(name, str):
            names.append(name)
    if names:
        # The first of these fields must name an accuracy.
        found = list(map(_accuracy, names))
        is_accuracy = found[0] != ''
    else:
        # Without these fields, the description of the evaluation or its name,
        # such as 'MMLU - EM', may contain the metric.
        description = str(fields.get('evaluation_description'))
        _, _, end_of_name = evaluation.rpartition(' - ')
        names = [description, end_of_name]
        found = list(map(_accuracy, names))
        is_accuracy = any(found)
    if fields.get('lower_is_better') or not is_accuracy:
        raise InputError(config.where, 'an accuracy',
                         repr(names[0])[:50], 'Choose other evaluations.')
    # The later names are more specific than the first one.
    for accuracy in found[1:]:
        if accuracy:
            return accuracy
    return found[0]


def _accuracy(name: str) -> str:
    """Return the accuracy that a name or description states, '' if none."""
    words = name.lower().replace('_', ' ')
    # An id may begin with the name of its leaderboard.
    _, _, last_part = words.rpartition('.')
    found = _ACCURACY.match(words) or _ACCURACY.match(last_part)
    if not found or is_no_accuracy(found[0]):
        return ''
    prefix, metric = found.groups()
    return prefix + _SAME.get(metric, metric)


def _fraction(metric: JsonPart, score: float) -> float:
    """Return a score, divided by the largest possible score."""
    unit = metric.fields.get('metric_unit')
    of_unit = _LARGEST.get(str(unit))
    if of_unit and metric.fields.get('max_score') is None:
        largest: float = of_unit
    else:
        largest = metric.number('max_score')
    if score <= 1 and of_unit and largest != of_unit:
        raise metric.error('max_score', f'the largest score in {unit}')
    if largest not in (1, 100) or not 0 <= score <= largest:
        raise InputError(metric.where, 'a score from 0 to 1, or to 100',
                         f'{score} of {largest}',
                         'Leave the record out, or correct it.')
    return score / largest
