"""Hypothesis strategies: texts, spans of their bytes, losses of tokens."""
import numpy as np
from hypothesis import strategies as st

from csv_plugin.core.spans import TokenSpans

FRAGMENTS = ('the cat sat', ' ', '\n', '\x00', '你好世界', '容量', 'é', 'e\u0301',
             'שלום', 'مرحبا', '\u200f', '👩\u200d👩\u200d👧', '👍🏽', '🇨🇭', 'ﬁ')

texts = st.one_of(
    st.text(max_size=12),
    st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(''.join))

# A mapping conserves a loss of any sign and size, subnormal ones too.
scored_losses = st.floats(-1e6, 1e6)
losses = st.one_of(scored_losses, st.just(float('nan')))


@st.composite
def tilings(draw, n_bytes: int) -> TokenSpans:
    """Tokens that tile the bytes; equal cuts make tokens without bytes."""
    cuts = draw(st.lists(st.integers(0, n_bytes), max_size=12).map(sorted))
    edges = np.array([0, *cuts, n_bytes])
    return TokenSpans(edges[:-1], edges[1:], n_bytes)


@st.composite
def sparse_spans(draw, n_bytes: int) -> TokenSpans:
    """Tokens with and without bytes, and gaps; perhaps no token at all."""
    cuts = draw(st.lists(st.integers(0, n_bytes), max_size=12).map(sorted))
    n = len(cuts) // 2
    edges = np.array(cuts[:2 * n], int).reshape(n, 2)
    return TokenSpans(edges[:, 0], edges[:, 1], n_bytes)


def any_spans(n_bytes: int) -> st.SearchStrategy[TokenSpans]:
    return st.one_of(tilings(n_bytes), sparse_spans(n_bytes))


def losses_of(spans: TokenSpans, values=losses) -> st.SearchStrategy[list]:
    return st.lists(values, min_size=len(spans), max_size=len(spans))
