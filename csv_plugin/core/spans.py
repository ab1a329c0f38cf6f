"""Spans of tokens in texts, in UTF-8 bytes."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csv_plugin.core.arrays import Integers
from csv_plugin.core.conventions import InputError, utf8_bytes
from csv_plugin.core.formatting import short_repr


@dataclass(frozen=True, eq=False)
class TokenSpans:
    """The spans of the n tokens of one text.

    Token i consists of the bytes `starts[i]:ends[i]` of the text. Tokens are
    in the order of the text, and no two tokens share a byte. A token may be
    empty, and some bytes may belong to no token. Objects with the same offsets
    are equal.

    Args:
        starts (Integers): First byte of each token. `(n,)`.
        ends (Integers): Byte after the last byte of each token. `(n,)`.
        n_bytes (int): Length of the text in bytes.

    Raises:
        InputError: An offset is outside the text, or tokens overlap or are out
            of order.

    >>> TokenSpans([0, 2], [2, 5], n_bytes=5).ends
    array([2, 5])
    """
    starts: Integers
    ends: Integers
    n_bytes: int

    def __post_init__(self) -> None:
        starts, ends = _offset_arrays(self.starts, self.ends)
        _check_order(starts, ends, self.n_bytes)
        object.__setattr__(self, 'starts', starts)
        object.__setattr__(self, 'ends', ends)
        object.__setattr__(self, 'n_bytes', int(self.n_bytes))

    @classmethod
    def from_token_bytes(cls, tokens: Sequence[bytes],
                         text: str) -> 'TokenSpans':
        r"""Make spans from the bytes of all tokens of a text, in order.

        Raises:
            InputError: The tokens, joined, are not the text's UTF-8 bytes.

        >>> TokenSpans.from_token_bytes([b'n', b'\xc3', b'\xa9'], 'né').ends
        array([1, 2, 3])
        """
        expected = utf8_bytes(text)
        joined = b''.join(tokens)
        if joined != expected:
            raise InputError('token bytes',
                             f'the {len(expected)} bytes of the text',
                             f'{len(joined)} other bytes',
                             'Give tokens that, joined, are the text.')
        lengths = [len(token) for token in tokens]
        widths = np.array(lengths, np.int64)
        ends = np.cumsum(widths)
        return cls(ends - widths, ends, len(expected))

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.starts)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TokenSpans) and self.n_bytes == other.n_bytes
                and np.array_equal(self.starts, other.starts)
                and np.array_equal(self.ends, other.ends))


@dataclass(frozen=True, eq=False)
class TextSpans(Sequence[TokenSpans]):
    """The spans of the T tokens of S texts: a sequence of `TokenSpans`.

    A `TokenSpans` is made each time a text is indexed. The arrays are not
    copied, and become read-only. Equal objects have the same hash, which
    `core.mapping` uses to cache what it computes from them.

    Args:
        starts (Integers): First byte of each token in its text. `(T,)`.
        ends (Integers): Byte after the last byte of each token. `(T,)`.
        n_tokens (Integers): Number of tokens of each text; the sum is T.
            `(S,)`.
        n_bytes (Integers): Length of each text in bytes. `(S,)`.
    """
    starts: Integers
    ends: Integers
    n_tokens: Integers
    n_bytes: Integers

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.flags.writeable = False
        # The edges of a text are its first byte, and then the start and the
        # end of each token. The edges of all texts must not decrease.
        of_tokens = np.column_stack(self.offsets_in_joined).ravel()
        of_texts = np.append(0, np.cumsum(self.n_bytes))
        # Each token has two edges.
        before = 2 * self.token_offsets
        edges = np.insert(of_tokens, before, of_texts)
        decreases = np.diff(edges) < 0
        if decreases.any():
            list(self)  # raises an error that names the token

    @classmethod
    def of(cls, texts: Iterable[TokenSpans]) -> 'TextSpans':
        """Join spans of single texts; `TextSpans` are returned as they are."""
        if isinstance(texts, cls):
            return texts
        # `np.concatenate` needs the empty arrays if there is no text.
        none = np.zeros(0, np.int64)
        starts = [none]
        ends = [none]
        n_tokens = []
        n_bytes = []
        for text in texts:
            starts.append(text.starts)
            ends.append(text.ends)
            n_tokens.append(len(text))
            n_bytes.append(text.n_bytes)
        return cls(
            starts=np.concatenate(starts),
            ends=np.concatenate(ends),
            n_tokens=np.array(n_tokens, np.int64),
            n_bytes=np.array(n_bytes, np.int64))

    @classmethod
    def concatenate(cls, lists: Sequence['TextSpans']) -> 'TextSpans':
        """Join several lists of texts."""
        joined = {}
        for name in ('starts', 'ends', 'n_tokens', 'n_bytes'):
            arrays = [getattr(texts, name) for texts in lists]
            joined[name] = np.concatenate(arrays)
        return cls(**joined)

    def select(self, rows: Sequence[int]) -> 'TextSpans':
        """Return the spans of the texts with these indices."""
        tokens = self.tokens_of(rows)
        return TextSpans(
            starts=self.starts[tokens],
            ends=self.ends[tokens],
            n_tokens=self.n_tokens[rows],
            n_bytes=self.n_bytes[rows])

    def __len__(self) -> int:
        return len(self.n_tokens)

    def __getitem__(self, text: Any) -> Any:
        """Return the `TokenSpans` of one text, `TextSpans` for a slice."""
        # A range accepts slices and negative indices, too.
        rows = range(len(self))[text]
        if isinstance(rows, range):
            return self.select(rows)
        first = self.token_offsets[rows]
        end = self.token_offsets[rows + 1]
        tokens = slice(first, end)
        return TokenSpans(
            starts=self.starts[tokens],
            ends=self.ends[tokens],
            n_bytes=self.n_bytes[rows])

    __repr__ = short_repr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpans) and self._content == other._content

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[bytes, ...]:
        """The bytes of all arrays, by which spans are compared and hashed."""
        arrays = self.starts, self.ends, self.n_tokens, self.n_bytes
        return tuple(array.tobytes() for array in arrays)

    def tokens_of(self, rows: Sequence[int]) -> Integers:
        """Return indices of the tokens of some texts.

        `rows` are the indices of the texts. Tokens are in the order of `rows`.
        """
        firsts = self.token_offsets[rows]
        counts = self.n_tokens[rows]
        # Token i of the selection is token i - first_selected of its text.
        first_selected = np.cumsum(counts) - counts
        shifts = firsts - first_selected
        shift_of_token = np.repeat(shifts, counts)
        n_selected = len(shift_of_token)
        return np.arange(n_selected) + shift_of_token

    @cached_property
    def token_offsets(self) -> Integers:
        """Index of the first token of each text, and finally T, `(S + 1,)`."""
        return np.append(0, np.cumsum(self.n_tokens))

    @property
    def offsets_in_joined(self) -> tuple[Integers, Integers]:
        """Starts and ends of tokens in the joined texts, `(T,)` each.

        They are positions in the bytes of all texts, one text after another.
        """
        of_texts = np.cumsum(self.n_bytes) - self.n_bytes
        first_byte = np.repeat(of_texts, self.n_tokens)
        starts = first_byte + self.starts
        ends = first_byte + self.ends
        return starts, ends


def _offset_arrays(starts: ArrayLike,
                   ends: ArrayLike) -> tuple[Integers, Integers]:
    """Return copies of offsets, as arrays of integers.

    Raises an `InputError` unless both have the same shape `(n,)`, and all
    offsets are integers.
    """
    first = np.array(starts)
    last = np.array(ends)
    if first.ndim != 1 or first.shape != last.shape:
        raise InputError('token offsets',
                         'starts and ends of the same shape (n,)',
                         f'{first.shape} and {last.shape}',
                         'Give every token one start and one end.')
    for array in (first, last):
        # An empty list makes an array of floats, which is fine.
        if array.size and array.dtype.kind not in 'iu':
            raise InputError('token offsets', 'whole numbers',
                             f'{array[0]} of type {array.dtype}',
                             'Pass integers.')
    return first.astype(np.int64), last.astype(np.int64)


def _check_order(starts: Integers, ends: Integers, n_bytes: int) -> None:
    """Raise an `InputError` for offsets outside the text or out of order."""
    of_tokens = np.column_stack([starts, ends]).ravel()
    edges = np.concatenate([[0], of_tokens, [n_bytes]])
    decreases = np.diff(edges) < 0
    for step in np.flatnonzero(decreases):
        # Step 0 leads to the first token, and the last step from the last
        # token to the end of the text.
        last = max(len(ends) - 1, 0)
        token = min(step // 2, last)
        raise InputError(
            f'token {token}',
            f'byte offsets in 0..{n_bytes} that never decrease',
            f'{edges[step + 1]} after {edges[step]}',
            'Leave special tokens out; give tokens in the order of the text, '
            'without overlap.')


def char_bounds(text: str) -> Integers:
    """Return the index of the first byte of each character of a text.

    The length of the text in bytes is added, so the shape is `(n_chars + 1,)`.
    """
    encoded = utf8_bytes(text)
    data = np.frombuffer(encoded, np.uint8)
    is_first = (data & 0xC0) != 0x80  # continuation bytes are 0b10xxxxxx
    firsts = np.flatnonzero(is_first)
    return np.append(firsts, data.size)
