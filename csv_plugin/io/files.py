"""Files that are read with a clear error and written whole or not at all."""
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from csv_plugin.core.conventions import InputError

#: A path as functions of this package take it.
FilePath = str | os.PathLike[str]


def check_target(path: FilePath) -> None:
    """Before a long computation: can a file be written there?

    Raises:
        InputError: The folder does not exist, or there is a folder of that
            name.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(
            str(target), 'a file name in an existing folder',
            f'no folder {str(target.parent)!r}', 'Create the folder first.')
    if target.is_dir():
        raise InputError(
            str(target), 'the name of a file', 'a folder',
            'Add a file name to it.')


@contextmanager
def atomic_path(path: FilePath) -> Iterator[Path]:
    """Write to a temporary file that becomes `path` when all went well.

    The temporary file lies in the same folder, so that the renaming is one
    step of the file system, and has the same suffix. If the body of the
    `with` statement fails, the temporary file is removed and whatever was
    at `path` stays as it was.

    Args:
        path (FilePath): The file to create or replace.

    Yields:
        Path: Where to write instead; nothing exists there yet.

    Raises:
        InputError: As in `check_target`.
    """
    target = Path(path)
    check_target(target)
    # Opened by the writer, unlike tempfile's files, which only their owner
    # may read.
    temporary = target.with_name(f'.{token_hex(8)}.{target.name}')
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def read_bytes(path: FilePath) -> bytes:
    """All of a file.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            os.fspath(path), 'a file that can be read',
            f'the error {error.strerror!r}', 'Check the path.') from error


def check_fields(where: str, part: str, values: Any, fields: Mapping[str, str],
                 remedy: str) -> None:
    """Refuse an object without these fields, or with others in their place.

    Args:
        where (str): The file, for errors.
        part (str): What the object is called in it.
        values (Any): What JSON held.
        fields (Mapping[str, str]): Kind of each field, a key of `_KINDS`.
        remedy (str): What to do.

    Raises:
        InputError: It is no object, or a field is missing or of another
            kind.
    """
    if not isinstance(values, dict):
        raise InputError(where, f'{part} with named fields',
                         repr(values)[:80], remedy)
    for name, kind in fields.items():
        if name not in values:
            raise InputError(where, f'{name!r} in {part}', 'none', remedy)
        if not _KINDS[kind](values[name]):
            raise InputError(where, f'{kind} as {name!r} in {part}',
                             repr(values[name])[:80], remedy)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


#: Kinds of JSON values.
_KINDS: dict[str, Callable[[Any], bool]] = {
    'a text': lambda v: isinstance(v, str),
    'a number': _is_number,
    'a number or null': lambda v: v is None or _is_number(v),
    'a count': lambda v: type(v) is int and v >= 0,
    'a list': lambda v: isinstance(v, list),
    'a list of texts': lambda v: isinstance(v, list) and _are_texts(v),
    'pairs of texts': lambda v: isinstance(v, list) and all(
        isinstance(p, list) and len(p) == 2 and _are_texts(p) for p in v),
    'texts by name': lambda v: isinstance(v, dict) and _are_texts(v.values()),
}  # yapf: disable
