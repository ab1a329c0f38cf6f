"""Algorithm 1: token losses of one tokenizer on the tokens of another.

Source: Ge et al., ACL 2025, arXiv 2506.13216. Every source token spreads its
loss evenly over its bytes, and every target token adds up the bytes that it
covers. On ASCII text this is the paper's algorithm. Bytes take the place of
its characters because byte-level tokenizers cut inside a character: there the
paper's line 6 keeps the last piece's loss alone, while bytes keep the sum.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from csv_plugin.core.conventions import InputError, short_repr
from csv_plugin.core.spans import TokenSpans


@dataclass(frozen=True, eq=False)
class MappedLosses:
    """Losses on the target tokens, and how much of each token they cover.

    Args:
        losses (NDArray): Nats; NaN where a token has bytes but no scored
            source token touches it. A token that is scored in part holds
            that part. Shape `(n_target,)` or `(M, n_target)`.
        scored_bytes (NDArray): Bytes of each target token that lie in
            scored source tokens. Shape of `losses`, int64.
        widths (NDArray): Bytes of each target token. Shape `(n_target,)`.
    """
    losses: NDArray[np.float64]
    scored_bytes: NDArray[np.int64]
    widths: NDArray[np.int64]

    __repr__ = short_repr

    @property
    def fully_scored(self) -> NDArray[np.float64]:
        """`losses` with NaN where any byte of the token is unscored."""
        return np.where(self.scored_bytes < self.widths, np.nan, self.losses)


@dataclass(frozen=True, eq=False)
class LossMap:
    """Algorithm 1 between two tokenizations, as a sparse operator.

    Built once by `for_texts`, then called on the losses of any number of
    models. The tokens of all texts stand in one row, text after text.

    A source token without bytes gives its whole loss to the target token
    that holds the byte it stands before, or the last byte at the end of the
    text. A loss is dropped only where no target token holds the byte: in
    gaps of the target, and in texts without bytes.

    Args:
        operator (csr_array): Share of each source token's loss that each
            target token receives: shared bytes over the source token's
            width. Shape `(n_target, n_source)`.
        source_widths (NDArray): Bytes of each token. Shape `(n_source,)`.
        target_widths (NDArray): Bytes of each token. Shape `(n_target,)`.

    >>> source = TokenSpans([0, 1], [1, 3], n_bytes=3)
    >>> target = TokenSpans([0, 2], [2, 3], n_bytes=3)
    >>> LossMap.for_texts([source], [target])([1.0, 4.0]).losses
    array([3., 2.])
    """
    operator: csr_array
    source_widths: NDArray[np.int64]
    target_widths: NDArray[np.int64]

    __repr__ = short_repr

    @classmethod
    def for_texts(cls, sources: Sequence[TokenSpans],
                  targets: Sequence[TokenSpans]) -> 'LossMap':
        """The map between two tokenizations of many texts, block diagonal.

        Args:
            sources (Sequence[TokenSpans]): Tokens whose losses are known,
                text by text. Length S.
            targets (Sequence[TokenSpans]): Tokens that receive them. Length
                S.

        Raises:
            InputError: There is no text, or the two do not have the same
                texts with the same numbers of bytes.
        """
        _check_same_texts(sources, targets)
        source, target = _end_to_end(sources), _end_to_end(targets)
        wide, empty = _overlaps(source, target), _landings(source, target)
        shares, rows, columns = (
            np.concatenate(part) for part in zip(wide, empty))
        return cls(
            csr_array((shares, (rows, columns)),
                      shape=(len(target.starts), len(source.starts))),
            source.ends - source.starts, target.ends - target.starts)

    def __call__(self, losses: ArrayLike) -> MappedLosses:
        """Map the losses of one model or of M models.

        Args:
            losses (ArrayLike): Nats, NaN for unscored tokens. Shape
                `(n_source,)` or `(M, n_source)`.

        Returns:
            MappedLosses: For one model or for M. Where the target tokens
                tile a text, its scored losses keep their sum.

        Raises:
            InputError: The shape is wrong or a loss is infinite.
        """
        values = loss_array('source losses', losses)
        if values.ndim > 2 or values.shape[-1:] != self.source_widths.shape:
            n = len(self.source_widths)
            raise InputError('source losses', f'shape ({n},) or (M, {n})',
                             str(values.shape), 'Give every token one loss.')
        scored = ~np.isnan(values)
        mapped = self._spread(np.where(scored, values, 0))
        touched = self._spread(scored) > 0
        mapped[~touched & (self.target_widths > 0)] = np.nan
        # Spread like losses, widths come out as the bytes that are shared.
        covered = np.rint(self._spread(scored * self.source_widths))
        return MappedLosses(mapped, covered.astype(np.int64),
                            self.target_widths)

    def _spread(self, values: NDArray) -> NDArray[np.float64]:
        # Row by row: a product with all rows would transpose them twice.
        rows = [self.operator @ row for row in np.atleast_2d(values)]
        return np.reshape(rows, values.shape[:-1] + self.target_widths.shape)


def loss_array(where: str, losses: ArrayLike) -> NDArray[np.float64]:
    """Losses as float64, NaN for unscored tokens.

    Args:
        where (str): What to call the losses in an error.
        losses (ArrayLike): Nats. Any shape.

    Returns:
        NDArray: The same losses.

    Raises:
        InputError: A loss is infinite.
    """
    array = np.asarray(losses, np.float64)
    infinite = np.argwhere(np.isinf(array))
    if len(infinite):
        index = tuple(infinite[0].tolist())
        raise InputError(where, 'finite losses, or NaN for unscored tokens',
                         f'{array[index]} at index {index}',
                         'Score the text again, in higher precision.')
    return array


class _Tokens(NamedTuple):
    """Tokens of S texts laid end to end in one stretch of bytes."""
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    token_offsets: NDArray[np.int64]
    byte_offsets: NDArray[np.int64]


# Of each entry: the share of a loss, its target token and source token.
_Entries = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def _end_to_end(texts: Sequence[TokenSpans]) -> _Tokens:
    byte_offsets = _offsets([spans.n_bytes for spans in texts])
    placed = list(zip(byte_offsets, texts))
    return _Tokens(
        np.concatenate([first + spans.starts for first, spans in placed]),
        np.concatenate([first + spans.ends for first, spans in placed]),
        _offsets([len(spans) for spans in texts]), byte_offsets)


def _overlaps(source: _Tokens, target: _Tokens) -> _Entries:
    """Entries of source tokens with bytes: shared bytes over width."""
    bounds = np.unique(
        np.concatenate(
            [source.starts, source.ends, target.starts, target.ends]))
    # Between two neighbouring bounds lies at most one token of each side.
    rows = _holders(target, bounds[:-1])
    columns = _holders(source, bounds[:-1])
    shared = (rows >= 0) & (columns >= 0)
    rows, columns = rows[shared], columns[shared]
    widths = (source.ends - source.starts)[columns]
    return np.diff(bounds)[shared] / widths, rows, columns


def _landings(source: _Tokens, target: _Tokens) -> _Entries:
    """Entries of source tokens without bytes: the whole loss to one token."""
    counts = np.diff(source.token_offsets)
    first = np.repeat(source.byte_offsets[:-1], counts)
    last = np.repeat(source.byte_offsets[1:], counts) - 1
    empty = (source.starts == source.ends) & (first <= last)
    rows = _holders(target, np.minimum(source.starts, last)[empty])
    held = rows >= 0
    return (np.ones(held.sum()), rows[held], np.flatnonzero(empty)[held])


def _holders(tokens: _Tokens,
             positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The token that holds each byte, -1 where none does."""
    latest = np.searchsorted(tokens.starts, positions, side='right') - 1
    # Index -1 stands before the first token; the appended 0 is its end.
    held = positions < np.append(tokens.ends, 0)[latest]
    return np.where(held, latest, -1)


def _offsets(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(counts, dtype=np.int64))


def _check_same_texts(sources: Sequence[TokenSpans],
                      targets: Sequence[TokenSpans]) -> None:
    if not len(targets) or len(sources) != len(targets):
        raise InputError(
            'loss mapping', 'spans of the same texts, at least one',
            f'{len(sources)} source and {len(targets)} target '
            'texts', 'Tokenize every text with both tokenizers.')
    for index, (source, target) in enumerate(zip(sources, targets)):
        if source.n_bytes != target.n_bytes:
            raise InputError(
                f'loss mapping, text {index}', 'spans of the same text',
                f'{source.n_bytes} source and {target.n_bytes} target bytes',
                'Tokenize the same text with both tokenizers.')
