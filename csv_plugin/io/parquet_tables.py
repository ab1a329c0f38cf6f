"""Parquet tables of other programs, read by pyarrow.

pyarrow checks little of what a file says of itself: a forged one can end
Python (docs/reliability.md).
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.io.files import FilePath, read_bytes

#: Bytes that any table may expand to, and those for each byte of its file.
_FREE_BYTES, _BYTES_PER_BYTE = 2**24, 1000
_REMEDY = 'Fetch an intact copy, or write the file again.'


def read_rows_of(path: FilePath,
                 names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows of some columns, of any types, one after the other.

    Args:
        path (FilePath): The file.
        names (Sequence[str]): The columns.

    Yields:
        dict[str, Any]: Values by column.

    Raises:
        InputError: A column is missing or twice there, a page is damaged, or
            the columns expand beyond all measure.
    """
    with _intact(path):
        file = _opened(path)
        columns = file.schema_arrow.names
        for name in names:
            if columns.count(name) != 1:
                raise InputError(f'{path}', f'a column {name!r}',
                                 f'{", ".join(columns)}'[:200], _REMEDY)
        for batch in file.iter_batches(
                64, columns=list(names), use_threads=False):
            batch.validate(full=True)
            yield from batch.to_pylist()


def read_numbers(
        path: FilePath, key: str
) -> tuple[list[Optional[str]], list[str], NDArray[np.float64]]:
    """Read a table with a column of names, and one of numbers for each unit.

    Args:
        path (FilePath): The file.
        key (str): The column of names.

    Returns:
        tuple: M names, None where there is none; names of the K other
        columns; and their numbers, NaN where there is none, `(M, K)`.

    Raises:
        InputError: The column of names is missing, a column is of another
            type or twice there, a page is damaged, or the columns expand
            beyond all measure.
    """
    where = f'{path}'
    with _intact(path):
        table = _opened(path).read()
        table.validate(full=True)
        check_unique(f'{where}, columns', table.column_names)
        if key not in table.column_names or not _is_text(
                table.schema.field(key).type):
            raise InputError(where, f'a column {key!r} of texts',
                             f'the columns {", ".join(table.column_names)}'
                             [:200], 'Add or rename it.')  # yapf: disable
        units = [name for name in table.column_names if name != key]
        values = np.empty((table.num_rows, len(units)))
        for k, unit in enumerate(units):
            column = table.column(unit)
            if not pa.types.is_floating(column.type):
                raise InputError(
                    f'{where}, column {unit!r}', 'floating-point numbers',
                    str(column.type),
                    'Leave the column out, or write it as float32.')
            values[:, k] = column.to_numpy()
        return table.column(key).to_pylist(), units, values


def _is_text(kind: pa.DataType) -> bool:
    """Whether a column holds texts, or numbers that stand for them."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _opened(path: FilePath) -> pq.ParquetFile:
    """The file, which may not say that it expands beyond all measure."""
    data = read_bytes(path)
    # pyarrow gets no path, which it might take for a network address.
    file = pq.ParquetFile(
        pa.BufferReader(data), page_checksum_verification=True)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    most = _FREE_BYTES + _BYTES_PER_BYTE * len(data)
    if size > most:
        raise InputError(f'{path}', f'a file that expands to at most {most} '
                         'bytes', f'{size} bytes',
                         'Write it in several parts.')  # yapf: disable
    return file


@contextmanager
def _intact(path: FilePath) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError,
            MemoryError) as error:
        raise InputError(f'{path}', 'an intact Parquet file',
                         f'the error {str(error)[:200]!r}', _REMEDY) from error
