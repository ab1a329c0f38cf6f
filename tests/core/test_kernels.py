"""Covariances of exponents between models."""
import numpy as np
import pytest

from csv_plugin.core.families import family_numbers
from csv_plugin.core.kernels import (PARTS, covariances, parts_of_benchmark,
                                     shared_parts, slope_of_wiener, variances,
                                     wiener)
from csv_plugin.core.settings import Settings
from csv_plugin.core.standardised import Standardiser
from tests.core.worlds import FAMILIES, KINDS

NUMBERS = family_numbers(FAMILIES)


def by_logarithms(losses):
    return Standardiser(losses, True, Settings()).standardise(losses, NUMBERS)


def test_the_bend_is_a_wiener_process_integrated_once():
    ends = np.array([.7, 1.3])
    grid = (np.arange(1300) + .5) / 1000
    low = np.minimum(grid[:, None], grid)
    expected = [[
        low[:int(1000 * a)][:, :int(1000 * b)].sum() / 1e6 for b in ends
    ] for a in ends]
    np.testing.assert_allclose(wiener(ends, ends), expected, rtol=1e-3)
    assert not wiener(np.array([-1.]), ends).any()


def test_slopes_of_the_bend_are_its_derivatives():
    """Also where the curve is 0, and beyond the other argument."""
    first, second = np.array([-.4, .3, .9, 1.7]), np.array([-.2, .5, 1.2])
    up, down = (wiener(first + step, second) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(
        slope_of_wiener(first, second), (up - down) / 2e-5, atol=1e-9)


@pytest.mark.parametrize('kind', KINDS)
def test_variances_are_diagonals_of_covariances(kind):
    losses = KINDS[kind]()
    place = by_logarithms(losses)
    means = np.stack([
        place.mean_losses[:, 0],
        place.mean_losses.mean(axis=1), place.mean_losses[:, -1]
    ])
    worst = means.max(axis=1) - .5
    shared = dict(shared_parts(place, place, .1, True))
    whole = covariances(place, means, worst, shared)
    single = variances(place, means, worst, .1)
    assert [*single] == [*PARTS]
    for part, expected in zip(whole, single.values()):
        diagonal = np.diagonal(part, axis1=1, axis2=2)
        np.testing.assert_allclose(diagonal, expected, atol=1e-12)
        np.testing.assert_allclose(part, part.transpose(0, 2, 1))


def test_covariances_are_as_by_the_formulas():
    """Between models that are fitted and others, pair by pair."""
    place = by_logarithms(KINDS['answers']())
    new, old = place.take(np.array([6, 9, 2])), place.take(np.arange(3, 8))
    new_mean, old_mean = new.mean_losses[:, 1], old.mean_losses[:, 1]
    worst = np.sort(old_mean)[3]
    found = dict(shared_parts(new, old, .3, False))
    found.update(parts_of_benchmark(new, old, new_mean, old_mean, worst, 2))
    assert {*found} == {*PARTS}
    assert not found['own'].any()
    for i, j in np.ndindex(3, 5):
        same_family = new.families[i] == old.families[j]
        tilted = 1 + .3 * new.mean_losses[i, 0] * old.mean_losses[j, 0]
        a, b = sorted(
            max(worst - mean, 0) for mean in (new_mean[i], old_mean[j]))
        expected = {
            'units': new.unit_deviations[i] @ old.unit_deviations[j],
            'answers':
            new.answer_deviations[2][i] @ old.answer_deviations[2][j],
            'spread': new_mean[i] * old_mean[j],
            'family': same_family * tilted,
            'bend': a**2 * b / 2 - a**3 / 6,
        }
        for name, value in expected.items():
            assert found[name][i, j] == pytest.approx(value, abs=1e-12), name
    assert (found['family'] != 0).sum() == 4 + 1
