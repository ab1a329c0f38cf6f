"""Parquet tables that cannot expand beyond what their files can hold.

A few bytes of Parquet can stand for billions of numbers, so sizes are taken
from the footer and from the header of every page before anything is
unpacked. The layout is that of https://parquet.apache.org/docs/file-format.
"""
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from csv_plugin.core.conventions import InputError

#: Bytes that any table may expand to, and those for each byte of its file:
#: a thousand times as many as of usual dumps, more than if all losses of
#: all texts were equal.
FREE_BYTES, BYTES_PER_BYTE = 2**24, 1000
#: Row groups, columns and the like in one list of the footer.
_LONGEST_LIST = 1000
_BYTES_PER_NUMBER = 4
_REMEDY = 'Fetch an intact copy, or score the texts again.'

#: Fields of a page header, by their numbers.
_TYPE, _UNPACKED, _PACKED = 1, 2, 3
#: For each type of page, the field that describes it, and in it the fields
#: with the number of values and with their encoding.
_DESCRIBED = {0: (5, 1, 2), 2: (7, 1, 2), 3: (8, 1, 4)}
_DICTIONARY = 2
#: PLAIN, PLAIN_DICTIONARY and RLE_DICTIONARY: a value is at most as long as
#: its page. Others repeat parts of texts.
_ENCODINGS = (0, 2, 8)


def open_table(where: str, data: bytes,
               texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Read the footer of a Parquet file.

    Args:
        where (str): The file, for errors.
        data (bytes): All of it. pyarrow gets no path, which it might take
            for a network address.
        texts (Sequence[str]): Columns of which equal texts are to be held
            once.

    Raises:
        InputError: It is no Parquet file.
    """
    with _intact(where):
        return pq.ParquetFile(
            pa.BufferReader(data),
            read_dictionary=list(texts),
            thrift_container_size_limit=_LONGEST_LIST,
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
        _check_bound(where, _expanded(data, file.metadata, types), most)
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
        _check_bound(where, _expanded(data, file.metadata,
                                      dict.fromkeys(names)), most)
        # Few at a time: texts that are equal are held once in the file.
        for batch in file.iter_batches(
                64, columns=list(names), use_threads=False):
            batch.validate(full=True)
            rows = batch.to_pylist()
            size += sum(len(str(row)) for row in rows)
            _check_bound(where, size, most)
            yield from rows


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
                         f'{size} bytes', 'Score the texts in several parts.')


def _expanded(data: bytes, footer: Any, names: Mapping[str, Any]) -> int:
    """Most bytes that the columns take in memory."""
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    if footer.num_rows != sum(group.num_rows for group in groups):
        raise OSError('rows that are in no row group')
    return sum(
        _chunk_size(data, group.column(i), group.num_rows) for group in groups
        for i in range(group.num_columns)
        if group.column(i).path_in_schema.partition('.')[0] in names)


def _chunk_size(data: bytes, chunk: Any, n_rows: int) -> int:
    """Most bytes of one column in one row group, page by page."""
    place = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < place:
        place = chunk.dictionary_page_offset
    end = place + chunk.total_compressed_size
    if chunk.file_path or not 0 <= place <= end <= len(data):
        raise OSError('pages outside of the file')
    n_values = size = 0
    # The reader, too, stops where it has all values.
    while n_values < chunk.num_values:
        header = _ThriftReader(data, place)
        page = header.struct()
        kind, unpacked, packed = (
            _count(page.get(field)) for field in (_TYPE, _UNPACKED, _PACKED))
        described, number, encoding = _DESCRIBED.get(kind, (0, 0, 0))
        values = page.get(described)
        if not isinstance(values,
                          dict) or values.get(encoding) not in _ENCODINGS:
            raise OSError('a page of another kind')
        count = _count(values.get(number))
        n_values += 0 if kind == _DICTIONARY else count
        size += unpacked + _BYTES_PER_NUMBER * count
        place = header.place + packed
    if place > end or not n_rows <= n_values == chunk.num_values:
        raise OSError('pages that are not those of the footer')
    return size


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise OSError('a page header that cannot be read')
    return value


def _text_size(column: pa.ChunkedArray) -> int:
    """Bytes of all texts of a column, of which equal ones are held once."""
    size = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary).to_numpy(False)
        places = chunk.indices.drop_null().to_numpy()
        size += int(lengths.astype(np.int64)[places].sum())
    return size


class _ThriftReader:
    """Reads one structure in Thrift's compact protocol.

    Args:
        data (bytes): Holds the structure.
        place (int): Where it starts; where it has ended, once it is read.
    """

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Values by the number of their field.

        Raises:
            OSError: It holds what no page header holds.
            IndexError: The data end before it does.
        """
        values: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            field = field + step if step else self._signed()
            if field in values or depth > 3:
                raise OSError('a page header that cannot be read')
            values[field] = self._value(kind, depth)
        return values

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 8:
            # A smallest or largest value, of no interest here.
            length = self._unsigned()
            self.place += length
            return None
        if kind == 12:
            return self.struct(depth + 1)
        raise OSError('a page header that cannot be read')

    def _signed(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        number |= byte << shift
        if number >= 2**32:
            raise OSError('a page header that cannot be read')
        return number

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]
