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
    table = pa.table({
        'b': pa.array([.5, None, 2], pa.float32()),
        'model': ['x', None, 'z'],
        'a': pa.array([1., 2., NAN])
    })
    pq.write_table(table, path, **options)
    names, columns, values = read_numbers(str(path), 'model')
    assert (names, columns) == (['x', None, 'z'], ['b', 'a'])
    np.testing.assert_array_equal(values, [[.5, 1], [NAN, 2], [2, NAN]])
    rows = list(read_rows_of(path, ['model', 'b']))
    assert rows[::2] == [dict(b=.5, model='x'), dict(b=2, model='z')]


@pytest.mark.parametrize(
    'kind', [pa.large_string(),
             pa.dictionary(pa.int8(), pa.string())])
def test_texts_of_other_programs(path, kind):
    names = pa.array(['x', 'y', 'x']).cast(kind)
    pq.write_table(pa.table({'model': names, 'a': [1., 2, 3]}), path)
    assert read_numbers(path, 'model')[0] == ['x', 'y', 'x']


def test_many_rows_come_in_their_order(path):
    pq.write_table(pa.table({'n': range(500), 'other': range(500)}), path)
    assert [row['n'] for row in read_rows_of(path, ['n'])] == list(range(500))


@pytest.mark.parametrize('columns, message', [
    ({'a': [1.]}, "a column 'model' of texts, found the columns a"),
    ({'model': [1], 'a': [1.]}, "a column 'model' of texts"),
    ({'model': ['x'], 'a': [1]}, "column 'a': .* numbers, found int64"),
    ({'model': ['x'], 'a': [[1.]]}, "column 'a': .* found list"),
])  # yapf: disable
def test_other_columns_are_refused(path, columns, message):
    pq.write_table(pa.table(columns), path)
    with pytest.raises(InputError, match=message) as error:
        read_numbers(path, 'model')
    assert str(error.value).startswith(str(path))


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
    pq.write_table(
        pa.table({
            'model': map(str, range(1000)),
            'a': values
        }),
        path,
        compression='none',
        use_dictionary=False,
        write_page_checksum=True)
    data = path.read_bytes()
    place = data.index(values[500].tobytes())
    path.write_bytes(data[:place] + b'x' + data[place + 1:])
    with pytest.raises(InputError, match='an intact Parquet file'):
        read_numbers(path, 'model')


def test_tables_that_expand_beyond_all_measure_are_refused(path):
    pq.write_table(
        pa.table({
            'model': ['x'],
            'a': [np.zeros(10**7)]
        }),
        path,
        compression='zstd',
        use_dictionary=False)
    assert path.stat().st_size < 2**14
    for read in (read_numbers, lambda *args: list(read_rows_of(*args))):
        with pytest.raises(InputError, match='expands to at most'):
            read(path, 'model')
