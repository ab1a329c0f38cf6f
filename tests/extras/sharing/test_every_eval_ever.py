"""Records of Every Eval Ever: as its schema says, and back to accuracies."""
import json
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import Predictions
from csv_plugin.extras.sharing.every_eval_ever import (PREDICTED_KIND,
                                                       prediction_records,
                                                       read_every_eval_ever,
                                                       score_records,
                                                       write_records)
from tests.io.mutations import mutations

DATA = Path(__file__).parent / 'data/every_eval_ever'
#: 1/3 and 0.1 have no short binary form.
TABLE = AccuracyTable(('lab/m-7b', 'n'), ('gsm8k', 'mmlu'),
                      np.array([[1 / 3, .5], [np.nan, .1]]), np.array([0,
                                                                       .25]),
                      np.array([1319, 14042]))
#: Seconds since 1970.
TIME = 1790000000


@pytest.fixture
def validate():
    """Checks a record by the schema that is kept with the tests."""
    jsonschema = pytest.importorskip('jsonschema')
    schema = json.loads((DATA / 'eval.schema.json').read_text())
    assert schema['version'] == '0.3.0'
    return jsonschema.Draft7Validator(schema).validate


def predictions():
    values = np.array([[[.3], [.6]], [[np.nan], [.2]]])
    return Predictions(TABLE.models, TABLE.benchmarks, ('predicted', ), values,
                       values - .1, values + .1, values > .5, values < .25,
                       TABLE.values, .9)


def test_scores_are_valid_and_come_back(validate, tmp_path):
    records = score_records(TABLE, 'A Lab', TIME, 'CC BY 4.0')
    for record in records:
        validate(record)
        assert record['source_metadata']['additional_details'] == {
            'licence': 'CC BY 4.0'
        }
    paths = write_records(tmp_path, records)
    assert [path.parent.relative_to(tmp_path) for path in paths
            ] == [Path('data/A Lab/lab/m-7b'),
                  Path('data/A Lab/unknown/n')]
    back = read_every_eval_ever([tmp_path])
    assert back.models == TABLE.models and back.benchmarks == TABLE.benchmarks
    np.testing.assert_array_equal(back.values, TABLE.values)
    np.testing.assert_array_equal(back.chance, TABLE.chance)
    # Equal records are one file.
    assert write_records(tmp_path, records) == paths
    assert read_every_eval_ever(paths, ['mmlu']).benchmarks == ('mmlu', )


def test_predictions_never_pass_for_results(validate, tmp_path):
    records = prediction_records(predictions(), 'A Lab', TIME)
    results = [r for record in records for r in record['evaluation_results']]
    assert [r['score_details']['score'] for r in results] == [.3, .6, .2]
    for record in records:
        validate(record)
        assert record['eval_library']['name'] == 'csv_plugin'
        assert record['source_metadata']['source_type'] == 'documentation'
    for result in results:
        metric = result['metric_config']
        assert metric['metric_kind'] == PREDICTED_KIND
        assert metric['metric_id'] == 'csv_plugin.predicted_accuracy'
        assert metric['evaluation_description'].startswith('No result')
        assert result['evaluation_name'].endswith(' (predicted)')
    assert results[1]['score_details']['details'] == {
        'extrapolated': 'True',
        'model_was_fitted_to': 'False',
        'alarm': 'False'
    }
    interval = results[0]['score_details']['uncertainty']
    assert interval['confidence_interval']['confidence_level'] == .9
    paths = write_records(tmp_path / 'a', records)
    assert all('A Lab predictions' in str(path) for path in paths)
    with pytest.raises(InputError, match='expected accuracies'):
        read_every_eval_ever(paths)
    # Nor do they among scores.
    write_records(tmp_path / 'a', score_records(TABLE, 'A Lab', TIME))
    np.testing.assert_array_equal(
        read_every_eval_ever([tmp_path / 'a']).values, TABLE.values)


def test_a_public_record_is_read(validate):
    validate(json.loads((DATA / 'record.json').read_text()))
    table = read_every_eval_ever([DATA / 'record.json'],
                                 chance={'demo-source.demo_bench': .25})
    assert table.models == ('demo-org/demo-model', )
    assert table.values.tolist() == [[.75]] and table.chance.tolist() == [.25]


def written(tmp_path, **changes):
    """The public record with changes of its only result."""
    record = json.loads((DATA / 'record.json').read_text())
    result = record['evaluation_results'][0]
    for key, value in changes.items():
        if key in record:
            record[key] = value
        elif key in ('score', ):
            result['score_details'][key] = value
        elif key in result:
            result[key] = value
        else:
            result['metric_config'][key] = value
    path = tmp_path / 'changed.json'
    path.write_text(json.dumps(record))
    return path


CHANCE = {'demo-source.demo_bench': 0}


def test_percent_becomes_fractions(tmp_path):
    path = written(tmp_path, max_score=100, score=75)
    assert read_every_eval_ever([path], (), CHANCE).values.tolist() == [[.75]]


@pytest.mark.parametrize('changes, expected', [
    (dict(schema_version='0.2.2'), 'version 0.3.0'),
    (dict(metric_kind='elo'), 'accuracies on an evaluation'),
    (dict(lower_is_better=True), 'accuracies on an evaluation'),
    (dict(score=1.5), 'a score from 0 to 1'),
    (dict(score='high'), "a finite number as 'score'"),
    (dict(max_score=10), 'a score from 0 to 1'),
    (dict(score=.45, max_score=100), 'the largest score in proportion'),
    (dict(score=.45, metric_unit='percent'), 'the largest score in percent'),
    (dict(evaluation_results=[1]), 'an object'),
    (dict(evaluation_name=1), "a text as 'evaluation_name'"),
    (dict(model_info={}), "a text as 'id'"),
])
def test_what_is_no_accuracy_is_refused(tmp_path, changes, expected):
    path = written(tmp_path, **changes)
    with pytest.raises(InputError, match=expected):
        read_every_eval_ever([path], (), CHANCE)


def test_fractions_that_are_called_percent_are_refused(tmp_path):
    """Where guessing gives 25 %, no model of several has 0.5 %."""
    paths = []
    for model, score in (('a', .4), ('b', .5)):
        path = written(
            tmp_path, max_score=100, metric_unit='points', score=score)
        record = json.loads(path.read_text())
        record['model_info']['id'] = model
        paths.append(tmp_path / f'{model}.json')
        paths[-1].write_text(json.dumps(record))
    with pytest.raises(InputError, match='they seem to be fractions'):
        read_every_eval_ever(paths, (), {'demo-source.demo_bench': .25})


def test_two_scores_of_a_model_have_to_agree(tmp_path):
    first, second = DATA / 'record.json', written(tmp_path)
    assert len(read_every_eval_ever([first, second], (), CHANCE).models) == 1
    second = written(tmp_path, score=.5)
    with pytest.raises(InputError, match='changed.json.* and .*record.json'):
        read_every_eval_ever([first, second], (), CHANCE)


def test_evaluations_that_are_not_there_are_named():
    with pytest.raises(InputError, match='expected accuracies on mmlu'):
        read_every_eval_ever([DATA / 'record.json'], ['mmlu'])
    with pytest.raises(InputError, match='--chance demo-source.demo_bench'):
        read_every_eval_ever([DATA / 'record.json'])


def test_damaged_records_are_errors(tmp_path):
    path = tmp_path / 'damaged.json'
    for damaged in mutations((DATA / 'record.json').read_bytes(), 100):
        path.write_bytes(damaged)
        try:
            read_every_eval_ever([path], (), CHANCE)
        except InputError:
            pass
