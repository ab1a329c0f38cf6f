"""Places of tokens in a text, in UTF-8 bytes."""
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.input_error import InputError, utf8_bytes


@dataclass(frozen=True, eq=False)
class TokenSpans:
    """Bytes `starts[i]:ends[i]` of each token of one text.

    Tokens are in the order of the text and share no byte. A token may have no
    bytes, and a byte no token. Spans with the same offsets are equal.

    Args:
        starts (NDArray): First byte of each token. `(n,)`.
        ends (NDArray): Byte after the last of each token. `(n,)`.
        n_bytes (int): Length of the text in bytes.

    Raises:
        InputError: An offset is outside the text, or tokens overlap or are out
            of order.

    >>> TokenSpans([0, 2], [2, 5], n_bytes=5).widths
    array([2, 3])
    """
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    n_bytes: int

    def __post_init__(self) -> None:
        starts, ends = _offset_arrays(self.starts, self.ends)
        _check_order(starts, ends, self.n_bytes, 'byte', np.arange(len(ends)))
        # Arrays that cannot be changed, so that the hash never changes.
        for field, array in (('starts', starts), ('ends', ends)):
            array.flags.writeable = False
            object.__setattr__(self, field, array)
        object.__setattr__(self, 'n_bytes', int(self.n_bytes))

    @classmethod
    def from_token_bytes(cls, tokens: Sequence[bytes],
                         text: str) -> 'TokenSpans':
        r"""Make spans from the bytes of the tokens, which tile the text.

        Raises:
            InputError: The tokens, joined, are not the text's UTF-8 bytes.

        >>> TokenSpans.from_token_bytes([b'n', b'\xc3', b'\xa9'], 'né').ends
        array([1, 2, 3])
        """
        expected, joined = utf8_bytes(text), b''.join(tokens)
        if joined != expected:
            same = len(commonprefix([expected, joined]))
            raise InputError(
                'token bytes', f'the {len(expected)} bytes of the text',
                f'{len(joined)} bytes that differ from byte {same} on: '
                f'{joined[same:same + 8]!r} for {expected[same:same + 8]!r}',
                'Use character offsets if the tokenizer changes the text.')
        ends = np.cumsum([len(token) for token in tokens], dtype=np.int64)
        return cls(np.append(0, ends)[:-1], ends, len(expected))

    @classmethod
    def from_char_offsets(cls, text: str, starts: ArrayLike,
                          ends: ArrayLike) -> 'TokenSpans':
        """Make spans from character offsets.

        Byte-level tokenizers cut inside a character and report the whole
        character for every piece. Such consecutive tokens share its bytes in
        order, as evenly as whole bytes allow.

        Args:
            text (str): The text.
            starts (ArrayLike): First character (code point) of each token,
                `(n,)`.
            ends (ArrayLike): Character after the last of each token, `(n,)`.

        Raises:
            InputError: An offset is outside the text, or tokens are out of
                order or overlap other than on one shared character.

        >>> TokenSpans.from_char_offsets('né', [0, 1, 1], [1, 2, 2]).starts
        array([0, 1, 2])
        """
        char_starts, char_ends = _offset_arrays(starts, ends)
        first, count, rank = _sharers(char_starts, char_ends)
        bounds = _char_bounds(text)
        _check_order(char_starts[first], char_ends[first],
                     len(bounds) - 1, 'character', first)
        start = bounds[char_starts]
        width = bounds[char_ends] - start
        return cls(start + width * rank // count,
                   start + width * (rank + 1) // count, int(bounds[-1]))

    def __repr__(self) -> str:
        return f'TokenSpans({len(self)} tokens of {self.n_bytes} bytes)'

    def __len__(self) -> int:
        return len(self.starts)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TokenSpans) and self.n_bytes == other.n_bytes
                and np.array_equal(self.starts, other.starts)
                and np.array_equal(self.ends, other.ends))

    def __hash__(self) -> int:
        return hash((self.n_bytes, self.starts.tobytes(), self.ends.tobytes()))

    @property
    def widths(self) -> NDArray[np.int64]:
        """Bytes of each token, `(n,)`."""
        return self.ends - self.starts

    @property
    def tiles(self) -> bool:
        """True if every byte of the text belongs to a token."""
        return int(self.widths.sum()) == self.n_bytes


def _offset_arrays(
        starts: ArrayLike,
        ends: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """New int64 arrays of the same shape `(n,)`."""
    arrays = np.array(starts), np.array(ends)
    for array in arrays:
        if array.shape != (array.size, ) or array.shape != arrays[0].shape:
            raise InputError('token offsets',
                             'starts and ends of the same shape (n,)',
                             f'{arrays[0].shape} and {arrays[1].shape}',
                             'Give every token one start and one end.')
        # An empty list makes an array of floats, which is fine.
        if array.size and array.dtype.kind not in 'iu':
            raise InputError('token offsets', 'whole numbers',
                             f'{array[0]} of type {array.dtype}',
                             'Pass integers.')
    return arrays[0].astype(np.int64), arrays[1].astype(np.int64)


def _check_order(starts: NDArray[np.int64], ends: NDArray[np.int64],
                 length: int, unit: str, tokens: NDArray[np.int64]) -> None:
    """Raise for offsets outside the text or out of order."""
    if length < 0:
        raise InputError('text length', f'at least 0 {unit}s', str(length),
                         'Pass the length of the text.')
    edges = np.concatenate([[0],
                            np.column_stack([starts, ends]).ravel(), [length]])
    backward = np.flatnonzero(np.diff(edges) < 0)
    if backward.size:
        edge = backward[0]
        token = tokens[min(edge // 2, len(tokens) - 1)]
        raise InputError(
            f'token {token}', f'{unit} offsets that run from 0 to {length} '
            'without a step back', f'{edges[edge + 1]} after {edges[edge]}',
            'Drop special tokens; tokens must be in order and not overlap.')


def _sharers(
    starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs of tokens that report the same single character.

    Returns the first token of each run, `(runs,)`; then the number of tokens
    in the run of each token, and its place among them, `(n,)`.
    """
    n = len(starts)
    shares = (np.diff(starts) == 0) & (np.diff(ends) == 0)
    shares &= (ends - starts == 1)[1:]
    first = np.flatnonzero(np.append(True, ~shares)[:n])
    lengths = np.diff(np.append(first, n))
    rank = np.arange(n) - np.repeat(first, lengths)
    return first, np.repeat(lengths, lengths), rank


def _char_bounds(text: str) -> NDArray[np.int64]:
    """First byte of each character, and the end. `(n_chars + 1,)`."""
    data = np.frombuffer(utf8_bytes(text), np.uint8)
    begins = (data & 0xC0) != 0x80  # continuation bytes are 0b10xxxxxx
    return np.append(np.flatnonzero(begins), data.size)
