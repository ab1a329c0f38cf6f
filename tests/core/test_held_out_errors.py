"""Errors by family."""
import numpy as np
import pytest

from csv_plugin.core.held_out_errors import held_out_families, typical_error


def test_errors_are_those_on_the_models_of_a_family():
    low, high = held_out_families(['b', 'a', 'b'], np.array([.1, .9, .3]),
                                  np.array([.2, .8, .1]))
    assert (low.family, low.n_models, low.lowest, low.highest) == ('a', 1, .9,
                                                                   .9)
    assert (high.n_models, high.lowest, high.highest) == (2, .1, .3)
    assert low.bias == pytest.approx(-.1) and low.error == pytest.approx(.1)
    assert high.bias == pytest.approx(-.05)
    assert high.error == pytest.approx(np.sqrt((.01 + .04) / 2))


def test_half_of_three_families_err_less_than_the_typical_one():
    three = held_out_families(
        list('abc'), np.full(3, .5), np.array([.6, .9, .52]))
    assert typical_error(three) == pytest.approx(.1)
    assert np.isnan(typical_error(three[:2]))
