"""Parquet tables that cannot expand beyond what their files can hold.

A few bytes of Parquet can stand for billions of numbers, so sizes are taken
from the footer and from the header of every page before anything is
unpacked. The layout is that of https://parquet.apache.org/docs/file-format.
"""
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.io.thrift_structures import (BINARY, I32, I64, LIST,
                                             MOST_VALUES, STRUCT, Kept,
                                             Structure, ThriftReader)

#: Bytes that any table may expand to, and those for each byte of its file:
#: a thousand times as many as of usual dumps, more than if all losses of
#: all texts were equal.
FREE_BYTES, BYTES_PER_BYTE = 2**24, 1000
#: Row groups, columns and the like in one list of the footer, and columns of
#: a table that has one for every unit of text.
_LONGEST_LIST, _MOST_UNITS = 1000, 10**5
#: Values in the footer and before the pages for each column, a few times as
#: many as usual ones have.
_VALUES_PER_COLUMN = 200
_BYTES_PER_NUMBER = 4
_REMEDY = 'Fetch an intact copy, or write the file again.'

#: What stands at the end of a file: the length of the footer, and this.
_MAGIC = b'PAR1'
#: Fields of the footer, of a row group, of a column in it and of what is said
#: of its pages, by their numbers.
_ALL_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _ROWS = 1, 3
_OTHER_FILE, _PAGES, _ENCRYPTED = 1, 3, 8
_VALUES, _SIZE, _START, _DICTIONARY_START = 5, 7, 9, 11
_KEPT: Kept = {
    _ALL_ROWS: None,
    _ROW_GROUPS: {
        _COLUMNS: {
            _OTHER_FILE: None,
            _PAGES: {
                _VALUES: None,
                _SIZE: None,
                _START: None,
                _DICTIONARY_START: None
            },
            _ENCRYPTED: None
        },
        _ROWS: None
    }
}
#: Fields of a page header.
_TYPE, _UNPACKED, _PACKED = 1, 2, 3
#: For each type of page, the field that describes it, and in it the fields
#: with the number of values and with their encoding.
_DESCRIBED = {0: (5, 1, 2), 2: (7, 1, 2), 3: (8, 1, 4)}
_DICTIONARY = 2
#: PLAIN, PLAIN_DICTIONARY, DELTA_BINARY_PACKED (for numbers alone),
#: RLE_DICTIONARY and BYTE_STREAM_SPLIT: a text is at most as long as its page.
#: Others repeat parts of texts.
_ENCODINGS = (0, 2, 5, 8, 9)


def open_table(where: str,
               data: bytes,
               texts: Sequence[str] = (),
               longest_list: int = _LONGEST_LIST) -> pq.ParquetFile:
    """Read the footer of a Parquet file.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it. pyarrow gets no path, which it might take
            for a network address.
        texts (Sequence[str]): Columns of which equal texts are to be held
            once.
        longest_list (int): Most columns, row groups and the like.

    Raises:
        InputError: It is no Parquet file.
    """
    with _intact(where):
        return pq.ParquetFile(
            pa.BufferReader(data),
            read_dictionary=list(texts),
            thrift_container_size_limit=longest_list,
            page_checksum_verification=True)


def read_columns(where: str, data: bytes,
                 types: Mapping[str, pa.DataType]) -> pa.Table:
    """Read some columns of a Parquet file; others are ignored.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it.
        types (Mapping[str, pa.DataType]): The columns, each a list of
            numbers of 32 bits, a number or a text.

    Raises:
        InputError: A column is missing, of another type or twice there, a
            page is damaged, or the columns expand beyond all measure.
    """
    file = open_table(where, data)
    schema = file.schema_arrow
    for name, expected in types.items():
        if schema.names.count(name) != 1:
            raise InputError(where, f'a column {name!r}',
                             f'{", ".join(schema.names)}'[:200], _REMEDY)
        found = schema.field(name).type
        if found != expected:
            raise InputError(f'{where}, column {name!r}', str(expected),
                             str(found), _REMEDY)
    most = FREE_BYTES + BYTES_PER_BYTE * len(data)
    texts = [name for name, kind in types.items() if kind == pa.string()]
    with _intact(where):
        _check_bound(where, _expanded(data, file.schema, types), most)
        table = open_table(where, data, texts).read(columns=list(types))
        table.validate(full=True)
        for name in texts:
            column = table.column(name)
            _check_bound(where, _text_size(column), most)
            table = table.set_column(
                table.column_names.index(name), name, column.cast(pa.string()))
    return table


def read_rows_of(where: str, data: bytes,
                 names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows of some columns, of any types, one after the other.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it.
        names (Sequence[str]): The columns.

    Yields:
        dict[str, Any]: Values by column.

    Raises:
        InputError: A column is missing or twice there, a page is damaged, or
            the columns expand beyond all measure.
    """
    file = open_table(where, data)
    columns = file.schema_arrow.names
    for name in names:
        if columns.count(name) != 1:
            raise InputError(where, f'a column {name!r}',
                             f'{", ".join(columns)}'[:200], _REMEDY)
    most = FREE_BYTES + BYTES_PER_BYTE * len(data)
    size = 0
    with _intact(where):
        _check_bound(where, _expanded(data, file.schema, names), most)
        # Few at a time: texts that are equal are held once in the file.
        for batch in file.iter_batches(
                64, columns=list(names), use_threads=False):
            batch.validate(full=True)
            rows = batch.to_pylist()
            size += sum(len(str(row)) for row in rows)
            _check_bound(where, size, most)
            yield from rows


def read_numbers(
        where: str, data: bytes, key: str
) -> tuple[list[Optional[str]], list[str], NDArray[np.float64]]:
    """Read a table with a column of names, and one of numbers for each unit.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it.
        key (str): The column of names.

    Returns:
        tuple: M names, None where there is none; names of the K other
        columns; and their numbers, NaN where there is none, `(M, K)`.

    Raises:
        InputError: The column of names is missing, a column is of another
            type or twice there, a page is damaged, or the columns expand
            beyond all measure.
    """
    file = _with_names(where, data, key)
    schema = file.schema_arrow
    units = [name for name in schema.names if name != key]
    for field in schema:
        if field.name != key and not pa.types.is_floating(field.type):
            raise InputError(f'{where}, column {field.name!r}',
                             'floating-point numbers', str(field.type),
                             'Leave the column out, or write it as float32.')
    most = FREE_BYTES + BYTES_PER_BYTE * len(data)
    with _intact(where):
        _check_bound(where, _expanded(data, file.schema), most)
        table = file.read()
        table.validate(full=True)
        _check_bound(where, _text_size(table.column(key)), most)
    values = np.empty((table.num_rows, len(units)))
    for k, unit in enumerate(units):
        values[:, k] = table.column(unit).to_numpy()
    return table.column(key).to_pylist(), units, values


def _with_names(where: str, data: bytes, key: str) -> pq.ParquetFile:
    """The opened file of `read_numbers`, with a column of texts."""
    try:
        file = open_table(where, data, [key], _MOST_UNITS)
    except KeyError:  # there is no such column, or it is one of lists
        names = open_table(where, data, (), _MOST_UNITS).schema_arrow.names
        raise InputError(where, f'a column {key!r} of texts',
                         f'the columns {", ".join(names)}'[:200],
                         'Add or rename it.') from None
    check_unique(f'{where}, columns', file.schema_arrow.names)
    found = file.schema_arrow.field(key).type
    if found != pa.dictionary(pa.int32(), pa.string()):
        raise InputError(f'{where}, column {key!r}', 'texts', str(found),
                         'Write the names as texts.')
    return file


@contextmanager
def _intact(where: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError,
            IndexError) as error:
        raise InputError(where, 'an intact Parquet file',
                         f'the error {str(error)[:200]!r}', _REMEDY) from error


def _check_bound(where: str, size: int, most: int) -> None:
    if size > most:
        raise InputError(where, f'a file that expands to at most {most} bytes',
                         f'{size} bytes', 'Write it in several parts.')


def _expanded(data: bytes,
              schema: Any,
              names: Optional[Collection[str]] = None) -> int:
    """Most bytes that the columns take in memory.

    The footer is read here, as pyarrow's objects for its parts end Python if
    the parts contradict each other.

    Args:
        data (bytes): The file.
        schema (pq.ParquetSchema): Its columns, those of lists and objects
            apart.
        names (Optional[Collection[str]]): The columns to read, by default
            all.
    """
    start = len(data) - 8 - int.from_bytes(data[-8:-4], 'little')
    if start < 0 or data[-4:] != _MAGIC:
        raise OSError('no footer')
    reader = ThriftReader(data, MOST_VALUES + _VALUES_PER_COLUMN * len(schema))
    footer = reader.struct_at(start, _KEPT)
    groups = _structures(footer, _ROW_GROUPS)
    n_rows = [_count(group, _ROWS, I64) for group in groups]
    if _count(footer, _ALL_ROWS, I64) != sum(n_rows):
        raise OSError('rows that are in no row group')
    paths = [schema.column(i).path for i in range(len(schema))]
    size = 0
    for group, count in zip(groups, n_rows):
        columns = _structures(group, _COLUMNS)
        if len(columns) != len(paths):
            raise OSError('row groups with other columns')
        size += sum(
            _chunk_size(reader, column, count)
            for column, path in zip(columns, paths)
            if names is None or path.partition('.')[0] in names)
    return size


def _chunk_size(reader: ThriftReader, column: Structure, n_rows: int) -> int:
    """Most bytes of one column in one row group, page by page."""
    pages = column.get((_PAGES, STRUCT))
    if (column.get((_OTHER_FILE, BINARY)) or (_ENCRYPTED, STRUCT) in column
            or pages is None):
        raise OSError('pages that are not in the file')
    place = _count(pages, _START, I64)
    end = place + _count(pages, _SIZE, I64)
    first = pages.get((_DICTIONARY_START, I64), 0)
    if 0 < first < place:
        place, end = first, end - place + first
    if end > len(reader.data):
        raise OSError('pages outside of the file')
    most = _count(pages, _VALUES, I64)
    n_values = size = 0
    # The reader, too, stops where it has all values.
    while n_values < most:
        page = reader.struct_at(place)
        unpacked, packed = (
            _count(page, field, I32) for field in (_UNPACKED, _PACKED))
        kind = _count(page, _TYPE, I32)
        described, number, encoding = _DESCRIBED.get(kind, (0, 0, 0))
        values = page.get((described, STRUCT), {})
        if values.get((encoding, I32)) not in _ENCODINGS:
            raise OSError('a page of another kind')
        count = _count(values, number, I32)
        n_values += 0 if kind == _DICTIONARY else count
        size += unpacked + _BYTES_PER_NUMBER * count
        place = reader.place + packed
    if place > end or not n_rows <= n_values == most:
        raise OSError('pages that are not those of the footer')
    return size


def _count(structure: Structure, field: int, kind: int) -> int:
    value = structure.get((field, kind), -1)
    if value < 0:
        raise OSError('a number that is missing or negative')
    return value


def _structures(structure: Structure, field: int) -> list[Structure]:
    values = structure.get((field, LIST))
    if values is None or not all(isinstance(value, dict) for value in values):
        raise OSError('a list that is missing or of another kind')
    return values


def _text_size(column: pa.ChunkedArray) -> int:
    """Bytes of all texts of a column, of which equal ones are held once."""
    size = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary).to_numpy(False)
        places = chunk.indices.drop_null().to_numpy()
        size += int(lengths.astype(np.int64)[places].sum())
    return size
