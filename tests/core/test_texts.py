"""Texts as bytes and their fingerprint."""
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.errors import InputError
from csv_plugin.core.texts import fingerprint, utf8_bytes
from .strategies import texts


@given(texts)
def test_utf8_bytes_round_trip(text):
    assert utf8_bytes(text).decode('utf-8') == text


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
    # Files carry it: another value here would orphan every one of them.
    assert fingerprint([('a', 'text')]) == ('0c5101e0a0f239d0c1752cc39d088200'
                                            'c778ce64aa8ba96be53ba6ec301f6e2c')


pair_lists = st.lists(
    st.tuples(texts, texts), max_size=4, unique_by=lambda pair: pair[0])


@given(pair_lists, pair_lists)
def test_fingerprints_are_equal_only_for_equal_sets(first, second):
    assert (fingerprint(first) == fingerprint(second)) == (first == second)


@pytest.mark.parametrize('other', [
    [('a1', 'bc'), ('2', 'de')],
    [('a', '1bc'), ('2', 'de')],
    [('a', 'b'), ('c2', 'de')],
    [('a', 'bc2'), ('', 'de')],
    [('2', 'de'), ('a', 'bc')],
    [('a', 'bc')],
    [('a', 'bc'), ('2', 'de'), ('', '')],
])
def test_moving_a_character_or_a_text_changes_the_fingerprint(other):
    assert fingerprint(other) != fingerprint([('a', 'bc'), ('2', 'de')])


def test_fingerprint_takes_an_iterator():
    pairs = [('a', 'x'), ('b', 'y')]
    assert fingerprint(iter(pairs)) == fingerprint(pairs)


def test_doubled_ids_are_refused():
    with pytest.raises(InputError, match="'a' twice"):
        fingerprint([('a', 'x'), ('b', 'y'), ('a', 'z')])


def test_fingerprint_names_the_text_with_a_lone_surrogate():
    with pytest.raises(InputError, match="text 'b': .*character 1"):
        fingerprint([('a', 'x'), ('b', 'y\ud800')])
    with pytest.raises(InputError, match='text id .*character 0'):
        fingerprint([('\ud800', 'x')])
