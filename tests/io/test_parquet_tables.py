"""Parquet tables of other programs."""
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.parquet_tables import read_numbers, read_rows_of

NAN = float('nan')


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'x.parquet'


@pytest.mark.parametrize('options', [{}, {
    'compression': 'zstd',
    'row_group_size': 2
}, {
    'data_page_version': '2.0',
    'use_dictionary': False
}])
def test_numbers_and_rows(path, options):
    n = 99
    table = pa.table({
        'b': pa.array([.5, None, 2] * n, pa.float32()),
        'model': list(map(str, range(3 * n))),
        'a': pa.array([1., 2., NAN] * n)
    })
    pq.write_table(table, path, **options)
    names, columns, values = read_numbers(str(path), 'model')
    assert (names, columns) == (tuple(map(str, range(3 * n))), ('b', 'a'))
    np.testing.assert_array_equal(values, [[.5, 1], [NAN, 2], [2, NAN]] * n)
    rows = list(read_rows_of(path, ['model', 'b']))
    assert rows == [
        dict(model=str(m), b=(.5, None, 2)[m % 3]) for m in range(3 * n)
    ]


def test_columns_of_one_name_are_refused(path):
    table = pa.table([['x'], [1.], [2.]], ['model', 'a', 'a'])
    pq.write_table(table, path)
    with pytest.raises(InputError, match="'a' twice"):
        read_numbers(path, 'model')
    for name in ('a', 'none'):
        with pytest.raises(InputError, match=f"a column '{name}'"):
            list(read_rows_of(path, [name]))


def test_changed_pages_are_noticed_where_they_have_checksums(path):
    values = np.random.default_rng(0).random(1000)
    table = pa.table({'model': map(str, range(1000)), 'a': values})
    options = dict(compression='none', use_dictionary=False)
    pq.write_table(table, path, write_page_checksum=True, **options)
    data = path.read_bytes()
    place = data.index(values[500].tobytes())
    path.write_bytes(data[:place] + b'x' + data[place + 1:])
    with pytest.raises(InputError, match='an intact Parquet file'):
        read_numbers(path, 'model')
