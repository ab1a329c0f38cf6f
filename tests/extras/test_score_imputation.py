"""Known scores of a model and its losses, together."""
import warnings
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import TrainingScores
from csv_plugin.core.salience import Uniform
from csv_plugin.core.salience.base import grouped_folds
from csv_plugin.extras import score_imputation
from csv_plugin.extras.score_imputation import (LEAST_MODELS, ScoreImputation,
                                                _learn, _moments, _narrowed,
                                                _shrunk, learn_imputation,
                                                sampling_noise, unused_notes,
                                                with_known_scores)

NAMES = ('a', 'b', 'c', 'd')
MEAN = np.array([.3, .4, .5, .6])
TOTALS = .01 * (.7 + .3 * np.eye(4))
ERRORS = .001 * np.array([[1, .8, .2, 0], [.8, 1, .2, 0], [.2, .2, 1, 0],
                          [0, 0, 0, 1]])
PARTIAL = ScoreImputation(NAMES, MEAN, TOTALS, ERRORS, np.ones(4))
PREDICTED = np.array([.35, .45, .5, .55])
NAN = float('nan')
EXACT = np.zeros(4)


def learned(accuracies, held_out, families, names=NAMES):
    """From scores alone, of whatever predictor."""
    return learn_imputation(
        Mock(
            names=names,
            training_scores=TrainingScores(families, accuracies, held_out)))


def test_the_conditional_of_the_product_of_both_distributions():
    covariance = np.linalg.inv(np.linalg.inv(TOTALS) + np.linalg.inv(ERRORS))
    mean = covariance @ (
        np.linalg.solve(TOTALS, MEAN) + np.linalg.solve(ERRORS, PREDICTED))
    seen = covariance[np.ix_([0, 2], [0, 2])]
    across = covariance[np.ix_([1, 3], [0, 2])]
    expected = mean[[
        1, 3
    ]] + across @ np.linalg.solve(seen,
                                  np.array([.38, .52]) - mean[[0, 2]])
    left = covariance[np.ix_(
        [1, 3], [1, 3])] - across @ np.linalg.solve(seen, across.T)
    values, narrowing = PARTIAL.complete(PREDICTED,
                                         np.array([.38, NAN, .52, NAN]), EXACT)
    np.testing.assert_allclose(values[[1, 3]], expected)
    np.testing.assert_array_equal(values[[0, 2]], [.38, .52])
    np.testing.assert_allclose(narrowing[[1, 3]],
                               np.sqrt(np.diag(left) / .001))
    np.testing.assert_array_equal(narrowing[[0, 2]], 0)


def test_errors_never_grow_and_predictions_are_fractions():
    wide = replace(PARTIAL, widening=np.full(4, 100))
    values, narrowing = wide.complete(PREDICTED, np.array([1, 1, NAN, 1]),
                                      EXACT)
    assert values[2] <= 1 and narrowing[2] == 1


def test_means_of_what_was_filled_in_stay_in_range(monkeypatch):
    """Weak models alone were run on the second benchmark."""
    monkeypatch.setattr(score_imputation, '_STEPS', 100)
    skill = np.concatenate([np.linspace(0, .4, 15), np.full(15, 1.0)])
    accuracies = np.stack([skill, np.where(skill < .5, .6 + skill, NAN)], 1)
    families = np.array([f'family-{i % 3}' for i in range(30)])
    imputation = learned(accuracies, accuracies + .01, families, ('a', 'b'))
    assert imputation is not None and imputation.mean[1] == 1


def test_a_noisy_score_is_one_more_observation():
    """The limits: without noise it is the score, with much it is nothing."""
    known = np.array([.38, NAN, NAN, NAN])
    exact, free = (
        PARTIAL.complete(PREDICTED, scores, EXACT)[0]
        for scores in (known, NAN * known))
    values, widths = zip(
        *(PARTIAL.complete(PREDICTED, known, np.array([noise, 0, 0, 0]))
          for noise in (0, .0001, .001, 1e9)))
    np.testing.assert_array_equal(values[0], exact)
    np.testing.assert_allclose(values[-1][1:], free[1:])
    np.testing.assert_array_equal([row[0] for row in values], .38)
    assert np.all(np.diff([row[1] for row in widths]) > 0)
    covariance = np.linalg.inv(np.linalg.inv(TOTALS) + np.linalg.inv(ERRORS))
    share = covariance[1, 0] / (covariance[0, 0] + .0001)
    np.testing.assert_allclose(values[1][1], free[1] + share * (.38 - free[0]))


def world(n, seed=0, missing=0.0):
    """Accuracies of n models, and predictions whose errors go together."""
    rng = np.random.default_rng(seed)
    held_out = rng.multivariate_normal(MEAN, 4 * TOTALS / 10, n)
    accuracies = held_out + rng.multivariate_normal(np.zeros(4), ERRORS, n)
    gaps = rng.random(accuracies.shape) < missing
    families = np.array([f'family-{i % 9}' for i in range(n)])
    return np.where(gaps, NAN, accuracies), held_out, families


@pytest.mark.parametrize('missing', [0, .3])
def test_covariances_are_learned(missing):
    accuracies, held_out, families = world(2500, missing=missing)
    imputation = learned(accuracies, held_out, families)
    assert imputation is not None and imputation.benchmarks == NAMES
    np.testing.assert_allclose(imputation.errors, ERRORS, atol=1.5e-4)
    np.testing.assert_allclose(
        imputation.totals, .4 * TOTALS + ERRORS, atol=5e-4)
    np.testing.assert_allclose(imputation.mean, MEAN, atol=.01)


def test_few_models_are_shrunk_toward_one_correlation():
    accuracies, held_out, families = world(18)
    imputation = learned(accuracies, held_out, families)
    assert imputation is not None
    deviation = np.sqrt(np.diag(imputation.errors))
    correlation = imputation.errors / np.outer(deviation, deviation)
    off = correlation[~np.eye(4, dtype=bool)]
    assert np.ptp(off) < .15 and np.all(np.abs(off) < .6)
    # Errors that all models share are errors.
    shifted = learned(accuracies, held_out + .1, families)
    assert np.all(np.diag(shifted.errors) > .005)


def test_too_little_to_learn_from():
    accuracies, held_out, families = world(LEAST_MODELS)
    assert learned(accuracies, held_out, families)
    short = accuracies[1:], held_out[1:], families[1:]
    assert learned(*short) is None
    few = accuracies.copy()
    few[1:, 2] = NAN
    assert learned(few, held_out, families).benchmarks == ('a', 'b', 'd')
    # One benchmark, or none that was held out.
    assert learned(accuracies[:, :1], held_out[:, :1], families,
                   NAMES[:1]) is None
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert learned(accuracies, np.full(held_out.shape, NAN),
                       families) is None


def test_scores_that_few_have_are_taken_as_they_are():
    """They scatter about their own mean, not about 0, unless they are errors;
    covariances are shrunk toward 0 and above."""
    rng = np.random.default_rng(0)
    values = rng.normal(.6, .1, (400, 2))
    values[40:, 1] = NAN
    mean, covariance = _moments(values, 3)
    assert mean[1] == pytest.approx(np.nanmean(values[:, 1]), abs=.01)
    assert covariance[1, 1] == pytest.approx(np.nanvar(values[:, 1]), rel=.1)
    mean, covariance = _moments(values, 3, centre=False)
    assert not mean.any()
    assert covariance[0, 0] == pytest.approx(np.mean(values[:, 0]**2))
    opposed = np.array([[1, -.5], [-.5, 1]])
    np.testing.assert_array_equal(_shrunk(opposed, 1), np.eye(2))


def test_widening_is_the_size_of_errors_of_held_out_families():
    accuracies, held_out, families = world(30)
    folds = grouped_folds(list(families), 5, 0)
    squares = np.zeros((30, 4))
    for m, b in np.ndindex(30, 4):
        others = folds != folds[m]
        part = _learn(NAMES, accuracies[others], held_out[others], np.ones(4))
        known = np.where(np.arange(4) == b, NAN, accuracies[m])
        values, narrowing = part.complete(held_out[m], known, EXACT)
        squares[m, b] = (accuracies[m, b] - values[b])**2 / (
            narrowing[b]**2 * part.errors[b, b])
    expected = np.sqrt((squares.sum(0) + 10 * squares.mean()) / 40)
    np.testing.assert_allclose(
        learned(accuracies, held_out, families).widening, expected)


def test_the_noise_of_fewer_items():
    scores = np.array([[.5, .5, .5, 1, NAN]])
    noise = sampling_noise(scores, np.array([96, 0, 1000, 2, 10]),
                           np.array([192, 100, 500, 0, 100]))
    np.testing.assert_allclose(noise,
                               [[.25 / 192, 0, 0, 2 / 3 * 1 / 3 / 2, NAN]])


@pytest.fixture(scope='module')
def fitted():
    """A predictor of four benchmarks, and losses of new models."""
    rng = np.random.default_rng(3)
    skill, taste = rng.normal(size=(2, 40))
    losses = 3 - .5 * skill[:, None] + .01 * rng.normal(size=(40, 3))
    accuracies = .5 + .1 * skill[:, None] + .04 * np.stack(
        [taste, taste, taste, rng.normal(size=40)], axis=1)
    accuracies += .005 * rng.normal(size=(40, 4))
    models = tuple(f'm{i}' for i in range(40))
    columns = Columns(('x', 'y', 'z'), np.full(3, 1 / 3), 'texts')
    features = FeatureTable(models, columns, losses)
    table = AccuracyTable(models, NAMES, np.clip(accuracies, 0, 1),
                          np.zeros(4), np.zeros(4, int))
    fit = table.select(models[:30])
    families = [f'family-{i % 6}' for i in range(30)]
    predictor = fit_predictor(features, fit, families, Uniform())
    return predictor, features.select(models[30:]), table.select(models[30:])


def holes(table, benchmarks, models=slice(None)):
    """The table with scores of some models on some benchmarks alone."""
    values = np.full(table.values.shape, NAN)
    for name in benchmarks:
        b = table.benchmarks.index(name)
        values[models, b] = table.values[models, b]
    return AccuracyTable(table.models, table.benchmarks, values, table.chance,
                         table.n_items)


def predict(predictor, features, known, level=.9):
    return with_known_scores(predictor, predictor.predict(features, level),
                             known)


def cubes(predictions):
    return {
        name: getattr(predictions, name)[:, :, 0]
        for name in ('values', 'low', 'high', 'extrapolated', 'in_sample',
                     'with_scores')
    }


def test_some_of_the_benchmarks_alone_are_refused(fitted):
    predictor, features, real = fitted
    part = predictor.predict(features).select(benchmarks=['a', 'b', 'd'])
    with pytest.raises(InputError, match="none on 'c'. Select benchmarks aft"):
        with_known_scores(predictor, part, real)


def test_known_scores_change_the_others_of_their_model(fitted):
    predictor, features, real = fitted
    alone = predictor.predict(features)
    for known in (holes(real, ()), real):  # none, or all
        for name, part in cubes(predict(predictor, features, known)).items():
            np.testing.assert_array_equal(part, cubes(alone)[name])
    table = predict(predictor, features, holes(real, 'a', slice(0, 5)))
    marks = np.zeros((10, 4), bool)
    marks[:5, 1:] = True
    np.testing.assert_array_equal(table.with_scores[:, :, 0], marks)
    for name, part in cubes(table).items():
        if name != 'with_scores':
            np.testing.assert_array_equal(part[~marks],
                                          cubes(alone)[name][~marks])
    error, before = (
        np.mean((each.values[:5, 1, 0] - real.values[:5, 1])**2)
        for each in (table, alone))
    assert error < .5 * before
    width, earlier = ((each.high - each.low)[:5, 1] for each in (table, alone))
    _, narrowing = learn_imputation(predictor).complete(
        alone.values[0, :, 0],
        np.where(np.arange(4) == 0, real.values[0], NAN), EXACT)
    assert width[0, 0] == pytest.approx(narrowing[1] * earlier[0, 0])
    assert np.all(width < earlier)
    assert np.all(table.low <= table.values) and np.all(
        table.values <= table.high)
    cell = table.at('m30', 'b')
    assert cell.with_scores and table.cells('b')[0].endswith('+')
    assert '+ made from the losses and the known scores' in ' '.join(
        table.legend())


def test_known_scores_do_not_narrow_below_a_models_own_noise(fitted):
    predictor, features, real = fitted
    of_ten = replace(
        predictor,
        benchmarks=tuple(
            replace(part, n_items=10) for part in predictor.benchmarks))
    known = holes(real, 'a')
    of_many, noisy = (
        predict(each, features, known) for each in (predictor, of_ten))
    np.testing.assert_array_equal(of_many.values, noisy.values)
    assert np.all((of_many.high - of_many.low)[:, 1] < .2)
    assert np.all((noisy.high - noisy.low)[:, 1] > .2)


def test_ends_at_0_and_1():
    """A side that was cut off is no shorter than the other one; an interval
    that leaves nothing out stays so."""
    before, after = np.array([.1, .5, .9, .5]), np.array([.4, .5, .6, .5])
    low, high = _narrowed(before, np.array([0, .3, .8, 0]),
                          np.array([.4, .6, 1, 1]), after, np.full(4, .5))
    np.testing.assert_allclose(low, [.25, .4, .55, 0])
    np.testing.assert_allclose(high, [.55, .55, .65, 1])


def test_notes_on_scores_that_were_not_used(fitted):
    predictor, features, real = fitted
    known = replace(real, benchmarks=('a', 'b', 'c', 'x'))
    notes = [*unused_notes('k', known, predictor, features.models[1:])]
    assert [note.partition(',')[0]
            for note in notes] == ['k: scores of m30', 'k: scores on x']


def test_a_predictor_that_learned_nothing_of_the_kind(fitted):
    _, features, real = fitted
    train = features.select(features.models[:9])
    single = fit_predictor(train, real.select(train.models), ['same'] * 9,
                           Uniform())
    assert learn_imputation(single) is None
    for each in (single, replace(single, training_scores=None)):
        np.testing.assert_array_equal(
            predict(each, features, real).values,
            each.predict(features).values)
