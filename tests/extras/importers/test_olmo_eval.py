"""Predictions of olmo-eval, as its source writes them."""
import json
from functools import partial

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import SYSTEM
from csv_plugin.extras.importers.olmo_eval import read_olmo_eval
from tests.extras.importers.outputs import read_items_by, write_rows

read = partial(read_items_by, read_olmo_eval)
TASK = 'arc_easy_rc_a1b2c3'


def answer(text, total, **fields):
    return {
        'text': text,
        'extracted_answer': text,
        'is_greedy': False,
        'sum_logits': total,
        'num_tokens': 2,
        'num_tokens_all': 2,
        'logits_per_token': total / 2,
        'logits_per_char': total / len(text) if text else None,
        'bits_per_byte': 1.0,
        'num_chars': len(text),
        **fields
    }


def row(doc_id, answers, label, scorer='logprob', **fields):
    return {
        'doc_id': doc_id,
        'native_id': f'Mercury_{doc_id}',
        'model_output': answers,
        'instance_metrics': {
            'accuracy': {
                scorer: 1.0
            }
        },
        'label': label,
        'final_output': answers[0]['text'] if answers else '',
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


def requested(folder, provider, request_type='loglikelihood'):
    write_rows(folder.parents[1] / 'requests' / 'm' / f'{TASK}-requests.jsonl',
               [{
                   'request_type': request_type,
                   'request': {
                       'provider_request': {
                           'provider': provider
                       }
                   },
                   'doc_id': 0
               }])


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
    (row(2, [answer(' 4', -9.)], '3', instance_metrics=[]), 'generated'),
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
    (dict(num_tokens=0), 'from 1 to all'),
    (dict(num_tokens=3), 'from 1 to all'),
])
def test_a_loss_that_is_wrong_harms_its_task_alone(tmp_path, changed, message):
    folder = written(tmp_path, [row(0, [answer('a', -1.0, **changed)], 0)])
    with pytest.raises(InputError, match=message):
        read(folder)
    written(tmp_path, rows(), 'sciq_0badc0de')
    losses, lines = read(folder)
    assert len(losses) == 2 and message in lines[0] and TASK in lines[0]


def test_requests_tell_which_answers_were_scored(tmp_path):
    """A generated answer may happen to be the right one."""
    folder = written(tmp_path, rows())
    requested(folder, 'VLLMProvider')
    assert len(read(folder)[0]) == 2
    for provider, kind in (('VLLMProvider', 'generate_until'),
                           ('LiteLLMProvider', 'loglikelihood')):
        requested(folder, provider, kind)
        with pytest.raises(InputError, match='2 items of arc_easy_rc'):
            read(folder)


def test_items_that_share_an_id(tmp_path):
    """As those of hellaswag, which are named after videos."""
    same = [{**row, 'native_id': 7} for row in rows()]
    assert [loss.text_id for loss in read(written(tmp_path, same))[0]
            ] == [f'{TASK}/7/0', f'{TASK}/7/1']


def test_tasks_by_name(tmp_path):
    folder = written(tmp_path, rows())
    written(tmp_path, rows(), 'sciq_0badc0de')
    for names in (['arc_easy_rc'], ['arc*'], [TASK]):
        losses, _ = read(folder, *names)
        assert {loss.text_id.partition('/')[0] for loss in losses} == {TASK}
    with pytest.raises(InputError, match="'mmlu', found arc_easy_rc_a1b2c3,"):
        read(folder, 'arc*', 'mmlu')


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
