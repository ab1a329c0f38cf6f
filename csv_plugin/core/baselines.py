"""The baselines: one number per model from its token losses.

Every number is a loss: lower is better. Source of the all-token and the
label-token loss: Ge et al., ACL 2025, arXiv 2506.13216. All of them count the
tokens that every model scored (`LossTable.scored`), and raise an `InputError`
if there is none.
"""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable


def mean_token_loss(
        table: LossTable,
        tokens: Optional[NDArray[np.bool_]] = None) -> NDArray[np.float64]:
    """The all-token loss: the mean over tokens.

    Args:
        table (LossTable): M models.
        tokens (Optional[NDArray]): Marks the tokens to count, `(T,)`: with
            those of the answers, it is the label-token loss.

    Returns:
        NDArray: Nats per token. Shape `(M,)`.
    """
    return _losses_at(table, tokens).mean(axis=1)


def bits_per_byte(table: LossTable) -> NDArray[np.float64]:
    """Bits per byte of the corpus: summed loss over summed bytes.

    As in lm-eval, the length is that of all raw texts, so this is the corpus'
    bits per byte if all tokens are scored and a lower bound if not.

    Returns:
        NDArray: Shape `(M,)`.
    """
    return _bits(table) / table.n_bytes.sum()


def bits_per_character(table: LossTable) -> NDArray[np.float64]:
    """As `bits_per_byte`, with characters (code points) in place of bytes."""
    return _bits(table) / table.n_chars.sum()


def _bits(table: LossTable) -> NDArray[np.float64]:
    return _losses_at(table, None).sum(axis=1) / np.log(2)


def _losses_at(table: LossTable,
               tokens: Optional[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """Losses of those given tokens that every model scored, at least one."""
    if tokens is None:
        tokens = np.ones_like(table.scored)
    common = tokens & table.scored
    if not common.any():
        n_scored = np.count_nonzero(~np.isnan(table.losses[:, tokens]), axis=1)
        fewest, model = min(zip(n_scored, table.models), default=(0, ''))
        raise InputError(
            'loss table', 'a token that every model scored',
            f'none of {np.count_nonzero(tokens)}, of which {model!r} scored '
            f'the fewest, {fewest}',
            'Leave out models that miss texts, or score those texts.')
    return table.losses[:, common]
