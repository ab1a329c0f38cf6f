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
    dict(metric_kind='elo', metric_name='accuracy'),
    dict(evaluation_description='loss of accuracy'),
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


def scored(model, score=.5, metric='acc', n_items=None, samples=None, **more):
    """Changes of the public record: a model on hellaswag."""
    details = dict(score=score, uncertainty=dict(num_samples=n_items))
    return dict(
        model=model,
        name=more.pop('name', 'hellaswag'),
        score_details=details,
        source_data=dict(samples_number=samples),
        metric_config=dict(evaluation_description=metric, max_score=1),
        **more)


def weights(**details):
    return dict(additional_details=details)


@pytest.mark.parametrize('records, models, values, n_items, lines', [
    # The metric of most models.
    ([scored('a'), scored('a', .6, 'acc_norm'), scored('b', .4),
      scored('c', .3, 'exact_match'), scored('d', float('nan')),
      scored('d', .2, 'acc_norm')], 'ad', [.6, .2], 10042,
     ['(hellaswag of b, hellaswag of c): other models have the acc norm',
      'a finite number']),
    # The same score twice, and two that differ.
    ([scored('a'), scored('a'), scored('b'), scored('b', .6)], 'a', [.5],
     10042, ['(hellaswag of b): scores differ, in ']),
    # Several weights; the revision is missing elsewhere.
    ([scored('a', **weights(revision='main', dtype='bfloat16')),
      scored('a', name='piqa', **weights(revision='step1', dtype='bfloat16')),
      scored('b', **weights(model_args="{'load_in_4bit': True}")),
      scored('c', **weights(model_args='pretrained=c,dtype=float16'))],
     'bc', [.5, .5], 10042,
     ['left out 1 model (a)', 'step1', 'load_in_4bit=True of b, none of c']),
    # Numbers of items; the least counts.
    ([scored('a', n_items=1000), scored('b', n_items=1000)], 'ab', [.5, .5],
     1000, []),
    ([scored('a', n_items=1000), scored('b', n_items=0)], 'ab', [.5, .5],
     1000, []),
    ([scored('a', n_items=10), scored('b', samples=1000)], 'ab', [.5, .5],
     10, ['on 10 to 1000 items']),
    # A trial on a few items.
    ([scored('a', n_items=1838), scored('a', .9, n_items=10)], 'a', [.5],
     1838, ['another record has more items']),
])  # yapf: disable
def test_models_are_compared(tmp_path, records, models, values, n_items,
                             lines):
    for number, changes in enumerate(records):
        record(tmp_path / f'{number}.json', **changes)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        table = read_every_eval_ever([tmp_path])
    assert table.models == tuple(models)
    assert table.values[:, 0].tolist() == values
    assert table.n_items.tolist() == [n_items]
    words = '\n'.join(str(warning.message) for warning in told)
    assert all(line in words for line in lines)


def test_models_with_other_numbers_of_examples(tmp_path):
    for model, shots in (('a', '0'), ('b', '5')):
        record(tmp_path / f'{model}.json',
               **scored(model, generation_config=weights(num_fewshot=shots)))
    with pytest.raises(InputError, match='0 of a, 5 of b'):
        read_every_eval_ever([tmp_path])


def test_models_that_all_have_several_scores(tmp_path):
    """Those with another metric have one, which does not count."""
    records = [
        scored('a', .5),
        scored('a', .6),
        scored('b', .4, 'exact_match')
    ]
    for number, changes in enumerate(records):
        record(tmp_path / f'{number}.json', **changes)
    found = ('hellaswag: expected a model with a single accuracy, found only '
             'models with several different values')
    with pytest.raises(InputError, match=found):
        read_every_eval_ever([tmp_path])


def test_evaluations_that_are_not_there_are_named():
    with pytest.raises(InputError, match='expected accuracies on mmlu'):
        read_every_eval_ever([DATA / 'record.json'], ['mmlu'])
    with pytest.raises(InputError, match='--chance demo-source.demo_bench'):
        read_every_eval_ever([DATA / 'record.json'])
