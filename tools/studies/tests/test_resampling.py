"""Ratios of errors, and their intervals over groups of models."""
import numpy as np
import pytest

from tools.studies.resampling import error_ratio, mean_with_interval

SQUARES = np.array([[1., 4.], [3., 4.], [8., 1.], [8., 3.]])
REFERENCE = np.array([[2., 1.], [2., 1.], [1., 2.], [3., 2.]])


def test_ratios_are_geometric_means_over_benchmarks():
    ratio, low, high = error_ratio(SQUARES, REFERENCE, list('aabb'))
    assert ratio == pytest.approx(np.sqrt(5 / 2 * 3 / 1.5))
    # Draws of two groups are one of them twice, or both.
    ends = np.sqrt(1 * 4), np.sqrt(4 * 1)
    assert low == pytest.approx(min(ends)) and high == pytest.approx(ratio)


def test_what_one_method_does_not_say_is_no_ratio():
    silent = SQUARES.copy()
    silent[0, 0] = np.nan
    assert np.isnan(error_ratio(silent, REFERENCE, list('abcd'))).all()


def test_means_of_runs_that_are_drawn_again():
    values = np.arange(100.)
    mean, low, high = mean_with_interval(values)
    assert mean == 49.5
    # Of a mean of 100 values, by its standard error.
    error = 1.645 * values.std() / 10
    assert (low, high) == pytest.approx((mean - error, mean + error), abs=.5)
    assert mean_with_interval(np.full(3, 2.)) == (2, 2, 2)
