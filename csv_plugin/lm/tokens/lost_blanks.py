"""Blanks of a text that a tokenizer drops although it has tokens for them.

Some vocabularies hold words alone and leave the spaces between them out by
design. Others write them, ` the` as one token: if such a tokenizer leaves one
out, it was put together wrongly, and its losses are on another text.
"""
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.token_bytes import readings

# Spaces and line breaks that tokenizers write; they remove other controls.
_BLANKS = re.compile('[\t\n\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f'
                     '\u205f\u3000]+')
# Above this share of entries that start with a space, a vocabulary writes
# spaces. Letters that look like the sign of a space occur in vocabularies of
# words too.
_FEW = 0.01


class Blank(NamedTuple):
    """Consecutive blanks of a text, and what their tokens say.

    Args:
        text_id (str): The text.
        chars (str): The blanks.
        said (str): What the tokens that cover them may stand for.
        is_outer (bool): Whether they start or end the text.
    """
    text_id: str
    chars: str
    said: str
    is_outer: bool


def unsaid_blanks(text: Text, tokens: Sequence[str],
                  is_opaque: NDArray[np.bool_],
                  spans: TokenSpans) -> Iterator[Blank]:
    """Blanks whose tokens have no blank, or no line break where they do.

    Args:
        text (Text): The text.
        tokens (Sequence[str]): Token strings as the vocabulary has them.
        is_opaque (NDArray): Whether a token may cover blanks without saying
            so: unknown and added tokens. Shape `(n,)`.
        spans (TokenSpans): The bytes of each token; they tile the text.
    """
    bounds = np.cumsum([0, *(len(char.encode()) for char in text.text)])
    starts, ends = spans.starts, spans.ends
    # Nothing is known of a token that holds a part of a character.
    is_opaque = is_opaque | ~(np.isin(starts, bounds) & np.isin(ends, bounds))
    for match in _BLANKS.finditer(text.text):
        first, last = bounds[match.start()], bounds[match.end()]
        # Tokens that share bytes with the blanks; empty ones beside them.
        covers = np.where(starts == ends, (starts >= first) & (ends <= last),
                          (starts < last) & (ends > first))
        if is_opaque[covers].any():
            continue
        said = ''.join(
            word for i in np.flatnonzero(covers)
            for word in readings(tokens[i]))
        if not _BLANKS.search(said) or '\n' in match[0] and '\n' not in said:
            yield Blank(text.text_id, match[0], said,
                        match.start() == 0 or match.end() == len(text.text))


def lost_blanks(blanks: Iterable[Blank],
                vocabulary: Collection[str]) -> Iterator[Blank]:
    """Those of `unsaid_blanks` that the vocabulary could have written.

    SentencePiece may be set to remove blanks around a text, and to write
    one space for several blanks.

    Args:
        blanks (Iterable[Blank]): Blanks that no token says.
        vocabulary (Collection[str]): All entries, bytes as GPT-2 has them.
    """
    if _starts_with('Ġ', vocabulary):
        line_breaks, trims = {'Ċ'}, False
    elif _starts_with('▁', vocabulary) or _starts_with(' ', vocabulary):
        line_breaks, trims = {'\n', '<0x0A>'}, True
    else:
        return
    has_line_break = not line_breaks.isdisjoint(vocabulary)
    for blank in blanks:
        if (has_line_break and '\n' in blank.chars and '\n' not in blank.said
                or not _BLANKS.search(blank.said)
                and not (trims and blank.is_outer)):
            yield blank


def _starts_with(sign: str, vocabulary: Collection[str]) -> bool:
    """Whether more than a few entries start with a sign."""
    count = sum(entry.startswith(sign) for entry in vocabulary)
    return count > _FEW * len(vocabulary)
