"""The ridge solver and the all-token baseline."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from csv_plugin.core.salience import Ridge, Task, Uniform, fold_masks
from csv_plugin.core.scaling_law import fit_curve
from tests.core.worlds import (SCORES, accuracies, contradictory_task,
                               make_world, mse, phi_task)

HELD_OUT = ['family 0', 'family 1']


def fit(solver, task, n_repeats=3):
    return solver.fit(task, fold_masks(task.families, 0, n_repeats=n_repeats))


def held_out_errors(world, *solvers):
    """Against the noise-free accuracies of families never fitted on."""
    train, test = world.split(HELD_OUT)
    truth = world.truth[np.isin(world.task.families, HELD_OUT)]
    return [
        mse(fit(solver, train).model.predict(test.values), truth)
        for solver in solvers
    ]


@pytest.mark.parametrize('floor', [0.25, 0.1])
def test_planted_salience_is_found(floor):
    world = make_world(
        n=60, n_families=10, salience=(1, 3, 0, 0, 0, 0, 0, 0), noise=0.01,
        floor=floor)  # yapf: disable
    uniform, ridge = held_out_errors(world, Uniform(), Ridge())
    assert ridge < uniform / 5
    assert ridge < 0.02**2
    solution = fit(Ridge(), world.task)
    assert solution.notes == ()
    assert 0 < solution.penalty < np.inf
    coefficients = np.abs(solution.model.coefficients)
    assert coefficients[1] > coefficients[0] > 3 * coefficients[2:].max()


def test_negative_salience_is_found():
    world = make_world(n=60, n_families=10, salience=(3, -1, 1, 0), noise=0.01)
    uniform, ridge = held_out_errors(world, Uniform(), Ridge())
    assert ridge < uniform / 5
    assert fit(Ridge(), world.task).model.coefficients[1] < 0


def test_uniform_salience_is_not_made_worse():
    errors = np.array([
        held_out_errors(
            make_world(
                n=40, n_families=8, salience=[1] * 8, noise=0.05, seed=seed),
            Uniform(), Ridge()) for seed in range(12)
    ])
    uniform, ridge = errors.mean(axis=0)
    assert ridge - uniform < 0.15 * 0.05**2


def test_no_gain_falls_back_to_the_mean_loss():
    task = contradictory_task()
    ridge, uniform = fit(Ridge(), task), fit(Uniform(), task)
    assert ridge.penalty == np.inf
    assert 'no gain over uniform weights' in ridge.notes[0]
    assert ridge.cv_mse == uniform.cv_mse
    np.testing.assert_array_equal(ridge.model.coefficients,
                                  uniform.model.coefficients)
    assert uniform.notes == ()


def test_a_huge_penalty_is_the_uniform_weighting():
    task = make_world(salience=(5, 1, 0, 0), noise=0.03).task
    huge = Ridge(penalties=(1e9, ), learn_floor=False)
    uniform, ridge = fit(Uniform(), task), fit(huge, task)
    np.testing.assert_allclose(
        ridge.model.predict(task.values), uniform.model.predict(task.values),
        rtol=0, atol=1e-6)  # yapf: disable
    np.testing.assert_allclose(
        ridge.model.coefficients, uniform.model.coefficients, atol=1e-6)


def test_penalty_and_floor_minimise_the_held_out_error():
    task = make_world(
        n=40, n_families=6, salience=(5, 1, 0, 0), noise=0.05, floor=0.1).task
    penalties = (1.0, 1e-2, 1e-4)
    best = fit(Ridge(penalties), task, 1)
    alone = [fit(Ridge((p, )), task, 1).cv_mse for p in penalties]
    assert best.cv_mse == pytest.approx(min(alone), 1e-4)
    assert best.cv_mse < fit(Ridge(penalties, learn_floor=False), task,
                             1).cv_mse
    assert best.model.curve.floor == pytest.approx(0.1, abs=0.051)
    assert (best.folds.curve.floor == best.model.curve.floor).all()


@pytest.mark.parametrize('phi', [False, True])
def test_ridge_minimises_its_objective(phi):
    """`mse + penalty min_a |c - a u|^2`, features in standard units."""
    task = make_world(salience=(5, 1, 0), noise=0.05, chance=0.0).task
    task = phi_task(task, 2) if phi else task
    penalty = 0.01
    solution = fit(Ridge(penalties=(penalty, ), learn_floor=False), task)
    assert solution.penalty == penalty
    centred = task.values - task.values.mean(axis=0)
    unit = np.linalg.norm(centred, 2) / np.sqrt(len(centred))

    def objective(params):
        gradient, offset = params[:-1], params[-1]
        fitted = expit(offset + centred @ gradient)
        share = gradient @ task.uniform / (task.uniform @ task.uniform)
        distance = np.sum((gradient - share * task.uniform)**2) * unit**2
        return mse(fitted, task.accuracy) + penalty * distance

    gradient = solution.model.curve.alpha * solution.model.coefficients
    offset = (
        gradient @ task.values.mean(axis=0) -
        solution.model.curve.alpha * solution.model.curve.beta)
    expected = minimize(
        objective, np.zeros(task.values.shape[1] + 1), tol=1e-12)
    assert objective(np.append(gradient,
                               offset)) == pytest.approx(expected.fun, 1e-5)


def test_uniform_is_the_least_squares_fit_to_the_mean_loss():
    task = make_world(noise=0.05).task
    solution = fit(Uniform(), task)
    score = task.values @ task.uniform
    curve, _ = fit_curve(score, task.accuracy, task.chance)
    np.testing.assert_allclose(solution.model.coefficients, task.uniform,
                               1e-12)
    np.testing.assert_allclose(
        solution.model.predict(task.values),
        curve.accuracies(score),
        rtol=0,
        atol=1e-3)
    assert solution.model.curve.floor == task.chance
    assert (solution.solver, solution.penalty) == ('uniform', np.inf)


@pytest.mark.parametrize('alpha, beta, floor, chance', [
    (-6.0, 1.2, 0.1, 0.25),
    (-6.0, 1.2, 0.5, 0.5),
    (6.0, 1.2, 0.4, 0.5),
    (-25.0, 1.25, 0.2, 0.25),
    (-4.0, 1.3, 0.0, 0.25),
])
def test_certified_parameters_and_floors_are_recovered(alpha, beta, floor,
                                                       chance):
    """From floors to choose from, the certified one among them."""
    families = np.array([f'family {i % 4}' for i in range(len(SCORES))])
    task = Task.of(SCORES[:, None], np.ones(1), accuracies(alpha, beta, floor),
                   chance, families)
    curve = fit(Uniform(learn_floor=True), task).model.curve
    assert fit(Uniform(), task).model.curve.floor == chance
    assert curve.alpha == pytest.approx(alpha, rel=1e-6)
    assert curve.beta == pytest.approx(beta, rel=0, abs=1e-6)
    assert curve.floor == pytest.approx(floor, rel=0, abs=1e-6)
