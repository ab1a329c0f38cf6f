"""Feature columns of a scoring LM's hidden states, computed in blocks."""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array
from torch import Tensor

from csv_plugin.core.features import (Columns, FeatureTable, counted_losses,
                                      counted_tokens)
from csv_plugin.core.losses import LossTable

#: Tokens of a block: 64 MB of float64 at H = 2048.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class StateScale:
    """Mean and spread of hidden states over the tokens of the texts, `(H,)`.

    The spread is the standard deviation, 1 where it is 0.
    """
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of_moments(cls, mean: NDArray[np.float64],
                   mean_square: NDArray[np.float64]) -> 'StateScale':
        """Scale from the mean state and the mean of the squares, `(H,)`."""
        variance = mean_square - mean**2
        return cls(mean,
                   np.sqrt(np.where(variance > 1e-12 * mean**2, variance, 1)))

    def apply(self, states: NDArray) -> NDArray[np.float64]:
        """Standardised states, shape `(n, H)`."""
        return (states - self.mean) / self.spread


@dataclass(frozen=True, eq=False)
class StateColumns:
    """Hidden states of a scoring LM as feature columns.

    Without the activation of Eq. 3, the weight of token t is `c_0 + theta .
    h_t`, so the capability score of a model is the same weighted sum of `phi =
    sum_t loss_t h_t / N_c`: an H-vector per model. The columns are the loss
    per character, then `phi` of states that are standardised over the tokens
    with a weight, whose indices are `tokens`. States are `(T, H)`, of any
    floating type, and may be mapped from a file.
    """
    states: Tensor
    scale: StateScale
    tokens: NDArray[np.int64]
    columns: Columns
    n_chars: int

    @classmethod
    def of(cls,
           states: Tensor,
           table: LossTable,
           part: Optional[NDArray[np.bool_]] = None) -> 'StateColumns':
        """Columns of the tokens that every model of a table scored.

        `part` are the tokens that get a weight, bool, `(T,)`; all by default.
        """
        counted = counted_tokens(table)
        tokens = np.flatnonzero(counted if part is None else counted & part)
        total = squares = np.zeros(states.shape[1])
        for _, block in _blocks(states, tokens):
            total = total + block.sum(axis=0)
            squares = squares + (block**2).sum(axis=0)
        scale = StateScale.of_moments(total / len(tokens),
                                      squares / len(tokens))
        columns = Columns(('loss', *(f'h{i}' for i in range(len(total)))),
                          np.append(1., np.zeros(len(total))),
                          table.fingerprint, counted)
        return cls(states, scale, tokens, columns, int(table.n_chars.sum()))

    def features(self, table: LossTable) -> FeatureTable:
        """See `core.training.LossColumns`; nats per character."""
        self.columns.check_texts(table.fingerprint)
        losses = counted_losses(table, self.columns.scored)[:, self.tokens]
        values = np.zeros((len(losses), len(self.columns.units)))
        values[:, 0] = losses.sum(axis=1)
        for rows, block in _blocks(self.states, self.tokens):
            values[:, 1:] += losses[:, rows] @ self.scale.apply(block)
        return FeatureTable(table.models, self.columns, values / self.n_chars)

    def combine(self, coefficients: csc_array) -> csc_array:
        """See `core.training.LossColumns`."""
        used = np.flatnonzero(np.diff(coefficients.indptr))
        dense = coefficients[:, used].toarray()
        weights = np.tile(dense[0], (len(self.tokens), 1))
        for rows, block in _blocks(self.states, self.tokens):
            weights[rows] += self.scale.apply(block) @ dense[1:]
        places = (np.tile(self.tokens,
                          len(used)), np.repeat(used, len(self.tokens)))
        return csc_array((weights.T.ravel() / self.n_chars, places),
                         shape=(len(self.states), coefficients.shape[1]))


def _blocks(states: Tensor,
            tokens: NDArray) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """The states at some tokens, `(n, H)`, and which of the tokens these are.
    """
    for first in range(0, len(tokens), _BLOCK):
        rows = slice(first, first + _BLOCK)
        block = states[torch.from_numpy(tokens[rows])]
        yield rows, block.double().cpu().numpy()
