"""Eq. 2, its line, and moments of accuracies."""
import numpy as np
import pytest

from csv_plugin.core.curve import accuracy_of, item_variance, line_at, moments

FLOOR = np.array([0., .25])
EXPONENTS = np.array([[-9., -2.], [0., 1.], [3., 9.]])


def test_accuracies_lie_between_the_floor_and_1():
    found = accuracy_of(np.array([[-800, -800], [0, 0], [800, 800]]), FLOOR)
    np.testing.assert_allclose(found, [[0, .25], [.5, .625], [1, 1]])


@pytest.mark.parametrize('straight', [2.5, 20.])
def test_the_line_is_a_tangent(straight):
    line = line_at(EXPONENTS, np.zeros((3, 2)), FLOOR, straight)
    step = 1e-5
    up, down = (
        line_at(EXPONENTS + move, np.zeros((3, 2)), FLOOR, straight).heights
        for move in (step, -step))
    np.testing.assert_allclose((up - down) / (2 * step), line.slopes, 1e-5)
    on_curve = np.abs(EXPONENTS) <= straight
    np.testing.assert_allclose(line.heights[on_curve],
                               accuracy_of(EXPONENTS, FLOOR)[on_curve])


def test_targets_are_where_the_line_has_the_observed_accuracies():
    observed = np.array([[.1, .2], [.5, .9], [1., .3]])
    line = line_at(EXPONENTS, observed, FLOOR, 3.)
    there = line.heights + line.slopes * (line.targets - EXPONENTS)
    np.testing.assert_allclose(there, observed)


def test_moments_are_those_of_draws():
    rng = np.random.default_rng(0)
    mean, variance = np.array([[-1., 1.]]), np.array([[.5, 1.]])
    noise = np.array([.02, 0.])
    draws = mean + np.sqrt(variance) * rng.normal(size=(200_000, 2))
    drawn = accuracy_of(draws, FLOOR)
    middle, deviation = moments(mean, variance, FLOOR, noise)
    np.testing.assert_allclose(middle[0], drawn.mean(axis=0), atol=1e-3)
    expected = drawn.var(axis=0) + noise * middle[0] * (1 - middle[0])
    np.testing.assert_allclose(deviation[0], np.sqrt(expected), rtol=.01)


@pytest.mark.parametrize('n_nodes, deviations', [(9, (.5, 1, 2)),
                                                 (41, (.5, 2, 4))])
def test_moments_are_integrals_over_exponents(n_nodes, deviations):
    mean = np.linspace(-6, 6, 13)[:, None]
    variance = np.broadcast_to(np.square(deviations), (13, 3))
    floor = np.array([0, .25, .5])
    noise = np.array([0, .01, 0])
    middle, deviation = moments(mean, variance, floor, noise, n_nodes)
    away = np.linspace(-9, 9, 20_001)
    weights = np.exp(-away**2 / 2)
    weights /= weights.sum()
    for (m, b), found in np.ndenumerate(middle):
        accuracies = accuracy_of(mean[m] + deviations[b] * away, floor[b])
        expected = weights @ accuracies
        assert found == pytest.approx(expected, abs=5e-4)
        square = weights @ (accuracies - expected)**2
        square += noise[b] * expected * (1 - expected)
        assert deviation[m, b]**2 == pytest.approx(square, abs=1e-3)


def test_noise_is_never_0():
    np.testing.assert_allclose(
        item_variance(np.array([0, .5, 1])), [.0099, .25, .0099])
