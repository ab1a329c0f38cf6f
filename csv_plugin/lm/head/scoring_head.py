"""Eq. 3: one salience weight per token from a scoring LM's hidden states.

`w_t = softplus(theta . h_t + b)`, `h_t` the final hidden state of a frozen
causal LM at token t. States are read in blocks, never copied as a whole.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from csv_plugin.core.losses import LossTable

#: Rows of a block: 4 MB of float32 at H = 2048, which stay in the cache.
BLOCK_ROWS = 512

#: The preactivation of the weight 1.
_OF_ONE = float(np.log(np.expm1(1)))


@dataclass(frozen=True, eq=False)
class ScoringHead:
    """The heads of B benchmarks (Eq. 3), float64.

    `theta` is `(H, B)`, `bias` `(B,)`.
    """
    theta: Tensor
    bias: Tensor

    @classmethod
    def uniform(cls,
                hidden_size: int,
                n_benchmarks: int,
                device: str | torch.device = 'cpu') -> 'ScoringHead':
        """Heads that give every token the weight 1; `theta` is 0."""
        theta = torch.zeros(
            hidden_size, n_benchmarks, dtype=torch.float64, device=device)
        return cls(theta, theta.new_full([n_benchmarks], _OF_ONE))

    def select(self, benchmarks: NDArray) -> 'ScoringHead':
        """Copies of the heads of the benchmarks of an index or a mask."""
        index = torch.as_tensor(benchmarks, device=self.theta.device)
        return ScoringHead(self.theta[:, index], self.bias[index])

    def preactivations(self, states: Tensor) -> Tensor:
        """`theta . h_t + b` for every token and benchmark, `(T, B)`.

        It is float32, or float64 for such states, which have shape `(T, H)`.
        """
        dtype = working_dtype(states)
        # With theta stored as (B, H), MKL takes half the time.
        theta = self.theta.t().contiguous().to(dtype)
        bias = self.bias.to(dtype)
        result = theta.new_empty(len(states), len(bias))
        for rows, block in row_blocks(states):
            result[rows] = functional.linear(block, theta, bias)
        return result

    def weights(self, states: Tensor) -> Tensor:
        """Salience weights of all tokens, shape `(T, B)` (Eq. 3)."""
        return functional.softplus(self.preactivations(states))

    def gradient(self, states: Tensor, preactivations: Tensor,
                 by_weight: Tensor) -> tuple[Tensor, Tensor]:
        """Gradient in theta, `(H, B)`, and bias, `(B,)`, float64.

        States are `(T, H)`, preactivations of these `(T, B)`; `by_weight` is
        the derivative of a function in each weight, `(T, B)`.
        """
        by_z = by_weight * torch.sigmoid(preactivations)
        # Rows of B are far faster for MKL than `block.t() @ by_z`.
        rows_of_theta = by_z.t().to(working_dtype(states))
        total = torch.zeros_like(self.theta.t())
        for rows, block in row_blocks(states):
            total += rows_of_theta[:, rows] @ block
        return total.t(), by_z.sum(dim=0, dtype=total.dtype)


def working_dtype(states: Tensor) -> torch.dtype:
    """The type of computations with these states: float32 or float64."""
    return torch.promote_types(states.dtype, torch.float32)


def row_blocks(states: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """All rows in order, `BLOCK_ROWS` at a time, in `working_dtype`.

    All blocks share one buffer, which the next block overwrites: that is
    faster than multiplying parts of `states` in place.
    """
    buffer = torch.empty(
        BLOCK_ROWS,
        states.shape[1],
        dtype=working_dtype(states),
        device=states.device)
    for start in range(0, len(states), BLOCK_ROWS):
        part = states[start:start + BLOCK_ROWS]
        block = buffer[:len(part)]
        block.copy_(part)
        yield slice(start, start + len(part)), block


def losses_per_character(table: LossTable, states: Tensor) -> Tensor:
    """Losses divided by N_c, nats per character, `(M, T)`.

    They are float64, on the device of the states; 0 where a token is not
    scored by all models.
    """
    losses = np.where(table.scored, table.losses, 0.0)
    losses /= table.n_chars.sum()
    return torch.from_numpy(losses).to(states.device)


def weighted_losses(losses: Tensor, weights: Tensor) -> NDArray[np.float64]:
    """Eq. 1 from `losses_per_character` and weights `(T, B)`, `(M, B)`."""
    return (losses @ weights.double()).cpu().numpy()
