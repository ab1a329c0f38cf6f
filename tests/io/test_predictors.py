"""Predictors on disk: the same predictions, or a clear error."""
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.containers import read_container
from csv_plugin.io.predictors import KIND, load_predictor, save_predictor
from csv_plugin.lm.methods import fit
from tests.core.training_worlds import (CHARACTERS, FAMILIES, FITTED,
                                        make_training_world)
from tests.io.dump_files import rewrite
from tests.tables import small_tables

ROOT = Path(__file__).resolve().parents[2]
TABLES = small_tables(n_models=10)
ARGUMENTS = TABLES.features, TABLES.accuracies, TABLES.groups
DUMPS, ACCURACIES = make_training_world(CHARACTERS)


def of_tokens(method='salience') -> Predictor:
    """Text 'a' has answers of 'sums', which two benchmarks are like."""
    two = AccuracyTable(
        FITTED, ('sums', 'others'),
        np.repeat(ACCURACIES.select(FITTED).values, 2, axis=1)**[1, 2],
        np.zeros(2), np.array([100, 0]))
    return fit(DUMPS, two, FAMILIES, method)


PREDICTORS = {
    'one model': lambda: fit_predictor(*ARGUMENTS),
    'mean loss': lambda: fit_mean_loss_predictor(*ARGUMENTS),
    'of tokens': of_tokens,
    'mean loss of tokens': lambda: of_tokens('mean-loss'),
}
OF_TABLES = 'one model', 'mean loss'


@cache
def made(name) -> Predictor:
    return PREDICTORS[name]()


def losses_of(name):
    return TABLES.features if name in OF_TABLES else DUMPS


@pytest.fixture
def path(tmp_path) -> Path:
    save_predictor(made('one model'), tmp_path / 'a.safetensors')
    return tmp_path / 'a.safetensors'


def arrays_in(path):
    return read_container(path, KIND, '')[1]


def assert_refused(path: Path,
                   problem: str,
                   change=lambda header: None,
                   **arrays) -> None:
    """A predictor that someone has changed, and sealed again."""
    before = path.read_bytes()
    rewrite(path, KIND, change, arrays)
    with pytest.raises(InputError) as caught:
        load_predictor(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    path.write_bytes(before)


def assert_same(found, expected):
    """But for the last bits, in which libraries of algebra may differ."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize('name', PREDICTORS)
def test_predictors_are_read_as_they_were_written(name, tmp_path):
    """With the same predictions, and all that they say of themselves."""
    before = made(name)
    first, *rest = before.benchmarks
    before = replace(
        before,
        benchmarks=(replace(first, notes=('a note', 'Umlaut ä')), *rest))
    save_predictor(before, tmp_path / 'a')
    after = load_predictor(str(tmp_path / 'a'))
    for found, expected in zip(after.benchmarks, before.benchmarks):
        errors = dict(
            error=expected.error, expected_error=expected.expected_error)
        for field, error in errors.items():
            assert_same(getattr(found, field), error)
        assert replace(found, **errors) == expected
    assert len(after.benchmarks) == len(before.benchmarks)
    assert repr(after) == repr(before)
    for part in ('names', 'main', 'fit_models', 'families', 'outliers'):
        assert getattr(after, part) == getattr(before, part)
    assert dict(after.versions) == dict(before.versions)
    for part in ('observed', 'left_out', 'mean_losses'):
        assert_same(getattr(after, part), getattr(before, part))
    families = dict.fromkeys(losses_of(name), 'f') if name not in OF_TABLES \
        else dict.fromkeys(TABLES.models, 'f')
    old, new = (
        each.predict(losses_of(name), families=families)
        for each in (before, after))
    for part in ('values', 'low', 'high', 'expected_error', 'extrapolated',
                 'in_sample', 'at_chance'):
        assert_same(getattr(new, part), getattr(old, part))
    for benchmark in before.names:
        assert_same(after.weights(benchmark), before.weights(benchmark))
        if name not in OF_TABLES:
            assert_same(
                after.token_weights(benchmark),
                before.token_weights(benchmark))
    joints = [each.joint(each.features(losses_of(name)))
              for each in (before, after)]  # yapf: disable
    assert_same(joints[0].model_correlations, joints[1].model_correlations)
    assert_same(joints[0].draws(10), joints[1].draws(10))
    save_predictor(after, tmp_path / 'b')
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()


@pytest.mark.slow
def test_benchmarks_outside_of_means_stay_there(tmp_path):
    accuracies = replace(TABLES.accuracies, outside_means=('hard', ))
    before = fit_mean_loss_predictor(TABLES.features, accuracies,
                                     TABLES.groups)
    save_predictor(before, tmp_path / 'a')
    assert load_predictor(tmp_path / 'a').main == before.main
    assert 'hard' not in before.main


# ---- files that someone has made


def test_fields_that_are_missing_or_of_another_type_are_refused(path):
    names = {*read_container(path, KIND, '')[0]}
    for name in sorted(names - {'format_version', 'digest'}):
        assert_refused(path, name, lambda h: h.pop(name))
        assert_refused(path, name, lambda h: h.update({name: 5}))


@pytest.mark.parametrize('change, problem', [
    (dict(benchmarks=['easy'] * 5), "'easy' twice"),
    (dict(families=['f']), '10 names, found 1'),
    (dict(models=['m'] * 9), 'of shape'),
    (dict(units=['u']), 'of shape'),
    (dict(units=['u'] * 4), "'u' twice"),
    (dict(sources=['']), 'of shape'),
    (dict(sources=[1] * 4), 'sources'),
    (dict(notes=[5] * 5), "the notes of 'easy'"),
    (dict(notes=[[]]), 'notes'),
])
def test_names_that_no_predictor_has_are_refused(path, change, problem):
    assert_refused(path, problem, lambda header: header.update(change))


@pytest.mark.parametrize('change, problem', [
    (lambda s: s.pop('tilt'), 'settings: expected'),
    (lambda s: s.update(another=1), 'settings: expected'),
    (lambda s: s.update(tilt='much'), "a number as 'tilt'"),
    (lambda s: s.update(tilt=None), "a number as 'tilt'"),
    (lambda s: s.update(tilt=True), "a number as 'tilt'"),
    (lambda s: s.update(knee=0), 'a number above 0'),
    (lambda s: s.update(floors=['a']), "a number as 'floors'"),
    (lambda s: s.update(tilt=float('inf')), 'the number Infinity'),
    (lambda s: s.update(forms=[]), 'one form or more'),
    (lambda s: s.update(forms=5), "a list as 'forms'"),
    (lambda s: s.update(forms=[5]), 'form 0'),
    (lambda s: s['forms'][0].pop('straight'), "a number as 'straight'"),
    (lambda s: s['forms'][0].update(straight=0), 'straight'),
    (lambda s: s['forms'].pop(), 'of shape'),
])
def test_settings_that_no_fit_has_are_refused(path, change, problem):
    assert_refused(path, problem, lambda header: change(header['settings']))


@pytest.mark.slow
@pytest.mark.parametrize('name', ['one model', 'mean loss', 'of tokens'])
def test_arrays_are_there_finite_and_in_shape(name, path):
    save_predictor(made(name), path)
    for key, array in arrays_in(path).items():
        if key != 'scored' and not key.startswith('units.answers'):
            problem = 'an array'
            if key == 'curves.alpha':  # It tells curves from the other.
                problem = "'model.floor'"
            assert_refused(path, problem, **{key: None})
        if not key.startswith('units.answers'):  # Of any length.
            assert_refused(path, 'of shape', **{key: array[:-1]})
        assert_refused(path, 'of shape', **{key: array[..., None]})
        if array.dtype.kind == 'f':
            assert_refused(path, 'numbers of shape', **{key: array > 0})
            for value in (1e61, np.nan, np.inf) if array.size else ():
                wrong = np.full(array.shape, value)
                assert_refused(path, 'finite numbers', **{key: wrong})
        elif array.dtype.kind == 'i':
            assert_refused(path, 'whole numbers', **{key: array * 1.})


@pytest.mark.parametrize('name, value, problem', [
    ('fit.accuracies', 1.5, 'fractions, found 1.5'),
    ('fit.chance', -.1, 'fit.chance: expected numbers in 0'),
    ('fit.chance', 1., 'found 1.'),
    ('fit.n_items', -1, 'found -1.'),
    ('units.columns', -1, 'indices 0 to 3, found -1'),
    ('units.columns', 4, 'indices 0 to 3, found'),
])
def test_numbers_that_no_predictor_has_are_refused(path, name, value, problem):
    array = arrays_in(path)[name].copy()
    array.flat[-1] = value
    assert_refused(path, problem, **{name: array})


@pytest.mark.parametrize('name, value', [
    ('model.floor', .9), ('model.floor', -1.), ('model.shares', -.5),
    ('0.doubt', -1.), ('0.hyper', 1e5), ('0.shares', 1e9),
    ('fit.losses', -1.),
])  # yapf: disable
def test_numbers_out_of_their_range_are_refused(path, name, value):
    array = arrays_in(path)[name].copy()
    array.flat[:] = value
    assert_refused(path, 'found', **{name: array})


@pytest.mark.parametrize('name, value', [
    ('curves.floor', 1.), ('curves.floor', -1.5), ('curves.left_out', 1.5),
])  # yapf: disable
def test_curves_that_no_accuracy_has_are_refused(path, name, value):
    save_predictor(made('mean loss'), path)
    array = arrays_in(path)[name].copy()
    array.flat[:] = value
    assert_refused(path, name, **{name: array})


@pytest.mark.parametrize('name, change, problem', [
    ('matrix.per_column', lambda a: a * -1, 'counts, 47 in all, found [-'),
    ('matrix.per_column', lambda a: a + 1, 'counts, 47 in all, found ['),
    ('matrix.token', lambda a: a - 1, 'indices 0 to 45, found -1 to 44'),
    ('matrix.token', lambda a: a + 1, 'indices 0 to 45, found 1 to 46'),
    ('matrix.token', lambda a: a * 1., 'whole numbers of'),
    ('matrix.value', lambda a: a > 0, 'floating-point numbers of'),
    ('tokens.per_text', lambda a: a - [41, 0, 0], 'counts, 46 in all'),
    ('tokens.per_text', lambda a: a - [1, 0, 0], 'counts, 46 in all'),
    # In 64 bits, their sum is 46.
    ('tokens.per_text', lambda a: 2 * [2**63 - 1] + [48], 'counts, 46 in'),
    ('tokens.starts', lambda a: a - 1, 'tokens that lie in their texts'),
    ('tokens.ends', lambda a: a + 1, 'tokens that lie in their texts'),
    ('tokens.n_bytes', lambda a: a - 1, 'tokens that lie in their texts'),
    ('scored', lambda a: a * 1, 'booleans of'),
    ('uniform', lambda a: a > 0, 'floating-point numbers of'),
    ('units.answers.0', lambda a: a + 1, 'indices 0 to 3, found 4'),
    ('units.answers.0', lambda a: a - 9, 'indices 0 to 3, found -6'),
])  # yapf: disable
def test_no_index_leaves_its_array(path, name, change, problem):
    """Compiled code would read and write outside of it."""
    save_predictor(made('of tokens'), path)
    array = np.asarray(change(arrays_in(path)[name]))
    assert_refused(path, problem, **{name: array})


def test_what_is_no_predictor_is_not_saved(tmp_path):
    """As if the two arguments were exchanged."""
    with pytest.raises(InputError, match='a Predictor, found a str. Load it'):
        save_predictor('predictor.safetensors', tmp_path / 'a.safetensors')


def test_no_file_is_executed():
    """Neither a pickle is read nor a text run as code."""
    forbidden = re.compile(
        r'(import|from) (pickle|dill|cloudpickle|joblib|shelve|marshal)\b|'
        r'torch\.(jit\.|hub\.)?load|from torch import.*\bload\b|'
        r'read_metadata|FileSystemReader|dcp_to_torch|'
        r'allow_pickle|read_pickle|(?<![.\w])(eval|exec)\(')
    for folder in ('csv_plugin', 'tools', 'configs'):
        for path in (ROOT / folder).rglob('*.py'):
            found = forbidden.findall(path.read_text('utf-8'))
            assert not found, path
