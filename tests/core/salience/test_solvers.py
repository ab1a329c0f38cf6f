"""Laws that every salience solver keeps."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.salience import (Auto, Averaged, Constant, MeanLoss,
                                      NonNegative, Plain, Ridge, Uniform,
                                      fold_masks)
from csv_plugin.core.scaling_law import PROBLEMS
from tests.core.worlds import make_world

FEW = NonNegative(penalties=(1.0, 0.1, 0.01))
LEARNERS = [Uniform(), Uniform(learn_floor=True), Ridge(), FEW, Plain()]
ALL = [*LEARNERS, Constant(), MeanLoss()]
PLANTED = make_world(
    n=28, n_families=5, salience=(5, 1, 0, 0), noise=0.03, floor=0.2)


def name_of(solver):
    return solver.name + '+floor' * (solver == LEARNERS[1])


def masks_of(task, n_repeats=1, seed=0):
    return fold_masks(task.families, seed, n_repeats=n_repeats)


def fit(solver, task):
    return solver.fit(task, masks_of(task))


for_learners = pytest.mark.parametrize('solver', LEARNERS, ids=name_of)
for_all = pytest.mark.parametrize('solver', ALL, ids=name_of)


@for_all
def test_cv_mse_is_that_of_the_fold_models(solver):
    task = PLANTED.task
    solution = fit(solver, task)
    squares = [
        (solution.folds[f].predict(task.values)[i] - task.accuracy[i])**2
        for f, mask in enumerate(solution.masks) for i in np.flatnonzero(~mask)
    ]
    # What is chosen is solved once more, to the last digits.
    assert solution.cv_mse == pytest.approx(np.mean(squares), 1e-6)


@for_all
def test_fold_models_have_not_seen_what_they_predict(solver):
    """At the same penalty and floor; accuracies of one fold are garbled."""
    if hasattr(solver, 'learn_floor'):
        solver = replace(solver, learn_floor=False)
    if hasattr(solver, 'penalties'):
        solver = replace(solver, penalties=(0.01, ))
    task = replace(PLANTED.task, chance=0.0)
    masks = masks_of(task)
    held_out = ~masks[0]
    garbled = np.where(held_out, task.accuracy * 0.97, task.accuracy)
    before = solver.fit(task, masks)
    after = solver.fit(replace(task, accuracy=garbled), masks)
    assert before.penalty == after.penalty
    fold, whole = (np.abs(new.predict(task.values) -
                          old.predict(task.values)).max()
                   for new, old in ((after.folds[0], before.folds[0]),
                                    (after.model, before.model)))
    assert fold <= 1e-9 and whole > 1e-4


@for_learners
@pytest.mark.parametrize('factor, shift', [(1e-3, 0), (400, 0), (1, 7.5),
                                           (1, -2)])
def test_scale_and_origin_of_the_losses_do_not_matter(solver, factor, shift):
    task = PLANTED.task
    moved = task.on(factor * task.values + shift, task.uniform)
    np.testing.assert_allclose(
        fit(solver, moved).model.predict(moved.values),
        fit(solver, task).model.predict(task.values),
        rtol=0,
        atol=1e-6)


@for_all
def test_the_order_of_the_models_does_not_matter(solver):
    task = PLANTED.task
    order = np.random.default_rng(0).permutation(len(task.accuracy))
    masks = masks_of(task)
    solution = solver.fit(task, masks)
    permuted = solver.fit(task.select(order), masks[:, order])
    np.testing.assert_allclose(
        permuted.model.predict(task.values[order]),
        solution.model.predict(task.values)[order],
        rtol=0,
        atol=1e-6)
    assert permuted.cv_mse == pytest.approx(solution.cv_mse, 1e-4)


@for_learners
def test_reversed_data_have_a_positive_slope_and_a_note(solver):
    task = make_world(alpha=0.3, noise=0.02).task
    solution = fit(solver, task)
    assert solution.model.curve.alpha > 0
    assert PROBLEMS['slope_sign'] in solution.notes


@pytest.mark.parametrize(
    'solver', [*LEARNERS, Auto(), Averaged()], ids=name_of)
def test_one_family_gets_the_mean_loss_and_a_note(solver):
    task = make_world(n_families=1, noise=0.05).task
    solution = fit(solver, task)
    assert solution.solver == solver.name.replace('auto', 'uniform')
    np.testing.assert_allclose(solution.model.coefficients, task.uniform)
    assert solution.penalty == np.inf
    assert np.isnan(solution.cv_mse)
    assert solution.folds.coefficients.shape == (0, 4)
    assert 'one family only' in solution.notes[0]


def edge(name):
    """Tasks at the edge of what can be learned from."""
    task = make_world(n=24, n_families=3, noise=0.02).task
    first = task.families == 'family 0'
    values, accuracy = task.values.copy(), task.accuracy.copy()
    if name == 'more columns than models':
        return make_world(n=10, salience=[1] * 80, noise=0.02).task
    if name == 'three models':
        return make_world(n=3, n_families=3, chance=0.0).task
    if name == 'a column of zeros':
        values[:, 2] = 0
    elif name == 'other families alike':
        values[~first] = values[0]
    elif name == 'two different models':
        values[1:] = values[1]
    elif name == 'other families of one accuracy':
        accuracy[~first] = 0.8
    elif name == 'other families at chance':
        accuracy[~first] = 0.25
    elif name == 'every model right or wrong':
        accuracy = (accuracy > 0.6).astype(float)
    return replace(task.on(values, task.uniform), accuracy=accuracy)


@for_all
@pytest.mark.parametrize('name', [
    'more columns than models', 'three models', 'a column of zeros',
    'other families alike', 'two different models',
    'other families of one accuracy', 'other families at chance',
    'every model right or wrong'
])
def test_edges_give_finite_answers_without_a_warning(solver, name):
    task = edge(name)
    assert task.problems == ()
    if isinstance(solver, NonNegative):
        solver = replace(solver, penalties=(1.0, ))
    solution = fit(solver, task)
    for model in (solution.model, solution.folds):
        predicted = model.predict(task.values)
        assert ((0 <= predicted) & (predicted <= 1)).all()
        assert np.isfinite(model.coefficients).all()
        assert np.isfinite(model.curve.alpha).all() and np.isfinite(
            model.curve.beta).all()
    assert np.isfinite(solution.cv_mse)
    mean = np.mean((task.accuracy - task.accuracy.mean())**2)
    fitted = np.mean((solution.model.predict(task.values) - task.accuracy)**2)
    assert fitted <= mean * (1 + 1e-3)


def test_constant_is_the_mean_of_the_models_fitted_on():
    task = PLANTED.task
    solution = fit(Constant(), task)
    predicted = solution.model.predict(task.values)
    np.testing.assert_allclose(predicted, task.accuracy.mean(), 1e-12)
    for f, mask in enumerate(solution.masks):
        np.testing.assert_allclose(solution.folds[f].predict(task.values),
                                   task.accuracy[mask].mean(), 1e-12)
    assert (solution.penalty, solution.notes) == (np.inf, ())
    no_model = fit(Constant(), task.select(np.zeros(0, dtype=int)))
    np.testing.assert_allclose(no_model.model.predict(task.values), 0.25)
    assert np.isnan(no_model.cv_mse)
