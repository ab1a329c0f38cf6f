"""The four tables of a study, joined."""
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.texts import fingerprint
from csv_plugin.io.model_tables import (ModelTables, read_loss_features,
                                        read_model_tables)
from csv_plugin.io.tables import ModelInfo

REAL = Path(__file__).parents[3] / 'shared/real/gemstones'
CONTENT = {
    'losses': 'model,t0,t1\na,1,3\nb,2,2.5\nc,0.5,1\nd,3,3.5\n',
    'scores': 'model,x,y\nc,0.5,\na,0.25,0.75\n',
    'models': 'model,family,split\nd,F,test\na,F,train\nb,G,train\n'
              'c,G,val\nunused,H,test\n',
    'benchmarks': 'benchmark,chance,n_items,main\nz,0,1,1\ny,0.5,,0\n'
                  'x,0.25,100,1\n',
}  # yapf: disable


@pytest.fixture
def read(tmp_path):
    """A function that reads the tables, given other content for some."""

    def read_tables(**changed: str) -> ModelTables:
        paths = []
        for name, content in {**CONTENT, **changed}.items():
            paths.append(tmp_path / f'{name}.csv')
            paths[-1].write_text(content, 'utf-8')
        return read_model_tables(*paths)

    return read_tables


def test_real_item_losses():
    if not REAL.exists():
        pytest.skip('the real tables are not beside the repository')
    names = ('scores.csv', 'models.csv', 'benchmarks.csv')
    with pytest.warns(UserWarning, match='does not name its models'):
        tables = read_model_tables(REAL / 'losses.safetensors',
                                   *(REAL / name for name in names))
    features = tables.features
    assert features.values.shape == (180, 34_412)
    assert features.models[0] == '1024x28@2385'
    assert features.columns.units[-1].startswith('winogrande/')
    assert features.values.dtype == np.float64
    part = features.values[:, :100]
    assert np.array_equal(part, part.astype(np.float16))
    assert [
        len(tables.models_in(split))
        for split in ('train', 'validation', 'test')
    ] == [120, 24, 36]


def test_losses(read):
    features = read().features
    assert features.models == ('a', 'b', 'c', 'd')
    assert features.columns.units == ('t0', 't1')
    np.testing.assert_array_equal(features.values,
                                  [[1, 3], [2, 2.5], [0.5, 1], [3, 3.5]])


def test_the_uniform_score_is_the_plain_mean(read):
    features = read().features
    np.testing.assert_array_equal(features.values @ features.columns.uniform,
                                  [2, 2.25, 0.75, 3.25])


def test_scores_are_joined_by_name(read):
    accuracies = read().accuracies
    assert accuracies.models == ('a', 'b', 'c', 'd')
    assert accuracies.benchmarks == ('x', 'y')
    nan = np.nan
    np.testing.assert_array_equal(
        accuracies.values, [[0.25, 0.75], [nan, nan], [0.5, nan], [nan, nan]])
    assert accuracies.chance.tolist() == [0.25, 0.5]
    assert accuracies.n_items.tolist() == [100, 0]


def test_main_benchmarks(read):
    assert read().main == ('x', )
    text = CONTENT['benchmarks'].replace(',main', '').replace(',1\n',
                                                              '\n').replace(
                                                                  ',0\n', '\n')
    assert read(benchmarks=text).main == ('x', 'y')


def test_info_of_the_models(read):
    tables = read()
    assert list(tables.info) == ['d', 'a', 'b', 'c', 'unused']
    assert tables.info['c'].split == 'validation'
    assert isinstance(tables.info['c'], ModelInfo)
    assert tables.families == {
        'a': 'F', 'b': 'G', 'c': 'G', 'd': 'F', 'unused': 'H'
    }  # yapf: disable


def test_fingerprint_is_of_the_units(read):
    expected = fingerprint([('t0', ''), ('t1', '')])
    assert read().features.columns.fingerprint == expected
    renamed = CONTENT['losses'].replace('t1', 't2')
    assert read(losses=renamed).features.columns.fingerprint != expected
    lower = CONTENT['losses'].replace('3', '2')
    assert read(losses=lower).features.columns.fingerprint == expected


@pytest.mark.parametrize('splits, models', [
    (('train', ), ('a', 'b')), (('test', ), ('d', )),
    (('test', 'train'), ('a', 'b', 'd')),
    (('train', 'validation', 'train'), ('a', 'b', 'c')),
])  # yapf: disable
def test_models_in_splits(read, splits, models):
    assert read().models_in(*splits) == models


@pytest.mark.parametrize('splits', [('validation', ), ('train', 'validation')])
def test_an_empty_split(read, splits):
    text = CONTENT['models'].replace('val', 'train')
    message = (r"models.csv: expected models in split 'validation', "
               r'found only test, train\. Name a split')
    with pytest.raises(InputError, match=message):
        read(models=text).models_in(*splits)


def test_a_split_whose_models_have_no_losses_is_empty(read):
    text = CONTENT['losses'].replace('d,3,3.5\n', '')
    with pytest.raises(InputError, match="split 'test'"):
        read(losses=text).models_in('test')


def test_select(read):
    tables = read()
    part = tables.select(('c', 'a'))
    assert part.features.models == part.accuracies.models == ('c', 'a')
    np.testing.assert_array_equal(part.features.values, [[0.5, 1], [1, 3]])
    np.testing.assert_array_equal(part.accuracies.values,
                                  [[0.5, np.nan], [0.25, 0.75]])
    assert (part.info, part.main) == (tables.info, tables.main)
    assert part.features.columns is tables.features.columns


@pytest.mark.parametrize('table, row, message', [
    ('losses', 'e,1,2\n', "losses.csv: expected models of .*models.csv, "
     "found 'e'. Add them there or"),
    ('scores', 'e,1,1\n', "scores.csv: expected models of .*losses.csv, "
     "found 'e'. Add them there or"),
    ('scores', 'unused,1,1\n', "scores.csv: .*losses.csv, found 'unused'"),
    ('losses', 'a,1,1\n', "losses.csv, line 6.*earlier line.*'a'"),
    ('scores', 'c,1,1\n', "scores.csv, line 4.*earlier line.*'c'"),
    ('models', 'a,F,test\n', "models.csv, line 7.*earlier line.*'a'"),
    ('benchmarks', 'y,0,1,1\n', "benchmarks.csv, line 5.*earlier line.*'y'"),
    ('losses', 'e,,1\n', "losses.csv, model 'e', column 't0': .*found nan"),
    ('scores', 'b,45.5,1\n', "scores.csv, model 'b', column 'x': .*45.5.*"
     'divide them by 100'),
    ('benchmarks', 'w,1,1,1\n', "line 5, column 'chance': .*below 1.*'1'"),
])
def test_rows_that_cannot_be_used(read, table, row, message):
    with pytest.raises(InputError, match=message):
        read(**{table: CONTENT[table] + row})


def test_splits_are_separated_by_spaces(read):
    with pytest.raises(
            InputError,
            match="split 'train,val', found only test,"
            ' train, validation. Separate the names of splits by'):
        read().models_in('train,val')


@pytest.mark.parametrize('table', ['scores', 'losses'])
def test_how_many_models_are_not_there(read, table):
    rows = 'e,1,.5\nf,1,.5\ng,1,.5\n'
    with pytest.raises(
            InputError,
            match=f'{table}.csv: .*, found '
            "'e' and 2 more. Add them there or remove them here."):
        read(**{table: CONTENT[table] + rows})


def test_a_benchmark_that_is_not_described(read):
    text = CONTENT['benchmarks'].replace('y,0.5,,0\n', '')
    with pytest.raises(InputError, match="column 'y': .*benchmarks.csv"):
        read(benchmarks=text)


def test_losses_in_an_array_are_those_of_a_table(tmp_path):
    table = FeatureTable.of_losses(['a', 'b'], ['x', 'y'], [[1, 2], [.5, 3]])
    path = tmp_path / 'losses.csv'
    path.write_text('model,y,x\na,2,1\nb,3,0.5\n')
    read = read_loss_features(path, units=['x', 'y'])
    assert read.columns.fingerprint == table.columns.fingerprint
    assert read.values.tolist() == table.values.tolist()
    assert read.mean_loss.tolist() == table.mean_loss.tolist()
    with pytest.raises(InputError, match='change the sign'):
        FeatureTable.of_losses(['a'], ['x'], [[-1]])
    with pytest.raises(InputError, match=r'values of shape \(1, 2\)'):
        FeatureTable.of_losses(['a'], ['x', 'y'], [[1]])
