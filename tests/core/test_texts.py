"""Texts, their bytes and fingerprints."""
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError, utf8_bytes
from csv_plugin.core.texts import Text, TextSet, fingerprint
from tests.core.strategies import texts


@pytest.mark.parametrize('surrogate', ['\ud800', '\udfff'])
def test_lone_surrogate_is_refused_with_its_position(surrogate):
    message = rf'essay: .*U\+{ord(surrogate):04X} at character 2'
    with pytest.raises(InputError, match=message):
        utf8_bytes(f'ab{surrogate}c', 'essay')


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


pair_lists = st.lists(
    st.tuples(texts, texts), max_size=4, unique_by=lambda pair: pair[0])


@given(pair_lists, pair_lists)
def test_fingerprints_are_equal_only_for_equal_sets(first, second):
    assert (fingerprint(first) == fingerprint(second)) == (first == second)


@pytest.mark.parametrize('other', [
    [('a1', 'bc'), ('2', 'de')],
    [('a', 'b'), ('c2', 'de')],
    [('2', 'de'), ('a', 'bc')],
    [('a', 'bc')],
])
def test_moving_a_character_or_a_text_changes_the_fingerprint(other):
    assert fingerprint(other) != fingerprint([('a', 'bc'), ('2', 'de')])


def test_fingerprint_names_the_text_with_a_lone_surrogate():
    with pytest.raises(InputError, match="text 'b': .*character 1"):
        fingerprint([('a', 'x'), ('b', 'y\ud800')])
    with pytest.raises(InputError, match='text id .*character 0'):
        fingerprint([('\ud800', 'x')])


def test_text_hashes_its_bytes():
    text = Text('a', 'né')
    assert text.sha256 == hashlib.sha256(b'n\xc3\xa9').hexdigest()
    assert (text.source, text.answer) == ('', None)


@pytest.mark.parametrize(
    'answer',
    [(0, 4),
     (3, 4), [0, 1], np.array([1, 3], np.int32)])
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
    assert texts.texts == (Text('b', 'x'), Text('a', 'y', 'books'))
    assert texts.ids == ('b', 'a')
    assert len(texts) == 2
    assert list(texts) == list(texts.texts)
    assert texts.fingerprint == fingerprint([('b', 'x'), ('a', 'y')])


def test_text_set_refuses_doubled_ids():
    with pytest.raises(InputError, match="'a' twice"):
        TextSet((Text('a', 'x'), Text('b', 'x'), Text('a', 'y')))


def test_text_set_needs_a_text():
    with pytest.raises(InputError, match='at least one text, found none'):
        TextSet(())
