"""Algorithm 1: map losses on one tokenizer's tokens onto another's tokens.

Source: Ge et al., ACL 2025, arXiv 2506.13216. The loss of every source token
is spread evenly over its bytes, and the loss of a target token is the sum over
its bytes. On ASCII text this is the paper's algorithm, which uses characters.
Here, bytes replace characters because byte-level tokenizers cut a character
into several tokens. In this case, line 6 of the paper's algorithm keeps only
the loss of the character's last token, while bytes keep the sum.
"""
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from csv_plugin.core.arrays import Floats, Integers
from csv_plugin.core.spans import TextSpans, TokenSpans


def map_losses(losses: Floats, sources: Sequence[TokenSpans],
               targets: Sequence[TokenSpans]) -> Floats:
    """Return losses of M models on other tokens of the same S texts.

    `losses`, `(M, n_source)`, are in nats, NaN for tokens that were not
    scored; a row has the source tokens of all texts. The result, `(M,
    n_target)`, has the target tokens of all texts. It is NaN for each target
    token that has a byte which the model did not score. The loss of a source
    token without bytes goes to the target token of the next byte, or at the
    end of a text to the target token of the last byte. Where no target token
    covers a byte, the loss of this byte is dropped.

    >>> source = TokenSpans([0, 1, 3], [1, 3, 3], n_bytes=3)
    >>> target = TokenSpans([0, 2], [2, 3], n_bytes=3)
    >>> map_losses(np.array([[1.0, 4.0, 0.5]]), [source], [target])
    array([[3. , 2.5]])
    """
    source = TextSpans.of(sources)
    target = TextSpans.of(targets)
    source_widths = source.ends - source.starts
    target_widths = target.ends - target.starts
    operator = _operator(source, target)
    n_models = len(losses)
    n_targets = len(target_widths)
    all_mapped = np.empty((n_models, n_targets))
    for row, mapped in zip(losses, all_mapped):
        scored = ~np.isnan(row)
        known_losses = np.where(scored, row, 0)
        mapped[:] = operator @ known_losses
        # Widths, mapped like losses, are the numbers of scored bytes of the
        # target tokens.
        scored_widths = np.where(scored, source_widths, 0)
        scored_bytes = operator @ scored_widths
        has_gap = np.rint(scored_bytes) < target_widths
        mapped[has_gap] = np.nan
    return all_mapped


class _Entries(NamedTuple):
    """Entries of the sparse matrix that maps losses, `(n,)` each.

    Entry i says that the target token `rows[i]` gets the fraction `shares[i]`
    of the loss of the source token `columns[i]`.
    """
    shares: Floats
    rows: Integers
    columns: Integers


# Many models share the same tokenizer; equal spans are the same key.
@lru_cache(maxsize=8)
def _operator(source: TextSpans,
              target: TextSpans) -> 'scipy.sparse.csr_array':
    """Return the matrix that maps losses, `(n_target, n_source)`.

    An entry is the fraction of a source token's loss that goes to a target
    token.
    """
    with_bytes = _overlaps(source, target)
    without = _entries_without_bytes(source, target)
    shares = np.append(with_bytes.shares, without.shares)
    rows = np.append(with_bytes.rows, without.rows)
    columns = np.append(with_bytes.columns, without.columns)
    shape = len(target.starts), len(source.starts)
    entries = shares, (rows, columns)
    return scipy.sparse.csr_array(entries, shape=shape)


def _overlaps(source: TextSpans, target: TextSpans) -> _Entries:
    """Return the entries of source tokens that have bytes.

    The fraction is the number of bytes that source and target token have in
    common, divided by the number of bytes of the source token.
    """
    edges = np.concatenate(
        [*source.offsets_in_joined, *target.offsets_in_joined])
    bounds = np.unique(edges)
    # The bytes between two neighbouring bounds belong to at most one source
    # token and at most one target token.
    firsts = bounds[:-1]
    lengths = np.diff(bounds)
    rows = _covering_tokens(target, firsts)
    columns = _covering_tokens(source, firsts)
    in_target = rows >= 0
    in_source = columns >= 0
    is_shared = in_target & in_source
    rows = rows[is_shared]
    columns = columns[is_shared]
    source_widths = source.ends - source.starts
    shares = lengths[is_shared] / source_widths[columns]
    return _Entries(shares, rows, columns)


def _entries_without_bytes(source: TextSpans, target: TextSpans) -> _Entries:
    """Return the entries of source tokens that have no bytes.

    The whole loss goes to one target token, so the fraction is 1.
    """
    starts, _ = source.offsets_in_joined
    # The first and the last byte of each token's text.
    first_byte = starts - source.starts
    n_bytes = np.repeat(source.n_bytes, source.n_tokens)
    last_byte = first_byte + n_bytes - 1
    is_empty = source.starts == source.ends
    # In a text without bytes, no target token can get the loss.
    is_empty &= n_bytes > 0
    columns = np.flatnonzero(is_empty)
    # At the end of a text, there is no next byte.
    next_byte = np.minimum(starts, last_byte)
    rows = _covering_tokens(target, next_byte[columns])
    is_held = rows >= 0
    rows = rows[is_held]
    columns = columns[is_held]
    shares = np.ones(len(rows))
    return _Entries(shares, rows, columns)


def _covering_tokens(tokens: TextSpans, positions: Integers) -> Integers:
    """Return the index of the token that covers each byte, or -1 for none.

    `positions`, `(n,)`, are offsets of bytes in the concatenated texts.
    """
    starts, ends = tokens.offsets_in_joined
    n_begun = np.searchsorted(starts, positions, side='right')
    latest = n_begun - 1
    # `latest` is -1 before the first token. It then selects the appended 0,
    # so that no token covers the byte.
    padded_ends = np.append(ends, 0)
    is_held = positions < padded_ends[latest]
    return np.where(is_held, latest, -1)
