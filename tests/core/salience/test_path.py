"""What the penalty was chosen from."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.salience import (Auto, Constant, NonNegative, Ridge,
                                      Uniform, fold_masks)
from csv_plugin.core.salience.choice import OnColumns
from tests.core.worlds import contradictory_task, make_world, mse, phi_task

TASK = make_world(
    n=28, n_families=5, salience=(5, 1, 0, 0), noise=0.03, floor=0.2).task
MASKS = fold_masks(TASK.families, 0, n_repeats=1)
FEW = NonNegative(penalties=(1.0, 0.1, 0.01))
PART = np.array([2, 0])
SOLVERS = {
    'ridge': Ridge(),
    'uniform': Uniform(),
    'uniform, learned floor': Uniform(learn_floor=True),
    'nonnegative': FEW,
    'auto': Auto(),
    'columns': OnColumns('two', Ridge(), PART, np.array([.5, .5])),
    'nonnegative columns': OnColumns('two', FEW, PART, np.array([.5, .5])),
}
for_all = pytest.mark.parametrize('name', [
    *(name for name in SOLVERS if name != 'auto'),
    pytest.param('auto', marks=pytest.mark.slow)
])


@for_all
def test_the_chosen_model_is_on_the_path(name):
    fit = SOLVERS[name].fit(TASK, MASKS)
    path = fit.path
    assert path.penalties[0] == np.inf
    assert (np.diff(path.penalties) < 0).all()
    chosen, = np.flatnonzero(path.penalties == fit.penalty)
    models, n_steps = path.models, len(path.penalties)
    np.testing.assert_array_equal(models[chosen].coefficients,
                                  fit.model.coefficients)
    assert len(models.coefficients) == n_steps
    for part in ('alpha', 'beta', 'floor'):
        np.testing.assert_array_equal(
            getattr(models[chosen].curve, part),
            getattr(fit.model.curve, part))
        assert len(getattr(models.curve, part)) == n_steps
    assert path.held_out_mse.shape == path.penalties.shape
    assert path.held_out_mse[chosen] == fit.cv_mse == path.held_out_mse.min()


@for_all
def test_it_sets_out_from_uniform_weights(name):
    solver = SOLVERS[name]
    first = solver.fit(TASK, MASKS).path.models[0].coefficients
    expected = np.zeros(4)
    if isinstance(solver, OnColumns):
        expected[PART] = .5
    else:
        expected = TASK.uniform
    np.testing.assert_allclose(first, expected, atol=1e-12)


@pytest.mark.parametrize('solver, n_penalties', [(Ridge(), 21), (FEW, 3),
                                                 (Uniform(), 0)])
def test_every_penalty_is_a_step(solver, n_penalties):
    path = solver.fit(TASK, MASKS).path
    assert path.penalties.tolist() == [
        np.inf, *getattr(solver, 'penalties', ())
    ]
    assert len(path.penalties) == 1 + n_penalties
    errors = [
        mse(path.models[i].predict(TASK.values), TASK.accuracy)
        for i in range(1 + n_penalties)
    ]
    # A weaker penalty never fits clearly worse.
    assert (np.diff(errors) < 1e-6).all()


@pytest.mark.parametrize('solver', [Ridge(), FEW])
def test_errors_are_those_of_each_penalty_alone(solver):
    path = solver.fit(replace(TASK, chance=0.), MASKS).path
    task = replace(TASK, chance=0.)
    for penalty, error in zip(path.penalties[1:4], path.held_out_mse[1:4]):
        alone = replace(solver, penalties=(float(penalty), ))
        error_alone = alone.fit(task, MASKS).path.held_out_mse[1]
        assert error_alone == pytest.approx(error, rel=1e-3)


def test_no_choice_no_path():
    """A solver that predicts the mean accuracy has no penalty to choose."""
    task = contradictory_task()
    masks = fold_masks(task.families, 0, n_repeats=1)
    assert Constant().fit(task, masks).path is None
    flat = OnColumns('flat', Ridge(), np.array([4]), np.ones(1))
    values = np.hstack([TASK.values, np.full((28, 1), .5)])
    wide = TASK.on(values, np.append(TASK.uniform, 0))
    assert flat.fit(wide, MASKS).path is None


@pytest.mark.parametrize('solver', [Ridge(), FEW])
def test_without_a_gain_the_path_ends_where_it_begins(solver):
    task = contradictory_task()
    fit = solver.fit(task, fold_masks(task.families, 0, n_repeats=1))
    assert fit.penalty == fit.path.penalties[0] == np.inf
    assert fit.path.held_out_mse[0] == fit.cv_mse
    np.testing.assert_array_equal(fit.path.models[0].coefficients,
                                  fit.model.coefficients)


@pytest.mark.parametrize('solver', [Ridge(), Uniform(), FEW, Auto()])
def test_nothing_held_out_leaves_uniform_weights_alone(solver):
    task = make_world(n_families=1, noise=0.05).task
    path = solver.fit(task, fold_masks(task.families, 0)).path
    assert path.penalties.tolist() == [np.inf]
    assert np.isnan(path.held_out_mse).all()


def test_directions_of_a_scoring_lm_have_a_path_too():
    task = phi_task(TASK)
    path = Ridge().fit(task, MASKS).path
    assert path.models.coefficients.shape == (22, 6)
    np.testing.assert_allclose(path.models.coefficients[0], task.uniform)
