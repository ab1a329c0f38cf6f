"""Accuracies from records of Every Eval Ever."""
import json
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.sharing.every_eval_ever import read_every_eval_ever

DATA = Path(__file__).parent / 'data/every_eval_ever'
#: Of the only evaluation of the public record.
CHANCE = {'demo-source.demo_bench': .25}


def record(path, model='demo-org/demo-model', name='', **changes):
    """Write the public record with changes of its only result."""
    content = json.loads((DATA / 'record.json').read_text())
    content['model_info']['id'] = model
    result = content['evaluation_results'][0]
    result['evaluation_name'] = name or result['evaluation_name']
    for key, value in changes.items():
        for part in (content, result['score_details'], result,
                     result['metric_config']):
            if key in part:
                part[key] = value
                break
        else:
            result['metric_config'][key] = value
    path.write_text(json.dumps(content))
    return path


def test_a_public_record_is_read():
    """It is one of the repository of the format, valid by its schema."""
    jsonschema = pytest.importorskip('jsonschema')
    schema = json.loads((DATA / 'eval.schema.json').read_text())
    assert schema['version'] == '0.3.0'
    jsonschema.validate(json.loads((DATA / 'record.json').read_text()), schema)
    table = read_every_eval_ever([DATA / 'record.json'], chance=CHANCE)
    assert table.models == ('demo-org/demo-model', )
    assert table.values.tolist() == [[.75]] and table.chance.tolist() == [.25]


def test_records_of_a_folder_become_one_table(tmp_path):
    record(tmp_path / '1.json', 'b', 'mmlu', score=.5)
    record(tmp_path / '2.json', 'a', 'gsm8k', score=60, max_score=100)
    (tmp_path / 'deep').mkdir()
    record(tmp_path / 'deep/3.json', 'a', 'mmlu', metric_kind='acc', score=.4)
    record(tmp_path / '4.json', 'a', 'arena', metric_kind='elo', score=1200)
    table = read_every_eval_ever([tmp_path])
    assert table.models == ('a', 'b')
    assert table.benchmarks == ('gsm8k', 'mmlu')
    np.testing.assert_array_equal(table.values, [[.6, .4], [np.nan, .5]])
    assert table.chance.tolist() == [0, .25]
    assert table.n_items.tolist() == [1319, 14042]
    assert read_every_eval_ever([tmp_path], ['mmlu']).benchmarks == ('mmlu', )


@pytest.mark.parametrize('changes, expected', [
    (dict(schema_version='0.2.2'), 'version 0.3.0'),
    (dict(metric_kind='elo'), 'accuracies on an evaluation'),
    (dict(lower_is_better=True), 'accuracies on an evaluation'),
    (dict(score=1.5), 'a score from 0 to 1'),
    (dict(score=1, max_score=100), 'the largest score in proportion'),
    (dict(score=.45, metric_unit='percent'), 'the largest score in percent'),
])
def test_what_is_no_accuracy_is_refused(tmp_path, changes, expected):
    path = record(tmp_path / 'changed.json', **changes)
    with pytest.raises(InputError, match=expected):
        read_every_eval_ever([path], (), CHANCE)


def test_fractions_that_are_called_percent_are_refused(tmp_path):
    """Where guessing gives 25 %, no two models have 0.4 and 0.5 %."""
    for model, score in (('a', .4), ('b', .5)):
        record(tmp_path / f'{model}.json', model, score=score,
               max_score=100, metric_unit='points')  # yapf: disable
    with pytest.raises(InputError, match='they seem to be fractions'):
        read_every_eval_ever([tmp_path], (), CHANCE)


def test_two_scores_of_a_model_have_to_agree(tmp_path):
    first, second = DATA / 'record.json', tmp_path / 'second.json'
    record(second)
    assert len(read_every_eval_ever([first, second], (), CHANCE).models) == 1
    record(second, score=.5)
    with pytest.raises(InputError, match='second.json.* and .*record.json'):
        read_every_eval_ever([first, second], (), CHANCE)


def test_evaluations_that_are_not_there_are_named():
    with pytest.raises(InputError, match='expected accuracies on mmlu'):
        read_every_eval_ever([DATA / 'record.json'], ['mmlu'])
    with pytest.raises(InputError, match='--chance demo-source.demo_bench'):
        read_every_eval_ever([DATA / 'record.json'])
