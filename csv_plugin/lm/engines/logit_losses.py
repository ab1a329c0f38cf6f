"""Losses of tokens, without all logits in memory at once.

Logits are computed and used in blocks, always in fp32: with bf16 logits a
loss is off by 1.5e-2 nats or more, with fp32 logits of bf16 hidden states by
less than 3e-6 on a CPU and 1e-4 on a GPU (docs/performance.md).
"""
from typing import Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

#: Rows (tokens) of a block, and its columns (vocabulary): few on a CPU, whose
#: caches are small, many on a GPU, where starting a product takes time.
ROWS = 2048
COLUMNS = 512
COLUMNS_ON_GPU = 8192


class HeadLogits:
    """Logits that a linear head makes of hidden states, block by block.

    States are `(N, H)`, of any float type. Numbers of 16 bits are multiplied
    as they are where the device sums their products in fp32, else as fp32.
    """

    def __init__(self, hidden: Tensor, head: nn.Linear) -> None:
        self.in_16_bits = hidden.dtype == head.weight.dtype \
            and _multiplies_16_bits(hidden)
        self.hidden = hidden
        self.head = head
        self.n_columns = head.out_features
        self.device = hidden.device

    def rows(self, index: Tensor) -> 'HeadLogits':
        """The logits of n selected rows; `index` has shape `(n,)`."""
        hidden = self.hidden[index]
        if not self.in_16_bits:
            hidden = hidden.float()
        return HeadLogits(hidden, self.head)

    def block(self, start: int, stop: int) -> Tensor:
        """Columns `start:stop`, fp32 and free to overwrite, `(N, n)`."""
        weight = self.head.weight[start:stop]
        if self.in_16_bits:
            logits = torch.mm(self.hidden, weight.T, out_dtype=torch.float32)
        else:
            logits = self.hidden.float() @ weight.float().T
        if self.head.bias is not None:
            logits += self.head.bias[start:stop].float()
        return logits


def _multiplies_16_bits(values: Tensor) -> bool:
    """Return whether a product of such numbers can be had in fp32."""
    if not values.is_cuda or torch.version.cuda is None:
        return False
    if values.dtype not in (torch.bfloat16, torch.float16):
        return False
    # Since torch 2.8.
    return hasattr(torch.ops.aten.mm, 'dtype')


class FullLogits:
    """Logits `(N, V)` of a model, of any float type, read as `HeadLogits`."""

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self.n_columns = values.shape[1]
        self.device = values.device

    def rows(self, index: Tensor) -> 'FullLogits':
        """See `HeadLogits`; they are copies."""
        return FullLogits(self.values[index])

    def block(self, start: int, stop: int) -> Tensor:
        """See `HeadLogits`."""
        return self.values[:, start:stop].float()


Logits = Union[HeadLogits, FullLogits]


def block_starts(logits: Logits) -> range:
    """First columns of the blocks of logits, whose step is their width."""
    width = COLUMNS_ON_GPU if logits.device.type == 'cuda' else COLUMNS
    return range(0, logits.n_columns, width)


def losses_of_targets(logits: Logits, rows: Tensor,
                      targets: Tensor) -> NDArray[np.float32]:
    """Losses of N target tokens, nats. `(N,)`.

    `rows` are the positions whose logits predict each target, and `targets`
    token ids, both `(N,)`.
    """
    parts = []
    for index, target in zip(rows.split(ROWS), targets.split(ROWS)):
        parts.append(_losses_of_rows(logits.rows(index), target))
    return torch.cat(parts).cpu().numpy()


def _losses_of_rows(logits: Logits, targets: Tensor) -> Tensor:
    """Losses of one target a row. `(N,)`.

    Exponentials are taken of differences from the largest logit, so that
    large logits neither overflow nor cancel.
    """
    target_logit = torch.zeros(targets.shape, device=targets.device)
    peaks = []
    totals = []
    starts = block_starts(logits)
    for start in starts:
        stop = min(start + starts.step, logits.n_columns)
        block = logits.block(start, stop)
        # A target outside of the block reads its first or last column, which
        # does not count.
        wanted = targets - start
        column = wanted.clamp(0, stop - start - 1)
        found = block.gather(1, column[:, None])[:, 0]
        target_logit = found.where(column == wanted, target_logit)
        peak_of_block = block.amax(dim=1)
        block -= peak_of_block[:, None]
        peaks.append(peak_of_block)
        totals.append(block.exp_().sum(dim=1))
    peak = torch.stack(peaks).amax(dim=0)
    below = torch.stack(peaks) - peak
    total = (below.exp() * torch.stack(totals)).sum(dim=0)
    # An outer `autocast`, as of a model in training, makes them bfloat16.
    return (total.log() + (peak - target_logit)).float()
