"""Containers: arrays and JSON about them in one file, which has a digest.

A container is a safetensors file: the length of a JSON text in 8 bytes,
little-endian; that text, an object that describes each array, whose key
`__metadata__` holds texts by name; and the numbers. Its metadata are one text,
under the name of the kind of container: JSON with `format_version`, `digest`
and whatever the kind needs. docs/formats.md describes the kinds.

The digest is the SHA-256 of the file. The file is composed with a digest of 64
zeros, hashed, and gets its hash in their place; whoever reads it puts the
zeros back and compares. This notices every changed bit; it does not say who
wrote the file.
"""
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, atomic_path, check_fields, read_bytes
from csv_plugin.io.json_files import parse_json

#: Of the files of this package that have a digest.
FORMAT_VERSION = 1
_LABEL = 'csv_plugin sha256:'
#: Stands for the digest while a file is composed.
PLACEHOLDER = f'{_LABEL}{"0" * 64}'
_WRITTEN = re.compile(f'{_LABEL}[0-9a-f]{{64}}')
#: Longest JSON text that safetensors allow.
_LONGEST = 100_000_000


def write_container(path: FilePath, kind: str, header: Mapping[str, Any],
                    arrays: Mapping[str, NDArray]) -> None:
    """Write a container; the file appears whole or not at all.

    Args:
        path (FilePath): The file to create or replace.
        kind (str): Such as 'csv_plugin.dump'.
        header (Mapping[str, Any]): Values of JSON by name.
        arrays (Mapping[str, NDArray]): By name.

    Raises:
        InputError: The folder does not exist, or the disk is full.
    """
    text = json.dumps(
        {
            'format_version': FORMAT_VERSION,
            'digest': PLACEHOLDER,
            **header
        },
        allow_nan=False,
        ensure_ascii=False)
    # safetensors writes arrays with strides wrongly, and raises no error.
    contiguous = {key: np.ascontiguousarray(arrays[key]) for key in arrays}
    with atomic_path(path) as temporary:
        # save_file would make a file that only its owner may read.
        data = save(contiguous, metadata={kind: text})
        temporary.write_bytes(_sealed(os.fspath(path), data))


def read_container(path: FilePath, kind: str,
                   remedy: str) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The header and the arrays of a container, as they were written.

    Args:
        path (FilePath): The file.
        kind (str): What it has to be.
        remedy (str): What the user can do about a damaged file.

    Raises:
        InputError: The file is missing, damaged, of another kind or of
            another format version.
    """
    where = os.fspath(path)
    data = read_bytes(where)
    header = _header(where, data, kind, remedy)
    try:
        return header, load(data)
    # KeyError: an array of a type that numpy does not have.
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(where, 'a readable safetensors file', f'{error}',
                         remedy) from error


def read_header(path: FilePath, kind: str, remedy: str) -> dict[str, Any]:
    """The header of a container, all of which is as it was written.

    Arguments and errors as in `read_container`.
    """
    where = os.fspath(path)
    return _header(where, read_bytes(where), kind, remedy)


def _header(where: str, data: bytes, kind: str, remedy: str) -> dict[str, Any]:
    metadata = read_metadata(where, data)
    if kind not in metadata:
        raise InputError(where, f'a file of the kind {kind}',
                         'another safetensors file', 'Check the path.')
    header = parse_json(metadata[kind], where, remedy)
    check_fields(where, 'the header', header, {}, remedy)
    _check_version(where, header)
    _check_seal(where, data, header.get('digest'), remedy)
    return header


def read_metadata(where: str, data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it.

    Returns:
        dict[str, str]: Texts by name, empty without metadata.

    Raises:
        InputError: The file does not start like a safetensors file.
    """
    remedy = 'Check the path; fetch an intact copy.'
    length = int.from_bytes(data[:8], 'little')
    text = data[8:8 + min(length, _LONGEST)]
    if len(text) < max(length, 2):
        raise InputError(where, 'a readable safetensors file',
                         f'{len(text)} bytes of a header of {length}', remedy)
    try:
        header = parse_json(text, 'its header', remedy)
        check_fields('it', 'a header', header, {}, remedy)
        metadata = header.get('__metadata__', {})
        check_fields('its header', 'it', {'metadata': metadata},
                     {'metadata': 'texts by name'}, remedy)
    except InputError as error:
        raise InputError(where, 'a readable safetensors file',
                         f'another file ({error})', remedy) from error
    return metadata


def _check_version(where: str, header: Mapping[str, Any]) -> None:
    version = header.get('format_version')
    if type(version) is not int or version != FORMAT_VERSION:
        raise InputError(
            where, f'format version {FORMAT_VERSION}',
            f'version {version!r}'[:80],
            'Make the file again, or install the version of csv_plugin that '
            f'wrote it: {header.get("versions")}'[:200] + '.')


def _sealed(where: str, data: bytes) -> bytes:
    """The bytes of a composed file with their digest in place."""
    start = _place(where, data, PLACEHOLDER, 'Rename what has this name.')
    digest = _digest_of(data).encode()
    return data[:start] + digest + data[start + len(digest):]


def _check_seal(where: str, data: bytes, digest: Any, remedy: str) -> None:
    """Refuse a file that is not as it was written, in any bit."""
    if not isinstance(digest, str) or not _WRITTEN.fullmatch(digest):
        raise InputError(where, 'the digest of the file in its metadata',
                         repr(digest)[:80], remedy)
    start = _place(where, data, digest, remedy)
    view = memoryview(data)
    if digest != _digest_of(view[:start], PLACEHOLDER.encode(),
                            view[start + len(digest):]):
        raise InputError(where, 'the bytes that were written',
                         'other bytes: the file is damaged', remedy)


def _digest_of(*parts: bytes | memoryview) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return f'{_LABEL}{digest.hexdigest()}'


def _place(where: str, data: bytes, digest: str, remedy: str) -> int:
    """Where the only occurrence of a digest in the data starts."""
    found = data.count(digest.encode())
    if found != 1:
        raise InputError(where, 'its digest once', f'{found} times', remedy)
    return data.index(digest.encode())


@contextmanager
def errors_name(where: str, expected: str, remedy: str) -> Iterator[None]:
    """Name the file, or the part of it, in errors about its values."""
    try:
        yield
    except InputError as error:
        raise InputError(where, expected, f'values that are not ({error})',
                         remedy) from error
