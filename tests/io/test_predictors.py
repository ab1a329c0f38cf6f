"""Predictors on disk: the same predictions, or a clear error."""
import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Averaged, Plain, Ridge
from csv_plugin.core.texts import TextSet
from csv_plugin.io.containers import read_container, write_container
from csv_plugin.io.predictors import KIND, load_predictor, save_predictor
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
    before = request.getfixturevalue(name)
    save_predictor(before, tmp_path / 'a')
    after = load_predictor(str(tmp_path / 'a'))
    assert_same_predictions(before, after, tables.features)
    save_predictor(after, tmp_path / 'b')
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()
    for one, other in zip(before.benchmarks, after.benchmarks):
        np.testing.assert_array_equal(
            before.weights(one.benchmark), after.weights(other.benchmark))


def test_everything_is_kept(predictor, tmp_path):
    predictor = replace(
        predictor, scoring_lm='a/b', licences={'texts': 'CC BY 4.0'})
    save_predictor(predictor, tmp_path / 'a')
    loaded = load_predictor(tmp_path / 'a')
    assert loaded.columns.units == predictor.columns.units
    assert loaded.columns.fingerprint == predictor.columns.fingerprint
    assert loaded.versions == predictor.versions
    assert (loaded.scoring_lm, loaded.licences) == ('a/b', predictor.licences)
    np.testing.assert_array_equal(loaded.columns.uniform,
                                  predictor.columns.uniform)
    for before, after in zip(predictor.benchmarks, loaded.benchmarks):
        for name in ('benchmark', 'chance', 'n_items', 'fit_models', 'solver',
                     'penalty', 'notes', 'cv_mse', 'families'):
            np.testing.assert_equal(
                getattr(after, name), getattr(before, name))
        for name in ('score_low', 'score_high', 'score_spread', 'n_families'):
            assert getattr(after.intervals,
                           name) == getattr(before.intervals, name)
        assert repr(after.errors_by_reach) == repr(before.errors_by_reach)


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


def test_token_columns_are_kept(token_predictor, token_path):
    loaded = load_predictor(token_path)
    assert loaded.targets.text_ids == token_predictor.targets.text_ids
    assert loaded.targets.hashes == token_predictor.targets.hashes
    assert loaded.targets.spans == token_predictor.targets.spans
    assert (loaded.matrix != token_predictor.matrix).nnz == 0
    np.testing.assert_array_equal(loaded.columns.scored,
                                  token_predictor.columns.scored)


def header_fields(header):
    """Places in a header: objects and the names of their fields."""
    part = header['benchmarks'][1]
    reach = part['errors_by_reach']
    return [(header, [
        'fingerprint', 'units', 'texts', 'versions', 'scoring_lm',
        'benchmarks', 'licences', 'training_families'
    ]), (part, list(part.keys() - {'errors_by_reach'})),
            (part['families'][0], list(part['families'][0])),
            (reach, list(reach)), (reach['within'], list(reach['within']))]


def test_fields_that_are_missing_or_of_another_type_are_refused(path):
    before = path.read_bytes()
    fields = [(i, name) for i, (
        _,
        names) in enumerate(header_fields(read_container(path, KIND, '')[0]))
              for name in names]
    assert len(fields) > 30
    for i, name in fields:
        for change in (lambda part, name: part.pop(name),
                       lambda part, name: part.update({name: {
                           'a': [1]
                       }})):
            rewrite(path, lambda h: change(header_fields(h)[i][0], name))
            assert_error(path, name)
            path.write_bytes(before)


@pytest.mark.parametrize('change, problem', [
    (lambda part: part.update(chance=-.1), 'chance in its range'),
    (lambda part: part.update(chance=None), 'chance in its range'),
    (lambda part: part.update(chance=True), "or null as 'chance'"),
    (lambda part: part.update(penalty=-1), 'penalty in its range'),
    (lambda part: part.update(cv_mse=-1e-9), 'cv_mse in its range'),
    (lambda part: part.update(n_items=-1), "a count as 'n_items'"),
    (lambda part: part.update(benchmark=''), 'benchmark in its range'),
    (lambda part: part.update(benchmark='hard'), "'hard' twice"),
    (lambda part: part.update(fit_models=['m'] * 15), "'m' twice"),
    (lambda part: part.update(fit_models=['m', 'n']),
     'number of errors in its range'),
    (lambda part: part.update(score_spread=-1e-9),
     'score_spread in its range'),
    (lambda part: part['errors_by_reach'].update(reach=1.5),
     'errors_by_reach in'),
    (lambda part: part['errors_by_reach']['within'].update(mse=-1),
     'errors_by_reach in its range'),
    (lambda part: part.update(witnesses=['one']), 'of shape (1,'),
])  # yapf: disable
def test_values_that_no_benchmark_has_are_refused(path, change, problem):
    rewrite(path, lambda header: change(header['benchmarks'][0]))
    assert_error(path, problem)


def test_a_predictor_has_a_benchmark(path):
    rewrite(path, lambda header: header.update(benchmarks=[]))
    with pytest.raises(InputError, match='of shape .15, 0.'):
        load_predictor(path)


#: Arrays of a benchmark with two reference predictors, and their shapes.
SHAPES = {
    'uniform': (4, ),
    '_0_coefficients': (4, ),
    '_0_curve': (3, ),
    '_0_fold_coefficients': (5, 4),
    '_0_fold_curves': (5, 3),
    '_0_errors': (15, ),
    '_0_error_fold': (15, ),
    '_0_error_variance': (2, ),
    '_0_backtest': (15, ),
    '_0_witness_coefficients': (2, 4),
    '_0_witness_curves': (2, 3),
    '_0_witness_limits': (2, ),
    '_0_witness_ranges': (2, 2),
}
LOGS = {
    '_0_log_coefficients': (4, ),
    '_0_fold_log_coefficients': (5, 4),
    '_0_typical': (4, )
}


@pytest.mark.parametrize('key', [*SHAPES, *LOGS])
def test_arrays_are_there_finite_and_in_shape(path, path_of_logs, key):
    path = path_of_logs if key in LOGS else path
    name = key.replace('_0_', '0.')
    before, array = path.read_bytes(), load_file(path)[name]
    assert array.shape == {**SHAPES, **LOGS}[key]
    others = [(None, 'an array'), (array > 0, 'numbers of shape'),
              (array[..., None], 'of shape'),
              (np.full(array.shape, 1e61), 'at most 1e+60'),
              (np.full(array.shape, np.nan), 'finite numbers')]
    if key == '_0_error_fold':
        others[-2:] = [(array + 99, 'error_fold')]
    if key != '_0_backtest':  # any number is fine
        others.append((array[:-1], 'of shape'))
    for other, problem in others:
        rewrite(path, **{key: other})
        assert_error(path, problem)
        path.write_bytes(before)


@pytest.mark.parametrize('name, value, problem', [
    ('errors', -1e-9, 'errors in its range'),
    ('error_variance', -1e-9, 'error_variance in its range'),
    ('backtest', -1., 'backtest in its range'),
    ('curve', -.01, 'a floor in 0..1'),
    ('curve', 1.01, 'a floor in 0..1'),
    ('error_fold', -1, 'error_fold in its range'),
    ('witness_limits', -1., 'witness in its range'),
])
def test_numbers_that_no_predictor_has_are_refused(path, name, value, problem):
    array = load_file(path)[f'0.{name}'].copy()
    array.flat[-1] = value
    rewrite(path, **{f'_0_{name}': array})
    assert_error(path, problem)


def test_typical_losses_are_positive(path_of_logs):
    array = load_file(path_of_logs)['0.typical'].copy()
    array[-1] = 0
    rewrite(path_of_logs, _0_typical=array)
    assert_error(path_of_logs, 'a sound benchmark 0', 'typical in its range')


@pytest.mark.parametrize('name, change, problem', [
    ('matrix.per_column', lambda a: a * -1, 'counts, 46 in all, found [-46]'),
    ('matrix.per_column', lambda a: a + 1, 'counts, 46 in all, found [47]'),
    ('matrix.per_column', lambda a: a * 1., 'whole numbers of'),
    ('matrix.token', lambda a: a - 1, 'tokens 0 to 45, found -1 to 44'),
    ('matrix.token', lambda a: a + 1, 'tokens 0 to 45, found 1 to 46'),
    ('matrix.token', lambda a: a + 2**40, 'tokens 0 to 45'),
    ('matrix.token', lambda a: a * 1., 'whole numbers of'),
    ('matrix.value', lambda a: a > 0, 'floating-point numbers of'),
    ('tokens.per_text', lambda a: a - [41, 0, 0], 'counts, 46 in all'),
    ('tokens.per_text', lambda a: a + [2**62, 2**62, 0], 'counts, 46 in'),
    ('tokens.per_text', lambda a: a[:-1], 'of shape'),
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


def test_counts_of_which_one_is_negative_are_refused(tmp_path,
                                                     token_predictor):
    """Their sum is right: two columns whose counts are -1 and one too many."""
    path = tmp_path / 'b'
    units = token_predictor.columns.units
    save_predictor(token_predictor, path)
    doubled = {
        name: np.concatenate([array, array], axis=-1)
        for name, array in load_file(path).items()
        if name in ('uniform', 'matrix.token',
                    'matrix.value') or name.endswith('coefficients')
    }
    doubled['matrix.per_column'] = np.array([-1, 93])
    rewrite(path, lambda h: h.update(units=[*units, 'more']), **doubled)
    assert_error(path, 'counts, 92 in all')


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


def test_witnesses_are_kept(tables, predictor, path):
    predictor = strict(predictor)
    save_predictor(predictor, path)
    loaded = load_predictor(path)
    before = assert_same_predictions(predictor, loaded, tables.features)
    assert before.alarm.any() and not before.alarm.all()
    assert loaded.predict(tables.features,
                          0.9).contradictions == before.contradictions


def test_scores_of_the_training_are_kept(predictor, path):
    scores, again = (
        each.training_scores for each in (predictor, load_predictor(path)))
    assert again.families == scores.families
    np.testing.assert_array_equal(again.observed, scores.observed)
    np.testing.assert_array_equal(again.held_out, scores.held_out)
    assert np.isnan(scores.held_out).any()
    save_predictor(replace(predictor, training_scores=None), path)
    assert load_predictor(path).training_scores is None


@pytest.mark.parametrize(('change', 'arrays', 'part'), [
    (lambda h: h.update(training_families='easy'), {}, 'a list of texts'),
    (lambda h: h, {'training.observed': None}, "an array 'training.observed'"),
    (lambda h: h, {'training.held_out': np.full((2, 4), .5)}, 'of shape'),
    (lambda h: h, {'training.held_out': np.full((15, 6), 2.)}, 'fractions in'),
])  # yapf: disable
def test_scores_of_a_training_that_are_none(path, change, arrays, part):
    rewrite(path, change, **arrays)
    assert_error(path, part)


def test_licences_come_from_the_texts_of_the_training():
    training = make_training(CHARACTERS, make_training_world(CHARACTERS))
    texts = TextSet(
        tuple(
            replace(text, licence='CC BY-NC 4.0') for text in training.texts))
    licences = replace(training, texts=texts).all_token_loss().licences
    assert licences == {text.source: 'CC BY-NC 4.0' for text in texts}
    assert training.all_token_loss().licences == {}


def test_loading_says_what_the_licence_of_the_texts_forbids(predictor, path):
    licences = {'ceval': 'CC BY-NC-SA 4.0', 'cmmlu': 'CC BY-NC-SA 4.0',
                'gsm8k': 'MIT'}  # yapf: disable
    save_predictor(replace(predictor, licences=licences), path)
    with pytest.warns(UserWarning) as warned:
        assert load_predictor(path).licences == licences
    assert [str(warning.message) for warning in warned] == [
        f'{path} was trained on texts of ceval, cmmlu under CC BY-NC-SA 4.0, '
        'which forbids commercial use'
    ]


#: Readers of pickles, and functions that execute text as code.
FORBIDDEN = {
    'pickle', 'dill', 'cloudpickle', 'joblib', 'shelve', 'marshal', 'eval',
    'exec', 'torch.load', 'torch.jit.load', 'torch.hub.load', 'allow_pickle',
    'read_pickle'
}


def words(source: str) -> set[str]:
    """What a source imports, calls by name, and gives as arguments."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names):
                found |= {alias.name.split('.')[0] for alias in names}
            case ast.ImportFrom(module, names):
                found |= {(module or '').split('.')[0]}
                found |= {f'{module}.{alias.name}' for alias in names}
            case ast.Call(function, _, keywords):
                found |= {word.arg for word in keywords}
                found |= {ast.unparse(function)}
                if isinstance(function, ast.Attribute):
                    found |= {function.attr} - {'eval', 'exec'}
    return found


def test_no_file_is_executed():
    for line in ('from torch import load', 'np.load(x, allow_pickle=True)',
                 'eval(text)', 'import joblib.memory', 'pd.read_pickle(x)'):
        assert words(line) & FORBIDDEN
    assert not words('model.eval()\ndict(a=eval)') & FORBIDDEN
    for folder in ('csv_plugin', 'tools', 'configs'):
        for path in (ROOT / folder).rglob('*.py'):
            assert not words(path.read_text('utf-8')) & FORBIDDEN, path
