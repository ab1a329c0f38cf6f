"""Damage to files: bytes as disks, networks and editors change them.

Forgeries, which a person writes on purpose, stand in `forged_texts` and
`forged_arrays`.
"""
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.faults.forged_arrays import forge_parquet, forge_safetensors
from tests.faults.forged_texts import FORGERS

#: What is put into a file at some place.
_PIECES = (b'\0', b'\xff', b'\n', b'\r', b'"', b',', b'-', b'.', b'9', b'{',
           b'[', b'&a', b'*a', b'\xed\xa0\x80', b'\xe2\x80\xae', b'\x1b[2J',
           b'1e999', b'NaN', b'\\ud800', b'\0' * 4096, b'9' * 5000)


def flip_a_bit(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    bit = rng.randrange(8 * len(data))
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def flip_bits(rng: Random, data: bytes) -> bytes:
    for _ in range(rng.randint(2, 20)):
        data = flip_a_bit(rng, data)
    return data


def replace_bytes(rng: Random, data: bytes) -> bytes:
    start, end = _block(rng, data, 16)
    return data[:start] + rng.randbytes(end - start) + data[end:]


def zero_a_block(rng: Random, data: bytes) -> bytes:
    start, end = _block(rng, data, 512)
    return data[:start] + bytes(end - start) + data[end:]


def cut_the_end(rng: Random, data: bytes) -> bytes:
    return data[:rng.randrange(len(data))]


def cut_the_start(rng: Random, data: bytes) -> bytes:
    return data[rng.randrange(len(data)):]


def cut_a_block(rng: Random, data: bytes) -> bytes:
    start, end = _block(rng, data, 64)
    return data[:start] + data[end:]


def insert(rng: Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.choice(_PIECES) + data[start:]


def double_a_block(rng: Random, data: bytes) -> bytes:
    start, end = _block(rng, data, 64)
    return data[:end] + data[start:]


def swap_blocks(rng: Random, data: bytes) -> bytes:
    a, b, c, d = sorted(rng.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def empty(rng: Random, data: bytes) -> bytes:
    return b''


def only_zeros(rng: Random, data: bytes) -> bytes:
    return bytes(len(data))


def write_twice(rng: Random, data: bytes) -> bytes:
    return data + data


def _block(rng: Random, data: bytes, longest: int) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.randint(1, longest))


def other_encoding(rng: Random, data: bytes) -> bytes:
    """The text in another encoding, or with other ends of lines."""
    encoding = rng.choice(('utf-16', 'utf-8-sig', 'cp1252', 'utf-7', 'lines'))
    text = data.decode('utf-8')
    if encoding == 'lines':
        return text.replace('\n', rng.choice(('\r\n', '\r'))).encode()
    return text.encode(encoding, 'replace')


_BYTES = (flip_a_bit, flip_a_bit, flip_a_bit, flip_bits, replace_bytes,
          zero_a_block, cut_the_end, cut_the_end, cut_the_start, cut_a_block,
          insert, insert, double_a_block, swap_blocks, empty, only_zeros,
          write_twice)


def remove(path: Path) -> None:
    path.unlink()


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to('nowhere')


_PATHS = (remove, become_a_folder, link_to_itself, link_to_nothing)
_BINARY: dict[str, Callable[[Random, bytes], bytes]] = {
    '.parquet': forge_parquet,
    '.safetensors': forge_safetensors,
}


def is_binary(path: Path) -> bool:
    return path.suffix in _BINARY


def damage(rng: Random, path: Path) -> str:
    """Damage a file in place.

    Args:
        rng (Random): Decides how.
        path (Path): An intact file of a sample.

    Returns:
        str: Name of the damage; that of a forgery begins with `forge_`.
    """
    if rng.random() < .02:
        change_path = rng.choice(_PATHS)
        change_path(path)
        return change_path.__name__
    data = path.read_bytes()
    if rng.random() < .5:
        forge = _BINARY.get(path.suffix)
        if forge:
            path.write_bytes(forge(rng, data))
            return forge.__name__
        forge_text = FORGERS[path.suffix]
        text = forge_text(rng, data.decode('utf-8'))
        path.write_bytes(text.encode('utf-8', 'surrogatepass'))
        return forge_text.__name__
    texts = () if is_binary(path) else (other_encoding, other_encoding)
    change = rng.choice((*_BYTES, *texts))
    path.write_bytes(change(rng, data))
    return change.__name__
