"""Where tokens lie in a text's bytes."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TextSpans, TokenSpans, char_bounds
from tests.core.strategies import texts, tilings


def pairs(spans):
    return list(zip(spans.starts.tolist(), spans.ends.tolist()))


@pytest.mark.parametrize(
    'starts, ends, n_bytes, message',
    [
        ([0, 1], [2, 3], 3, 'token 1: .*found 1 after 2'),
        ([0, 2], [2, 1], 3, 'token 1: .*found 1 after 2'),
        ([-1, 1], [1, 3], 3, 'token 0: .*found -1 after 0'),
        ([0, 1], [1, 4], 3, 'token 1: .*found 3 after 4'),
        ([0, 1], [1], 3, r'found \(2,\) and \(1,\)'),
    ],
)
def test_bad_offsets_are_refused_and_shown(starts, ends, n_bytes, message):
    with pytest.raises(InputError, match=message):
        TokenSpans(starts, ends, n_bytes)


def test_spans_are_values():
    starts = np.array([0, 2])
    spans = TokenSpans(starts, [2, 3], 3)
    starts[1] = 1
    assert spans == TokenSpans([0, 2], [2, 3], 3)
    for other in (TokenSpans([0, 2], [2, 3], 4), TokenSpans([0, 2], [1, 3],
                                                            3)):
        assert spans != other


def test_texts_are_a_sequence():
    spans = [
        TokenSpans([0, 2], [2, 3], 3),
        TokenSpans([], [], 4),
        TokenSpans([1], [2], 2)
    ]
    laid = TextSpans.of(spans)
    assert list(laid) == list(laid[:]) == spans
    assert laid[-1] == spans[2] and list(laid[1:]) == spans[1:]
    assert laid == TextSpans.of(spans) != laid[::-1]
    assert hash(laid) == hash(TextSpans.of(spans))
    with pytest.raises(ValueError, match='read-only'):
        laid.starts[0] = 1
    for wrong in ({'n_bytes': laid.n_bytes - 1}, {'starts': laid.starts - 1}):
        with pytest.raises(InputError, match='byte offsets in 0..'):
            replace(laid, **wrong)


@given(st.data(), texts)
@settings(max_examples=30)
def test_token_bytes_give_back_the_tiling_they_were_cut_by(data, text):
    raw = text.encode()
    spans = data.draw(tilings(len(raw)))
    tokens = [raw[start:end] for start, end in pairs(spans)]
    assert TokenSpans.from_token_bytes(tokens, text) == spans


def test_token_bytes_that_are_not_the_text_are_refused():
    for tokens in ([b'ab', b'xd'], [b'ab', b'c']):
        with pytest.raises(InputError, match='the 4 bytes of the text'):
            TokenSpans.from_token_bytes(tokens, 'abcd')


@given(texts)
@settings(max_examples=30)
def test_bounds_of_characters_are_counted_in_bytes(text):
    assert char_bounds(text).tolist() == [
        len(text[:place].encode()) for place in range(len(text) + 1)
    ]
