"""Read the text of tokens from their strings in the vocabulary.

These terms are used here and in `token_alignment`:

* A *spelling* is a way in which a vocabulary writes the bytes of a token as a
  string: by GPT-2's table of bytes, as SentencePiece does, or with signs for
  parts of words.
* A *piece* is what a token stands for in the text, as bytes or as a string. It
  may be a part of a character.
* A *word* is the string of one piece or, if pieces contain parts of the same
  character, of these pieces together. So it consists of whole characters; it
  need not be a word of a language.
* A *reading* of a token is its word by one spelling. Several spellings can be
  possible, as the strings do not tell their spelling.
"""
import codecs
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TypeVar

from csv_plugin.core.spans import TokenSpans

_Str = TypeVar('_Str', str, bytes)

# Signs in the strings of tokens: '##' continues a word (WordPiece), '</w>'
# ends a word and '@@' says that the word goes on (BPE).
_WORD_SIGNS = re.compile('^##|</w>$|@@$')


def from_bytes(tokens: Sequence[str], added: Set[str],
               text: str) -> TokenSpans | None:
    """Return spans of tokens that spell the text exactly, else None.

    Tokens are read as byte-level BPE (GPT-2's table) or as SentencePiece
    pieces with byte fallback. Tokens that were `added` to the vocabulary are
    read literally. If the tokenizer added a space before the text, or after
    an added token, the space is removed from its token, which may then be
    empty.
    """
    data = text.encode()
    literal = added & set(tokens)
    for spelling in _SPELLINGS:
        # Vocabularies also list ordinary pieces, such as runs of spaces, as
        # added tokens. Therefore a second attempt reads no token literally.
        verbatims = [literal, set()] if literal else [literal]
        for verbatim in verbatims:
            pieces = _pieces_of(tokens, verbatim, spelling)
            if pieces is None:
                continue
            positions = [i for i, t in enumerate(tokens) if t in verbatim]
            pieces = without_prefix_spaces(pieces, positions, data)
            if b''.join(pieces) == data:
                return TokenSpans.from_token_bytes(pieces, text)
    return None


def string_of(entry: str | bytes) -> str:
    """Return a vocabulary entry as a string.

    Bytes are converted to characters by GPT-2's table.
    """
    if isinstance(entry, str):
        return entry
    return ''.join(map(_CHARS.__getitem__, entry))


def words_of_text(
        tokens: Sequence[str],
        added: Set[str]) -> Iterator[tuple[list[str], list[int], list[int]]]:
    """Yield the words of a text, once for each spelling that reads all tokens.

    Each yielded tuple has the words, the indices of the words that are `added`
    tokens, and the number of tokens of each word.
    """
    literal = added & set(tokens)
    for spelling in (*_SPELLINGS, _without_word_sign):
        pieces = _pieces_of(tokens, literal, spelling)
        joined = pieces and _words_of(pieces)
        if joined:
            words = []
            added_words = []
            counts = []
            for index, (word, count) in enumerate(joined):
                words.append(word)
                counts.append(count)
                if word in literal:
                    added_words.append(index)
            yield words, added_words, counts


def without_prefix_spaces(pieces: list[_Str], added: Sequence[int],
                          whole: _Str) -> list[_Str]:
    """Remove the spaces that a tokenizer added and the text does not have.

    The tokenizer may add a space at the start of the text and after each added
    token. `added` are the indices of the added tokens among the pieces. The
    pieces and the `whole` text that they should spell are all bytes or all
    strings.
    """
    pieces = list(pieces)
    position = 0
    bounds = [0]
    for index in added:
        bounds.append(index + 1)
    bounds.append(len(pieces))
    empty = whole[:0]
    for first, last in zip(bounds[:-1], bounds[1:]):
        stretch = empty.join(pieces[first:last])
        has_space = stretch[:1] in (' ', b' ')
        if has_space and not whole.startswith(stretch, position):
            # The space is in the first piece that is not empty.
            while not pieces[first]:
                first += 1
            pieces[first] = pieces[first][1:]
            stretch = stretch[1:]
        position += len(stretch)
    return pieces


@functools.lru_cache(maxsize=1 << 18)
def readings(token: str) -> tuple[str, ...]:
    """Return the readings of a token, one for each spelling.

    A spelling is left out if the piece does not consist of whole characters.
    """
    words = []
    for spelling in (_without_word_sign, _byte_level, _sentencepiece):
        data = spelling(token)
        if data is not None:
            for word, _ in _words_of([data]):
                words.append(word)
    return tuple(words)


def _printed_bytes() -> Iterator[str]:
    """Yield the character for each byte in GPT-2's table.

    Bytes that are not printable in Latin-1 get the characters from U+0100 on.
    """
    unprinted = itertools.count(256)
    for byte in range(256):
        is_printed = 33 <= byte <= 126 or 161 <= byte != 173
        code_point = byte if is_printed else next(unprinted)
        yield chr(code_point)


_CHARS = tuple(_printed_bytes())
_BYTES = {char: byte for byte, char in enumerate(_CHARS)}


def _byte_level(token: str) -> bytes | None:
    """Return the bytes of a token by GPT-2's table; None if it has others."""
    try:
        return bytes(map(_BYTES.__getitem__, token))
    except KeyError:
        return None


def _sentencepiece(token: str) -> bytes | None:
    """Return the bytes of a SentencePiece token, perhaps a single byte."""
    if re.fullmatch('<0x[0-9A-F]{2}>', token):
        return bytes([int(token[3:5], 16)])
    return token.replace('\u2581', ' ').encode()


def _without_word_sign(token: str) -> bytes | None:
    """Return the bytes of a token without the signs of `_WORD_SIGNS`."""
    return _WORD_SIGNS.sub('', token).encode()


_SPELLINGS = _byte_level, _sentencepiece


def _pieces_of(tokens: Sequence[str], verbatim: Set[str],
               spelling: Callable[[str], bytes | None]) -> list[bytes] | None:
    """Return the piece of each token, as bytes; None if one cannot be read.

    Tokens in `verbatim` are read literally, all other tokens by `spelling`.
    """
    table = {}
    for token in set(tokens):
        if token in verbatim:
            piece: bytes | None = token.encode()
        else:
            piece = spelling(token)
        if piece is None:
            return None
        table[token] = piece
    return [table[token] for token in tokens]


def _words_of(pieces: Sequence[bytes]) -> list[tuple[str, int]]:
    """Return pairs of a word and its number of pieces.

    The list is empty if the joined pieces are not UTF-8.
    """
    decoder = codecs.getincrementaldecoder('utf-8')()
    words = []
    word = ''
    count = 0
    for piece in pieces:
        try:
            word += decoder.decode(piece)
        except UnicodeDecodeError:
            return []
        count += 1
        unfinished_bytes, _ = decoder.getstate()
        if not unfinished_bytes:
            words.append((word, count))
            word = ''
            count = 0
    return [] if count else words
