"""The ridge solver and the all-token baseline."""
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize
from scipy.special import expit

from csv_plugin.core.salience import Ridge, Task, Uniform, fold_masks, ridge
from csv_plugin.core.salience.base import SharedFeatures
from csv_plugin.core.salience.ridge import (PENALTIES, Problems,
                                            RidgeRegressions)
from csv_plugin.core.scaling_law import Regressions
from tests.core.worlds import (SCORES, accuracies, contradictory_task,
                               make_world, mse, phi_task)


def fit(solver, task, n_repeats=3):
    return solver.fit(task, fold_masks(task.families, 0, n_repeats=n_repeats))


def test_no_gain_falls_back_to_the_mean_loss():
    task = contradictory_task()
    ridge, uniform = fit(Ridge(), task), fit(Uniform(), task)
    assert ridge.penalty == np.inf
    assert 'no gain over uniform weights' in ridge.notes[0]
    assert ridge.cv_mse == uniform.cv_mse
    np.testing.assert_array_equal(ridge.model.coefficients,
                                  uniform.model.coefficients)
    assert uniform.notes == ()


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


def made(seed=0, n=20, n_columns=5, n_problems=6):
    """Features of n models and noisy problems on them."""
    rng = np.random.default_rng(seed)
    values = 2 + rng.normal(size=(n, n_columns))
    truth = rng.normal(size=n_columns) * 0.7
    accuracy = 0.2 + 0.8 * expit((values - 2) @ truth)
    accuracy = np.clip(accuracy + 0.05 * rng.normal(size=n), 0, 1)
    masks = (rng.random((n_problems, n)) < 0.8).astype(float)
    return values, Problems(accuracy, masks,
                            rng.choice([0.0, 0.1, 0.2], n_problems))


def ridge_on(values):
    return RidgeRegressions.of(
        SharedFeatures(values, np.full(values.shape[1], 1 / values.shape[1])))


def solved(values, problems, *penalties):
    ridge = ridge_on(values)
    last = ridge.path(problems, penalties)[-1]
    return ridge.refined(problems, last, penalties[-1])


def residuals(theta, free, centred, problems, q, strength):
    """Those of the objective as `Problems` states it, literally."""
    kept = problems.masks[q] > 0
    exponents = free @ theta[:2] + centred @ theta[2:]
    floor = problems.floors[q]
    errors = floor + (1 - floor) * expit(exponents) - problems.accuracy
    return np.append(errors[kept] / np.sqrt(kept.sum()),
                     np.sqrt(strength) * theta[2:])


def fitted(problems, solutions):
    floors = problems.floors[:, None]
    return problems.masks * (
        floors + (1 - floors) * expit(solutions.exponents))


@pytest.mark.parametrize('penalty, shape', [
    (1e-3, (20, 5)), (0.1, (8, 30)), (0.1, (40, 90)), (10.0, (40, 90))
])  # yapf: disable
def test_no_solution_is_worse_than_those_of_scipy(penalty, shape):
    values, problems = made(1, *shape, n_problems=3)
    solutions = solved(values, problems, penalty)
    centre = ridge_on(values).centre
    free, centred = centre.free, (values - centre.means) * centre.scale
    variances = np.linalg.svd(centred, compute_uv=False)**2
    strength = penalty * variances[0] / shape[0]
    gradients = solutions.penalised @ centred
    for q, gradient in enumerate(gradients):
        theta = np.append(solutions.free[q], gradient)
        np.testing.assert_allclose(
            free @ theta[:2] + centred @ gradient,
            solutions.exponents[q], atol=1e-8)  # yapf: disable
        args = free, centred, problems, q, strength
        value = np.sum(residuals(theta, *args)**2)
        for start in (theta, np.zeros(len(theta))):
            best = least_squares(
                residuals, start, args=args, xtol=1e-15, ftol=1e-15,
                gtol=1e-15)  # yapf: disable
            assert value <= 2 * best.cost * (1 + 1e-9)


def test_a_fit_takes_few_newton_steps(monkeypatch):
    """Those of all regressions, and the preconditioners in a step."""
    taken = Counter()

    def count(part, name):
        method = getattr(part, name)

        def counted(self, rows, *arguments):
            taken[part] += len(rows)
            return method(self, rows, *arguments)

        monkeypatch.setattr(part, name, counted)

    for part in (Regressions, ridge._PenaltyPath):
        count(part, '_step')
    count(ridge._System, '_precondition')
    values, problems = made(5, 60, 90)
    ridge_on(values).path(problems, PENALTIES)
    assert taken[Regressions] < 4 * 6
    assert taken[ridge._PenaltyPath] < 3.8 * 6 * len(PENALTIES)
    assert taken[ridge._System] < 4.5 * taken[ridge._PenaltyPath]


def test_products_in_32_bits_are_exact_enough(monkeypatch):
    monkeypatch.setattr(ridge, 'MANY_MODELS', 40)
    values, problems = made(5, 60, 90)
    penalties = 1.0, 0.1, 1e-2, 1e-3
    short, long = ridge_on(values), ridge_on(values)
    assert short.products.others.dtype == np.float32
    vars(long)['products'] = replace(long.products, others=None)
    for one, other in zip(
            short.path(problems, penalties), long.path(problems, penalties)):
        np.testing.assert_allclose(
            fitted(problems, one), fitted(problems, other), atol=1e-7)


def test_models_that_do_not_count_have_no_multiplier():
    values, problems = made(5)
    problems.masks[:, [0, 7]] = 0
    before = solved(values, problems, 1e-3)
    problems.accuracy[[0, 7]] = 0.987, 0.013
    after = solved(values, problems, 1e-3)
    assert not after.penalised[problems.masks == 0].any()
    np.testing.assert_allclose(after.exponents, before.exponents, atol=1e-6)


@pytest.mark.parametrize('scale', [1e-140, 1e300])
def test_the_scale_of_the_features_does_not_matter(scale):
    values, problems = made(6)
    np.testing.assert_allclose(
        solved(scale * values, problems, 1e-3).exponents,
        solved(values, problems, 1e-3).exponents, atol=1e-5)  # yapf: disable
