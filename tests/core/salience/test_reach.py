"""How far most families reach."""
import numpy as np
import pytest

from csv_plugin.core.salience.choice import is_beyond, reach


@pytest.mark.parametrize('bests, expected', [
    ([.9], .9),
    ([.9, .2], .2),
    ([.9, .2, .5], .2),
    ([.9, .2, .5, .4], .4),
    ([.9, .2, .5, .4, .3], .3),
    ([.9, .2, .5, .4, .3, .8, .7, .6], .4),
])
def test_three_in_four_families_reach_it(bests, expected):
    """Each with its best model, however many it has."""
    families = np.repeat(np.arange(len(bests)), 3)
    predicted = np.repeat(bests, 3) * np.tile([.1, 1, .5], len(bests))
    assert reach(predicted, families) == expected


def test_more_models_of_a_family_move_nothing():
    predicted, families = np.array([.2, .6, .4]), np.array(list('abc'))
    more = np.append(predicted, np.full(9, .6)), np.append(families, ['b'] * 9)
    assert reach(*more) == reach(predicted, families) == .2


def test_rounding_puts_nothing_beyond():
    limit = reach(np.array([.3]), np.array(['a']))
    np.testing.assert_array_equal(
        is_beyond(np.array([.2, .3, .3 + 1e-12, .31]), limit),
        [False, False, False, True])


def test_without_a_model_nothing_is_beyond():
    assert reach(np.zeros(0), np.zeros(0)) == np.inf
