"""Weights laid over texts, whatever the tokens cut through."""
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.extras.heat_maps import (HeatMap, Piece, full_weight, heat_map,
                                         strongest_maps)
from tests.runs import OTHER_TEXTS, TEXTS, train

NAN = math.nan


def by_lengths(text: str, *lengths: int) -> TokenSpans:
    """Tokens of so many bytes each, one after the other."""
    ends = np.cumsum(lengths)
    return TokenSpans(ends - lengths, ends, len(text.encode('utf-8')))


def pieces(text: str, spans: TokenSpans, *weights: float):
    cut = heat_map(Text('t', text), spans, np.array(weights, float))
    return [(piece.text, piece.weight) for piece in cut]


def test_tokens_that_share_a_character_are_merged():
    # 3 + 3 bytes in tokens of 2, 2, 2, then one whole character.
    text = '我们a'
    assert pieces(text, by_lengths(text, 2, 2, 2, 1), 1, 2, 6,
                  5) == [('我们', 3), ('a', 5)]


def test_uncounted_tokens_do_not_dilute():
    text = '我'
    assert pieces(text, by_lengths(text, 1, 2), NAN, 6) == [('我', 6)]
    [(_, weight)] = pieces(text, by_lengths(text, 1, 2), NAN, NAN)
    assert math.isnan(weight)


def test_gaps_and_empty_tokens():
    spans = TokenSpans([1, 2, 2], [2, 2, 4], 6)
    (first, gap), *covered, (last, end) = pieces('abcdef', spans, 1, 100, 3)
    assert (first, last) == ('a', 'ef')
    assert math.isnan(gap) and math.isnan(end)
    assert covered == [('b', 1), ('cd', 3)]


@settings(max_examples=50)
@given(
    st.text(max_size=30), st.lists(st.integers(0, 120), max_size=20),
    st.data())
def test_pieces_are_the_text(text, cuts, data):
    """Joined they are the text; the mean weight by bytes is kept."""
    n_bytes = len(text.encode('utf-8'))
    edges = sorted({0, n_bytes, *(cut for cut in cuts if cut < n_bytes)})
    spans = TokenSpans(edges[:-1], edges[1:], n_bytes)
    weights = np.array(
        data.draw(
            st.lists(
                st.floats(-10, 10), min_size=len(spans), max_size=len(spans))),
        float)
    cut = heat_map(Text('t', text), spans, weights)
    assert ''.join(piece.text for piece in cut) == text
    assert all(piece.text for piece in cut)
    total = sum(p.weight * len(p.text.encode('utf-8')) for p in cut)
    assert total == pytest.approx(
        weights @ (spans.ends - spans.starts), abs=1e-9)
    assert len(cut) <= len(spans)


def test_full_weight_leaves_outliers_out():
    weights = np.concatenate([np.zeros(900), -np.arange(1.0, 101), [NAN]])
    assert full_weight(weights) == pytest.approx(99.01)
    assert full_weight(np.array([0.0, NAN])) == 1
    assert full_weight(np.array([])) == 1


def test_texts_whose_weights_vary_most_come_first():
    predictor = train()
    # Columns are the texts: uneven weights inside texts by hand.
    matrix = predictor.matrix.toarray()
    size = np.abs(matrix).max()
    matrix[3] += 9 * size  # first token of t1
    matrix[14] += 5 * size  # last token of t4
    predictor = replace(predictor, matrix=type(predictor.matrix)(matrix))
    weights = predictor.token_weights('hard')
    spread = np.nanstd(weights.reshape(5, 3), axis=1)
    expected = sorted(range(5), key=lambda s: -spread[s])
    maps = strongest_maps(predictor, 'hard', TEXTS, 3)
    assert [m.text.text_id for m in maps] == [f't{s}' for s in expected[:3]]
    for shown, s in zip(maps, expected):
        assert [p.weight for p in shown.pieces
                ] == pytest.approx(list(weights[3 * s:3 * s + 3]))
        assert [p.text for p in shown.pieces] == ['ab', 'cd', 'ef']


def test_texts_of_another_set_and_predictor_of_tables():
    with pytest.raises(InputError, match=OTHER_TEXTS.fingerprint):
        strongest_maps(train(), 'easy', OTHER_TEXTS, 3)
    with pytest.raises(InputError, match='fitted to tables'):
        strongest_maps(
            replace(train(), targets=None, matrix=None), 'easy', TEXTS, 3)


def test_a_text_in_a_notebook():
    shown = HeatMap(
        Text(r'$\frac{', '<b>$c\u202ed'),
        [Piece('<b>$', 2.0),
         Piece('c\u202e', NAN),
         Piece('d', -1.0)])
    document = shown._repr_html_()
    assert document.startswith('<div class="tex2jax_ignore')
    assert 'rgba(0, 114, 178, 0.70)">&lt;b&gt;$</span>c\\u202e' in document
    assert '"-1" style="background-color: rgba(213, 94, 0, 0.35)' in document
