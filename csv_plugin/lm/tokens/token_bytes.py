"""The text of tokens, read from their strings in the vocabulary."""
import codecs
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TypeVar

from csv_plugin.core.spans import TokenSpans

_Str = TypeVar('_Str', str, bytes)

# Signs of a token that continues a word (WordPiece) or ends one (BPE).
_WORD_SIGNS = re.compile('^##|</w>$|@@$')


def from_bytes(tokens: Sequence[str], added: Set[str],
               text: str) -> TokenSpans | None:
    """Spans of tokens that spell the text exactly; None if no reading does.

    Tokens are read as byte-level BPE (GPT-2's table) and as SentencePiece
    pieces with byte fallback. Tokens `added` to the vocabulary stand in the
    text as they are. A space that the tokenizer added before the text, or
    after an added token, is left out of its token, which may then be empty.
    """
    data = text.encode()
    literal = added & set(tokens)
    for spelling in _SPELLINGS:
        # Vocabularies also list ordinary pieces, such as runs of spaces, as
        # added tokens.
        verbatims = [literal, set()] if literal else [literal]
        for verbatim in verbatims:
            pieces = _spell(tokens, verbatim, spelling)
            if pieces is None:
                continue
            positions = [i for i, t in enumerate(tokens) if t in verbatim]
            pieces = without_prefix_spaces(pieces, positions, data)
            if b''.join(pieces) == data:
                return TokenSpans.from_token_bytes(pieces, text)
    return None


def string_of(entry: str | bytes) -> str:
    """A vocabulary entry; bytes are written as GPT-2's vocabulary does."""
    if isinstance(entry, str):
        return entry
    return ''.join(map(_CHARS.__getitem__, entry))


def readings_of_all(
        tokens: Sequence[str],
        added: Set[str]) -> Iterator[tuple[list[str], list[int], list[int]]]:
    """Tokens as words of text, in every spelling that reads all of them.

    Yields the words, where tokens with parts of one character make one word;
    the indices of the words that are `added` tokens; and the number of tokens
    of each word.
    """
    literal = added & set(tokens)
    for spelling in (*_SPELLINGS, _without_word_sign):
        pieces = _spell(tokens, literal, spelling)
        groups = pieces and _whole_characters(pieces)
        if groups:
            words = []
            places_of_added = []
            counts = []
            for place, (word, count) in enumerate(groups):
                words.append(word)
                counts.append(count)
                if word in literal:
                    places_of_added.append(place)
            yield words, places_of_added, counts


def without_prefix_spaces(pieces: list[_Str], places_of_added: Sequence[int],
                          whole: _Str) -> list[_Str]:
    """Remove the spaces that a tokenizer added and the text does not have.

    It may add one at the start of the text and after each added token, whose
    indices are `places_of_added`. The pieces and the `whole` text that they
    should spell are bytes or characters.
    """
    pieces = list(pieces)
    position = 0
    bounds = [0]
    for place in places_of_added:
        bounds.append(place + 1)
    bounds.append(len(pieces))
    for first, last in zip(bounds[:-1], bounds[1:]):
        stretch = whole[:0].join(pieces[first:last])
        has_space = stretch[:1] in (' ', b' ')
        if has_space and not whole.startswith(stretch, position):
            # The first pieces of the stretch may be empty.
            while not pieces[first]:
                first += 1
            pieces[first] = pieces[first][1:]
            stretch = stretch[1:]
        position += len(stretch)
    return pieces


@functools.lru_cache(maxsize=1 << 18)
def readings(token: str) -> tuple[str, ...]:
    """The texts that a token may stand for, parts of characters left out."""
    words = []
    for spelling in (_without_word_sign, _byte_level, _sentencepiece):
        data = spelling(token)
        if data is not None:
            for word, _ in _whole_characters([data]):
                words.append(word)
    return tuple(words)


def _printed_bytes() -> Iterator[str]:
    """The character for each byte in GPT-2's table.

    Bytes that are not printable in Latin-1 get those from U+0100 on.
    """
    unprinted = itertools.count(256)
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


def _without_word_sign(token: str) -> bytes | None:
    return _WORD_SIGNS.sub('', token).encode()


_SPELLINGS = _byte_level, _sentencepiece


def _spell(tokens: Sequence[str], verbatim: Set[str],
           spelling: Callable[[str], bytes | None]) -> list[bytes] | None:
    """The bytes of each token; None if the spelling cannot read one."""
    table = {}
    for token in set(tokens):
        piece = token.encode() if token in verbatim else spelling(token)
        if piece is None:
            return None
        table[token] = piece
    return [table[token] for token in tokens]


def _whole_characters(pieces: Sequence[bytes]) -> list[tuple[str, int]]:
    """Texts of whole characters, with their numbers of pieces.

    Empty if the pieces, joined, are not UTF-8.
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
        if not decoder.getstate()[0]:
            words.append((word, count))
            word = ''
            count = 0
    return [] if count else words
