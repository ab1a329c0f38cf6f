"""Tails and correlations of errors that are known."""
import numpy as np
import pytest
from scipy.stats import norm, t

from csv_plugin.core.calibration import (CANDIDATE_DEGREES, LeftOut, Tails,
                                         doubt_of, fit_correlation, fit_tails,
                                         model_errors)
from csv_plugin.core.curve import moments

SHAPE = 600, 5
ONES = np.ones(SHAPE)


def errors_of(degrees, stretch, seed=0):
    rng = np.random.default_rng(seed)
    return stretch * rng.standard_t(degrees, SHAPE)


def test_tails_of_three_degrees_are_told_from_four():
    found = [fit_tails(errors_of(n, 1.2), ONES, 100, 2.5, 1.) for n in (3, 4)]
    assert [tails.degrees for tails in found] == [3, 4]


@pytest.mark.parametrize('degrees, stretch', [(3, 1.), (4, 1.5), (6, 1.3),
                                              (30, 1.), (30, 1.8)])
def test_tails_of_errors_of_a_known_distribution(degrees, stretch):
    tails = fit_tails(errors_of(degrees, stretch), ONES, 100, 2.5, 1.)
    assert tails.stretch == pytest.approx(stretch, rel=.06)
    expected = stretch * t.ppf(.95, degrees)
    assert tails.quantile(.9) == pytest.approx(expected, rel=.06)


def test_intervals_are_never_narrower_than_they_say():
    tails = fit_tails(errors_of(30, .5), ONES, 100, 2.5, 1.)
    assert tails.stretch == 1
    assert tails.quantile(.9) >= norm.ppf(.95)


def test_few_families_leave_heavy_tails():
    errors = errors_of(30, 1.)
    found = [
        fit_tails(errors, ONES, n, 2.5, 1.).degrees for n in (2, 4, 9, 99)
    ]
    assert found == [2.5, 3, 8, 30]


def test_few_families_need_no_larger_stretch():
    """Heavy tails are wide enough for errors of a normal distribution."""
    errors = 1.5 * errors_of(30, 1.)
    few, many = (fit_tails(errors, ONES, n, 2.5, 1.) for n in (3, 99))
    assert few.degrees == 2.5
    assert few.stretch < many.stretch


def test_errors_without_an_accuracy_and_without_weight_do_not_count():
    errors = errors_of(4, 1.5)
    weight = ONES.copy()
    errors[:100] = np.nan
    errors[100:200] *= 100
    weight[100:200] = 0
    assert fit_tails(errors, weight, 100, 2.5,
                     1.) == fit_tails(errors[200:], ONES[200:], 100, 2.5, 1.)


def test_half_widths_are_quantiles_of_students_t():
    assert Tails(1.5, 4.).quantile(.8) == pytest.approx(1.5 * t.ppf(.9, 4))


@pytest.mark.parametrize('correlation', [0, .3, .8])
@pytest.mark.parametrize('share', [1, .6])
def test_the_correlation_between_benchmarks(correlation, share):
    """What errors share is a part of what is not noise of items."""
    rng = np.random.default_rng(1)
    n, b = 2000, 6
    common = rng.normal(size=(n, 1))
    own, noise = rng.normal(size=(2, n, b))
    exponents = (
        np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
    errors = np.sqrt(share) * exponents + np.sqrt(1 - share) * noise
    errors[::7, 0] = np.nan
    shares = np.full((n, b), float(share))
    found = fit_correlation(errors, shares, np.ones((n, b)))
    assert found == pytest.approx(correlation, abs=.06)


def test_a_few_pairs_do_not_show_a_correlation():
    errors = np.array([[1., 1.], [-1., -1.]])
    found = fit_correlation(errors, np.ones((2, 2)), np.ones((2, 2)))
    assert 0 < found < .2
    assert fit_correlation(errors[:, :1], np.ones((2, 1)), np.ones(
        (2, 1))) == 0


def test_errors_of_models_are_root_mean_squares():
    errors = np.array([[3., 4.], [2., np.nan], [np.nan, np.nan]])
    np.testing.assert_allclose(
        model_errors(errors), [np.sqrt(12.5), 2, np.nan])


# ---- the formulas, written out


def few_errors(seed, n_models=30):
    """Errors on three benchmarks with gaps, shares and weights, `(M, 3)`."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(n_models, 1)) + rng.normal(size=(n_models, 3))
    errors[rng.random(errors.shape) < .2] = np.nan
    share = rng.uniform(.2, 1, errors.shape)
    weight = np.where(np.isnan(errors), 0, rng.uniform(.2, 1, (n_models, 1)))
    return errors, share, weight


@pytest.mark.parametrize('seed', range(3))
def test_tails_have_the_largest_likelihood_of_all_candidates(seed):
    errors, _, weight = few_errors(seed)
    seen = ~np.isnan(errors)
    best, likelihood = None, -np.inf
    for degrees in (*CANDIDATE_DEGREES[:-1], 20.):  # Of 21 families.
        for stretch in np.geomspace(1.1, 2, 15):
            logs = t.logpdf(errors[seen], degrees, scale=stretch)
            if logs @ weight[seen] > likelihood:
                best, likelihood = (stretch, degrees), logs @ weight[seen]
    found = fit_tails(errors, weight, 21, 2.5, 1.1)
    assert (found.stretch, found.degrees) == pytest.approx(best)


@pytest.mark.parametrize('seed', range(3))
def test_the_correlation_is_as_by_the_formula(seed):
    """By least squares, as if there were 15 pairs more without any."""
    errors, share, weight = few_errors(seed)
    total, expected = 0., 15.
    for m in range(len(errors)):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            one, two = np.clip(errors[m, [i, j]], -3, 3)
            if not np.isnan(one + two):
                root = np.sqrt(share[m, i] * share[m, j])
                total += weight[m].max() * one * two * root
                expected += weight[m].max() * root**2
    assert .05 < total / expected < .95
    found = fit_correlation(errors, share, weight)
    assert found == pytest.approx(total / expected)


def test_correlations_have_limits():
    same = np.tile(np.linspace(-3, 3, 300)[:, None], 2)
    ones = np.ones(same.shape)
    assert fit_correlation(same, ones, ones) == .95
    assert fit_correlation(same * [1, -1], ones, ones) == 0


def test_models_that_lie_far_off_get_doubt():
    """On the benchmarks that teach."""
    errors = np.array([[4., 2, 9], [5, np.nan, 0], [2, 3, 9]])
    errors = np.vstack([errors, [np.nan, np.nan, 9]])
    deviations = np.array([.1, .2, .3]) * np.ones((4, 1))
    found = doubt_of(errors, deviations, np.array([True, True, False]), 3.)
    # Mean squares of 10, 25, 6.5 and none, minus 9.
    expected = np.outer([1, 16, 0, 0], [.01, .04, .09])
    expected[1, 1] = 0
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_errors_of_families_left_out_are_in_predicted_deviations():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(4, 2)), rng.uniform(.1, 1, (4, 2))
    floor, noise = np.array([.1, .25]), np.array([.01, .002])
    observed = rng.uniform(.3, .9, (4, 2))
    observed[1, 0] = np.nan
    found = LeftOut.of(mean, variance, observed, floor, noise)
    predicted, deviation = moments(mean, variance, floor, noise)
    _, alone = moments(mean, variance, floor, 0 * noise)
    predicted[1, 0] = deviation[1, 0] = alone[1, 0] = np.nan
    np.testing.assert_allclose(found.accuracies, predicted)
    np.testing.assert_allclose(found.deviations, deviation)
    np.testing.assert_allclose(found.errors,
                               (observed - predicted) / deviation)
    np.testing.assert_allclose(found.exponent_share, (alone / deviation)**2)


def test_errors_are_calibrated_on_the_benchmarks_that_teach():
    """k models of a family count as sqrt(k) independent models."""
    errors, share, _ = few_errors(5)
    families = np.minimum(np.arange(30), 6)
    sizes = np.bincount(families)[families]
    nothing = np.full(errors.shape, np.nan)
    left_out = LeftOut(nothing, nothing, errors, share)
    teaching = np.array([True, False, True])
    tails, between = left_out.calibrate(families, teaching, 2.5, 1.1)
    errors, share = errors[:, teaching], share[:, teaching]
    weight = ~np.isnan(errors) / np.sqrt(sizes)[:, None]
    # One of the seven families has no error on these benchmarks.
    assert (weight.sum(axis=1) == 0)[:6].sum() == 1
    assert tails == fit_tails(errors, weight, 6, 2.5, 1.1)
    assert between == fit_correlation(errors / tails.stretch, share, weight)
