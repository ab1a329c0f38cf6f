"""Predictions of olmo-eval, as its source writes them."""
import gzip
import json
from functools import partial

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import SYSTEM
from csv_plugin.extras.importers.olmo_eval import read_olmo_eval, read_requests
from tests.extras.importers.outputs import read_items_by, write_rows

read = partial(read_items_by, read_olmo_eval)
TASK = 'arc_easy_rc_a1b2c3'


def answer(text, total, **fields):
    return {
        'text': text,
        'sum_logits': total,
        'num_tokens': 2,
        'num_tokens_all': 2,
        **fields
    }


def row(doc_id, answers, label, scorer='logprob', **fields):
    return {
        'doc_id': doc_id,
        'native_id': f'Mercury_{doc_id}',
        'model_output': answers,
        'instance_metrics': dict(accuracy={scorer: 1.0}),
        'label': label,
        **fields
    }


def rows(**fields):
    return [
        row(0, [answer(' wind', -4.0),
                answer(' a lake', -3.0, **fields)], 1),
        row(1, [answer(' 42', -2.5, **fields)], '42', 'bits_per_byte'),
    ]


def written(tmp_path, rows, task=TASK):
    folder = tmp_path / 'predictions' / 'm'
    write_rows(folder / f'{task}-predictions.jsonl', rows)
    return folder


# Of Hugging Face, whose rows have no other numbers; vllm and OLMo-core count
# the tokens of the prompt, too.
@pytest.mark.parametrize('fields', [{}, {'num_tokens_all': 40}])
def test_losses_of_the_right_answers(tmp_path, fields):
    losses, lines = read(written(tmp_path, rows(**fields)))
    assert not lines
    assert [(loss.text_id, loss.text, loss.nats)
            for loss in losses] == [(f'{TASK}/Mercury_0', ' a lake', 3.0),
                                    (f'{TASK}/Mercury_1', ' 42', 2.5)]


@pytest.mark.parametrize('changed, reason', [
    (row(2, rows()[0]['model_output'], 2), 'no right answer'),
    (row(2, rows()[0]['model_output'], [0, 1]), 'several right answers'),
    (row(2, [answer('', 0)], 0), 'the right answer is empty'),
    (row(2, [{'text': ' 3', 'num_chars': 2}], '3'), 'generated'),
    (row(2, [answer(' 3', -9.)], '3', instance_metrics=[]), 'generated'),
    (row(2, [answer(' So it is 3.', -9.)], '3', 'exact_match'), 'generated'),
    (row(2, [answer(' A', -9.), answer(' B', -8.)], 0, 'multiple_choice'),
     'generated'),
])  # yapf: disable
def test_items_that_no_model_has_are_left_out(tmp_path, changed, reason):
    losses, lines = read(written(tmp_path, [*rows(), changed]))
    assert len(losses) == 2
    assert lines[0].startswith(f'left out 1 part (1 item of {TASK}): ')
    assert reason in lines[0]


@pytest.mark.parametrize('changed, message', [
    (dict(sum_logits=1.0), 'change the sign'),
    (dict(sum_logits=float('nan')), 'a finite number'),
    (dict(num_tokens=0), 'a number from 1 to num_tokens_all'),
    (dict(num_tokens=3), 'a number from 1 to num_tokens_all'),
])
def test_a_loss_that_is_wrong_harms_its_task_alone(tmp_path, changed, message):
    folder = written(tmp_path, [row(0, [answer('a', -1.0, **changed)], 0)])
    with pytest.raises(InputError, match=message):
        read(folder)
    written(tmp_path, rows(), 'sciq_0badc0de')
    losses, lines = read(folder)
    assert len(losses) == 2 and message in lines[0] and TASK in lines[0]


def test_items_that_share_an_id(tmp_path):
    """As those of hellaswag, which are named after videos."""
    same = [{**row, 'native_id': 7} for row in rows()]
    assert [loss.text_id for loss in read(written(tmp_path, same))[0]
            ] == [f'{TASK}/7/0', f'{TASK}/7/1']


def test_numbers_that_begin_again_are_told_apart_by_content(tmp_path):
    """As of two splits, which share ids and numbers."""
    again = [{**row, 'label': 0} for row in rows()]
    losses, lines = read(written(tmp_path, [*rows(), *again]))
    assert not lines and len({loss.text_id for loss in losses}) == 4
    texts = read_requests(
        packed(tmp_path, [*choice(0, 1), *choice(0, 0, 'Q: y?\nA:')]))
    assert [text.text[slice(*text.answer)]
            for text in texts] == [' wind', ' a lake']
    assert [text.text[2:5] for text in texts] == [' x?', ' y?']


@pytest.mark.parametrize('config', [
    {'provider': {'kind': 'vllm', 'model': 'lab/m', 'revision': 'step10'}},
    {'models': {'m': {'model': 'lab/m', 'provider': 'vllm',
                      'revision': 'step10'}}},
])  # yapf: disable
def test_weights_in_the_metrics_of_the_run(tmp_path, config):
    folder = written(tmp_path, rows())
    (tmp_path / 'metrics.json').write_text(json.dumps({'config': config}))
    facts = read(folder)[0][0].measured.facts
    assert (facts['model'], facts['revision']) == ('lab/m', 'step10')
    assert (facts['dtype'], facts[SYSTEM]) == (None, 'none')


def test_answers_that_a_program_scored_in_place_of_the_model(tmp_path):
    folder = written(tmp_path, rows())
    for config in ({'provider': {'kind': 'litellm'}}, {'provider': 'litellm'}):
        (tmp_path / 'metrics.json').write_text(json.dumps({'config': config}))
        with pytest.raises(InputError, match='2 items of .*LiteLLM'):
            read(folder)


def request(doc_id, continuation, label, idx=0, context='Q: x?\nA:', **more):
    """A row of the package: a prompt and one of its answers."""
    return {
        'request_type': 'loglikelihood',
        'request': {
            'context': context,
            'continuation': continuation,
            **more
        },
        'idx': idx,
        'doc_id': doc_id,
        'label': label
    }


def choice(doc_id, label, context='Q: x?\nA:'):
    return [
        request(doc_id, answer, label, idx, context)
        for idx, answer in enumerate((' a lake', ' wind'))
    ]


def packed(folder, rows, task='arc_easy/rc_5shot'):
    path = folder / task / 'requests.jsonl.gz'
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress('\n'.join(map(json.dumps, rows)).encode()))
    return path


def parts(texts):
    """Name, prompt and right answer of each text."""
    return [(text.text_id, text.text[:text.answer[0]],
             text.text[slice(*text.answer)]) for text in texts]


def test_right_answers_behind_their_prompts(tmp_path):
    path = packed(
        tmp_path,
        [  # yapf: disable
            *choice(0, 1),
            # As in winogrande, where the prompt has the option.
            request(1, ' won.', 1, 0, 'Ann'),
            request(1, ' won.', 1, 1, 'Eve'),
            # As in gsm8k, lambada and humaneval.
            request(2, ' So 3.', '3'),
            request(3, ' signs', ['signs']),
            request(4, '    return x\n', None),
        ])
    texts = read_requests(path)
    name = 'arc_easy/rc_5shot'
    assert parts(texts) == [
        (f'{name}/0', 'Q: x?\nA:', ' wind'),
        (f'{name}/1', 'Eve', ' won.'),
        (f'{name}/2', 'Q: x?\nA:', ' So 3.'),
        (f'{name}/3', 'Q: x?\nA:', ' signs'),
        (f'{name}/4', 'Q: x?\nA:', '    return x\n'),
    ]
    assert {text.source for text in texts} == {name}


@pytest.mark.parametrize('rows, reason', [
    (choice(7, 1_000_000), 'no right answer'),
    (choice(1_000_007, 1, 'A:'), 'answers without a question'),
    (choice(7, [0, 1]), 'several right answers'),
    ([request(7, ' first of several', 2)], 'no right answer'),
    ([request(7, '', '3')], 'the right answer is empty'),
    ([request(7, ' 3', '3') | {'request_type': 'generate_until'}],
     'generated'),
])  # yapf: disable
def test_items_that_cannot_be_used_are_left_out(tmp_path, rows, reason):
    path = packed(tmp_path, [*choice(0, 1), *rows])
    with pytest.warns(UserWarning, match=f'1 item of arc_easy.*{reason}'):
        assert len(read_requests(path)) == 1


def test_tasks_of_a_folder(tmp_path):
    packed(tmp_path, choice(0, 1))
    packed(tmp_path, choice(0, 1), 'arc_easy/mc_5shot')
    write_rows(tmp_path / 'piqa/rc/requests.jsonl', choice(0, 0))
    (tmp_path / 'piqa/rc/config.json').write_text('{}')
    assert {text.source
            for text in read_requests(tmp_path)
            } == {'arc_easy/mc_5shot', 'arc_easy/rc_5shot', 'piqa/rc'}
    some = read_requests(tmp_path, ['*/rc_*', 'piqa/*'])
    assert [text.text_id
            for text in some] == ['arc_easy/rc_5shot/0', 'piqa/rc/0']
    with pytest.raises(InputError, match="'sciq', found arc_easy/mc_5shot"):
        read_requests(tmp_path, ['sciq'])


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match='requests.jsonl.gz, found none'):
        read_requests(tmp_path)
    path = packed(tmp_path, choice(0, 1))
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match='requests.jsonl.gz: .*the error'):
        read_requests(path)
    write_rows(tmp_path / 'one/piqa/rc/requests.jsonl', choice(0, 0))
    write_rows(tmp_path / 'two/piqa/rc/requests.jsonl', choice(0, 0))
    with pytest.raises(InputError, match="'piqa/rc' twice"):
        read_requests(tmp_path)
