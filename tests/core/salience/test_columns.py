"""Solvers on some of the columns, alone and as candidates of `Auto`."""
from dataclasses import replace

import numpy as np

from csv_plugin.core.salience import Auto, Ridge, Uniform, fold_masks
from csv_plugin.core.salience.columns import OnColumns
from tests.core.worlds import make_world

WORLD = make_world(n=32, salience=(3, 1, 0, 0), noise=0.02)
MASKS = fold_masks(WORLD.task.families, 0, n_repeats=1)
FIRST = np.array([2, 0])
PART = replace(
    WORLD.task, values=WORLD.task.values[:, FIRST], uniform=np.array([.5, .5]))


def test_it_is_the_solver_on_those_columns():
    alone = Ridge().fit(PART, MASKS)
    found = OnColumns('two', Ridge(), FIRST,
                      PART.uniform).fit(WORLD.task, MASKS)
    assert found.solver == 'two'
    assert (found.cv_mse, found.penalty) == (alone.cv_mse, alone.penalty)
    for whole, part in ((found.model, alone.model), (found.folds,
                                                     alone.folds)):
        np.testing.assert_array_equal(whole.coefficients[..., FIRST],
                                      part.coefficients)
        assert not whole.coefficients[..., [1, 3]].any()
        np.testing.assert_allclose(
            whole.predict(WORLD.task.values), part.predict(PART.values))


def test_auto_offers_what_it_is_given_and_the_mean_loss():
    good = OnColumns('good', Ridge(), np.array([0, 1]), np.array([.5, .5]))
    bad = OnColumns('bad', Uniform(), np.array([3]), np.array([1.]))
    found = Auto((bad, good)).fit(WORLD.task, MASKS)
    assert found.solver == 'good'
    assert found.cv_mse == good.fit(WORLD.task, MASKS).cv_mse
    note = found.notes[-1]
    assert [
        name for name in ('uniform', 'bad', 'good', 'ridge')
        if f'{name} ' in note
    ] == ['uniform', 'bad', 'good']
