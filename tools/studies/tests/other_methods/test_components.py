"""Principal components and partial least squares."""

import numpy as np
import pytest

from csv_plugin.core.salience import fold_masks
from tests.core.worlds import make_world
from tools.studies.other_methods.components import (PartialLeastSquares,
                                                    PrincipalComponents)

SOLVERS = pytest.mark.parametrize(
    'solver',
    [PrincipalComponents(), PartialLeastSquares()])


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
