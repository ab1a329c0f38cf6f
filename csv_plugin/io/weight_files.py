"""Files with the weights of models: whether they are the same, or newer."""
import hashlib
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


def _files(path: Path) -> list[Path]:
    """What is read of a model besides its tokenizer."""
    return [path] if path.is_file() else sorted(
        file for pattern in _PATTERNS for file in path.glob(pattern)
        if file.is_file())
