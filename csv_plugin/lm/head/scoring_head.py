"""Compute salience weights of tokens from hidden states (Eq. 3).

The weight is `w_t = softplus(theta . h_t + b)`, where `h_t` is the final
hidden state of a frozen causal LM at token t. States are converted block by
block, so that there is never a converted copy of all states in memory.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from csv_plugin.core.arrays import Floats
from csv_plugin.core.features import counted_losses
from csv_plugin.core.losses import LossTable

#: Rows of a block: 4 MB of float32 at H = 2048, which stay in the cache.
BLOCK_ROWS = 512

#: The preactivation, and the bias of uniform heads, that gives the weight 1.
UNIFORM_BIAS = float(np.log(np.expm1(1)))


@dataclass(frozen=True, eq=False)
class ScoringHead:
    """The heads of B benchmarks (Eq. 3), in float64.

    `theta`, `(H, B)`, is the weight of each dimension of the hidden states,
    and `bias`, `(B,)`, is added to the product.
    """
    theta: Tensor
    bias: Tensor

    @classmethod
    def uniform(cls,
                hidden_size: int,
                n_benchmarks: int,
                device: str | torch.device = 'cpu') -> 'ScoringHead':
        """Return heads that give every token the weight 1; `theta` is 0."""
        theta = torch.zeros(
            hidden_size, n_benchmarks, dtype=torch.float64, device=device)
        bias = theta.new_full([n_benchmarks], UNIFORM_BIAS)
        return cls(theta, bias)

    def select(self, benchmarks: NDArray) -> 'ScoringHead':
        """Return copies of the heads of benchmarks, by indices or a mask."""
        index = torch.as_tensor(benchmarks, device=self.theta.device)
        theta = self.theta[:, index]
        bias = self.bias[index]
        return ScoringHead(theta, bias)

    def preactivations(self, states: Tensor) -> Tensor:
        """Return `theta . h_t + b` for every token and benchmark, `(T, B)`.

        States are `(T, H)`. The result is float64 if the states are float64,
        else float32.
        """
        dtype = working_dtype(states)
        # With theta stored as (B, H), MKL takes half the time.
        by_benchmark = self.theta.t().contiguous()
        theta = by_benchmark.to(dtype)
        bias = self.bias.to(dtype)
        preactivations = theta.new_empty(len(states), len(bias))
        for rows, block in row_blocks(states):
            preactivations[rows] = functional.linear(block, theta, bias)
        return preactivations

    def weights(self, states: Tensor) -> Tensor:
        """Return the salience weights of all tokens, `(T, B)` (Eq. 3)."""
        preactivations = self.preactivations(states)
        return weights_of(preactivations)

    def gradient(self, states: Tensor, preactivations: Tensor,
                 by_weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradient of a function of the weights, in float64.

        The first tensor is the gradient with respect to theta, `(H, B)`, the
        second with respect to the bias, `(B,)`. States are `(T, H)`; their
        preactivations are `(T, B)`. `by_weight`, `(T, B)`, is the derivative
        of the function with respect to each weight.
        """
        by_preactivation = by_weight * torch.sigmoid(preactivations)
        # Transposed to one row per benchmark, `(B, T)`, because the product
        # below is then far faster in MKL than `block.t() @ by_preactivation`.
        by_benchmark = by_preactivation.t().to(working_dtype(states))
        by_theta = torch.zeros_like(self.theta.t())
        for rows, block in row_blocks(states):
            by_theta += by_benchmark[:, rows] @ block
        by_bias = by_preactivation.sum(dim=0, dtype=by_theta.dtype)
        return by_theta.t(), by_bias


def weights_of(preactivations: Tensor) -> Tensor:
    """Return the salience weights of Eq. 3 from their preactivations."""
    return functional.softplus(preactivations)


def working_dtype(states: Tensor) -> torch.dtype:
    """Return the type to compute in with these states: float32 or float64."""
    return torch.promote_types(states.dtype, torch.float32)


def row_blocks(states: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of `BLOCK_ROWS` rows in order, in `working_dtype`.

    Each block comes with the slice of its rows. All blocks share one buffer,
    which the next block overwrites: that is faster than multiplying slices of
    `states` directly.
    """
    buffer = torch.empty(
        BLOCK_ROWS,
        states.shape[1],
        dtype=working_dtype(states),
        device=states.device)
    for start in range(0, len(states), BLOCK_ROWS):
        of_block = states[start:start + BLOCK_ROWS]
        n_rows = len(of_block)
        block = buffer[:n_rows]
        block.copy_(of_block)
        rows = slice(start, start + n_rows)
        yield rows, block


def losses_per_character(table: LossTable, counted: NDArray,
                         states: Tensor) -> Tensor:
    """Return losses divided by the number of characters N_c, `(M, T)`.

    They are in nats per character, float64, and on the device of `states`.
    `counted`, `(T,)`, is the mask of the tokens that count, such as
    `table.scored`; losses on all other tokens are 0. Raises an `InputError` if
    a model did not score a token that counts.
    """
    losses = counted_losses(table, counted)
    losses /= table.n_chars.sum()
    return torch.from_numpy(losses).to(states.device)


def weighted_losses(losses: Tensor, weights: Tensor) -> Floats:
    """Return the capability scores of Eq. 1, `(M, B)`.

    `losses`, `(M, T)`, are from `losses_per_character`; `weights` are
    `(T, B)`.
    """
    scores = losses @ weights.double()
    return scores.cpu().numpy()
