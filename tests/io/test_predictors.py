"""Predictors on disk: the same predictions, or a clear error."""
import ast
import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save, save_file

import csv_plugin.io.predictors as module
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Averaged, Plain, Ridge, Uniform
from csv_plugin.io.digests import PLACEHOLDER, sealed
from csv_plugin.io.predictors import FORMAT, load_predictor, save_predictor
from tests.core.strict_alarm import strict
from tests.core.training_worlds import (CHARACTERS, make_training,
                                        make_training_world)
from tests.tables import Tables, small_tables

ROOT = Path(__file__).resolve().parents[2]
PARTS = ('values', 'low', 'high', 'extrapolated', 'in_sample', 'alarm')


@pytest.fixture(scope='module')
def tables() -> Tables:
    return small_tables()


@pytest.fixture(scope='module')
def predictor(tables) -> Predictor:
    return fit_predictor(
        tables.features,
        tables.accuracies,
        tables.groups,
        Ridge(),
        labels=dict.fromkeys(tables.accuracies.benchmarks, 3))


@pytest.fixture
def path(tmp_path, predictor) -> Path:
    save_predictor(predictor, tmp_path / 'a.safetensors')
    return tmp_path / 'a.safetensors'


def rewrite(path: Path, change=lambda header: None, **arrays) -> None:
    """Change the header in place and replace arrays; None removes one.

    The file gets the digest of its new content, as a forger would give it.
    """
    with safe_open(path, framework='numpy') as file:
        header = json.loads(file.metadata()[FORMAT])
    change(header)
    renamed = {key.replace('_0_', '0.'): arrays[key] for key in arrays}
    new = {**load_file(path), **renamed}
    kept = {key: array for key, array in new.items() if array is not None}
    header['digest'] = PLACEHOLDER
    data = save(kept, metadata={FORMAT: json.dumps(header)})
    path.write_bytes(sealed(str(path), data))


def without_witnesses(predictor: Predictor) -> Predictor:
    """As the versions of the package made them that knew of no alarm."""
    return replace(
        predictor,
        benchmarks=tuple(
            replace(part, witnesses=()) for part in predictor.benchmarks))


def assert_error(path: Path, *parts: str) -> None:
    """Loading fails with an error in four parts on one line."""
    with pytest.raises(InputError) as caught:
        load_predictor(path)
    message = str(caught.value)
    assert message.startswith(f'{path}: expected ')
    assert '\n' not in message
    for part in parts:
        assert part in message
    remedy = message.rpartition('. ')[2]
    assert remedy.split()[0] in ('Train', 'Check', 'Give', 'Install', 'Name')


def test_loaded_predictor_predicts_the_same_bits(tables, predictor, path):
    loaded = load_predictor(path)
    for features in (tables.features,
                     tables.features.select(tables.models[:1])):
        for level in (0.5, 0.9):
            before, after = (
                p.predict(features, level) for p in (predictor, loaded))
            assert (before.models, before.benchmarks,
                    before.level) == (after.models, after.benchmarks,
                                      after.level)
            for part in PARTS:
                left, right = getattr(before, part), getattr(after, part)
                assert left.dtype == right.dtype
                assert left.tobytes() == right.tobytes()


def test_everything_is_kept(predictor, path):
    loaded = load_predictor(path)
    assert loaded.columns.units == predictor.columns.units
    assert loaded.columns.fingerprint == predictor.columns.fingerprint
    assert loaded.versions == predictor.versions
    np.testing.assert_array_equal(loaded.columns.uniform,
                                  predictor.columns.uniform)
    for before, after in zip(predictor.benchmarks, loaded.benchmarks):
        for name in ('benchmark', 'chance', 'n_items', 'fit_models', 'solver',
                     'penalty', 'notes'):
            kept = getattr(after, name)
            assert kept == getattr(before, name)
            assert type(kept) is type(getattr(before, name))
        np.testing.assert_equal(after.cv_mse, before.cv_mse)
        np.testing.assert_equal(*map(by_kind, (after, before)))
        for name in ('score_low', 'score_high', 'score_spread', 'n_families'):
            assert getattr(after.intervals,
                           name) == getattr(before.intervals, name)


def by_kind(part):
    """All that is stated of a benchmark within reach and beyond."""
    errors = part.errors_by_reach
    return errors and (errors.reach, vars(errors.within), vars(errors.beyond))


def test_files_of_earlier_versions_state_one_error_alone(path):
    before = load_predictor(path).benchmarks

    def older(header):
        for part in header['benchmarks']:
            part.pop('errors_by_reach', None)

    rewrite(path, older)
    after = load_predictor(path).benchmarks
    assert any(part.errors_by_reach for part in before)
    for old, new in zip(before, after):
        assert new.errors_by_reach is None
        np.testing.assert_equal(new.cv_mse, old.cv_mse)


@pytest.mark.parametrize('change, problem', [
    (lambda e: e.pop('reach'), "'reach' in errors_by_reach of benchmark 1"),
    (lambda e: e.update(reach='x'), "a number as 'reach' in errors_by_reach"),
    (lambda e: e.update(reach=1.5), 'errors_by_reach in its range'),
    (lambda e: e.pop('within'), 'within, errors_by_reach of benchmark 1 with'),
    (lambda e: e.update(beyond=[]), 'beyond, errors_by_reach of benchmark 1'),
    (lambda e: e['beyond'].pop('mse'), "'mse' in beyond, errors_by_reach"),
    (lambda e: e['within'].update(mse=-1), 'errors_by_reach in its range'),
    (lambda e: e['within'].update(n_models=0), 'errors_by_reach in its range'),
    (lambda e: e['within'].update(n_families=.5), "a count as 'n_families'"),
])
def test_stated_errors_that_no_predictor_has(path, change, problem):
    rewrite(path, lambda h: change(h['benchmarks'][1]['errors_by_reach']))
    assert_error(path, problem)


@pytest.mark.parametrize('value', [[], 'x', 3])
def test_stated_errors_of_another_type(path, value):
    rewrite(path,
            lambda h: h['benchmarks'][1].update({'errors_by_reach': value}))
    assert_error(path, 'errors_by_reach of benchmark 1 with named fields')


def test_files_without_spread_and_families(path):
    """Errors do not grow; the families recorded count, or else the models."""
    before = load_predictor(path)

    def older(families):

        def change(header):
            for part in header['benchmarks']:
                for name in ('score_spread', 'n_families', *families):
                    part.pop(name, None)

        rewrite(path, change)
        return load_predictor(path).benchmarks

    for part, old in zip(before.benchmarks, older([])):
        recorded = part.families or part.fit_models
        assert old.intervals.n_families == len(recorded)
        assert old.intervals.score_spread == np.inf
    for part, old in zip(before.benchmarks, older(['families'])):
        assert old.intervals.n_families == len(part.fit_models)
    assert before.benchmarks[0].intervals.score_spread < np.inf


def test_the_scoring_lm_is_kept_where_it_is_known(predictor, path, tmp_path):
    assert load_predictor(path).scoring_lm == ''
    save_predictor(replace(predictor, scoring_lm='a/b'), tmp_path / 'b')
    assert load_predictor(tmp_path / 'b').scoring_lm == 'a/b'
    save_predictor(replace(predictor, scoring_lm=''), tmp_path / 'b')
    assert (tmp_path / 'b').read_bytes() == path.read_bytes()


def test_not_finite_numbers_are_kept(predictor, path):
    """No model has an accuracy on 'none'; 'chance' is predicted by a mean."""
    kept = {
        benchmark.benchmark: benchmark
        for benchmark in load_predictor(path).benchmarks
    }
    assert kept['none'].intervals.score_low == np.inf
    assert kept['none'].intervals.score_high == -np.inf
    assert np.isnan(kept['none'].cv_mse)
    assert kept['chance'].penalty == np.inf
    assert np.isfinite(kept['easy'].penalty)


def test_arrays_in_any_memory_layout(predictor, tmp_path):
    uniform = np.array([0.1, 9, 0.2, 9, 0.3, 9, 0.4, 9])[::2]
    columns = replace(predictor.columns, uniform=uniform)
    save_predictor(replace(predictor, columns=columns), tmp_path / 'b')
    loaded = load_predictor(tmp_path / 'b')
    np.testing.assert_array_equal(loaded.columns.uniform, [0.1, 0.2, 0.3, 0.4])


def test_names_in_any_script(tmp_path):
    tables = small_tables().only('easy')
    columns = replace(tables.features.columns, fingerprint='тексты "α"\n')
    predictor = fit_predictor(
        replace(tables.features, columns=columns), tables.accuracies,
        tables.groups, Uniform())
    save_predictor(predictor, tmp_path / '文.safetensors')
    loaded = load_predictor(str(tmp_path / '文.safetensors'))
    assert loaded.columns.fingerprint == 'тексты "α"\n'


@pytest.mark.parametrize(
    'solver',
    [Averaged(), Plain(), Ridge(), Uniform()],
    ids=lambda solver: solver.name)
@pytest.mark.parametrize('n_models', [2, 3, 4, 6])
def test_fits_to_very_few_models(solver, n_models, tmp_path):
    """A fold of one model has a flat curve, whose beta is far away."""
    few = small_tables(n_models=n_models, n_families=2)
    fitted = fit_predictor(few.features, few.accuracies, few.groups, solver)
    save_predictor(fitted, tmp_path / 'few.safetensors')
    np.testing.assert_array_equal(
        load_predictor(tmp_path / 'few.safetensors').predict(
            few.features).values,
        fitted.predict(few.features).values)


def test_same_predictor_same_bytes(predictor, path, tmp_path):
    save_predictor(predictor, tmp_path / 'b')
    assert (tmp_path / 'b').read_bytes() == path.read_bytes()
    save_predictor(load_predictor(path), tmp_path / 'b')
    assert (tmp_path / 'b').read_bytes() == path.read_bytes()


def test_the_file_has_ordinary_permissions(path, tmp_path):
    ordinary = tmp_path / 'ordinary'
    ordinary.write_bytes(b'')
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_loading_needs_no_torch(path, tmp_path):
    """In a fresh interpreter in which importing torch would succeed."""
    for name in ('torch', 'transformers', 'opencompass'):
        (tmp_path / f'{name}.py').write_text('', 'utf-8')
    code = ('import sys\n'
            'from csv_plugin.io.predictors import load_predictor\n'
            'print(len(load_predictor(sys.argv[1]).benchmarks),'
            ' *{"torch", "transformers", "opencompass"} & set(sys.modules))')
    search = os.pathsep.join([str(tmp_path), str(ROOT)])
    process = subprocess.run([sys.executable, '-c', code, str(path)],
                             env={**os.environ, 'PYTHONPATH': search},
                             capture_output=True, text=True)  # yapf: disable
    assert process.stdout.split() == ['6'], process.stderr


@pytest.mark.parametrize('keep', [0, 1, 7, 8, 9, 300, 0.5, 0.9, -8, -1])
def test_truncated_file(path, keep):
    data = path.read_bytes()
    path.write_bytes(data[:int(keep * len(data)) if 0 < keep < 1 else keep])
    whole_header = keep in (0.9, -8, -1)
    assert_error(
        path, 'the bytes that were written'
        if whole_header else 'a readable safetensors file')


@pytest.mark.parametrize('data', [
    b'model,family\na,b\n', b'\x80\x04\x95' + bytes(40), b'PK\x03\x04' +
    bytes(99), b'\x05' + bytes(7) + b'{"a":', b'\x02' + bytes(7) + b'[]'
])
def test_not_a_safetensors_file(path, data):
    path.write_bytes(data)
    assert_error(path, 'a readable safetensors file')


def test_missing_file(tmp_path):
    assert_error(tmp_path / 'no', 'a file that can be read', 'No such')


def test_a_folder(tmp_path):
    assert_error(tmp_path, 'a file', 'a folder')


def test_metadata_that_are_not_json(path):
    save_file({'weight': np.zeros(3)}, path, metadata={FORMAT: '{'})
    assert_error(path, 'JSON in UTF-8')


@pytest.mark.parametrize('metadata', [None, {'format': 'pt'}])
def test_foreign_safetensors_file(path, metadata):
    save_file({'weight': np.zeros(3)}, path, metadata=metadata)
    assert_error(path, 'a predictor of csv_plugin', 'another safetensors file')


def bfloat16_file(metadata: dict[str, str]) -> bytes:
    header = {
        '__metadata__': metadata,
        'lm_head': {'dtype': 'BF16', 'shape': [2], 'data_offsets': [0, 4]},
    }  # yapf: disable
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + bytes(4)


def test_a_checkpoint_in_a_type_that_numpy_lacks(path):
    path.write_bytes(bfloat16_file({'format': 'pt'}))
    assert_error(path, 'another safetensors file')


def test_a_predictor_in_a_type_that_numpy_lacks(path):
    header = {
        'format_version': 2, 'digest': PLACEHOLDER, 'fingerprint': '',
        'units': [], 'texts': [], 'versions': {}, 'benchmarks': []
    }  # yapf: disable
    data = bfloat16_file({FORMAT: json.dumps(header)})
    path.write_bytes(sealed('', data))
    assert_error(path, 'a readable safetensors file', 'BF16')


@pytest.mark.parametrize('text', ['[]', '[{}]', '5', 'null', '"a"', 'true'])
def test_metadata_that_is_not_a_dict(path, text):
    save_file(load_file(path), path, metadata={FORMAT: text})
    assert_error(path, 'the header with named fields',
                 f'found {json.loads(text)!r}')


@pytest.mark.parametrize('version', [6, 0, 99, '1', None, 1.5, True])
def test_another_format_version(path, version):
    rewrite(path, lambda header: header.update(format_version=version))
    assert_error(path, 'format version 1 to 5', f'found version {version!r}',
                 'Install the version of csv_plugin that wrote it', 'numpy')


def test_a_later_format_may_change_everything(path):
    text = '{"format_version": 6}'
    save_file({'x': np.ones(1)}, path, metadata={FORMAT: text})
    assert_error(path, 'format version 1 to 5', 'found version 6')


@pytest.mark.parametrize('name',
                         ['fingerprint', 'units', 'versions', 'benchmarks'])
def test_header_without_a_field(path, name):
    rewrite(path, lambda header: header.pop(name))
    assert_error(path, f'{name!r} in the header', 'none')


@pytest.mark.parametrize('name, value', [
    ('fingerprint', 3), ('fingerprint', None), ('units', 'abcd'),
    ('units', [1, 2, 3, 4]), ('units', 4), ('versions', []),
    ('versions', {'numpy': 1}), ('benchmarks', 'easy'), ('benchmarks', {}),
    ('benchmarks', 1), ('scoring_lm', 1), ('scoring_lm', None)
])  # yapf: disable
def test_header_field_of_another_type(path, name, value):
    rewrite(path, lambda header: header.update({name: value}))
    assert_error(path, f'{name!r} in the header', repr(value))


@pytest.mark.parametrize('value', [None, 3, 'easy', []])
def test_a_benchmark_that_is_not_a_dict(path, value):
    rewrite(path, lambda h: h['benchmarks'].__setitem__(1, value))
    assert_error(path, 'benchmark 1 with named fields', repr(value))


@pytest.mark.parametrize('name', [
    'benchmark', 'chance', 'n_items', 'fit_models', 'solver', 'penalty',
    'cv_mse', 'score_low', 'score_high', 'notes'
])
def test_benchmark_without_a_field(path, name):
    rewrite(path, lambda header: header['benchmarks'][1].pop(name))
    assert_error(path, f'{name!r} in benchmark 1', 'found none')


@pytest.mark.parametrize('name, value', [
    ('benchmark', 1), ('benchmark', None), ('chance', '0.25'),
    ('chance', None), ('chance', True),
    ('chance', [0.25]), ('n_items', 10.5), ('n_items', -1), ('n_items', '9'),
    ('n_items', None), ('n_items', True), ('fit_models', 'abc'),
    ('fit_models', [1]), ('fit_models', None), ('solver', 3),
    ('n_families', -1), ('n_families', 2.5), ('score_spread', 'x'),
    ('penalty', 'inf'), ('cv_mse', 'nan'), ('cv_mse', []),
    ('score_low', '1'), ('score_high', {}), ('notes', 'a note'),
    ('notes', [None]), ('notes', {'a': 1})
])  # yapf: disable
def test_benchmark_field_of_another_type(path, name, value):
    rewrite(path, lambda header: header['benchmarks'][1].update({name: value}))
    assert_error(path, f'as {name!r} in benchmark 1', repr(value))


@pytest.mark.parametrize('value', [float('nan'), float('inf')])
@pytest.mark.parametrize('name', ['chance', 'penalty', 'cv_mse', 'score_low'])
def test_benchmark_number_that_json_lacks(path, name, value):
    rewrite(path, lambda header: header['benchmarks'][1].update({name: value}))
    assert_error(path, 'JSON in UTF-8', 'NaN' if value != value else 'Inf')


@pytest.mark.parametrize('name, value, problem', [
    ('chance', -.1, 'chance in its range'),
    ('chance', 1, 'chance in its range'),
    ('penalty', -1, 'penalty in its range'),
    ('cv_mse', -1e-9, 'cv_mse in its range'),
    ('benchmark', '', 'benchmark in its range'),
    ('benchmark', 'easy', "'easy' twice"),
    ('benchmark', 'e' * 10001, 'at most 10000 characters, found 10001'),
    ('notes', ['n' * 10001], 'at most 10000 characters'),
    ('fit_models', ['m'] * 15, "'m' twice"),
    ('fit_models', ['m', 'n'], 'number of errors in its range'),
    ('fit_models', [], 'number of errors in its range'),
    ('score_spread', -1e-9, 'score_spread in its range'),
])  # yapf: disable
def test_benchmark_field_out_of_its_range(path, name, value, problem):
    rewrite(path, lambda header: header['benchmarks'][1].update({name: value}))
    assert_error(path, problem)


@pytest.mark.parametrize('name, value', [
    ('errors', -1e-9), ('error_variance', -1e-9), ('backtest', -1.)
])  # yapf: disable
def test_errors_are_not_negative(path, name, value):
    array = load_file(path)[f'0.{name}'].copy()
    array[-1] = value
    rewrite(path, **{f'_0_{name}': array})
    assert_error(path, 'a sound benchmark 0', f'{name} in its range')


@pytest.mark.parametrize('curve', [[-1, 0, -.01], [-1, 0, 1.01], [0, 0, -2]])
@pytest.mark.parametrize('name', ['curve', 'fold_curves'])
def test_predictions_are_fractions(path, name, curve):
    array = load_file(path)[f'0.{name}'].copy()
    array[...] = curve
    rewrite(path, **{f'_0_{name}': array})
    assert_error(path, 'a sound benchmark 0', 'a floor in 0..1')


ARRAYS = {
    'coefficients': (4, ),
    'curve': (3, ),
    'fold_coefficients': (5, 4),
    'fold_curves': (5, 3),
    'errors': (15, ),
    'error_fold': (15, ),
    'error_variance': (2, ),
    'backtest': (15, ),
}
#: Of benchmarks with two witnesses.
WITNESSES = {
    'witness_coefficients': (2, 4),
    'witness_curves': (2, 3),
    'witness_limits': (2, ),
    'witness_ranges': (2, 2),
}
KEYS = ['uniform', *(f'_0_{name}' for name in ARRAYS)]
#: Of the benchmarks that five models or more were run on.
PARTIAL = {
    'mean': (4, ),
    'totals': (4, 4),
    'errors': (4, 4),
    'widening': (4, )
}


def test_layout(path, predictor):
    """What docs/formats.md describes."""
    arrays = load_file(path)
    assert arrays['uniform'].shape == (4, )
    n_witnesses = sum(bool(part.witnesses) for part in predictor.benchmarks)
    assert 0 < n_witnesses < 6
    assert len(
        arrays
    ) == 1 + 6 * len(ARRAYS) + n_witnesses * len(WITNESSES) + len(PARTIAL)
    for name, shape in ARRAYS.items():
        assert arrays[f'0.{name}'].shape == shape
        kind = 'i' if name == 'error_fold' else 'f'
        assert arrays[f'0.{name}'].dtype.kind == kind
    for name, shape in PARTIAL.items():
        assert arrays[f'partial.{name}'].shape == shape
    for name, shape in WITNESSES.items():
        assert arrays[f'0.{name}'].shape == shape


@pytest.mark.parametrize('key', KEYS)
def test_missing_array(path, key):
    rewrite(path, **{key: None})
    assert_error(path, f'an array {key.replace("_0_", "0.")!r}', 'found none')


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('key', KEYS)
def test_array_that_is_not_finite(path, key, value):
    name = key.replace('_0_', '0.')
    array = load_file(path)[name].astype(float)
    array.flat[-1] = value
    rewrite(path, **{key: array})
    assert_error(path, f'finite numbers in {name!r}', 'NaN or infinity')


@pytest.mark.parametrize('value', [1e300, -1e61])
def test_numbers_whose_sums_would_be_none(path, value):
    array = load_file(path)['0.coefficients']
    array[:] = value
    rewrite(path, _0_coefficients=array)
    assert_error(path, "numbers of at most 1e+60 in '0.coefficients'",
                 'larger ones')


@pytest.mark.parametrize(
    'change', [
        lambda a: a[..., None],
        lambda a: a[None],
        lambda a: a.ravel()[:1].reshape(()),
        lambda a: np.concatenate([a, a], axis=-1),
        lambda a: a[..., :-1],
    ],
    ids=['axis behind', 'axis before', 'number', 'doubled', 'shorter'])
@pytest.mark.parametrize('key', KEYS)
def test_misshapen_array(path, key, change):
    name = key.replace('_0_', '0.')
    changed = change(load_file(path)[name])
    if key == '_0_backtest' and changed.ndim == 1:
        rewrite(path, **{key: changed.copy()})  # any number is fine
        assert len(load_predictor(path).benchmarks[0].intervals.backtest)
        return
    rewrite(path, **{key: changed.copy()})
    # The first of two arrays that disagree sets the length.
    both = {'0.errors': '0.error_fold'} if changed.ndim == 1 else {}
    assert_error(path, f'{both.get(name, name)!r} of shape')


@pytest.mark.parametrize('name', ['fold_coefficients', 'fold_curves'])
def test_folds_that_disagree(path, name):
    rewrite(path, **{f'_0_{name}': load_file(path)[f'0.{name}'][:-1]})
    assert_error(path, "'0.fold_curves' of shape")


@pytest.mark.parametrize('fold', [-1, 5, 1000])
def test_error_of_a_fold_that_does_not_exist(path, fold):
    folds = load_file(path)['0.error_fold'].copy()
    folds[0] = fold
    rewrite(path, _0_error_fold=folds)
    assert_error(path, 'error_fold in its range')


def test_fold_numbers_are_whole(path):
    folds = load_file(path)['0.error_fold'].astype(float)
    rewrite(path, _0_error_fold=folds)
    assert_error(path, 'whole numbers', 'float64')


def test_no_benchmark(path):
    rewrite(path, lambda header: header.update(benchmarks=[]))
    with pytest.raises(InputError, match='expected a benchmark or more'):
        load_predictor(path)


def test_another_fingerprint_is_refused_after_loading(tables, path):
    columns = replace(tables.features.columns, fingerprint='other texts')
    features = replace(tables.features, columns=columns)
    with pytest.raises(
            InputError,
            match='validation set texts, found the '
            'validation set other texts. Collect'):
        load_predictor(path).predict(features)


def test_failed_save_leaves_the_old_file(predictor, path, monkeypatch):
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(module, 'save', full)
    with pytest.raises(InputError, match='No space .*Make room on the disk'):
        save_predictor(predictor, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_save_that_fails_half_way(predictor, path, monkeypatch):
    before = path.read_bytes()

    def write_half(self, data):
        with self.open('wb') as file:
            file.write(data[:len(data) // 2])
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Path, 'write_bytes', write_half)
    with pytest.raises(InputError, match='No space .*Make room on the disk'):
        save_predictor(predictor, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_save_into_a_folder_that_does_not_exist(predictor, tmp_path):
    with pytest.raises(InputError, match='Create the folder first'):
        save_predictor(predictor, tmp_path / 'no' / 'a.safetensors')


@pytest.fixture(scope='module')
def token_predictor() -> Predictor:
    world = make_training_world(CHARACTERS)
    return make_training(CHARACTERS, world).all_token_loss()


@pytest.fixture
def token_path(tmp_path, token_predictor) -> Path:
    save_predictor(token_predictor, tmp_path / 't.safetensors')
    return tmp_path / 't.safetensors'


@pytest.mark.parametrize('name, change, problem', [
    ('matrix.per_column', lambda a: a * -1, 'counts, 46 in all, found [-46]'),
    ('matrix.per_column', lambda a: a + 1, 'counts, 46 in all, found [47]'),
    ('matrix.per_column', lambda a: a * 1., 'whole numbers in'),
    ('matrix.token', lambda a: a - 1, 'tokens 0 to 45, found -1 to 44'),
    ('matrix.token', lambda a: a + 1, 'tokens 0 to 45, found 1 to 46'),
    ('matrix.token', lambda a: a + 2**40, 'tokens 0 to 45'),
    ('matrix.token', lambda a: a * 1., 'whole numbers in'),
    ('matrix.value', lambda a: a > 0, 'floating-point numbers in'),
    ('tokens.per_text', lambda a: a - [41, 0, 0], 'counts, 46 in all'),
    ('tokens.per_text', lambda a: a + [2**62, 2**62, 0], 'counts, 46 in'),
    ('tokens.per_text', lambda a: a[:-1], 'of shape'),
    ('tokens.starts', lambda a: a - 1, 'tokens that lie in their texts'),
    ('tokens.ends', lambda a: a + 1, 'tokens that lie in their texts'),
    ('tokens.n_bytes', lambda a: a - 1, 'tokens that lie in their texts'),
    ('scored', lambda a: a * 1, 'booleans in'),
    ('uniform', lambda a: a > 0, 'floating-point numbers in'),
])  # yapf: disable
def test_no_index_leaves_its_array(token_path, name, change, problem):
    """Compiled code would read and write outside of it."""
    arrays = load_file(token_path)
    rewrite(token_path, **{name: np.asarray(change(arrays[name]))})
    assert_error(token_path, problem)


def test_another_order_of_counts_is_refused(tmp_path, token_predictor):
    """Two columns whose counts are -1 and one too many."""
    path = tmp_path / 'b'
    units = token_predictor.columns.units
    save_predictor(token_predictor, path)
    arrays = load_file(path)
    doubled = {
        name: np.concatenate([array, array], axis=-1)
        for name, array in arrays.items()
        if name in ('uniform', 'matrix.per_column', 'matrix.token',
                    'matrix.value') or name.endswith('coefficients')
    }
    doubled['matrix.per_column'] = np.array([-1, 93])
    rewrite(path, lambda h: h.update(units=[*units, 'more']), **doubled)
    assert_error(path, 'counts, 92 in all')


def assert_flips_are_noticed(path: Path, bits) -> None:
    with path.open('r+b', buffering=0) as file:
        for bit in bits:
            byte, = os.pread(file.fileno(), 1, bit // 8)
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit % 8]), bit // 8)
            with pytest.raises(InputError, match=f'^{path}'):
                load_predictor(path)
            os.pwrite(file.fileno(), bytes([byte]), bit // 8)
    load_predictor(path)


def test_any_flipped_bit_is_noticed(token_path):
    """A sample, and bits of the digest."""
    n_bits = 8 * token_path.stat().st_size
    start = 8 * token_path.read_bytes().index(b'sha256:')
    sample = np.random.default_rng(0).integers(n_bits, size=100)
    assert_flips_are_noticed(token_path,
                             [*map(int, sample), *range(start, start + 200)])


@pytest.mark.long
def test_every_flipped_bit_is_noticed(token_path):
    assert_flips_are_noticed(token_path, range(8 * token_path.stat().st_size))


def test_a_name_that_is_the_placeholder_is_refused(predictor, tmp_path):
    columns = replace(predictor.columns, fingerprint=PLACEHOLDER)
    with pytest.raises(InputError, match='digest once, found 2 times'):
        save_predictor(replace(predictor, columns=columns), tmp_path / 'b')


@pytest.mark.parametrize('digest', [None, 3, '', PLACEHOLDER[:-1]])
def test_a_file_without_a_digest(path, digest):
    text = json.dumps({'format_version': 2, 'digest': digest})
    save_file({'x': np.ones(1)}, path, metadata={FORMAT: text})
    assert_error(path, 'the digest of the file', f'found {digest!r}'[:80])


def test_version_1_is_read_with_a_note(token_predictor, tmp_path):
    old = Path(__file__).with_name('version_1') / 'predictor.safetensors'
    with pytest.warns(
            UserWarning,
            match=f'{old} has format version 1, .*'
            'cp.save.cp.load.path., path. renews it'):
        loaded = load_predictor(old)
    save_predictor(loaded, tmp_path / 'new')
    save_predictor(token_predictor, tmp_path / 'expected')
    kept, expected = (
        load_file(tmp_path / name) for name in ('new', 'expected'))
    assert kept.keys() == expected.keys()
    for name in kept:
        # Of one back-test then, of three today.
        if not name.endswith('.backtest'):
            np.testing.assert_allclose(kept[name], expected[name], atol=1e-6)


def test_deep_json_is_refused(path):
    deep = '[' * 100_000 + ']' * 100_000
    save_file({'x': np.ones(1)}, path, metadata={FORMAT: deep})
    assert_error(path, 'JSON in UTF-8', 'levels')


def test_a_header_of_another_length(path):
    for length in (2**63, 10**8 + 1, 10**6):
        path.write_bytes(struct.pack('<Q', length) + b'{}' * 100)
        assert_error(path, 'a readable safetensors file', str(length))


@pytest.mark.parametrize('tensors', [
    '"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}, '
    '"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 16]}',
    '"__metadata__": 3',
    '"__metadata__": {"a": 1}',
])
def test_a_header_that_has_no_one_meaning(path, tensors):
    header = f'{{{tensors}}}'.encode()
    path.write_bytes(struct.pack('<Q', len(header)) + header + bytes(16))
    assert_error(path, 'a readable safetensors file')


# Readers of pickles, and functions that execute text as code.
FORBIDDEN = {
    'pickle', 'cPickle', '_pickle', 'dill', 'cloudpickle', 'joblib', 'shelve',
    'marshal', 'torch.load', 'torch.jit.load', 'torch.hub.load', 'eval',
    'exec', 'pandas.read_pickle', 'numpy.loads', 'allow_pickle'
}


def dangers(source: str) -> set[str]:
    """Forbidden imports, names, attributes and arguments in a source."""
    tree, names = ast.parse(source), set()
    packages = {'np': 'numpy', 'pd': 'pandas'}
    subscripted = [
        node.value for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or '').split('.')[0])
            names.update(f'{node.module}.{alias.name}' for alias in node.names)
        elif isinstance(node, ast.Name):
            # OpenCompass calls a part of its configs `eval`.
            if isinstance(node.ctx, ast.Load) and node not in subscripted:
                names.add(node.id)
        elif isinstance(node, ast.Attribute):
            base, _, rest = ast.unparse(node).partition('.')
            names.add(f'{packages.get(base, base)}.{rest}')
        elif isinstance(node, ast.keyword) and node.arg is not None:
            names.add(node.arg)
    return names & FORBIDDEN


@pytest.mark.parametrize('source, expected', [
    ('import pickle', {'pickle'}),
    ('from pickle import loads', {'pickle'}),
    ('from torch import load', {'torch.load'}),
    ('import torch\nx = torch.load(path)', {'torch.load'}),
    ('np.load(path, allow_pickle=True)', {'allow_pickle'}),
    ('f = eval("1")', {'eval'}),
    ('def f():\n    import joblib.memory', {'joblib'}),
    ('exec(text)', {'exec'}),
    ('eval = dict(n=1)\neval["n"] = 2', set()),
    ('model.eval()\nmodel.load(path)\nnumpy.load(path)', set()),
    ('# no pickle here\n"pickle, torch.load"', set()),
])
def test_dangers_are_noticed(source, expected):
    assert dangers(source) == expected


def test_no_file_is_executed():
    sources = {
        path.relative_to(ROOT).as_posix(): dangers(path.read_text('utf-8'))
        for folder in ('csv_plugin', 'tools', 'configs')
        for path in sorted((ROOT / folder).rglob('*.py'))
    }
    assert not {path: names for path, names in sources.items() if names}


def test_partial_scores_are_kept(tables, predictor, path):
    partial, again = predictor.partial_scores, load_predictor(
        path).partial_scores
    assert again.benchmarks == partial.benchmarks == ('easy', 'hard', 'chance',
                                                      'same')
    for name in PARTIAL:
        np.testing.assert_array_equal(
            getattr(again, name), getattr(partial, name))


def test_a_file_without_partial_scores_predicts_without_known_ones(
        tables, predictor, path):
    rewrite(path, lambda header: header.pop('partial_benchmarks'),
            **{f'partial.{name}': None
               for name in PARTIAL})
    loaded = load_predictor(path)
    np.testing.assert_array_equal(
        loaded.predict(tables.features).values,
        predictor.predict(tables.features).values)
    with pytest.raises(InputError, match='Fit it again'):
        loaded.predict(tables.features, known=tables.accuracies)


@pytest.mark.parametrize(('change', 'arrays', 'part'), [
    (lambda h: h.update(partial_benchmarks='easy'), {}, 'a list of texts'),
    (lambda h: h.update(partial_benchmarks=list('abcd')), {}, "'a'"),
    (lambda h: h, {'partial.mean': None}, "an array 'partial.mean'"),
    (lambda h: h, {'partial.mean': np.full(4, 7.0)}, 'numbers in their range'),
    (lambda h: h, {'partial.totals': np.ones((4, 4))}, 'positive definite'),
    (lambda h: h, {'partial.errors': np.ones((3, 3))}, 'of shape (4, 4)'),
])  # yapf: disable
def test_partial_scores_that_are_none(path, change, arrays, part):
    rewrite(path, change, **arrays)
    assert_error(path, part)


LOGS = {
    'log_coefficients': (4, ),
    'fold_log_coefficients': (5, 4),
    'typical': (4, )
}


@pytest.fixture(scope='module')
def with_logs(tables) -> Predictor:
    """Scores of 'easy' count logarithms; 'chance' is a mean accuracy."""
    tables = tables.only('easy', 'chance')
    return fit_predictor(
        tables.features,
        tables.accuracies,
        tables.groups,
        Averaged(),
        labels={'easy': 3})


@pytest.fixture
def path_of_logs(tmp_path, with_logs) -> Path:
    save_predictor(with_logs, tmp_path / 'logs.safetensors')
    return tmp_path / 'logs.safetensors'


def test_logarithms_are_kept(tables, with_logs, path_of_logs, tmp_path):
    loaded = load_predictor(path_of_logs)
    before, after = (p.predict(tables.features) for p in (with_logs, loaded))
    for part in PARTS:
        assert getattr(before, part).tobytes() == getattr(after,
                                                          part).tobytes()
    assert loaded.weights('easy').tobytes() == with_logs.weights(
        'easy').tobytes()
    save_predictor(loaded, tmp_path / 'b')
    assert (tmp_path / 'b').read_bytes() == path_of_logs.read_bytes()


def test_layout_of_logarithms(path, path_of_logs):
    """What docs/formats.md describes."""
    arrays = load_file(path_of_logs)
    for name, shape in LOGS.items():
        assert arrays[f'0.{name}'].shape == shape
        assert arrays[f'0.{name}'].dtype == np.float64
        assert f'1.{name}' not in arrays
    for file, version in ((path_of_logs, 3), (path, 2)):
        assert load_predictor(file).benchmarks[0].witnesses
        save_predictor(without_witnesses(load_predictor(file)), file)
        with safe_open(file, framework='numpy') as opened:
            header = json.loads(opened.metadata()[FORMAT])
        assert header['format_version'] == version


@pytest.mark.parametrize('name', LOGS)
def test_logarithms_that_are_not_whole(path_of_logs, name):
    array = load_file(path_of_logs)[f'0.{name}']
    rewrite(path_of_logs, **{f'_0_{name}': array[..., :-1].copy()})
    assert_error(path_of_logs, f"'0.{name}' of shape")
    rewrite(path_of_logs, **{f'_0_{name}': np.full_like(array, np.nan)})
    assert_error(path_of_logs, f"finite numbers in '0.{name}'")
    rewrite(path_of_logs, **{f'_0_{name}': None})
    assert_error(path_of_logs, f"an array '0.{name}'", 'found none')


def test_logarithms_of_other_folds(path_of_logs):
    array = load_file(path_of_logs)['0.fold_log_coefficients']
    rewrite(path_of_logs, _0_fold_log_coefficients=array[:-1].copy())
    assert_error(path_of_logs, "'0.fold_log_coefficients' of shape")


@pytest.mark.parametrize('typical', [0., -1.])
def test_typical_losses_are_positive(path_of_logs, typical):
    array = load_file(path_of_logs)['0.typical'].copy()
    array[-1] = typical
    rewrite(path_of_logs, _0_typical=array)
    assert_error(path_of_logs, 'typical in its range')


def test_the_highest_losses_are_kept(tables, path):
    """They have a format version of their own; docs/formats.md says so."""
    tables = tables.only('easy')
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups, Plain())
    save_predictor(predictor, path)
    far = replace(tables.features, values=9 * tables.features.values)
    for features in (tables.features, far):
        before, after = (
            p.predict(features) for p in (predictor, load_predictor(path)))
        for part in PARTS:
            assert getattr(before, part).tobytes() == getattr(after,
                                                              part).tobytes()
    assert (before.low == 0).all() and (before.high == 1).all()
    assert before.extrapolated.all()
    save_predictor(without_witnesses(predictor), path)
    with safe_open(path, framework='numpy') as opened:
        assert json.loads(opened.metadata()[FORMAT])['format_version'] == 4
    rewrite(path, _0_highest=np.ones(3))
    assert_error(path, "'0.highest' of shape")


def test_witnesses_are_kept(tables, predictor, path):
    """They have a format version of their own; docs/formats.md says so."""
    predictor = strict(predictor)
    save_predictor(predictor, path)
    before, after = (
        p.predict(tables.features) for p in (predictor, load_predictor(path)))
    assert before.alarm.any() and not before.alarm.all()
    for part in PARTS:
        assert getattr(before, part).tobytes() == getattr(after,
                                                          part).tobytes()
    assert after.contradictions == before.contradictions
    with safe_open(path, framework='numpy') as opened:
        assert json.loads(opened.metadata()[FORMAT])['format_version'] == 5


def test_a_file_without_witnesses_has_no_alarm(tables, predictor, path):
    save_predictor(without_witnesses(predictor), path)
    predicted = load_predictor(path).predict(tables.features)
    assert not predicted.alarm.any() and not predicted.contradictions
    assert not any('!' in line for line in predicted.legend())


@pytest.mark.parametrize('name', WITNESSES)
def test_witnesses_that_are_not_whole(path, name):
    array = load_file(path)[f'0.{name}']
    rewrite(path, **{f'_0_{name}': np.concatenate([array, array])})
    assert_error(path, f"'0.{name}' of shape")
    rewrite(path, **{f'_0_{name}': np.full_like(array, np.nan)})
    assert_error(path, f"finite numbers in '0.{name}'")
    rewrite(path, **{f'_0_{name}': None})
    assert_error(path, f"an array '0.{name}'", 'found none')


def test_witnesses_with_negative_limits(path):
    rewrite(path, _0_witness_limits=np.full(2, -1.))
    assert_error(path, 'a sound benchmark 0', 'witness in its range')


@pytest.mark.parametrize('names', ['mean loss', [1], None])
def test_names_of_witnesses_that_are_none(path, names):
    rewrite(path,
            lambda header: header['benchmarks'][0].update(witnesses=names))
    assert_error(path, "'witnesses' in benchmark 0", repr(names))
