"""The values in front of the tensors of a GGUF file.

The reader of the package `gguf` keeps every entry of a vocabulary as an array
of its own, which takes minutes for a large one.
"""
import struct
from pathlib import Path
from typing import Any, BinaryIO

#: Letters of `struct` by the numbers that the format has for types.
_NUMBERS = dict(enumerate('BbHhIif?')) | {10: 'Q', 11: 'q', 12: 'd'}
_TEXT, _LIST = 8, 9


def gguf_values(path: Path) -> dict[str, Any]:
    """Names and values, of version 2 or 3 of the format."""
    with path.open('rb') as file:
        magic, version, _, count = struct.unpack('<4sIQQ', file.read(24))
        assert magic == b'GGUF' and version in (2, 3), path
        return {_text(file): _value(file, _number(file, 'I'))
                for _ in range(count)}  # yapf: disable


def _number(file: BinaryIO, letter: str) -> Any:
    size = struct.calcsize(letter)
    return struct.unpack(f'<{letter}', file.read(size))[0]


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, 'Q')).decode('utf-8')


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(file)
    if kind == _LIST:
        kind, count = struct.unpack('<IQ', file.read(12))
        return [_value(file, kind) for _ in range(count)]
    return _number(file, _NUMBERS[kind])
