"""Parquet files that stand for more than they hold."""
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io import parquet_tables
from csv_plugin.io.parquet_tables import (FREE_BYTES, read_columns,
                                          read_numbers, read_rows_of)
from csv_plugin.io.thrift_structures import I32, I64, STRUCT, ThriftReader

NUMBERS = {'x': pa.list_(pa.int32())}
TEXTS = {'x': pa.string()}


def written(*tables, **options) -> bytes:
    file = io.BytesIO()
    with pq.ParquetWriter(
            file,
            tables[0].schema,
            store_schema=False,
            **{
                'compression': 'zstd',
                **options
            }) as writer:
        for table in tables:
            writer.write_table(table)
    return file.getvalue()


def lists(n_rows, length, value=0):
    flat = pa.array(np.full(n_rows * length, value, np.int32))
    offsets = np.arange(n_rows + 1, dtype=np.int32) * length
    return pa.table({'x': pa.ListArray.from_arrays(offsets, flat)})


def resident() -> int:
    with open('/proc/self/status') as file:
        line = next(line for line in file if line.startswith('VmHWM'))
    return 1024 * int(line.split()[1])


def assert_refused(data, types, problem):
    before = resident()
    with pytest.raises(InputError, match=f'^f: .*{problem}'):
        read_columns('f', data, types)
    assert resident() - before < 2 * FREE_BYTES


@pytest.mark.parametrize('options', [
    {}, {'use_dictionary': False}, {'data_page_version': '2.0'},
    {'compression': 'none'}, {'compression': 'snappy'},
    {'data_page_size': 100}, {'write_statistics': False},
    {'write_page_checksum': True}, {'row_group_size': 7}
])  # yapf: disable
def test_ordinary_files_are_read(options):
    size = options.pop('row_group_size', None)
    table = pa.table(
        {
            'x': [[1, 2], [], [3, None, 2**31 - 1]] * 20,
            'y': [f'text {i % 7}' for i in range(60)],
            'z': list(range(60))
        }, pa.schema({
            **NUMBERS, 'y': pa.string(),
            'z': pa.int64()
        }))
    parts = [table[i:i + size]
             for i in range(0, 60, size)] if size else [table]
    types = dict(zip(table.schema.names, table.schema.types))
    read = read_columns('f', written(*parts, **options), types)
    assert read.to_pydict() == table.to_pydict()
    assert read_columns('f', written(table[:0], **options),
                        types).num_rows == 0


@pytest.mark.parametrize('n_rows, length', [(1, 2 * 10**7), (2000, 10**4)])
def test_numbers_that_all_are_equal_are_counted(n_rows, length):
    data = written(lists(n_rows, length))
    assert len(data) < FREE_BYTES / 500
    assert_refused(data, NUMBERS, 'expands to at most')


def test_a_text_that_is_repeated_is_counted():
    text = pa.DictionaryArray.from_arrays(
        np.zeros(10**5, np.int32), pa.array(['x' * 10**5]))
    data = written(pa.table({'x': text}))
    assert len(data) < 10**4
    assert_refused(data, TEXTS, 'expands to at most')


def test_a_page_of_equal_texts_is_counted():
    table = pa.table({'x': ['x' * 10**5] * 1000})
    data = written(table, use_dictionary=False)
    assert_refused(data, TEXTS, 'expands to at most')


def test_other_columns_do_not_count_and_are_not_read():
    table = lists(3, 10**7)
    table = table.append_column('y', pa.array([1, 2, 3]))
    read = read_columns('f', written(table), {'y': pa.int64()})
    assert read.to_pydict() == {'y': [1, 2, 3]}


def test_texts_that_share_their_starts_are_refused():
    """An encoding in which a page may stand for any number of bytes."""
    table = pa.table({'x': ['a' * 1000] * 3})
    data = written(
        table, use_dictionary=False, column_encoding={'x': 'DELTA_BYTE_ARRAY'})
    assert_refused(data, TEXTS, 'page of another kind')


def varint(number: int) -> bytes:
    number *= 2  # zigzag
    parts = []
    while number >= 128:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def test_page_headers_that_contradict_the_footer():
    """The footer says 10 values; the page, a billion."""
    data = written(
        lists(1, 10),
        compression='none',
        use_dictionary=False,
        write_statistics=False)
    honest = b'\x2c\x15' + varint(10)  # field 5, its field 1
    assert data.count(honest) == 1
    changed = data.replace(honest, b'\x2c\x15' + varint(63))
    assert_refused(changed, NUMBERS, 'not those of the footer')


@pytest.mark.parametrize('unpacked', [2**31 - 1, 2**32, 2**60])
def test_pages_that_claim_any_size(unpacked):
    """What is claimed counts, as memory is taken for it."""
    data = written(lists(1, 10), use_dictionary=False)
    reader = ThriftReader(data)
    header = reader.struct_at(4)
    start = bytes([0x15, 0, 0x15])
    honest = start + varint(header[2, I32])
    assert data[4:].startswith(honest)
    changed = (data[:4] + start + varint(unpacked) + data[4 + len(honest):])
    # Of the length that a footer would give.
    pages = column(reader.place + header[3, I32] + 20, 10)
    with pytest.raises(InputError, match='expands to|cannot be|too long'):
        with parquet_tables._intact('f'):
            size = parquet_tables._chunk_size(ThriftReader(changed), pages, 1)
            parquet_tables._check_bound('f', size, FREE_BYTES)


def column(size, n_values, **others):
    """What a footer says of one column; it starts at byte 4."""
    return {
        (3, STRUCT): {
            (5, I64): n_values,
            (7, I64): size,
            (9, I64): 4
        },
        **others
    }


@pytest.mark.parametrize('header', [
    b'', b'\x15', b'\x15\x00', b'\x00', b'\x15\x00\x15\x02\x15\x02\x00',
    b'\x15\x00' * 2, b'\x1c' * 1000, b'\x15' + b'\xff' * 100,
    b'\x15\x00\x15\x02\x15\x02\x25\x02\x00', b'\x1c\x00\x1c\x00\x00',
    b'\x19\x00\x00', b'\x18\xff\xff\xff\x0f\x00', b'\x11\x12\x13\x00',
    b'\x15\x02\x15\x02\x15\x02\x00'
])  # yapf: disable
def test_headers_that_are_none(header):
    with pytest.raises(InputError, match='f: expected an intact Parquet'):
        with parquet_tables._intact('f'):
            parquet_tables._chunk_size(
                ThriftReader(b'PAR1' + header), column(len(header), 3), 1)


def test_a_footer_with_endless_lists_is_refused():
    schema = {f'c{i}': pa.array([1]) for i in range(2000)}
    with pytest.raises(InputError, match='an intact Parquet file'):
        read_columns('f', written(pa.table(schema)), {'c1': pa.int64()})


def test_a_table_of_thousands_of_columns_is_read():
    values = np.arange(6000.).reshape(2, 3000)
    units = [f'unit.{k}/a b' for k in range(3000)]
    table = pa.table([['a', 'b'], *values.T.copy()], ['model', *units])
    names, columns, numbers = read_numbers('f', written(table), 'model')
    assert (names, columns) == (['a', 'b'], units)
    np.testing.assert_array_equal(numbers, values)


@pytest.mark.parametrize('options', [
    {}, {'use_dictionary': False}, {'data_page_version': '2.0'},
    {'use_dictionary': ['model'], 'use_byte_stream_split': ['x']},
    {'compression': 'snappy'}, {'write_page_checksum': True}
])  # yapf: disable
def test_ordinary_tables_of_numbers_are_read(options):
    table = pa.table({'model': ['a', 'b', None] * 9, 'x': [.5, None, 2.] * 9})
    names, columns, numbers = read_numbers('f', written(table, **options),
                                           'model')
    assert (names, columns) == (['a', 'b', None] * 9, ['x'])
    np.testing.assert_array_equal(numbers, [[.5], [np.nan], [2]] * 9)


def test_numbers_of_any_column_are_counted(monkeypatch):
    """A dot stands before the parts of lists, but in names, too."""
    n_rows = 3 * 10**6
    names = pa.DictionaryArray.from_arrays(
        np.zeros(n_rows, np.int32), pa.array(['a']))
    data = written(
        pa.table({
            'model': names,
            'x.y': np.zeros(n_rows, np.float32)
        }))
    # One column may be read, two may not, however well pyarrow packs them.
    room = 6 * n_rows - parquet_tables.BYTES_PER_BYTE * len(data)
    monkeypatch.setattr(parquet_tables, 'FREE_BYTES', room)
    with pytest.raises(InputError, match='expands to at most'):
        read_numbers('f', data, 'model')


def test_a_footer_that_contradicts_itself_is_refused():
    """The column is optional in its statistics, but not in the schema."""
    data = written(pa.table({'x': pa.array([1.5, None, 2.5])}))
    optional = b'\x15\x0a\x25\x02\x18\x01x'  # a float64, optional, named x
    assert data.count(optional) == 1
    changed = data.replace(optional, b'\x15\x0a\x25\x00\x18\x01x')
    with pytest.raises(InputError, match='an intact Parquet file'):
        list(read_rows_of('f', changed, ['x']))


def test_a_column_that_hides_in_the_footer_is_counted():
    """Its name in the schema counts, by which the reader finds it."""
    data = written(lists(1, 6 * 10**6))
    path = b'\x01x\x04list\x07element'
    assert data.count(path) == 1
    hidden = data.replace(path, path.replace(b'x', b'y'))
    assert_refused(hidden, NUMBERS, 'expands to at most')


def test_noise_is_refused():
    rng = np.random.default_rng(0)
    data = written(lists(3, 5))
    n_read = 0
    for _ in range(300):
        noise = bytearray(data)
        for place in rng.integers(len(data), size=3):
            noise[place] = rng.integers(256)
        try:
            read_columns('f', bytes(noise), NUMBERS)
            n_read += 1
        except InputError:
            pass
    assert n_read < 300
