"""What tokens say, read from their strings in the vocabulary."""
import codecs
import functools
import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TypeVar

from csv_plugin.core.spans import TokenSpans

_Str = TypeVar('_Str', str, bytes)

# Signs of a token that continues a word (WordPiece) or ends one (BPE).
_WORD_SIGNS = re.compile('^##|</w>$|@@$')


def from_bytes(tokens: Sequence[str], added: Set[str],
               text: str) -> TokenSpans | None:
    """Spans of tokens that spell the text exactly.

    Tokens are read as byte-level BPE (GPT-2's table), as SentencePiece
    pieces with byte fallback, and as one byte per character. A space that
    the tokenizer put before the text, or after an added token, is left out
    of its token, which may then be empty.

    Args:
        tokens (Sequence[str]): Token strings as the vocabulary has them.
        added (Set[str]): Added tokens, which stand in the text as they are.
        text (str): The text.

    Returns:
        TokenSpans | None: Spans that tile the text, or None if no reading
            spells it.
    """
    data = text.encode()
    literal = added & set(tokens)
    for spelling in _SPELLINGS:
        # Vocabularies also list pieces such as runs of spaces as added.
        for as_is in ([literal, set()] if literal else [literal]):
            pieces = _spell(tokens, as_is, spelling)
            if pieces is None:
                continue
            after = [i for i, token in enumerate(tokens) if token in as_is]
            pieces = without_prefix_spaces(pieces, after, data)
            if b''.join(pieces) == data:
                return TokenSpans.from_token_bytes(pieces, text)
    return None


def byte_level_chars(data: bytes) -> str:
    """Bytes as GPT-2's vocabulary writes them.

    >>> byte_level_chars(' é'.encode())
    'ĠÃ©'
    """
    return ''.join(map(_CHARS.__getitem__, data))


def readings_of_all(
        tokens: Sequence[str],
        added: Set[str]) -> Iterator[tuple[list[str], list[int], list[int]]]:
    """Tokens as text, in every way in which all of them can be read.

    Args:
        tokens (Sequence[str]): Token strings.
        added (Set[str]): Added tokens.

    Yields:
        tuple: What the tokens say, those that only together make characters
            as one; which of these are added tokens; how many tokens each is.
    """
    literal = added & set(tokens)
    for spelling in (*_SPELLINGS, _unsigned):
        pieces = _spell(tokens, literal, spelling)
        groups = pieces and _characters(pieces)
        if groups:
            words = [word for word, _ in groups]
            yield (words,
                   [i for i, word in enumerate(words)
                    if word in literal], [n for _, n in groups])


def without_prefix_spaces(pieces: list[_Str], added: Sequence[int],
                          whole: _Str) -> list[_Str]:
    """Cut the space off a first token, where the text has no such space.

    Args:
        pieces (list): What the tokens say, as bytes or as text.
        added (Sequence[int]): Which are added tokens; after each, as at the
            start, a tokenizer may put a space before the text.
        whole (str | bytes): The text that the pieces should spell.

    Returns:
        list: The pieces.
    """
    pieces, position = list(pieces), 0
    bounds = [0, *(i + 1 for i in added), len(pieces)]
    for first, last in zip(bounds, bounds[1:]):
        stretch = whole[:0].join(pieces[first:last])
        if (stretch[:1] in (' ', b' ')
                and not whole.startswith(stretch, position)):
            pieces[first], stretch = pieces[first][1:], stretch[1:]
        position += len(stretch)
    return pieces


@functools.lru_cache(maxsize=1 << 18)
def readings(token: str) -> tuple[str, ...]:
    """What a token may stand for, as text; empty if it is part of a character.

    >>> readings('Ġthe')
    ('Ġthe', ' the', 'Ġthe')
    """
    found = []
    for spelling in (_unsigned, _byte_level, _sentencepiece):
        data = spelling(token)
        if data is not None:
            found += [word for word, _ in _characters([data])]
    return tuple(found)


def _printed_bytes() -> Iterator[str]:
    """The character for each byte in GPT-2's table.

    Printable Latin-1 characters stand for themselves, the other bytes for
    the characters from U+0100 on.
    """
    unprinted = iter(range(256, 512))
    for byte in range(256):
        printed = 33 <= byte <= 126 or 161 <= byte != 173
        yield chr(byte if printed else next(unprinted))


_CHARS = tuple(_printed_bytes())
_BYTES = {char: byte for byte, char in enumerate(_CHARS)}


def _byte_level(token: str) -> bytes | None:
    try:
        return bytes(map(_BYTES.__getitem__, token))
    except KeyError:
        return None


def _sentencepiece(token: str) -> bytes | None:
    if re.fullmatch('<0x[0-9A-F]{2}>', token):
        return bytes([int(token[3:5], 16)])
    return token.replace('\u2581', ' ').encode()


def _one_byte_per_char(token: str) -> bytes | None:
    try:
        return token.encode('latin-1')
    except UnicodeEncodeError:
        return None


def _unsigned(token: str) -> bytes | None:
    return _WORD_SIGNS.sub('', token).encode()


_SPELLINGS = (_byte_level, _sentencepiece, _one_byte_per_char)


def _spell(tokens: Sequence[str], as_is: Set[str],
           spelling: Callable[[str], bytes | None]) -> list[bytes] | None:
    table = {}
    for token in set(tokens):
        piece = token.encode() if token in as_is else spelling(token)
        if piece is None:
            return None
        table[token] = piece
    return [table[token] for token in tokens]


def _characters(pieces: Sequence[bytes]) -> list[tuple[str, int]]:
    """Join pieces until they hold whole characters; empty if they never do.

    >>> _characters([b'a', b'\\xc3', b'\\xa9'])
    [('a', 1), ('é', 2)]
    """
    decoder = codecs.getincrementaldecoder('utf-8')()
    found, word, count = [], '', 0
    for piece in pieces:
        try:
            word, count = word + decoder.decode(piece), count + 1
        except UnicodeDecodeError:
            return []
        if not decoder.getstate()[0]:
            found.append((word, count))
            word, count = '', 0
    return [] if count else found
