"""Windows score every token once; batches hold every window."""
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.windows import (Window, cut_windows,
                                           default_max_tokens, group_batches,
                                           pad, target_rows, window_stride)

PREFIX = 999
prefixes = st.sampled_from([None, PREFIX])


def window(text, length, first_id=0, n_targets=None):
    inputs = np.arange(first_id, first_id + length)
    return Window(text, inputs, inputs[-(n_targets or length):] + 1, 0)


windows_of_any_length = st.lists(
    st.integers(1, 40), max_size=30).map(
        lambda lengths: [window(i, n) for i, n in enumerate(lengths)])


@given(st.integers(0, 300), prefixes, st.integers(2, 60))
def test_windows_score_each_token_once_behind_what_precedes_it(
        n, prefix, context):
    ids = np.arange(n)  # a token's id is its index
    windows = cut_windows(7, ids, prefix, context)
    scored = [i for w in windows for i in w.targets]
    assert scored == list(range(prefix is None, n))
    beyond = max(0, n - (prefix is None) - context)
    assert len(windows) == bool(scored) + -(-beyond // (context // 2))
    for w in windows:
        assert w.text == 7 and w.first == w.targets[0]
        assert len(w.inputs) <= context
        inputs = w.inputs
        if prefix is not None:
            assert inputs[0] == PREFIX
            inputs = inputs[1:]
        # An unbroken stretch of the text up to the last target.
        assert (np.diff(inputs) == 1).all()
        assert w.targets[-1] == (inputs[-1] + 1 if len(inputs) else 0)
        for target in w.targets:
            before = np.sum(inputs < target)
            assert before >= min(target, context - 1 - context // 2)


def test_windows_of_a_long_text():
    """Written out: context 4, half of it 2."""
    windows = cut_windows(0, np.arange(1, 9), PREFIX, 4)
    assert [(w.inputs.tolist(), w.targets.tolist(), w.first)
            for w in windows] == [([PREFIX, 1, 2, 3], [1, 2, 3, 4], 0),
                                  ([PREFIX, 3, 4, 5], [5, 6], 4),
                                  ([PREFIX, 5, 6, 7], [7, 8], 6)]
    windows = cut_windows(0, np.arange(1, 9), None, 4)
    assert [(w.inputs.tolist(), w.targets.tolist(), w.first)
            for w in windows] == [([1, 2, 3, 4], [2, 3, 4, 5], 1),
                                  ([3, 4, 5, 6], [6, 7], 5),
                                  ([4, 5, 6, 7], [8], 7)]
    # No limit is one window.
    only, = cut_windows(0, np.arange(5000), PREFIX, 0)
    assert only.inputs.tolist() == [PREFIX, *range(4999)]
    assert window_stride(2048) == 1024 and window_stride(0) == 0


@pytest.mark.parametrize('context', [1, -1])
def test_a_context_without_room_is_refused(context):
    with pytest.raises(InputError, match=f'room for 2 tokens.*{context}'):
        cut_windows(0, np.arange(3), PREFIX, context)


@given(windows_of_any_length, st.integers(1, 200))
def test_batches_hold_all_windows_within_the_budget(windows, budget):
    batches = list(group_batches(windows, budget))
    held = [w.text for batch in batches for w in batch]
    assert sorted(held) == [w.text for w in windows]
    widths = [max(len(w.inputs) for w in batch) for batch in batches]
    assert widths == sorted(widths, reverse=True)
    for batch, width in zip(batches, widths):
        assert len(batch) == 1 or width * len(batch) <= budget
    for batch, width, after in zip(batches, widths, batches[1:]):
        padding = sum(width - len(w.inputs) for w in batch)
        assert padding <= budget / 32
        # No batch ends early.
        assert (width * (len(batch) + 1) > budget
                or padding + width - len(after[0].inputs) > budget / 32)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9)),
        min_size=1,
        max_size=6))
def test_target_rows_are_where_the_last_inputs_are(shapes):
    """In the padded batch, flattened, the input before each target."""
    batch = [
        window(i, max(shape), 100 * i, min(shape))
        for i, shape in enumerate(shapes)
    ]
    padded = pad(batch)
    assert padded.shape == (len(batch), max(len(w.inputs) for w in batch))
    before = padded.flatten()[target_rows(batch)]
    targets = np.concatenate([w.targets for w in batch])
    assert before.tolist() == (targets - 1).tolist()
    for row, w in zip(padded.tolist(), batch):
        assert row[:len(w.inputs)] == w.inputs.tolist()
        assert set(row[len(w.inputs):]) <= {w.inputs[-1]}


@pytest.mark.parametrize('device', ['cpu', 'cuda'])
def test_batches_that_make_all_logits_are_half(device):
    device = torch.device(device)
    assert default_max_tokens(device) == 2 * default_max_tokens(
        device, all_logits=True)
