"""The curve, and its fit against certified values and scipy's solvers."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.special import expit, logit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.scaling_law import (Curve, Regressions, accuracy_at,
                                         diagnose, fit_curve)
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


def problems(seed=0, n=20, n_columns=5, n_problems=6):
    """Q problems with their own masks and floors on one noisy design."""
    rng = np.random.default_rng(seed)
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, n_columns - 1))])
    truth = rng.normal(size=n_columns) * 0.7
    accuracy = 0.2 + 0.8 * expit(design @ truth)
    accuracy = np.clip(accuracy + 0.05 * rng.normal(size=n), 0, 1)
    masks = (rng.random((n_problems, n)) < 0.8).astype(float)
    floors = rng.choice([0.0, 0.1, 0.2], n_problems)
    return Regressions(design, accuracy, masks, floors)


def scipy_solution(stack, q, start):
    """That of the objective as the module states it, literally."""
    kept, floor = stack.masks[q] > 0, stack.floors[q]

    def residuals(theta):
        fitted = floor + (1 - floor) * expit(stack.design[kept] @ theta)
        return fitted - stack.accuracy[kept]

    return least_squares(
        residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14).x


@pytest.mark.parametrize('seed', range(4))
def test_solutions_are_those_of_scipy(seed):
    """On one design, and on designs of which each is another one."""
    stack = problems(seed)
    start = stack.start()
    expected = [scipy_solution(stack, q, start[q]) for q in range(len(start))]
    factors = np.arange(1, 7)[:, None, None]**[0, 1, 0, 1, 1]
    each = replace(stack, design=stack.design * factors)
    for found in (stack.solve(start, tolerance=1e-14),
                  stack.solve(-2 * start, tolerance=1e-14),
                  each.solve(each.start(), tolerance=1e-14) * factors[:, 0]):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_start_is_a_logit_regression_on_the_second_column():
    stack = problems()
    stack.accuracy[:3] = 0.0, 0.3, 1.0
    for q, theta in enumerate(stack.start()):
        kept, floor = stack.masks[q] > 0, stack.floors[q]
        share = (stack.accuracy[kept] - floor) / (1 - floor)
        slope, intercept = np.polyfit(stack.design[kept, 1],
                                      logit(np.clip(share, 0.02, 0.98)), 1)
        expected = [intercept, slope] + [0] * 3
        np.testing.assert_allclose(theta, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize('level', [0.0, 0.1, -1.3])
def test_rows_alike_give_a_flat_start_and_their_mean(level):
    """As in a fold whose models all have the same loss."""
    design = np.array([[1, level]] * 3 + [[1, 2.0]])
    stack = Regressions(design, np.array([0.3, 0.5, 0.7, 0.9]),
                        np.array([[1.0, 1, 1, 0], [1, 0, 0, 0]]),
                        np.array([0.0, 0.1]))  # yapf: disable
    start = stack.start()
    np.testing.assert_allclose(start[:, 1], 0, atol=1e-9)
    predicted = stack.predict(stack.solve(start))
    np.testing.assert_allclose(predicted[0, :3], 0.5, rtol=1e-3)
    assert predicted[1, 0] == pytest.approx(0.3, abs=1e-3)
    assert np.isfinite(predicted).all()


def test_separable_data_end_at_a_steep_but_finite_curve():
    """Every steeper slope fits better, until the steps run out."""
    z = np.array([-1.5, -0.5, 0.5, 1.5])
    stack = Regressions(
        np.stack([np.ones(4), z], axis=1), np.array([0.0, 0, 1, 1]),
        np.ones((1, 4)), np.zeros(1))
    theta = stack.solve(stack.start())
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(
        stack.predict(theta)[0], [0, 0, 1, 1], atol=1e-6)
