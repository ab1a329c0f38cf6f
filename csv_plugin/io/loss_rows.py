"""Token losses as rows of a Parquet table, one per text."""
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.io.files import read_bytes

#: Columns that a table lacks if what they hold was not recorded.
OPTIONAL = ('token_ids', 'entropy', 'rank')
#: What to do about a damaged file.
REMEDY = 'Fetch an intact copy, or score the texts again.'

_SCALARS = {
    'text_id': pa.string(),
    'sha256': pa.string(),
    'n_chars': pa.int64(),
    'n_bytes': pa.int64(),
}
#: One list per text, one number per token.
_LISTS: dict[str, Any] = {
    'token_ids': np.int32,
    'starts': np.int32,
    'ends': np.int32,
    'losses': np.float32,
    'entropy': np.float32,
    'rank': np.int32,
}
#: What stands in memory for a null, an unscored token, on disk.
_UNSCORED = {'losses': np.nan, 'entropy': np.nan, 'rank': -1}


def to_table(texts: Sequence[TokenLosses]) -> pa.Table:
    """Rows in the order of the texts.

    Args:
        texts (Sequence[TokenLosses]): With the same optional fields.

    Returns:
        pa.Table: Numbers in 32 bits, null for unscored tokens.

    Raises:
        InputError: A number does not fit into 32 bits.
    """
    columns = {
        name: pa.array([getattr(text, name) for text in texts], kind)
        for name, kind in _SCALARS.items()
    }
    for name in _LISTS:
        if name not in OPTIONAL or any(
                getattr(text, name) is not None for text in texts):
            columns[name] = _list_column(name, texts)
    return pa.table(columns)


def from_table(file: str, table: pa.Table) -> tuple[TokenLosses, ...]:
    """What `to_table` was given, but for the rounding to float32.

    Args:
        file (str): Where the table comes from, for errors.
        table (pa.Table): With the columns of `to_table`, and perhaps others.

    Returns:
        tuple[TokenLosses, ...]: In the order of the rows.

    Raises:
        InputError: A column is missing or has another type, a value is
            missing, or the values of a row do not fit each other.
    """
    names = [
        name for name in (*_SCALARS, *_LISTS)
        if name not in OPTIONAL or name in table.column_names
    ]
    for name in names:
        _check_column(file, table, name)
    rows = zip(*(table.column(name) for name in names))
    return tuple(_text(file, dict(zip(names, row))) for row in rows)


def read_table(file: str) -> pa.Table:
    """The table in a Parquet file, with its metadata.

    Args:
        file (str): The file.

    Returns:
        pa.Table: Whatever is in it.

    Raises:
        InputError: The file is missing, truncated, damaged or no Parquet.
    """
    data = read_bytes(file)
    try:
        # From memory: a path that looks like an address is never followed.
        table = pq.ParquetFile(
            pa.BufferReader(data), page_checksum_verification=True).read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(file, 'an intact Parquet file',
                         f'the error {str(error)!r}', REMEDY) from error
    return table


@contextmanager
def named_in(where: str) -> Iterator[None]:
    """Name the file, and perhaps the text, in errors of what it holds."""
    try:
        yield
    except InputError as error:
        raise InputError(where, 'sound token losses', f'others ({error})',
                         REMEDY) from error


def _list_column(name: str, texts: Sequence[TokenLosses]) -> pa.ListArray:
    parts = [_narrow(name, text) for text in texts]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    values = np.concatenate([np.empty(0, _LISTS[name]), *parts])
    # Of whole numbers, only the rank of an unscored token is negative.
    unscored = np.isnan(values) if values.dtype.kind == 'f' else values < 0
    return pa.ListArray.from_arrays(offsets, pa.array(values, mask=unscored))


def _narrow(name: str, text: TokenLosses) -> NDArray:
    """One text's values in the type they have on disk."""
    values = getattr(text.spans if name in ('starts', 'ends') else text, name)
    kind = np.dtype(_LISTS[name])
    limit = (np.finfo if kind.kind == 'f' else np.iinfo)(kind).max
    beyond = np.flatnonzero(np.abs(values) > limit)
    if len(beyond):
        raise InputError(f'{name} of text {text.text_id!r}',
                         f'at most {limit}',
                         f'{values[beyond[0]]} at token {beyond[0]}',
                         'Shorten the text, or score it in higher precision.')
    return values.astype(kind)


def _check_column(file: str, table: pa.Table, name: str) -> None:
    if name not in table.column_names:
        raise InputError(file, f'a column {name!r}',
                         f'{", ".join(table.column_names)}', REMEDY)
    column = table.column(name)
    kind = (
        _SCALARS[name] if name in _SCALARS else pa.list_(
            pa.from_numpy_dtype(_LISTS[name])))
    if column.type != kind:
        raise InputError(f'{file}, column {name!r}', str(kind),
                         str(column.type), REMEDY)
    if column.null_count:
        raise InputError(f'{file}, column {name!r}', 'a value in every row',
                         f'{column.null_count} nulls', REMEDY)


def _text(file: str, row: Mapping[str, Any]) -> TokenLosses:
    scalars = {name: row[name].as_py() for name in _SCALARS}
    where = f'{file}, text {scalars["text_id"]!r}'
    lists: dict[str, Any] = {
        name: _array(where, name, row[name].values)
        for name in _LISTS if name in row
    }
    with named_in(where):
        spans = TokenSpans(
            lists.pop('starts'), lists.pop('ends'), scalars.pop('n_bytes'))
        return TokenLosses(spans=spans, **scalars, **lists)


def _array(where: str, name: str, values: pa.Array) -> NDArray:
    if values.null_count:
        if name not in _UNSCORED:
            raise InputError(where, f'a number for every token in {name!r}',
                             f'{values.null_count} nulls', REMEDY)
        values = values.fill_null(_UNSCORED[name])
    return values.to_numpy()
