"""Reading files with clear errors, and writing them whole or not at all."""
import errno
import fcntl
import gzip
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import is_file_name

#: Whatever Python opens as the path of a file or folder.
FilePath = str | os.PathLike[str]
#: What errors call a path where there is nothing.
NOT_THERE = 'no such file or folder'
#: Names of files and folders that are still being written.
_TEMPORARY = re.compile(r'[.]tmp_[0-9a-f]{16}([.].{0,11})?')
#: Larger files cannot be read: they and what is made of them fill the memory.
_MOST_BYTES = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2
#: Beginning of the names of folders with all files of a set.
_WHOLE = '.set_'
#: Folder of the files of a set, and where they are written before.
_STAGE: ContextVar[Optional[tuple[Path, Path]]] = ContextVar(
    'folder of a set, and of its files before', default=None)


def check_target(path: FilePath) -> None:
    """Check before a long computation that its result can be written."""
    target = Path(path)
    with _plain_errors(target):
        if not target.parent.is_dir():
            raise InputError(
                str(target), 'a file name in an existing folder',
                f'no folder {str(target.parent)!r}',
                'Create the folder first.')
        # The rename at the end would replace even a device like /dev/null.
        if target.exists() and not target.is_file():
            raise InputError(
                str(target), 'the name of a file',
                'a folder' if target.is_dir() else 'a device or a pipe',
                'Choose another name.')
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def atomic_path(path: FilePath) -> Iterator[Path]:
    """Yield a temporary path, and rename the file written there to `path`.

    The temporary file lies in the same folder, or waits for the others of a
    `file_set`, and is flushed to the disk before it is renamed. If the body of
    the `with` statement fails, it is removed and an earlier file at `path`
    stays as it was. Temporary files in the folder that killed processes left
    are removed.
    """
    target = Path(path)
    stage = _STAGE.get()
    # A set makes folders in the end.
    if not stage or target.exists():
        check_target(target)
    if stage:
        temporary = _staged(target, *stage)
    else:
        # Only a name: a file of tempfile could be read by its owner alone.
        name = f'.tmp_{token_hex(8)}{target.suffix[:12]}'
        temporary = target.with_name(name)
    try:
        with _plain_errors(target, temporary), ExitStack() as opened:
            if not stage:
                opened.enter_context(_held(temporary))
            yield temporary
            with temporary.open('rb') as written:
                os.fsync(written.fileno())
            if not stage:
                os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def file_set(folder: FilePath, *earlier: Path) -> Iterator[None]:
    """Let files below a folder, which is made, appear together.

    The `with` statement writes them into a hidden folder there. If it fails,
    there are none; else that folder is renamed, and they are moved to their
    places. The next `sole_writer` moves those that a killed process left; sets
    that one had not finished are removed. `earlier` files, which this set may
    not replace, are removed. A set inside of a set is a part of it.
    """
    outer = _STAGE.get()
    if outer:
        yield
        _mark_removed(earlier, *outer)
        return
    root = Path(folder)
    mark = token_hex(8)
    stage = root / f'.tmp_{mark}'
    whole = root / f'{_WHOLE}{mark}'
    with ExitStack() as opened:
        with _plain_errors(root, stage):
            root.mkdir(parents=True, exist_ok=True)
            opened.enter_context(_held(stage, is_folder=True))
        token = _STAGE.set((root, stage))
        try:
            yield
            _mark_removed(earlier, root, stage)
            with _plain_errors(root, stage):
                stage.rename(whole)
            _move(whole)
        finally:
            _STAGE.reset(token)
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _held(path: Path, is_folder: bool = False) -> Iterator[None]:
    """Make a temporary file or folder and lock it; remove those left over.

    The lock says that a call is alive that writes there.
    """
    _remove_leftovers(path.parent)
    while True:
        if is_folder:
            path.mkdir()
            handle = os.open(path, os.O_RDONLY)
        else:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o666)
        with suppress(OSError):  # Some file systems of clusters have no locks.
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Another call may have removed it before it was locked.
        if path.exists():
            break
        os.close(handle)
    try:
        yield
    finally:
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed calls were writing; live ones hold locks."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                _remove_leftover(folder / name)


def _remove_leftover(path: Path) -> None:
    with suppress(OSError), ExitStack() as opened:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        opened.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _mark_removed(earlier: Iterable[Path], root: Path, stage: Path) -> None:
    for path in filter(Path.exists, earlier):
        check_target(path)
        _staged(path, root, stage).touch()


def _staged(target: Path, root: Path, stage: Path) -> Path:
    """Return the path at which a file of a set is written."""
    path = stage / target.relative_to(root)
    path.parent.mkdir(exist_ok=True)
    return path


def _move(whole: Path) -> None:
    """Move the files of a set to their places.

    An empty file removes the one in its place.
    """
    places = {
        file: whole.parent / file.relative_to(whole)
        for file in whole.rglob('*') if file.is_file()
    }
    # At no time does a file of this set stand beside one of another.
    for place in places.values():
        with _plain_errors(place):
            place.unlink(missing_ok=True)
    for file, place in places.items():
        if file.stat().st_size:
            with _plain_errors(place, file):
                place.parent.mkdir(exist_ok=True)
                os.replace(file, place)
    shutil.rmtree(whole, ignore_errors=True)


@contextmanager
def sole_writer(folder: FilePath) -> Iterator[None]:
    """Keep other calls from writing into a folder, which is made.

    A new folder that stays empty is removed. File systems without locks keep
    nothing apart.
    """
    is_new = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    with ExitStack() as opened:
        try:
            handle = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The call that had it may have removed it.
            is_ours = os.path.samestat(os.fstat(handle), os.stat(folder))
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        except OSError:
            is_ours = True  # Some file systems of clusters have no locks.
        if not is_ours:
            raise InputError(
                os.fspath(folder), 'a folder that no other call writes to',
                'one that another call writes to',
                'Wait for its end, or choose another folder.')
        try:
            for whole in Path(folder).glob(f'{_WHOLE}*'):
                _move(whole)
            _remove_leftovers(Path(folder))
            yield
        finally:
            if is_new:
                with suppress(OSError):  # It is not empty.
                    os.rmdir(folder)


@contextmanager
def _plain_errors(target: Path, *written: Path) -> Iterator[None]:
    """Turn errors of the system about a file into `InputError`."""
    paths = target, target.parent, *written
    names = {'None', *map(str, paths)}
    try:
        yield
    except OSError as error:
        # Others come from elsewhere, such as the library that writes.
        if error.errno is None or str(error.filename) not in names:
            raise
        raise InputError(
            str(target), 'a file that can be written',
            f'the error {error.strerror!r}',
            'Make room on the disk, or choose another folder or a shorter '
            'name.') from error


def write_text(path: FilePath, text: str) -> None:
    """Write a text file in UTF-8; it appears whole or not at all."""
    with atomic_path(path) as temporary:
        # Names of files that are not Unicode are written as JSON writes them.
        temporary.write_bytes(text.encode('utf-8', 'backslashreplace'))


def read_bytes(path: FilePath) -> bytes:
    """Return the content of a file."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise InputError(
                os.fspath(path),
                f'at most {_MOST_BYTES / 1e9:.3g} GB, half of the memory',
                f'{size / 1e9:.3g} GB',
                'Check that it is the right file, or use a larger machine.')
        return file.read()


def read_lines(path: FilePath) -> Iterator[bytes]:
    """Yield the lines of a file, one at a time; `*.gz` is unpacked."""
    with _opened(path) as file:
        # No line of a file has more bytes.
        longest = 2**28
        packed = os.fspath(path).endswith('.gz')
        lines: BinaryIO = gzip.open(file) if packed else file  # type: ignore
        while line := lines.readline(longest + 1):
            if len(line) > longest:
                raise InputError(
                    os.fspath(path), f'lines of at most {longest} bytes',
                    'a longer one', 'Check that it is the right file.')
            yield line


@contextmanager
def _opened(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file; errors until it is closed become `InputError`."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(
            os.fspath(path), 'a file', 'a folder or a device',
            'Name a file, such as one in this folder.')
    try:
        # Twice as fast as the usual buffer on long lines.
        with Path(path).open('rb', buffering=1 << 18) as file:
            yield file
    except FileNotFoundError as error:
        raise InputError(
            os.fspath(path), 'a file', NOT_THERE, 'Check the path.') from error
    except InputError:
        raise
    except (OSError, ValueError, EOFError, zlib.error, MemoryError) as error:
        # ValueError: a name with the character 0.
        problem = (
            getattr(error, 'strerror', None) or str(error)
            or type(error).__name__)
        raise InputError(
            os.fspath(path), 'a file that can be read',
            f'the error {problem!r}', 'Check the path.') from error


def read_text(path: FilePath) -> str:
    """Return the text of a file in UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode('utf-8-sig')  # Excel writes a byte order mark
    except UnicodeDecodeError as error:
        line = error.object.count(b'\n', 0, error.start) + 1
        raise InputError(
            f'{os.fspath(path)}, line {line}', 'UTF-8 text',
            f'the byte 0x{error.object[error.start]:02x}',
            'Save it as UTF-8; Excel calls that "CSV UTF-8".') from error


def check_file_names(where: str, names: Iterable[Any], remedy: str) -> None:
    """Refuse names that cannot be those of files of one folder."""
    for name in names:
        if not isinstance(name, str) or not is_file_name(name):
            raise InputError(
                f'{where} {name!r}', 'a name without slashes or a leading '
                'dot, as for a file', repr(name), remedy)


def check_is_folder(path: FilePath, content: str) -> None:
    """Raise an `InputError` for a path that is no folder with some content."""
    if not os.path.isdir(path):
        raise InputError(
            os.fspath(path), f'a folder with {content}',
            'a file' if os.path.exists(path) else NOT_THERE, 'Check the path.')
