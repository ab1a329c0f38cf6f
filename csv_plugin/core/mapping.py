"""Algorithm 1: token losses of one tokenizer on the tokens of another.

Source: Ge et al., ACL 2025, arXiv 2506.13216. Every source token spreads its
loss evenly over its bytes, and every target token adds up its bytes. On ASCII
text this is the paper's algorithm. Bytes replace characters because byte-level
tokenizers cut inside a character: there the paper's line 6 keeps only the last
piece's loss, while bytes keep the sum.
"""
from collections.abc import Sequence
from functools import lru_cache

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


# Of each entry: the share of a loss, its target token and source token.
_Entries = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


@lru_cache(maxsize=8)  # many models have one tokenizer
def _operator(source: TextSpans,
              target: TextSpans) -> 'scipy.sparse.csr_array':
    """Shares of source tokens in target tokens, `(n_target, n_source)`."""
    wide, empty = _overlaps(source, target), _landings(source, target)
    shares, rows, columns = (np.concatenate(part) for part in zip(wide, empty))
    return scipy.sparse.csr_array(
        (shares, (rows, columns)),
        shape=(len(target.starts), len(source.starts)))


def _overlaps(source: TextSpans, target: TextSpans) -> _Entries:
    """Entries of source tokens with bytes: shared bytes over width."""
    bounds = np.unique(np.concatenate([*source.placed, *target.placed]))
    # Between two neighbouring bounds lies at most one token of each side.
    rows = _holders(target, bounds[:-1])
    columns = _holders(source, bounds[:-1])
    shared = (rows >= 0) & (columns >= 0)
    rows, columns = rows[shared], columns[shared]
    widths = (source.ends - source.starts)[columns]
    return np.diff(bounds)[shared] / widths, rows, columns


def _landings(source: TextSpans, target: TextSpans) -> _Entries:
    """Entries of source tokens without bytes: the whole loss to one token."""
    starts, _ = source.placed
    first = starts - source.starts
    last = first + np.repeat(source.n_bytes, source.n_tokens) - 1
    empty = (source.starts == source.ends) & (first <= last)
    rows = _holders(target, np.minimum(starts, last)[empty])
    held = rows >= 0
    return (np.ones(held.sum()), rows[held], np.flatnonzero(empty)[held])


def _holders(tokens: TextSpans,
             positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Token of each byte, -1 without one."""
    starts, ends = tokens.placed
    latest = np.searchsorted(starts, positions, side='right') - 1
    # Index -1 stands before the first token; the appended 0 is its end.
    held = positions < np.append(ends, 0)[latest]
    return np.where(held, latest, -1)
