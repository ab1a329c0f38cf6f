"""CSV tables: what is read, refused with its place, and written."""
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo, read_accuracies,
                                  read_accuracy_columns, read_benchmarks,
                                  read_losses, read_models, write_csv)

REAL = Path(__file__).parents[3] / 'shared/real'
READERS = {
    'losses': read_losses,
    'scores': read_accuracy_columns,
    'models': read_models,
    'benchmarks': read_benchmarks,
}


@pytest.fixture
def write(tmp_path):
    """A function that writes a file and returns its path."""

    def write_file(content: str | bytes, name: str = 'table.csv') -> Path:
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        return path

    return write_file


def test_losses(write) -> None:
    losses = read_losses(write('model,t0,text 1\na/b,0,1.5\nc,2e-1,3\n'))
    assert losses.models == ('a/b', 'c')
    assert losses.columns == ('t0', 'text 1')
    assert losses.values.dtype == np.float64
    np.testing.assert_array_equal(losses.values, [[0, 1.5], [0.2, 3]])


def test_an_empty_accuracy_was_not_run(write) -> None:
    scores = read_accuracy_columns(write('model,x,y\na,0,\nb, ,1\n'))
    assert scores.columns == ('x', 'y')
    np.testing.assert_array_equal(scores.values, [[0, nan], [nan, 1]])


def test_models_in_any_order_of_columns(write) -> None:
    models = read_models(
        write('split,model,params_b,family,note,tokens\n'
              'val,b,0.5,Yi,x,3e9\ntest,a,,Yi,,\n'))
    assert list(models) == ['b', 'a']
    assert models['b'] == ModelInfo('Yi', 'validation', 0.5, 3e9)
    assert models['a'].split == 'test'
    assert isnan(models['a'].params_b) and isnan(models['a'].tokens)


def test_models_without_sizes(write) -> None:
    models = read_models(write('model,family,split\na,Yi,train\n'))
    assert isnan(models['a'].params_b)


@pytest.mark.parametrize('table', [
    'model,family\na,Yi\n', 'model,family,split\na,Yi,\n'
])  # yapf: disable
def test_models_without_splits(write, table) -> None:
    assert read_models(write(table))['a'].split == ''


def test_splits_of_any_name(write) -> None:
    models = read_models(
        write('model,family,split\na,Yi,val\nb,Yi,1st half\nc,Yi,dev\n'))
    assert [info.split
            for info in models.values()] == ['validation', '1st half', 'dev']


def test_benchmarks(write) -> None:
    benchmarks = read_benchmarks(
        write('benchmark,chance,n_items,main,kind\n'
              'x,0.25,1000.0,0,F1\ny,0,,,\n'))
    assert benchmarks == {
        'x': BenchmarkInfo(0.25, 1000, False, 'F1'),
        'y': BenchmarkInfo(0.0, 0, True, ''),
    }


def test_benchmarks_without_optional_columns(write) -> None:
    benchmarks = read_benchmarks(write('benchmark,chance,n_items\nx,0,5\n'))
    assert benchmarks == {'x': BenchmarkInfo(0.0, 5, True, '')}


def test_accuracies_keep_the_order_of_their_file(write) -> None:
    table = read_accuracies(
        write('model,y,x\na,0.5,\n', 'scores.csv'),
        write('benchmark,chance,n_items\nx,0.25,7\nz,0,1\ny,0.5,9\n',
              'benchmarks.csv'))
    assert table.models == ('a', )
    assert table.benchmarks == ('y', 'x')
    np.testing.assert_array_equal(table.values, [[0.5, nan]])
    np.testing.assert_array_equal(table.chance, [0.5, 0.25])
    np.testing.assert_array_equal(table.n_items, [9, 7])


def test_an_undescribed_benchmark_is_refused(write) -> None:
    scores = write('model,x,y\na,0.5,0.5\n', 'scores.csv')
    benchmarks = write('benchmark,chance,n_items\nx,0,1\n', 'benchmarks.csv')
    with pytest.raises(InputError) as error:
        read_accuracies(scores, benchmarks)
    assert str(error.value) == (
        f"{scores}, line 1, column 'y': expected a benchmark of {benchmarks}, "
        "found 'y'. Add a row with its chance level and number of items "
        'there.')


@pytest.mark.parametrize('content', [
    b'\xef\xbb\xbfmodel,t0\r\na,1\r\n',
    b'model,t0\ra,1\r',
    b'model , t0\n\n a ,1 \n\n',
    b'"model","t0"\n"a","1"',
])
def test_files_of_spreadsheets_and_editors_are_read(write, content) -> None:
    losses = read_losses(write(content))
    assert (losses.models, losses.columns) == (('a', ), ('t0', ))
    assert losses.values == [[1.0]]


@pytest.mark.parametrize('kind, content, message', [
    ('losses', '', 'line 1: expected the header, found an empty line'),
    ('losses', '\nmodel,t0\na,1\n', 'line 1: expected the header'),
    ('losses', 'model,t0\n', 'line 2: expected a row, found the end'),
    ('losses', 'name,t0\na,1\n',
     "line 1: expected a column 'model', found none in the header 'name,t0'"),
    ('losses', 'model;t0\na;1\n', "found none in the header 'model;t0'"),
    ('losses', 'model\na\n', "line 1: expected a column besides 'model'"),
    ('losses', 'model,t0,t1,t0\na,1,2,3\n', "line 1, column 4: .* found 't0'"),
    ('losses', ',model,t0\n0,a,1\n', 'line 1, column 1: .* an empty cell'),
    ('losses', 'model,t0\na,1\nb,2\na,3\n',
     "line 4, column 'model': .* found 'a'. Line 2 has it too"),
    ('losses', 'model,t0\n,1\n', "line 2, column 'model': .* an empty cell"),
    ('losses', 'model,t0,t1\na,1,2\nb,1\n',
     "line 3: expected 3 cells, .* found 2 cells, no cell for column 't1'"),
    ('losses', 'model,t0\na,1,5\n',
     "line 2: expected 2 cells, .* found 3 cells, no column for cell '5'"),
    ('losses', 'model,t0\n"a\nb",1\n\nc,x\n', "line 5, .* found 'x'"),
    ('losses', 'model,t0\na,"1\n', 'line 2: expected comma-separated cells'),
    ('losses', 'model,t0\na,1\n"b" c,1\n', 'line 3: expected comma-sep'),
    ('losses', 'model,t0\na,1\nb,"0,5"\n',
     "line 3, column 't0': expected a finite number, found '0,5'"),
    ('losses', 'model,t0\na,\n', "line 2, column 't0': .* an empty cell"),
    ('losses', 'model,t0\na,nan\n', "line 2, column 't0': .* found 'nan'"),
    ('losses', 'model,t0\na,-inf\n', "line 2, column 't0': .* found '-inf'"),
    ('losses', 'model,t0\na,1e999\n', "line 2, column 't0': .* found '1e999'"),
    ('losses', 'model,t0\na,-0.5\n',
     "line 2, column 't0': expected a loss of 0 or more, found '-0.5'"),
    ('losses', b'model,t0\n\xc3\xa9,1\ncaf\xe9,1\n',
     'line 3: expected UTF-8 text, found the byte 0xe9'),
    ('losses', 'model,t0\n'.encode('utf-16'), 'line 1: .* the byte 0xff'),
    ('scores', 'model,x\na,0.5\nb,54.3\n',
     "line 3, column 'x': .* '54.3'. .* in percent: divide them by 100"),
    ('scores', 'model,x\na,-1\n',
     "line 2, column 'x': .* found '-1'. Leave the cell empty"),
    ('scores', 'model,x\na,NaN\n', "line 2, column 'x': .* found 'NaN'"),
    ('scores', 'model,x\na,n/a\n', "line 2, column 'x': .* found 'n/a'"),
    ('models', 'model,split\na,test\n', "expected a column 'family'"),
    ('models', 'model,family,split\na,,test\n',
     "line 2, column 'family': expected some text, found an empty cell"),
    ('models', 'model,family,split,params_b\na,Yi,test,0\n',
     "line 2, column 'params_b': .* found '0'"),
    ('models', 'model,family,split,params_b\na,Yi,test,7B\n',
     "line 2, column 'params_b': .* found '7B'"),
    ('models', 'model,family,tokens\na,Yi,-1\n',
     "line 2, column 'tokens': .* more than 0, found '-1'"),
    ('benchmarks', 'benchmark,n_items\nx,1\n', "expected a column 'chance'"),
    ('benchmarks', 'benchmark,chance\nx,0\n', "expected a column 'n_items'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,1,1\n',
     "line 2, column 'chance': .* below 1, found '1'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,-0.1,1\n', "found '-0.1'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,,1\n',
     "line 2, column 'chance': .* found an empty cell"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,-1\n',
     "line 2, column 'n_items': .* found '-1'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,2.5\n', "found '2.5'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,1e300\n', "found '1e300'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,1\nx,0,1\n',
     "line 3, column 'benchmark': .* found 'x'. Line 2 has it"),
    ('benchmarks', 'benchmark,chance,n_items,main\nx,0,1,yes\n',
     "line 2, column 'main': expected 1 or 0, found 'yes'"),
])
def test_bad_files_are_refused_with_the_place(write, kind, content,
                                              message) -> None:
    path = write(content)
    with pytest.raises(InputError, match=message) as error:
        READERS[kind](path)
    assert str(error.value).startswith(f'{path}, line ')


@pytest.mark.parametrize('reader', READERS.values())
def test_missing_files_and_folders_are_refused(reader, tmp_path) -> None:
    with pytest.raises(InputError, match="none.csv: .*'No such file"):
        reader(tmp_path / 'none.csv')
    (tmp_path / 'folder.csv').mkdir()
    with pytest.raises(InputError, match="'Is a directory'"):
        reader(str(tmp_path / 'folder.csv'))


@given(
    st.lists(
        st.lists(
            st.one_of(st.just(nan), st.floats(0, 1)), min_size=2, max_size=2),
        min_size=1))
@settings(deadline=None)
def test_written_accuracies_are_read_back_exactly(tmp_path_factory,
                                                  values) -> None:
    path = tmp_path_factory.mktemp('scores') / 'scores.csv'
    models = [f'org/"model", {index}' for index in range(len(values))]
    rows = [[model, *row] for model, row in zip(models, np.array(values))]
    write_csv(path, ['model', 'x', 'é'], rows)
    scores = read_accuracy_columns(path)
    assert scores.models == tuple(models)
    assert scores.columns == ('x', 'é')
    np.testing.assert_array_equal(scores.values, values)


def test_written_bytes(tmp_path) -> None:
    path = tmp_path / 'table.csv'
    write_csv(path, ['model', 'é'], [['a,b', 0.1], ['c', np.float32('nan')]])
    assert path.read_bytes() == b'model,\xc3\xa9\n"a,b",0.1\nc,\n'


def test_a_failed_write_leaves_the_old_file_alone(write) -> None:
    path = write('model,x\na,0.5\n')

    def rows():
        yield ['b', 0.1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_csv(path, ['model', 'x'], rows())
    assert path.read_text() == 'model,x\na,0.5\n'
    assert list(path.parent.iterdir()) == [path]


def test_real_tables() -> None:
    if not REAL.exists():
        pytest.skip('the real tables are not beside the repository')
    losses = read_losses(REAL / 'losses.csv')
    models = read_models(REAL / 'models.csv')
    benchmarks = read_benchmarks(REAL / 'benchmarks.csv')
    table = read_accuracies(REAL / 'scores.csv', REAL / 'benchmarks.csv')
    assert losses.values.shape == (89, 263)
    assert losses.values[0, 0] == 0.947431
    assert table.models == losses.models == tuple(models)
    splits = [info.split for info in models.values()]
    assert [splits.count(part)
            for part in ('train', 'validation', 'test')] == [48, 14, 27]
    assert sum(info.main for info in benchmarks.values()) == 15
    assert np.isnan(table.column('core_bb_repeat_copy')[0])
