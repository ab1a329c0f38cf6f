"""The non-negative solver."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import NonNegative, Uniform, fold_masks
from csv_plugin.core.salience.nonnegative import THETA_OF_ONE, _Problem
from tests.core.worlds import contradictory_task, make_world, mse, phi_task

SOLVER = NonNegative(penalties=(1.0, 0.1, 0.01, 1e-3))


def fit(solver, task):
    return solver.fit(task, fold_masks(task.families, 0, n_repeats=1))


@pytest.mark.slow
def test_planted_salience_is_found():
    world = make_world(
        n=60, n_families=10, salience=(1, 3, 0, 0, 0, 0), noise=0.01)
    train, test = world.split(['family 0', 'family 1'])
    errors = [
        mse(fit(solver, train).model.predict(test.values), test.accuracy)
        for solver in (SOLVER, Uniform())
    ]
    assert errors[0] < errors[1] / 4
    solution = fit(SOLVER, train)
    assert solution.notes == ()
    assert solution.penalty in SOLVER.penalties
    weights = solution.model.coefficients
    assert weights[1] > weights[0] > 2 * weights[2:].max()


def test_weights_are_not_negative_and_one_on_average():
    task = make_world(n=40, salience=(3, -2, 1, 0), noise=0.02).task
    solution = fit(SOLVER, task)
    assert solution.penalty < np.inf
    for model in (solution.model, solution.folds):
        weights = model.coefficients / task.uniform
        assert (weights >= 0).all()
        np.testing.assert_allclose(np.abs(weights).mean(axis=-1), 1, 1e-9)
    assert solution.model.coefficients[
        1] < 0.1 * solution.model.coefficients[0]


@pytest.mark.parametrize('floor', [0.0, 0.2])
@pytest.mark.parametrize('penalty', [0.0, 0.3])
@pytest.mark.parametrize('alpha', [-2.0, 2.0])
def test_gradient_equals_finite_differences(alpha, penalty, floor):
    task = make_world(n=30, alpha=alpha, noise=0.05).task
    problem = _Problem(task, floor)
    for seed in range(3):
        theta = np.random.default_rng(seed).normal(size=4)
        _, gradient = problem.objective(theta, penalty)
        expected = approx_fprime(theta,
                                 lambda t: problem.objective(t, penalty)[0],
                                 1e-7)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)


def test_the_objective_is_that_of_the_docstring():
    task = make_world(n=30, noise=0.05).task
    theta = np.array([-1.0, 0.5, 0.0, 2.0])
    weights = np.log(1 + np.exp(theta))
    score = (task.values * task.uniform) @ weights

    def error(line):
        fitted = 0.2 + 0.8 * expit(line[0] + line[1] * (score - score.mean()))
        return mse(fitted, task.accuracy) / task.accuracy.var()

    best = minimize(error, np.array([0.0, -3.0]), tol=1e-12).fun
    value, _ = _Problem(task, 0.2).objective(theta, 0.3)
    assert value == pytest.approx(best + 0.3 * np.mean((weights - 1)**2), 1e-8)
    assert np.log(1 + np.exp(THETA_OF_ONE)) == pytest.approx(1, 1e-15)


@pytest.mark.parametrize('penalty', [1.0, 0.03])
def test_scipy_finds_no_better_optimum_from_another_start(penalty):
    """Weights, slope and offset at once, the weights bounded, not softplus."""
    task = make_world(n=40, salience=(5, 1, 0, 0), noise=0.05, chance=0.0).task
    solution = fit(NonNegative(penalties=(penalty, )), task)
    assert solution.penalty == penalty
    columns = task.values * task.uniform

    def objective(params):
        score = columns @ params[2:]
        fitted = expit(params[0] + params[1] * (score - score.mean()))
        return (mse(fitted, task.accuracy) / task.accuracy.var() +
                penalty * np.mean((params[2:] - 1)**2))

    reached = [
        minimize(
            objective, np.array([0.0, slope, *weights]),
            bounds=[(None, None)] * 2 + [(0, None)] * 4,
            options={'ftol': 1e-14, 'gtol': 1e-9, 'maxfun': 10**5}).fun
        for slope, weights in ((-5, [1, 2, 1, 2]), (-15, [0.1, 0.1, 3, 0.1]))
    ]  # yapf: disable
    # The scale of the weights is free: that of the least penalty counts.
    relative = solution.model.coefficients / task.uniform
    scale = relative.sum() / (relative @ relative)
    ours = (
        mse(solution.model.predict(task.values), task.accuracy) /
        task.accuracy.var() + penalty * np.mean((scale * relative - 1)**2))
    assert ours <= min(reached) * (1 + 1e-5)


def test_no_gain_falls_back_to_the_mean_loss():
    task = contradictory_task()
    solution, uniform = fit(SOLVER, task), fit(Uniform(learn_floor=True), task)
    assert (solution.solver, solution.penalty) == ('nonnegative', np.inf)
    assert 'no gain over uniform weights' in solution.notes[0]
    assert solution.cv_mse == uniform.cv_mse
    np.testing.assert_array_equal(solution.model.coefficients,
                                  uniform.model.coefficients)


@pytest.mark.slow
def test_the_best_penalty_is_kept():
    task = make_world(n=40, salience=(5, 1, 0, 0), noise=0.05).task
    alone = {p: fit(NonNegative((p, )), task).cv_mse for p in SOLVER.penalties}
    solution = fit(SOLVER, task)
    assert solution.penalty == min(alone, key=alone.get)
    assert solution.cv_mse == pytest.approx(alone[solution.penalty], 1e-3)


def test_the_floor_is_that_of_the_mean_loss():
    task = make_world(n=40, salience=(5, 2, 0), floor=0.05, noise=0.01).task
    solution = fit(SOLVER, task)
    assert solution.penalty < np.inf
    floor = fit(Uniform(learn_floor=True), task).model.curve.floor
    assert solution.model.curve.floor == floor < task.chance
    assert (solution.folds.curve.floor == floor).all()


def test_folds_without_a_slope_predict_their_mean():
    task = make_world(n=24, n_families=3, salience=(5, 1, 0), noise=0.02).task
    first = task.families == 'family 0'
    alike = replace(task, accuracy=np.where(first, task.accuracy, 0.8))
    solver = NonNegative(penalties=(0.1, ))
    masks = np.stack([~first, first])
    folds = [model.predict(task.values) for model in
             map(lambda row: next(solver._path(alike.select(row), 0.2)),
                 masks)]  # yapf: disable
    np.testing.assert_allclose(folds[0], 0.8)
    assert np.ptp(folds[1]) > 0.1
    paths = list(SOLVER._path(alike.select(masks[0]), 0.2))
    assert len(paths) == len(SOLVER.penalties)


@pytest.mark.parametrize('smallest', [0.0, -0.1])
def test_columns_without_a_share_of_the_mean_loss_are_refused(smallest):
    task = make_world().task
    uniform = np.array([0.5, 0.3, smallest, 0.2])
    with pytest.raises(InputError, match=f'found {smallest}.*ridge'):
        fit(SOLVER, replace(task, uniform=uniform))


def test_directions_of_a_scoring_lm_are_refused():
    with pytest.raises(InputError, match='positive uniform'):
        fit(SOLVER, phi_task(make_world().task))
