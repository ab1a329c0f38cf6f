"""What a file of results says, in the format of every version."""
import json
import math
import shutil

import numpy as np
import pytest

from csv_plugin.cli.salience import main
from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import (EXTENT, METRIC, N_ITEMS, SHOTS, SYSTEM,
                                      TEMPLATE, VERSION)
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.extras.importers.lm_eval_results import (
    read_lm_eval_accuracies, read_runs)
from tests.extras.importers.outputs import (LM_EVAL, MODELS, change_json,
                                            results_of, write_results)

VERSIONS = '0.4.0', '0.4.2', '0.4.3', '0.4.9', '0.4.13'
GROUP = {'mmlu': ['mmlu_a', 'mmlu_b']}
MMLU = {'mmlu': 0.5, 'mmlu_a': 0.4, 'mmlu_b': 0.6}


def read(*paths, names=('piqa', ), **options):
    return read_lm_eval_accuracies(paths, names, **options)


@pytest.mark.parametrize('version', VERSIONS)
def test_every_version(tmp_path, version):
    path = write_results(tmp_path / 'm', version, {'piqa': .62}, shots=5)
    for place in (tmp_path / 'm', path):
        table = read(place)
        assert table.values.tolist() == [[.62]]
    record, = table.measured
    stated = {METRIC: 'acc,none', SHOTS: '5', 'model': 'lab/m',
              'revision': 'main', EXTENT: 'all'}  # yapf: disable
    if version in VERSIONS[2:]:
        stated |= {'dtype': 'bfloat16', TEMPLATE: 'none',
                   SYSTEM: 'none', N_ITEMS: 100}  # yapf: disable
    else:
        stated |= dict.fromkeys(('dtype', TEMPLATE, SYSTEM, N_ITEMS))
    assert {fact: record.facts[fact] for fact in stated} == stated


@pytest.mark.parametrize('version', VERSIONS[1:])
@pytest.mark.parametrize('shots', [0, 5])
def test_shots_of_a_group_are_those_of_its_tasks(tmp_path, version, shots):
    options = {'shots': shots, 'groups': GROUP}
    write_results(tmp_path / 'old', version, MMLU, **options)
    write_results(tmp_path / 'new', '0.4.13', MMLU, **{**options, 'shots': 5})
    paths = tmp_path / 'old', tmp_path / 'new'
    if shots == 5:
        table = read(*paths, names=['mmlu'])
        assert table.values.tolist() == [[.5], [.5]]
        assert table.n_items.tolist() == [200]
    else:
        with pytest.raises(InputError, match='few-shot .* 0 of old, 5 of new'):
            read(*paths, names=['mmlu'])


def test_groups_of_groups(tmp_path):
    content = results_of(
        '0.4.9', {**MMLU, 'all': 0.5}, shots=5,
        groups={**GROUP, 'all': ['mmlu']})  # yapf: disable
    path = write_results(tmp_path, '0.4.9', MMLU)
    change_json(path, lambda old: old.update(content))
    run, = read_runs(path, LeftOut())
    assert run.leaves('all') == ['mmlu_a', 'mmlu_b']
    assert run.measured('m', 'all').facts[SHOTS] == '5'
    change_json(path, lambda old: old['n-shot'].update(mmlu_a=0))
    run, = read_runs(path, LeftOut())
    assert run.measured('m', 'all').facts[SHOTS] == '0, 5'
    run.content['group_subtasks']['mmlu'] = ['all']
    assert run.leaves('all') == ['all']


@pytest.mark.parametrize('model, words', [
    ('lab/m,revision=step10', ('revision', 'main of', 'step10 of')),
    ('lab/m,subfolder=ema', ('revision', 'main of', 'main/ema of')),
    ('lab/m,load_in_4bit=True', ('quantization', 'none', 'load_in_4bit=True')),
    ('lab/m,quantization=awq', ('quantization', 'none', 'quantization=awq')),
    ('lab/m,peft=lab/lora', ('adapter', 'none of', 'lab/lora of')),
    ('lab/other', ('model', 'lab/m of', 'lab/other of')),
])
@pytest.mark.parametrize('version', ['0.4.2', '0.4.13'])
@pytest.mark.parametrize('task', ['piqa', 'winogrande'])
def test_results_of_other_weights_are_not_joined(tmp_path, version, task,
                                                 model, words):
    """Neither two tasks, nor two runs of one of which the newest counts."""
    first = write_results(tmp_path / 'm/a', version, {'piqa': .6})
    write_results(tmp_path / 'm/b', version, {task: .7}, model=model)
    check_refused(tmp_path / 'm', {'piqa', task}, (*words, 'NAME=FILE'))
    assert read(first).models == (first.stem, )


def check_refused(folder, names, words):
    with pytest.raises(InputError) as error:
        read(folder, names=sorted(names))
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize('field, values', [
    ('model_dtype', ('torch.bfloat16', 'torch.float16')),
    ('model_sha', ('a' * 40, 'b' * 40)),
])
def test_dtype_and_commit_belong_to_weights(tmp_path, field, values):
    for day, value in enumerate(values, start=1):
        path = write_results(tmp_path, '0.4.9', {'piqa': .6},
                             f'2025-01-0{day}')
        change_json(path, lambda old: old['config'].update({field: value}))
    check_refused(tmp_path, ['piqa'],
                  [value.removeprefix('torch.') for value in values])


@pytest.mark.parametrize('limit', [10, 10.0, 0.1])
@pytest.mark.parametrize('version', ['0.4.2', '0.4.9', '0.4.13'])
def test_a_run_of_some_items_replaces_no_whole_one(tmp_path, version, limit):
    write_results(tmp_path / 'a', version, {'piqa': .62}, items=1838)
    cut = write_results(
        tmp_path / 'b', version, {'piqa': .9}, '2025-02-01', items=1838,
        limit=limit)  # yapf: disable
    with pytest.warns(UserWarning, match='a run of all items counts'):
        assert read(tmp_path).values.tolist() == [[.62]]
    whole = write_results(tmp_path / 'c', version, {'piqa': .5}, items=1838)
    with pytest.raises(InputError, match='part of the items|number of items'):
        read(cut, tmp_path / 'c')
    whole.unlink()
    with pytest.warns(UserWarning, match='some of the items of piqa'):
        assert read(cut).measured[0].facts[EXTENT] == 'some'


@pytest.mark.filterwarnings('ignore:results are of some')
def test_of_two_runs_of_some_items_the_longer_counts(tmp_path):
    for date, accuracy, limit in (('2025-01-01', .5, 100), ('2025-01-02', .9,
                                                            10)):
        write_results(
            tmp_path, '0.4.9', {'piqa': accuracy}, date, limit=limit,
            items=1838)  # yapf: disable
    with pytest.warns(UserWarning, match='the newest run counts; to use'):
        table = read(tmp_path)
    assert table.values.tolist() == [[.5]] and table.n_items.tolist() == [100]


@pytest.mark.parametrize('change, message', [
    ({'chat_template_sha': 'a' * 64}, 'chat template: none of a, some of b'),
    ({'chat_template': '{{ m }}'}, 'chat template: none of a, some of b'),
    ({'system_instruction': 'Be brief.'}, 'system prompt: none .* Be brief.'),
    ({'versions': {'piqa': 2}}, 'version of the task: 1 of a, 2 of b'),
    ({'config': {'model_dtype': 'torch.float16'}}, 'of dtype: bfloat16 of a'),
])  # yapf: disable
def test_other_prompts_and_formats_are_told(tmp_path, change, message):
    write_results(tmp_path / 'a', '0.4.9', {'piqa': .6})
    write_results(tmp_path / 'b', '0.4.9', {'piqa': .7}, **change)
    with pytest.warns(UserWarning, match=message):
        assert read(tmp_path / 'a', tmp_path / 'b').values.shape == (2, 1)


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_a_number_that_is_not_finite_harms_its_task_alone(tmp_path, value):
    path = write_results(tmp_path, '0.4.9', {'piqa': .6, 'winogrande': value})
    # Some tokenizers have a longest text of 1e30 tokens.
    change_json(path,
                lambda old: old.update(throughput=value, max_length=10**30))
    assert read(path).values.tolist() == [[.6]]
    with pytest.warns(UserWarning, match='1 result .winogrande of .*found'):
        table = read(path, names=['winogrande', 'piqa'])
    assert table.benchmarks == ('piqa', )
    with pytest.raises(InputError, match="a fraction as 'acc"):
        read(path, names=['winogrande'])


def test_a_metric_that_falls_for_better_models(tmp_path):
    path = write_results(tmp_path, '0.4.9', {'piqa': .6})
    change_json(path,
                lambda old: old['higher_is_better']['piqa'].update(acc=False))
    with pytest.raises(InputError, match="higher for better .* 'acc,none'"):
        read(path)


def test_what_is_no_result_is_left_out_with_a_line(tmp_path):
    write_results(tmp_path / 'm', '0.4.9', {'piqa': .6})
    (tmp_path / 'm/cut.json').write_text('{"results": {')
    for name in ('one', 'two'):
        (tmp_path / f'm/{name}.json').write_text('{"a": 1}')
    (tmp_path / 'n').mkdir()
    with pytest.warns(UserWarning) as told:
        table = read(tmp_path / 'm', tmp_path / 'n')
    assert table.models == ('m', )
    lines = ''.join(str(line.message) for line in told)
    for part in ('1 file (cut.json)', '2 files (one.json, two.json)',
                 '1 model (n)'):
        assert part in lines


def test_names_of_number_formats(tmp_path):
    for dtype, expected in (('half', 'float16'), ('auto', None),
                            ('torch.bfloat16', 'bfloat16')):
        write_results(
            tmp_path / dtype, '0.4.2', {'piqa': .6}, model=f'm,dtype={dtype}')
        assert read(tmp_path / dtype).measured[0].facts['dtype'] == expected


def test_results_without_a_config_are_silent(tmp_path):
    """As `evaluate()` of the harness returns them."""
    path = write_results(tmp_path, '0.4.0', {'piqa': .6})
    change_json(path, lambda old: old.pop('config'))
    record, = read(path).measured
    assert [record.facts[fact] for fact in ('model', EXTENT)] == [None] * 2


OLD = {
    'results': {
        'piqa': {'acc': .58, 'acc_stderr': .01, 'acc_norm': .59,
                 'acc_norm_stderr': .01},
        'lambada_openai': {'ppl': .9, 'ppl_stderr': .1, 'acc': .18,
                           'acc_stderr': .01},
        'wikitext': {'word_perplexity': .9, 'bits_per_byte': .7},
        'by_date': {'2022-07-07': {'acc': .4}},
    },
    'versions': {'piqa': 0, 'lambada_openai': 0, 'wikitext': 1},
    'config': {'model': 'hf-causal', 'num_fewshot': 5, 'limit': None,
               'model_args': 'pretrained=lab/m,revision=step63000',
               'description_dict': {}},
}  # yapf: disable


def write_old(path, content=OLD):
    path.write_text(json.dumps(content))
    return path


def test_results_of_0_3(tmp_path):
    """Whose metrics have no filters, and whose config has the examples."""
    path = write_old(tmp_path / 'm_step63000.json')
    options = {'names': ['piqa', 'lambada_openai'],
               'chance': {'lambada_openai': 0.}}  # yapf: disable
    table = read(path, **options)
    assert table.values.tolist() == [[.59, .18]]
    stated = {METRIC: 'acc_norm,none', SHOTS: '5', 'revision': 'step63000',
              VERSION: '0', EXTENT: 'all', TEMPLATE: None}  # yapf: disable
    facts = table.measured[0].facts
    assert {fact: facts[fact] for fact in stated} == stated


def test_results_of_0_3_beside_those_of_later_versions(tmp_path):
    path, new = write_old(tmp_path / 'm.json'), tmp_path / 'new'
    write_results(new, '0.4.13', {'piqa': .5}, shots=5)
    with pytest.warns(UserWarning, match='version of the task: 0 of .* 1 of'):
        table = read(path, new, metrics={'piqa': 'acc'})
    assert table.values.tolist() == [[.58], [.5]]
    write_results(new, '0.4.13', {'piqa': .5}, shots=0)
    with pytest.raises(InputError, match='few-shot examples .* 5 of .* 0 of'):
        read(path, new, metrics={'piqa': 'acc'})


@pytest.mark.parametrize('versions, message', [
    (('1.0', '2.0'), '1 of a, 2 of b'),
    (('Yaml', 1), 'Yaml of a, 1 of b'),
])
def test_versions_of_a_task_may_be_texts(tmp_path, versions, message):
    for name, version in zip('ab', versions):
        write_results(
            tmp_path / name, '0.4.2', {'piqa': .6}, versions={'piqa': version})
    with pytest.warns(UserWarning, match=f'version of the task: {message}'):
        read(tmp_path / 'a', tmp_path / 'b')
    write_results(tmp_path / 'b', '0.4.2', {'piqa': .6},
                  versions={'piqa': 'N/A'})  # yapf: disable
    read(tmp_path / 'a', tmp_path / 'b')


def test_checkpoints_of_gpt_neox_are_told_apart(tmp_path):
    """Whose arguments are an object, with a folder and a number."""
    for step in (1000, 2000):
        args = {'load': 'ckpts/19M', 'iteration': step, 'temperature': 0.}
        write_old(tmp_path / f'{step}.json', {
            **OLD, 'config': {
                'model': 'neox',
                'model_args': args
            }
        })
    check_refused(tmp_path, ['piqa'], ('1000 of piqa', '2000 of piqa'))
    facts = read(tmp_path / '1000.json').measured[0].facts
    assert (facts['model'], facts['revision']) == ('ckpts/19M', '1000')


@pytest.mark.parametrize('wanted', [None, '', 'bits_per_byte', 'f1'])
def test_a_task_of_0_3_without_an_accuracy(tmp_path, wanted):
    """The error names the version and what is there."""
    path = write_old(tmp_path / 'm.json')
    by_name = 'expected one of acc_norm' if not wanted else wanted
    with pytest.raises(
            InputError,
            match=f'{by_name}.*bits_per_byte,none|'
            "'bits_per_byte,none'") as error:
        read(path, names=['wikitext'],
             metrics=None if wanted is None else {'wikitext': wanted},
             chance={'wikitext': 0.})  # yapf: disable
    assert wanted == 'bits_per_byte' or 'version 0.3' in str(error.value)
    assert '..' not in str(error.value)


def test_values_of_0_3_that_are_no_numbers(tmp_path):
    """As of other programs that wrote a part of the format."""
    path = write_old(tmp_path / 'm.json')
    with pytest.raises(InputError, match='found no metric, in version 0.3'):
        read(path, names=['by_date'])


def test_0_3_logs_no_samples(tmp_path, capsys):
    path = str(write_old(tmp_path / 'm.json'))
    again = write_old(tmp_path / 'n.json')
    for command in ([
            'import', 'lm-eval', path, '--items', f'--out={tmp_path}/out'
    ], ['compare', '--answers', path, str(again)]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert 'version 0.3' in error and '--log_samples' in error


def test_results_of_the_leaderboard_are_none_of_the_harness(tmp_path):
    content = {
        'config_general': {
            'model_name': 'lab/m'
        },
        'versions': {},
        'results': {
            'harness|arc:challenge|25': {
                'acc': .5
            }
        }
    }
    path = write_old(tmp_path / 'm.json', content)
    with pytest.raises(InputError, match='found results of lighteval or of'):
        read(path, names=['*arc*'])


@pytest.mark.parametrize('metric', ['bits_per_byte', 'brier_score', 'nll'])
def test_a_metric_that_is_no_accuracy_by_its_name(tmp_path, metric):
    """Until 0.4.2, no file says whether higher is better."""
    path = write_results(tmp_path, '0.4.2', {'piqa': .6})
    change_json(path, lambda old: old['results']['piqa'].update(
        {f'{metric},none': .7}))  # yapf: disable
    with pytest.raises(InputError, match=f"better models, found '{metric},"):
        read(path, metrics={'piqa': metric})


# Accuracies of real results

PATHS = [LM_EVAL / model for model in MODELS]
CHANCE = {'tiny_choice': 0.4, 'tiny_group': 0.4, 'tiny_answer': 0.0}


def read_real(*names, **options):
    return read_lm_eval_accuracies(
        PATHS, names, chance={name: CHANCE[name]
                              for name in names}, **options)


def test_tasks_and_groups():
    table = read_real('tiny_choice', 'tiny_group')
    assert table.models == MODELS
    # Real results: d-s-100 has acc 0.25 and acc_norm 0.5.
    assert table.values.tolist() == [[1.0, 1.0], [0.5, 0.25]]
    assert table.n_items.tolist() == [4, 8]
    assert table.chance.tolist() == [0.4, 0.4]


def test_another_metric_by_name():
    table = read_real('tiny_choice', metrics={'tiny_choice': 'acc'})
    assert table.values.tolist() == [[1.0], [0.25]]
    with pytest.raises(InputError, match="the metric 'f1', found acc,none"):
        read_real('tiny_choice', metrics={'tiny_choice': 'f1'})
    with pytest.raises(InputError, match="one of tiny_choice, found 'other'"):
        read_real('tiny_choice', metrics={'other': 'acc'})


def test_a_filter_is_to_be_named():
    with pytest.raises(InputError, match='one filter of .*strict-match and'):
        read_real('tiny_answer')
    table = read_real(
        'tiny_answer', metrics={'tiny_answer': 'exact_match,flexible-extract'})
    assert table.values.tolist() == [[0.75], [0.0]]


@pytest.mark.parametrize('value', [1.5, math.nan, -math.inf, 'N/A'])
def test_what_cannot_be_used_harms_one_cell_alone(tmp_path, value):
    with pytest.warns(UserWarning, match=f'1 result .*found .?{value}'):
        table = read_changed(
            tmp_path, lambda content: content['results']['tiny_choice'].update(
                {'acc_norm,none': value}), ['tiny_choice', 'tiny_group'])
    assert np.array_equal(table.values, [[1, 1], [np.nan, .25]], True)


def read_changed(tmp_path, change, names=('tiny_choice', )):
    for path in PATHS:
        shutil.copytree(path, tmp_path / path.name)
    change_json(max((tmp_path / 'd-s-100').glob('results_*')), change)
    return read_lm_eval_accuracies(
        [tmp_path / model for model in MODELS],
        names,
        chance={name: CHANCE[name]
                for name in names})


def test_accuracies_of_several_metrics_are_refused(tmp_path):
    """As where a version of the task has no acc_norm."""
    message = 'one metric .* acc_norm,none of c-l-80, acc,none of d-s'
    with pytest.raises(InputError, match=message):
        read_changed(
            tmp_path, lambda content: content['results']['tiny_choice'].pop(
                'acc_norm,none'))


def test_patterns_of_tasks(tmp_path):
    """Tasks without an accuracy or a chance level are left out with lines."""
    scores = {'arc_easy': .5, 'arc_challenge': .3, 'arc_odd': .2, 'piqa': .6}
    for model in 'ab':
        write_results(tmp_path / model, '0.4.9', scores)
    chance = {'arc_easy': .25, 'arc_challenge': .25}
    with pytest.warns(UserWarning, match='1 benchmark .arc_odd.: give its'):
        table = read_lm_eval_accuracies([tmp_path / 'a', tmp_path / 'b'],
                                        ['arc_*'], {'arc_*': 'acc'}, chance)
    assert table.benchmarks == ('arc_challenge', 'arc_easy')
    with pytest.raises(InputError, match="the metric 'f1', found acc,none"):
        read_lm_eval_accuracies([tmp_path / 'a'], ['arc_e*'], {'arc_e*': 'f1'},
                                {'arc_easy': .25})
    with pytest.raises(InputError, match="'sci.' of at least one model"):
        read_lm_eval_accuracies([tmp_path / 'a'], ['sci*'], None,
                                {'sci*': .25})
