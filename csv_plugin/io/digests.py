"""Files that carry the SHA-256 of their own bytes, so that damage shows.

The digest is a text in the JSON that a file has as metadata. A file is
composed with a digest of 64 zeros, hashed, and gets its hash in their place.
Whoever reads it puts the zeros back and compares. This notices every changed
bit; it does not say who wrote the file.
"""
import hashlib
import re
import warnings
from collections.abc import Iterable
from itertools import chain
from typing import Any

from csv_plugin.core.conventions import InputError

#: Version of the file formats from which on files carry a digest.
WITH_DIGEST = 2
_LABEL = 'csv_plugin sha256:'
#: Stands for the digest while a file is composed.
PLACEHOLDER = f'{_LABEL}{"0" * 64}'
_WRITTEN = re.compile(f'{_LABEL}[0-9a-f]{{64}}')


def sealed(where: str, data: bytes) -> bytes:
    """The bytes of a composed file with their digest in place.

    Args:
        where (str): The file, for errors.
        data (bytes): All of the file, with `PLACEHOLDER` in its metadata.

    Raises:
        InputError: A name in the file spells the placeholder too.
    """
    start = _place(where, data, PLACEHOLDER, 'Rename what has this name.')
    digest = digest_of([data]).encode()
    return data[:start] + digest + data[start + len(digest):]


def check_seal(where: str,
               data: bytes,
               digest: Any,
               remedy: str,
               rest: Iterable[Any] = ()) -> None:
    """Refuse a file that is not as it was written, in any bit.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it, or its start with the metadata.
        digest (Any): What its metadata give as the digest.
        remedy (str): What the user can do, for errors.
        rest (Iterable): What follows the start, in parts.

    Raises:
        InputError: The file has no such digest, or another one.
    """
    if not isinstance(digest, str) or not _WRITTEN.fullmatch(digest):
        raise InputError(where, 'the digest of the file in its metadata',
                         repr(digest)[:80], remedy)
    start = _place(where, data, digest, remedy)
    behind = memoryview(data)[start + len(digest):]
    if digest_of(
            chain([memoryview(data)[:start],
                   PLACEHOLDER.encode(), behind], rest)) != digest:
        raise InputError(where, 'the bytes that were written',
                         'other bytes: the file is damaged', remedy)


def digest_of(parts: Iterable[Any]) -> str:
    """The digest of bytes or buffers, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return f'{_LABEL}{digest.hexdigest()}'


def check_version(where: str, header: dict[str, Any], newest: int,
                  remedy: str) -> int:
    """The format version in a header; a note if it has no digest.

    Args:
        where (str): The file, for errors and notes.
        header (dict[str, Any]): Metadata of the file.
        newest (int): The version that is written today.
        remedy (str): How to renew the file, one sentence.

    Raises:
        InputError: This package cannot read the version.
    """
    version = header.get('format_version')
    if type(version) is not int or not 1 <= version <= newest:
        raise InputError(
            where, f'format version 1 to {newest}',
            f'version {version!r}'[:80],
            'Install the version of csv_plugin that wrote it: '
            f'{header.get("versions")}'[:200] + '.')
    if version < WITH_DIGEST:
        warnings.warn(
            f'{where} has format version {version}, in which damage cannot '
            f'be noticed. {remedy}',
            stacklevel=2)
    return version


def _place(where: str, data: bytes, digest: str, remedy: str) -> int:
    """Where the only occurrence of a digest in the data starts."""
    found = data.count(digest.encode())
    if found != 1:
        raise InputError(where, 'its digest once', f'{found} times', remedy)
    return data.index(digest.encode())
