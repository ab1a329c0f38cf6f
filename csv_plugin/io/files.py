"""Files that are read with a clear error and written whole or not at all."""
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from csv_plugin.core.conventions import InputError


def check_target(path: str | os.PathLike[str]) -> None:
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
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write to a temporary file that becomes `path` when all went well.

    The temporary file lies in the same folder, so that the renaming is one
    step of the file system, and has the same suffix. If the body of the
    `with` statement fails, the temporary file is removed and whatever was
    at `path` stays as it was.

    Args:
        path (str | os.PathLike[str]): The file to create or replace.

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


def read_bytes(path: str | os.PathLike[str]) -> bytes:
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
