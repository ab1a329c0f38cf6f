"""Windows of texts that fit a model's context, and batches of windows."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.conventions import InputError


@dataclass(frozen=True, eq=False)
class Window:
    """Tokens of a text, by its index, that go through a model in one piece.

    `inputs`, `(n,)`, are token ids, the prefix included. `targets`, `(k,)`
    with `k <= n`, are ids of the tokens that are scored; the last target
    follows the last input. `first` is the index in the text of the first
    scored token.
    """
    text: int
    inputs: NDArray[np.int64]
    targets: NDArray[np.int64]
    first: int

    @property
    def row(self) -> NDArray[np.int64]:
        """The inputs and the last target, shape `(n + 1,)`."""
        return np.append(self.inputs, self.targets[-1:])


def window_stride(context: int) -> int:
    """Tokens that each window after the first scores: half a context.

    A context of 0 is no limit, for which the stride is 0.
    """
    return max(1, context // 2) if context else 0


def cut_windows(text: int, ids: NDArray[np.int64], prefix: Optional[int],
                context: int) -> list[Window]:
    """Windows that score each token of a text, by its index, once.

    Scored: every token, or all but the first without a prefix. A text longer
    than the context, the most inputs of the model (0: no limit), is cut into
    windows of full length that overlap by half, each behind the prefix: every
    token after the first window has at least half a context to its left. Token
    ids, `(n,)`, are without special tokens.
    """
    lead = np.array([] if prefix is None else [prefix], np.int64)
    row = np.append(lead, ids)
    n_inputs = len(row) - 1
    if n_inputs < 1:
        return []
    length = min(context or n_inputs, n_inputs)
    if length < n_inputs and context < 2:
        raise InputError('context', 'room for 2 tokens or more', str(context),
                         "Leave it out for the model's own context.")
    n_lead = len(lead)
    targets = row[1:]
    first = Window(text, row[:length], targets[:length], 1 - n_lead)
    windows = [first]
    room = length - n_lead
    start = length
    stride = window_stride(context)
    while start < n_inputs:
        end = min(start + stride, n_inputs)
        inputs = np.append(lead, row[end - room:end])
        windows.append(
            Window(text, inputs, targets[start:end], start + 1 - n_lead))
        start = end
    return windows


def group_batches(windows: Sequence[Window],
                  max_tokens: int) -> Iterator[list[Window]]:
    """Batches of windows of about the same length, the longest first.

    A batch has at most `max_tokens` inputs, padding included; a longer window
    makes a batch of its own. Where a batch would get more padding than
    starting another one costs, it ends.
    """
    batch: list[Window] = []
    # Padding of a batch at most, as a share of the most inputs. Starting a
    # batch takes a CPU as long as 30 tokens, of 1024 at most.
    most_padding = 1 / 32
    padding = 0
    for window in sorted(windows, key=lambda w: -len(w.inputs)):
        if batch:
            width = len(batch[0].inputs)
            padding += width - len(window.inputs)
            is_full = (len(batch) + 1) * width > max_tokens
            if is_full or padding > most_padding * max_tokens:
                yield batch
                batch = []
                padding = 0
        batch.append(window)
    if batch:
        yield batch


def default_max_tokens(device: torch.device, all_logits: bool = False) -> int:
    """Most inputs of a batch; few on a CPU, whose caches are small.

    Fewer, too, for a model that makes all logits of a batch at once, which
    take more memory than all else.
    """
    most = 1024 if device.type == 'cpu' else 4096
    return most // 2 if all_logits else most


def pad(batch: Sequence[Window]) -> Tensor:
    """Inputs, padded on the right with their last token. `(batch, n)`."""
    width = _width(batch)
    rows = []
    for window in batch:
        n_missing = width - len(window.inputs)
        rows.append(np.pad(window.inputs, (0, n_missing), mode='edge'))
    return torch.from_numpy(np.stack(rows))


def target_rows(batch: Sequence[Window]) -> Tensor:
    """Positions in the flattened padded batch that predict the targets."""
    width = _width(batch)
    rows = []
    for row, window in enumerate(batch):
        end = row * width + len(window.inputs)
        rows.append(torch.arange(end - len(window.targets), end))
    return torch.cat(rows)


def _width(batch: Sequence[Window]) -> int:
    """Number of inputs of the longest window."""
    return max(len(window.inputs) for window in batch)


def by_window(batch: Sequence[Window], values: NDArray) -> list[NDArray]:
    """Divide values of all targets of a batch, `(n, ...)`, by window."""
    ends = np.cumsum([len(window.targets) for window in batch])
    return np.split(values, ends[:-1])
