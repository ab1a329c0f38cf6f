"""The non-negative solver."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import (NonNegative, Task, Uniform, fold_masks,
                                      nonnegative, nonnegative_regressions)
from csv_plugin.core.salience.nonnegative_regressions import \
    NonNegativeRegressions
from csv_plugin.core.salience.ridge_regressions import Problems
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


def objective_of(model, task, penalty):
    """At the least penalty that a scale of the weights allows."""
    relative = model.coefficients / task.uniform
    scale = relative.sum() / (relative @ relative)
    error = mse(model.predict(task.values), task.accuracy)
    return (error / task.accuracy.var() + penalty * np.mean(
        (scale * relative - 1)**2))


def regressions(task, floor, masks=None):
    masks = np.ones((1, len(task.accuracy))) if masks is None else masks
    return NonNegativeRegressions(
        task.values, task.uniform,
        Problems(task.accuracy, masks, np.full(len(masks), floor)))


def models_at(followed, penalty):
    followed.follow(penalty)
    return followed.models()


def made_up_task(seed, n=30, n_columns=60):
    """More columns than models; most of them are noise."""
    salience = np.r_[3, 1, 2, np.zeros(n_columns - 3)]
    return make_world(n=n, salience=salience, noise=0.03, seed=seed).task


def test_no_weaker_penalty_is_tried_after_a_hopeless_one(monkeypatch):
    """What is chosen is what it would be of all penalties."""
    salience = np.r_[3, 1, 2, np.zeros(197)]
    task = make_world(n=20, salience=salience, noise=0.03, seed=1).task
    every = fit(NonNegative(), task)
    errors = every.path.held_out_mse
    assert len(errors) == len(every.path.penalties) == 10
    limit = errors[-1] / errors.min() * 0.8
    monkeypatch.setattr(nonnegative, 'HOPELESS', limit)
    fewer = fit(NonNegative(), task)
    n = len(fewer.path.penalties)
    assert 1 < n < 10
    assert errors[n] > limit * errors.min() >= errors[:n].max()
    np.testing.assert_array_equal(fewer.path.penalties,
                                  every.path.penalties[:n])
    np.testing.assert_array_equal(fewer.path.held_out_mse, errors[:n])
    assert len(fewer.path.models.coefficients) == n
    assert fewer.penalty == every.penalty
    np.testing.assert_array_equal(fewer.model.coefficients,
                                  every.model.coefficients)


def test_a_hopeless_penalty_is_left_before_it_is_solved():
    followed, asked = regressions(made_up_task(0), 0.2), []

    def hopeless():
        asked.append(followed.accuracies)
        return len(asked) == 2

    followed.follow(0.01, hopeless)
    assert len(asked) == 2
    solved = regressions(made_up_task(0), 0.2)
    solved.follow(0.01)
    assert np.abs(followed.accuracies - solved.accuracies).max() > 1e-4
    np.testing.assert_allclose(
        solved.models().predict(made_up_task(0).values),
        solved.accuracies,
        rtol=0,
        atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize('penalty', [0.1, 3e-3])
def test_softplus_of_any_number_is_no_better(penalty):
    """L-BFGS on the weights' softplus, with the line fitted beside them."""
    task, floor = made_up_task(0), 0.2
    followed = regressions(task, floor)
    for step in (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3):
        model = models_at(followed, step)[0]
        if step == penalty:
            break
    columns = task.values * task.uniform
    columns = (columns - columns.mean(axis=0)) / columns.sum(axis=1).std()

    def objective(params):
        weights = np.logaddexp(0, params[2:])
        score = columns @ weights
        share = expit(params[0] + params[1] * score)
        residual = floor + (1 - floor) * share - task.accuracy
        scale = 2 / task.accuracy.var() / len(score)
        slope = scale * (1 - floor) * residual * share * (1 - share)
        by_weight = params[1] * (slope @ columns)
        by_weight += 2 * penalty * (weights - 1) / len(weights)
        value = (
            mse(residual, 0) / task.accuracy.var() + penalty * np.mean(
                (weights - 1)**2))
        return value, np.r_[slope.sum(), slope @ score,
                            by_weight * expit(params[2:])]

    # From the optimum, a little off, there is nowhere to go down.
    relative = model.coefficients / task.uniform
    weights = relative * relative.sum() / (relative @ relative)
    alpha = model.curve.exponents(model.scores(task.values))
    slope, offset = np.polyfit(columns @ weights, alpha, 1)
    theta = np.log(np.expm1(np.maximum(weights, 1e-3)))
    reached = minimize(
        objective,
        np.r_[offset, slope, theta],
        jac=True,
        method='L-BFGS-B',
        options={
            'ftol': 1e-15,
            'gtol': 1e-10,
            'maxiter': 2000
        }).fun
    ours = objective_of(model, task, penalty)
    assert reached * (1 - 1e-3) <= ours <= reached * (1 + 1e-9)


@pytest.mark.slow
def test_all_masks_at_once_or_one_at_a_time():
    task, floor = made_up_task(1), 0.2
    masks = np.random.default_rng(0).random((4, len(task.accuracy))) < .8
    together = regressions(task, floor, masks.astype(float))
    alone = [regressions(task.select(mask), floor) for mask in masks]
    for penalty in (1.0, 0.1, 0.01):
        expected = [models_at(one, penalty)[0].predict(task.values)
                    for one in alone]  # yapf: disable
        np.testing.assert_allclose(
            models_at(together, penalty).predict(task.values),
            expected,
            rtol=0,
            atol=1e-6)


@pytest.mark.parametrize('constant, values', [('MAX_DIRECT_SHARE', (0, 2)),
                                              ('WIDE', (50, 1))])
def test_steps_of_each_kind_end_alike(monkeypatch, constant, values):
    """Conjugate gradients, where there are any, and equations."""
    task, models, counts = made_up_task(2), [], []
    conjugate = NonNegativeRegressions._conjugate

    def counted(self, *args):
        counts[-1] += 1
        return conjugate(self, *args)

    monkeypatch.setattr(NonNegativeRegressions, '_conjugate', counted)
    for value in values:
        counts.append(0)
        monkeypatch.setattr(nonnegative_regressions, constant, value)
        followed = regressions(task, 0.2)
        models.append([models_at(followed, p)[0] for p in (1.0, 0.1, 0.03)])
    assert counts[0] > counts[1] == 0
    for by_iterations, by_equations in zip(*models):
        np.testing.assert_allclose(
            by_iterations.predict(task.values),
            by_equations.predict(task.values),
            rtol=0,
            atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize('unit', [1e-150, 1.0, 1e3])
@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(4, 12), st.integers(1, 8))
def test_never_a_worse_objective_than_uniform_weights(unit, seed, n,
                                                      n_columns):
    """Also with columns that do not vary, equal models, losses of 0."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.uniform(0, 4, (n, n_columns)), 1 + seed % 3)
    values[:, rng.random(n_columns) < .2] = seed % 2
    values[rng.random(n) < .2] = values[0]
    task = Task.of(unit * values, rng.uniform(.1, 1, n_columns),
                   np.round(rng.random(n), seed % 4), 0.0, np.arange(n))
    assume(not task.problems)
    line = Uniform().fit(task, np.zeros((0, n), dtype=bool)).model
    worst = objective_of(line, task, 0.0)
    followed = regressions(task, 0.0)
    for penalty in (1.0, 0.1, 1e-3):
        model = models_at(followed, penalty)[0]
        assert (model.coefficients >= 0).all()
        found = objective_of(model, task, penalty)
        assert found <= worst * (1 + 1e-6) + 1e-12


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


def candidates_of(solver, task, masks):
    uniform = Uniform(learn_floor=True).fit(task, masks)
    candidates, errors = solver._candidates(task, masks, uniform)
    assert len(errors) == len(candidates) + 1
    return candidates


def test_folds_without_a_slope_predict_their_mean(monkeypatch):
    monkeypatch.setattr(nonnegative, 'HOPELESS', np.inf)
    task = make_world(n=24, n_families=3, salience=(5, 1, 0), noise=0.02).task
    first = task.families == 'family 0'
    alike = replace(task, accuracy=np.where(first, task.accuracy, 0.8))
    solver = NonNegative(penalties=(0.1, ))
    masks = np.stack([~first, first])
    models, = candidates_of(solver, alike, masks)
    folds = models.predict(task.values)
    np.testing.assert_allclose(folds[0], 0.8)
    assert np.ptp(folds[1]) > 0.1 and np.ptp(folds[2]) > 0.1
    candidates = candidates_of(SOLVER, alike, masks)
    assert len(candidates) == len(SOLVER.penalties)


def test_accuracies_about_the_chance_level_are_fitted():
    task = make_world(n=24, salience=(5, 1, 0), floor=0, noise=0.005).task
    task = replace(task, accuracy=0.25 * task.accuracy)
    assert task.at_chance and not task.problems
    masks = np.arange(24) >= np.array([[4], [8]])
    models, = candidates_of(NonNegative((0.01, )), task, masks)
    weights = models[-1].coefficients / task.uniform
    assert weights[0] > weights[1] > weights[2]


@pytest.mark.parametrize('smallest', [0.0, -0.1])
def test_columns_without_a_share_of_the_mean_loss_are_refused(smallest):
    task = make_world().task
    uniform = np.array([0.5, 0.3, smallest, 0.2])
    with pytest.raises(InputError, match=f'found {smallest}.*ridge'):
        fit(SOLVER, task.on(task.values, uniform))


def test_directions_of_a_scoring_lm_are_refused():
    with pytest.raises(InputError, match='positive uniform'):
        fit(SOLVER, phi_task(make_world().task))
