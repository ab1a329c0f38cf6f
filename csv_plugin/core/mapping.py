"""Algorithm 1: token losses of one tokenizer on the tokens of another.

Source: Ge et al., ACL 2025, arXiv 2506.13216. Every source token spreads its
loss evenly over its bytes, and every target token adds up its bytes. On ASCII
text this is the paper's algorithm. Bytes replace characters because byte-level
tokenizers cut inside a character: there the paper's line 6 keeps only the last
piece's loss, while bytes keep the sum.
"""
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.spans import TextSpans, TokenSpans


def map_losses(losses: NDArray[np.float64], sources: Sequence[TokenSpans],
               targets: Sequence[TokenSpans]) -> NDArray[np.float64]:
    """Map losses of M models onto other tokens of the same S texts.

    Scored: the target tokens all of whose bytes the model scored. A source
    token without bytes gives its loss to the target token of the next byte, or
    of the last byte. A loss is dropped where no target token covers a byte.
    Losses are in nats, NaN for unscored tokens, all texts in one row: `(M,
    n_source)` to `(M, n_target)`.

    >>> source = TokenSpans([0, 1, 3], [1, 3, 3], n_bytes=3)
    >>> target = TokenSpans([0, 2], [2, 3], n_bytes=3)
    >>> map_losses(np.array([[1.0, 4.0, 0.5]]), [source], [target])
    array([[3. , 2.5]])
    """
    source, target = TextSpans.of(sources), TextSpans.of(targets)
    source_widths = source.ends - source.starts
    target_widths = target.ends - target.starts
    operator = _operator(source, target)
    mapped = np.empty((len(losses), len(target_widths)))
    for model, row in enumerate(losses):
        scored = ~np.isnan(row)
        mapped[model] = operator @ np.where(scored, row, 0)
        # Spread like losses, widths come out as the bytes that are shared.
        covered = np.rint(operator @ (scored * source_widths))
        mapped[model, covered < target_widths] = np.nan
    return mapped


class _Entries(NamedTuple):
    """Entries of a sparse matrix: shares of losses of source tokens.

    Each is the share of a loss that goes to a target token (the row) from a
    source token (the column). `(n,)` each.
    """
    shares: NDArray[np.float64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


@lru_cache(maxsize=8)  # many models have one tokenizer
def _operator(source: TextSpans,
              target: TextSpans) -> 'scipy.sparse.csr_array':
    """Shares of source tokens in target tokens, `(n_target, n_source)`."""
    wide = _overlaps(source, target)
    empty = _entries_without_bytes(source, target)
    shares = np.append(wide.shares, empty.shares)
    rows = np.append(wide.rows, empty.rows)
    columns = np.append(wide.columns, empty.columns)
    shape = len(target.starts), len(source.starts)
    return scipy.sparse.csr_array((shares, (rows, columns)), shape=shape)


def _overlaps(source: TextSpans, target: TextSpans) -> _Entries:
    """Entries of source tokens with bytes: shared bytes over width."""
    bounds = np.unique(np.concatenate([*source.placed, *target.placed]))
    # Between two neighbouring bounds lies at most one token of each side.
    rows = _holders(target, bounds[:-1])
    columns = _holders(source, bounds[:-1])
    is_shared = (rows >= 0) & (columns >= 0)
    rows, columns = rows[is_shared], columns[is_shared]
    n_bytes = np.diff(bounds)[is_shared]
    widths = (source.ends - source.starts)[columns]
    return _Entries(n_bytes / widths, rows, columns)


def _entries_without_bytes(source: TextSpans, target: TextSpans) -> _Entries:
    """Entries of source tokens without bytes: the whole loss to one token."""
    starts, _ = source.placed
    first_byte = starts - source.starts
    n_bytes = np.repeat(source.n_bytes, source.n_tokens)
    last_byte = first_byte + n_bytes - 1
    # A text without bytes has no token to give a loss to.
    is_empty = (source.starts == source.ends) & (first_byte <= last_byte)
    columns = np.flatnonzero(is_empty)
    rows = _holders(target, np.minimum(starts, last_byte)[columns])
    is_held = rows >= 0
    return _Entries(np.ones(is_held.sum()), rows[is_held], columns[is_held])


def _holders(tokens: TextSpans,
             positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Token of each byte, -1 without one."""
    starts, ends = tokens.placed
    latest = np.searchsorted(starts, positions, side='right') - 1
    # Index -1 stands before the first token; the appended 0 is its end.
    held = positions < np.append(ends, 0)[latest]
    return np.where(held, latest, -1)
