"""Reading files with clear errors, and writing them whole or not at all."""
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from csv_plugin.core.conventions import InputError

#: Whatever Python opens as the path of a file or folder.
FilePath = str | os.PathLike[str]


def check_target(path: FilePath) -> None:
    """Check before a long computation that its result can be written.

    Args:
        path (FilePath): The file to create or replace later.

    Raises:
        InputError: The folder of the file does not exist, or the path is
            that of a folder.
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
    """Give a temporary path, and rename the file written there to `path`.

    The temporary file lies in the same folder, so that renaming it is one
    step of the file system, and has the same suffix. If the body of the
    `with` statement fails, the temporary file is removed and an earlier
    file at `path` stays as it was.

    Args:
        path (FilePath): The file to create or replace.

    Yields:
        Path: Where to write; no file exists there yet.

    Raises:
        InputError: As in `check_target`.
    """
    target = Path(path)
    check_target(target)
    # Only a name: a file that tempfile made could be read by its owner alone.
    temporary = target.with_name(f'.{token_hex(8)}.{target.name}')
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: FilePath, text: str) -> None:
    """Write a text file in UTF-8; it appears whole or not at all.

    Args:
        path (FilePath): The file to create or replace.
        text (str): Its content; line ends are written as they are.

    Raises:
        InputError: As in `check_target`.
    """
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode('utf-8'))


def read_bytes(path: FilePath) -> bytes:
    """The content of a file.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            os.fspath(path), 'a file that can be read',
            f'the error {error.strerror!r}', 'Check the path.') from error


def check_fields(where: str, part: str, values: Any, fields: Mapping[str, str],
                 remedy: str) -> None:
    """Check that a JSON object has fields of the right types.

    Args:
        where (str): The file, for errors.
        part (str): Name of the object, for errors.
        values (Any): A JSON value, which should be the object.
        fields (Mapping[str, str]): The type of each field that it must
            have: 'a text', 'a number', 'a number or null', 'a count', 'a
            list', 'a list of texts', 'pairs of texts' or 'texts by name'.
        remedy (str): What the user can do, for errors.

    Raises:
        InputError: The value is not an object, or a field is missing or of
            another type.
    """
    if not isinstance(values, dict):
        raise InputError(where, f'{part} with named fields',
                         repr(values)[:80], remedy)
    for name, expected in fields.items():
        if name not in values:
            raise InputError(where, f'{name!r} in {part}', 'none', remedy)
        if not _CHECKS[expected](values[name]):
            raise InputError(where, f'{expected} as {name!r} in {part}',
                             repr(values[name])[:80], remedy)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


#: For each type of a JSON value, whether a value has it.
_CHECKS: dict[str, Callable[[Any], bool]] = {
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
