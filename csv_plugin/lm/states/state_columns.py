"""Feature columns of a scoring LM's hidden states, never held at once."""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array
from torch import Tensor

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable, counted_losses
from csv_plugin.core.losses import LossTable
from csv_plugin.lm.states.hidden_states import StateScale

#: Tokens of a block: 64 MB of float64 at H = 2048.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class StateColumns:
    """Phi of a scoring LM (Eq. 3 without activation) as feature columns.

    The loss per character, then the products of losses with hidden states
    that are standardised over the tokens with a weight. With coefficients
    `c` the weight of such a token t is `c[0] + h_t . c[1:]`.

    Args:
        states (Tensor): At all tokens, any floating type, `(T, H)`; may be
            mapped from a file.
        scale (StateScale): Of the states of the tokens with a weight.
        tokens (NDArray): Their indices, rising.
        scored (NDArray): Tokens that count, bool, `(T,)`.
        n_chars (int): N_c of Eq. 1.
    """
    states: Tensor
    scale: StateScale
    tokens: NDArray[np.int64]
    scored: NDArray[np.bool_]
    n_chars: int

    @classmethod
    def of(cls,
           states: Tensor,
           table: LossTable,
           part: Optional[NDArray[np.bool_]] = None) -> 'StateColumns':
        """Columns of the tokens that every model of a table scored.

        Args:
            states (Tensor): At all tokens, shape `(T, H)`.
            table (LossTable): Losses of M models on those tokens.
            part (Optional[NDArray]): Tokens that get a weight, bool,
                `(T,)`; the others get none. By default all that count.

        Raises:
            InputError: If there is not one state per token, or as in
                `counted_losses`.
        """
        _, counted = counted_losses(table)
        if len(states) != len(counted):
            raise InputError(
                'hidden states', f'{len(counted)}, one a token',
                str(len(states)),
                "Map the losses onto the scoring LM's own tokens.")
        tokens = np.flatnonzero(counted if part is None else counted & part)
        total = squares = np.zeros(states.shape[1])
        for _, block in _blocks(states, tokens):
            total = total + block.sum(axis=0)
            squares = squares + (block**2).sum(axis=0)
        scale = StateScale.of_moments(total / len(tokens),
                                      squares / len(tokens))
        return cls(states, scale, tokens, counted, int(table.n_chars.sum()))

    @property
    def units(self) -> tuple[str, ...]:
        """'loss', then one name per direction of the states."""
        return ('loss', *(f'h{i}' for i in range(self.states.shape[1])))

    @property
    def uniform(self) -> NDArray[np.float64]:
        """1 for the loss, 0 for the directions, `(1 + H,)`."""
        return np.append(1., np.zeros(self.states.shape[1]))

    def features(self, table: LossTable) -> FeatureTable:
        """See `core.blocks.Columns`; nats per character."""
        losses, counted = counted_losses(table, self.scored)
        values = np.zeros((len(losses), len(self.units)))
        values[:, 0] = losses[:, self.tokens].sum(axis=1)
        for tokens, block in _blocks(self.states, self.tokens):
            values[:, 1:] += losses[:, tokens] @ self.scale.apply(block)
        return FeatureTable(table.models, self.units, values / self.n_chars,
                            self.uniform, counted)

    def combine(self, coefficients: csc_array) -> csc_array:
        """See `core.blocks.Columns`."""
        used = np.flatnonzero(np.diff(coefficients.indptr))
        dense = coefficients[:, used].toarray()
        weights = np.zeros((len(self.tokens), len(used)))
        weights += dense[0]
        done = 0
        for tokens, block in _blocks(self.states, self.tokens):
            weights[done:done +
                    len(tokens)] += self.scale.apply(block) @ dense[1:]
            done += len(tokens)
        rows = np.tile(self.tokens, len(used))
        columns = np.repeat(used, len(self.tokens))
        return csc_array((weights.T.ravel() / self.n_chars, (rows, columns)),
                         shape=(len(self.scored), coefficients.shape[1]))


def _blocks(
    states: Tensor, tokens: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The states at some tokens, block by block, `(n, H)`."""
    for first in range(0, len(tokens), _BLOCK):
        part = tokens[first:first + _BLOCK]
        block = states[torch.from_numpy(part)]
        yield part, block.double().cpu().numpy()
