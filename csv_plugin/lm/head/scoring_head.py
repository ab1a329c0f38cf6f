"""Eq. 3: one salience weight per token from a scoring LM's hidden states.

`w_t = act(theta . h_t + b)`, `h_t` the final hidden state of a frozen causal
LM at token t. States are read in blocks, never copied as a whole.
"""
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from csv_plugin.core.losses import LossTable

#: Rows of a block: 4 MB of float32 at H = 2048, which stay in the cache.
BLOCK_ROWS = 512


@dataclass(frozen=True)
class Activation:
    """An activation of the head, its derivative, and where it is 1."""
    apply: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    inverse_of_one: float


#: Activation functions by the names that settings use.
ACTIVATIONS = {
    'softplus':
    Activation(functional.softplus, torch.sigmoid, float(np.log(np.expm1(1)))),
    'linear':
    Activation(lambda z: z, torch.ones_like, 1.0),
    'relu':
    Activation(torch.relu, lambda z: (z > 0).to(z.dtype), 1.0),
}


@dataclass(frozen=True, eq=False)
class ScoringHead:
    """The heads of B benchmarks (Eq. 3).

    Args:
        theta (Tensor): float64, shape `(H, B)`.
        bias (Tensor): float64, shape `(B,)`.
        activation (str): A key of `ACTIVATIONS`.
    """
    theta: Tensor
    bias: Tensor
    activation: str = 'softplus'

    @classmethod
    def uniform(cls,
                hidden_size: int,
                n_benchmarks: int,
                activation: str = 'softplus',
                device: str | torch.device = 'cpu') -> 'ScoringHead':
        """Heads that give every token the weight 1; `theta` is 0."""
        theta = torch.zeros(
            hidden_size, n_benchmarks, dtype=torch.float64, device=device)
        head = cls(theta, theta.new_zeros(n_benchmarks), activation)
        head.bias.fill_(ACTIVATIONS[activation].inverse_of_one)
        return head

    def select(self, benchmarks: NDArray[np.int64]) -> 'ScoringHead':
        """Copies of the heads of the benchmarks with the given indices."""
        index = torch.as_tensor(benchmarks, device=self.theta.device)
        return ScoringHead(self.theta[:, index], self.bias[index],
                           self.activation)

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

    def activate(self, preactivations: Tensor) -> Tensor:
        """Weights from preactivations, same shape."""
        return ACTIVATIONS[self.activation].apply(preactivations)

    def weights(self, states: Tensor) -> Tensor:
        """Salience weights of all tokens, shape `(T, B)` (Eq. 3)."""
        return self.activate(self.preactivations(states))

    def gradient(self, states: Tensor, preactivations: Tensor,
                 by_weight: Tensor) -> tuple[Tensor, Tensor]:
        """Gradient in theta, `(H, B)`, and bias, `(B,)`, float64.

        Args:
            states (Tensor): Hidden states, shape `(T, H)`.
            preactivations (Tensor): From these states, shape `(T, B)`.
            by_weight (Tensor): Derivative of a function in each weight,
                `(T, B)`.
        """
        slope = ACTIVATIONS[self.activation].slope(preactivations)
        by_z = by_weight * slope
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
    """Losses divided by N_c, on the device of the states, `(M, T)`.

    They are float64, nats per character; 0 where a token is not scored by
    all models.
    """
    losses = np.where(table.scored, table.losses, 0.0) / table.n_chars.sum()
    return torch.from_numpy(losses).to(states.device)


def weighted_losses(losses: Tensor, weights: Tensor) -> NDArray[np.float64]:
    """Eq. 1, nats per character, shape `(M, B)`.

    `losses` are from `losses_per_character`, `weights` have shape `(T, B)`.
    """
    return (losses @ weights.double()).cpu().numpy()
