"""The non-negative solver."""
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from csv_plugin.core.salience import (NonNegative, Uniform, fold_masks,
                                      nonnegative)
from csv_plugin.core.salience.base import held_out_mse
from tests.core.worlds import contradictory_task, make_world, mse

SOLVER = NonNegative(penalties=(1.0, 0.1, 0.01, 1e-3))


def fit(solver, task):
    return solver.fit(task, fold_masks(task.families, 0, n_repeats=1))


@pytest.mark.parametrize('alpha', [-2.0, 0.3])
def test_weights_are_not_negative_and_one_on_average(alpha):
    task = make_world(
        n=40, salience=(3, -2, 1, 0), alpha=alpha, noise=0.005).task
    solution = fit(SOLVER, task)
    assert solution.penalty < np.inf
    for model in (solution.model, solution.folds):
        weights = model.coefficients / task.uniform
        assert (weights >= 0).all()
        np.testing.assert_allclose(np.abs(weights).mean(axis=-1), 1, 1e-9)
    assert solution.model.coefficients[
        1] < 0.1 * solution.model.coefficients[0]


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
    ours = objective_of(solution.model, task, penalty)
    assert ours <= min(reached) * (1 + 1e-5)


def test_weak_penalties_do_not_end_early(monkeypatch):
    """The objective is nearly flat there, so loose tolerances would stop."""
    task = make_world(n=40, salience=[3, 1] + 60 * [0], noise=.02).task
    solver = NonNegative(penalties=(1e-4, ))
    chosen = fit(solver, task)
    assert chosen.penalty == 1e-4
    ours = objective_of(chosen.model, task, 1e-4)
    monkeypatch.setattr(nonnegative, 'TOLERANCE', 0)
    monkeypatch.setattr(nonnegative, 'LEAST_SLOPE', 1e-12)
    exact = objective_of(fit(solver, task).model, task, 1e-4)
    assert ours <= exact * (1 + 1e-7)


def objective_of(model, task, penalty):
    """At the least penalty that a scale of the weights allows."""
    relative = model.coefficients / task.uniform
    scale = relative.sum() / (relative @ relative)
    error = mse(model.predict(task.values), task.accuracy)
    return (error / task.accuracy.var() + penalty * np.mean(
        (scale * relative - 1)**2))


def test_no_weaker_penalty_is_tried_after_a_hopeless_one(monkeypatch):
    salience = np.r_[3, 1, 2, np.zeros(97)]
    task = make_world(n=20, salience=salience, noise=0.03, seed=24).task
    solver = NonNegative(penalties=NonNegative().penalties[1::2])
    errors = []

    def kept_mse(*arguments):
        errors.append(held_out_mse(*arguments))
        return errors[-1]

    monkeypatch.setattr(nonnegative, 'held_out_mse', kept_mse)
    fewer = fit(solver, task)
    n, first = len(errors), errors.copy()
    monkeypatch.setattr(nonnegative, 'HOPELESS', np.inf)
    errors.clear()
    every = fit(solver, task)
    assert 1 < n < len(errors) == 4
    assert errors[:n] == first
    least = min(errors[:n - 1])
    assert errors[n - 1] > 2 * least >= max(errors[:n - 1])
    best = solver.penalties[np.argmin(first)]
    assert fewer.penalty == every.penalty == best
    np.testing.assert_array_equal(fewer.model.coefficients,
                                  every.model.coefficients)


def test_no_gain_falls_back_to_the_mean_loss():
    task = contradictory_task()
    solution, uniform = fit(SOLVER, task), fit(Uniform(learn_floor=True), task)
    assert (solution.solver, solution.penalty) == ('nonnegative', np.inf)
    assert 'no gain over uniform weights' in solution.notes[0]
    assert solution.cv_mse == uniform.cv_mse
    np.testing.assert_array_equal(solution.model.coefficients,
                                  uniform.model.coefficients)


def test_the_floor_is_that_of_the_mean_loss():
    task = make_world(n=40, salience=(5, 2, 0), floor=0.05, noise=0.01).task
    solution = fit(SOLVER, task)
    assert solution.penalty < np.inf and not solution.notes
    floor = fit(Uniform(learn_floor=True), task).model.curve.floor
    assert solution.model.curve.floor == floor < task.chance
    assert (solution.folds.curve.floor == floor).all()
