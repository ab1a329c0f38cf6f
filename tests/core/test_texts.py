"""Texts, their bytes and fingerprints."""
import hashlib

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet, fingerprint


def test_fingerprint_is_the_documented_hash():
    data = b''.join(
        len(field).to_bytes(8, 'big') + field
        for field in ('α'.encode(), '你好'.encode(), b'b', b''))
    expected = hashlib.sha256(data).hexdigest()
    assert fingerprint([('α', '你好'), ('b', '')]) == expected


def test_answers_lie_inside_the_text():
    kept = Text('a', 'née!', answer=np.array([0, 4], np.int32)).answer
    assert kept == (0, 4)
    assert [type(offset) for offset in kept] == [int, int]
    for start, end in ((-1, 2), (2, 2), (0, 5)):
        message = f"answer of text 'a': .* in 0..4, .* found {start} to {end}"
        with pytest.raises(InputError, match=message):
            Text('a', 'née!', answer=(start, end))


@pytest.mark.parametrize('fields, message', [
    (('\ud800', 'x'), r"^text id '\\ud800': .*U.D800 at character 0"),
    (('a', 'x\ud800'), "^text 'a': .*character 1"),
    (('a', 'x', 'xy\ud800'), "^source of text 'a': .*character 2"),
])
def test_texts_with_lone_surrogates_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Text(*fields)


def test_text_set_keeps_its_texts_in_order():
    texts = TextSet([Text('b', 'x'), Text('a', 'y', 'books')])
    assert texts.ids == ('b', 'a')
    assert texts.texts[0].sha256 == hashlib.sha256(b'x').hexdigest()
    assert list(texts) == list(texts.texts)
    assert texts.fingerprint == fingerprint([('b', 'x'), ('a', 'y')])


def test_text_set_refuses_doubled_ids_and_no_text():
    with pytest.raises(InputError, match="'a' twice"):
        TextSet((Text('a', 'x'), Text('b', 'x'), Text('a', 'y')))
    with pytest.raises(InputError, match='at least one text, found none'):
        TextSet(())
