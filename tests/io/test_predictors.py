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
from csv_plugin.io.containers import read_container, write_container
from csv_plugin.io.predictors import KIND, load_predictor, save_predictor
from tests.core.training_worlds import (CHARACTERS, make_training,
                                        make_training_world)
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
        CHARACTERS, make_training_world(CHARACTERS)).all_token_loss
}  # yapf: disable


@cache
def made(name) -> Predictor:
    return PREDICTORS[name]()


@pytest.fixture
def predictor() -> Predictor:
    return made('plain')


@pytest.fixture
def path(tmp_path, predictor) -> Path:
    save_predictor(predictor, tmp_path / 'a.safetensors')
    return tmp_path / 'a.safetensors'


@pytest.fixture
def token_path(tmp_path) -> Path:
    save_predictor(made('of tokens'), tmp_path / 't.safetensors')
    return tmp_path / 't.safetensors'


def load_file(path):
    return read_container(path, KIND, '')[1]


def rewrite(path: Path, change=lambda header: None, **arrays) -> None:
    """Change the header in place and replace arrays; None removes one.

    The file gets the digest of its new content, as a forger would give it.
    """
    header, old = read_container(path, KIND, '')
    del header['format_version'], header['digest']
    change(header)
    new = {**old, **{k.replace('_0_', '0.'): v for k, v in arrays.items()}}
    write_container(path, KIND, header, {
        k: v
        for k, v in new.items() if v is not None
    })


def assert_error(path: Path, *parts: str) -> None:
    """Loading fails with an error of one line that names the file."""
    with pytest.raises(InputError) as caught:
        load_predictor(path)
    message = str(caught.value)
    assert message.startswith(f'{path}: expected ')
    assert '\n' not in message
    for part in parts:
        assert part in message


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
        training_scores=replace(scores, observed=observed),
        scoring_lm='a/b')


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


def header_fields(header):
    """Places in a header: objects and the names of their fields."""
    part = header['benchmarks'][1]
    return [(header, [
        'fingerprint', 'units', 'texts', 'versions', 'scoring_lm',
        'benchmarks', 'training_families'
    ]), (part, list(part))]


def test_fields_that_are_missing_or_of_another_type_are_refused(path):
    before = path.read_bytes()
    fields = [(i, name) for i, (
        _,
        names) in enumerate(header_fields(read_container(path, KIND, '')[0]))
              for name in names]
    assert len(fields) == 23
    for i, name in fields:
        for change in (lambda part, name: part.pop(name),
                       lambda part, name: part.update({name: {
                           'a': [1]
                       }})):
            rewrite(path, lambda h: change(header_fields(h)[i][0], name))
            assert_error(path, name)
            path.write_bytes(before)


@pytest.mark.parametrize('change, problem', [
    (lambda part: part.update(benchmark='hard'), "'hard' twice"),
    (lambda part: part.update(main=1), 'true or false'),
])  # yapf: disable
def test_values_that_no_benchmark_has_are_refused(path, change, problem):
    rewrite(path, lambda header: change(header['benchmarks'][0]))
    assert_error(path, problem)


@pytest.mark.parametrize('name, n_arrays', [('plain', 9), ('with logs', 12),
                                            ('with the highest losses', 10)])
def test_arrays_are_there_finite_and_in_shape(name, n_arrays, path):
    save_predictor(made(name), path)
    before, arrays = path.read_bytes(), load_file(path)
    names = {name for name in arrays if name[:2] in ('un', '0.')}
    assert len(names) == n_arrays
    for name in names:
        array, key = arrays[name], name.replace('0.', '_0_')
        others = [(None, 'an array'), (array > 0, 'numbers of shape'),
                  (np.full(array.shape, 1e61), 'at most 1e+60'),
                  (np.full(array.shape, np.nan), 'finite numbers')]
        if name == '0.error_fold':
            others[-2:] = [(array + 99, 'error_fold')]
        others.append((array[:-1], 'of shape'))
        # Without them, there are no logarithms, or highest losses.
        for other, problem in others[name in ('0.typical', '0.highest'):]:
            rewrite(path, **{key: other})
            assert_error(path, problem)
            path.write_bytes(before)


@pytest.mark.parametrize('name, value, problem', [
    ('curve', 1.01, 'a floor in 0..1'),
    ('error_fold', -1, 'indices 0 to 4, found -1 to 4'),
    ('error_fold', 5, 'indices 0 to 4, found 0 to 5'),
    ('held_out', 2., 'fractions, found 2.0'),
])
def test_numbers_that_no_predictor_has_are_refused(path, name, value, problem):
    key = 'training.held_out' if name == 'held_out' else f'0.{name}'
    array = load_file(path)[key].copy()
    array.flat[-1] = value
    rewrite(path, **{key: array})
    assert_error(path, problem)


@pytest.mark.parametrize('name, change, problem', [
    ('matrix.per_column', lambda a: a * -1, 'counts, 46 in all, found [-46]'),
    ('matrix.per_column', lambda a: a + 1, 'counts, 46 in all, found [47]'),
    ('matrix.token', lambda a: a - 1, 'indices 0 to 45, found -1 to 44'),
    ('matrix.token', lambda a: a + 1, 'indices 0 to 45, found 1 to 46'),
    ('matrix.token', lambda a: a * 1., 'whole numbers of'),
    ('matrix.value', lambda a: a > 0, 'floating-point numbers of'),
    ('tokens.per_text', lambda a: a - [41, 0, 0], 'counts, 46 in all'),
    ('tokens.per_text', lambda a: a + [2**62, 2**62, 0], 'counts, 46 in'),
    ('tokens.starts', lambda a: a - 1, 'tokens that lie in their texts'),
    ('tokens.ends', lambda a: a + 1, 'tokens that lie in their texts'),
    ('tokens.n_bytes', lambda a: a - 1, 'tokens that lie in their texts'),
    ('scored', lambda a: a * 1, 'booleans of'),
    ('uniform', lambda a: a > 0, 'floating-point numbers of'),
])  # yapf: disable
def test_no_index_leaves_its_array(token_path, name, change, problem):
    """Compiled code would read and write outside of it."""
    arrays = load_file(token_path)
    rewrite(token_path, **{name: np.asarray(change(arrays[name]))})
    assert_error(token_path, problem)


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
