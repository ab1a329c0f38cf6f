"""CSV tables: what is read, refused with its place, and written."""
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.io.csv_rows import decimal, decimals, read_rows
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo, check_models_in,
                                  read_accuracies, read_accuracy_columns,
                                  read_benchmarks, read_losses, read_models,
                                  with_all_models, write_csv)

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


@pytest.mark.parametrize('cell, number', [
    ('0', 0), ('-2.50', -2.5), ('+1.', 1), ('.5', .5), (' 7 ', 7),
    ('1e-3', .001), ('1E+2', 100), ('0007', 7), (str(2**80), 2**80)
])  # yapf: disable
def test_plain_numbers(write, cell, number):
    row, = read_rows(write(f'key,x\na,{cell}\n'), ('key', 'x'))
    assert row.number('x') == number


@pytest.mark.parametrize('cell', [
    '1_000', '１２', '0x1f', '1e400', 'inf', '-Infinity', 'nan', '1 0', '',
    '.', 'e5', '1e', '--1', '1.2.3', '9' * 400, '25%'
])  # yapf: disable
def test_what_is_no_number(write, cell):
    row, = read_rows(write(f'key,x\na,{cell}\n'), ('key', 'x'))
    with pytest.raises(InputError, match="line 2, column 'x': .*finite"):
        row.number('x')


def test_numbers_by_the_row_are_those_of_each_cell():
    for texts in (['1', '.5', '+1e-3'], ['1', ''], ['1_0', '2'], ['e', '1'],
                  ['１'], ['nan', 'inf'], ['1e999'], ['-'], []):
        np.testing.assert_array_equal(
            decimals(texts), [decimal(text) for text in texts])


def test_losses(write) -> None:
    losses = read_losses(write('model,t0,text 1\na/b,0,1.5\nc,2e-1,3\n'))
    assert losses.models == ('a/b', 'c')
    assert losses.columns == ('t0', 'text 1')
    np.testing.assert_array_equal(losses.values, [[0, 1.5], [0.2, 3]])


def test_the_column_of_models_may_stand_anywhere(write) -> None:
    losses = read_losses(write('t0,model,t1\n1,a,2\n'))
    assert (losses.models, losses.columns) == (('a', ), ('t0', 't1'))
    np.testing.assert_array_equal(losses.values, [[1, 2]])


def test_an_empty_accuracy_was_not_run(write) -> None:
    scores = read_accuracy_columns(write('model,x,y\na,0,\nb, ,1\n'))
    np.testing.assert_array_equal(scores.values, [[0, nan], [nan, 1]])


def test_models_in_any_order_of_columns(write) -> None:
    models = read_models(
        write('split,model,params_b,family,note,tokens\n'
              'val,b,0.5,Yi,x,3e9\ntest,a,,Yi,,\n'))
    assert list(models) == ['b', 'a']
    assert models['b'] == ModelInfo('Yi', 'validation', 0.5, 3e9)
    assert models['a'].split == 'test'
    assert isnan(models['a'].params_b) and isnan(models['a'].tokens)


def test_models_without_sizes_and_splits(write) -> None:
    models = read_models(write('model,family\na,Yi\n'))
    assert models['a'].split == '' and isnan(models['a'].params_b)


def test_benchmarks(write) -> None:
    assert read_benchmarks(
        write('benchmark,chance,n_items,main,kind\n'
              'x,0.25,1000.0,0,F1\ny,0,,,\n')) == {
                  'x': BenchmarkInfo(0.25, 1000, False, 'F1'),
                  'y': BenchmarkInfo(0.0, 0, True, ''),
              }
    assert read_benchmarks(write('benchmark,chance,n_items\nx,0,5\n')) == {
        'x': BenchmarkInfo(0.0, 5, True, '')
    }


def test_accuracies_keep_the_order_of_their_file(write) -> None:
    table = read_accuracies(
        write('model,y,x\na,0.5,\n', 'scores.csv'),
        write('benchmark,chance,n_items\nx,0.25,7\nz,0,1\ny,0.5,9\n',
              'benchmarks.csv'))
    assert (table.models, table.benchmarks) == (('a', ), ('y', 'x'))
    np.testing.assert_array_equal(table.values, [[0.5, nan]])
    np.testing.assert_array_equal(table.chance, [0.5, 0.25])
    np.testing.assert_array_equal(table.n_items, [9, 7])


def test_an_undescribed_benchmark_is_refused(write) -> None:
    scores = write('model,x,y\na,0.5,0.5\n', 'scores.csv')
    benchmarks = write('benchmark,chance,n_items\nx,0,1\n', 'benchmarks.csv')
    with pytest.raises(
            InputError,
            match=f"{scores}, column 'y': expected a "
            f'benchmark of {benchmarks}'):
        read_accuracies(scores, benchmarks)


def test_models_that_another_table_lacks() -> None:
    check_models_in('a.csv', ['x'], 'b.csv', ['y', 'x'])
    with pytest.raises(
            InputError,
            match="a.csv: expected models of b.csv, "
            "found 'z' and 1 more"):
        check_models_in('a.csv', ['z', 'x', 'v'], 'b.csv', ['y', 'x'])


def test_models_that_were_run_on_nothing(write) -> None:
    table = read_accuracies(
        write('model,x\na,.5\nb,\n', 'scores.csv'),
        write('benchmark,chance,n_items\nx,0,0\n', 'benchmarks.csv'))
    more = with_all_models(table, ('c', 'a', 'b'))
    assert more.models == ('c', 'a', 'b')
    np.testing.assert_array_equal(more.values, [[nan], [.5], [nan]])


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


def test_the_apostrophe_before_a_formula_is_taken_away(write) -> None:
    assert read_losses(
        write("model,'=t,b\n'-a,1,2\n'b,1,2\n")).models == ('-a', "'b")


@pytest.mark.parametrize('kind, content, message', [
    ('losses', '', "header: expected a column 'model', found ''"),
    ('losses', 'model,t0\n', 'expected a row, found none'),
    ('losses', 'model;t0\na;1\n', "header: .* found 'model;t0'"),
    ('losses', 'model\na\n', "header: expected a column besides 'model'"),
    ('losses', 'model,t0,t1,t0\na,1,2,3\n', "header: .* found 't0' twice"),
    ('losses', ',model,t0\n0,a,1\n', 'header: .* none for column 1'),
    ('losses', 'model,t0\na,1\nb,2\na,3\n',
     "line 4, column 'model': .* found 'a'. Line 2 has it too"),
    ('losses', 'model,t0\n,1\n', "line 2, column 'model': .* an empty cell"),
    ('losses', 'model,t0,t1\na,1,2\nb,1\n', 'line 3: expected 3 cells'),
    ('losses', 'model,t0\na,1,5\n', 'line 2: expected 2 cells, .* found 3'),
    ('losses', 'model,t0\n"a\nb",1\n\nc,x\n', "line 5, .* found 'x'"),
    ('losses', 'model,t0\na,"1\n', 'line 2: expected comma-separated cells'),
    ('losses', 'model,t0\na,1\n"b" c,1\n', 'line 3: expected comma-sep'),
    ('losses', 'model,t0\na,1\nb,"0,5"\n', "line 3, column 't0': .* '0,5'"),
    ('losses', 'model,t0\na,\n', "model 'a', column 't0': .* found nan"),
    ('losses', 'model,t0\na,1e999\n', "model 'a', column 't0': .* found inf"),
    ('losses', 'model,t0\na,-0.5\n', '-0.5. .*: change the sign'),
    ('losses', b'model,t0\n\xc3\xa9,1\ncaf\xe9,1\n',
     'line 3: expected UTF-8 text, found the byte 0xe9'),
    ('losses', 'model,t0\n'.encode('utf-16'), 'line 1: .* the byte 0xff'),
    ('losses', 'model,x\na,1\nb,\0\n', 'expected text, found a NUL'),
    ('scores', 'model,x\na,0.5\nb,54.3\n',
     "model 'b', column 'x': .* 54.3. .* in percent: divide them by 100"),
    ('scores', 'model,x\na,n/a\n', "line 2, column 'x': .* found 'n/a'"),
    ('models', 'model,family,params_b\na,Yi,0\n', "'params_b': .* found '0'"),
    ('models', 'model,family,tokens\na,Yi,-1\n', "'tokens': .* more than 0"),
    ('benchmarks', 'benchmark,chance,n_items\nx,1,1\n', "below 1, found '1'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,-0.1,1\n', "found '-0.1'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,2.5\n', "found '2.5'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,1e300\n', "found '1e300'"),
    ('benchmarks', 'benchmark,chance,n_items,main\nx,0,1,yes\n',
     "line 2, column 'main': expected 1 or 0, found 'yes'"),
])
def test_bad_files_are_refused_with_the_place(write, kind, content,
                                              message) -> None:
    path = write(content)
    with pytest.raises(InputError, match=message) as error:
        READERS[kind](path)
    assert str(error.value).startswith(str(path))


@given(
    st.lists(
        st.lists(
            st.one_of(st.just(nan), st.floats(0, 1)), min_size=2, max_size=2),
        min_size=1))
@settings(deadline=None, max_examples=30)
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
    write_csv(path, ['model', 'é'],
              [['a,b', 0.1], ['c', np.float32('nan')], ['=1', 'x\ry']])
    assert path.read_bytes() == (
        b'model,\xc3\xa9\n"a,b",0.1\nc,\n"\'=1","x\ry"\n')


def test_a_failed_write_leaves_the_old_file_alone(write) -> None:
    path = write('model,x\na,0.5\n')

    def rows():
        yield ['b', 0.1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_csv(path, ['model', 'x'], rows())
    assert path.read_text() == 'model,x\na,0.5\n'
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize('small', ['0', '1e-300', '1e-12'])
def test_a_model_whose_losses_are_next_to_nothing(write, small) -> None:
    with pytest.raises(InputError, match="model 'b': expected losses that di"):
        read_losses(write(f'model,x,y\na,1,2\nb,0,{small}\n'))
    read_losses(write('model,x,y\na,1,2\nb,0,1e-6\n'))


@pytest.mark.skipif(not REAL.exists(), reason='no cases beside the repository')
def test_losses_of_a_scoring_that_failed() -> None:
    path = REAL.parent / 'cases/faults/06-zero-losses/losses.csv'
    with pytest.raises(InputError, match="model 'm22'"):
        read_losses(path)


@pytest.mark.skipif(
    not REAL.exists(), reason='the real tables are not beside the repository')
def test_real_tables() -> None:
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
