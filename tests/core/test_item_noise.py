"""Noise of scores by the items that they are of."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.item_noise import (OWN_SHARE, at_least_noise,
                                        item_variance, sampling_noise)

NAN = float('nan')


def test_the_noise_of_fewer_items():
    scores = np.array([[.5, .5, .5, 1, NAN]])
    noise = sampling_noise(scores, np.array([96, 0, 1000, 2, 10]),
                           np.array([192, 100, 500, 0, 100]))
    np.testing.assert_allclose(noise,
                               [[.25 / 192, 0, 0, 2 / 3 * 1 / 3 / 2, NAN]])


def test_none_right_of_few_items_has_noise():
    assert item_variance(np.zeros(1), np.array([3])) > .2
    assert item_variance(np.zeros(1), np.array([10**6])) < 1e-5
    np.testing.assert_allclose(
        item_variance(np.array([.3, .3]), np.array([10**9, 0])), [.21, .25])


def test_an_interval_is_no_narrower_than_a_models_own_noise():
    at = np.array([.4])
    low, high = at_least_noise(at, at, at, np.array([10**6]), .6827)
    deviation = np.sqrt(OWN_SHARE * .4 * .6 / 10**6)
    np.testing.assert_allclose([low, high], [at - deviation, at + deviation],
                               rtol=1e-6)


def test_wider_intervals_and_unknown_numbers_of_items_are_left_alone():
    low, at, high = np.array([[.3], [.4], [.55]])
    for n_items in (1000, 0):
        kept = at_least_noise(low, at, high, np.array([n_items]), .9)
        np.testing.assert_array_equal(kept, [low, high])
    kept = at_least_noise(at, at, at, np.zeros(1, int), .9)
    np.testing.assert_array_equal(kept, [at, at])


def test_each_side_alone():
    low, high = at_least_noise(
        np.array([.5]), np.array([.5]), np.array([.9]), np.array([100]), .9)
    assert low < .5 and high == .9


@pytest.mark.parametrize('level', [5e-324, .5, np.nextafter(1, 0)])
@given(st.floats(0, 1), st.integers(0, 2**53 - 1))
def test_ends_are_fractions_around_the_prediction(level, at, n_items):
    at = np.array([at])
    low, high = at_least_noise(at, at, at, np.array([n_items]), level)
    assert 0 <= low <= at <= high <= 1
