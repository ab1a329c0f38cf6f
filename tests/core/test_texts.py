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


def test_fingerprint_never_changes():
    # Files carry it: with another value they would be refused.
    assert fingerprint([('a', 'text')]) == ('0c5101e0a0f239d0c1752cc39d088200'
                                            'c778ce64aa8ba96be53ba6ec301f6e2c')


@pytest.mark.parametrize('other', [
    [('a1', 'bc'), ('2', 'de')],
    [('a', 'b'), ('c2', 'de')],
    [('2', 'de'), ('a', 'bc')],
    [('a', 'bc')],
])
def test_moving_a_character_or_a_text_changes_the_fingerprint(other):
    assert fingerprint(other) != fingerprint([('a', 'bc'), ('2', 'de')])


@pytest.mark.parametrize('answer',
                         [(0, 4),
                          (3, 4), np.array([1, 3], np.int32)])
def test_answers_inside_the_text_are_kept_as_integers(answer):
    kept = Text('a', 'née!', answer=answer).answer
    assert kept == tuple(answer)
    assert [type(offset) for offset in kept] == [int, int]


@pytest.mark.parametrize('answer', [(-1, 2), (2, 2), (3, 2), (0, 5), (4, 4)])
def test_answers_outside_the_text_are_refused(answer):
    start, end = answer
    message = f"answer of text 'a': .* its 4, found {start} to {end}"
    with pytest.raises(InputError, match=message):
        Text('a', 'née!', answer=answer)


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
