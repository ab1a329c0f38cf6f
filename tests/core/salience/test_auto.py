"""The choice among the solvers."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.salience import (Auto, NonNegative, Ridge, Uniform,
                                      fold_masks)
from tests.core.worlds import contradictory_task, make_world

TASKS = {
    'uniform':
    contradictory_task(),
    'ridge':
    make_world(n=40, n_families=6, salience=(3, -1, 1), noise=0.02).task,
    'nonnegative':
    make_world(
        n=16, n_families=4, salience=(3, 2, 0, 0, 0, 0), noise=0.03,
        seed=6).task,
}  # yapf: disable


def masks_of(task):
    return fold_masks(task.families, 0, n_repeats=1)


@pytest.mark.parametrize(
    'winner',
    ['uniform', 'ridge',
     pytest.param('nonnegative', marks=pytest.mark.slow)])
def test_the_lowest_held_out_error_wins_and_is_named(winner):
    task = TASKS[winner]
    masks = masks_of(task)
    fits = [
        solver.fit(task, masks)
        for solver in (Uniform(learn_floor=True), Ridge(), NonNegative())
    ]
    best = min(fits, key=lambda fit: fit.cv_mse)
    solution = Auto().fit(task, masks)
    assert solution.solver == best.solver == winner
    assert solution.cv_mse == best.cv_mse
    assert solution.penalty == best.penalty
    np.testing.assert_array_equal(solution.model.coefficients,
                                  best.model.coefficients)
    assert solution.notes[:-1] == best.notes
    assert solution.notes[-1].startswith(f'{winner} chosen by held-out MSE')
    for fit in fits:
        assert f'{fit.solver} {fit.cv_mse:.2e}' in solution.notes[-1]


@pytest.mark.parametrize('smallest, offered',
                         [(0.0, False),
                          pytest.param(1e-3, True, marks=pytest.mark.slow)])
def test_nonnegative_is_offered_columns_of_the_mean_loss_only(
        smallest, offered):
    task = make_world(salience=(1, 1, 1), noise=0.02).task
    task = replace(task, uniform=np.array([0.5, 0.5, smallest]))
    note = Auto().fit(task, masks_of(task)).notes[-1]
    assert ('nonnegative' in note) == offered


def test_a_learned_floor_alone_is_no_reason_to_leave_the_mean_loss():
    task = contradictory_task()
    task = replace(task, accuracy=0.1 + 0.9 * task.accuracy, chance=0.25)
    solution = Auto().fit(task, masks_of(task))
    assert solution.solver == 'uniform'
    assert solution.model.curve.floor == pytest.approx(0.1)
