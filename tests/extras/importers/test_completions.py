"""Answers of servers, in the classes of vLLM and as OpenAI logs them."""
import math

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.completions import read_completions
from csv_plugin.extras.importers.lm_eval import read_lm_eval
from csv_plugin.io.text_sets import read_texts
from tests.extras.importers.outputs import (ANSWERS, LM_EVAL, SERVED, TEXTS,
                                            read_rows, write_rows)

SET = read_texts(TEXTS)


def echoed(row):
    """The same answer as to a request with `echo` and one new token."""
    choice, = row['response']['body']['choices']
    entries, ids = choice['prompt_logprobs'], choice['prompt_token_ids']
    known = [entry[str(token)] for entry, token in zip(entries[1:], ids[1:])]
    choice.update(
        prompt_logprobs=None,
        logprobs=dict(
            tokens=['<s>', *(token['decoded_token'] for token in known), '!'],
            token_logprobs=[
                None, *(token['logprob'] for token in known), -0.5
            ],
            top_logprobs=None))
    return row


def bare(row):
    """The answer itself in place of its envelope."""
    return {**row, 'response': row['response']['body']}


@pytest.mark.parametrize('form', [dict, echoed, bare])
def test_losses_are_those_of_the_harness(tmp_path, form):
    """Which scored the same model; its sums are in 32 bits."""
    path = write_rows(tmp_path / 'c-l-80.jsonl',
                      [form(row) for row in read_rows(ANSWERS)])
    losses = read_completions(path, SET)
    expected = read_lm_eval(LM_EVAL / 'c-l-80', SET)
    assert [loss.text for loss in losses] == [text.text for text in SET]
    assert [loss.nats for loss in losses
            ] == pytest.approx([loss.nats for loss in expected], rel=1e-6)


def test_losses_of_a_server_of_vllm_are_those_of_the_harness():
    """It decodes a character that several tokens share at the last of them."""
    losses = read_completions(SERVED, SET)
    expected = read_lm_eval(LM_EVAL / 'd-s-100', SET)
    assert [loss.nats for loss in losses
            ] == pytest.approx([loss.nats for loss in expected], rel=1e-6)


def change(row, **fields):
    row['response']['body']['choices'][0].update(fields)


def entries(row):
    return row['response']['body']['choices'][0]['prompt_logprobs']


def first_entry(row):
    return next(iter(entries(row)[1].values()))


@pytest.mark.parametrize('damage, message', [
    (lambda row: row.update(custom_id='other'), 'id of a text'),
    (lambda row: row['response'].update(status_code=429), '429'),
    (lambda row: row['response']['body'].pop('usage'), "'usage', found none"),
    (lambda row: change(row, prompt_logprobs=entries(row)[:-1]),
     'log-probabilities of 13 tokens, found 12'),
    (lambda row: entries(row)[1].clear(),
     'token 1: expected log-probabilities by token'),
    (lambda row: first_entry(row).update(logprob=-9999.0), 'write -9999'),
    (lambda row: first_entry(row).update(logprob=0.5), 'log-probability in'),
    (lambda row: first_entry(row).update(decoded_token='<s>'),
     'a token such as BOS .* first token of a text needs a loss'),
])  # yapf: disable
def test_answers_that_cannot_be_used(tmp_path, damage, message):
    rows = read_rows(ANSWERS)
    damage(rows[0])
    path = write_rows(tmp_path / 'm.jsonl', rows)
    with pytest.raises(InputError, match=f'line 1.*{message}'):
        read_completions(path, SET)


def test_answers_of_two_models_are_refused(tmp_path):
    """They may stand in one log of a server with several models."""
    rows = [*read_rows(ANSWERS)[:2], *read_rows(SERVED)[2:]]
    path = write_rows(tmp_path / 'both.jsonl', rows)
    with pytest.raises(InputError, match="'c-l-80', as .* found 'zoo'"):
        read_completions(path, SET)


def test_other_tokens_may_have_no_probability(tmp_path):
    """Below the token of the prompt, a list of likely ones may end so."""
    rows = read_rows(ANSWERS)
    entries(rows[0])[1]['5'] = dict(logprob=-math.inf, decoded_token='x')
    path = write_rows(tmp_path / 'm.jsonl', rows)
    assert len(read_completions(path, SET)) == len(rows)


def test_a_request_that_failed_may_be_made_again(tmp_path):
    rows = read_rows(ANSWERS)
    first, *rest = rows
    failed = {**first, 'response': dict(status_code=429)}
    path = write_rows(tmp_path / 'm.jsonl', [failed, *rest, first])
    assert {loss.text_id for loss in read_completions(path, SET)} == {*SET.ids}
