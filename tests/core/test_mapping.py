"""Algorithm 1: conservation, the paper's own form, NaN, many texts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.mapping import LossMap
from csv_plugin.core.spans import TokenSpans
from tests.core.strategies import (any_spans, losses_of, scored_losses, texts,
                                   tilings)

NAN = float('nan')
TINY = np.finfo(float).tiny


def between(source, target):
    """The map between two tokenizations of one text."""
    return LossMap.for_texts([source], [target])


def tiling(n_bytes, *cuts):
    edges = [0, *cuts, n_bytes]
    return TokenSpans(edges[:-1], edges[1:], n_bytes)


def one_by_one(losses, source, target):
    """Algorithm 1 over bytes, byte by byte; NaN where nothing is scored."""
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
    mapped = [
        math.fsum(part) if part or not width else NAN
        for part, width in zip(parts, target.widths)
    ]
    return mapped, scored_bytes


def algorithm_1_as_printed(text, source, source_losses, target):
    """Lines 1 to 15; tokens are given by the characters that they span."""
    char_losses = [0.0 for _ in text]
    for (start, end), loss in zip(source, source_losses):
        for j in range(start, end):
            char_losses[j] = loss / (end - start)
    return [sum(char_losses[start:end]) for start, end in target]


@given(st.data(), texts)
def test_mapping_conserves_the_loss_of_any_text(data, text):
    n_bytes = len(text.encode())
    source = data.draw(any_spans(n_bytes))
    target = data.draw(tilings(n_bytes))
    losses = data.draw(losses_of(source))
    mapped = between(source, target)(losses).losses
    before = [x for x in losses if not math.isnan(x)] if text else []
    after = mapped[~np.isnan(mapped)]
    allowed = 1e-12 * math.fsum(map(abs, before)) + TINY
    assert abs(math.fsum(before) - math.fsum(after)) <= allowed


@given(st.data(), st.integers(0, 40))
def test_mapping_is_the_byte_by_byte_sum(data, n_bytes):
    source = data.draw(any_spans(n_bytes))
    target = data.draw(any_spans(n_bytes))
    losses = data.draw(losses_of(source))
    mapped = between(source, target)(losses)
    expected, scored_bytes = one_by_one(losses, source, target)
    scale = np.nansum(np.abs(losses))
    np.testing.assert_allclose(mapped.losses, expected, 0,
                               1e-12 * scale + TINY)
    assert mapped.scored_bytes.tolist() == scored_bytes
    np.testing.assert_array_equal(
        np.isnan(mapped.fully_scored),
        np.isnan(expected) | (np.array(scored_bytes) < target.widths))


@given(st.data(), st.text(st.characters(max_codepoint=127), min_size=1))
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
        between(source, target)(losses).losses, printed, 1e-12, TINY)


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

    source = TokenSpans.from_char_offsets(text, starts, starts + 1)
    target = TokenSpans.from_char_offsets(text, *zip(*chars))
    mapped = between(source, target)(losses).losses
    np.testing.assert_allclose(mapped, losses.reshape(-1, 2).sum(1), 1e-15)


def test_token_that_ends_inside_a_character_gives_each_side_its_bytes():
    # 'a你': the source cuts inside the character, after its first byte.
    mapped = between(tiling(4, 2), tiling(4, 1))([4.0, 6.0])
    assert mapped.losses.tolist() == [2.0, 8.0]


@given(st.data(), st.integers(0, 40))
def test_mapping_onto_the_same_spans_is_the_identity(data, n_bytes):
    spans = data.draw(any_spans(n_bytes))
    solid = spans.widths > 0
    spans = TokenSpans(spans.starts[solid], spans.ends[solid], n_bytes)
    losses = data.draw(losses_of(spans))
    mapped = between(spans, spans)(losses)
    np.testing.assert_array_equal(mapped.losses, losses)
    np.testing.assert_array_equal(mapped.fully_scored, losses)


@given(st.data(), st.integers(1, 40))
def test_a_detour_over_finer_tokens_changes_nothing(data, n_bytes):
    source = data.draw(tilings(n_bytes))
    target = data.draw(tilings(n_bytes))
    losses = data.draw(losses_of(source, scored_losses))
    every_byte = tiling(n_bytes, *range(1, n_bytes))
    detour = between(every_byte, target)(
        between(source, every_byte)(losses).losses)
    direct = between(source, target)(losses)
    np.testing.assert_allclose(detour.losses, direct.losses, 0,
                               1e-12 * np.abs(losses).sum() + TINY)


def test_unscored_first_token_stays_unscored():
    # 'The cat sat' as The| cat| sat and as T|he cat| sat, without a BOS.
    source, target = tiling(11, 3, 7), tiling(11, 1, 7)
    mapped = between(source, target)([NAN, 2.0, 3.0])
    np.testing.assert_array_equal(mapped.losses, [NAN, 2.0, 3.0])
    assert mapped.scored_bytes.tolist() == [0, 4, 4]
    np.testing.assert_array_equal(mapped.fully_scored, [NAN, NAN, 3.0])


def test_a_loss_of_zero_is_scored():
    mapped = between(tiling(4, 2), tiling(4, 2))([0.0, NAN])
    np.testing.assert_array_equal(mapped.losses, [0.0, NAN])
    np.testing.assert_array_equal(mapped.fully_scored, [0.0, NAN])


def test_partially_scored_token_keeps_its_scored_part_and_says_so():
    mapped = between(tiling(6, 4), tiling(6, 2))([8.0, NAN])
    assert mapped.losses.tolist() == [4.0, 4.0]
    assert mapped.scored_bytes.tolist() == [2, 2]
    np.testing.assert_array_equal(mapped.fully_scored, [4.0, NAN])


def test_gap_of_the_source_is_unscored():
    source = TokenSpans([0, 4], [2, 6], 6)
    mapped = between(source, tiling(6, 2, 4))([1.0, 2.0])
    np.testing.assert_array_equal(mapped.losses, [1.0, NAN, 2.0])


def test_gap_of_the_target_takes_its_share_away():
    target = TokenSpans([0, 3], [1, 4], 4)
    mapped = between(tiling(4), target)([8.0])
    assert mapped.losses.tolist() == [2.0, 2.0]


@pytest.mark.parametrize('position, expected', [(0, [9.0, 2.0]),
                                                (1, [9.0, 2.0]),
                                                (2, [1.0, 10.0]),
                                                (3, [1.0, 10.0])])
def test_token_without_bytes_gives_its_loss_to_the_next_byte(
        position, expected):
    # At the end of the text there is no next byte: the last one takes it.
    starts, ends, losses = [0, 1, 2], [1, 2, 3], [0.5, 0.5, 2.0]
    source = TokenSpans([*starts[:position], position, *starts[position:]],
                        [*ends[:position], position, *ends[position:]], 3)
    losses.insert(position, 8.0)
    mapped = between(source, tiling(3, 2))(losses)
    assert mapped.losses.tolist() == expected
    assert mapped.scored_bytes.tolist() == [2, 1]


def test_target_token_without_bytes_receives_nothing_and_is_not_unscored():
    target = TokenSpans([0, 0, 2, 2], [0, 2, 2, 2], 2)
    mapped = between(tiling(2, 1), target)([1.0, 2.0])
    assert mapped.fully_scored.tolist() == [0.0, 3.0, 0.0, 0.0]


def test_empty_text_has_nowhere_to_put_a_loss():
    empty, nothing = TokenSpans([0], [0], 0), TokenSpans([], [], 0)
    assert between(empty, empty)([3.0]).losses.tolist() == [0.0]
    assert between(nothing, empty)([]).losses.shape == (1, )
    assert between(empty, nothing)([3.0]).losses.shape == (0, )


def test_empty_text_of_a_corpus_gives_its_loss_to_no_neighbour():
    spans = [tiling(2), TokenSpans([0], [0], 0), tiling(2)]
    mapped = LossMap.for_texts(spans, spans)([1.0, 5.0, 2.0])
    assert mapped.losses.tolist() == [1.0, 0.0, 2.0]


def test_last_token_without_bytes_stays_in_its_text():
    source = TokenSpans([0, 2], [2, 2], 2)
    loss_map = LossMap.for_texts([source, source], [tiling(2), tiling(2)])
    assert loss_map([1.0, 2.0, 4.0, 8.0]).losses.tolist() == [3.0, 12.0]


@st.composite
def corpora(draw):
    """Source spans, target spans and losses of some texts."""
    sizes = draw(st.lists(st.integers(0, 20), min_size=1, max_size=5))
    sources = [draw(any_spans(size)) for size in sizes]
    targets = [draw(any_spans(size)) for size in sizes]
    return sources, targets, [draw(losses_of(spans)) for spans in sources]


@given(corpora())
@pytest.mark.slow
def test_corpus_is_mapped_as_its_texts_are(corpus):
    sources, targets, losses = corpus
    mapped = LossMap.for_texts(sources, targets)(sum(losses, []))
    alone = [
        between(source, target)(text)
        for source, target, text in zip(sources, targets, losses)
    ]
    for field in ('losses', 'scored_bytes', 'widths', 'fully_scored'):
        np.testing.assert_array_equal(
            getattr(mapped, field),
            np.concatenate([getattr(text, field) for text in alone]))


@given(st.data(), corpora(), st.integers(0, 4))
@pytest.mark.slow
def test_many_models_are_mapped_as_one_by_one(data, corpus, n_models):
    loss_map = LossMap.for_texts(*corpus[:2])
    n_source = len(loss_map.source_widths)
    rows = st.lists(
        losses_of(range(n_source)), min_size=n_models, max_size=n_models)
    losses = np.reshape(np.array(data.draw(rows), float), (n_models, n_source))
    mapped = loss_map(losses)
    assert mapped.losses.shape == (n_models, len(loss_map.target_widths))
    for model, row in enumerate(losses):
        alone = loss_map(row)
        np.testing.assert_array_equal(mapped.losses[model], alone.losses)
        np.testing.assert_array_equal(mapped.scored_bytes[model],
                                      alone.scored_bytes)


def test_huge_losses_of_one_text_cost_the_next_no_digits():
    # A running sum over the corpus would carry the first text's rounding.
    source, target = tiling(9, 2, 7), tiling(9, 4)
    loss_map = LossMap.for_texts([source, source], [target, target])
    small = [1e-9, 2e-9, 3e-9]
    mapped = loss_map([1e9, 2e9, 3e9, *small]).losses[2:]
    np.testing.assert_array_equal(mapped,
                                  between(source, target)(small).losses)


def test_losses_are_left_as_they_were():
    losses = np.array([NAN, 1.0])
    between(tiling(4, 2), tiling(4, 3))(losses)
    np.testing.assert_array_equal(losses, [NAN, 1.0])


@pytest.mark.parametrize('value', [math.inf, -math.inf])
def test_infinite_losses_are_refused(value):
    loss_map = between(tiling(4, 2), tiling(4))
    with pytest.raises(InputError, match=rf'{value} at index \(1, 0\)'):
        loss_map([[1.0, 2.0], [value, 2.0]])


@pytest.mark.parametrize('shape', [(), (3, ), (2, 1), (1, 1, 2)])
def test_losses_of_another_shape_are_refused(shape):
    loss_map = between(tiling(4, 2), tiling(4))
    with pytest.raises(InputError, match=r'\(2,\) or \(M, 2\), found \('):
        loss_map(np.zeros(shape))


def test_spans_of_different_texts_are_refused():
    with pytest.raises(InputError, match='text 1: .*3 source and 4 target'):
        LossMap.for_texts([tiling(4), tiling(3)], [tiling(4), tiling(4)])
    with pytest.raises(InputError, match='1 source and 2 target texts'):
        LossMap.for_texts([tiling(4)], [tiling(4), tiling(4)])
    with pytest.raises(InputError, match='at least one'):
        LossMap.for_texts([], [])
