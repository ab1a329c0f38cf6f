"""CV+, back-tests, variances and noise of items against literal versions."""
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import (Fitted, fit_predictor, learn_intervals,
                                     run_backtests)
from csv_plugin.core.held_out_errors import FoldPredictions
from csv_plugin.core.intervals import (LEAST_DEVIATION, OWN_SHARE,
                                       SHARED_FAMILIES, Intervals,
                                       at_least_noise, deviation, fit_variance,
                                       item_variance, shared_variances)
from csv_plugin.core.salience import (Constant, Plain, Ridge, Task, Uniform,
                                      fold_masks)
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Curve
from tests.core.worlds import make_world
from tests.tables import small_tables

VALUES = np.array([[0.2], [1.0], [1.7], [2.5], [9.0]])


def fold_models(rng, n_folds):
    curves = Curve(-rng.uniform(0.5, 4, n_folds), rng.uniform(0, 2, n_folds),
                   np.full(n_folds, 0.1))  # yapf: disable
    return SalienceModel(np.ones((n_folds, 1)), curves)


MODEL = SalienceModel(np.ones(1), Curve(-2.0, 1.0, 0.1))


def random_intervals(seed,
                     n_models=40,
                     n_backtest=30,
                     n_folds=4,
                     repeats=2,
                     n_families=6):
    rng = np.random.default_rng(seed)
    n_errors = n_models * repeats
    return Intervals(
        fold_models(rng, n_folds), n_models, rng.uniform(0, 2, n_errors),
        rng.integers(0, n_folds, n_errors), np.array([0.01, 0.04]),
        rng.uniform(0, 3, n_backtest), n_families, 0.5, 2.0, 0.7)


def bounds(intervals, level, model=MODEL, values=VALUES):
    return intervals.bounds(model, values, level)


def literal_deviation(intervals, model, value):
    """From the slope of the curve, by finite differences of its exponent."""
    step = 1e-5 / float(model.curve.alpha)
    rise = np.diff(model.predict(np.array([[value - step],
                                           [value + step]])))[0]
    constant, by_slope = intervals.variance
    return math.sqrt(constant + by_slope * (rise / 2e-5)**2)


def kth_smallest(values, k):
    return sorted(values)[k - 1] if k <= len(values) else math.inf


def literal_rms(values):
    if not len(values):
        return math.inf
    return math.sqrt(sum(v * v for v in values) / len(values))


def literal_bounds(intervals, level):
    """CV+ as printed in its paper, model by model, and the back-tests.

    With quantiles of Student's t distribution in place of normal ones.
    """
    n = intervals.n_models
    # Every model has one error per repeat.
    k = math.ceil(level * (n + 1) * len(intervals.errors) / max(n, 1))
    k = k if n else 1
    upper = (1 + level) / 2
    stretch = stats.t(intervals.n_families).ppf(upper) / stats.norm.ppf(upper)
    ends = []
    for row, middle in zip(VALUES, MODEL.predict(VALUES)):
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
        if s < intervals.score_low or s > intervals.score_high:
            half = stats.t(intervals.n_families - 2).ppf(upper)
            half *= literal_rms(intervals.backtest)
            half *= literal_deviation(intervals, MODEL, s)
            away = max(intervals.score_low - s, s - intervals.score_high)
            half *= 1 + away / intervals.score_spread
            low, high = min(low, middle - half), max(high, middle + half)
        ends.append((min(max(low, 0), 1), min(max(high, 0), 1)))
    return np.array(ends).T


@pytest.mark.parametrize('level', [0.05, 0.5, 0.9, 0.99])
@pytest.mark.parametrize('sizes', [(40, 30), (39, 9), (9, 8), (1, 1), (0, 0)])
def test_bounds_are_those_of_a_literal_cv_plus(sizes, level):
    intervals = random_intervals(sizes[0], *sizes)
    np.testing.assert_allclose(
        bounds(intervals, level), literal_bounds(intervals, level),
        rtol=0, atol=1e-8)  # yapf: disable


levels = st.floats(0.01, 0.99)


@given(
    st.integers(0, 10**6), levels, levels, st.integers(0, 60),
    st.integers(0, 60))
def test_bounds_are_nested_and_hold_the_prediction(seed, level, level_2, n,
                                                   n_b):
    intervals = random_intervals(seed, n, n_b)
    narrow = bounds(intervals, min(level, level_2))
    wide = bounds(intervals, max(level, level_2))
    predicted = MODEL.predict(VALUES)
    assert (0 <= wide[0]).all() and (wide[1] <= 1).all()
    assert (wide[0] <= narrow[0]).all() and (narrow[0] <= predicted).all()
    assert (predicted <= narrow[1]).all() and (narrow[1] <= wide[1]).all()


def test_levels_are_checked():
    for level in (0, 1, 90, float('nan')):
        with pytest.raises(InputError, match=rf'\(0, 1\), found {level}'):
            bounds(random_intervals(0), level)


def test_extrapolated_means_beyond_the_scores_fitted_on():
    """By more than the last bits."""
    score = np.array([
        0.49, 0.5 - 1e-6,
        np.nextafter(.5, 0), 0.5, 1.0,
        np.nextafter(2, 3), 2.0 + 1e-6
    ])
    assert random_intervals(0).extrapolated(score).tolist() == [
        True, True, False, False, False, False, True
    ]


def literal_deviation_of(intervals, model, values):
    return math.sqrt(intervals.variance @ [1, model.slopes(values)[0]**2])


def intervals_of(task, fit, solver, seed=0):
    """Those of a single benchmark, which shares nothing."""
    return learn_intervals(
        {'': Fitted.of(task, fit)},
        lambda _, variance: run_backtests(task, solver, seed, variance))['']


def learned(world, solver=Uniform(), seed=0, n_repeats=3):
    masks = fold_masks(world.task.families, seed, n_repeats=n_repeats)
    fit = solver.fit(world.task, masks)
    return fit, intervals_of(world.task, fit, solver, seed)


def test_errors_are_those_on_models_that_were_held_out():
    task = make_world(noise=0.05).task
    fit, intervals = learned(make_world(noise=0.05))
    expected = []
    for f, mask in enumerate(fit.masks):
        for i in np.flatnonzero(~mask):
            predicted = fit.folds[f].predict(task.values[i:i + 1])[0]
            deviation = literal_deviation_of(intervals, fit.folds[f],
                                             task.values[i:i + 1])
            expected.append((f, abs(predicted - task.accuracy[i]) / deviation))
    assert len(expected) == len(task.accuracy)
    np.testing.assert_array_equal(intervals.fold, [f for f, _ in expected])
    np.testing.assert_allclose(intervals.errors, [e for _, e in expected],
                               rtol=0, atol=1e-12)  # yapf: disable
    score = fit.model.scores(task.values)
    assert intervals.score_low == score.min()
    assert intervals.score_high == score.max()
    assert intervals.score_spread == pytest.approx(np.std(score))


def literal_backtest(intervals, task, n_worse):
    """Errors on the better of 30 models, worst first."""
    worst_first = np.argsort(task.values @ task.uniform)[::-1]
    worse = task.select(worst_first[:n_worse])
    better = task.select(worst_first[n_worse:])
    fit = Uniform().fit(worse, fold_masks(worse.families, 0, n_repeats=1))
    errors = np.abs(fit.model.predict(better.values) - better.accuracy)
    errors /= np.sqrt(intervals.variance[0] + intervals.variance[1] *
                      fit.model.slopes(better.values)**2)
    seen, score = (fit.model.scores(part.values) for part in (worse, better))
    away = np.maximum(seen.min() - score, 0)
    return errors / (1 + away / np.std(seen))


def test_the_backtests_predict_the_better_models_from_the_rest():
    task = make_world(n=30, noise=0.05).task
    _, intervals = learned(make_world(n=30, noise=0.05))
    expected = [literal_backtest(intervals, task, n) for n in (15, 20, 25)]
    assert list(map(len, expected)) == [15, 10, 5]
    np.testing.assert_allclose(
        np.sort(intervals.backtest),
        np.sort(np.concatenate(expected)),
        rtol=0,
        atol=1e-9)


@pytest.mark.parametrize('n_families, freedom', [(2, 1), (12, 10)])
def test_the_curve_takes_two_degrees_of_freedom_outside(n_families, freedom):
    # All folds agree, so that nothing but the back-tests has a width.
    intervals = replace(
        random_intervals(0, n_families=n_families),
        folds=SalienceModel.stack([MODEL] * 4),
        errors=np.zeros(80),
        backtest=np.full(5, 0.1))
    outside = np.array([[intervals.score_low - 0.07]])
    half = stats.t(freedom).ppf(0.95) * 0.1 * 1.1
    half *= literal_deviation(intervals, MODEL, outside[0, 0])
    predicted = MODEL.predict(outside)
    low, high = bounds(intervals, 0.9, values=outside)
    assert low == pytest.approx(predicted - half)
    assert high == pytest.approx(predicted + half)


@pytest.mark.parametrize('n', [0, 3, 5])
def test_few_models_promise_nothing(n):
    """Outside the range no interval can be had from so few models."""
    world = make_world(n=6, n_families=2)
    task = world.task.select(np.arange(n))
    solver = Constant() if task.problems else Uniform()
    fit = solver.fit(task, fold_masks(task.families, 0))
    intervals = intervals_of(task, fit, solver, 0)
    values = np.array([[-1e3] * 4, [1e3] * 4])
    low, high = bounds(intervals, 0.9, fit.model, values)
    assert intervals.extrapolated(fit.model.scores(values)).all()
    assert low.tolist() == [0, 0] and high.tolist() == [1, 1]
    # Nor do the models of one family.
    fit, intervals = learned(make_world(n_families=1))
    low, high = bounds(intervals, 0.9, fit.model, world.task.values)
    assert (low == 0).all() and (high == 1).all()


def test_a_backtest_that_cannot_be_fitted_is_empty():
    """The worse models are all at chance."""
    world = make_world(n=24)
    loss = world.task.values @ world.task.uniform
    accuracy = np.where(loss > np.median(loss) - 0.2, 0.25, 0.9)
    task = Task.of(world.task.values, world.task.uniform, accuracy, 0.25,
                   world.task.families)
    accuracy[np.argsort(-loss)[:16]] = 0.25
    fit = Constant().fit(task, fold_masks(task.families, 0))
    assert len(intervals_of(task, fit, Uniform(), 0).backtest) == 0


def exchangeable_families(rng, n_families=10, n_models=4):
    """Losses and accuracies with noise of each family and each model."""
    families = np.repeat(np.arange(n_families), n_models)
    loss = rng.normal(2, 0.3, len(families))
    shift = rng.normal(0, 0.15, n_families)[families]
    logit = -3 * (loss - 2) + shift + rng.normal(0, 0.15, len(families))
    return Task.of(loss[:, None], np.ones(1), 1 / (1 + np.exp(-logit)), 0.0,
                   families)


@pytest.mark.slow
def test_coverage_of_new_families_is_near_the_level():
    rng = np.random.default_rng(0)
    hits = []
    for repeat in range(150):
        task = exchangeable_families(rng)
        new = task.families == 9
        seen, unseen = task.select(~new), task.select(new)
        fit = Uniform().fit(seen, fold_masks(seen.families, repeat))
        intervals = intervals_of(seen, fit, Uniform(), repeat)
        score = fit.model.scores(unseen.values)
        low, high = bounds(intervals, 0.9, fit.model, unseen.values)
        inside = ~intervals.extrapolated(score)
        hits.append(((low <= unseen.accuracy)
                     & (unseen.accuracy <= high))[inside])
    assert 0.85 <= np.concatenate(hits).mean() <= 0.97


def test_a_loss_above_all_that_were_fitted_on_promises_nothing():
    """Whatever the score: one loss of several is enough."""
    intervals = replace(random_intervals(0), highest=np.array([1.7]))
    near = np.array([[1.7], [1.716], [1.718]])
    assert intervals.beyond(near).tolist() == [False, False, True]
    low, high = intervals.bounds(MODEL, near, 0.9)
    assert (low[2], high[2]) == (0, 1)
    before = bounds(random_intervals(0), 0.9, values=near)
    assert (low[:2].tolist(), high[:2].tolist()) == (before[0][:2].tolist(),
                                                     before[1][:2].tolist())
    two = replace(intervals, highest=np.array([1.0, 5.0]))
    assert two.beyond(np.array([[0.9, 5.2], [0.9,
                                             4.0]])).tolist() == [True, False]


def test_only_a_fit_to_few_columns_knows_the_highest_losses():
    task = make_world(n=28, n_families=5, salience=(1, 1, 0, 0)).task
    masks = fold_masks(task.families, 0)
    plain, ridge = (
        intervals_of(task, solver.fit(task, masks), solver, 0)
        for solver in (Plain(), Ridge()))
    assert not plain.beyond(task.values).any()
    assert plain.beyond(task.values + 9).all()
    assert not ridge.beyond(task.values + 9).any()


def errors_of(variance, n, n_families=6, seed=0, unit=1.0):
    """Normal errors of a known variance, on slopes from 0 to 0.3."""
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(0, 0.3, n)
    errors = unit * rng.normal(0, deviation(np.array(variance), slopes))
    return FoldPredictions(
        np.zeros((1, n), bool), np.ones((1, n)), errors[None], slopes[None],
        np.zeros(n),
        np.arange(n) % n_families)


def own_variance(folds):
    return fit_variance(np.abs(folds.errors), folds.slopes[folds.unseen])


def ratio(variance):
    return variance[1] / variance[0]


@pytest.mark.parametrize('variance', [(1e-4, 0), (0, 4e-2), (4e-4, 4e-2)])
def test_both_parts_of_a_variance_are_found(variance):
    folds = errors_of(variance, 20000)
    slopes = folds.slopes[folds.slopes > 0.05]
    np.testing.assert_allclose(
        deviation(own_variance(folds), slopes),
        deviation(np.array(variance), slopes),
        rtol=0.05)


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


def test_the_shared_shape_counts_as_some_families():
    """Own and shared variance by the number of families, solved for both."""
    other = errors_of((4e-4, 4e-2), 4000)
    found = {
        n: shared_variances([other, errors_of((0.04, 0), 400, n, 1)])[1]
        for n in (1, 6, 40)
    }
    own = own_variance(errors_of((0.04, 0), 400, 1, 1))
    shared = [((n + SHARED_FAMILIES) * variance - n * own) / SHARED_FAMILIES
              for n, variance in found.items()]
    np.testing.assert_allclose(shared[1:], shared[:1] * 2, rtol=1e-6)
    # Of the shape of the many errors, at the level of its own.
    assert ratio(own) < 10 < 15 < ratio(shared[0])
    folds = errors_of((0.04, 0), 400, 1, 1)
    in_deviations = folds.errors / deviation(shared[0], folds.slopes[0])
    assert np.sqrt(np.mean(in_deviations**2)) == pytest.approx(1, abs=.2)
    alone, = shared_variances([other])
    np.testing.assert_allclose(alone, own_variance(other), rtol=1e-9)


@pytest.mark.parametrize('unit', [1e-4, 1e4])
def test_the_unit_of_a_benchmark_does_not_move_the_others(unit):
    one = errors_of((4e-4, 4e-2), 50)
    before, after = (
        shared_variances([one, errors_of((1e-3, 0), 50, seed=1, unit=x)])
        for x in (1, unit))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-3)
    np.testing.assert_allclose(after[1], unit**2 * before[1], rtol=1e-3)


@pytest.mark.parametrize('accuracy', [0.0, 0.25])
def test_a_mean_accuracy_tells_nothing_of_the_shape(accuracy):
    """Nor do errors that are all 0."""
    task = make_world(noise=0.05).task
    masks = fold_masks(task.families, 0)
    folds = Fitted.of(task, Uniform().fit(task, masks)).folds
    scatter = np.where(np.arange(len(task.accuracy)) % 2, 0.01, 0)
    mean = replace(task, accuracy=np.full(len(scatter), accuracy) + scatter)
    constant = Fitted.of(mean, Constant().fit(mean, masks)).folds
    nothing = errors_of((1., 0), 9, unit=0.)
    alone, = shared_variances([folds])
    first, second, third = shared_variances([constant, folds, nothing])
    np.testing.assert_array_equal(second, alone)
    np.testing.assert_array_equal(first, own_variance(constant))
    assert deviation(third, np.ones(1)) == pytest.approx(LEAST_DEVIATION)


def test_benchmarks_that_are_fitted_together_share():
    """Not what they predict, but how wide the intervals are."""
    tables = small_tables(n_models=24)
    one, other = (
        fit_predictor(part.features, part.accuracies, part.groups,
                      Ridge()).benchmark('easy')
        for part in (tables, tables.only('easy')))
    np.testing.assert_array_equal(one.model.coefficients,
                                  other.model.coefficients)
    assert ratio(one.intervals.variance + 1e-9) != pytest.approx(
        ratio(other.intervals.variance + 1e-9))
    for part in (one, other):
        errors = part.intervals.errors
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(1, abs=.2)


def test_none_right_of_few_items_has_noise():
    """Two right and two wrong answers are imagined."""
    np.testing.assert_allclose(
        item_variance(np.array([0, 0, .3, .3]), np.array([4, 0, 10**9, 0])),
        [.25 * .75, .25, .21, .25])


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
