"""Tails and correlations of errors that are known."""
import numpy as np
import pytest
from scipy.stats import norm, t

from csv_plugin.core.calibration import (Tails, fit_correlation, fit_tails,
                                         model_errors)

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
