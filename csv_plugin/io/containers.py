"""Read and write containers: safetensors files with a header and a digest.

The safetensors metadata have a single key, the kind of the container, such as
'csv_plugin.dump'. Its value is the header: a JSON object with
`format_version`, `digest` and the fields of this kind. The digest is the
SHA-256 of the file in which the digest itself is replaced by 64 zeros.
"""
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, atomic_path, read_bytes
from csv_plugin.io.json_files import check_fields, parse_json

#: Version of the format; files of another version are refused.
FORMAT_VERSION = 1
#: Text in front of the digest, by which it is found in the bytes of a file.
_LABEL = 'csv_plugin sha256:'
#: The text that replaces the digest while the digest is computed.
PLACEHOLDER = f'{_LABEL}{"0" * 64}'


def write_container(path: FilePath, kind: str, header: Mapping[str, Any],
                    arrays: Mapping[str, NDArray]) -> None:
    """Write a container of a kind such as 'csv_plugin.dump'."""
    start = {'format_version': FORMAT_VERSION, 'digest': PLACEHOLDER}
    text = json.dumps({**start, **header}, ensure_ascii=False)
    # safetensors writes arrays that are not contiguous wrongly, without error.
    contiguous = {key: np.ascontiguousarray(arrays[key]) for key in arrays}
    with atomic_path(path) as temporary:
        # `save_file` of safetensors is not used, because only the owner could
        # read its files.
        data = save(contiguous, metadata={kind: text})
        digest = _digest(data).encode()
        data = data.replace(PLACEHOLDER.encode(), digest, 1)
        temporary.write_bytes(data)


def read_container(path: FilePath, kind: str,
                   remedy: str) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return the header and the arrays of a container of this kind.

    `remedy` says in errors what to do about a damaged file.
    """
    data = read_bytes(path)
    try:
        arrays = load(data)
        length = int.from_bytes(data[:8], 'little')
        description = json.loads(data[8:8 + length])
        metadata = description.get('__metadata__') or {}
    # A KeyError means that an array has a type that numpy does not have.
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(path, 'a readable safetensors file', f'{error}',
                         remedy) from error
    if kind not in metadata:
        raise InputError(path, f'a file of the kind {kind}',
                         'another safetensors file', 'Check the path.')
    header = parse_json(metadata[kind], path, remedy)
    check_fields(path, 'the header', header, {}, remedy)
    version = header.get('format_version')
    if version != FORMAT_VERSION:
        raise InputError(
            path, f'format version {FORMAT_VERSION}',
            f'version {version!r}'[:80],
            'Make the file again, or install the version of csv_plugin that '
            f'wrote it: {header.get("versions")}'[:200] + '.')
    digest = str(header.get('digest'))
    blank = data.replace(digest.encode(), PLACEHOLDER.encode(), 1)
    if digest != _digest(blank):
        raise InputError(path, 'the bytes that were written',
                         'other bytes: the file is damaged', remedy)
    return header, arrays


def _digest(data: bytes) -> str:
    """Return the label and the SHA-256 of some bytes."""
    return f'{_LABEL}{hashlib.sha256(data).hexdigest()}'


@contextmanager
def errors_name(where: FilePath, expected: str, remedy: str) -> Iterator[None]:
    """Name the file in each `InputError` that the `with` body raises.

    The body's error is replaced by an error that says that `expected` was
    expected in the file `where`, and that quotes the body's error.
    """
    try:
        yield
    except InputError as error:
        raise InputError(where, expected, f'other values ({error})',
                         remedy) from error
