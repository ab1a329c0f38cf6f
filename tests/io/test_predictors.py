"""Predictors on disk: the same predictions, or a clear error."""
import re
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Averaged, Plain, Ridge
from csv_plugin.io.containers import read_container
from csv_plugin.io.predictors import KIND, load_predictor, save_predictor
from tests.core.training_worlds import (CHARACTERS, make_training,
                                        make_training_world)
from tests.io.dump_files import rewrite
from tests.tables import small_tables

ROOT = Path(__file__).resolve().parents[2]


def fitted(tables, solver, *names) -> Predictor:
    tables = tables.only(*names) if names else tables
    return fit_predictor(tables.features, tables.accuracies, tables.groups,
                         solver)


TABLES = small_tables()
PREDICTORS = {
    'plain': lambda: fitted(TABLES, Ridge()),
    # Scores of 'easy' count logarithms; 'chance' is a mean accuracy.
    'with logs': lambda: fitted(TABLES, Averaged(), 'easy', 'chance'),
    'with the highest losses': lambda: fitted(TABLES, Plain(), 'easy'),
    # A fold of one model has a flat curve, whose beta is far away.
    'of two models': lambda: fitted(
        small_tables(n_models=2, n_families=2), Averaged()),
    'of tokens': make_training(
        CHARACTERS, make_training_world(CHARACTERS)).mean_loss
}  # yapf: disable


@cache
def made(name) -> Predictor:
    return PREDICTORS[name]()


@pytest.fixture
def path(tmp_path) -> Path:
    save_predictor(made('plain'), tmp_path / 'a.safetensors')
    return tmp_path / 'a.safetensors'


def arrays_in(path):
    return read_container(path, KIND, '')[1]


def assert_refused(path: Path,
                   problem: str,
                   change=lambda header: None,
                   **arrays) -> None:
    """A predictor that someone has changed, and sealed again."""
    before = path.read_bytes()
    rewrite(path, KIND, change, {
        name.replace('_0_', '0.'): array
        for name, array in arrays.items()
    })
    with pytest.raises(InputError) as caught:
        load_predictor(path)
    assert str(caught.value).startswith(f'{path}: expected ')
    assert problem in str(caught.value)
    path.write_bytes(before)


def parts_of(thing):
    """Fields of data classes, deep inside, and dense matrices."""
    if is_dataclass(thing):
        return {
            f.name: parts_of(getattr(thing, f.name))
            for f in fields(thing)
        }
    if isinstance(thing, tuple):
        return [*map(parts_of, thing)]
    return thing.toarray() if hasattr(thing, 'toarray') else thing


def changed(predictor):
    """Fields that are the same in most predictors, with other values."""
    first, *rest = predictor.benchmarks
    scores = predictor.training_scores
    observed = scores.observed.copy()
    observed.flat[:2] = 0, 1
    return replace(
        predictor,
        benchmarks=(replace(first, main=False), *rest),
        training_scores=replace(scores, observed=observed))


@pytest.mark.parametrize('change', [
    lambda same: same, changed,
    lambda same: replace(same, training_scores=None)
])  # yapf: disable
@pytest.mark.parametrize('name', PREDICTORS)
def test_predictors_are_read_as_they_were_written(name, change, tmp_path):
    before = change(made(name))
    save_predictor(before, tmp_path / 'a')
    after = load_predictor(str(tmp_path / 'a'))
    np.testing.assert_equal(parts_of(after), parts_of(before))
    save_predictor(after, tmp_path / 'b')
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()


@pytest.mark.parametrize('part_of', [
    lambda header: header,
    lambda header: header['benchmarks'][1],
])  # yapf: disable
def test_fields_that_are_missing_or_of_another_type_are_refused(path, part_of):
    names = [*part_of(read_container(path, KIND, '')[0])]
    for name in {*names} - {'format_version', 'digest'}:
        assert_refused(path, name, lambda h: part_of(h).pop(name))
        assert_refused(path, name,
                       lambda h: part_of(h).update({name: {
                           'a': [1]
                       }}))


@pytest.mark.parametrize('change, problem', [
    (dict(benchmark='hard'), "'hard' twice"),
    (dict(main=1), 'true or false'),
    (dict(n_items=2**53), 'a count'),
    (dict(rate=1e61), 'a number'),
    (dict(chance=-.1), 'chance: expected numbers of 0 or more'),
    *((dict(((name, None), )), f'a number as {name!r}')
      for name in ('rise', 'rate', 'chance')),
    *((dict(((name, -1), )), f'{name}: expected numbers of 0 or more')
      for name in ('rise', 'rate', 'score_spread', 'cv_mse')),
    (dict(score_low=None), 'null beside errors'),
    (dict(score_high=None), 'null beside errors'),
])
def test_values_that_no_benchmark_has_are_refused(path, change, problem):
    assert_refused(path, problem,
                   lambda header: header['benchmarks'][0].update(change))


@pytest.mark.parametrize('name, n_arrays', [('plain', 10), ('with logs', 13),
                                            ('with the highest losses', 11)])
def test_arrays_are_there_finite_and_in_shape(name, n_arrays, path):
    save_predictor(made(name), path)
    arrays = arrays_in(path)
    names = {name for name in arrays if name[:2] in ('un', 'me', '0.')}
    assert len(names) == n_arrays
    for name in names:
        array, key = arrays[name], name.replace('0.', '_0_')
        others = [(None, 'an array'), (array > 0, 'numbers of shape'),
                  (np.full(array.shape, 1e61), 'at most 1e+60'),
                  (np.full(array.shape, np.nan), 'finite numbers')]
        if name == '0.error_fold':
            others[-2:] = [(array + 99, 'error_fold')]
        others.append((array[:-1], 'of shape'))
        # They may be absent.
        optional = 'mean_losses', '0.typical', '0.highest'
        for other, problem in others[name in optional:]:
            assert_refused(path, problem, **{key: other})


@pytest.mark.parametrize('name, value, problem', [
    ('_0_curve', 1.01, 'a floor in 0..1'),
    ('_0_error_fold', -1, 'indices 0 to 4, found -1 to 4'),
    ('_0_error_fold', 5, 'indices 0 to 4, found 0 to 5'),
    ('_0_errors', -1, 'errors: expected numbers of 0 or more'),
    ('_0_error_variance', -1, 'variance: expected numbers of 0 or more'),
    ('_0_further', -1, 'further: expected numbers of 0 or more'),
    ('training.held_out', 2., 'fractions, found 2.0'),
])
def test_numbers_that_no_predictor_has_are_refused(path, name, value, problem):
    array = arrays_in(path)[name.replace('_0_', '0.')].copy()
    array.flat[-1] = value
    assert_refused(path, problem, **{name: array})


@pytest.mark.parametrize('name, change, problem', [
    ('matrix.per_column', lambda a: a * -1, 'counts, 46 in all, found [-46]'),
    ('matrix.per_column', lambda a: a + 1, 'counts, 46 in all, found [47]'),
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
])  # yapf: disable
def test_no_index_leaves_its_array(path, name, change, problem):
    """Compiled code would read and write outside of it."""
    save_predictor(made('of tokens'), path)
    array = np.asarray(change(arrays_in(path)[name]))
    assert_refused(path, problem, **{name: array})


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
