"""Predictors on disk: the same predictions, or a clear error."""
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Averaged, Plain, Ridge
from csv_plugin.io.containers import read_container, write_container
from csv_plugin.io.predictors import KIND, load_predictor, save_predictor
from tests.core.strict_references import strict
from tests.core.training_worlds import (CHARACTERS, make_training,
                                        make_training_world)
from tests.tables import Tables, small_tables

ROOT = Path(__file__).resolve().parents[2]
PARTS = ('values', 'low', 'high', 'extrapolated', 'in_sample', 'disagrees')


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


@pytest.fixture(scope='module')
def token_predictor() -> Predictor:
    world = make_training_world(CHARACTERS)
    return make_training(CHARACTERS, world).all_token_loss()


@pytest.fixture
def path(tmp_path, predictor) -> Path:
    save_predictor(predictor, tmp_path / 'a.safetensors')
    return tmp_path / 'a.safetensors'


@pytest.fixture
def path_of_logs(tmp_path, with_logs) -> Path:
    save_predictor(with_logs, tmp_path / 'logs.safetensors')
    return tmp_path / 'logs.safetensors'


@pytest.fixture
def token_path(tmp_path, token_predictor) -> Path:
    save_predictor(token_predictor, tmp_path / 't.safetensors')
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


def assert_same_predictions(before: Predictor, after: Predictor, features):
    for level in (0.5, 0.9):
        left, right = (p.predict(features, level) for p in (before, after))
        assert (left.models, left.benchmarks) == (right.models,
                                                  right.benchmarks)
        for part in PARTS:
            assert getattr(left, part).tobytes() == getattr(right,
                                                            part).tobytes()
    return left


def assert_error(path: Path, *parts: str) -> None:
    """Loading fails with an error of one line that names the file."""
    with pytest.raises(InputError) as caught:
        load_predictor(path)
    message = str(caught.value)
    assert message.startswith(f'{path}: expected ')
    assert '\n' not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize('name', ['predictor', 'with_logs'])
def test_loaded_predictor_predicts_the_same_bits(tables, name, tmp_path,
                                                 request):
    before = replace(request.getfixturevalue(name), scoring_lm='a/b')
    save_predictor(before, tmp_path / 'a')
    after = load_predictor(str(tmp_path / 'a'))
    assert_same_predictions(before, after, tables.features)
    assert after.scoring_lm == 'a/b'
    save_predictor(after, tmp_path / 'b')
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()
    for one, other in zip(before.benchmarks, after.benchmarks):
        np.testing.assert_equal(vars(other)['families'], one.families)
        assert (other.notes, other.solver) == (one.notes, one.solver)
        np.testing.assert_array_equal(
            before.weights(one.benchmark), after.weights(other.benchmark))


def test_not_finite_numbers_are_kept(path):
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


@pytest.mark.parametrize(
    'solver', [Averaged(), Plain(), Ridge()], ids=lambda solver: solver.name)
def test_fits_to_very_few_models(solver, tmp_path):
    """A fold of one model has a flat curve, whose beta is far away."""
    few = small_tables(n_models=2, n_families=2)
    fitted = fit_predictor(few.features, few.accuracies, few.groups, solver)
    save_predictor(fitted, tmp_path / 'few.safetensors')
    np.testing.assert_array_equal(
        load_predictor(tmp_path / 'few.safetensors').predict(
            few.features).values,
        fitted.predict(few.features).values)


def header_fields(header):
    """Places in a header: objects and the names of their fields."""
    part = header['benchmarks'][1]
    return [(header, [
        'fingerprint', 'units', 'texts', 'versions', 'scoring_lm',
        'benchmarks', 'training_families'
    ]), (part, list(part)), (part['families'][0], list(part['families'][0]))]


def test_fields_that_are_missing_or_of_another_type_are_refused(path):
    before = path.read_bytes()
    fields = [(i, name) for i, (
        _,
        names) in enumerate(header_fields(read_container(path, KIND, '')[0]))
              for name in names]
    assert len(fields) >= 30
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
    (lambda part: part.update(references=['one']), 'of shape (1,'),
])  # yapf: disable
def test_values_that_no_benchmark_has_are_refused(path, change, problem):
    rewrite(path, lambda header: change(header['benchmarks'][0]))
    assert_error(path, problem)


def test_arrays_are_there_finite_and_in_shape(path, path_of_logs):
    for path in (path, path_of_logs):
        before, arrays = path.read_bytes(), load_file(path)
        names = {name for name in arrays if name[:2] in ('un', '0.')}
        assert len(names) in (13, 16)
        for name in names:
            array, key = arrays[name], name.replace('0.', '_0_')
            others = [(None, 'an array'), (array > 0, 'numbers of shape'),
                      (np.full(array.shape, 1e61), 'at most 1e+60'),
                      (np.full(array.shape, np.nan), 'finite numbers')]
            if name == '0.error_fold':
                others[-2:] = [(array + 99, 'error_fold')]
            if name != '0.backtest':  # any number is fine
                others.append((array[:-1], 'of shape'))
            # Without it, there are no logarithms.
            for other, problem in others[name == '0.typical':]:
                rewrite(path, **{key: other})
                assert_error(path, problem)
                path.write_bytes(before)


@pytest.mark.parametrize('name, value, problem', [
    ('curve', 1.01, 'a floor in 0..1'),
    ('error_fold', -1, 'folds 0 to 4, found others'),
    ('held_out', 2., 'fractions in'),
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
    ('matrix.token', lambda a: a - 1, 'tokens 0 to 45, found -1 to 44'),
    ('matrix.token', lambda a: a + 1, 'tokens 0 to 45, found 1 to 46'),
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


def test_the_highest_losses_are_kept(tables, path):
    tables = tables.only('easy')
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups, Plain())
    save_predictor(predictor, path)
    far = replace(tables.features, values=9 * tables.features.values)
    predicted = assert_same_predictions(predictor, load_predictor(path), far)
    assert (predicted.low == 0).all() and (predicted.high == 1).all()
    assert predicted.extrapolated.all()
    rewrite(path, _0_highest=np.ones(3))
    assert_error(path, "of shape (4,) in '0.highest'")


def test_benchmarks_outside_of_means_are_kept(tables, predictor, path):
    rewrite(path, lambda header: header['benchmarks'][1].update(main=False))
    loaded = load_predictor(path)
    names = predictor.names
    assert loaded.predict(tables.features).main == names[:1] + names[2:]
    rewrite(path, lambda header: header['benchmarks'][1].update(main=1))
    assert_error(path, 'true or false')


def test_references_are_kept(tables, predictor, path):
    predictor = strict(predictor)
    save_predictor(predictor, path)
    loaded = load_predictor(path)
    before = assert_same_predictions(predictor, loaded, tables.features)
    assert before.disagrees.any() and not before.disagrees.all()
    assert loaded.predict(tables.features,
                          0.9).disagreements == before.disagreements


def test_scores_of_the_training_are_kept(predictor, path):
    scores, again = (
        each.training_scores for each in (predictor, load_predictor(path)))
    assert again.families == scores.families
    np.testing.assert_array_equal(again.observed, scores.observed)
    np.testing.assert_array_equal(again.held_out, scores.held_out)
    assert np.isnan(scores.held_out).any()
    save_predictor(replace(predictor, training_scores=None), path)
    assert load_predictor(path).training_scores is None


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
