"""Where tokens lie in a text's bytes."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TextSpans, TokenSpans
from tests.core.strategies import any_spans, sparse_spans, texts, tilings


def pairs(spans):
    return list(zip(spans.starts.tolist(), spans.ends.tolist()))


@given(st.integers(0, 30).flatmap(sparse_spans))
@settings(max_examples=30)
def test_widths_agree_with_a_count_of_every_byte(spans):
    held = np.zeros(spans.n_bytes, int)
    for start, end in pairs(spans):
        held[start:end] += 1
    assert held.max(initial=0) <= 1
    assert spans.widths.sum() == held.sum()


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


@given(st.data(), texts)
@settings(max_examples=30)
def test_char_offsets_cut_where_the_characters_do(data, text):
    spans = data.draw(any_spans(len(text)))
    in_bytes = TokenSpans.from_char_offsets(text, spans.starts, spans.ends)
    assert pairs(in_bytes) == [(len(text[:start].encode()),
                                len(text[:end].encode()))
                               for start, end in pairs(spans)]
    assert in_bytes.n_bytes == len(text.encode())


@pytest.mark.parametrize('text, n_tokens, cuts', [
    ('a', 1, [0, 1]),
    ('é', 2, [0, 1, 2]),
    ('你', 3, [0, 1, 2, 3]),
    ('🙂', 3, [0, 1, 2, 4]),
    ('é', 3, [0, 0, 1, 2]),
])
def test_tokens_that_share_a_character_meet_inside_it(text, n_tokens, cuts):
    spans = TokenSpans.from_char_offsets(f'x{text}y',
                                         [0] + [1] * n_tokens + [2],
                                         [1] + [2] * n_tokens + [3])
    n = len(text.encode())
    inside = [(1 + a, 1 + b) for a, b in zip(cuts, cuts[1:])]
    assert pairs(spans) == [(0, 1), *inside, (1 + n, 2 + n)]


@pytest.mark.parametrize('starts, ends, message', [
    ([0, 1], [2, 3], 'token 1: .*character.*found 1 after 2'),
    ([0, 0], [2, 2], 'token 1: .*character.*found 0 after 2'),
    ([0, 1, 1, 3], [1, 2, 2, 4], 'token 3: .*from 0 to 3'),
])
def test_bad_char_offsets_are_refused_and_shown(starts, ends, message):
    with pytest.raises(InputError, match=message):
        TokenSpans.from_char_offsets('a你b', starts, ends)


def test_char_offsets_refuse_a_lone_surrogate():
    with pytest.raises(InputError, match='U\\+D800 at character 1'):
        TokenSpans.from_char_offsets('a\ud800', [0], [2])
