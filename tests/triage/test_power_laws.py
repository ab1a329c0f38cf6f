"""Power laws are recovered from points on them."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.triage.power_laws import VAGUE, Shape, extrapolate, fit_shape
from tests.triage.trajectories import SHARES, law

#: A prior so wide that it hardly counts.
FREE = Shape(0.0, 0.0, 1e4, 1e4)


@given(
    st.floats(-3, 3), st.floats(1, 5), st.floats(0.3, 1.2), st.integers(4, 7))
@settings(max_examples=30)
def test_a_power_law_is_recovered(limit, drop, rate, n):
    shares = SHARES[:n]
    exponent = law(shares, limit, drop, rate)
    shape = fit_shape(shares, exponent, FREE)
    assert np.exp(shape.log_drop) == pytest.approx(drop, rel=0.05)
    assert np.exp(shape.log_rate) == pytest.approx(rate, rel=0.05)
    assert extrapolate(shares, exponent, FREE) == pytest.approx(
        limit - drop, abs=0.1)


def test_rise_until_the_budget():
    shape = Shape(np.log(1.5), np.log(0.5), 1, 1)
    assert shape.rise(0.25) == pytest.approx(law(1) - law(0.25))
    assert shape.rise(1.0) == 0


@given(st.floats(-4, 4), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@settings(max_examples=30)
def test_a_constant_moves_the_result_as_much(constant, exponent):
    shares, exponent = SHARES[:3], np.array(exponent)
    moved = extrapolate(shares, exponent + constant, VAGUE)
    assert moved == pytest.approx(
        extrapolate(shares, exponent, VAGUE) + constant, abs=1e-4)


def test_one_checkpoint_follows_the_prior():
    prior = Shape(np.log(0.7), np.log(0.9), 0.15, 0.15)
    assert fit_shape(SHARES[:1], np.array([1.0]),
                     prior).log_drop == pytest.approx(prior.log_drop)
    assert extrapolate(SHARES[:1], np.array([1.0]),
                       prior) == pytest.approx(1 + prior.rise(0.1))


def test_a_narrow_prior_dominates():
    narrow = Shape(0.0, np.log(0.5), 0.01, 0.01)
    shape = fit_shape(SHARES, law(SHARES, drop=4.0, rate=1.0), narrow)
    assert shape.log_drop == pytest.approx(0.0, abs=0.1)
    assert shape.drop_spread == 0.01


def test_a_shape_outside_the_bounds_is_not_reached():
    shape = fit_shape(SHARES, -law(SHARES, drop=5.0), FREE)
    # Falling exponents: no rise, rather than a negative one.
    assert 0 <= shape.rise(0.5) < 0.05
