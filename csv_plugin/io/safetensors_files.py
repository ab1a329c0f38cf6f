"""Metadata of safetensors files, read strictly before anything else.

A file starts with the length of a JSON text in 8 bytes, little-endian, and
that text, an object that describes each tensor; its key `__metadata__` holds
texts by name. The numbers follow.
"""
from typing import BinaryIO

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import check_fields
from csv_plugin.io.json_files import parse_json

#: Longest JSON text that the format allows.
_LONGEST = 100_000_000
_REMEDY = 'Check the path; fetch an intact copy.'


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
