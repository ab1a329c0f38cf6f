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
    (nan, 'Leave the model or the column out'),
    (inf, 'Leave the model or the column out'),
    (-0.5, 'found -0.5. .* change the sign'),
])
def test_losses_that_cannot_be(tmp_path, ending, number, message):
    values = VALUES.astype(np.float16)
    values[1, 0] = number
    path = write(tmp_path / f'l{ending}', values)
    said = "model 'c'|line 3" if np.isinf(number) else "model 'c'"
    assert_refused(
        path, f"l{ending}, ({said}), column 't0': expected a loss "
        f'of 0 or more, .*{message}')


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
    (54.3, 'found 54.3.* divide them by 100'),
    (-1, 'found -1.* Leave the cell empty'),
])
def test_accuracies_that_cannot_be(tmp_path, ending, number, message):
    path = write(tmp_path / f's{ending}', [[1, nan], [0, number]])
    assert_refused(
        path, f"column 'text, 1': expected an accuracy in 0..1, {message}",
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


@pytest.mark.parametrize('table, message', [
    (dict(x=[1.0]), "a column 'model' of texts, found the columns x. Add or"),
    (dict(model=['a']), 'found 1 rows, 0 such columns'),
    (dict(model=pa.array([], pa.string()), x=pa.array(
        [], pa.float32())), 'found 0 rows, 1 such columns'),
    (dict(model=[1], x=[1.0]), "a column 'model' of texts, found the col"),
    (dict(model=[['a']], x=[1.0]), "a column 'model' of texts, found the col"),
    (dict(model=['a', None], x=[1.0, 1]), 'names without a gap'),
    (dict(model=['a', 'b', 'a'], x=[1.0, 1, 1]), "models: .*'a' twice"),
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
def test_other_parquet_tables_are_refused(tmp_path, table, message):
    path = tmp_path / 't.parquet'
    pq.write_table(pa.table(table), path)
    assert_refused(path, message)


@pytest.mark.parametrize('values, tensor, message', [
    (VALUES, 'loss', "expected a tensor 'losses', found loss. Rename"),
    (VALUES[0], 'losses', r"'losses': expected a tensor of shape \(2, 2\): "
     r'the models of .*units.txt, found the shape \(2,\)'),
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


def test_a_tensor_names_its_models(tmp_path):
    """Neither a list nor a table beside it changes a name."""
    path = write(tmp_path / 'l.safetensors')
    path.with_name(MODELS).write_text('model\nc\na/b\n', 'utf-8')
    path.with_name(ROWS).write_text('other\nmodels\n', 'utf-8')
    assert read_losses(path).models == NAMES


def test_a_list_names_the_models_of_a_tensor(tmp_path):
    path = write(tmp_path / 'l.safetensors', metadata={})
    path.with_name(ROWS).write_text('a/b\r\nc\n', 'utf-8')
    path.with_name(MODELS).write_text('model\nc\na/b\n', 'utf-8')
    assert read_losses(path).models == NAMES
    path.with_name(ROWS).write_text('c\nc\n', 'utf-8')
    assert_refused(path, "models.txt: .*'c' twice")
    path.with_name(ROWS).write_text('c\n', 'utf-8')
    assert_refused(path, r'shape \(1, 2\): the models of .*models.txt, the li')


def test_rows_without_names_are_in_the_order_of_a_table(tmp_path):
    path = write(tmp_path / 'l.safetensors', metadata={'by': 'hand'})
    path.with_name(MODELS).write_text('model,family\nc,F\na/b,F\n', 'utf-8')
    with pytest.warns(
            UserWarning,
            match='does not name its models: .*order '
            'of .*models.csv. Name them in models.txt'):
        assert read_losses(path).models == NAMES[::-1]
    path.with_name(MODELS).unlink()
    assert_refused(path, 'models.csv')


@pytest.mark.parametrize('models, message', [
    ('a,c', "metadata 'models': expected JSON in UTF-8"),
    ('{"a": "c"}', "metadata 'models': expected a list of texts as 'models'"),
    ('["a", 3]', "metadata 'models': expected a list of texts as 'models'"),
    ('["a", "a"]', "'a' twice"),
    ('["a", ""]', 'names without a gap, found only 1 of 2'),
    ('["a"]', r'a tensor of shape \(1, 2\)'),
])
def test_names_in_a_tensor_that_cannot_be(tmp_path, models, message):
    path = write(tmp_path / 'l.safetensors', metadata={'models': models})
    assert_refused(path, message)


@pytest.mark.parametrize('content, message', [
    (b'', 'units.txt: expected names without a gap'),
    (b'a\n\nb\n', 'units.txt: expected names without a gap'),
    (b'a\nb\nc\n', r'expected a tensor of shape \(2, 3\)'),
])
def test_units_that_cannot_be(tmp_path, content, message):
    path = write(tmp_path / 'l.safetensors')
    path.with_name(UNITS).write_bytes(content)
    assert_refused(path, message)
    path.with_name(UNITS).unlink()
    assert_refused(path, 'units.txt: expected a file that names')


@pytest.mark.parametrize('content', [
    b't0\ntext, 1', b'\xef\xbb\xbft0\r\ntext, 1\r\n', b' t0\ntext, 1 \n'
])  # yapf: disable
def test_units_of_editors_are_read(tmp_path, content):
    path = write(tmp_path / 'l.safetensors')
    path.with_name(UNITS).write_bytes(content)
    assert read_losses(path).columns == COLUMNS
