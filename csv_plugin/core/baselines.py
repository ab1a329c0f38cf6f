"""The baselines: one number per model from its token losses.

Every number is a loss: lower is better. Source of the all-token and the
label-token loss: Ge et al., ACL 2025, arXiv 2506.13216.
"""
import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable


def mean_token_loss(table: LossTable) -> NDArray[np.float64]:
    """The all-token loss: the mean over tokens.

    Scored: the tokens that every model scored (`LossTable.scored`).

    Args:
        table (LossTable): M models.

    Returns:
        NDArray: Nats per token. Shape `(M,)`.

    Raises:
        InputError: No token is scored by every model.
    """
    return _all_losses(table).mean(axis=1)


def label_token_loss(table: LossTable,
                     label_mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The label-token loss: the mean over the tokens of the answers.

    Scored: the tokens of `label_mask` that every model scored
    (`LossTable.scored`).

    Args:
        table (LossTable): M models.
        label_mask (NDArray): Marks the answers' tokens. Shape `(T,)`, bool.

    Returns:
        NDArray: Nats per token. Shape `(M,)`.

    Raises:
        InputError: The mask does not fit, or no token of it is scored by
            every model.
    """
    if label_mask.shape != table.scored.shape or label_mask.dtype != bool:
        raise InputError('label_mask',
                         f'booleans of shape {table.scored.shape}',
                         f'{label_mask.dtype} of shape {label_mask.shape}',
                         'Mark every token True or False.')
    return _losses_at(table, label_mask, 'label_mask').mean(axis=1)


def bits_per_byte(table: LossTable) -> NDArray[np.float64]:
    """Bits per byte of the corpus: summed loss over summed bytes.

    Scored: the tokens that every model scored (`LossTable.scored`). As in
    lm-eval, the length is that of all raw texts, so this is the corpus' bits
    per byte if all tokens are scored and a lower bound if not.

    Args:
        table (LossTable): M models.

    Returns:
        NDArray: Bits per byte. Shape `(M,)`.

    Raises:
        InputError: No token is scored by every model, or the texts are
            empty.
    """
    return _bits_per(table, 'bytes', table.n_bytes)


def bits_per_character(table: LossTable) -> NDArray[np.float64]:
    """Bits per character of the corpus: summed loss over summed characters.

    Scored: as in `bits_per_byte`, with characters (code points) in place of
    bytes.

    Args:
        table (LossTable): M models.

    Returns:
        NDArray: Bits per character. Shape `(M,)`.

    Raises:
        InputError: No token is scored by every model, or the texts are
            empty.
    """
    return _bits_per(table, 'characters', table.n_chars)


def _bits_per(table: LossTable, unit: str,
              lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    nats = _all_losses(table).sum(axis=1)
    length = lengths.sum()
    if length == 0:
        raise InputError('bits per length', f'texts with {unit}', '0 in all',
                         'Give a validation set that is not empty.')
    return nats / (length * np.log(2))


def _all_losses(table: LossTable) -> NDArray[np.float64]:
    return _losses_at(table, np.ones_like(table.scored), 'loss table')


def _losses_at(table: LossTable, tokens: NDArray[np.bool_],
               where: str) -> NDArray[np.float64]:
    """Losses of those given tokens that every model scored, at least one."""
    common = tokens & table.scored
    if not common.any():
        n_scored = np.count_nonzero(~np.isnan(table.losses[:, tokens]), axis=1)
        fewest, model = min(zip(n_scored, table.models), default=(0, ''))
        raise InputError(
            where, 'a token that every model scored',
            f'none of {np.count_nonzero(tokens)}, of which {model!r} scored '
            f'the fewest, {fewest}',
            'Leave out models that miss texts, or score those texts.')
    return table.losses[:, common]
