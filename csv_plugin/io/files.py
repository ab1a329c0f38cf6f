"""Reading files with clear errors, and writing them whole or not at all."""
import errno
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import is_file_name

#: Whatever Python opens as the path of a file or folder.
FilePath = str | os.PathLike[str]
#: Most bytes of a file that is read into memory at once.
_LARGEST = 2**30


def check_target(path: FilePath) -> None:
    """Check before a long computation that its result can be written.

    Args:
        path (FilePath): The file to create or replace later.

    Raises:
        InputError: The folder of the file does not exist or may not be
            written to, or the path is too long or that of a folder, a device
            or a pipe.
    """
    target = Path(path)
    with _plain_errors(target):
        if not target.parent.is_dir():
            raise InputError(
                str(target), 'a file name in an existing folder',
                f'no folder {str(target.parent)!r}',
                'Create the folder first.')
        if target.is_dir():
            raise InputError(
                str(target), 'the name of a file', 'a folder',
                'Add a file name to it.')
        if target.exists() and not target.is_file():
            # The file would take its place, even that of /dev/null.
            raise InputError(
                str(target), 'the name of a file', 'a device or a pipe',
                'Choose another name.')
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def atomic_path(path: FilePath) -> Iterator[Path]:
    """Give a temporary path, and rename the file written there to `path`.

    The temporary file lies in the same folder, so that renaming it is one
    step of the file system, and has the same suffix. It is on the disk, not
    only in the memory of the machine, before it is renamed. If the body of
    the `with` statement fails, the temporary file is removed and an earlier
    file at `path` stays as it was.

    Args:
        path (FilePath): The file to create or replace.

    Yields:
        Path: Where to write; no file exists there yet.

    Raises:
        InputError: As in `check_target`, or the file cannot be written, such
            as on a full disk.
    """
    target = Path(path)
    check_target(target)
    temporary = _temporary(target)
    try:
        with _plain_errors(target, temporary):
            yield temporary
            _flush(temporary)
            os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()
    _flush_folder(target.parent)


def _temporary(target: Path) -> Path:
    """A name for what becomes a file; it starts with a dot."""
    # Only a name: a file that tempfile made could be read by its owner alone.
    # It is short, so that a file may have the longest name that there is.
    suffix = target.suffix if len(target.suffix) <= 12 else ''
    return target.with_name(f'.tmp_{token_hex(8)}{suffix}')


def _flush(path: Path) -> None:
    """Wait until the disk has what was written."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _flush_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder, if it can tell."""
    # Some file systems cannot; what was written is there all the same.
    with suppress(OSError):
        _flush(path)


#: What to do about the errors of a system that users can mend.
_REMEDIES = {
    errno.ENOSPC: 'Make room on the disk, then start again.',
    errno.EDQUOT: 'Make room on the disk, then start again.',
    errno.EFBIG: 'Raise the limit of the size of files (ulimit -f).',
    errno.ENAMETOOLONG: 'Choose a shorter name.',
    errno.ENOTEMPTY: 'Choose another name, or remove what is there.',
}


@contextmanager
def _plain_errors(target: Path, *written: Path) -> Iterator[None]:
    """Turn errors of the system about a file into `InputError`.

    Args:
        target (Path): The file that is to be written.
        written (Path): Other names that the file has in errors.
    """
    names = {'None', *map(str, (target, target.parent, *written))}
    try:
        yield
    except OSError as error:
        # Others come from elsewhere, such as the network.
        if error.errno is None or str(error.filename) not in names:
            raise
        raise InputError(
            str(target), 'a file that can be written',
            f'the error {error.strerror!r}',
            _REMEDIES.get(error.errno,
                          'Choose a folder that you may write to.')) from error


def write_text(path: FilePath, text: str) -> None:
    """Write a text file in UTF-8; it appears whole or not at all.

    Args:
        path (FilePath): The file to create or replace.
        text (str): Its content; line ends are written as they are.

    Raises:
        InputError: As in `check_target`.
    """
    with atomic_path(path) as temporary:
        # Names of files that are not Unicode are written as JSON writes them.
        temporary.write_bytes(text.encode('utf-8', 'backslashreplace'))


def _opened_at_once(path: str, flags: int) -> int:
    # Windows has no such flag, nor pipes among its files.
    opened = os.open(path, flags | getattr(os, 'O_NONBLOCK', 0))
    if _is_endless(opened):
        os.close(opened)
        raise OSError(errno.EINVAL, 'Not a file')
    return opened


def read_bytes(path: FilePath) -> bytes:
    """The content of a file.

    Raises:
        InputError: The file cannot be read, holds more than 1 GiB, or is
            none but a pipe or a device, which may have no end or keep its
            reader waiting.
    """
    try:
        with open(path, 'rb', opener=_opened_at_once) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return file.read()
    except (OSError, ValueError) as error:
        # ValueError: a name that holds the character 0.
        problem = getattr(error, 'strerror', str(error))
        raise InputError(
            os.fspath(path), 'a file that can be read',
            f'the error {problem!r}', 'Check the path.') from error


def read_text(path: FilePath) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        InputError: The file cannot be read or decoded, or holds a NUL.
    """
    file = os.fspath(path)
    data = read_bytes(file)
    try:
        text = data.decode('utf-8-sig')  # Excel writes a byte order mark
    except UnicodeDecodeError as error:
        line = error.object.count(b'\n', 0, error.start) + 1
        raise InputError(
            f'{file}, line {line}', 'UTF-8 text',
            f'the byte 0x{error.object[error.start]:02x}',
            'Save it as UTF-8; Excel calls that "CSV UTF-8".') from error
    if '\0' in text:
        line = text.count('\n', 0, text.index('\0')) + 1
        raise InputError(f'{file}, line {line}', 'text', 'a NUL character',
                         'Fetch an intact copy of the file.')
    return text


def check_file_names(where: str, names: Iterable[Any], remedy: str) -> None:
    """Refuse names that cannot be those of files of one folder.

    Args:
        where (str): What to call a name in an error, such as `model`.
        names (Iterable): The names.
        remedy (str): What the user can do, for errors.

    Raises:
        InputError: A name is no text or empty, begins with a dot or holds a
            slash, a control character, or a byte that is no text.
    """
    for name in names:
        if not isinstance(name, str) or not is_file_name(name):
            raise InputError(
                f'{where} {name!r}', 'a name without slashes or a leading '
                'dot, as for a file', repr(name), remedy)


def check_is_folder(path: FilePath, content: str) -> None:
    """Refuse a path that is no folder, where a file may have been meant.

    Args:
        path (FilePath): What is to be read.
        content (str): What should be in it, for the error.

    Raises:
        InputError: It is not there, or a file.
    """
    if not os.path.isdir(path):
        raise InputError(
            os.fspath(path), f'a folder with {content}',
            'a file' if os.path.exists(path) else 'nothing of that name',
            'Check the path.')


def check_plain_files(path: FilePath) -> None:
    """Refuse what would keep a library waiting that reads a file or folder.

    Args:
        path (FilePath): What the library is to read; it may not exist.

    Raises:
        InputError: The file, or one in the folder or in its folders, is a
            pipe or a device.
    """
    root = Path(path)
    for file in (root, *root.glob('*'), *root.glob('*/*')):
        if _is_endless(file):
            raise InputError(
                str(file), 'a file', 'a pipe or a device', 'Remove it.')


def _is_endless(file: FilePath | int) -> bool:
    """Whether a path, or what was opened, is a pipe, a device or the like."""
    try:
        mode = os.stat(file).st_mode
    # Whoever reads it will say so. ValueError: a name with the character 0.
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_fields(where: str, part: str, values: Any, fields: Mapping[str, str],
                 remedy: str) -> None:
    """Check that a JSON object has fields of the right types.

    Args:
        where (str): The file, for errors.
        part (str): Name of the object, for errors.
        values (Any): A JSON value, which should be the object.
        fields (Mapping[str, str]): The type of each field that it must have:
            'a text', 'a number', 'a number or null', 'a count', 'a list', 'an
            object', 'an object or null', 'a list of texts', 'pairs of texts',
            'texts by name' or 'numbers by name'.
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
    'an object': lambda v: isinstance(v, dict),
    'an object or null': lambda v: v is None or isinstance(v, dict),
    'a list of texts': lambda v: isinstance(v, list) and _are_texts(v),
    'pairs of texts': lambda v: isinstance(v, list) and all(
        isinstance(p, list) and len(p) == 2 and _are_texts(p) for p in v),
    'texts by name': lambda v: isinstance(v, dict) and _are_texts(v.values()),
    'numbers by name': lambda v: isinstance(v, dict) and all(
        map(_is_number, v.values())),
}  # yapf: disable
