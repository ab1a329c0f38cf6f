"""Reading files with clear errors, and writing them whole or not at all."""
import errno
import hashlib
import math
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from socket import gethostname
from typing import Any, BinaryIO

from csv_plugin.core.conventions import InputError

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
    file at `path` stays as it was. What a process that was killed has left
    of the same file is removed by the next one that writes it.

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
    _remove_remains(target)
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


@contextmanager
def atomic_folder(path: FilePath) -> Iterator[Path]:
    """Give a temporary folder, and rename it to `path` once it is filled.

    It lies beside the folder that it becomes, under a name that starts with a
    dot, and its files are on the disk before it is renamed. What a process
    that was killed has left of the same folder is removed by the next one that
    writes it.

    Args:
        path (FilePath): The folder to create; its parents may be missing.

    Yields:
        Path: An empty folder for files. It is removed if the body of the
        `with` statement fails.

    Raises:
        InputError: There is something at the path, or the folder cannot be
            written, such as on a full disk.
    """
    target = Path(path)
    _check_new(target)
    _remove_remains(target)
    temporary = _temporary(target)
    try:
        with _plain_errors(target, temporary, *target.parents):
            temporary.mkdir(parents=True)
            yield temporary
            for file in temporary.iterdir():
                _flush(file)
            _flush_folder(temporary)
            os.rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _flush_folder(target.parent)


def _check_new(target: Path) -> None:
    """Refuse the name of a file or folder that is there, or a link."""
    with _plain_errors(target), suppress(FileNotFoundError):
        target.lstat()
        raise InputError(
            str(target), 'the name of a new folder', 'one that exists',
            'Choose another name, or remove it.')


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


def _temporary(target: Path) -> Path:
    """A name for what becomes a file or folder."""
    # Only a name: a file that tempfile made could be read by its owner alone.
    return target.with_name(
        f'{_start(target)}{os.getpid()}.{token_hex(4)}{_suffix(target)}')


def _start(target: Path) -> str:
    """How the names of what becomes a file or folder start on this host.

    They are short, so that a file may have the longest name that there is.
    """
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]
    return f'.{name}.{host_mark()}.'


def host_mark() -> str:
    """Twelve digits that tell the processes of this host from others.

    Machines may share a name, and containers a machine, but not processes.
    """
    machine, space = Path('/etc/machine-id'), Path('/proc/self/ns/pid')
    host = ' '.join([
        gethostname(),
        machine.read_text() if machine.exists() else '',
        os.readlink(space) if space.exists() else ''
    ])
    return hashlib.sha256(os.fsencode(host)).hexdigest()[:12]


def _suffix(target: Path) -> str:
    """The suffix, by which libraries choose a format, unless it is long."""
    return target.suffix if len(target.suffix) <= 12 else ''


def _remove_remains(target: Path) -> None:
    """Remove what processes of this host that were killed have left."""
    start = _start(target)
    names = []
    # One may be allowed to write into a folder, but not to read it.
    with suppress(OSError):
        names = os.listdir(target.parent)
    for name in names:
        if name.startswith(start):
            process = name.removeprefix(start).partition('.')[0]
            if process.isdecimal() and not is_running(int(process)):
                _remove(target.with_name(name))


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()


def is_running(process: int) -> bool:
    """Whether a process of this host runs, as far as one can tell."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # of another user, or no process at all
        pass
    return True


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


def open_file(path: FilePath) -> BinaryIO:
    """Open a file to read it.

    Raises:
        OSError: The file cannot be read, or is none but a pipe or a device,
            which may have no end or keep its reader waiting.
    """
    return open(path, 'rb', opener=_opened_at_once)


def _opened_at_once(path: str, flags: int) -> int:
    # Windows has no such flag, nor pipes among its files.
    opened = os.open(path, flags | getattr(os, 'O_NONBLOCK', 0))
    if _is_endless(opened):
        os.close(opened)
        raise OSError(errno.EINVAL, 'Not a file')
    return opened


#: What may lie in the place of a file, by its first bytes: no file that is
#: read here begins with them.
_STAND_INS = {
    b'\x1f\x8b': ('a file compressed by gzip', 'Unpack it by gunzip.'),
    b'version https://git-lfs':
    ('a pointer of Git LFS', 'Fetch it by git lfs pull.'),
}


def read_bytes(path: FilePath) -> bytes:
    """The content of a file.

    Raises:
        InputError: The file cannot be read, as in `open_file`, holds more
            than 1 GiB, or is something in the place of what is read.
    """
    try:
        with open_file(path) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            data = file.read()
    except (OSError, ValueError) as error:
        # ValueError: a name that holds the character 0.
        problem = getattr(error, 'strerror', str(error))
        raise InputError(
            os.fspath(path), 'a file that can be read',
            f'the error {problem!r}', 'Check the path.') from error
    for start, (found, remedy) in _STAND_INS.items():
        if data.startswith(start):
            raise InputError(os.fspath(path), 'the file itself', found, remedy)
    return data


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
        fields (Mapping[str, str]): The type of each field that it must
            have: 'a text', 'a number', 'a number or null', 'a count', 'a
            list', 'a list of texts', 'pairs of texts', 'texts by name' or
            'numbers by name'.
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
    'numbers by name': lambda v: isinstance(v, dict) and all(
        map(_is_number, v.values())),
}  # yapf: disable
