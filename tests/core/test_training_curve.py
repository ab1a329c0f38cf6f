"""Errors along the regularisation paths of exact solvers."""
import numpy as np
import pytest

from csv_plugin.core.salience import Constant, Ridge, Uniform, fold_masks
from csv_plugin.core.training import path_curve
from tests.core.worlds import make_world, mse

TASKS = {
    name: make_world(n=20, salience=salience, noise=.02, seed=seed).task
    for name, salience, seed in (('exam', (3, 1, 0), 0), ('quiz', (1, 4, 1),
                                                          1))
}


def fits(**solvers):
    return {
        name: (TASKS[name],
               solver.fit(TASKS[name], fold_masks(TASKS[name].families, 0)))
        for name, solver in solvers.items()
    }


@pytest.fixture(scope='module')
def both():
    return fits(exam=Ridge(), quiz=Ridge(penalties=(.1, .01)))


def test_errors_along_the_paths(both):
    curve = path_curve(both)
    assert curve.benchmarks == ('exam', 'quiz')
    assert curve.x.tolist() == list(range(22))
    for b, (task, fit) in enumerate(both.values()):
        n = len(fit.path.penalties)
        for s in range(n):
            fitted = fit.path.models[s].predict(task.values)
            assert curve.train[s, b] == pytest.approx(
                mse(fitted, task.accuracy), 1e-12)
        np.testing.assert_array_equal(curve.validation[:n, b],
                                      fit.path.held_out_mse)
        assert np.isnan(curve.train[n:, b]).all()
        assert np.isnan(curve.validation[n:, b]).all()
        assert fit.path.penalties[curve.best[b]] == fit.penalty
        assert curve.validation[curve.best[b], b] == fit.cv_mse
    assert 0 < curve.best[0]


def test_uniform_weights_are_one_step():
    curve = path_curve(fits(exam=Uniform()))
    assert curve.x.tolist() == [0] and curve.best.tolist() == [0]


def test_benchmarks_without_a_path_are_left_out(both):
    mixed = {**both, **fits(quiz=Constant())}
    assert path_curve(mixed).benchmarks == ('exam', )
    assert path_curve(fits(quiz=Constant())) is None
    assert path_curve({}) is None
