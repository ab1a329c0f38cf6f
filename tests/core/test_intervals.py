"""CV+, growth, variances and noise of items against literal versions."""
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import Fitted, fit_predictor, learn_intervals
from csv_plugin.core.held_out_errors import FoldPredictions
from csv_plugin.core.intervals import (LEAST_DEVIATION, OWN_SHARE,
                                       SHARED_FAMILIES, USUAL_RATE, Intervals,
                                       at_least_noise, deviation, fit_variance,
                                       inverse, item_variance, learn_rate,
                                       mean_distances, shared_variances)
from csv_plugin.core.salience import Constant, Ridge, Uniform, fold_masks
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Curve
from tests.core.worlds import make_world
from tests.tables import small_tables

VALUES = np.array([[0.2], [1.0], [1.7], [2.5], [9.0]])
DISTANCES = np.array([0.4, 0, 0.1, 0.7, 10])


def fold_models(rng, n_folds):
    curves = Curve(-rng.uniform(0.5, 4, n_folds), rng.uniform(0, 2, n_folds),
                   np.full(n_folds, 0.1))  # yapf: disable
    return SalienceModel(np.ones((n_folds, 1)), curves)


MODEL = SalienceModel(np.ones(1), Curve(-2.0, 1.0, 0.1))


def random_intervals(seed, n_models=40, n_folds=4, repeats=2, n_families=6):
    rng = np.random.default_rng(seed)
    n_errors = n_models * repeats
    return Intervals(
        fold_models(rng, n_folds), n_models, rng.uniform(0, 2, n_errors),
        rng.integers(0, n_folds, n_errors), np.array([0.01, 0.04]), n_families,
        0.5, 2.0, 0.7, 1.5, np.zeros(3))


def bounds(intervals, level, model=MODEL, values=VALUES, distances=DISTANCES):
    return intervals.bounds(model, values, distances[:len(values)], level)


def literal_deviation(intervals, model, value):
    """From the slope of the curve, by finite differences of its exponent."""
    step = 1e-5 / float(model.curve.alpha)
    rise = np.diff(model.predict(np.array([[value - step],
                                           [value + step]])))[0]
    constant, by_slope = intervals.variance
    return math.sqrt(constant + by_slope * (rise / 2e-5)**2)


def kth_smallest(values, k):
    return sorted(values)[k - 1] if k <= len(values) else math.inf


#: Two of the families place a curve; four tell of errors beyond at most.
FREEDOM = {2: 1, 5: 3, 6: 4, 9: 4}


def literal_bounds(intervals, level):
    """CV+ as printed in its paper, model by model, with errors that grow.

    Quantiles are those of Student's t distribution in place of normal ones.
    """
    n = intervals.n_models
    # Every model has one error per repeat.
    k = math.ceil(level * (n + 1) * len(intervals.errors) / max(n, 1))
    k = k if n else 1
    upper = (1 + level) / 2
    near, far = (
        stats.t(freedom).ppf(upper) / stats.norm.ppf(upper)
        for freedom in (intervals.n_families, FREEDOM[intervals.n_families]))
    ends = []
    for row, middle, away in zip(VALUES, MODEL.predict(VALUES), DISTANCES):
        stretch = near + far * 1.5 * away
        s = row[0]
        fold = [intervals.folds[int(f)] for f in intervals.fold]
        mu = [float(f.predict(row[None])[0]) for f in fold]
        error = [
            stretch * e * literal_deviation(intervals, f, s)
            for e, f in zip(intervals.errors, fold)
        ]
        up = [m + e for m, e in zip(mu, error)]
        down = [e - m for m, e in zip(mu, error)]
        low = min(-kth_smallest(down, k), middle)
        high = max(kth_smallest(up, k), middle)
        ends.append((min(max(low, 0), 1), min(max(high, 0), 1)))
    return np.array(ends).T


@pytest.mark.parametrize('level', [0.05, 0.5, 0.9, 0.99])
@pytest.mark.parametrize('n, n_families', [(40, 2), (40, 5), (40, 6), (39, 9),
                                           (9, 6), (1, 6), (0, 6)])
def test_bounds_are_those_of_a_literal_cv_plus(n, n_families, level):
    intervals = random_intervals(n, n, n_families=n_families)
    np.testing.assert_allclose(
        bounds(intervals, level), literal_bounds(intervals, level),
        rtol=0, atol=1e-8)  # yapf: disable


def test_levels_are_checked():
    for level in (0, 1, 90, float('nan')):
        with pytest.raises(InputError, match=rf'\(0, 1\), found {level}'):
            bounds(random_intervals(0), level)
    for level in (1e-300, 1 - 1e-16):
        assert np.isfinite(bounds(random_intervals(0), level)).all()


def test_distances_are_spreads_outside_of_the_range():
    score = np.array([0.36, np.nextafter(.5, 0), 0.5, 1.0, 2.0, 3.4])
    np.testing.assert_allclose(
        random_intervals(0).distance(score), [.2, 0, 0, 0, 0, 2], rtol=1e-12)


def intervals_of(task, fit):
    """Those of a single benchmark, which shares nothing."""
    return learn_intervals({'': Fitted(task, fit)}, [])['']


def learned(world, solver=Uniform(), seed=0, n_repeats=3):
    masks = fold_masks(world.task.families, seed, n_repeats=n_repeats)
    fit = solver.fit(world.task, masks)
    return fit, intervals_of(world.task, fit)


def test_errors_are_those_on_models_that_were_held_out():
    task = make_world(noise=0.05).task
    fit, intervals = learned(make_world(noise=0.05), n_repeats=1)
    assert intervals.rate == pytest.approx(USUAL_RATE, rel=1e-3)
    expected = []
    for f, mask in enumerate(fit.masks):
        for i in np.flatnonzero(~mask):
            predicted = fit.folds[f].predict(task.values[i:i + 1])[0]
            slope = fit.folds[f].slopes(task.values[i:i + 1])[0]
            deviation = math.sqrt(intervals.variance @ [1, slope**2])
            seen = fit.folds[f].scores(task.values[mask])
            score = fit.folds[f].scores(task.values[i:i + 1])[0]
            away = max(seen.min() - score, score - seen.max(), 0) / seen.std()
            deviation *= 1 + intervals.rate * away
            expected.append((f, abs(predicted - task.accuracy[i]) / deviation))
    assert len(expected) == len(task.accuracy)
    np.testing.assert_array_equal(intervals.fold, [f for f, _ in expected])
    np.testing.assert_allclose(intervals.errors, [e for _, e in expected],
                               rtol=0, atol=1e-12)  # yapf: disable
    score = fit.model.scores(task.values)
    assert intervals.score_low == pytest.approx(score.min())
    assert intervals.score_high == pytest.approx(score.max())
    assert intervals.score_spread == pytest.approx(np.std(score))


def backtest_of(rate, n=400, seed=0, unit=1.0):
    """Errors that grow at a rate, of models up to two spreads away."""
    rng = np.random.default_rng(seed)
    seen, away = rng.normal(size=(2, n // 2))
    seen = (seen - seen.mean()) / seen.std()
    away = rng.uniform(0, 2, n // 2)
    exponents = np.concatenate([seen, seen.max() + away])
    errors = unit * rng.standard_t(4, n)
    errors[n // 2:] *= 1 + rate * away
    mask = np.arange(n) < n // 2
    return FoldPredictions(mask[None], exponents[None], errors[None],
                           np.zeros((1, n)), np.zeros(n), np.zeros(n),
                           np.arange(n))


@pytest.mark.parametrize('rate', [1.5, 2.5])
def test_the_rate_at_which_errors_grow_is_learned(rate):
    """Shrunk to a usual one, the less the more benchmarks there are."""
    names = [f'b{k}' for k in range(400)]
    variance = np.array([0.01, 0])
    parts = {
        name: backtest_of(rate, seed=k, unit=0.1)
        for k, name in enumerate(names)
    }
    many = learn_rate([parts], dict.fromkeys(names, variance))
    one = learn_rate([{'b0': parts['b0']}], {'b0': variance})
    assert many == pytest.approx(rate, rel=0.1)
    assert abs(one - USUAL_RATE) < abs(many - USUAL_RATE)
    assert learn_rate([], {'b0': variance}) == pytest.approx(
        USUAL_RATE, rel=1e-3)


def test_a_distance_is_the_mean_over_the_benchmarks_of_a_model():
    """Over those that it was run on, when held out."""
    one = backtest_of(1)
    other = replace(one, exponents=np.zeros((1, 400)))
    some = replace(
        one,
        masks=one.masks[:, 200:] | True,
        exponents=one.exponents[:, 200:],
        models=one.models[200:])
    away = one.exponents[0, 200:] - one.exponents[0, :200].max()
    np.testing.assert_allclose(mean_distances([one])[200:], away)
    np.testing.assert_allclose(
        mean_distances([one, other, some])[200:], away / 2)
    assert mean_distances([one])[:200].tolist() == [0] * 200
    assert mean_distances([]).size == 0


def test_expected_errors_are_those_held_out_and_grow():
    _, intervals = learned(make_world(noise=0.05))
    slopes, away = np.array([0.1, 0.1, 0.2]), np.array([0, 2, 0])
    rms = np.sqrt(np.mean(intervals.errors**2))
    near = rms * np.sqrt(intervals.variance[0] + intervals.variance[1] * .01)
    found = intervals.expected_errors(slopes, away)
    assert found[0] == pytest.approx(near)
    assert found[1] == pytest.approx(near * (1 + 2 * intervals.rate))
    assert found[2] >= near
    assert (intervals.expected_errors(slopes, away + 1e9) == 1).all()
    for unknown in (replace(intervals,
                            errors=np.zeros(0)), replace(intervals, rise=1.0)):
        assert np.isnan(unknown.expected_errors(slopes, away)).all()


def test_benchmarks_at_chance_may_emerge_as_steeply_as_others():
    """Not where the training models are, and the more the farther away."""
    tables = small_tables(n_models=24)
    accuracies = tables.accuracies.select(benchmarks=('easy', 'hard'))
    values = accuracies.values.copy()
    values[:, 1] = accuracies.chance[1] - 0.01 * (np.arange(24) % 3)
    predictor = fit_predictor(tables.features,
                              replace(accuracies, values=values),
                              tables.groups, Ridge())
    easy, hard = predictor.benchmarks
    assert (easy.at_chance, hard.at_chance) == (False, True)
    better = replace(tables.features, values=tables.features.values * .5)
    for features, emerged in ((tables.features, False), (better, True)):
        found = predictor.predict(features)
        high = found.high[:, 1, 0]
        assert found.at_chance[:, :, 0].all(axis=0).tolist() == [False, True]
        assert np.isnan(found.expected_error[:, 1, 0]).all()
        assert (found.low[:, 1, 0] <= hard.chance).all()
        assert (high.max() > hard.chance + .1) == emerged
    scores = np.array([p.model.scores(better.values) for p in (easy, hard)])
    away = predictor.distances(scores)
    rise = np.std(easy.model.exponents(tables.features.values))
    start = .02 / (1 - hard.chance)
    odds = start / (1 - start) * np.exp(rise * away)
    expected = hard.chance + (1 - hard.chance) * odds / (1 + odds)
    np.testing.assert_allclose(high, np.maximum(high, expected))
    assert high.max() == pytest.approx(expected.max())


@pytest.mark.parametrize('n', [0, 3, 5])
def test_few_models_promise_nothing(n):
    """Outside the range no interval can be had from so few models."""
    world = make_world(n=6, n_families=2)
    task = world.task.select(np.arange(n))
    solver = Constant() if task.problems else Uniform()
    fit = solver.fit(task, fold_masks(task.families, 0))
    intervals = intervals_of(task, fit)
    values = np.array([[-1e3] * 4, [1e3] * 4])
    low, high = bounds(intervals, 0.9, fit.model, values)
    assert low.tolist() == [0, 0] and high.tolist() == [1, 1]
    # Nor do the models of one family.
    fit, intervals = learned(make_world(n_families=1))
    low, high = bounds(intervals, 0.9, fit.model, world.task.values[:5])
    assert (low == 0).all() and (high == 1).all()


def test_a_loss_above_all_that_were_fitted_on_promises_nothing():
    """Whatever the score: one loss of several is enough."""
    intervals = replace(random_intervals(0), highest=np.array([1.7]))
    near = np.array([[1.7], [1.716], [1.718]])
    assert intervals.beyond(near).tolist() == [False, False, True]
    low, high = bounds(intervals, 0.9, values=near)
    assert (low[2], high[2]) == (0, 1)
    before = bounds(random_intervals(0), 0.9, values=near)
    assert (low[:2].tolist(), high[:2].tolist()) == (before[0][:2].tolist(),
                                                     before[1][:2].tolist())
    two = replace(intervals, highest=np.array([1.0, -5.0]))
    found = two.beyond(np.array([[0.9, -4.94], [0.9, -4.96]]))
    assert found.tolist() == [True, False]


def errors_of(variance, n, n_families=6, seed=0, unit=1.0):
    """Normal errors of a known variance, on slopes from 0 to 0.3."""
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(0, 0.3, n)
    errors = unit * rng.normal(0, deviation(np.array(variance), slopes))
    return FoldPredictions(
        np.zeros((1, n), bool), np.ones((1, n)), errors[None], slopes[None],
        np.zeros(n),
        np.arange(n) % n_families, np.arange(n))


def own_variance(folds):
    return fit_variance(np.abs(folds.errors), folds.slopes[folds.unseen])


def ratio(variance):
    return variance[1] / variance[0]


def test_a_variance_is_fitted_by_weighted_least_squares():
    """Squared errors vary by the square of their variance: equations of
    the weighted squares at the solution."""
    folds = errors_of((4e-4, 4e-2), 60)
    columns = np.stack([np.ones(60), folds.slopes[0]**2])
    variance = own_variance(folds)
    assert (variance > 0).all()
    residuals = folds.errors**2 - variance @ columns
    gradient = columns @ (residuals / (variance @ columns)**2)
    scale = np.abs(columns) @ np.abs(residuals / (variance @ columns)**2)
    assert np.abs(gradient / scale).max() < 1e-3
    assert fit_variance(np.zeros(0), np.zeros(0)).tolist() == [1, 0]


def test_the_shared_shape_counts_as_some_families():
    """Own and shared variance by the number of families, solved for both."""
    other = errors_of((4e-4, 4e-2), 4000)
    # Exactly right, half-way up the curve.
    other.predicted[0, 0] = other.exponents[0, 0] = 0
    found = {
        n: shared_variances([other, errors_of((0.04, 0), 400, n, 1)])[1]
        for n in (1, 6, 40)
    }
    folds = errors_of((0.04, 0), 400, 1, 1)
    own = own_variance(folds)
    shared = [((n + SHARED_FAMILIES) * variance - n * own) / SHARED_FAMILIES
              for n, variance in found.items()]
    np.testing.assert_allclose(shared[1:], shared[:1] * 2, rtol=1e-6)
    # Of the shape of the many errors, at the level of its own.
    assert ratio(own) < 10 < 15 < ratio(shared[0])
    in_deviations = folds.errors / deviation(shared[0], folds.slopes[0])
    assert np.sqrt(np.mean(in_deviations**2)) == pytest.approx(1, abs=.2)
    alone, = shared_variances([other])
    np.testing.assert_allclose(alone, own_variance(other), rtol=1e-9)


@pytest.mark.parametrize('accuracy', [0.0, 0.25])
def test_a_mean_accuracy_tells_nothing_of_the_shape(accuracy):
    task = make_world(noise=0.05).task
    masks = fold_masks(task.families, 0)
    folds = Fitted(task, Uniform().fit(task, masks)).folds
    scatter = np.where(np.arange(len(task.accuracy)) % 2, 0.01, 0)
    mean = replace(task, accuracy=np.full(len(scatter), accuracy) + scatter)
    constant = Fitted(mean, Constant().fit(mean, masks)).folds
    nothing = errors_of((1., 0), 9, unit=0.)
    alone, = shared_variances([folds])
    first, second, third = shared_variances([constant, folds, nothing])
    np.testing.assert_array_equal(second, alone)
    np.testing.assert_array_equal(first, own_variance(constant))
    assert deviation(third, np.ones(1)) == pytest.approx(LEAST_DEVIATION)


def test_none_right_of_few_items_has_noise():
    """Two right and two wrong answers are imagined."""
    np.testing.assert_allclose(
        item_variance(np.array([0, 0, .3, .3]), np.array([4, 0, 10**9, 0])),
        [.25 * .75, .25, .21, .25])
    np.testing.assert_array_equal(inverse([0, 1, 4]), [0, 1, .25])


def test_an_interval_is_no_narrower_than_a_models_own_noise():
    at = np.array([.4])
    low, high = at_least_noise(at, at, at, np.array([10**6]), .6827)
    half = np.sqrt(OWN_SHARE * .4 * .6 / 10**6)
    np.testing.assert_allclose([low, high], [at - half, at + half], rtol=1e-6)
    # Wider intervals and unknown numbers of items are left alone.
    for low, high, n_items in ((.3, .55, 1000), (.3, .55, 0), (.4, .4, 0)):
        kept = at_least_noise(
            np.array([low]), at, np.array([high]), np.array([n_items]), .9)
        np.testing.assert_array_equal(kept, [[low], [high]])
    # Each side alone.
    low, high = at_least_noise(at, at, np.array([.9]), np.array([100]), .9)
    assert low < .4 and high == .9
