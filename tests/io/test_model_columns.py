"""Numbers by model in three formats: the same table, the same refusals."""
import json
from math import inf, nan
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from safetensors.numpy import save

from csv_plugin.core.conventions import InputError
from csv_plugin.io.csv_rows import decimal, decimals
from csv_plugin.io.model_columns import MODELS, ROWS, UNITS
from csv_plugin.io.tables import read_accuracy_columns, read_losses, write_csv

VALUES = np.array([[0, 1.5], [0.25, 3]])
NAMES, COLUMNS = ('a/b', 'c'), ('t0', 'text, 1')
ENDINGS = '.csv', '.parquet', '.safetensors'


def write(path: Path,
          values=VALUES,
          names=NAMES,
          columns=COLUMNS,
          tensor='losses',
          metadata=None) -> Path:
    """A table in the format of the name's ending; a tensor names its rows."""
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
        if metadata is None:
            metadata = {'models': json.dumps(names)}
        path.write_bytes(
            save({tensor: np.ascontiguousarray(values)}, metadata))
        path.with_name(UNITS).write_text('\n'.join([*columns, '']), 'utf-8')
    return path


def assert_refused(path: Path, message: str, read=read_losses) -> None:
    with pytest.raises(InputError, match=message) as error:
        read(path)
    assert str(error.value).startswith(str(path.parent))


@pytest.mark.parametrize('ending', ENDINGS)
def test_every_format_holds_the_same_losses(tmp_path, ending):
    losses = read_losses(write(tmp_path / f'l{ending}'))
    assert (losses.models, losses.columns) == (NAMES, COLUMNS)
    assert losses.values.dtype == np.float64
    np.testing.assert_array_equal(losses.values, VALUES)


@pytest.mark.parametrize('ending', ENDINGS[:2])
def test_accuracies_that_were_not_run_are_nan(tmp_path, ending):
    path = write(tmp_path / f's{ending}', [[0, nan], [1, 0.5]])
    np.testing.assert_array_equal(
        read_accuracy_columns(path).values, [[0, nan], [1, 0.5]])


def test_nulls_are_accuracies_that_were_not_run(tmp_path):
    pq.write_table(
        pa.table({
            'x': pa.array([None, 0.5], pa.float16()),
            'model': pa.array(['a', 'b'], pa.large_string())
        }), tmp_path / 's.parquet')
    scores = read_accuracy_columns(tmp_path / 's.parquet')
    assert (scores.models, scores.columns) == (('a', 'b'), ('x', ))
    np.testing.assert_array_equal(scores.values, [[nan], [0.5]])


@pytest.mark.parametrize('ending', ['.CSV', '.Parquet', '.SafeTensors'])
def test_endings_of_other_systems(tmp_path, ending):
    path = write(tmp_path / f'l{ending.lower()}')
    assert read_losses(path.rename(tmp_path / f'l{ending}')).models == NAMES


def _differ(values):
    """Whether no row of several numbers holds one number alone."""
    return values.shape[1] == 1 or (np.ptp(values, axis=1) > 0).all()


@given(
    npst.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        st.tuples(st.integers(1, 4), st.integers(1, 5)),
        elements=st.floats(0, 6e4, width=16)).filter(_differ))
@settings(max_examples=25, deadline=None)
def test_floats_of_any_width_are_read_exactly(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp('tables')
    names = [f'm{m}' for m in range(len(values))]
    columns = [f'ü {k}.a' for k in range(values.shape[1])]
    for ending in ENDINGS:
        path = write(folder / f'l{ending}', values, names, columns)
        losses = read_losses(path)
        assert (losses.models, losses.columns) == (tuple(names),
                                                   tuple(columns))
        np.testing.assert_array_equal(losses.values, values.astype(np.float64))


def test_numbers_of_16_bits_with_a_large_range(tmp_path):
    """The upper halves of 1, 1.5, 0 and the largest number of 32 bits."""
    halves = np.array([[0x3f80, 0x3fc0], [0, 0x7f7f]], '<u2')
    path = write(tmp_path / 'l.safetensors')
    header = json.dumps({
        '__metadata__': {
            'models': json.dumps(NAMES)
        },
        'losses': {
            'dtype': 'BF16',
            'shape': [2, 2],
            'data_offsets': [0, 8]
        }
    }).encode()
    path.write_bytes(
        len(header).to_bytes(8, 'little') + header + halves.tobytes())
    np.testing.assert_array_equal(
        read_losses(path).values, [[1, 1.5], [0, 2.**127 * (2 - 2**-7)]])


@pytest.mark.parametrize('ending', ENDINGS)
@pytest.mark.parametrize('number, message', [
    (nan, 'expected a finite number'),
    (inf, "expected a finite number, found '?inf"),
    (-0.5, "expected a loss of 0 or more, found '?-0.5.* change the sign"),
])
def test_losses_that_cannot_be(tmp_path, ending, number, message):
    values = VALUES.astype(np.float16)
    values[1, 0] = number
    path = write(tmp_path / f'l{ending}', values)
    place = 'line 3' if ending == '.csv' else "model 'c'"
    assert_refused(path, f"l{ending}, {place}, column 't0': {message}")


@pytest.mark.parametrize('ending', ENDINGS)
@pytest.mark.parametrize('loss, found', [(0, '0'), (2.5, '2.5')])
def test_a_model_with_one_loss_for_all_units(tmp_path, ending, loss, found):
    path = write(tmp_path / f'l{ending}', [[1, 1.5], [loss, loss]])
    assert_refused(
        path, f"l{ending}, model 'c': expected losses that differ from unit "
        f'to unit, found {found} on each of 2 units. Its scoring failed')


@pytest.mark.parametrize('ending', ENDINGS)
def test_a_single_unit_has_one_loss(tmp_path, ending):
    path = write(tmp_path / f'l{ending}', [[0.], [2.5]], columns=['t0'])
    assert read_losses(path).values.tolist() == [[0], [2.5]]


def test_accuracies_may_all_be_the_same(tmp_path):
    path = write(tmp_path / 's.csv', [[0.25, 0.25], [0, 0]])
    assert read_accuracy_columns(path).values.max() == 0.25


@pytest.mark.parametrize('ending', ENDINGS[:2])
@pytest.mark.parametrize('number, message', [
    (54.3, "an accuracy in 0..1, found '?54.3.* divide them by 100"),
    (-1, "an accuracy in 0..1, found '?-1.* Leave the cell empty"),
    (inf, 'a finite number'),
])
def test_accuracies_that_cannot_be(tmp_path, ending, number, message):
    path = write(tmp_path / f's{ending}', [[1, nan], [0, number]])
    assert_refused(path, f"column 'text, 1': expected {message}",
                   read_accuracy_columns)


@pytest.mark.parametrize('cell, remedy', [
    ('NaN', 'Leave the model or the column out.'),
    ('', 'Leave the model or the column out.'),
    ('N/A', 'Leave the model or the column out.'),
    ('1,5', 'Write it with a decimal point'),
])
def test_losses_that_are_missing_in_csv(tmp_path, cell, remedy):
    path = tmp_path / 'l.csv'
    path.write_text(f'model,t0,t1\na,1,"{cell}"\n', 'utf-8')
    assert_refused(path, f"line 2, column 't1': expected a finite .*{remedy}")


@pytest.mark.parametrize('cell, remedy', [
    ('-', 'Leave the cell empty if the benchmark was not run'),
    ('NaN', 'Leave the cell empty if the benchmark was not run'),
    ('25.4%', 'Divide percentages by 100, and write no sign'),
    ('0,254', 'Write it with a decimal point'),
])
def test_scores_that_are_none_in_csv(tmp_path, cell, remedy):
    path = tmp_path / 's.csv'
    path.write_text(f'model,x,y\na,,"{cell}"\n', 'utf-8')
    assert_refused(path, f"line 2, column 'y': expected a finite .*{remedy}",
                   read_accuracy_columns)


@pytest.mark.parametrize('name, found', [
    ('l', 'no ending'), ('l.xlsx', '.xlsx'), ('l.csv.gz', '.gz'),
    ('.csv', 'no ending'), ('l.npz', '.npz'),
])  # yapf: disable
def test_other_endings_are_refused(tmp_path, name, found):
    assert_refused(
        tmp_path / name, f'{name}: expected a name that ends in .csv, '
        f'.parquet or .safetensors, found {found}. Write')


def test_tensors_of_accuracies_are_refused(tmp_path):
    path = write(tmp_path / 's.safetensors')
    assert_refused(path, 'ends in .csv or .parquet, found .safetensors',
                   read_accuracy_columns)


@pytest.mark.parametrize('read', [read_losses, read_accuracy_columns])
@pytest.mark.parametrize('table, message', [
    (dict(x=[1.0]), "a column 'model' of texts, found the columns x. Add or"),
    (dict(model=['a']), 'found 1 rows, 0 such columns'),
    (dict(model=pa.array([], pa.string()), x=pa.array(
        [], pa.float32())), 'found 0 rows, 1 such columns'),
    (dict(model=[1], x=[1.0]), "a column 'model' of texts, found the col"),
    (dict(model=[['a']], x=[1.0]), "a column 'model' of texts, found the col"),
    (dict(model=['a', None], x=[1.0, 1]), 'row 2: expected a name, found non'),
    (dict(model=['a', 'b', 'a'], x=[1.0, 1, 1]),
     "row 3: expected a name that stands nowhere before, found 'a'. It is "
     'that of row 1'),
    (dict(model=['a'], x=['1']), "column 'x': expected floating-point numbers"
     ', found string'),
    (dict(model=['a'], x=[1]), "column 'x': .* found int64. .* as float32"),
    (dict(model=['a'], x=[True]), "column 'x': .* found bool"),
    (dict(model=['a'], x=[[1.0]]), "column 'x': .* found list<"),
    (dict(model=['a'], x=[{
        'y': 1.0
    }]), "column 'x': .* found struct<"),
    (dict(model=['a'], x=pa.nulls(1)), "column 'x': .* found null"),
])
def test_other_parquet_tables_are_refused(tmp_path, read, table, message):
    path = tmp_path / 't.parquet'
    pq.write_table(pa.table(table), path)
    assert_refused(path, message, read)


def test_columns_of_parquet_that_are_twice_there(tmp_path):
    path = tmp_path / 't.parquet'
    for names in (['model', 'x', 'x'], ['model', 'x', 'model']):
        pq.write_table(pa.table([['a'], [1.0], [1.0]], names), path)
        assert_refused(path, 'every name once, found .* twice')


@pytest.mark.parametrize('values, tensor, message', [
    (VALUES, 'loss', "expected a tensor 'losses', found loss. Rename"),
    (VALUES[0], 'losses', r"'losses': expected a tensor of shape \(2, 2\): "
     r'the models of its metadata, the lines of .*units.txt, found the shape '
     r'\(2,\)'),
    (VALUES[:1], 'losses', r'the shape \(1, 2\). Name every row and every'),
    (VALUES[:, :1], 'losses', r'the shape \(2, 1\)'),
    (VALUES.T[..., None], 'losses', r'the shape \(2, 2, 1\)'),
    (VALUES.astype(np.int64), 'losses',
     "'losses': expected numbers of a type of F64, F32, F16, BF16, found I64"),
    (VALUES > 1, 'losses', 'found BOOL'),
])
def test_other_tensors_are_refused(tmp_path, values, tensor, message):
    path = write(tmp_path / 'l.safetensors', values, tensor=tensor)
    assert_refused(path, message)


def write_table(path: Path, names=NAMES) -> Path:
    """A table of models."""
    write_csv(path, ['model', 'family'], [[name, 'F'] for name in names])
    return path


def test_a_tensor_that_names_its_models_needs_no_order(tmp_path):
    """Neither the table of models nor a list beside it changes a name."""
    path = write(tmp_path / 'l.safetensors')
    table = write_table(path.with_name(MODELS), NAMES[::-1])
    path.with_name(ROWS).write_text('other\nmodels\n', 'utf-8')
    assert read_losses(path).models == NAMES
    assert read_losses(path, table).models == NAMES


def test_a_list_names_the_models_of_a_tensor(tmp_path):
    path = write(tmp_path / 'l.safetensors', metadata={})
    path.with_name(ROWS).write_text('a/b\r\nc\n', 'utf-8')
    table = write_table(path.with_name(MODELS), NAMES[::-1])
    assert read_losses(path, table).models == NAMES
    path.with_name(ROWS).write_text('c\nc\n', 'utf-8')
    assert_refused(path, "models.txt, line 2: .*, found 'c'. It is that of")
    path.with_name(ROWS).write_text('c\n', 'utf-8')
    assert_refused(path, r'shape \(1, 2\): the models of .*models.txt, the li')


@pytest.mark.parametrize('models, message', [
    ('a,c', "metadata 'models': expected JSON in UTF-8"),
    ('{"a": "c"}', "metadata 'models': expected a list of texts as 'models'"),
    ('["a", 3]', "metadata 'models': expected a list of texts as 'models'"),
    ('["a", "a"]', "name 2: expected a name that stands nowhere before"),
    ('["a", ""]', 'name 2: expected a name, found none'),
    ('["a"]', r'a tensor of shape \(1, 2\)'),
])
def test_names_in_a_tensor_that_cannot_be(tmp_path, models, message):
    path = write(tmp_path / 'l.safetensors', metadata={'models': models})
    assert_refused(path, message)


def test_rows_without_names_are_in_the_order_of_a_table(tmp_path):
    path = write(tmp_path / 'l.safetensors', metadata={'by': 'hand'})
    said = ('l.safetensors does not name its models: its rows were taken in '
            'the order of .*{}, .* Name them in models.txt')
    table = write_table(tmp_path / 'other.csv', NAMES[::-1])
    with pytest.warns(UserWarning, match=said.format('other.csv')):
        assert read_losses(path, table).models == NAMES[::-1]
    assert_refused(
        path, 'models.csv: expected a file beside l.safetensors '
        'that names its rows, found none')
    table.rename(path.with_name(MODELS))
    with pytest.warns(UserWarning, match=said.format('models.csv')):
        assert read_losses(path).models == NAMES[::-1]
    path.with_name(ROWS).write_text('a/b\nc\n', 'utf-8')
    path.with_name(UNITS).unlink()
    assert_refused(
        path, 'units.txt: expected a file beside l.safetensors '
        'that names its columns, found none')


@pytest.mark.parametrize('content, message', [
    (b'', 'units.txt, line 1: expected a name, found none'),
    (b'a\n\nb\n', 'units.txt, line 2: expected a name, found none'),
    (b'a\nb\n\n', 'units.txt, line 3: expected a name, found none'),
    (b'a\na\n', "line 2: .* found 'a'. It is that of line 1"),
    (b'a\nb\nc\n', r'expected a tensor of shape \(2, 3\)'),
    (b'a\nb\xff\n', 'line 2: expected UTF-8 text, found the byte 0xff'),
    (b'a\n\0\n', 'line 2: expected text, found a NUL'),
])
def test_units_that_cannot_be(tmp_path, content, message):
    path = write(tmp_path / 'l.safetensors')
    path.with_name(UNITS).write_bytes(content)
    assert_refused(path, message)


@pytest.mark.parametrize('content', [
    b't0\ntext, 1', b'\xef\xbb\xbft0\r\ntext, 1\r\n', b' t0\ntext, 1 \n'
])  # yapf: disable
def test_units_of_editors_are_read(tmp_path, content):
    path = write(tmp_path / 'l.safetensors')
    path.with_name(UNITS).write_bytes(content)
    assert read_losses(path).columns == COLUMNS


@pytest.mark.parametrize('ending', ENDINGS[1:])
@pytest.mark.parametrize('damage', [
    lambda data: b'', lambda data: data[:20], lambda data: data[:-5],
    lambda data: data[5:], lambda data: b'model,x\na,1\n',
    lambda data: bytes(len(data))
])  # yapf: disable
def test_files_that_are_cut_or_others(tmp_path, ending, damage):
    path = write(tmp_path / f'l{ending}')
    path.write_bytes(damage(path.read_bytes()))
    assert_refused(path, f'l{ending}: expected (an intact|a readable)')


def test_numbers_by_the_row_are_those_of_each_cell():
    for texts in (['1', '.5', '+1e-3'], ['1', ''], ['1_0', '2'], ['e', '1'],
                  ['１'], ['nan', 'inf'], ['1e999'], ['-'], []):
        np.testing.assert_array_equal(
            decimals(texts), [decimal(text) for text in texts])
