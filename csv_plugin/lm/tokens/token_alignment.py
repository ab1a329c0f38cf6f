"""Byte spans of tokens from offsets, or from an alignment with the text.

For tokenizers that change the text: letter case, Unicode forms or spaces.
"""
import functools
import unicodedata
from collections.abc import Sequence, Set
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.spans import TokenSpans, char_bounds
from csv_plugin.lm.tokens.token_bytes import (readings, readings_of_all,
                                              without_prefix_spaces)


def from_offsets(tokens: Sequence[str], is_unknown: NDArray[np.bool_],
                 offsets: ArrayLike, text: str) -> TokenSpans | None:
    """Spans from the tokenizer's character offsets, repaired.

    Tokens that share characters divide their bytes evenly. Characters that no
    token covers go to the next token, or to the last token if they end the
    text; combining marks stay with the character before them. A space that the
    tokenizer added before a word has no bytes.

    `is_unknown`, `(n,)`, marks tokens outside the vocabulary. Offsets, `(n,
    2)`, are the first character of each token and that after its last. None if
    they are out of order, contradict letters or leave out a visible character.
    """
    ranges = np.array(offsets, np.int64).reshape(len(tokens), 2)
    starts = ranges[:, 0]
    ends = ranges[:, 1]
    if not _in_order(starts, ends, len(text)):
        return None
    _empty_added_spaces(tokens, starts, ends, text)
    comparable = ~(_overlaps(starts, ends) | is_unknown)
    for i in np.flatnonzero(comparable):
        piece = text[starts[i]:ends[i]]
        if not _same_letters(tokens[i], piece):
            return None
    return _tile(starts, ends, text)


def from_surfaces(tokens: Sequence[str], added: Set[str],
                  text: str) -> TokenSpans | None:
    """Spans of tokens that spell the text except for case, forms and spaces.

    Text and tokens are compared in compatibility form (NFKD), casefolded; if
    they differ, without spaces and invisible characters; and if they still
    differ, without combining marks. `added` are tokens added to the
    vocabulary. None if the tokens, joined, do not spell the text.
    """
    for ignored in ('', 'CZ', 'CZM'):
        chars = [_fold_char(char, ignored) for char in text]
        whole = ''.join(chars)
        for words, places, counts in readings_of_all(tokens, added):
            pieces = [_fold(word, ignored) for word in words]
            pieces = without_prefix_spaces(pieces, places, whole)
            if ''.join(pieces) == whole:
                starts, ends = _place(pieces, chars)
                # All tokens of a word cover the characters of the word.
                starts = np.repeat(starts, counts)
                ends = np.repeat(ends, counts)
                return _tile(starts, ends, text)
    return None


def _in_order(starts: NDArray[np.int64], ends: NDArray[np.int64],
              length: int) -> bool:
    """Return whether ranges of characters rise, inside a text."""
    if not len(starts) or np.any(starts > ends):
        return False
    starts_rise = np.all(np.diff(starts, prepend=0) >= 0)
    ends_rise = np.all(np.diff(ends, append=length) >= 0)
    return bool(starts_rise and ends_rise)


def _overlaps(starts: NDArray[np.int64],
              ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether a token overlaps a neighbouring token. Shape `(n,)`."""
    overlap = starts[1:] < ends[:-1]
    return np.append(overlap, False) | np.append(False, overlap)


def _empty_added_spaces(tokens: Sequence[str], starts: NDArray[np.int64],
                        ends: NDArray[np.int64], text: str) -> None:
    """Empty, in place, the spans of spaces that the tokenizer added.

    Such a space claims characters of a neighbouring word. From the front, its
    span becomes empty at its start, where the token before ends there or
    earlier; from the back, at its end, where the next token begins there or
    later. So spans of several added spaces in a row become empty, too.
    """
    added = []
    for i in np.flatnonzero(_overlaps(starts, ends)):
        piece = text[starts[i]:ends[i]]
        if _is_space(tokens[i]) and ' ' not in _fold(piece, ''):
            added.append(i)
    for i in added:
        if i == 0 or ends[i - 1] <= starts[i]:
            ends[i] = starts[i]
    for i in reversed(added):
        if i == len(tokens) - 1 or ends[i] <= starts[i + 1]:
            starts[i] = ends[i]


def _tile(starts: NDArray[np.int64], ends: NDArray[np.int64],
          text: str) -> TokenSpans | None:
    """Byte spans from character ranges: overlaps divided, gaps closed.

    None if a gap holds a visible character, or spans contradict each other.
    """
    # A character that as many tokens begin before as end before is in none.
    chars = np.arange(len(text))
    n_begun = starts.searchsorted(chars, 'right')
    n_ended = ends.searchsorted(chars, 'right')
    gap_marks = []
    for i in np.flatnonzero(n_begun == n_ended):
        if _continues_character(text[i]):
            gap_marks.append(i)
        elif not _is_blank(text[i]):
            return None
    # A token before a gap also takes the marks at the start of the gap.
    stops = np.delete(np.append(chars, len(text)), gap_marks)
    ends = stops[np.searchsorted(stops, ends)]
    bounds = char_bounds(text)
    n_bytes = bounds[-1]
    cuts = _cuts(bounds[starts[1:]], bounds[ends[:-1]])
    if np.any(np.diff(cuts) < 0):
        return None
    return TokenSpans(np.append(0, cuts), np.append(cuts, n_bytes), n_bytes)


def _cuts(starts: NDArray[np.int64],
          ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The byte at which each token ends and the next starts, `(n - 1,)`.

    A series of tokens with the same overlap divides it evenly. `starts` are
    of the next tokens, `ends` of the tokens.
    """
    n_cuts = len(starts)
    as_before = (np.diff(starts) == 0) & (np.diff(ends) == 0)
    begins_series = np.append(True, ~as_before)[:n_cuts]
    first = np.flatnonzero(begins_series)
    # Of the series of each cut: number of cuts, and rank of this one from 1.
    lengths = np.diff(np.append(first, n_cuts))
    count = np.repeat(lengths, lengths)
    rank = 1 + np.arange(n_cuts) - np.repeat(first, lengths)
    n_bytes = ends - starts
    share = n_bytes * rank // (count + 1)
    return np.where(starts < ends, starts + share, ends)


def _place(pieces: Sequence[str],
           chars: Sequence[str]) -> tuple[NDArray[np.int64], ...]:
    """First characters that folded pieces cover, and those after the last.

    `chars` are the characters of the text, folded. An empty piece covers the
    characters between its neighbours.
    """
    n_chars = len(chars)
    # The character that each folded character comes from.
    origin = np.repeat(np.arange(n_chars), list(map(len, chars)))
    # A piece lies between two bounds of folded characters. It starts with the
    # character behind the first bound, and ends with that before the second.
    start_behind = np.append(origin, n_chars)
    end_before = np.append(0, origin + 1)
    bounds = np.array([0, *accumulate(map(len, pieces))])
    starts = start_behind[bounds[:-1]]
    ends = end_before[bounds[1:]]
    return np.minimum(starts, ends), np.maximum(starts, ends)


@functools.lru_cache(maxsize=1 << 16)
def _fold_char(char: str, ignored: str) -> str:
    """A character in compatibility form (NFKD), casefolded.

    Every kind of space becomes ' '. Characters whose Unicode category starts
    with one of the letters `ignored` are left out.
    """
    if char == '\u2581' or char.isspace():
        char = ' '
    form = unicodedata.normalize('NFKD', char).casefold()
    form = unicodedata.normalize('NFKD', form)
    return ''.join(c for c in form if _category(c) not in ignored)


def _fold(text: str, ignored: str) -> str:
    return ''.join(_fold_char(char, ignored) for char in text)


def _category(char: str) -> str:
    # The replacement character stands for bytes that could not be decoded.
    return 'C' if char == '\ufffd' else unicodedata.category(char)[0]


def _is_blank(char: str) -> bool:
    """Return whether a character is a space or invisible."""
    return not _fold_char(char, 'CZ')


@functools.lru_cache(maxsize=1 << 16)
def _continues_character(char: str) -> bool:
    """Return whether it is a mark, or a vowel or final of Hangul."""
    first = unicodedata.normalize('NFKD', char)[0]
    return _category(first) == 'M' or '\u1160' <= first <= '\u11ff'


def _is_space(token: str) -> bool:
    for reading in readings(token):
        if _fold(reading, '').isspace():
            return True
    return False


@functools.lru_cache(maxsize=1 << 18)
def _same_letters(token: str, piece: str) -> bool:
    """Return whether a token has the letters and digits of a piece."""
    letters = _fold(piece, 'CZMPS')
    for reading in readings(token):
        if _fold(reading, 'CZMPS') == letters:
            return True
    return False
