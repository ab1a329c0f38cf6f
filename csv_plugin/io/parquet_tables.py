"""Read Parquet tables of other programs, with pyarrow.

A maliciously made file can crash the Python process (docs/reliability.md).
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.io.files import FilePath, read_bytes

_REMEDY = 'Fetch an intact copy, or write the file again.'


def read_rows_of(path: FilePath,
                 names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield each row as a dict of the named columns, which have any types."""
    with _intact(path):
        file = _opened(path)
        columns = file.schema_arrow.names
        for name in names:
            if columns.count(name) != 1:
                raise InputError(path, f'a column {name!r}',
                                 f'{", ".join(columns)}'[:200], _REMEDY)
        for batch in file.iter_batches(
                64, columns=list(names), use_threads=False):
            batch.validate(full=True)
            yield from batch.to_pylist()


def read_numbers(path: FilePath,
                 key: str) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
    """Read a table with a column `key` of names and other columns of numbers.

    Return the M names, the names of the K other columns, and the numbers in
    these columns, `(M, K)`, NaN where a cell is empty.
    """
    with _intact(path):
        table = _opened(path).read()
        table.validate(full=True)
        check_unique(f'{path}, columns', table.column_names)
        units = list(table.column_names)
        has_key = key in units
        if has_key:
            units.remove(key)
        if not table.num_rows or not units or not has_key:
            raise InputError(
                path, f'one row or more, a column {key!r} and other columns',
                f'{table.num_rows} rows of the columns '
                f'{", ".join(table.column_names)}'[:200],
                'Add one row per model, one column per text or benchmark.')
        names = table.column(key).to_pylist()
        if not all(name and isinstance(name, str) for name in names):
            raise InputError(f'{path}, column {key!r}', 'texts without a gap',
                             str(table.column(key).type),
                             'Write the names as texts.')
        check_unique(f'{path}, column {key!r}', names)
        shape = len(names), len(units)
        values = np.empty(shape)
        for k, unit in enumerate(units):
            column = table.column(unit)
            if not pa.types.is_floating(column.type):
                raise InputError(
                    f'{path}, column {unit!r}', 'floating-point numbers',
                    str(column.type),
                    'Leave the column out, or write it as float32, with empty '
                    'cells (null) where there is no number.')
            values[:, k] = column.to_numpy()
        return tuple(names), tuple(units), values


def _opened(path: FilePath) -> pq.ParquetFile:
    """Open a Parquet file."""
    # pyarrow could take a path for a network address, so it gets the bytes.
    return pq.ParquetFile(
        pa.BufferReader(read_bytes(path)), page_checksum_verification=True)


@contextmanager
def _intact(path: FilePath) -> Iterator[None]:
    """Turn errors of pyarrow about a damaged file into `InputError`."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError,
            MemoryError) as error:
        raise InputError(path, 'an intact Parquet file',
                         f'the error {str(error)[:200]!r}', _REMEDY) from error
