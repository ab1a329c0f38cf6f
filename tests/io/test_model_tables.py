"""Losses and accuracies in three formats: one table, the same refusals."""
import json
from math import inf, nan
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.measured import (METRIC, SHOTS, TEMPLATE, Measured,
                                      check_weights)
from csv_plugin.io.model_tables import (ModelTables, read_accuracy_columns,
                                        read_loss_features, read_measured,
                                        read_model_tables)
from csv_plugin.io.tables import read_models, write_csv

VALUES = np.array([[0, 1.5], [0.25, 3]])
NAMES, COLUMNS = ('a/b', 'c'), ('ü 0', 'text, 1')
ENDINGS = '.csv', '.parquet', '.safetensors'


def write(path: Path,
          values=VALUES,
          names=NAMES,
          columns=COLUMNS,
          tensor='losses') -> Path:
    """A table in the format of the name's ending."""
    if path.suffix == '.csv':
        write_csv(path, ['model', *columns],
                  ([name, *map(float, row)]
                   for name, row in zip(names, values)))
    elif path.suffix == '.parquet':
        pq.write_table(
            pa.table(
                [pa.array(names, pa.string()), *np.array(values).T.copy()],
                ['model', *columns]), path)
    else:
        path.write_bytes(save({tensor: np.ascontiguousarray(values)}))
        path.with_name('units.txt').write_text('\n'.join([*columns, '']),
                                               'utf-8')
        write_csv(path.with_name('models.csv'), ['model'], zip(names))
    return path


def assert_refused(path: Path, message: str, read=read_loss_features) -> None:
    with pytest.raises(InputError, match=message) as error:
        read(path)
    assert str(error.value).startswith(str(path.parent))


@pytest.mark.parametrize('ending', ENDINGS)
@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
def test_every_format_holds_the_same_losses(tmp_path, ending, dtype):
    values = np.random.default_rng(0).random((3, 2)).astype(dtype)
    path = write(tmp_path / f'l{ending}', values, [*NAMES, 'd'])
    for name in f'l{ending}', f'l{ending.upper()}':
        path = path.rename(tmp_path / name)
        losses = read_loss_features(path)
        assert losses.models == (*NAMES, 'd')
        assert losses.columns.units == COLUMNS
        np.testing.assert_array_equal(losses.values, values.astype(np.float64))


@pytest.mark.parametrize('ending', ENDINGS[:2])
def test_accuracies_that_were_not_run_are_nan(tmp_path, ending):
    path = write(tmp_path / f's{ending}', [[.5, nan], [.5, 0.5]])
    np.testing.assert_array_equal(
        read_accuracy_columns(path).values, [[.5, nan], [.5, 0.5]])


@pytest.mark.parametrize(
    'kind', [pa.large_string(),
             pa.dictionary(pa.int8(), pa.string())])
def test_tables_of_other_programs(tmp_path, kind):
    pq.write_table(
        pa.table({
            'x': pa.array([None, 0.5], pa.float16()),
            'model': pa.array(['a', 'b']).cast(kind)
        }), tmp_path / 's.parquet')
    scores = read_accuracy_columns(tmp_path / 's.parquet')
    assert (scores.models, scores.columns) == (('a', 'b'), ('x', ))
    np.testing.assert_array_equal(scores.values, [[nan], [0.5]])


@pytest.mark.parametrize('ending', ENDINGS)
@pytest.mark.parametrize('number, message', [
    (nan, "model 'c', column 'ü 0': expected a loss of 0 or more, found nan. "
     'Leave a'),
    (inf, "column 'ü 0': expected a loss of 0 or more, found inf. Leave a"),
    (-0.5, 'found -0.5. .* change the sign'),
])
def test_losses_that_cannot_be(tmp_path, ending, number, message):
    values = VALUES.astype(np.float16)
    values[1, 0] = number
    if ending == '.csv':
        message = message.replace('nan', 'an empty cell')
        message = message.replace('model', 'line 3, model')
    assert_refused(write(tmp_path / f'l{ending}', values), message)


@pytest.mark.parametrize('ending', ENDINGS[:2])
@pytest.mark.parametrize('number, message',
                         [(54.3, 'found 54.3.* divide them by 100'),
                          (-1, 'found -1.* Leave the')])
def test_accuracies_that_cannot_be(tmp_path, ending, number, message):
    path = write(tmp_path / f's{ending}', [[1, nan], [0, number]])
    assert_refused(
        path, f"column 'text, 1': expected an accuracy in 0..1, {message}",
        read_accuracy_columns)


def test_losses_in_place_of_accuracies(tmp_path):
    path = write(tmp_path / 's.csv', [[2.5, 1.5], [nan, 3]])
    assert_refused(path, 'in percent.* Or is it a table of losses',
                   read_accuracy_columns)
    path = write(tmp_path / 's.csv', [[25, 15], [12, 3]])
    assert_refused(path, 'in percent, divide them by 100. Leave',
                   read_accuracy_columns)


WORDS = 'NaN', 'nan', 'N/A', 'n.a.', 'None', 'null', '-', '#N/A'


@pytest.mark.parametrize('word', WORDS)
def test_words_for_no_number(tmp_path, word):
    """In all tables, one refusal, which says what to write in their place."""
    scores = write(tmp_path / 's.csv', [[.5, nan], [.5, .5]])
    path = tmp_path / 'words.csv'
    path.write_text(scores.read_text().replace(',\n', f',{word}\n'))
    assert_refused(path, f"found '{word}'.* Leave the cell empty where the",
                   read_accuracy_columns)
    assert_refused(path, f"found '{word}'.* no loss may be empty")
    table = pa.table({'model': ['a', 'b'], 'x': ['.5', word]})
    pq.write_table(table, tmp_path / 'words.parquet')
    for read in (read_accuracy_columns, read_loss_features):
        assert_refused(tmp_path / 'words.parquet',
                       "column 'x': .* empty cells .null. where there", read)


def test_words_for_no_size(tmp_path):
    path = tmp_path / 'models.csv'
    path.write_text('model,family,params_b\na,a,N/A\n')
    assert_refused(path, "found 'N/A'.* Leave the cell empty", read_models)


@pytest.mark.parametrize('read, metric', [(read_accuracy_columns, 'acc'),
                                          (read_loss_features, None)])
def test_records_beside_a_table_are_compared_by_all_who_read(
        tmp_path, read, metric):
    """As by the import that wrote them, of its models and benchmarks."""
    path = write(tmp_path / 't.csv', [[.5], [.5]], 'ab', ['arc'])
    beside = tmp_path / 'measured.json'

    def record(name, **facts):
        return vars(Measured(name, 'arc', 'f', {METRIC: metric, **facts}))

    beside.write_text(
        json.dumps([
            record('a', **{TEMPLATE: 'none'}),
            record('b', **{TEMPLATE: 'some'}),
            record('z', **{SHOTS: 9})
        ]))
    with pytest.warns(UserWarning, match='template: none of a, some of b'):
        read(path)
    beside.write_text(
        json.dumps([record('a', **{SHOTS: 0}),
                    record('b', **{SHOTS: 5})]))
    with pytest.raises(InputError, match='few-shot .* 0 of a, 5 of b'):
        read(path)


def test_other_endings_are_refused(tmp_path):
    for name, found in (('l', 'no ending'), ('l.csv.gz', '.gz')):
        assert_refused(tmp_path / name, f'a name that ends in .*found {found}')
    path = write(tmp_path / 's.safetensors')
    assert_refused(path, 'found .safetensors', read_accuracy_columns)


@pytest.mark.parametrize('table, message', [
    (dict(x=[1.0]),
     "a column 'model' and other columns, found 1 rows of .* x. Add"),
    (dict(model=['a']), 'found 1 rows of the columns model'),
    (dict(model=pa.array([], pa.string()), x=[]), 'found 0 rows'),
    (dict(model=['a', None], x=[1.0, 1]), 'texts without a gap'),
    (dict(model=['a', ''], x=[1.0, 1]), 'texts without a gap'),
    (dict(model=[1], x=[1.0]), "'model': .* texts .*, found int64"),
    (dict(model=['a', 'b', 'a'], x=[1.0, 1, 1]), "'model': .*'a' twice"),
    (dict(model=['a'], x=[1]), "column 'x': expected floating-point numbers"),
])
def test_other_parquet_tables_are_refused(tmp_path, table, message):
    path = tmp_path / 't.parquet'
    pq.write_table(pa.table(table), path)
    assert_refused(path, message)


@pytest.mark.parametrize('values, tensor, message', [
    (VALUES, 'loss', "a tensor 'losses', found only 'loss'. .* Dumps"),
    (VALUES[:1], 'losses', r'of shape \(2, 2\).* found .* \(1, 2\)'),
    (VALUES > 1, 'losses', 'found bool of shape'),
])
def test_other_tensors_are_refused(tmp_path, values, tensor, message):
    path = write(tmp_path / 'l.safetensors', tensor=tensor)
    path.write_bytes(save({tensor: values}))
    assert_refused(path, message)


def test_names_beside_a_tensor(tmp_path):
    path = write(tmp_path / 'l.safetensors')
    units = path.with_name('units.txt')
    units.write_text('\ufeffü 0\r\ntext, 1 \r\n')
    read = read_loss_features(path)
    assert (read.models, read.columns.units) == (NAMES, COLUMNS)
    units.write_text('x\nx')
    assert_refused(path, "units.txt: .*'x' twice")
    units.unlink()
    assert_refused(path, 'units.txt: expected a file')


CONTENT = {
    'losses': 'model,t0,t1\na,1,3\nb,2,2.5\nc,0.5,1\nd,3,3.5\n',
    'scores': 'model,x,y\nc,0.5,\na,0.25,0.75\n',
    'models': 'model,family,split\nd,F,test\na,F,train\nb,G,train\n'
              'c,G,val\nunused,H,test\n',
    'benchmarks': 'benchmark,chance,n_items,main\ny,0.5,,0\nx,0.25,100,1\n',
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


def test_tables_are_joined_by_name(read):
    tables = read()
    features, accuracies = tables.features, tables.accuracies
    assert features.models == accuracies.models == ('a', 'b', 'c', 'd')
    assert features.columns.units == ('t0', 't1')
    np.testing.assert_array_equal(features.values,
                                  [[1, 3], [2, 2.5], [0.5, 1], [3, 3.5]])
    np.testing.assert_array_equal(features.mean_loss, [2, 2.25, 0.75, 3.25])
    assert accuracies.benchmarks == ('x', 'y')
    np.testing.assert_array_equal(
        accuracies.values, [[0.25, 0.75], [nan, nan], [0.5, nan], [nan, nan]])
    assert accuracies.chance.tolist() == [0.25, 0.5]
    assert accuracies.n_items.tolist() == [100, 0]
    assert tables.accuracies.main == ('x', )
    assert tables.info['c'].split == 'validation'
    assert tables.families == {
        'd': 'F', 'a': 'F', 'b': 'G', 'c': 'G', 'unused': 'H'
    }  # yapf: disable


def test_a_benchmark_without_scores_is_named(read):
    with pytest.warns(UserWarning, match='^z: in .*benchmarks.csv, but witho'):
        tables = read(benchmarks=CONTENT['benchmarks'] + 'z,0,1,1\n')
    assert tables.accuracies.benchmarks == ('x', 'y')


def test_models_in_splits(read):
    assert read().models_in('test', 'train') == ('a', 'b', 'd')
    assert read().models_to_fit() == ('a', 'b', 'c')
    assert read().models_to_fit((), ('validation', )) == ('a', 'b')
    assert read().models_to_fit(['test'], ('test', )) == ('d', )
    text = CONTENT['models'].replace('val', 'train')
    message = (r"^models: expected models in split 'validation' "
               r"\(or 'val'\), found only the splits test, train\. Name one")
    with pytest.raises(InputError, match=message):
        read(models=text).models_in('train', 'validation')
    # A split whose models have no losses is empty.
    text = CONTENT['losses'].replace('d,3,3.5\n', '')
    with pytest.raises(InputError, match="split 'test'"):
        read(losses=text).models_in('test')


def test_models_without_a_split_are_named(read):
    tables = read(models=CONTENT['models'].replace('val', ''))
    with pytest.warns(UserWarning, match='^m: models .* are left out: c.$'):
        assert tables.models_to_fit(where='m') == ('a', 'b')


@pytest.mark.parametrize('table, row, message', [
    ('losses', 'e,1,2\n', "losses.csv: expected models of .*models.csv, "
     "found 'e'. Add them to .*models.csv, or remove them from .*losses"),
    ('losses', 'A,1,2\n', "found 'A'. Did you mean 'a'. Add them to"),
    ('scores', 'e,1,1\nf,1,1\n', "scores.csv: expected models of .*losses.csv"
     ", found 'e', 'f'"),
])
def test_rows_that_cannot_be_used(read, table, row, message):
    with pytest.raises(InputError, match=message):
        read(**{table: CONTENT[table] + row})
    text = CONTENT['benchmarks'].replace('y,0.5,,0\n', '')
    with pytest.raises(InputError, match="benchmarks.csv, found 'y'"):
        read(benchmarks=text)


def test_lists_of_wrong_cells_end_with_a_sentence(tmp_path):
    """Neither dots before the full stop, nor a comma before it."""
    names = [f'unit {k}' for k in range(100)]
    path = write(tmp_path / 'l.csv', np.full((2, 100), -1.0), columns=names)
    assert_refused(path, "and 199 more such cells, such as .*'unit 3'. Losses")
    path = write(tmp_path / 'm.csv', [[1, 2]], ['a'], ['x', 'y'])
    with pytest.raises(
            InputError,
            match="no column 'unit 0' .100 missing in all.*Add what is"):
        read_loss_features(path, units=names)


@pytest.mark.parametrize('records', [
    5, ['m'], [{'nme': 1}], [{'name': ['m']}], [{'name': 'm', 'facts': 5}]
])  # yapf: disable
def test_records_that_are_none(tmp_path, records):
    (tmp_path / 'measured.json').write_text(json.dumps(records))
    with pytest.raises(InputError, match='Import the numbers again, or'):
        read_measured(tmp_path / 'losses.csv')


def test_facts_of_any_type(tmp_path):
    facts = [{'commit': ['a'], 'revision': {}}, {'commit': 1, 'revision': 2}]
    (tmp_path / 'measured.json').write_text(
        json.dumps([{
            'name': 'm',
            'facts': part
        } for part in facts]))
    with pytest.raises(InputError, match="revision {} of losses in , 2 of"):
        check_weights(read_measured(tmp_path / 'losses.csv'))


def test_losses_in_an_array_are_those_of_a_table(tmp_path):
    table = FeatureTable.of_losses(['a', 'b'], ['x', 'y'], [[1, 2], [.5, 3]])
    path = tmp_path / 'losses.csv'
    path.write_text('model,z,y,x\na,9,2,1\nb,8,3,0.5\n')
    read = read_loss_features(path, units=['x', 'y'])
    assert read.columns.fingerprint == table.columns.fingerprint
    assert read.values.tolist() == table.values.tolist()
    assert read.mean_loss.tolist() == table.mean_loss.tolist()
    with pytest.raises(
            InputError,
            match="3 columns of the predictor, found no column 'u' .2 "
            "missing in all.* column 'y': if it is the column 'Y', rename"):
        read_loss_features(path, units=['x', 'u', 'Y'])
    # Columns of the predictor are no other columns with a similar name.
    with pytest.raises(InputError, match="no column 'Y'. Add what is"):
        read_loss_features(path, units=['x', 'y', 'Y'])
    with pytest.raises(InputError, match='expected a list'):
        read_loss_features(path, units='xy')
