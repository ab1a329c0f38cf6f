"""CSV tables: what is read, refused with its place, and written."""
import time
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.model_tables import (read_accuracy_columns,
                                        read_loss_features)
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo, read_benchmarks,
                                  read_models, read_rows, write_csv)

READERS = {
    'losses': read_loss_features,
    'scores': read_accuracy_columns,
    'models': read_models,
    'benchmarks': read_benchmarks,
}


@pytest.fixture
def write(tmp_path):

    def write_file(content: str | bytes, name: str = 'table.csv') -> Path:
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        return path

    return write_file


@pytest.mark.parametrize('cell, number', [
    ('0', 0), ('-2.50', -2.5), ('+1.', 1), ('.5', .5), (' 7 ', 7),
    ('1E+2', 100), ('0007', 7), (str(2**80), 2**80),
    *((other, None) for other in
      ('1_000', '１２', '0x1f', '1e400', '-Infinity', 'nan', '1 0', '',
       '.', 'e5', '--1', '9' * 400, '25%'))
])  # yapf: disable
def test_numbers(write, cell, number):
    row, = read_rows(write(f'key,x\na,{cell}\n'), ('key', 'x'))
    if number is not None:
        assert row.number('x') == number
    else:
        with pytest.raises(InputError, match="line 2, column 'x': .*finite"):
            row.number('x')


def test_models_in_any_order_of_columns(write):
    models = read_models(
        write('split,model,params_b,family,note,tokens\n'
              'val,b,0.5,Yi,x,3e9\ntest,a,,Yi,,\n'))
    assert list(models) == ['b', 'a']
    assert models['b'] == ModelInfo('Yi', 'validation', 0.5, 3e9)
    assert models['a'].split == 'test'
    assert isnan(models['a'].params_b) and isnan(models['a'].tokens)


def test_benchmarks(write):
    assert read_benchmarks(
        write('benchmark,chance,n_items,main,kind\n'
              'x,0.25,1000.0,0,F1\ny,0,,,\n')) == {
                  'x': BenchmarkInfo(0.25, 1000, False),
                  'y': BenchmarkInfo(0.0, 0, True),
              }
    assert read_benchmarks(write('benchmark,chance,n_items\nx,0,5\n')) == {
        'x': BenchmarkInfo(0.0, 5, True)
    }


@pytest.mark.parametrize('content', [
    b'\xef\xbb\xbfmodel,t0\r\na,1\r\n',
    b'model,t0\ra,1\r',
    b'model , t0\n\n a ,1 \n\n',
    b'"model","t0"\n"a","1"',
    b'model,t0,,\na,1,,\n,,,\n , \n',
])
def test_files_of_spreadsheets_and_editors_are_read(write, content):
    losses = read_loss_features(write(content))
    assert (losses.models, losses.columns.units) == (('a', ), ('t0', ))
    assert losses.values == [[1.0]]


def test_the_apostrophe_before_a_formula_is_taken_away(write):
    assert read_loss_features(
        write("model,'=t,b\n'-a,1,2\n'b,1,2\n")).models == ('-a', "'b")


@pytest.mark.parametrize('kind, content, message', [
    ('losses', '', 'expected a table with a header, found an empty file'),
    ('losses', 'model,t0\n', 'expected a row, found none'),
    ('losses', 'model;t0\na;1\n', "header: .* found 'model;t0'"),
    ('losses', 'Model,t0\na,1\n', "found 'Model,t0'. Rename 'Model'"),
    ('losses', 'model\na\n', "header: expected a column besides 'model'"),
    ('losses', 'model,t0,t1,t0\na,1,2,3\n', "header: .* found 't0' twice"),
    ('losses', ',model,t0\n0,a,1\n', 'header: .* none for column 1'),
    ('losses', 'model,t0\na,1\nb,2\na,3\n',
     "line 4, column 'model': .* found 'a'. Line 2 has it too"),
    ('losses', 'model,t0,t1\na,1,2\nb,1\n', 'line 3: expected 3 cells'),
    ('losses', 'model,t0\na,1,2\n', 'line 2: .* 2 cells, .* found 3'),
    ('losses', 'model,t0\n"a\nb",1\n\nc,x\n', "line 5, .* found 'x'"),
    ('losses', b'model,t0\n\xc3\xa9,1\ncaf\xe9,1\n',
     'line 3: expected UTF-8 text, found the byte 0xe9'),
    ('scores', 'model,x\na,n/a\n', "line 2, column 'x': .* found 'n/a'"),
    ('scores', 'model,x,y\na,-,0\nb,5%,?\n',
     "found '-', and 2 more such cells: line 3, column 'x'; line 3, column 'y'"
     '. Write digits'),
    ('models', 'model,family,tokens\na,Yi,2T\n', 'or an empty cell, .* 2e12'),
    ('models', 'model,family,tokens\na,Yi,-1\n', "'tokens': .* above 0"),
    ('benchmarks', 'benchmark,chance,n_items\nx,-0.1,1\n', "found '-0.1'"),
    ('benchmarks', 'benchmark,chance,n_items\nx,0,1e300\n', "found '1e300'"),
])
def test_bad_files_are_refused_with_the_place(write, kind, content, message):
    path = write(content)
    with pytest.raises(InputError, match=f'^{path}.*{message}'):
        READERS[kind](path)


def test_written_accuracies_are_read_back_exactly(tmp_path):
    path = tmp_path / 'scores.csv'
    values = np.random.default_rng(0).random((30, 2))
    values[::3, 0] = nan
    models = tuple(f'org/"model", {index}' for index in range(len(values)))
    write_csv(path, ['model', 'x', 'é'],
              ([model, *row] for model, row in zip(models, values)))
    scores = read_accuracy_columns(path)
    assert (scores.models, scores.columns) == (models, ('x', 'é'))
    np.testing.assert_array_equal(scores.values, values)


def test_written_bytes(tmp_path):
    path = tmp_path / 'table.csv'
    write_csv(path, ['model', 'é'],
              [['a,b', 0.1], ['c', np.float32('nan')], ['=1', 'x\ry']])
    assert path.read_bytes() == (
        b'model,\xc3\xa9\n"a,b",0.1\nc,\n"\'=1","x\ry"\n')


def test_many_empty_last_columns_take_no_time(tmp_path):
    path = tmp_path / 'models.csv'
    empty = ',' * 200_000
    path.write_text(f'model,family{empty}\na,f{empty}\n')
    began = time.process_time()
    assert [*read_models(path)] == ['a']
    assert time.process_time() - began < 10
