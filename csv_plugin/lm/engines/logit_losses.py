"""Compute losses of tokens without all logits in memory at once.

Logits are computed and used block by block, always in fp32. With bf16 logits,
a loss can be wrong by 1.5e-2 nats or more. With fp32 logits from bf16 hidden
states, the error is less than 3e-6 nats on a CPU and 1e-4 nats on a GPU
(docs/performance.md).
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

#: Rows (tokens) of a block of logits.
ROWS = 2048
#: Columns (vocabulary) of a block on a CPU: few, because its caches are small.
COLUMNS = 512
#: Columns of a block on a GPU: many, because starting each matrix product
#: takes time.
COLUMNS_ON_GPU = 8192


class HeadLogits:
    """Logits that a linear head computes from hidden states, block by block.

    States are `(N, H)`, of any float type. If states and weights have 16 bits
    and the device can sum their products in fp32, they are multiplied as they
    are; otherwise they are converted to fp32 first.
    """

    def __init__(self, hidden: Tensor, head: nn.Linear) -> None:
        same_dtype = hidden.dtype == head.weight.dtype
        self.in_16_bits = same_dtype and _multiplies_16_bits(hidden)
        self.hidden = hidden
        self.head = head
        self.n_columns = head.out_features
        self.device = hidden.device

    def rows(self, index: Tensor) -> 'HeadLogits':
        """Return the logits of n selected rows; `index` has shape `(n,)`."""
        hidden = self.hidden[index]
        if not self.in_16_bits:
            hidden = hidden.float()
        return HeadLogits(hidden, self.head)

    def block(self, start: int, stop: int) -> Tensor:
        """Return the columns `start:stop` in fp32, `(N, stop - start)`.

        The caller may overwrite them.
        """
        weight = self.head.weight[start:stop]
        if self.in_16_bits:
            logits = torch.mm(self.hidden, weight.T, out_dtype=torch.float32)
        else:
            hidden = self.hidden.float()
            logits = hidden @ weight.float().T
        if self.head.bias is not None:
            bias = self.head.bias[start:stop]
            logits += bias.float()
        return logits


def _multiplies_16_bits(values: Tensor) -> bool:
    """Return whether torch multiplies such 16-bit numbers into fp32."""
    if not values.is_cuda or torch.version.cuda is None:
        return False
    if values.dtype not in (torch.bfloat16, torch.float16):
        return False
    # torch has this since version 2.8.
    return hasattr(torch.ops.aten.mm, 'dtype')


class FullLogits:
    """Logits that a model computed itself, `(N, V)`, of any float type.

    The methods are the same as in `HeadLogits`, but `block` may return a part
    of the model's own logits instead of a copy.
    """

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self.n_columns = values.shape[1]
        self.device = values.device

    def rows(self, index: Tensor) -> 'FullLogits':
        """See `HeadLogits`; the returned logits are copies."""
        return FullLogits(self.values[index])

    def block(self, start: int, stop: int) -> Tensor:
        """Return the columns `start:stop` in fp32, `(N, stop - start)`.

        If the logits are already fp32, the result shares their memory. So the
        caller may overwrite it only if these logits came from `rows`.
        """
        return self.values[:, start:stop].float()


Logits = HeadLogits | FullLogits


def block_starts(logits: Logits) -> range:
    """Return the first column of each block; the step is the width."""
    is_on_gpu = logits.device.type == 'cuda'
    width = COLUMNS_ON_GPU if is_on_gpu else COLUMNS
    return range(0, logits.n_columns, width)


def losses_of_targets(logits: Logits, rows: Tensor,
                      targets: Tensor) -> NDArray[np.float32]:
    """Return the losses of N target tokens in nats, `(N,)`.

    `targets`, `(N,)`, are token ids. `rows`, `(N,)`, are the indices of the
    rows of `logits` that predict them.
    """
    parts = []
    batches = zip(rows.split(ROWS), targets.split(ROWS))
    for index, own_targets in batches:
        own_logits = logits.rows(index)
        parts.append(_losses_of_rows(own_logits, own_targets))
    losses = torch.cat(parts)
    return losses.cpu().numpy()


def _losses_of_rows(logits: Logits, targets: Tensor) -> Tensor:
    """Return the losses of one target per row of logits, in nats, `(N,)`.

    The largest logit is subtracted before taking exponentials, so that large
    logits neither overflow nor cancel.
    """
    target_logit = torch.zeros(targets.shape, device=targets.device)
    # The largest logit of each block.
    peaks = []
    # The sums of the exponentials of each block, after its largest logit was
    # subtracted.
    totals = []
    starts = block_starts(logits)
    for start in starts:
        stop = min(start + starts.step, logits.n_columns)
        block = logits.block(start, stop)
        # For a target outside of this block, `logit_in_block` is the logit of
        # the first or last column, which `where` then ignores.
        wanted = targets - start
        last_column = stop - start - 1
        column = wanted.clamp(0, last_column)
        logit_in_block = block.gather(1, column[:, None])[:, 0]
        target_logit = logit_in_block.where(column == wanted, target_logit)
        peak_of_block = block.amax(dim=1)
        block -= peak_of_block[:, None]
        block.exp_()
        peaks.append(peak_of_block)
        totals.append(block.sum(dim=1))
    peak_by_block = torch.stack(peaks)  # (blocks, N)
    peak = peak_by_block.amax(dim=0)
    below = peak_by_block - peak
    total_by_block = below.exp() * torch.stack(totals)
    total = total_by_block.sum(dim=0)
    # Inside an `autocast` of the caller, such as a training, the losses are
    # bfloat16 here.
    losses = total.log() + (peak - target_logit)
    return losses.float()
