"""Algorithm 1: conservation, the paper's own form, NaN, many texts."""
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.mapping import map_losses
from csv_plugin.core.spans import TokenSpans, char_bounds
from tests.core.strategies import (any_spans, losses_of, scored_losses, texts,
                                   tilings)

NAN = float('nan')
TINY = np.finfo(float).tiny


def mapped(losses, source, target):
    """The losses of one model on one text, on other tokens."""
    return map_losses(np.array([losses], float), [source], [target])[0]


def one_by_one(losses, source, target):
    """Algorithm 1 over bytes, byte by byte; NaN where a byte is unscored."""
    n = source.n_bytes
    holder = [None] * n
    for j, (start, end) in enumerate(zip(target.starts, target.ends)):
        holder[start:end] = [j] * (end - start)
    parts = [[] for _ in range(len(target))]
    scored_bytes = [0] * len(target)
    for loss, start, end in zip(losses, source.starts, source.ends):
        if math.isnan(loss) or n == 0:
            continue
        positions = range(start, end) or [min(start, n - 1)]
        for position in positions:
            if holder[position] is not None:
                parts[holder[position]].append(loss / len(positions))
                scored_bytes[holder[position]] += int(end > start)
    return [
        math.fsum(part) if n_bytes == width else NAN
        for part, n_bytes, width in zip(parts, scored_bytes, target.ends -
                                        target.starts)
    ]


def algorithm_1_as_printed(text, source, source_losses, target):
    """Lines 1 to 15; tokens are given by the characters that they span."""
    char_losses = [0.0 for _ in text]
    for (start, end), loss in zip(source, source_losses):
        for j in range(start, end):
            char_losses[j] = loss / (end - start)
    return [sum(char_losses[start:end]) for start, end in target]


@given(st.data(), texts)
@settings(max_examples=50)
def test_mapping_conserves_the_loss_of_any_text(data, text):
    n_bytes = len(text.encode())
    source, target = (data.draw(tilings(n_bytes)) for _ in range(2))
    losses = data.draw(losses_of(source, scored_losses))
    before = losses if text else []
    after = mapped(losses, source, target)
    allowed = 1e-12 * math.fsum(map(abs, before)) + TINY
    assert abs(math.fsum(before) - math.fsum(after)) <= allowed


@given(st.data(), st.integers(0, 40))
def test_mapping_is_the_byte_by_byte_sum(data, n_bytes):
    source = data.draw(any_spans(n_bytes))
    target = data.draw(any_spans(n_bytes))
    losses = data.draw(losses_of(source))
    scale = np.nansum(np.abs(losses))
    np.testing.assert_allclose(
        mapped(losses, source, target), one_by_one(losses, source, target), 0,
        1e-12 * scale + TINY)


@given(st.data(), st.text(st.characters(max_codepoint=127), min_size=1))
@settings(max_examples=50)
def test_mapping_on_ascii_is_the_papers_algorithm(data, text):

    def solid(spans):  # the paper's tokens all span a character
        cuts = np.unique(np.append(spans.starts, spans.n_bytes))
        return TokenSpans(cuts[:-1], cuts[1:], spans.n_bytes)

    source = solid(data.draw(tilings(len(text))))
    target = solid(data.draw(tilings(len(text))))
    losses = data.draw(losses_of(source, st.floats(0, 50)))
    printed = algorithm_1_as_printed(text,
                                     list(zip(source.starts,
                                              source.ends)), losses,
                                     list(zip(target.starts, target.ends)))
    np.testing.assert_allclose(
        mapped(losses, source, target), printed, 1e-12, TINY)


def test_printed_algorithm_loses_half_of_split_cjk_and_bytes_lose_none():
    text = '能力显著向量把验证损失与下游任务对齐'
    losses = np.random.default_rng(0).gamma(2, 1.5, 2 * len(text))
    # A byte-level tokenizer cuts every character in two and reports the
    # whole character for both halves; the target has one token for each.
    starts = np.repeat(np.arange(len(text)), 2)
    chars = [(i, i + 1) for i in range(len(text))]
    printed = algorithm_1_as_printed(text, list(zip(starts, starts + 1)),
                                     losses, chars)
    assert 0.4 < sum(printed) / losses.sum() < 0.6

    bounds = char_bounds(text)
    middles = (bounds[:-1] + bounds[1:]) // 2
    cuts = np.sort(np.append(bounds, middles))
    source = TokenSpans(cuts[:-1], cuts[1:], bounds[-1])
    target = TokenSpans(bounds[:-1], bounds[1:], bounds[-1])
    np.testing.assert_allclose(
        mapped(losses, source, target),
        losses.reshape(-1, 2).sum(1), 1e-15)


@given(st.data(), st.lists(st.integers(0, 20), min_size=1, max_size=4))
@settings(max_examples=20)
def test_models_and_texts_are_mapped_as_one_by_one(data, sizes):
    sources = [data.draw(any_spans(size)) for size in sizes]
    targets = [data.draw(any_spans(size)) for size in sizes]
    losses = [[data.draw(losses_of(spans)) for spans in sources]
              for _ in range(2)]
    together = map_losses(
        np.array([sum(rows, []) for rows in losses]), sources, targets)
    for row, found in zip(losses, together):
        alone = [
            mapped(*text_and_spans)
            for text_and_spans in zip(row, sources, targets)
        ]
        np.testing.assert_array_equal(found, np.concatenate(alone))


def test_huge_losses_of_one_text_cost_the_next_no_digits():
    # A running sum over the corpus would carry the first text's rounding.
    source = TokenSpans([0, 2, 7], [2, 7, 9], 9)
    target = TokenSpans([0, 4], [4, 9], 9)
    small = [1e-9, 2e-9, 3e-9]
    both = map_losses(
        np.array([[1e9, 2e9, 3e9, *small]]), [source] * 2, [target] * 2)
    np.testing.assert_array_equal(both[0, 2:], mapped(small, source, target))
