"""Files with the weights of models: whether they are the same, read ahead."""
import hashlib
import threading
from contextlib import suppress
from pathlib import Path

from csv_plugin.io.files import FilePath, check_plain_files

#: Files with weights, and the one that says how they are used.
_PATTERNS = '*.safetensors', '*.bin', '*.gguf', 'config.json'
#: So many places of a file are read, of so many bytes each.
_PLACES, _LENGTH = 64, 4096


def weights_mark(path: FilePath) -> str:
    """A short text that changes with the weights of a model.

    It comes from the names and sizes of the files, and from their bytes at
    64 places each: training changes numbers everywhere. Copies on several
    machines have the same mark.

    Args:
        path (FilePath): Folder or file of the model.

    Returns:
        str: 16 hexadecimal digits; empty if there are no weights, such as
        for a name on the hub.

    Raises:
        InputError: As in `check_plain_files`.
        OSError: A file cannot be read.
    """
    check_plain_files(path)
    files = _files(Path(path))
    digest = hashlib.sha256()
    for file in files:
        size = file.stat().st_size
        digest.update(f'{file.name} {size}\n'.encode())
        with file.open('rb') as opened:
            for place in range(_PLACES):
                opened.seek(max(0, size - _LENGTH) * place // (_PLACES - 1))
                digest.update(opened.read(_LENGTH))
    return digest.hexdigest()[:16] if files else ''


def weights_newer(path: FilePath, file: FilePath) -> bool:
    """Whether a model was written after what was made of it.

    Args:
        path (FilePath): Folder or file of the model; a name on the hub has no
            files here.
        file (FilePath): What was made, such as its losses.

    Raises:
        OSError: A file cannot be looked at.
    """
    made = Path(file).stat().st_mtime_ns
    return any(weights.stat().st_mtime_ns > made
               for weights in _files(Path(path)))


def read_ahead(path: FilePath) -> threading.Thread:
    """Read the weights of a model in the background, and keep nothing.

    The system keeps what it has read in memory that nobody needs, so the
    model is loaded from there.

    Args:
        path (FilePath): Folder or file of the model; a name on the hub has no
            files here.

    Returns:
        threading.Thread: It ends with the process, or with an error of the
        disk, which the one who loads the model will see.
    """
    thread = threading.Thread(target=_read, args=(Path(path), ), daemon=True)
    thread.start()
    return thread


def _read(path: Path) -> None:
    # Larger ones do not fit into the caches of a CPU, which costs time.
    block = bytearray(2**18)
    with suppress(OSError):
        for file in _files(path):
            with file.open('rb', buffering=0) as opened:
                while opened.readinto(block):
                    pass


def _files(path: Path) -> list[Path]:
    """What is read of a model besides its tokenizer."""
    return [path] if path.is_file() else sorted(
        file for pattern in _PATTERNS for file in path.glob(pattern)
        if file.is_file())
