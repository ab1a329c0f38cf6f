"""Scores as records of Every Eval Ever, and back.

Every Eval Ever (github.com/evaleval/every_eval_ever, MIT licence) is a JSON
format for scores of any evaluation, one record per model. Predictions are
written under a kind of metric of their own, `PREDICTED_KIND`, and are never
read as scores.
"""
import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from csv_plugin import __version__
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_list
from csv_plugin.core.escaping import file_name
from csv_plugin.core.percentages import fractions_found, seem_fractions
from csv_plugin.core.predictions import Predictions
from csv_plugin.extras.importers.json_rows import JsonPart, read_json_part
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.known_benchmarks import benchmark_infos

#: Version of the format that is written; others of the same minor are read.
SCHEMA_VERSION = '0.3.0'
#: Kind of metric of predictions.
PREDICTED_KIND = 'predicted_accuracy'
#: Kinds of metrics that are accuracies.
_ACCURACIES = ('accuracy', 'acc', 'exact_match')
#: What the largest score in a unit is not.
_OTHER_LARGEST = {'proportion': 100, 'percent': 1}
_WARNING = ('No result: the benchmark was not run. Predicted from losses on '
            'other texts by csv_plugin.')
_REMEDY = 'Check it by the tool of Every Eval Ever.'

_Record = dict[str, Any]


def score_records(accuracies: AccuracyTable,
                  giver: str,
                  timestamp: int,
                  licence: str = '') -> list[_Record]:
    """A record of each model that has a score.

    Args:
        accuracies (AccuracyTable): What was observed.
        giver (str): The organisation that provides the scores.
        timestamp (int): When the records are made, seconds since 1970.
        licence (str): Under which the scores are given; may be empty.
    """
    metric = {
        'metric_id': 'accuracy',
        'metric_name': 'Accuracy',
        'metric_kind': 'accuracy',
    }
    records = []
    for model, row in zip(accuracies.models, accuracies.values.tolist()):
        results = [
            _result(name, metric, {'score': value})
            for name, value in zip(accuracies.benchmarks, row)
            if value == value
        ]
        record = _record(model, giver, timestamp, giver, results)
        if licence:
            record['source_metadata']['additional_details'] = {
                'licence': licence
            }
        records += [record] if results else []
    return records


def prediction_records(predictions: Predictions, giver: str,
                       timestamp: int) -> list[_Record]:
    """A record of each model that has a prediction by the main method.

    No field of it says that it is a result: names, metric and kind are those
    of predictions, and so are the names of the files.

    Args:
        predictions (Predictions): Real accuracies in it are left out.
        giver (str): The organisation that provides the predictions.
        timestamp (int): When the records are made, seconds since 1970.
    """
    metric = {
        'metric_id': f'csv_plugin.{PREDICTED_KIND}',
        'metric_name': 'Accuracy predicted from losses',
        'metric_kind': PREDICTED_KIND,
        'evaluation_description': _WARNING,
    }
    records = []
    for m, model in enumerate(predictions.models):
        results = [
            _result(f'{name} (predicted)', metric, details)
            for b, name in enumerate(predictions.benchmarks)
            for details in _details(predictions, m, b)
        ]
        record = _record(model, giver, timestamp, f'{giver} predictions',
                         results)
        record['eval_library'] = {'name': 'csv_plugin', 'version': __version__}
        record['source_metadata']['additional_details'] = {
            'kind': 'prediction',
            'note': _WARNING
        }
        records += [record] if results else []
    return records


def write_records(folder: FilePath, records: Iterable[_Record]) -> list[Path]:
    """Write records where the public repository expects them.

    Args:
        folder (FilePath): Gets `data/<source>/<developer>/<model>/<id>.json`;
            ids are made of the content, so equal records are one file.
        records (Iterable[dict]): As made here.

    Returns:
        list[Path]: The files.

    Raises:
        InputError: A file cannot be written.
    """
    paths = []
    for record in records:
        text = json.dumps(record, indent=2, ensure_ascii=False) + '\n'
        digest = hashlib.sha256(text.encode('utf-8', 'replace')).digest()
        model = record['model_info']
        parts = (record['source_metadata']['source_name'],
                 model.get('developer', 'unknown'), model['name'])
        path = Path(folder, 'data', *map(file_name, parts),
                    f'{uuid.UUID(bytes=digest[:16], version=4)}.json')
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        paths.append(path)
    return paths


def read_every_eval_ever(
        paths: Iterable[FilePath],
        benchmarks: Sequence[str] = (),
        chance: Optional[Mapping[str, float]] = None) -> AccuracyTable:
    """Accuracies of models from records of Every Eval Ever.

    Metrics that are no accuracies are passed over, and so are predictions.

    Args:
        paths (Iterable[FilePath]): Records, or folders with them.
        benchmarks (Sequence[str]): Evaluations to read, by default all.
        chance (Optional[Mapping[str, float]]): Chance level of each that
            `io.known_benchmarks` lacks.

    Returns:
        AccuracyTable: Fractions, `(M, B)`; models, by the id in their record,
        and benchmarks are sorted.

    Raises:
        InputError: A file is no such record or of another version of the
            format, there is no accuracy, two of a model on an evaluation
            differ, one is not in its range or seems to be a fraction of what
            the record says, or as in `benchmark_infos`.
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
    lacking = [name for name in benchmarks if name not in found]
    if not cells or lacking:
        raise InputError(
            'records', 'accuracies on '
            f'{", ".join(lacking) or "an evaluation"}', 'none',
            'Name evaluations whose metric is an accuracy.')
    names = list(benchmarks) or sorted(found)
    infos = benchmark_infos(names, chance or {}).values()
    values = [[cells.get((model, name), np.nan) for name in names]
              for model in models]
    table = AccuracyTable(
        tuple(models), tuple(names), np.array(values),
        np.array([info.chance for info in infos]),
        np.array([info.n_items for info in infos], np.int64))
    _check_units(table)
    return table


def _check_units(table: AccuracyTable) -> None:
    """Refuse benchmarks whose scores seem to have another unit than stated."""
    for name, column, chance in zip(table.benchmarks, table.values.T,
                                    table.chance.tolist()):
        if seem_fractions(column[~np.isnan(column)], chance):
            raise InputError(f'accuracies on {name!r}',
                             'scores from 0 to 100, as their max_score says',
                             fractions_found(chance),
                             'Correct max_score of the records.')


def _record(model: str, giver: str, timestamp: int, source: str,
            results: list[_Record]) -> _Record:
    developer, _, name = model.rpartition('/')
    return {
        'schema_version': SCHEMA_VERSION,
        'evaluation_id': f'{source}/{model}/{timestamp}',
        'retrieved_timestamp': str(timestamp),
        'source_metadata': {
            'source_name': source,
            # Accuracies alone, without the answers that they are of.
            'source_type': 'documentation',
            'source_organization_name': giver,
            'evaluator_relationship': 'other',
        },
        'eval_library': {
            'name': 'unknown',
            'version': 'unknown'
        },
        'model_info': {
            'name': name,
            'id': model,
            **({
                'developer': developer
            } if developer else {}), 'additional_details': {
                'deployment_type': 'unknown',
                'model_availability': 'unknown'
            }
        },
        'evaluation_results': results,
    }


def _result(name: str, metric: Mapping[str, str], details: _Record) -> _Record:
    return {
        'evaluation_result_id': name,
        'evaluation_name': name,
        'source_data': {
            'dataset_name': name,
            'source_type': 'other'
        },
        'metric_config': {
            **metric, 'metric_unit': 'proportion',
            'lower_is_better': False,
            'score_type': 'continuous',
            'min_score': 0,
            'max_score': 1
        },
        'score_details': details,
    }


def _details(predictions: Predictions, m: int, b: int) -> Iterator[_Record]:
    """Value and interval of a prediction, if there is one."""
    value, low, high = (
        float(part[m, b, 0])
        for part in (predictions.values, predictions.low, predictions.high))
    if value == value:
        yield {
            'score': value,
            'uncertainty': {
                'confidence_interval': {
                    'lower': low,
                    'upper': high,
                    'confidence_level': predictions.level,
                    'method': 'prediction interval from held-out models'
                }
            },
            'details': {
                'extrapolated': str(bool(predictions.extrapolated[m, b, 0])),
                'model_was_fitted_to':
                str(bool(predictions.in_sample[m, b, 0])),
                'alarm': str(bool(predictions.alarm[m, b, 0]))
            }
        }


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
    for index, result in enumerate(record.get('evaluation_results', list)):
        where = f'{path}, result {index}'
        if not isinstance(result, dict):
            raise InputError(where, 'an object', repr(result)[:80], _REMEDY)
        part = JsonPart(where, result, _REMEDY)
        name, metric = part.get('evaluation_name',
                                str), part.part('metric_config')
        if _is_accuracy(metric.fields) and (not wanted or name in wanted):
            score = part.part('score_details').number('score')
            yield (model, name), where, _fraction(metric, score)


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
