"""Validation sets as JSON lines."""
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.core import strategies

SMALL = TextSet((
    Text('q 1', '2 + 2 =\n4', 'sums', (8, 9)),
    Text('猫', '容量\u2028\x85 "é"'),
    Text('', ''),
))


@st.composite
def text_sets(draw):
    ids = draw(st.lists(strategies.texts, min_size=1, max_size=4, unique=True))
    texts = []
    for text_id in ids:
        text = draw(strategies.texts)
        edges = st.lists(
            st.integers(0, len(text)), min_size=2, max_size=2, unique=True)
        answer = draw(st.none() | edges.map(sorted)) if text else None
        texts.append(Text(text_id, text, draw(strategies.texts), answer))
    return TextSet(texts)


@given(text_sets())
@settings(deadline=None, max_examples=20)
def test_round_trip(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / 'texts.jsonl'
    write_texts(path, texts)
    assert read_texts(path) == texts


def test_written_lines_are_plain_json(tmp_path):
    path = tmp_path / 'texts.jsonl'
    write_texts(path, SMALL)
    first, second, third, rest = path.read_text('utf-8').split('\n')
    assert first == ('{"text_id": "q 1", "text": "2 + 2 =\\n4", '
                     '"source": "sums", "answer": [8, 9]}')
    assert '"容量\u2028\x85 \\"é\\""' in second
    assert json.loads(third) == {'text_id': '', 'text': '', 'source': ''}
    assert rest == ''


def test_files_of_editors_and_other_tools_are_read(tmp_path):
    path = tmp_path / 'texts.jsonl'
    path.write_bytes(
        b'\xef\xbb\xbf{"text_id": "a", "text": "x", "n": 1}\r\n'
        b' \r\n{"text": "\\u00e9", "text_id": "b", "answer": null}')
    assert read_texts(str(path)) == TextSet((Text('a', 'x'), Text('b', 'é')))


GOOD = b'{"text_id": "a", "text": "x"}\n'


@pytest.mark.parametrize('content, message', [
    (b'', ': expected at least one text, found an empty file. Write one'),
    (GOOD + b'\n{"text_id"', ', line 3: expected JSON in UTF-8'),
    (b'["a", "x"]',
     r", line 1: expected the line with named fields, found \['a', 'x'\]"),
    (b'{"text_id": "a", "text": "x", "source": 1}',
     ", line 1: .*'source' .*found 1"),
    (GOOD + b'{"text_id": "b", "text": "x"}\n' + GOOD,
     ", line 3: .* found 'a'. Line 1 has it too"),
    (GOOD + b'{"text_id": "b", "text": "xy", "answer": [0, 3]}',
     ", line 2: .*a text with a valid answer.*'b': .* 0 to 3"),
    (GOOD + b'{"text_id": "b", "text": "xy", "answer": [false, true]}',
     r', line 2: .*two whole numbers.* found \[False, True\]'),
    (b'{"text_id": "b", "text": "xy", "answer": [0, 1, 2]}',
     r', line 1: .*two whole numbers.* found \[0, 1, 2\]'),
])
def test_bad_files_are_refused_with_the_line(tmp_path, content, message):
    path = tmp_path / 'texts.jsonl'
    path.write_bytes(content)
    with pytest.raises(InputError, match=f'^{path}{message}'):
        read_texts(path)
