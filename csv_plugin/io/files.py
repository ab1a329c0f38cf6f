"""Read files with clear errors, and write each file completely or not at all.
"""
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

#: Type of the path of a file or folder, as `open` takes it.
FilePath = str | os.PathLike[str]
#: What errors say was found at a path where nothing exists.
NOT_THERE = 'no such file or folder'
#: Pattern of the names of files and folders that are still being written.
_TEMPORARY = re.compile(r'[.]tmp_[0-9a-f]{16}([.].{0,11})?')
#: Largest file, in bytes, that is read. It is half of the physical memory, so
#: that the objects that are made of the content still fit.
_MOST_BYTES = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2
#: Prefix of hidden folders with the files of a `file_set` that is complete,
#: but whose files have not all been moved to their final paths yet.
_WHOLE = '.set_'
#: While a `file_set` is being written, the folder of its final paths, and the
#: hidden folder in which its files are written first; otherwise None.
_STAGE: ContextVar[Optional[tuple[Path, Path]]] = ContextVar(
    'folder of a set, and of its files before', default=None)


def check_target(path: FilePath) -> None:
    """Check that a file can be written, before its content is computed."""
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

    The temporary file lies in the folder of `path`, and is flushed to the disk
    before it is renamed. Within a `file_set`, it is renamed when all files of
    the set are written. If the body of the `with` statement fails, the
    temporary file is removed, and an earlier file at `path` stays as it was.
    Temporary files that killed processes left in the folder are removed.
    """
    target = Path(path)
    stage = _STAGE.get()
    # In a set, the folder of the file may be made only when the set is
    # complete.
    if not stage or target.exists():
        check_target(target)
    if stage:
        temporary = _staged(target, *stage)
    else:
        # The module tempfile is not used, because only their owner could read
        # its files.
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
    """Make all files that the `with` statement writes appear together.

    The files lie below `folder`, which is made if it does not exist. They are
    first written into a hidden folder inside `folder`. If the `with` statement
    fails, no file appears; else the hidden folder is renamed, and its files
    are moved to their final paths. If a process is killed during the moves,
    the next `sole_writer` of `folder` moves the rest. If it is killed earlier,
    the hidden folder is removed by a later process. `earlier` are files to
    remove at the time of the moves, unless the set writes files at the same
    paths. A set inside of another set is written together with the outer set.
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
    """Make a temporary file or folder, and lock it while the body runs.

    The lock tells other processes that this process is alive and writes there.
    Temporary files and folders of killed processes are removed first.
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
        # Another process may have removed the path before it was locked.
        if path.exists():
            break
        os.close(handle)
    try:
        yield
    finally:
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files and folders on which no process holds a lock."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                _remove_leftover(folder / name)


def _remove_leftover(path: Path) -> None:
    """Remove a temporary file or folder, unless a process holds its lock."""
    with suppress(OSError), ExitStack() as opened:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        opened.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _mark_removed(earlier: Iterable[Path], root: Path, stage: Path) -> None:
    """Put an empty file into a set for each file in `earlier` that exists.

    `_move` removes the earlier files because of these empty files. `root` is
    the folder of the set, and `stage` its hidden folder.
    """
    for path in filter(Path.exists, earlier):
        check_target(path)
        _staged(path, root, stage).touch()


def _staged(target: Path, root: Path, stage: Path) -> Path:
    """Return the path in the hidden folder at which a file is written."""
    path = stage / target.relative_to(root)
    path.parent.mkdir(exist_ok=True)
    return path


def _move(whole: Path) -> None:
    """Move the files of a complete set to their final paths.

    An empty file means that the file at its final path is to be removed.
    """
    targets = {}
    for file in whole.rglob('*'):
        if file.is_file():
            targets[file] = whole.parent / file.relative_to(whole)
    # All earlier files are removed first, so that files of two sets never mix.
    for target in targets.values():
        with _plain_errors(target):
            target.unlink(missing_ok=True)
    for file, target in targets.items():
        if file.stat().st_size:
            with _plain_errors(target, file):
                target.parent.mkdir(exist_ok=True)
                os.replace(file, target)
    shutil.rmtree(whole, ignore_errors=True)


@contextmanager
def sole_writer(folder: FilePath) -> Iterator[None]:
    """Refuse to go on while another `sole_writer` has the same folder.

    The folder is made if it does not exist, and removed in the end if it was
    made here and is still empty. On file systems without locks, other writers
    are not noticed. Files of sets that killed processes left are moved or
    removed first; see `file_set`.

    Raises:
        InputError: Another process writes into the folder.
    """
    is_new = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    with ExitStack() as opened:
        try:
            handle = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The process that had the lock may have removed the folder.
            is_ours = os.path.samestat(os.fstat(handle), os.stat(folder))
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        except OSError:
            is_ours = True  # Some file systems of clusters have no locks.
        if not is_ours:
            raise InputError(
                os.fspath(folder), 'a folder that no other call writes to',
                'a folder that another call writes to',
                'Wait until that call ends, or choose another folder.')
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
    """Turn an `OSError` about one of these files into an `InputError`."""
    paths = target, target.parent, *written
    names = {'None', *map(str, paths)}
    try:
        yield
    except OSError as error:
        # An error about another file has another cause.
        if error.errno is None or str(error.filename) not in names:
            raise
        raise InputError(
            str(target), 'a file that can be written',
            f'the error {error.strerror!r}',
            'Make room on the disk, or choose another folder or a shorter '
            'name.') from error


def write_text(path: FilePath, text: str) -> None:
    """Write a text file in UTF-8; it appears completely or not at all."""
    with atomic_path(path) as temporary:
        # File names that are not Unicode contain lone surrogates; they are
        # written as escapes such as \udc80.
        temporary.write_bytes(text.encode('utf-8', 'backslashreplace'))


def read_bytes(path: FilePath) -> bytes:
    """Return the content of a file of at most half of the memory."""
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
    """Yield the lines of a file, one at a time; a file `*.gz` is unpacked."""
    with _opened(path) as file:
        # Longer lines, in bytes, are refused.
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
    """Open a file, and turn errors while it is open into `InputError`."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(
            os.fspath(path), 'a file', 'a folder or a device',
            'Name a file, such as one in this folder.')
    try:
        # This buffer reads long lines twice as fast as the default one.
        with Path(path).open('rb', buffering=1 << 18) as file:
            yield file
    except FileNotFoundError as error:
        raise InputError(
            os.fspath(path), 'a file', NOT_THERE, 'Check the path.') from error
    except InputError:
        raise
    except (OSError, ValueError, EOFError, zlib.error, MemoryError) as error:
        # A ValueError means that the path contains a null character.
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
    """Raise an `InputError` for a name that cannot be the name of a file."""
    for name in names:
        if not isinstance(name, str) or not is_file_name(name):
            raise InputError(
                f'{where} {name!r}', 'a name without slashes or a leading '
                'dot, as for a file', repr(name), remedy)


def check_is_folder(path: FilePath, content: str) -> None:
    """Raise an `InputError` for a path that is no folder.

    `content` says in the error what the folder should contain.
    """
    if not os.path.isdir(path):
        raise InputError(
            os.fspath(path), f'a folder with {content}',
            'a file' if os.path.exists(path) else NOT_THERE, 'Check the path.')
