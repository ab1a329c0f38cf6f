"""Token-loss dumps: the losses of one model, text by text.

A dump is a container (`containers`). Its JSON has the fields of `DumpInfo` and
the list `texts` of text ids. Its arrays are `sha256` of the texts, and columns
of numbers of 32 bits: `n_chars`, `n_bytes` and `n_tokens` of each text, then
`starts` and `ends` (UTF-8 bytes), `losses` (nats) and, where they were
recorded, `token_ids`, `entropy` (nats) and `rank` of each token of all texts.
NaN, and the rank -1, stand for a token that the model did not score.

A column is compressed: first bytes of all numbers, then second bytes and so
on, by zlib. Of `starts` and `ends` each number is the difference from the one
before.
"""
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import (OPTIONAL_FIELDS, DumpInfo,
                                          ModelLosses, TokenLossDump)
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import TextSet
from csv_plugin.io.containers import (errors_name, read_container, read_header,
                                      write_container)
from csv_plugin.io.files import FilePath, check_fields
from csv_plugin.io.model_paths import paths_by_model
from csv_plugin.io.shards import merge_dumps

KIND = 'csv_plugin.dump'

_INT, _FLOAT = np.dtype('<i4'), np.dtype('<f4')
#: Columns with a number for each text, and with a number for each token.
_OF_TEXTS = ('n_chars', 'n_bytes', 'n_tokens')
_OF_TOKENS = {
    'starts': _INT,
    'ends': _INT,
    'losses': _FLOAT,
    'token_ids': _INT,
    'entropy': _FLOAT,
    'rank': _INT,
}
_SPANS = ('starts', 'ends')
#: What to do about a damaged file.
_REMEDY = 'Fetch an intact copy, or score the texts again.'


def write_dump(path: FilePath, dump: TokenLossDump) -> None:
    """Write a dump; the file appears whole or not at all.

    Losses and entropies are rounded to float32. Equal dumps make equal
    files, with one version of zlib.

    Args:
        path (FilePath): The file to create or replace.
        dump (TokenLossDump): Its texts keep their order.

    Raises:
        InputError: The folder does not exist, or a number does not fit
            into 32 bits.
    """
    texts = dump.texts
    hashes = b''.join(bytes.fromhex(text.sha256) for text in texts)
    arrays = {'sha256': np.frombuffer(hashes, np.uint8).reshape(-1, 32)}
    counts = [(text.n_chars, text.n_bytes, len(text.losses)) for text in texts]
    for name, column in zip(_OF_TEXTS, np.reshape(counts, (-1, 3)).T):
        arrays[name] = _packed(name, column, _INT)
    for name, dtype in _OF_TOKENS.items():
        parts = [_of_tokens(text, name) for text in texts]
        if name not in OPTIONAL_FIELDS or any(p is not None for p in parts):
            column = np.concatenate([np.empty(0, dtype), *parts])
            arrays[name] = _packed(name, column, dtype)
    header = asdict(dump.info)
    header['versions'] = dict(sorted(dump.info.versions.items()))
    header['texts'] = [text.text_id for text in texts]
    write_container(path, KIND, header, arrays)


def read_dump(path: FilePath) -> TokenLossDump:
    """Read what `write_dump` wrote.

    Args:
        path (FilePath): The file.

    Returns:
        TokenLossDump: Texts in the order of the file. Losses and entropies
        are float64 with the float32 values of the file.

    Raises:
        InputError: The file is missing, damaged, not a dump or of another
            format version; or a value in it is missing or wrong.
    """
    where = os.fspath(path)
    header, arrays = read_container(path, KIND, _REMEDY)
    info = _info(where, header)
    check_fields(where, 'the header', header, {'texts': 'a list of texts'},
                 _REMEDY)
    names = header['texts']
    if _checked(where, arrays, 'sha256').shape != (len(names), 32):
        raise InputError(f"{where}, 'sha256'", f'{len(names)} hashes',
                         f'the shape {arrays["sha256"].shape}', _REMEDY)
    of_texts = {
        name: _unpacked(where, arrays, name, len(names), _INT).tolist()
        for name in _OF_TEXTS
    }
    counts = of_texts.pop('n_tokens')
    if min(counts, default=0) < 0:
        raise InputError(f"{where}, 'n_tokens'", 'numbers of 0 or more',
                         str(min(counts)), _REMEDY)
    of_tokens = {
        name: _unpacked(where, arrays, name, sum(counts), dtype)
        for name, dtype in _OF_TOKENS.items()
        if name in arrays or name not in OPTIONAL_FIELDS
    }
    texts, start = [], 0
    for i, (name, count) in enumerate(zip(names, counts)):
        part = {
            key: column[start:start + count]
            for key, column in of_tokens.items()
        }
        start += count
        with errors_name(f'{where}, text {name!r}', 'token losses', _REMEDY):
            spans = TokenSpans(
                part.pop('starts'), part.pop('ends'), of_texts['n_bytes'][i])
            texts.append(
                TokenLosses(
                    name,
                    spans=spans,
                    n_chars=of_texts['n_chars'][i],
                    sha256=arrays['sha256'][i].tobytes().hex(),
                    **part))
    with errors_name(where, 'token losses', _REMEDY):
        return TokenLossDump(info, tuple(texts))


def read_dump_info(path: FilePath) -> DumpInfo:
    """How a dump was made, if the file is as it was written.

    Faster than `read_dump`: the losses are only compared with the digest of
    the file.

    Args:
        path (FilePath): The file.

    Raises:
        InputError: The file is missing, damaged, not a dump or of another
            format version.
    """
    return _info(os.fspath(path), read_header(path, KIND, _REMEDY))


def read_dumps(paths: Mapping[str, FilePath] | Iterable[FilePath],
               texts: TextSet,
               progress: Progress = iter) -> ModelLosses:
    """Read the dumps of many models on one validation set.

    Args:
        paths (Mapping | Iterable): File of each of M models, by the name to
            call it, or files that are named after their models.
        texts (TextSet): The validation set; every dump holds all of it.
        progress (Progress): Wraps the models.

    Returns:
        ModelLosses: Models in the order of the paths, texts in the order of
        the validation set, losses in nats.

    Raises:
        InputError: Two files have one name, a dump cannot be read, or its
            texts are not these.
    """
    files = paths_by_model(paths)
    dumps = {
        model: merge_dumps([read_dump(files[model])], texts)
        for model in progress(list(files))
    }
    return ModelLosses(texts, dumps)


def _info(where: str, header: Mapping[str, Any]) -> DumpInfo:
    names = [field.name for field in fields(DumpInfo)]
    for name in names:
        if name not in header:
            raise InputError(where, f'{name!r} in the header', 'none', _REMEDY)
    with errors_name(where, 'how losses were made', _REMEDY):
        return DumpInfo(**{name: header[name] for name in names})


def _of_tokens(text: TokenLosses, name: str) -> Any:
    """The numbers of one text in a column, None if they were not recorded."""
    return getattr(text.spans if name in _SPANS else text, name)


def _packed(name: str, values: NDArray, dtype: np.dtype) -> NDArray[np.uint8]:
    """A column, compressed.

    Raises:
        InputError: A number does not fit into 32 bits.
    """
    limit = (np.finfo if dtype.kind == 'f' else np.iinfo)(dtype).max
    beyond = np.flatnonzero(np.abs(values) > limit)
    if len(beyond):
        raise InputError(f'{name} of a dump', f'at most {limit}',
                         f'{values[beyond[0]]}',
                         'Shorten the text, or score it in higher precision.')
    if name in _SPANS:
        values = np.diff(values, prepend=0)
    if dtype.kind == 'f':
        # NaN has many bit patterns, which all mean the same.
        values = np.where(np.isnan(values), np.nan, values)
    planes = values.astype(dtype).view(np.uint8).reshape(-1, 4).T
    return np.frombuffer(zlib.compress(planes.tobytes()), np.uint8)


def _unpacked(where: str, arrays: Mapping[str, NDArray], name: str, count: int,
              dtype: np.dtype) -> NDArray:
    """The inverse of `_packed`, for a column of so many numbers."""
    inflater = zlib.decompressobj()
    size = 4 * count
    try:
        # A little file may stand for gigabytes: no more is unpacked.
        data = inflater.decompress(
            _checked(where, arrays, name).tobytes(), size + 1)
    except (zlib.error, OverflowError) as error:
        raise InputError(f'{where}, {name!r}', 'a compressed column',
                         f'the error {str(error)!r}', _REMEDY) from error
    if len(data) != size or not inflater.eof:
        raise InputError(f'{where}, {name!r}', f'{count} numbers', 'others',
                         _REMEDY)
    planes = np.frombuffer(data, np.uint8).reshape(4, count)
    values = np.ascontiguousarray(planes.T).view(dtype)[:, 0]
    return np.cumsum(values, dtype=np.int64) if name in _SPANS else values


def _checked(where: str, arrays: Mapping[str, NDArray], name: str) -> NDArray:
    """An array of bytes, which has to be there."""
    if name not in arrays or arrays[name].dtype != np.uint8:
        raise InputError(where, f'an array {name!r} of bytes',
                         f'{arrays[name].dtype}' if name in arrays else 'none',
                         _REMEDY)
    return arrays[name]
