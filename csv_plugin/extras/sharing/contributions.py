"""Contributions: collections as one file, for others.

A contribution is a collection without its texts, whose licence may forbid to
give them away, in an uncompressed zip file: `contribution.json`, the dump
`<model>.safetensors` of every model, `models.csv`, `scores.csv` and
`benchmarks.csv`.
"""
import io
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from csv_plugin import __version__
from csv_plugin.core.input_error import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.json_rows import JsonPart
from csv_plugin.io.collection import (BENCHMARKS, MODELS, SCORES, TEXTS,
                                      Collection, read_collection)
from csv_plugin.io.files import (FilePath, atomic_path, check_file_names,
                                 read_bytes)
from csv_plugin.io.json_files import parse_json
from csv_plugin.io.tables import BenchmarkInfo, read_benchmarks
from csv_plugin.io.text_sets import write_texts

FORMAT, FORMAT_VERSION = 'csv_plugin.contribution', 1

_HEADER = 'contribution.json'
_REMEDY = 'Ask who gave it for an intact copy.'


@dataclass(frozen=True, eq=False)
class Contribution:
    """A collection, who gave it, and under which licence."""
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
        path (FilePath): The file to create or replace, such as `mine.zip`.
        folder (FilePath): The collection.
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
    header = {
        'format': FORMAT,
        'format_version': FORMAT_VERSION,
        'giver': giver,
        'licence': licence,
        'fingerprint': collection.texts.fingerprint,
        'versions': {
            'csv_plugin': __version__
        },
    }
    dumps = sorted(f'{model}.safetensors' for model in collection.losses)
    with (atomic_path(path) as temporary, zipfile.ZipFile(temporary, 'w') as
          archive):
        # A `ZipInfo` has a date of its own, and no owner.
        archive.writestr(
            zipfile.ZipInfo(_HEADER),
            json.dumps(header, indent=1) + '\n')
        for name in (MODELS, SCORES, BENCHMARKS, *dumps):
            archive.writestr(zipfile.ZipInfo(name), read_bytes(root / name))
    return collection


def read_contribution(path: FilePath,
                      texts: TextSet,
                      progress: Progress = iter) -> Contribution:
    """Read a file of `write_contribution`, with losses on these texts.

    Raises:
        InputError: The file is missing, damaged, not a contribution or of
            another version, its losses are on other texts, or as in
            `read_collection`.
    """
    where = os.fspath(path)
    files = _members(where, read_bytes(path))
    header = _header(where, files.pop(_HEADER, b'{}'))
    check_file_names(f'{where}, file', files, _REMEDY)
    fingerprint = header.get('fingerprint', str)
    if fingerprint != texts.fingerprint:
        raise InputError(where,
                         f'losses on the texts {texts.fingerprint[:12]}',
                         f'losses on the texts {fingerprint}'[:80],
                         'Join only contributions on the same texts.')
    with TemporaryDirectory(prefix='csv_plugin.') as folder:
        root = Path(folder)
        for name, data in files.items():
            (root / name).write_bytes(data)
        write_texts(root / TEXTS, texts)
        try:
            return Contribution(
                header.get('giver', str), header.get('licence', str),
                read_collection(root, progress),
                read_benchmarks(root / BENCHMARKS))
        except InputError as error:
            raise InputError(
                where, 'a sound contribution',
                str(error).replace(f'{root}{os.sep}', '').rstrip('.'),
                _REMEDY) from error


def _check_line(where: str, text: str) -> None:
    if not text.strip() or len(text.splitlines()) > 1:
        raise InputError(where, 'a line of text',
                         repr(text)[:80], 'Say it in one line.')


def _members(where: str, data: bytes) -> dict[str, bytes]:
    """The files in a zip file by name; compressed ones are refused."""
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > len(data):
                raise ValueError('more content than there is')
            for member in members:
                files[member.filename] = archive.read(member)
    # The fields of a damaged header may be anything.
    except (zipfile.BadZipFile, struct.error, ArithmeticError, EOFError,
            LookupError, OSError, RuntimeError, ValueError) as error:
        raise InputError(where, 'a sound zip file', f'{error}',
                         _REMEDY) from error
    return files


def _header(where: str, text: bytes) -> JsonPart:
    header = parse_json(text, f'{where}, {_HEADER}', _REMEDY)
    expected = {'format': FORMAT, 'format_version': FORMAT_VERSION}
    if not isinstance(header, dict) or not header.items() >= expected.items():
        raise InputError(
            where, f'a contribution of csv_plugin in version '
            f'{FORMAT_VERSION}', 'another zip file',
            'Give what salience contribute wrote.')
    part = JsonPart(f'{where}, {_HEADER}', header, _REMEDY)
    for name in ('giver', 'licence'):
        _check_line(f'{where}, {name}', part.get(name, str))
    return part
