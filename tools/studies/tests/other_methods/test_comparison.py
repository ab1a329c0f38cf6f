"""Methods side by side on small tables."""
import numpy as np
import pytest

from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.metrics import mse
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.salience import SOLVERS
from tests.tables import small_tables
from tools.studies.other_methods.all_methods import METHODS, Evidence
from tools.studies.other_methods.comparison import (Comparison, Fold, compare,
                                                    family_folds)

TABLES = small_tables(20, n_families=5).only('easy', 'hard')
FOLD = Fold(TABLES.models[:15], TABLES.models[15:])


def evidence(own=(), tokens=np.nan, doubles=()):
    return Evidence(TABLES.features, TABLES.accuracies, np.geomspace(1, 9, 20),
                    np.full(20, tokens), dict.fromkeys(own, np.array([1, 3])),
                    [frozenset(group) for group in doubles])


@pytest.fixture(scope='module')
def comparison():
    return compare(
        evidence(('easy', )), TABLES.families,
        ['ridge', 'averaged', 'constant', 'own-units', 'completion'], [FOLD])


def test_every_method_is_on_both_sides_of_solvers_and_none_is_forgotten():
    assert {*SOLVERS} < {*METHODS}
    for method in METHODS.values():
        for name in ('easy', 'hard'):
            part = method.part(evidence(('easy', 'hard'), 1e9), name)
            assert part is not None and part[0].models == TABLES.models


@pytest.mark.parametrize('method, facts', [
    ('own-units', evidence(('hard', ))),
    ('ladder', evidence(('hard', ), 1e9)),
    ('ladder', evidence(('easy', ))),
    ('completion', evidence(doubles=[('easy', 'hard')])),
])
def test_methods_that_say_nothing(method, facts):
    assert METHODS[method].part(facts, 'easy') is None


def test_doubles_tell_nothing_of_each_other():
    facts = evidence(doubles=[('easy', 'third')])
    assert facts.others('easy') == ['hard']
    assert facts.others('hard') == ['easy']


@pytest.mark.parametrize('solver', ['ridge', 'averaged'])
def test_predictions_are_those_of_the_solver(comparison, solver):
    """Also of one that learns from all benchmarks together."""
    predictor = fit_predictor(TABLES.features,
                              TABLES.accuracies.select(FOLD.fit),
                              [TABLES.families[model] for model in FOLD.fit],
                              SOLVERS[solver])
    expected = predictor.predict(TABLES.features.select(FOLD.predict))
    ours = comparison.predictions.select(methods=[solver])
    for part in ('values', 'low', 'high', 'extrapolated'):
        np.testing.assert_array_equal(
            getattr(ours, part), getattr(expected, part))
    real = TABLES.accuracies.select(FOLD.predict).values
    np.testing.assert_array_equal(ours.real, real)
    errors = comparison.errors(solver)
    assert errors['easy'].mse == mse(real[:, 0], expected.values[:, 0, 0])
    means = comparison.mean_errors(solver)
    assert means.mse == pytest.approx(
        np.sqrt(errors['easy'].mse * errors['hard'].mse))
    assert means.width == pytest.approx(
        (errors['easy'].width + errors['hard'].width) / 2)


def test_folds_predict_every_model_once_from_other_families():
    folds = family_folds(TABLES.models, TABLES.families, n_folds=3)
    assert len(folds) == 3
    assert sorted(m for f in folds for m in f.predict) == sorted(TABLES.models)
    for fold in folds:
        parts = [{TABLES.families[model]
                  for model in part} for part in (fold.fit, fold.predict)]
        assert not parts[0] & parts[1]
    joined = compare(evidence(), TABLES.families, ['constant'], folds)
    models = joined.predictions.models
    assert joined.families == tuple(TABLES.families[m] for m in models)
    m = models.index(folds[1].predict[0])
    fitted = TABLES.accuracies.select(folds[1].fit).values
    assert joined.predictions.values[m, :,
                                     0] == pytest.approx(fitted.mean(axis=0))


def made_up(errors, families):
    """Two methods with given errors, `(M, B, 2)`; NaN was not run."""
    errors = np.asarray(errors, float)
    shape = errors.shape
    columns = {part: 0.5 + errors for part in ('values', 'low', 'high')}
    columns = {name: np.nan_to_num(part) for name, part in columns.items()}
    real = np.where(np.isnan(errors[:, :, 0]), np.nan, 0.5)
    flags = np.zeros(shape, bool)
    names = [tuple(f'{i}{n}' for n in range(size))
             for i, size in enumerate(shape)]  # yapf: disable
    predictions = Predictions(
        *names, **columns, extrapolated=flags, in_sample=flags, real=real,
        level=0.9)  # yapf: disable
    return Comparison(predictions, tuple(families), {})


def test_ratios_are_geometric_means_with_intervals_over_families():
    # A family of the first method's luck and one of its bad luck.
    luck = np.repeat([0.1, 0.4], 6)
    errors = np.stack([luck, np.full(12, 0.2)], axis=1)[:, None]
    errors = np.concatenate([errors, 2 * errors], axis=1) / 2
    comparison = made_up(errors, np.repeat(['a', 'b'], 6))
    assert comparison.ratio('20') == (1, 1, 1)
    ratio, low, high = comparison.ratio('21')
    assert ratio == pytest.approx(0.04 / np.mean([0.01, 0.16]))
    assert low == pytest.approx(0.04 / 0.16)
    assert high == pytest.approx(0.04 / 0.01)
