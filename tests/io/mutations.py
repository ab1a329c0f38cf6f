"""Damaged copies of files, the same ones in every run."""
from collections.abc import Iterator

import numpy as np

#: What damage often leaves behind, and what readers stumble over.
_PIECES = (b'\0', b'\xff', b'\n', b'\r', b'"', b',', b'1e999', b'-1', b'NaN',
           b'1_0', b'[[', b'{', b'&a', b'*a', b'\xed\xa0\x80', b'9' * 400,
           b'\\ud800', '１'.encode())


def mutations(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Copies with a changed bit, a lost end, a doubled part or a new piece.

    Args:
        data (bytes): An intact file.
        count (int): Number of copies.
        seed (int): Equal seeds give equal copies.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        start, end = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        match rng.integers(5):
            case 0:
                bit = rng.integers(8 * len(data))
                changed = bytearray(data)
                changed[bit // 8] ^= 1 << bit % 8
                yield bytes(changed)
            case 1:
                yield data[:start]
            case 2:
                yield data[:start] + data[end:]
            case 3:
                yield data[:end] + data[start:]
            case _:
                piece = _PIECES[rng.integers(len(_PIECES))]
                yield data[:start] + piece + data[start:]
