"""Where tokens lie by their offsets, or by a comparison with the text.

For tokenizers that change the text: case, forms of characters, spaces.
"""
import functools
import unicodedata
from collections.abc import Sequence, Set
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.spans import TokenSpans
from csv_plugin.lm.tokens.token_bytes import (readings, readings_of_all,
                                              without_prefix_spaces)


def from_offsets(tokens: Sequence[str], is_unknown: NDArray[np.bool_],
                 offsets: ArrayLike, text: str) -> TokenSpans | None:
    """Spans from the tokenizer's character offsets, repaired.

    Tokens that share characters meet inside them. Characters of no token go
    to the token that follows, at the end of the text to the last one;
    combining marks stay with the character before them. A space that the
    tokenizer put before a word has no bytes.

    Args:
        tokens (Sequence[str]): Token strings as the vocabulary has them.
        is_unknown (NDArray): Tokens whose strings say nothing. Shape `(n,)`.
        offsets (ArrayLike): First character of each token and the one after
            its last. Shape `(n, 2)`.
        text (str): The text.

    Returns:
        TokenSpans | None: Spans that tile the text, or None if offsets are
            out of order, contradict the letters of the tokens or leave out
            anything that can be seen.
    """
    starts, ends = np.reshape(np.array(offsets, np.int64), (-1, 2)).T
    if not _in_order(starts, ends, len(text)):
        return None
    _empty_spaces(tokens, starts, ends, text)
    alone = ~(_shared(starts, ends) | is_unknown)
    if not all(
            _agree(tokens[i], text[starts[i]:ends[i]])
            for i in np.flatnonzero(alone)):
        return None
    return _tile(starts, ends, text)


def from_surfaces(tokens: Sequence[str], added: Set[str],
                  text: str) -> TokenSpans | None:
    """Spans of tokens that spell the text but for case, forms and spaces.

    Text and tokens are compared in compatibility form (NFKD), casefolded;
    if they differ, without spaces and invisible characters; and if they
    still differ, without combining marks.

    Args:
        tokens (Sequence[str]): Token strings, or the parts of the text that
            unknown tokens stand for.
        added (Set[str]): Added tokens.
        text (str): The text.

    Returns:
        TokenSpans | None: Spans that tile the text, or None if the tokens,
            joined, do not spell it.
    """
    for ignored in ('', 'CZ', 'CZM'):
        chars = [_fold_char(char, ignored) for char in text]
        whole = ''.join(chars)
        for words, firsts, counts in readings_of_all(tokens, added):
            pieces = [_fold(word, ignored) for word in words]
            pieces = without_prefix_spaces(pieces, firsts, whole)
            if ''.join(pieces) == whole:
                starts, ends = _place(pieces, chars)
                return _tile(
                    np.repeat(starts, counts), np.repeat(ends, counts), text)
    return None


def _in_order(starts: NDArray[np.int64], ends: NDArray[np.int64],
              length: int) -> bool:
    """Whether neither starts nor ends step back or leave the text."""
    return bool(
        len(starts) and np.all(starts <= ends)
        and np.all(np.diff(starts, prepend=0) >= 0)
        and np.all(np.diff(ends, append=length) >= 0))


def _shared(starts: NDArray[np.int64],
            ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tokens that overlap the one before or after. Shape `(n,)`."""
    overlap = starts[1:] < ends[:-1]
    return np.append(overlap, False) | np.append(False, overlap)


def _empty_spaces(tokens: Sequence[str], starts: NDArray[np.int64],
                  ends: NDArray[np.int64], text: str) -> None:
    """Take from spaces that the text does not have the characters shared.

    Such a space stands before the characters, or after them.
    """
    added = [
        i for i in np.flatnonzero(_shared(starts, ends)) if
        _is_space(tokens[i]) and ' ' not in _fold(text[starts[i]:ends[i]], '')
    ]
    for i in added:
        if i == 0 or ends[i - 1] <= starts[i]:
            ends[i] = starts[i]
    for i in reversed(added):
        if i == len(tokens) - 1 or ends[i] <= starts[i + 1]:
            starts[i] = ends[i]


def _tile(starts: NDArray[np.int64], ends: NDArray[np.int64],
          text: str) -> TokenSpans | None:
    """Spans in bytes, from characters in order: share out, close gaps."""
    n = len(text)
    edges = np.zeros(n + 1, np.int64)
    np.add.at(edges, starts, 1)
    np.add.at(edges, ends, -1)
    joins = np.zeros(n + 1, bool)
    for i in np.flatnonzero(np.cumsum(edges)[:n] == 0):
        joins[i] = _joins(text[i])
        if not (joins[i] or _is_blank(text[i])):
            return None
    stops = np.flatnonzero(~joins)
    ends = stops[np.searchsorted(stops, ends)]  # past the marks of a gap
    chars = TokenSpans.from_char_offsets(text, range(n), range(1, n + 1))
    bounds = np.append(chars.starts, chars.n_bytes)
    cuts = _cuts(bounds[starts[1:]], bounds[ends[:-1]])
    if np.any(np.diff(cuts) < 0):
        return None
    return TokenSpans(
        np.append(0, cuts), np.append(cuts, bounds[-1]), chars.n_bytes)


def _cuts(starts: NDArray[np.int64],
          ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The byte between each token and the next.

    Args:
        starts (NDArray): First byte of the next token. Shape `(n - 1,)`.
        ends (NDArray): Byte after the token. Shape `(n - 1,)`.
    """
    same = (np.diff(starts) == 0) & (np.diff(ends) == 0)
    first = np.flatnonzero(np.append(True, ~same)[:len(starts)])
    count = np.diff(np.append(first, len(starts)))
    rank = np.arange(len(starts)) - np.repeat(first, count) + 1
    share = (ends - starts) * rank // (np.repeat(count, count) + 1)
    return np.where(starts < ends, starts + share, ends)


def _place(pieces: Sequence[str],
           chars: Sequence[str]) -> tuple[NDArray[np.int64], ...]:
    """Character offsets of pieces of a folded text, `starts` and `ends`.

    A piece without characters takes what lies between its neighbours.
    """
    lengths = [len(char) for char in chars]
    origin = np.repeat(np.arange(len(chars)), lengths)
    last = np.array([0, *accumulate(map(len, pieces))])
    after = np.append(0, origin + 1)  # the character after each folded one
    before = np.append(origin, len(chars))
    edges = before[last[:-1]], after[last[1:]]
    return np.minimum(*edges), np.maximum(*edges)


@functools.lru_cache(maxsize=1 << 16)
def _fold_char(char: str, ignored: str) -> str:
    """Compatibility form, casefolded, without categories of characters."""
    if char == '\u2581' or char.isspace():
        char = ' '
    form = unicodedata.normalize('NFKD', char).casefold()
    form = unicodedata.normalize('NFKD', form)
    return ''.join(c for c in form if _category(c) not in ignored)


def _fold(text: str, ignored: str) -> str:
    return ''.join(_fold_char(char, ignored) for char in text)


def _category(char: str) -> str:
    # The replacement character stands for what could not be read.
    return 'C' if char == '\ufffd' else unicodedata.category(char)[0]


def _is_blank(char: str) -> bool:
    """Whether a character is a space or cannot be seen."""
    return not _fold_char(char, 'CZ')


@functools.lru_cache(maxsize=1 << 16)
def _joins(char: str) -> bool:
    """Whether a character belongs to the one before it.

    Combining marks, half-width voicing marks, vowels and finals of Hangul.
    """
    first = unicodedata.normalize('NFKD', char)[0]
    return _category(first) == 'M' or '\u1160' <= first <= '\u11ff'


def _is_space(token: str) -> bool:
    return any(_fold(reading, '').isspace() for reading in readings(token))


@functools.lru_cache(maxsize=1 << 18)
def _agree(token: str, piece: str) -> bool:
    """Whether a token has the letters and digits of a piece of the text."""
    letters = _fold(piece, 'CZMPS')
    return any(
        _fold(reading, 'CZMPS') == letters for reading in readings(token))
