"""Find byte spans of tokens for tokenizers that change the text.

Such tokenizers change letter case, Unicode forms or spaces. The spans come
from the character offsets that the tokenizer returns, or from an alignment of
tokens and text.
"""
import functools
import unicodedata
from collections.abc import Sequence, Set
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from csv_plugin.core.arrays import Booleans, Integers
from csv_plugin.core.spans import TokenSpans, char_bounds
from csv_plugin.lm.tokens.token_bytes import (readings, without_prefix_spaces,
                                              words_of_text)

#: First letters of the Unicode categories of spaces and invisible characters
#: (Z and C), of combining marks (M), and of all characters that are neither
#: letters nor digits (also P, punctuation, and S, symbols).
_INVISIBLE = 'CZ'
_MARKS = 'M'
_NO_LETTERS = 'CZMPS'


def from_offsets(tokens: Sequence[str], is_unknown: Booleans,
                 offsets: ArrayLike, text: str) -> TokenSpans | None:
    """Return spans from the tokenizer's character offsets, after repairs.

    If several tokens claim the same characters, the bytes are divided evenly
    among them. Characters that no token covers go to the next token, or to the
    last token if they end the text; combining marks stay with the character
    before them. A space that the tokenizer added before a word gets no bytes.

    `is_unknown`, `(n,)`, is a mask of the tokens outside the vocabulary.
    `offsets`, `(n, 2)`, are the index of each token's first character, and the
    index after its last one. The result is None if offsets are out of order,
    contradict the letters of tokens or leave out a visible character.
    """
    ranges = np.array(offsets, np.int64).reshape(len(tokens), 2)
    starts, ends = ranges.T
    if not _in_order(starts, ends, len(text)):
        return None
    _empty_added_spaces(tokens, starts, ends, text)
    # The letters of these tokens cannot be compared with the text.
    is_unclear = _overlaps(starts, ends) | is_unknown
    for i in np.flatnonzero(~is_unclear):
        piece = text[starts[i]:ends[i]]
        if not _same_letters(tokens[i], piece):
            return None
    return _spans_of_ranges(starts, ends, text)


def from_token_strings(tokens: Sequence[str], added: Set[str],
                       text: str) -> TokenSpans | None:
    """Return spans of tokens whose strings spell a text after normalisation.

    Text and tokens are first compared casefolded, in compatibility form
    (NFKD). If they differ, spaces and invisible characters are removed, and if
    they still differ, also combining marks. `added` are tokens that were added
    to the vocabulary. The result is None if the joined tokens still differ
    from the text.
    """
    for ignored in ('', _INVISIBLE, _INVISIBLE + _MARKS):
        chars = [_fold_char(char, ignored) for char in text]
        whole = ''.join(chars)
        for words, added_words, counts in words_of_text(tokens, added):
            pieces = [_fold(word, ignored) for word in words]
            pieces = without_prefix_spaces(pieces, added_words, whole)
            if ''.join(pieces) != whole:
                continue
            starts, ends = _character_ranges(pieces, chars)
            # Tokens of the same word share a character. Each of them gets the
            # range of the whole word, which `_spans_of_ranges` divides.
            starts = np.repeat(starts, counts)
            ends = np.repeat(ends, counts)
            return _spans_of_ranges(starts, ends, text)
    return None


def _in_order(starts: Integers, ends: Integers, length: int) -> bool:
    """Return whether starts and ends of ranges rise and stay in the text."""
    if not len(starts) or np.any(starts > ends):
        return False
    steps_of_starts = np.diff(starts, prepend=0)
    steps_of_ends = np.diff(ends, append=length)
    steps = np.append(steps_of_starts, steps_of_ends)
    return bool(np.all(steps >= 0))


def _overlaps(starts: Integers, ends: Integers) -> Booleans:
    """Return whether each token overlaps a neighbouring token, `(n,)`."""
    neighbours_overlap = starts[1:] < ends[:-1]  # (n - 1,)
    overlaps_next = np.append(neighbours_overlap, False)
    overlaps_previous = np.append(False, neighbours_overlap)
    return overlaps_next | overlaps_previous


def _empty_added_spaces(tokens: Sequence[str], starts: Integers,
                        ends: Integers, text: str) -> None:
    """Make the spans of spaces that the tokenizer added empty, in place.

    The span of such a space claims characters of a neighbouring word. In a
    first pass, it becomes empty at its start if the token before does not
    overlap it. In a second pass from the back, it becomes empty at its end if
    the next token does not overlap it. The passes also handle several added
    spaces in a row.
    """
    added = []
    for i in np.flatnonzero(_overlaps(starts, ends)):
        piece = _fold(text[starts[i]:ends[i]], '')
        if ' ' not in piece and _is_space(tokens[i]):
            added.append(i)
    for i in added:
        overlaps_previous = i > 0 and ends[i - 1] > starts[i]
        if not overlaps_previous:
            ends[i] = starts[i]
    last = len(tokens) - 1
    for i in reversed(added):
        overlaps_next = i < last and ends[i] > starts[i + 1]
        if not overlaps_next:
            starts[i] = ends[i]


def _spans_of_ranges(starts: Integers, ends: Integers,
                     text: str) -> TokenSpans | None:
    """Return byte spans that cover the text once, from ranges of characters.

    `starts` and `ends`, `(n,)`, are the index of the first character of each
    token, and the index after its last one. Characters in a gap between two
    ranges go to the next token, except for combining marks at the start of the
    gap, which go to the token before. Then `_cuts` chooses the byte at which
    each token ends and the next one starts, so that overlaps are divided. The
    result is None if a gap contains a visible character, or if the cuts are
    not in order.
    """
    # A character is in a gap if all tokens that began at or before it have
    # also ended.
    chars = np.arange(len(text))
    n_begun = starts.searchsorted(chars, 'right')
    n_ended = ends.searchsorted(chars, 'right')
    gap_marks = []
    for i in np.flatnonzero(n_begun == n_ended):
        if _continues_character(text[i]):
            gap_marks.append(i)
        elif not _is_blank(text[i]):
            return None
    # Combining marks at the start of a gap go to the token before the gap, so
    # that a token never ends before such a mark.
    possible_ends = np.append(chars, len(text))
    possible_ends = np.delete(possible_ends, gap_marks)
    ends = possible_ends[possible_ends.searchsorted(ends)]
    bounds = char_bounds(text)
    n_bytes = bounds[-1]
    first_bytes = bounds[starts[1:]]
    end_bytes = bounds[ends[:-1]]
    cuts = _cuts(first_bytes, end_bytes)
    if np.any(np.diff(cuts) < 0):
        return None
    begins = np.append(0, cuts)
    stops = np.append(cuts, n_bytes)
    return TokenSpans(begins, stops, n_bytes)


def _cuts(starts: Integers, ends: Integers) -> Integers:
    """Return the byte at which each token ends and the next one starts.

    For n tokens, `starts`, `(n - 1,)`, are the first bytes of tokens 2 to n,
    and `ends`, `(n - 1,)`, are the bytes after tokens 1 to n - 1. Consecutive
    tokens with the same overlap divide it evenly: for three tokens that all
    claim the bytes 0 to 6, `starts` are 0, 0, `ends` are 6, 6, and the cuts
    are 2, 4. A gap between two tokens goes to the second one. The result is
    `(n - 1,)`.
    """
    n_cuts = len(starts)
    # A series of cuts divides one overlap.
    same_start = np.diff(starts) == 0
    same_end = np.diff(ends) == 0
    begins_series = np.append(True, ~(same_start & same_end))
    first_cuts = np.flatnonzero(begins_series[:n_cuts])
    lengths = np.diff(first_cuts, append=n_cuts)
    # For each cut, the number of cuts in its series, and the rank of the cut
    # in the series, from 1.
    count = np.repeat(lengths, lengths)
    first_cut = np.repeat(first_cuts, lengths)
    rank = 1 + np.arange(n_cuts) - first_cut
    n_bytes = ends - starts
    share = n_bytes * rank // (count + 1)
    return np.where(starts < ends, starts + share, ends)


def _character_ranges(pieces: Sequence[str],
                      chars: Sequence[str]) -> tuple[Integers, ...]:
    """Return where folded pieces start and end, as character indices.

    The two arrays contain, for each piece, the index of its first character in
    the text and the index after its last one. `chars` are the characters of
    the text, each folded. An empty piece covers the characters between its
    neighbours. Of the ligature 'ﬁ', which is folded into two characters, the
    pieces 'f' and 'i' both cover the character 0, from 0 to 1.
    """
    n_chars = len(chars)
    n_folded = [len(char) for char in chars]
    # Index of the character of the text that each folded character comes from.
    origin = np.repeat(np.arange(n_chars), n_folded)
    # `bounds` are the indices of folded characters at which pieces begin and
    # end. A piece starts with the character behind its first bound, and ends
    # with the character before its second bound.
    start_behind = np.append(origin, n_chars)
    end_before = np.append(0, origin + 1)
    lengths = map(len, pieces)
    bounds = np.array([0, *accumulate(lengths)])
    starts = start_behind[bounds[:-1]]
    ends = end_before[bounds[1:]]
    # For an empty piece, `starts` lies behind `ends`.
    first = np.minimum(starts, ends)
    last = np.maximum(starts, ends)
    return first, last


@functools.lru_cache(maxsize=1 << 16)
def _fold_char(char: str, ignored: str) -> str:
    """Return a character in compatibility form (NFKD), casefolded.

    Every kind of space becomes ' '. Characters whose Unicode category starts
    with one of the letters `ignored` are left out.
    """
    if char == '\u2581' or char.isspace():
        char = ' '
    form = unicodedata.normalize('NFKD', char).casefold()
    form = unicodedata.normalize('NFKD', form)
    kept = [c for c in form if _category(c) not in ignored]
    return ''.join(kept)


def _fold(text: str, ignored: str) -> str:
    """Return a text with each character folded; see `_fold_char`."""
    return ''.join(_fold_char(char, ignored) for char in text)


def _category(char: str) -> str:
    """Return the first letter of a character's Unicode category."""
    # The replacement character stands for bytes that could not be decoded.
    if char == '\ufffd':
        return 'C'
    category = unicodedata.category(char)
    return category[0]


def _is_blank(char: str) -> bool:
    """Return whether a character is a space or invisible."""
    return not _fold_char(char, _INVISIBLE)


@functools.lru_cache(maxsize=1 << 16)
def _continues_character(char: str) -> bool:
    """Return whether a character belongs to the character before it.

    This is true of combining marks, and of vowels and final consonants of
    Hangul.
    """
    form = unicodedata.normalize('NFKD', char)
    first = form[0]
    is_hangul_end = '\u1160' <= first <= '\u11ff'
    return is_hangul_end or _category(first) == 'M'


def _is_space(token: str) -> bool:
    """Return whether a token consists of spaces in one of its readings."""
    for reading in readings(token):
        if _fold(reading, '').isspace():
            return True
    return False


@functools.lru_cache(maxsize=1 << 18)
def _same_letters(token: str, piece: str) -> bool:
    """Return whether a token has the same letters and digits as a piece."""
    letters = _fold(piece, _NO_LETTERS)
    for reading in readings(token):
        if _fold(reading, _NO_LETTERS) == letters:
            return True
    return False
