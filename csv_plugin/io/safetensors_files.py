"""Safetensors files from outside, read strictly.

A file starts with the length of a JSON text in 8 bytes, little-endian, and
that text, an object that describes each tensor; its key `__metadata__` holds
texts by name. The numbers follow.
"""
import io
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import check_fields
from csv_plugin.io.json_files import parse_json

#: Longest JSON text that the format allows.
_LONGEST = 100_000_000
_REMEDY = 'Check the path; fetch an intact copy.'
#: Types of floating-point numbers by their names in the header. Those of BF16
#: are the upper halves of numbers of 32 bits.
_FLOATS = {'F64': '<f8', 'F32': '<f4', 'F16': '<f2', 'BF16': '<u2'}


def read_metadata(where: str, file: BinaryIO) -> dict[str, str]:
    """The metadata of a safetensors file; it is left behind its header.

    Args:
        where (str): The file, for errors.
        file (BinaryIO): Opened, at its start.

    Returns:
        dict[str, str]: Texts by name, empty without metadata.

    Raises:
        InputError: The file does not start like a safetensors file.
    """
    length = int.from_bytes(file.read(8), 'little')
    text = file.read(min(length, _LONGEST))
    if len(text) < max(length, 2):
        raise InputError(where, 'a readable safetensors file',
                         f'{len(text)} bytes of a header of {length}', _REMEDY)
    try:
        header = parse_json(text, 'its header', _REMEDY)
        check_fields('it', 'a header', header, {}, _REMEDY)
        metadata = header.get('__metadata__', {})
        check_fields('its header', 'it', {'metadata': metadata},
                     {'metadata': 'texts by name'}, _REMEDY)
    except InputError as error:
        raise InputError(where, 'a readable safetensors file',
                         f'another file ({error})', _REMEDY) from error
    return metadata


def read_floats(where: str, data: bytes, name: str) -> NDArray[np.float64]:
    """One tensor of floating-point numbers.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it.
        name (str): Of the tensor; others are ignored.

    Raises:
        InputError: It is no safetensors file, or has no such tensor.
    """
    read_metadata(where, io.BytesIO(data))
    try:
        tensors = dict(deserialize(data))
    except (SafetensorError, ValueError) as error:
        raise InputError(where, 'a readable safetensors file', f'{error}',
                         _REMEDY) from error
    if name not in tensors:
        raise InputError(where, f'a tensor {name!r}',
                         ', '.join(sorted(tensors))[:200] or 'none',
                         'Rename the tensor.')
    kind, shape = (tensors[name][part] for part in ('dtype', 'shape'))
    if kind not in _FLOATS:
        raise InputError(f'{where}, {name!r}',
                         f'numbers of a type of {", ".join(_FLOATS)}', kind,
                         'Write it as float32.')
    numbers = np.frombuffer(tensors[name]['data'], _FLOATS[kind])
    if kind == 'BF16':
        numbers = (numbers.astype('<u4') << 16).view('<f4')
    return numbers.astype(np.float64).reshape(shape)
