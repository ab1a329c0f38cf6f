"""Standardise the hidden states of a scoring LM, block by block."""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.arrays import Booleans, Floats


@dataclass(frozen=True, eq=False)
class StateScale:
    """Mean and spread of each dimension of hidden states, both `(H,)`.

    The spread is the standard deviation; where it is 0, it is replaced by 1.
    """
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, states: Tensor, counted: Booleans) -> 'StateScale':
        """Return the scale of states, `(T, H)`, over the counted tokens.

        `counted`, `(T,)`, is a mask of these tokens.
        """
        tokens = np.flatnonzero(counted)
        n_tokens = len(tokens)
        hidden_size = states.shape[1]
        total = np.zeros(hidden_size)
        squares = np.zeros(hidden_size)
        for block in _blocks(states, tokens):
            total += block.sum(axis=0)
            squares += (block**2).sum(axis=0)
        mean = total / n_tokens
        variance = squares / n_tokens - mean**2
        # A lower variance is only the rounding error of a constant.
        least = 1e-12 * mean**2
        variance = np.where(variance > least, variance, 1)
        return cls(mean, np.sqrt(variance))

    def apply(self, states: Tensor) -> Tensor:
        """Return standardised states, float32, `(T, H)`."""
        mean = torch.from_numpy(self.mean).float()
        spread = torch.from_numpy(self.spread).float()
        # A copy, which is then changed in place to save memory.
        standardised = states.to(torch.float32, copy=True)
        standardised.sub_(mean)
        standardised.div_(spread)
        return standardised


def _blocks(states: Tensor, tokens: NDArray) -> Iterator[Floats]:
    """Yield the states at some tokens in blocks, each `(n, H)`."""
    # A block of 4096 tokens takes 64 MB in float64 if H is 2048.
    n_tokens = 4096
    for first in range(0, len(tokens), n_tokens):
        rows = torch.from_numpy(tokens[first:first + n_tokens])
        block = states[rows].double()
        yield block.cpu().numpy()
