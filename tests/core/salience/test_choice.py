"""The choice among solvers, and solvers on some of the columns."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.salience import (Auto, Constant, NonNegative, Ridge, Task,
                                      Uniform, fold_masks, predicts_better)
from csv_plugin.core.salience.choice import ONE_BY_ONE, OnColumns
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


@pytest.mark.parametrize('winner', ['uniform', 'ridge', 'nonnegative'])
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
    for fit in fits:
        assert f'{fit.solver} {fit.cv_mse:.2e}' in solution.notes[-1]


@pytest.mark.parametrize('smallest, offered', [(0.0, False), (1e-3, True)])
def test_nonnegative_is_offered_columns_of_the_mean_loss_only(
        smallest, offered):
    task = make_world(salience=(1, 1, 1), noise=0.02).task
    task = task.on(task.values, np.array([0.5, 0.5, smallest]))
    note = Auto().fit(task, masks_of(task)).notes[-1]
    assert ('nonnegative' in note) == offered


def test_a_learned_floor_alone_is_no_reason_to_leave_the_mean_loss():
    task = contradictory_task()
    task = replace(task, accuracy=0.1 + 0.9 * task.accuracy, chance=0.25)
    solution = Auto().fit(task, masks_of(task))
    assert solution.solver == 'uniform'
    assert solution.model.curve.floor == pytest.approx(0.1)


def noise_only(n=24, n_families=6, n_candidates=8, seed=0):
    """A benchmark of which no column tells anything, and many candidates."""
    rng = np.random.default_rng(seed)
    values = 2 + .3 * rng.normal(size=(n, 2 * n_candidates))
    task = Task.of(values, np.full(2 * n_candidates, 1 / (2 * n_candidates)),
                   np.clip(.5 + .1 * rng.normal(size=n), 0, 1), 0.,
                   np.array([f'family {i % n_families}' for i in range(n)]))
    return task, Auto(
        tuple(
            OnColumns(f'pair {i}', Ridge((
                1e-2, )), np.array([2 * i, 2 * i + 1]), np.array([.5, .5]))
            for i in range(n_candidates)))


@pytest.mark.parametrize('n_families', [4, 12])
def test_held_out_families_have_no_part_in_the_choice(n_families):
    task, auto = noise_only(n_families=n_families, n_candidates=2)
    masks = fold_masks(task.families, 0)
    held_out = auto.held_out(task, masks)
    assert np.isfinite(held_out).all()
    partition = fold_masks(task.families, 0, n_repeats=1)
    if n_families <= ONE_BY_ONE:
        partition = task.families != np.unique(task.families)[:, None]
    for mask in partition:
        part = task.select(mask)
        inner = [other[mask] for other in partition if (other != mask).any()]
        inner = np.array([rows for rows in inner if rows.any()])
        chosen = auto.fit(part, inner.reshape(-1, mask.sum()))
        every = chosen.model.predict(task.values)
        np.testing.assert_array_equal(held_out[~mask], every[~mask])
        # Other accuracies of these families change nothing.
        other = replace(task, accuracy=np.where(mask, task.accuracy, .9))
        again = auto.held_out(other, masks)
        np.testing.assert_array_equal(again[~mask], held_out[~mask])


def test_a_family_without_which_nothing_can_be_learned():
    task, auto = noise_only(n_families=2, n_candidates=2)
    family = task.families[0]
    same = replace(
        task,
        accuracy=np.where(task.families == family, task.accuracy, .25),
        chance=.25)
    held_out = auto.held_out(same, fold_masks(task.families, 0))
    np.testing.assert_allclose(held_out[task.families == family], .25)


@pytest.mark.parametrize('n_families', [2, 3, 5])
def test_it_takes_three_families_to_tell_who_predicts_better(n_families):
    families = np.repeat(np.arange(n_families), 2)
    task = Task.of(
        np.ones((len(families), 1)), np.ones(1), np.full(len(families), .5),
        0., families)
    right, wrong = (
        replace(
            Constant().fit(task, fold_masks(families, 0)),
            held_out=task.accuracy + error)
        for error in (0 * families, .1 + families / 1000))
    assert predicts_better(task, right, wrong) == (n_families >= 3)
    assert not predicts_better(task, wrong, right)


def two_columns(own, other, n_families=6):
    """Accuracies beside two columns, each the true one with some noise.

    Args:
        own (float): Noise of the column of the favourite.
        other (float): Noise of the column of the other candidate.
        n_families (int): Families of 24 models.
    """
    rng = np.random.default_rng(1)
    truth = np.linspace(-2, 2, 24)
    noise = rng.normal(size=(2, 24)) * [[own], [other]]
    task = Task.of(3 + truth[:, None] + noise.T, np.full(2, .5),
                   1 / (1 + np.exp(truth)), 0.,
                   np.array([f'family {i % n_families}' for i in range(24)]))
    solvers = tuple(
        OnColumns(name, Ridge((1e-2, )), np.array([k]), np.ones(1))
        for k, name in enumerate(['own', 'other']))
    return task, Auto(solvers, 'own')


@pytest.mark.parametrize('own, other, n_families, expected', [
    (.3, .2, 6, 'own'),
    (1.5, .1, 6, 'other'),
    (1.5, .1, 2, 'own'),
])
def test_the_favourite_is_kept_unless_a_test_says_otherwise(
        own, other, n_families, expected):
    task, auto = two_columns(own, other, n_families)
    masks = masks_of(task)
    solution = auto.fit(task, masks)
    assert solution.solver == expected
    fits = auto._fits(task, masks)
    errors = {fit.solver: fit.cv_mse for fit in fits}
    if expected == 'own':
        # Its error is not the lowest, so a test has kept it.
        assert errors['own'] > min(errors.values())
    kept = 'no other is better by a test' in solution.notes[-1]
    assert kept == (expected == 'own')
    without = Auto(auto.candidates).fit(task, masks)
    assert without.cv_mse == min(errors.values())


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


def test_columns_without_a_difference_between_models():
    task = WORLD.task.on(
        np.hstack([WORLD.task.values, np.full((32, 1), .5)]),
        np.append(WORLD.task.uniform, 0))
    flat = OnColumns('flat', Ridge(), np.array([4]), np.ones(1))
    solution = flat.fit(task, MASKS)
    expected = Constant().fit(task, MASKS)
    assert solution.cv_mse == expected.cv_mse
    np.testing.assert_allclose(
        solution.model.predict(task.values),
        expected.model.predict(task.values))
    assert 'the same capability score' in solution.notes[0]
    assert Auto((flat, )).fit(task, MASKS).solver == 'uniform'
