"""Principal components and partial least squares."""

import numpy as np
import pytest

from csv_plugin.core.salience import Task, fold_masks
from tests.core.worlds import make_world
from tools.studies.other_methods import components
from tools.studies.other_methods.components import principal_directions
from tools.studies.other_methods.pca import PrincipalComponents
from tools.studies.other_methods.pls import PartialLeastSquares, pls_directions

SOLVERS = pytest.mark.parametrize(
    'solver',
    [PrincipalComponents(), PartialLeastSquares()])


def columns_of_decreasing_size(m, k, seed=0):
    rng = np.random.default_rng(seed)
    return 3 + rng.normal(size=(m, k)) @ np.diag(0.7**np.arange(k))


@pytest.mark.parametrize('shape', [(30, 6), (6, 30), (6, 6)])
def test_principal_directions_are_those_of_a_singular_value_decomposition(
        shape):
    values = columns_of_decreasing_size(*shape)
    found = principal_directions(values, 4)
    _, _, expected = np.linalg.svd(values - values.mean(axis=0))
    np.testing.assert_allclose(
        np.abs(np.sum(found * expected[:4], axis=1)), 1, rtol=1e-9)
    np.testing.assert_allclose(found @ found.T, np.eye(4), atol=1e-9)


@pytest.mark.parametrize('n_models', [5, 12])
def test_directions_in_which_no_model_differs_are_zero(n_models):
    values = np.outer(np.arange(n_models), np.ones(9))
    found = principal_directions(values, 4)
    np.testing.assert_allclose(np.abs(found[0]), 1 / 3)
    np.testing.assert_array_equal(found[1:], 0)


def nipals(values, target, n):
    """PLS1 of the textbook: the features are deflated, too. Its scores."""
    left, rest = values - values.mean(axis=0), target - target.mean()
    scores = []
    for _ in range(n):
        weights = left.T @ rest
        weights /= np.linalg.norm(weights)
        score = left @ weights
        square = score @ score
        left = left - np.outer(score, left.T @ score / square)
        rest = rest - score * (score @ rest / square)
        scores.append(score / np.sqrt(square))
    return np.array(scores)


@pytest.mark.parametrize('shape', [(30, 8), (12, 40)])
def test_pls_is_that_of_the_textbook(shape):
    values = columns_of_decreasing_size(*shape)
    target = np.random.default_rng(1).normal(size=shape[0])
    directions = pls_directions(values, target, 6)
    scores = directions @ (values - values.mean(axis=0)).T
    np.testing.assert_allclose(scores, nipals(values, target, 6), atol=1e-8)


def test_pls_ends_where_the_target_is_met():
    values = np.random.default_rng(0).normal(size=(9, 2))
    directions = pls_directions(values, values @ [1, 2], 4)
    assert np.any(directions[1] != 0)
    np.testing.assert_array_equal(directions[2:], 0)


@SOLVERS
def test_accuracies_that_follow_two_components_are_met(solver):
    world = make_world(n=40, n_families=5, salience=(3, -1, 2), alpha=-1.5)
    fit = solver.fit(world.task, fold_masks(world.task.families, 0))
    assert fit.solver == solver.name
    assert fit.notes == (
        'components: 3, chosen by the error on held-out families', )
    np.testing.assert_allclose(
        fit.model.predict(world.task.values), world.truth, atol=1e-5)


def in_more_dimensions(task, n_columns):
    """The same models, turned into a space with more columns."""
    k = task.values.shape[1]
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(n_columns,
                                                              k)))[0].T
    return task.on(task.values @ turn, task.uniform @ turn)


@SOLVERS
def test_more_columns_than_models_change_nothing(solver):
    """They are solved in the space of the models; turning is no change."""
    task = make_world(
        n=24, n_families=4, salience=(1, 2, 0, 3), noise=0.02).task
    wide = in_more_dimensions(task, 60)
    masks = fold_masks(task.families, 0, n_repeats=1)
    narrow_fit, wide_fit = (solver.fit(part, masks) for part in (task, wide))
    assert wide_fit.notes == narrow_fit.notes
    assert wide_fit.cv_mse == pytest.approx(narrow_fit.cv_mse, rel=1e-5)
    for ours, theirs in ((wide_fit.model, narrow_fit.model),
                         (wide_fit.folds, narrow_fit.folds)):
        np.testing.assert_allclose(
            ours.predict(wide.values), theirs.predict(task.values), atol=1e-5)


def test_fewer_components_than_models(monkeypatch):
    task = make_world(n=6, n_families=3, salience=(1, ) * 12, noise=0.1).task
    tried = []
    usual = components.cross_validate

    def watched(name, part, masks, settings, candidates):
        tried.extend(settings)
        return usual(name, part, masks, settings, candidates)

    monkeypatch.setattr(components, 'cross_validate', watched)
    PrincipalComponents().fit(task, fold_masks(task.families, 0, 3, 1))
    assert tried == ['components: 1', 'components: 2']


def test_families_alone_have_nothing_to_choose_by():
    task = make_world(n=12, n_families=1).task
    fit = PrincipalComponents().fit(task, fold_masks(task.families, 0))
    assert np.isnan(fit.cv_mse) and fit.notes == ()
    assert isinstance(task, Task) and fit.model.curve.floor == task.chance
