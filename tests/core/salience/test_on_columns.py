"""Solvers on some of the columns, alone and as candidates of `Auto`."""

import numpy as np
import pytest

from csv_plugin.core.salience import (Auto, Constant, NonNegative, Ridge,
                                      Uniform, fold_masks)
from csv_plugin.core.salience.choice import OnColumns
from tests.core.worlds import contradictory_task, make_world

WORLD = make_world(n=32, salience=(3, 1, 0, 0), noise=0.02)
MASKS = fold_masks(WORLD.task.families, 0, n_repeats=1)
FIRST = np.array([2, 0])
PART = WORLD.task.on(WORLD.task.values[:, FIRST], np.array([.5, .5]))


def test_it_is_the_solver_on_those_columns():
    alone = Ridge().fit(PART, MASKS)
    solution = OnColumns('two', Ridge(), FIRST,
                         PART.uniform).fit(WORLD.task, MASKS)
    assert solution.solver == 'two'
    assert (solution.cv_mse, solution.penalty) == (alone.cv_mse, alone.penalty)
    for whole, part in ((solution.model, alone.model), (solution.folds,
                                                        alone.folds)):
        np.testing.assert_array_equal(whole.coefficients[..., FIRST],
                                      part.coefficients)
        assert not whole.coefficients[..., [1, 3]].any()
        np.testing.assert_allclose(
            whole.predict(WORLD.task.values), part.predict(PART.values))


def test_notes_speak_of_the_columns():
    """The mean loss of some columns is not the all-token loss."""
    task = contradictory_task()
    masks = fold_masks(task.families, 0, n_repeats=1)
    columns = np.arange(task.values.shape[1])
    solution = OnColumns('all', Ridge(), columns,
                         task.uniform).fit(task, masks)
    assert solution.notes[0].startswith(
        'all, on its columns alone: no gain over uniform weights')


@pytest.mark.parametrize('solver', [Ridge(), NonNegative(), Uniform()])
def test_columns_without_a_difference_between_models(solver):
    task = WORLD.task.on(
        np.hstack([WORLD.task.values, np.full((32, 1), .5)]),
        np.append(WORLD.task.uniform, 0))
    flat = OnColumns('flat', solver, np.array([4]), np.ones(1))
    solution = flat.fit(task, MASKS)
    expected = Constant().fit(task, MASKS)
    assert solution.cv_mse == expected.cv_mse
    np.testing.assert_allclose(
        solution.model.predict(task.values),
        expected.model.predict(task.values))
    assert solution.notes == (
        'flat, on its columns alone: all models have the '
        'same capability score', )
    assert Auto((flat, )).fit(task, MASKS).solver == 'uniform'


def test_auto_offers_what_it_is_given_and_the_mean_loss():
    good = OnColumns('good', Ridge(), np.array([0, 1]), np.array([.5, .5]))
    bad = OnColumns('bad', Uniform(), np.array([3]), np.array([1.]))
    solution = Auto((bad, good)).fit(WORLD.task, MASKS)
    assert solution.solver == 'good'
    assert solution.cv_mse == good.fit(WORLD.task, MASKS).cv_mse
    note = solution.notes[-1]
    assert [
        name for name in ('uniform', 'bad', 'good', 'ridge')
        if f'{name} ' in note
    ] == ['uniform', 'bad', 'good']
