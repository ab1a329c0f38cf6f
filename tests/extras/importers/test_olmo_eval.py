"""Predictions of olmo-eval, as its source writes them."""
import pytest

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.olmo_eval import read_olmo_eval
from tests.extras.importers.outputs import write_rows


def answer(text, total, **fields):
    return {
        'text': text,
        'extracted_answer': None,
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


def row(doc_id, answers, label):
    return {
        'doc_id': doc_id,
        'native_id': f'Mercury_{doc_id}',
        'model_output': answers,
        'instance_metrics': {},
        'label': label,
        'final_output': answers[0]['text'] if answers else ''
    }


def rows():
    return [
        row(0, [answer(' wind', -4.0),
                answer(' a lake', -3.0)], 1),
        row(1, [answer(' 42', -2.5)], '42'),
    ]


def written(tmp_path, rows):
    write_rows(tmp_path / 'arc_easy_rc_a1b2c3-predictions.jsonl', rows)
    return tmp_path


def test_losses_of_the_right_answers(tmp_path):
    losses = read_olmo_eval(written(tmp_path, rows()))
    assert [(loss.text_id, loss.text, loss.nats) for loss in losses
            ] == [('arc_easy_rc_a1b2c3/Mercury_0', ' a lake', 3.0),
                  ('arc_easy_rc_a1b2c3/Mercury_1', ' 42', 2.5)]


@pytest.mark.parametrize('changed, message', [
    (row(0,
         rows()[0]['model_output'], 2), 'one of 2 answers'),
    (row(0, [answer('a', 1.0)], 0), 'change the sign'),
    (row(0, [answer('a', -1.0, num_tokens=1)], 0), 'all 2 tokens'),
])
def test_items_that_cannot_be_used(tmp_path, changed, message):
    with pytest.raises(InputError, match=message):
        read_olmo_eval(written(tmp_path, [changed]))
