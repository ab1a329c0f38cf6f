"""Stacked penalised sigmoid regressions against scipy's solvers."""
import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.special import expit, logit

from csv_plugin.core.regression import Regressions


def problems(seed=0, n=20, n_columns=5, n_problems=6, n_free=2):
    """Q problems with their own masks and floors on one noisy design."""
    rng = np.random.default_rng(seed)
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, n_columns - 1))])
    truth = rng.normal(size=n_columns) * 0.7
    accuracy = 0.2 + 0.8 * expit(design @ truth)
    accuracy = np.clip(accuracy + 0.05 * rng.normal(size=n), 0, 1)
    masks = (rng.random((n_problems, n)) < 0.8).astype(float)
    floors = rng.choice([0.0, 0.1, 0.2], n_problems)
    return Regressions(design, accuracy, masks, floors, n_free)


def one(stack, q):
    return Regressions(stack.design, stack.accuracy, stack.masks[q:q + 1],
                       stack.floors[q:q + 1], stack.n_free)


def objective(stack, q, theta, penalty):
    """The objective as the module states it, literally."""
    kept = stack.masks[q] > 0
    fitted = expit(stack.design[kept] @ theta)
    fitted = stack.floors[q] + (1 - stack.floors[q]) * fitted
    return (np.mean((stack.accuracy[kept] - fitted)**2) +
            penalty * np.sum(theta[stack.n_free:]**2))


def scipy_solution(stack, q, penalty, start):
    kept = stack.masks[q] > 0
    floor = stack.floors[q]

    def residuals(theta):
        fitted = floor + (1 - floor) * expit(stack.design[kept] @ theta)
        return np.append((fitted - stack.accuracy[kept]) / np.sqrt(kept.sum()),
                         np.sqrt(penalty) * theta[stack.n_free:])

    return least_squares(
        residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14).x


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('n_free', [1, 2, 5])
@pytest.mark.parametrize('penalty', [0.0, 1e-3, 0.1, 10.0])
def test_solutions_are_those_of_scipy(penalty, n_free, seed):
    stack = problems(seed, n_free=n_free)
    found = stack.solve(penalty, stack.start(), tolerance=1e-14)
    for q, theta in enumerate(found):
        start = stack.start()[q]
        expected = scipy_solution(stack, q, penalty, start)
        np.testing.assert_allclose(theta, expected, rtol=1e-4, atol=1e-5)
        assert objective(
            stack, q, theta,
            penalty) <= objective(stack, q, expected, penalty) * (1 + 1e-9)


def test_the_default_tolerance_is_near_the_optimum():
    stack = problems()
    rough = stack.solve(1e-3, stack.start())
    exact = stack.solve(1e-3, stack.start(), tolerance=1e-14)
    for q in range(len(exact)):
        assert objective(
            stack, q, rough[q],
            1e-3) <= objective(stack, q, exact[q], 1e-3) * (1 + 1e-5)


def test_a_stack_is_solved_like_its_problems_one_by_one():
    stack = problems()
    together = stack.solve(1e-3, stack.start())
    for q, theta in enumerate(together):
        alone = one(stack, q)
        np.testing.assert_allclose(alone.start()[0], stack.start()[q], 1e-12)
        np.testing.assert_allclose(
            alone.solve(1e-3, alone.start())[0], theta, 1e-9)
        np.testing.assert_allclose(
            alone.predict(theta[None])[0],
            stack.predict(together)[q], 1e-12)


def test_more_rows_than_columns_are_not_needed():
    stack = problems(n=8, n_columns=30)
    found = stack.solve(1e-2, stack.start(), tolerance=1e-14)
    for q, theta in enumerate(found):
        expected = scipy_solution(stack, q, 1e-2, np.zeros(30))
        assert objective(stack, q, theta, 1e-2) == pytest.approx(
            objective(stack, q, expected, 1e-2), 1e-5)


def test_masked_rows_do_not_count():
    stack = problems()
    stack.masks[:, [0, 7]] = 0
    before = stack.solve(1e-3, stack.start())
    stack.accuracy[[0, 7]] = 0.987, 0.013
    stack.design[[0, 7], 1:] *= -3
    np.testing.assert_allclose(
        stack.solve(1e-3, stack.start()), before, rtol=1e-9)
    stack.accuracy[1] += 0.1
    assert np.abs(stack.solve(1e-3, stack.start()) - before).max() > 1e-4


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
    """As in a fold whose models all have one loss."""
    design = np.array([[1, level]] * 3 + [[1, 2.0]])
    stack = Regressions(design, np.array([0.3, 0.5, 0.7, 0.9]),
                        np.array([[1.0, 1, 1, 0], [1, 0, 0, 0]]),
                        np.array([0.0, 0.1]), 2)  # yapf: disable
    start = stack.start()
    np.testing.assert_allclose(start[:, 1], 0, atol=1e-9)
    found = stack.predict(stack.solve(0.0, start))
    np.testing.assert_allclose(found[0, :3], 0.5, rtol=1e-3)
    assert found[1, 0] == pytest.approx(0.3, abs=1e-3)
    assert np.isfinite(found).all()


def test_separable_data_end_at_a_steep_but_finite_curve():
    """No slope is steep enough: the steps run out."""
    z = np.array([-1.5, -0.5, 0.5, 1.5])
    stack = Regressions(
        np.stack([np.ones(4), z], axis=1), np.array([0.0, 0, 1, 1]),
        np.ones((1, 4)), np.zeros(1), 2)
    theta = stack.solve(0.0, stack.start())
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(
        stack.predict(theta)[0], [0, 0, 1, 1], atol=1e-6)


def test_a_problem_that_cannot_be_improved_stays_where_it_is():
    stack = problems()
    best = stack.solve(1e-2, stack.start(), tolerance=0.0)
    np.testing.assert_allclose(
        stack.solve(1e-2, best, tolerance=0.0), best, atol=1e-8)


def test_a_saturated_start_is_survived():
    stack = problems()
    theta = stack.solve(1e-3, np.full((6, 5), 1e3))
    assert np.isfinite(theta).all()


def test_solving_leaves_the_start_alone():
    stack = problems()
    start = stack.start()
    copy = start.copy()
    stack.solve(1e-3, start)
    np.testing.assert_array_equal(start, copy)


def test_prediction_is_equation_2_of_every_row():
    stack = problems()
    theta = np.random.default_rng(1).normal(size=(6, 5))
    found = stack.predict(theta)
    for q, floor in enumerate(stack.floors):
        expected = floor + (1 - floor) / (1 + np.exp(-stack.design @ theta[q]))
        np.testing.assert_allclose(found[q], expected, rtol=1e-12)
