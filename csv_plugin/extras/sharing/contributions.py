"""What one group adds to a common matrix, as one file.

A contribution is a collection without its texts, in a plain tar file:
`contribution.json`, the dump `<model>.parquet` of every model, and the tables
`models.csv`, `scores.csv` and `benchmarks.csv`. The texts stay where they are,
as their licence may forbid to give them away; dumps know them by fingerprints.

The JSON says who gives it, under which licence, and the SHA-256 of every other
file. It also holds the digest of the whole file (`digests`). Nothing in it is
run, and no name in it becomes a path before it is checked.
"""
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow

from csv_plugin import __version__
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.io.collection import (BENCHMARKS, MODELS, SCORES, TEXTS,
                                      Collection, read_collection)
from csv_plugin.io.digests import (PLACEHOLDER, check_seal, check_version,
                                   sealed)
from csv_plugin.io.file_names import check_file_names
from csv_plugin.io.files import FilePath, atomic_path, check_fields, read_bytes
from csv_plugin.io.json_files import parse_json
from csv_plugin.io.tables import BenchmarkInfo, read_benchmarks
from csv_plugin.io.text_sets import write_texts

FORMAT = 'csv_plugin.contribution'
#: As of other files of this package, the first with a digest.
FORMAT_VERSION = 2

_HEADER = 'contribution.json'
_TABLES = (MODELS, SCORES, BENCHMARKS)
_FIELDS = {
    'giver': 'a text',
    'licence': 'a text',
    'fingerprint': 'a text',
    'versions': 'texts by name',
    'files': 'texts by name',
}
_REMEDY = 'Ask who gave it for an intact copy.'


@dataclass(frozen=True, eq=False)
class Contribution:
    """Losses and accuracies of models, and who gave them.

    Args:
        giver (str): Who gave them.
        licence (str): Under which licence, such as 'CC BY 4.0'.
        collection (Collection): The models.
        benchmarks (Mapping[str, BenchmarkInfo]): By benchmark.
    """
    giver: str
    licence: str
    collection: Collection
    benchmarks: Mapping[str, BenchmarkInfo]


def write_contribution(path: FilePath,
                       folder: FilePath,
                       giver: str,
                       licence: str,
                       progress: Progress = iter) -> Collection:
    """Pack a collection into one file; it appears whole or not at all.

    Equal collections make equal files.

    Args:
        path (FilePath): The file to create or replace, such as `mine.tar`.
        folder (FilePath): The collection; all that is in it is checked.
        giver (str): Who gives it, one line.
        licence (str): Licence of the losses and accuracies, one line, such
            as 'CC BY 4.0'.
        progress (Progress): Wraps the dumps.

    Returns:
        Collection: What was packed.

    Raises:
        InputError: The collection cannot be used, the giver or the licence
            is empty or has several lines, or the file cannot be written.
    """
    for name, text in (('giver', giver), ('licence', licence)):
        _check_line(f'{name} of a contribution', text)
    root = Path(folder)
    collection = read_collection(root, progress)
    names = [*_TABLES, *(f'{model}.parquet' for model in collection.losses)]
    files = {name: read_bytes(root / name) for name in sorted(names)}
    header = {
        'format': FORMAT,
        'format_version': FORMAT_VERSION,
        'digest': PLACEHOLDER,
        'giver': giver,
        'licence': licence,
        'fingerprint': collection.texts.fingerprint,
        'versions': {
            'csv_plugin': __version__,
            'pyarrow': pyarrow.__version__
        },
        'files': {
            name: _sha256(data)
            for name, data in files.items()
        },
    }
    first = json.dumps(header, indent=1, ensure_ascii=False) + '\n'
    data = _tar({_HEADER: first.encode(), **files})
    with atomic_path(path) as temporary:
        temporary.write_bytes(sealed(os.fspath(path), data))
    return collection


def read_contribution(path: FilePath,
                      texts: TextSet,
                      progress: Progress = iter) -> Contribution:
    """Read what `write_contribution` wrote.

    Args:
        path (FilePath): The file.
        texts (TextSet): The validation set that the losses are on.
        progress (Progress): Wraps the dumps.

    Raises:
        InputError: The file is missing, damaged, not a contribution or of a
            later format, its losses are on other texts, or as in
            `read_collection`.
    """
    where = os.fspath(path)
    data = read_bytes(where)
    files = _untar(where, data)
    header = _header(where, data, files.pop(_HEADER, b'{}'))
    _check_files(where, header['files'], files)
    if header['fingerprint'] != texts.fingerprint:
        raise InputError(where,
                         f'losses on the texts {texts.fingerprint[:12]}',
                         f'losses on the texts {header["fingerprint"]}'[:80],
                         'Join only contributions on the same texts.')
    with _unpacked(where, files, texts) as root:
        collection = read_collection(root, progress)
        benchmarks = read_benchmarks(root / BENCHMARKS)
    return Contribution(header['giver'], header['licence'], collection,
                        benchmarks)


def _check_line(where: str, text: str) -> None:
    if not text.strip() or len(text.splitlines()) > 1:
        raise InputError(where, 'a line of text',
                         repr(text)[:80], 'Say it in one line.')


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _tar(files: Mapping[str, bytes]) -> bytes:
    """Files in one, without dates, owners and compression."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode='w') as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return archive.getvalue()


def _untar(where: str, data: bytes) -> dict[str, bytes]:
    """The inverse of `_tar`, in memory."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode='r:') as tar:
            for member in tar:
                # A sparse file expands beyond all measure, and a link may
                # lead to itself.
                if (not member.isreg() or member.issparse()
                        or member.name in files):
                    raise ValueError(f'the member {member.name[:80]!r}')
                content = tar.extractfile(member)
                assert content is not None  # it is a plain file
                files[member.name] = content.read()
    # Fields of a damaged header may be anything, and headers may be nested.
    except (tarfile.TarError, ArithmeticError, LookupError, OSError,
            RecursionError, ValueError) as error:
        raise InputError(where, 'a tar file with plain files', f'{error}',
                         _REMEDY) from error
    return files


def _header(where: str, data: bytes, text: bytes) -> dict[str, Any]:
    header = parse_json(text, f'{where}, {_HEADER}', _REMEDY)
    if not isinstance(header, dict) or header.get('format') != FORMAT:
        raise InputError(where, 'a contribution of csv_plugin',
                         'another tar file',
                         'Give what salience contribute wrote.')
    check_version(where, header, FORMAT_VERSION, '')
    check_seal(where, data, header.get('digest'), _REMEDY)
    check_fields(where, _HEADER, header, _FIELDS, _REMEDY)
    for name in ('giver', 'licence'):
        _check_line(f'{where}, {name}', header[name])
    return header


def _check_files(where: str, expected: Mapping[str, str],
                 files: Mapping[str, bytes]) -> None:
    """Refuse files that are not those that the header lists."""
    check_file_names(f'{where}, file', expected, _REMEDY)
    present = {name: _sha256(data) for name, data in files.items()}
    for name in sorted({*expected, *present}):
        if expected.get(name) != present.get(name):
            raise InputError(
                f'{where}, {name}'[:200], 'a file that its header lists',
                'another content' if name in expected and name in present else
                'only one of the two', _REMEDY)


@contextmanager
def _unpacked(where: str, files: Mapping[str, bytes],
              texts: TextSet) -> Iterator[Path]:
    """A collection of its own of checked files, with the texts.

    Errors about it name the contribution.
    """
    with TemporaryDirectory(prefix='csv_plugin.') as folder:
        root = Path(folder)
        for name, data in files.items():
            (root / name).write_bytes(data)
        write_texts(root / TEXTS, texts)
        try:
            yield root
        except InputError as error:
            raise InputError(
                where, 'a sound contribution',
                str(error).replace(f'{root}{os.sep}', '').rstrip('.'),
                _REMEDY) from error
