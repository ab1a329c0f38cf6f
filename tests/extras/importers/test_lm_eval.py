"""Real output of lm-evaluation-harness, and damaged copies of it."""
import json
import math
import re
import shutil

import pytest

import csv_plugin as cp
from csv_plugin.cli.salience import main
from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import SHOTS
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.lm_eval import (read_lm_eval,
                                                 read_lm_eval_answers,
                                                 write_lm_eval_task)
from csv_plugin.io.text_sets import read_texts
from tests.extras.importers.outputs import (LM_EVAL, TEXTS, change_json,
                                            read_rows, write_results,
                                            write_rows, write_samples)

SET = read_texts(TEXTS)


@pytest.fixture
def output(tmp_path):
    shutil.copytree(LM_EVAL / 'd-s-100', tmp_path / 'out')
    return tmp_path / 'out'


def samples(output):
    path, = output.glob('samples_*')
    return path


def results(output):
    return min(output.glob('results_*'))


def change_rows(output, change):
    rows = read_rows(samples(output))
    write_rows(samples(output), change(rows) or rows)


def test_losses_of_a_real_run():
    losses = read_lm_eval(LM_EVAL / 'd-s-100', SET)
    assert [loss.text for loss in losses] == [text.text for text in SET]
    logged = read_rows(samples(LM_EVAL / 'd-s-100'))[1:]
    assert [str(-loss.nats) for loss in losses
            ] == [row['filtered_resps'][0] for row in logged]


def test_the_newest_run_counts(output):
    """In which the tokenizer put a second BOS in front."""
    for path in (LM_EVAL / 'with_bos').iterdir():
        shutil.copy(path, output)
    with pytest.raises(InputError, match='8.33698 nats.* add_bos_token=False'):
        read_lm_eval(output, SET)


def test_other_texts_are_refused(output):
    other = TextSet((Text('sum', 'Two and two is five.'), ))
    with pytest.raises(
            InputError,
            match=f'--tasks salience_texts-{other.fingerprint[:12]}'):
        read_lm_eval(output, other)


def test_a_task_without_the_empty_text(output):
    change_rows(output, lambda rows: rows[1:])
    with pytest.raises(InputError, match='the empty text of the task'):
        read_lm_eval(output, SET)


@pytest.mark.parametrize('pair', [[-1.0, 21], ['-1.0', 20]])
def test_values_of_other_types_are_refused(output, pair):
    change_rows(output, lambda rows: rows[1].update(bits_per_byte=pair))
    with pytest.raises(InputError, match='line 2: .*(and 20 bytes|a list)'):
        read_lm_eval(output, SET)


def test_the_task_names_texts_that_may_look_like_anything(tmp_path):
    name = write_lm_eval_task(tmp_path / 'a "new" folder', SET)
    folder = tmp_path / 'a "new" folder'
    rows = read_rows(folder / f'{name}.jsonl')
    assert [row['text'] for row in rows] == ['', *(t.text for t in SET)]
    yaml = pytest.importorskip('yaml')
    task = yaml.safe_load((folder / f'{name}.yaml').read_text('utf-8'))
    assert task['task'] == name
    assert task['metadata']['fingerprint'] == SET.fingerprint
    path = task['dataset_kwargs']['data_files']['test']
    assert path == str((folder / f'{name}.jsonl').resolve())
    assert task['doc_to_target'] in rows[0]


def test_the_real_run_was_of_the_task_as_it_is_written(tmp_path):
    """Apart from what the harness fills in and the place of the texts."""
    yaml = pytest.importorskip('yaml')
    name = write_lm_eval_task(tmp_path, SET)
    task = yaml.safe_load((tmp_path / f'{name}.yaml').read_text('utf-8'))
    run = json.loads(results(LM_EVAL / 'd-s-100').read_text('utf-8'))
    config = run['configs'][name]
    for key in set(task) - {'dataset_kwargs', 'metadata'}:
        assert config[key] == task[key], key


TWO = ' yes', ' no'


def item(right=0, answers=TWO, values=(-2.0, -3.0), prompts='Is it? A:',
         **more):  # yapf: disable
    """One item; the prompt is that of all answers if it is a text."""
    if isinstance(prompts, str):
        prompts = [prompts] * len(answers)
    return prompts, answers, values, right, more


def write(folder, items, version='0.4.13', task='piqa', **options):
    path = write_results(folder, version, {task: .5}, **options)
    write_samples(path, task, items, version)
    return path


def read(*folders, **options):
    return cp.import_losses('lm-eval', folders, **options)


@pytest.mark.parametrize('version', ['0.4.3', '0.4.9', '0.4.13'])
def test_the_loss_of_the_right_answer(tmp_path, version):
    """By its index or its text, per character with the blank before it."""
    items = [item(1), item('yes'), item(0, values=(-1.0, -9.0))]
    items.append(item(1, values=(-8, -9), doc_id=0))  # of another filter
    write(tmp_path / 'm', items, version, shots=5)
    write(
        tmp_path / 'n', [item(n, values=(-1, -7)) for n in (1, 0, 0)],
        version,
        shots=5)
    table = read(tmp_path / 'm', tmp_path / 'n')
    assert table.models == ('m', 'n')
    assert [unit.partition('[')[0] for unit in table.columns.units
            ] == ['piqa|5/0', 'piqa|5/1', 'piqa|5/2']
    assert table.values[0].tolist() == [3 / 3, 2 / 4, 1 / 4]
    assert {record.facts[SHOTS] for record in table.measured} == {'5'}


def test_prompts_that_differ(tmp_path):
    """As in winogrande, where the text is the same, and `acc` decides."""
    prompts, answers = ['Ann says', 'Bob says'], [' hello', ' hello']
    items = [
        item('hello', answers, (-2, -4), prompts, acc=accuracy)
        for accuracy in (1.0, 0.0)
    ]
    write(tmp_path / 'm', items)
    assert read(tmp_path / 'm').values[0].tolist() == [2 / 6, 4 / 6]


def test_blanks_at_the_end_of_a_prompt_are_scored(tmp_path):
    write(tmp_path / 'm', [item(prompts='A: '), item(1, prompts='A:\n\n')])
    assert read(tmp_path / 'm').values[0].tolist() == [2 / 5, 3 / 5]


LEFT_OUT = [
    (item(values=(math.nan, -3)), 'not finite'),
    (item(values=(-math.inf, -3)), 'not finite'),
    (item(filtered_resps=[[10**400, False]]), 'no log-likelihoods'),
    (item([0, 1]), 'several right answers'),
    (item(7), 'no right answer'),
    (item(answers=('', ' no')), 'the right answer is empty'),
    (item(arguments={'gen_args_0': {'arg_0': 'A', 'arg_1': {}}}),
     'no log-likelihoods'),
    (item(filtered_resps=['free text']), 'no log-likelihoods'),
]  # yapf: disable


@pytest.mark.parametrize('bad, reason', LEFT_OUT)
def test_an_item_that_cannot_be_used_harms_itself_alone(tmp_path, bad, reason):
    good = [item(), item(values=(-1.0, -3.0))]
    write(tmp_path / 'm', [*good, bad])
    write(tmp_path / 'n', [*good, item()])
    with pytest.warns(UserWarning) as told:
        table = read(tmp_path / 'm', tmp_path / 'n')
    assert table.values.tolist() == [[.5, .25]] * 2
    assert reason in ''.join(str(line.message) for line in told)


def test_a_task_that_cannot_be_used_harms_itself_alone(tmp_path):
    path = write_results(tmp_path / 'm', '0.4.13', {'piqa': .5, 'other': .5})
    write_samples(path, 'piqa', [item(), item(1)])
    change_json(
        path, lambda old: old['configs'].update(
            {'other': {
                'output_type': 'generate_until'
            }}))
    with pytest.warns(UserWarning, match='1 task .other.*generate_until'):
        assert read(path).values.tolist() == [[.5, 1]]
    with pytest.raises(InputError, match='generate_until'):
        read(path, tasks=['other'])


def test_groups_and_patterns_choose_tasks(tmp_path):
    scores = {'mmlu': .5, 'mmlu_a': .4, 'mmlu_b': .6, 'piqa': .7}
    path = write_results(
        tmp_path / 'm', '0.4.13', scores, groups={'mmlu': ['mmlu_a']})
    write_results(tmp_path / 'm/later', '0.4.13', {'copa': .5}, '2025-02-01')
    for task in ('mmlu_a', 'mmlu_b', 'piqa'):
        write_samples(path, task, [item(), item(1)])
    for chosen, expected in ((['mmlu'], {'mmlu_a'}), (['mmlu_*'],
                                                      {'mmlu_a', 'mmlu_b'})):
        units = read(tmp_path / 'm', tasks=chosen).columns.units
        assert {unit.partition('|')[0] for unit in units} == expected
    with pytest.raises(InputError, match="called 'sciq'"):
        read(path, tasks=['sciq'])


def test_runs_of_some_items_or_other_shots_are_not_mixed(tmp_path):
    write(tmp_path / 'm', [item(), item(1)])
    write(tmp_path / 'm', [item()], date='2025-02-01', limit=1)
    with pytest.warns(UserWarning, match='a run of all items counts'):
        assert len(read(tmp_path / 'm').columns.units) == 2
    write(tmp_path / 'n', [item(), item(1)], limit=50)
    with pytest.raises(InputError, match='number of items .* 50 of n'):
        read(tmp_path / 'm', tmp_path / 'n')


def test_other_prompts_are_other_items(tmp_path):
    write(tmp_path / 'm', [item()])
    write(tmp_path / 'n', [item(prompts='Is it so? A:')])
    with pytest.raises(InputError, match='piqa'):
        read(tmp_path / 'm', tmp_path / 'n')


def test_samples_that_were_not_logged(tmp_path):
    path = write(tmp_path / 'm', [item(), item(1)])
    next(path.parent.glob('samples_*')).unlink()
    with pytest.raises(InputError, match='0.4.3 or later, with --log_samples'):
        read(path)
    path = write_results(tmp_path / 'old', '0.4.2', {'piqa': .6})
    with pytest.raises(InputError, match='0.4.3 or later'):
        read(path)


def test_a_later_run_without_samples_takes_no_place(tmp_path):
    write(tmp_path, [item(), item(1)])
    write_results(tmp_path, '0.4.13', {'piqa': .6}, '2025-02-01')
    assert len(read(tmp_path).columns.units) == 2


def test_a_result_that_is_no_object_is_no_task(tmp_path):
    path = write(tmp_path / 'm', [item(), item(1)])
    change_json(path,
                lambda old: old['configs'].update(x={'output_type': 'y'}))
    change_json(path, lambda old: old['results'].update(x='N/A'))
    assert len(read(path).columns.units) == 2


def write_grades(folder, by_key, *, named=True, **options):
    """Results and samples of piqa.

    Args:
        folder (Path): The output folder.
        by_key (dict): Grades of items by metric and filter, in their order.
        named (bool): Rows name their filter, as since 0.4.5.
        options: Of `write_results`; `scores` are those of other tasks.
    """
    scores = {'piqa': .5, **options.pop('scores', {})}
    path = write_results(folder, '0.4.13', scores, **options)
    change_json(
        path,
        lambda old: old['results'].update(piqa={key: .5
                                                for key in by_key}))
    stamp = path.stem.rpartition('_')[2]
    rows = []
    for key, grades in by_key.items():
        metric, _, name = key.partition(',')
        for i, grade in enumerate(grades):
            row = {'doc_id': i, 'doc_hash': f'h{i}', metric: grade}
            rows.append(row | ({'filter': name} if named else {}))
    write_rows(path.with_name(f'samples_piqa_{stamp}.jsonl'), rows)
    return path


def decide(tmp_path, *options):
    """The exit code of a comparison of the folders a and b."""
    return main([
        'compare', '--answers', *(str(tmp_path / name) for name in 'ab'),
        *options
    ])


def test_a_decision(tmp_path, capsys):
    write_grades(tmp_path / 'old', {'acc,none': [1.0, 0.0] * 200})
    # A folder, or a file of results beside its samples; some log booleans.
    file = write_grades(tmp_path / 'new', {'acc,none': [True, 1.0] * 200})
    places = str(tmp_path / 'old'), str(file)
    assert main(['compare', '--answers', *places]) == 0
    assert 'accuracy on piqa +50.00 points' in capsys.readouterr().out


STRICT, LOOSE = 'exact_match,strict-match', 'exact_match,flexible-extract'


@pytest.mark.parametrize('named', [True, False])
def test_one_filter_counts_for_both(tmp_path, capsys, named):
    """It is asked for, as by import, whatever the order in the files."""
    grades = {STRICT: [0.0, 1.0] * 100, LOOSE: [1.0, 1.0] * 100}
    write_grades(tmp_path / 'a', grades, named=named)
    write_grades(tmp_path / 'b', dict(reversed(grades.items())), named=named)
    assert decide(tmp_path) == 2
    assert f'--tasks piqa={STRICT}' in capsys.readouterr().err
    assert decide(tmp_path, '--tasks', f'piqa={STRICT}') == 4
    items = capsys.readouterr().out.partition('Items')[2].splitlines()
    row, = (line.split() for line in items if line.startswith('piqa '))
    assert row[1:6] == ['200', '50.0', '%', '50.0', '%']


@pytest.mark.parametrize('other, message', [
    ({'shots': 5}, 'one number of few-shot examples .* 0 of A, 5 of B'),
    ({'by_key': {'acc_norm,none': [1.0, 0.0]}},
     'one metric for all models, found acc,none of A, acc_norm,none of B'),
])  # yapf: disable
def test_answers_that_were_measured_otherwise_are_refused(
        tmp_path, capsys, other, message):
    grades = {'by_key': {'acc,none': [1.0, 0.0]}}
    write_grades(tmp_path / 'a', **grades)
    write_grades(tmp_path / 'b', **grades | other)
    assert decide(tmp_path) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize('change, message', [
    ({'chat_template_sha': 'a' * 64}, 'chat template: none of A, some of B'),
    ({'system_instruction': 'Be brief.'}, 'system prompt: none of A'),
    ({'versions': {'piqa': 2}}, 'version of the task: 1 of A, 2 of B'),
    ({'config': {'model_dtype': 'torch.float16'}}, 'of dtype: bfloat16 of A'),
    ({'limit': 2}, 'some of the items of piqa .2.'),
])  # yapf: disable
def test_a_comparison_warns_as_an_import_does(tmp_path, change, message):
    write_grades(tmp_path / 'a', {'acc,none': [1.0, 0.0]})
    write_grades(tmp_path / 'b', {'acc,none': [1.0, 0.0]}, **change)
    with pytest.warns(UserWarning, match=message):
        assert decide(tmp_path) == 5


def test_answers_of_two_revisions_are_refused(tmp_path, capsys):
    """Of two tasks in one folder, as by import."""
    grades = {'acc,none': [1.0, 0.0]}
    for name in 'ab':
        write_grades(tmp_path / name, grades)
    path = write_results(
        tmp_path / 'b/other', '0.4.13', {'copa': .5}, model='m,revision=step1')
    write_samples(path, 'copa', [item(acc=1.0), item(1, acc=0.0)])
    assert decide(tmp_path) == 2
    error = capsys.readouterr().err
    assert "results of 'B'" in error and 'step1' in error
    assert decide(tmp_path, '--tasks', 'piqa') == 5


def test_tasks_without_samples_are_left_out(tmp_path):
    write_grades(
        tmp_path / 'm', {'acc,none': [1.0, 0.0]},
        scores=dict(boolq=.6, copa=.7))
    with pytest.warns(UserWarning, match='2 tasks .boolq, copa.*--log_sam'):
        answers = read_lm_eval_answers({'m': tmp_path / 'm'})
    assert [*answers['m']] == ['piqa']
    write_results(tmp_path / 'n', '0.4.13', {'boolq': .6})
    with pytest.raises(InputError, match='--log_samples'):
        read_lm_eval_answers({'n': tmp_path / 'n'})


def test_what_is_no_accuracy_is_compared_by_no_command(tmp_path):
    """Even if its values are fractions, and no file says which is better."""
    write_grades(tmp_path / 'm', {'bits_per_byte,none': [.5, .7]})
    for metrics in ({}, {'piqa': 'bits_per_byte'}):
        with pytest.raises(InputError, match='bits_per_byte,none'):
            read_lm_eval_answers({'m': tmp_path / 'm'}, ['piqa'], metrics)


def test_ids_that_begin_again_are_told_apart_by_content(tmp_path):
    """As of two splits; the order of the items may be another one."""
    items = [
        item(prompts=f'{split} {n}? A:', doc_id=n, values=(-2. - n, -9.))
        for split in ('test', 'dev') for n in range(2)
    ]
    write(tmp_path / 'm', items)
    write(tmp_path / 'n', items[::-1])
    table = read(tmp_path / 'm', tmp_path / 'n')
    assert len(table.columns.units) == 4
    assert sorted(table.values[0]) == [.5, .5, .75, .75]
    assert table.values[0].tolist() == table.values[1].tolist()
