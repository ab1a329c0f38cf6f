"""Accuracies from records of Every Eval Ever."""
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.every_eval_ever import read_every_eval_ever

DATA = Path(__file__).parent / 'data/every_eval_ever'
#: Of the only evaluation of the public record.
CHANCE = {'demo-source.demo_bench': .25}


def record(path, model='demo-org/demo-model', name='', **changes):
    """Write the public record with changes of its fields."""
    content = json.loads((DATA / 'record.json').read_text())
    content['model_info']['id'] = model
    result = content['evaluation_results'][0] | dict(generation_config={})
    content['evaluation_results'] = [result]
    result['evaluation_name'] = name or result['evaluation_name']
    for key, value in changes.items():
        for part in (content, content['model_info'], result['score_details'],
                     result, result['metric_config']):
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
    (tmp_path / 'deep.json').mkdir()
    deep = tmp_path / 'deep.json/3.json'
    record(deep, 'a', 'mmlu', metric_kind='acc', score=.4)
    record(tmp_path / '4.json', 'a', 'arena', metric_kind='elo', score=1200)
    for name in ('5', '6'):
        (tmp_path / f'{name}.json').write_text('{}')
    with pytest.warns(UserWarning) as warnings:
        table = read_every_eval_ever([tmp_path])
    assert [str(w.message).partition(':')[0] for w in warnings] == [
        'left out 1 result (arena of a)', 'left out 2 records (5.json, 6.json)'
    ]
    assert table.models == ('a', 'b')
    assert table.benchmarks == ('gsm8k', 'mmlu')
    np.testing.assert_array_equal(table.values, [[.6, .4], [np.nan, .5]])
    assert table.chance.tolist() == [0, .25]
    assert table.n_items.tolist() == [1319, 14042]
    for name in ('5', '6'):
        (tmp_path / f'{name}.json').unlink()
    assert read_every_eval_ever([tmp_path], ['mm*']).benchmarks == ('mmlu', )


@pytest.mark.parametrize('changes, expected', [
    (dict(schema_version='0.4.0'), 'version 0.1 or 0.2 or 0.3'),
    (dict(score=1.5), 'a score from 0 to 1'),
    (dict(score=1, max_score=100), 'the largest score in proportion'),
    (dict(score=.45, metric_unit='percent'), 'the largest score in percent'),
])
def test_what_is_no_accuracy_is_refused(tmp_path, changes, expected):
    path = record(tmp_path / 'changed.json', **changes)
    with pytest.raises(InputError, match=expected):
        read_every_eval_ever([path], (), CHANCE)


def test_two_scores_of_a_model_have_to_agree(tmp_path):
    first, second = DATA / 'record.json', tmp_path / 'second.json'
    record(second)
    assert len(read_every_eval_ever([first, second], (), CHANCE).models) == 1
    record(second, score=.5)
    record(tmp_path / 'third.json', 'other')
    with pytest.warns(UserWarning, match='record.json.* and .*second.json'):
        table = read_every_eval_ever([first, tmp_path], (), CHANCE)
    assert table.models == ('other', )


# Configs as its converters of lm-evaluation-harness, HELM, Inspect and
# leaderboards wrote them, the last two in versions 0.2 and 0.1.
@pytest.mark.parametrize('name, config', [
    ('piqa', dict(evaluation_description='acc')),
    ('piqa', dict(evaluation_description='acc_norm')),
    ('gsm8k/flexible-extract',
     dict(evaluation_description='exact_match (filter: flexible-extract)')),
    ('x', dict(evaluation_description='EM on MMLU', metric_name='EM')),
    ('x', dict(evaluation_description='quasi_exact_match')),
    ('x', dict(evaluation_description='accuracy')),
    ('x', dict(metric_id='bfcl.live.live_accuracy', metric_kind='accuracy',
               metric_unit='percentage', max_score=None)),
    ('x', dict(metric_name='Multiple-Choice Accuracy')),
    ('BBH', dict(evaluation_description='Accuracy on BBH')),
    ('Hard', dict(evaluation_description='Pass@1 on Hard Problems')),
    ('MMLU - EM', dict(evaluation_description='The MMLU benchmark measures '
                       'knowledge in many subjects.')),
])  # yapf: disable
def test_the_metrics_of_every_converter(tmp_path, name, config):
    path = named(tmp_path / 'a.json', name, config)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        table = read_every_eval_ever([path], (), {name: 0})
    score = .0075 if 'max_score' in config else .75
    assert table.values.tolist() == [[score]]


@pytest.mark.parametrize('config', [
    dict(evaluation_description='f1'),
    dict(evaluation_description='Factuality score - measures accuracy'),
    dict(metric_kind='elo', evaluation_description='Accuracy on x'),
    dict(evaluation_description='acc', lower_is_better=True),
    dict(evaluation_description='acc', max_score='Infinity'),
    dict(evaluation_description='acc', max_score=None),
])
def test_other_metrics_are_left_out(tmp_path, config):
    named(tmp_path / '1.json', 'piqa', dict(metric_kind='acc'))
    named(tmp_path / '2.json', 'sciq', config)
    with pytest.warns(UserWarning, match='left out 1 result .sciq of '):
        assert read_every_eval_ever([tmp_path]).benchmarks == ('piqa', )


def test_evaluations_without_a_chance_level(tmp_path):
    for name in ('piqa', 'house', 'home'):
        record(tmp_path / f'{name}.json', 'a', name)
    with pytest.warns(UserWarning, match='2 benchmarks .home, house.: give'):
        assert read_every_eval_ever([tmp_path]).benchmarks == ('piqa', )
    with pytest.raises(InputError, match='none for house'):
        read_every_eval_ever([tmp_path], ['piqa', 'house'])


def named(path, name, config):
    """The public record with another evaluation and metric."""
    bounds = dict(lower_is_better=False, min_score=0, max_score=1)
    return record(path, name=name, metric_config=bounds | config)


def test_all_models_have_the_same_metric(tmp_path):
    """As lm-evaluation-harness has two accuracies of a task."""
    for model, metric, score in (('a', 'acc', .5), ('a', 'acc_norm', .6),
                                 ('b', 'acc', .4), ('c', 'exact_match', .3),
                                 ('d', 'acc', float('nan')), ('d', 'acc_norm',
                                                              .2)):
        config = dict(evaluation_description=metric, max_score=1)
        record(tmp_path / f'{model}_{metric}.json', model, 'piqa',
               metric_config=config, score=score)  # yapf: disable
    with pytest.warns(UserWarning) as warnings:
        table = read_every_eval_ever([tmp_path])
    assert table.models == ('a', 'd')
    assert table.values.tolist() == [[.6], [.2]]
    lines = '\n'.join(str(warning.message) for warning in warnings)
    assert '(piqa of b, piqa of c): other models have the acc norm' in lines
    assert 'a finite number' in lines


def test_records_of_several_weights_are_no_model(tmp_path):
    """Every record is as the converter of lm-evaluation-harness writes it."""
    for name, model, task, details in (
        ('1', 'a', 'piqa', dict(revision='main', dtype='bfloat16')),
        ('2', 'a', 'sciq', dict(revision='step1000', dtype='bfloat16')),
        ('3', 'b', 'piqa', dict(model_args="{'load_in_4bit': True}")),
        ('4', 'c', 'piqa', dict(model_args='pretrained=c,dtype=float16')),
    ):  # yapf: disable
        record(tmp_path / f'{name}.json', model, task,
               additional_details=details)  # yapf: disable
    with pytest.warns(UserWarning) as warnings:
        table = read_every_eval_ever([tmp_path])
    assert table.models == ('b', 'c')
    lines = '\n'.join(str(warning.message) for warning in warnings)
    assert 'left out 1 model (a)' in lines and 'step1000' in lines
    assert 'load_in_4bit=True of b, none of c' in lines


def test_models_with_other_numbers_of_examples(tmp_path):
    for model, shots in (('a', '0'), ('b', '5')):
        config = dict(additional_details=dict(num_fewshot=shots))
        record(tmp_path / f'{model}.json', model, 'piqa',
               generation_config=config)  # yapf: disable
    with pytest.raises(InputError, match='0 of a, 5 of b'):
        read_every_eval_ever([tmp_path])


@pytest.mark.parametrize('stated, expected', [
    ((1000, 1000), 1000),
    ((1000, None), 1000),
    ((None, None), 10042),
    ((0, 0), 10042),
])
def test_numbers_of_items_are_those_of_the_records(tmp_path, stated, expected):
    for model, n_items in zip('ab', stated):
        sized(tmp_path, model, n_items)
    assert read_every_eval_ever([tmp_path]).n_items == [expected]


def sized(folder, model, n_items, **source_data):
    details = dict(score=.5, uncertainty=dict(num_samples=n_items))
    record(folder / f'{model}.json', model, 'hellaswag',
           score_details=details, source_data=source_data)  # yapf: disable


def test_a_trial_on_a_few_items_does_not_count(tmp_path):
    sized(tmp_path, 'a', 1838)
    few = dict(score=.9, uncertainty=dict(num_samples=10))
    trial = tmp_path / 'trial.json'
    record(trial, 'a', 'hellaswag', score_details=few)
    with pytest.warns(UserWarning, match='another record has more items'):
        table = read_every_eval_ever([tmp_path])
    assert table.values.tolist() == [[.5]] and table.n_items == [1838]
    assert read_every_eval_ever([trial]).values.tolist() == [[.9]]


def test_different_numbers_of_items_are_a_warning(tmp_path):
    sized(tmp_path, 'a', 10)
    sized(tmp_path, 'b', None, samples_number=1000)
    with pytest.warns(UserWarning, match='are of 10 to 1000 items'):
        assert read_every_eval_ever([tmp_path]).n_items == [10]


def test_evaluations_that_are_not_there_are_named():
    with pytest.raises(InputError, match='expected accuracies on mmlu'):
        read_every_eval_ever([DATA / 'record.json'], ['mmlu'])
    with pytest.raises(InputError, match='--chance demo-source.demo_bench'):
        read_every_eval_ever([DATA / 'record.json'])
