"""The curve, and its fit against certified values and scipy's solvers."""
import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.special import expit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.scaling_law import Curve, accuracy_at, diagnose, fit_curve
from tests.core.worlds import SCORES, accuracies

# alpha, beta and floor. In order: both signs, every chance level, steep and
# flat, half-way points in and beside the range of scores.
CERTIFIED = [
    (-4.0, 1.3, 0.0),
    (-4.0, 1.3, 0.25),
    (-4.0, 1.3, 0.5),
    (4.0, 1.3, 0.0),
    (4.0, 1.3, 0.25),
    (4.0, 1.3, 0.5),
    (-25.0, 1.2, 0.0),
    (-25.0, 1.2, 0.25),
    (25.0, 1.4, 0.5),
    (-0.2, 1.0, 0.0),
    (-0.2, 3.0, 0.25),
    (0.2, -1.0, 0.5),
    (-3.0, 0.2, 0.25),
    (-3.0, 2.4, 0.0),
]
#: Guesses of alpha and beta, all far off.
STARTS = [(1.0, 1.0), (1e3, 10.0), (-1e3, 10.0)]


def guess_of(start, scores):
    """The same line as intercept and slope in standardised scores."""
    alpha, beta = start
    return np.array([alpha * (scores.mean() - beta), alpha * scores.std()])


def mean_square(curve, scores, observed):
    return np.mean((curve.accuracies(scores) - observed)**2)


@pytest.mark.parametrize('start', [None, *STARTS])
@pytest.mark.parametrize('alpha, beta, floor', CERTIFIED)
def test_certified_parameters_are_recovered(alpha, beta, floor, start):
    guess = start and guess_of(start, SCORES)
    observed = accuracies(alpha, beta, floor)
    curve, line = fit_curve(SCORES, observed, floor, guess)
    assert curve.alpha == pytest.approx(alpha, rel=1e-6)
    assert curve.beta == pytest.approx(beta, rel=0, abs=1e-6)
    assert curve.floor == floor
    assert mean_square(curve, SCORES, observed) < 1e-15
    np.testing.assert_allclose(line, guess_of((alpha, beta), SCORES), 1e-6,
                               1e-6)  # yapf: disable


@pytest.mark.parametrize('scores, observed', [
    ([-1.0, -1.0, 1.0, 1.0], [0.5, 0.9, 0.9, 0.5]),
    ([0.0, 1.0, 2.0], [0.2, 0.5, 0.2]),
    ([0.0, 1.0, 2.0, 3.0], [0.5, 0.9, 0.9, 0.5]),
])
def test_a_flat_optimum_predicts_the_mean(scores, observed):
    curve, _ = fit_curve(np.array(scores), np.array(observed), 0.1)
    np.testing.assert_allclose(
        curve.accuracies(np.array(scores)), np.mean(observed), rtol=1e-5)
    assert np.isfinite([curve.alpha, curve.beta]).all()


UNFIT = {
    'too_few_models': ([1.0, 2.0], [0.5, 0.9], 0.25),
    'constant_score': ([-0.1 - 0.2, -0.3, -0.3], [0.5, 0.6, 0.9], 0.25),
    'constant_accuracy': ([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], 0.25),
    'at_chance': ([1.0, 2.0, 3.0], [0.1, 0.2, 0.27], 0.25),
}


@pytest.mark.parametrize('name', UNFIT)
def test_a_task_that_cannot_be_fitted_is_diagnosed(name):
    scores, observed, chance = UNFIT[name]
    assert diagnose(np.array(scores), np.array(observed), chance) == (name, )


def test_chance_has_a_margin():
    scores = np.array([1.0, 2.0, 3.0])
    just_above = np.array([0.27 + 1e-9, 0.2, 0.1])
    assert diagnose(0 * scores, just_above, 0.25) == ('constant_score', )
    for unit in (1, 1e-13):
        assert diagnose(unit * scores, just_above, 0.25) == ()
    assert diagnose(scores, just_above - 2e-9, 0.25) == ('at_chance', )


@pytest.mark.parametrize('alpha, beta, floor', CERTIFIED)
def test_slopes_are_the_derivative_of_the_accuracies(alpha, beta, floor):
    curve, step = Curve(alpha, beta, floor), 1e-6
    exponents = curve.exponents(SCORES)
    np.testing.assert_allclose(exponents, alpha * (SCORES - beta), rtol=1e-14)
    rise = (accuracy_at(exponents + step, floor) -
            accuracy_at(exponents - step, floor))  # yapf: disable
    np.testing.assert_allclose(
        curve.slopes(SCORES), rise / (2 * step), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize('alpha, floor', [(-2, 1.01), (-2, -.01), (0, -1.1)])
def test_a_floor_is_a_fraction(alpha, floor):
    """That of a constant curve is twice the accuracy minus 1."""
    Curve([0, 0], [0, 0], [-1, 1])
    with pytest.raises(InputError, match='floor'):
        Curve(alpha, 0, floor)


def noisy(seed, floor, n=20):
    """Scores and accuracies that scatter about a curve."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(1.3, .2, n)
    scatter = .05 * rng.normal(size=n)
    observed = accuracies(-4., 1.3, floor, scores) + scatter
    return scores, np.clip(observed, 0, 1)


@pytest.mark.parametrize('floor', [0., .1, .2])
@pytest.mark.parametrize('seed', range(4))
def test_solutions_are_those_of_scipy(seed, floor):
    scores, observed = noisy(seed, floor)

    def residuals(parameters):
        alpha, beta = parameters
        share = expit(alpha * (scores - beta))
        return floor + (1 - floor) * share - observed

    expected = least_squares(
        residuals, [-4., 1.3], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    far = guess_of((5., 1.), scores)
    for guess in (None, far):
        curve, _ = fit_curve(scores, observed, floor, guess)
        np.testing.assert_allclose([curve.alpha, curve.beta], expected.x,
                                   rtol=1e-6)  # yapf: disable


def test_the_better_of_two_solutions_is_returned():
    """A guess that is a step ends where it starts."""
    scores, observed = noisy(0, .1)
    alone, line = fit_curve(scores, observed, .1)
    curve, found = fit_curve(scores, observed, .1, np.array([500., 1e3]))
    np.testing.assert_array_equal(found, line)
    assert curve.alpha == alone.alpha


@pytest.mark.parametrize('level', [0.0, 0.1, -1.3])
def test_equal_scores_give_the_mean_accuracy(level):
    scores, observed = np.full(3, level), np.array([0.3, 0.5, 0.7])
    curve, line = fit_curve(scores, observed, 0.)
    np.testing.assert_allclose(line[1], 0, atol=1e-9)
    np.testing.assert_allclose(curve.accuracies(scores), 0.5, rtol=1e-3)


def test_separable_data_end_at_a_steep_but_finite_curve():
    """Every steeper slope fits better, until the steps run out."""
    scores, observed = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([0, 0, 1, 1])
    curve, _ = fit_curve(scores, observed, 0.)
    assert np.isfinite([curve.alpha, curve.beta]).all()
    np.testing.assert_allclose(curve.accuracies(scores), observed, atol=1e-6)
