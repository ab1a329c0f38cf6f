"""Cut texts into windows that fit a model's context, and batch the windows."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.arrays import Integers
from csv_plugin.core.conventions import InputError


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive tokens of a text that go through a model together.

    `text` is the index of the text. `inputs`, `(n,)`, are token ids. They
    include the prefix, a token in front of the text such as BOS. `targets`,
    `(k,)` with `k <= n`, are the ids of the tokens that are scored; the last
    target follows the last input. `first` is the index of the first scored
    token among the tokens of the text, without the prefix.
    """
    text: int
    inputs: Integers
    targets: Integers
    first: int

    @property
    def row(self) -> Integers:
        """The ids of the inputs and of the last target, `(n + 1,)`."""
        last_target = self.targets[-1:]
        return np.append(self.inputs, last_target)


def window_stride(context: int) -> int:
    """Return how many tokens each window after the first scores.

    It is half of the context. A context of 0 means no limit; the result is
    then 0.
    """
    if not context:
        return 0
    return max(1, context // 2)


def cut_windows(text: int, ids: Integers, prefix: Optional[int],
                context: int) -> list[Window]:
    """Return windows that score each token of a text once.

    Every token is scored; without a prefix, every token but the first. `text`
    is the index of the text, `ids`, `(n,)`, are its tokens without special
    tokens, and `context` is the largest number of inputs of the model (0: no
    limit). A longer text is cut into windows of full length that overlap by
    half. Each window begins with the prefix. In all windows but the first,
    every scored token has at least half a context to its left.
    """
    prefixes = [] if prefix is None else [prefix]
    lead = np.array(prefixes, np.int64)
    row = np.append(lead, ids)
    n_inputs = len(row) - 1
    if n_inputs < 1:
        return []
    length = min(context or n_inputs, n_inputs)
    if length < n_inputs and context < 2:
        raise InputError(
            'context', 'room for 2 tokens or more', str(context),
            'Give 2 or more, or leave the setting out to use the context of '
            'the model.')
    n_lead = len(lead)
    targets = row[1:]
    # Index in the text of the first target.
    first = 1 - n_lead
    windows = [Window(text, row[:length], targets[:length], first)]
    room = length - n_lead
    start = length
    stride = window_stride(context)
    while start < n_inputs:
        end = min(start + stride, n_inputs)
        inputs = np.append(lead, row[end - room:end])
        scored = targets[start:end]
        windows.append(Window(text, inputs, scored, first + start))
        start = end
    return windows


def group_batches(windows: Sequence[Window],
                  max_tokens: int) -> Iterator[list[Window]]:
    """Yield batches of windows of about the same length, the longest first.

    A batch has at most `max_tokens` inputs, padding included; a longer window
    becomes a batch of its own. A batch also ends where more padding would cost
    more time than starting another batch.
    """
    batch: list[Window] = []
    # The largest padding of a batch, as a share of `max_tokens`. On a CPU,
    # with `max_tokens` of 1024, starting a batch takes as long as 30 tokens.
    most_padding = 1 / 32
    padding = 0
    longest_first = sorted(windows, key=lambda w: -len(w.inputs))
    for window in longest_first:
        if batch:
            width = len(batch[0].inputs)
            padding += width - len(window.inputs)
            n_tokens = (len(batch) + 1) * width
            if n_tokens > max_tokens or padding > most_padding * max_tokens:
                yield batch
                batch = []
                padding = 0
        batch.append(window)
    if batch:
        yield batch


def default_max_tokens(device: torch.device, all_logits: bool = False) -> int:
    """Return the largest number of inputs of a batch on a device.

    It is smaller on a CPU, whose caches are small. With `all_logits`, the
    model returns all logits of a batch at once. The number is then halved,
    because these logits take more memory than everything else.
    """
    most = 4096
    if device.type == 'cpu':
        most = 1024
    if all_logits:
        most //= 2
    return most


def pad(batch: Sequence[Window]) -> Tensor:
    """Return inputs, `(batch, n)`, padded right by their last token."""
    width = _width(batch)
    rows = []
    for window in batch:
        n_missing = width - len(window.inputs)
        row = np.pad(window.inputs, (0, n_missing), mode='edge')
        rows.append(row)
    return torch.from_numpy(np.stack(rows))


def target_rows(batch: Sequence[Window]) -> Tensor:
    """Return the positions that predict the targets, in window order.

    They are indices into the flattened `(batch, n)` of the padded batch.
    """
    width = _width(batch)
    rows = []
    for row, window in enumerate(batch):
        end = row * width + len(window.inputs)
        start = end - len(window.targets)
        rows.append(torch.arange(start, end))
    return torch.cat(rows)


def _width(batch: Sequence[Window]) -> int:
    """Return the number of inputs of the longest window."""
    return max(len(window.inputs) for window in batch)


def by_window(batch: Sequence[Window], values: NDArray) -> list[NDArray]:
    """Split the values of all targets of a batch, `(n, ...)`, by window."""
    n_targets = [len(window.targets) for window in batch]
    ends = np.cumsum(n_targets)
    return np.split(values, ends[:-1])
