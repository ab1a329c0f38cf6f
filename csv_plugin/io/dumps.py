"""Token-loss dumps as Parquet files: the losses of one model, text by text.

One row per text with `text_id`, `sha256` of the text, `n_chars`, `n_bytes`
and lists with one number per token: `token_ids`, `starts` and `ends` (UTF-8
bytes), `losses` and `entropy` (nats), `rank`. In the last three columns a
null stands for a token that the model did not score. The columns
`token_ids`, `entropy` and `rank` are absent where they were not recorded.
The metadata key `csv_plugin.dump` holds JSON: `format_version`, the digest of
the file (`digests`) and the fields of `DumpInfo`.
"""
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import (OPTIONAL_FIELDS, DumpInfo,
                                          ModelLosses, TokenLossDump)
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import TextSet
from csv_plugin.io.digests import (PLACEHOLDER, WITH_DIGEST, check_seal,
                                   check_version, sealed)
from csv_plugin.io.files import FilePath, atomic_path, read_bytes
from csv_plugin.io.json_files import parse_json
from csv_plugin.io.model_paths import paths_by_model
from csv_plugin.io.parquet_tables import open_table, read_columns
from csv_plugin.io.shards import merge_dumps

FORMAT = b'csv_plugin.dump'
FORMAT_VERSION = 2

_SCALARS = {
    'text_id': pa.string(),
    'sha256': pa.string(),
    'n_chars': pa.int64(),
    'n_bytes': pa.int64(),
}
#: Columns with one list per text, one number per token.
_LISTS: dict[str, Any] = {
    'token_ids': np.int32,
    'starts': np.int32,
    'ends': np.int32,
    'losses': np.float32,
    'entropy': np.float32,
    'rank': np.int32,
}
#: Types of all columns.
_TYPES = {
    **_SCALARS,
    **{
        name: pa.list_(pa.from_numpy_dtype(kind))
        for name, kind in _LISTS.items()
    }
}
# Spans rise from token to token and losses share their exponents: with these
# encodings a file is a quarter smaller.
_ENCODINGS = {
    'starts.list.element': 'DELTA_BINARY_PACKED',
    'ends.list.element': 'DELTA_BINARY_PACKED',
    'losses.list.element': 'BYTE_STREAM_SPLIT',
    'entropy.list.element': 'BYTE_STREAM_SPLIT',
}
_COMPRESSION_LEVEL = 15
#: Values in memory of an unscored token, which is a null in the file.
_UNSCORED = {'losses': np.nan, 'entropy': np.nan, 'rank': -1}

#: What files of version 1 do not say of how they were made; see `DumpInfo`.
_SINCE_VERSION_2 = ('engine', 'cache_dtype')

#: What to do about a damaged file.
_REMEDY = 'Fetch an intact copy, or score the texts again.'


def write_dump(path: FilePath, dump: TokenLossDump) -> None:
    """Write a dump; the file appears whole or not at all.

    Losses and entropies are rounded to float32. Equal dumps make equal
    files, with one version of pyarrow.

    Args:
        path (FilePath): The file to create or replace.
        dump (TokenLossDump): Its texts keep their order.

    Raises:
        InputError: The folder does not exist, or a number does not fit
            into 32 bits.
    """
    header = {
        'format_version': FORMAT_VERSION,
        'digest': PLACEHOLDER,
        **asdict(dump.info)
    }
    if not dump.info.folder:
        del header['folder']
    # ASCII and sorted, so that equal dumps make equal files.
    metadata = {FORMAT: json.dumps(header, sort_keys=True)}
    with atomic_path(path) as temporary:
        data = _as_parquet(_to_table(dump.texts), metadata)
        temporary.write_bytes(sealed(os.fspath(path), data))


def read_dump(path: FilePath) -> TokenLossDump:
    """Read what `write_dump` wrote.

    Args:
        path (FilePath): The file.

    Returns:
        TokenLossDump: Texts in the order of the file. Losses and entropies
        are float64 with the float32 values of the file. A file of format
        version 1 has no digest: a warning says so.

    Raises:
        InputError: The file is missing, damaged, not a dump, of a later
            format or expands beyond all measure; or a value in it is
            missing or wrong.
    """
    where = os.fspath(path)
    data = read_bytes(where)
    file = open_table(where, data)
    info = _info(where, data, file.metadata.metadata or {})
    names = file.schema_arrow.names
    types = {
        name: kind
        for name, kind in _TYPES.items()
        if name in names or name not in OPTIONAL_FIELDS
    }
    texts = _from_table(where, read_columns(where, data, types))
    with _errors_name(where):
        return TokenLossDump(info, texts)


def read_dump_info(path: FilePath) -> DumpInfo:
    """How a dump was made, if the file is as it was written.

    Much faster than `read_dump`: the losses are only compared with the digest
    of the file, which those of format version 1 lack.

    Args:
        path (FilePath): The file.

    Raises:
        InputError: The file is missing, damaged, not a dump or of a later
            format.
    """
    where = os.fspath(path)
    data = read_bytes(where)
    return _info(where, data, open_table(where, data).metadata.metadata or {})


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


def _to_table(texts: Sequence[TokenLosses]) -> pa.Table:
    """One row per text: numbers in 32 bits, null for unscored tokens."""
    columns = {
        name: pa.array([getattr(text, name) for text in texts], kind)
        for name, kind in _SCALARS.items()
    }
    for name in _LISTS:
        if name not in OPTIONAL_FIELDS or any(
                getattr(text, name) is not None for text in texts):
            columns[name] = _list_column(name, texts)
    return pa.table(columns)


def _list_column(name: str, texts: Sequence[TokenLosses]) -> pa.ListArray:
    parts = [_narrow(name, text) for text in texts]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    values = np.concatenate([np.empty(0, _LISTS[name]), *parts])
    # The only negative whole number is the rank of an unscored token.
    unscored = np.isnan(values) if values.dtype.kind == 'f' else values < 0
    return pa.ListArray.from_arrays(offsets, pa.array(values, mask=unscored))


def _narrow(name: str, text: TokenLosses) -> NDArray:
    """The values of one text in the number type of the file."""
    values = getattr(text.spans if name in ('starts', 'ends') else text, name)
    dtype = np.dtype(_LISTS[name])
    limit = (np.finfo if dtype.kind == 'f' else np.iinfo)(dtype).max
    beyond = np.flatnonzero(np.abs(values) > limit)
    if len(beyond):
        raise InputError(f'{name} of text {text.text_id!r}',
                         f'at most {limit}',
                         f'{values[beyond[0]]} at token {beyond[0]}',
                         'Shorten the text, or score it in higher precision.')
    return values.astype(dtype)


def _as_parquet(table: pa.Table, metadata: Mapping[bytes, str]) -> bytes:
    """A table as the bytes of a file; metadata stand in it once."""
    file = io.BytesIO()
    with pq.ParquetWriter(
            file,
            table.schema,
            compression='zstd',
            compression_level=_COMPRESSION_LEVEL,
            use_dictionary=['token_ids.list.element', 'rank.list.element'],
            column_encoding=_ENCODINGS,
            write_page_checksum=True,
            store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    return file.getvalue()


def _info(where: str, data: bytes, metadata: Mapping[bytes,
                                                     bytes]) -> DumpInfo:
    header = parse_json(metadata.get(FORMAT, b'{}'), where, _REMEDY)
    if not isinstance(header, dict) or 'format_version' not in header:
        raise InputError(where, 'a token-loss dump of csv_plugin',
                         'another Parquet file',
                         'Give the file that scoring wrote.')
    version = check_version(
        where, header, FORMAT_VERSION,
        'Writing what read_dump reads, by write_dump, renews it.')
    names = [field.name for field in fields(DumpInfo)]
    if version >= WITH_DIGEST:
        check_seal(where, data, header.pop('digest', None), _REMEDY)
    else:
        names = [name for name in names if name not in _SINCE_VERSION_2]
    del header['format_version']
    names.remove('folder')
    folder = header.pop('folder', '')
    if sorted(header) != sorted(names):
        raise InputError(where, f'the metadata {", ".join(names)}',
                         ', '.join(header)[:200] or 'none', _REMEDY)
    with _errors_name(where):
        return DumpInfo(**header, folder=folder)


def _from_table(file: str, table: pa.Table) -> tuple[TokenLosses, ...]:
    """The inverse of `_to_table`."""
    for name in table.column_names:
        if nulls := table.column(name).null_count:
            raise InputError(f'{file}, column {name!r}',
                             'a value in every row', f'{nulls} nulls', _REMEDY)
    names = table.column_names
    rows = zip(*table.columns)
    return tuple(_text(file, dict(zip(names, row))) for row in rows)


def _text(file: str, row: Mapping[str, Any]) -> TokenLosses:
    scalars = {name: row[name].as_py() for name in _SCALARS}
    where = f'{file}, text {scalars["text_id"]!r}'
    lists: dict[str, Any] = {
        name: _array(where, name, row[name].values)
        for name in _LISTS if name in row
    }
    with _errors_name(where):
        spans = TokenSpans(
            lists.pop('starts'), lists.pop('ends'), scalars.pop('n_bytes'))
        return TokenLosses(spans=spans, **scalars, **lists)


def _array(where: str, name: str, values: pa.Array) -> NDArray:
    if values.null_count:
        if name not in _UNSCORED:
            raise InputError(where, f'a number for every token in {name!r}',
                             f'{values.null_count} nulls', _REMEDY)
        values = values.fill_null(_UNSCORED[name])
    return values.to_numpy()


@contextmanager
def _errors_name(where: str) -> Iterator[None]:
    """Name the file, or the text in it, in errors about its values."""
    try:
        yield
    except InputError as error:
        raise InputError(where, 'valid token losses',
                         f'invalid values ({error})', _REMEDY) from error
