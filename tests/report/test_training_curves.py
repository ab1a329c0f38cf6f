"""Errors in the course of a training, as a curve and a table."""
import csv

import numpy as np
import pytest
import torch

from csv_plugin.core.salience import Constant, Ridge, Uniform, fold_masks
from csv_plugin.lm.head.algorithm2 import TrainedHeads
from csv_plugin.lm.head.scoring_head import ScoringHead
from csv_plugin.report.pictures import TrainingCurve
from csv_plugin.report.training_curves import (CURVE_COLUMNS, head_curve,
                                               path_curve, write_curve)
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
    assert not curve.path
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
    some = {**both, **fits(quiz=Constant())}
    assert path_curve(some).benchmarks == ('exam', )
    assert path_curve(fits(quiz=Constant())) is None
    assert path_curve({}) is None


def test_errors_by_gradient_step():
    """Numbers from which no two parts can be taken for each other."""
    train = np.arange(6.).reshape(3, 2)
    heads = TrainedHeads(('a', 'b'), ScoringHead.uniform(1, 2), np.zeros(2),
                         np.zeros(2), np.zeros(2), np.array([2, 0]), train,
                         10 + train)  # yapf: disable
    curve = head_curve(heads)
    assert curve.benchmarks == ('a', 'b')
    assert curve.x.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(curve.train, train)
    np.testing.assert_array_equal(curve.validation, 10 + train)
    assert curve.best.tolist() == [2, 0]
    assert curve.x_label == 'gradient step'
    assert heads.head.theta.dtype == torch.float64


def test_a_table_of_the_steps(tmp_path):
    nan = np.nan
    curve = TrainingCurve(('a,b', 'c'), np.arange(3), 'step',
                          np.array([[.1, .2], [1 / 3, .4], [nan, .6]]),
                          np.array([[.7, .8], [.9, nan], [nan, .2]]),
                          np.array([1, 2]))  # yapf: disable
    write_curve(tmp_path / 'c.csv', curve)
    with (tmp_path / 'c.csv').open(encoding='utf-8', newline='') as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0]) == CURVE_COLUMNS == (
        'benchmark', 'step', 'train_mse', 'held_out_mse', 'kept')
    # A benchmark ends where it stopped; nothing was held out is an empty
    # cell.
    assert rows[1:] == [
        ['a,b', '0', '0.1', '0.7', '0'],
        ['a,b', '1', repr(1 / 3), '0.9', '1'],
        ['c', '0', '0.2', '0.8', '0'],
        ['c', '1', '0.4', '', '0'],
        ['c', '2', '0.6', '0.2', '1'],
    ]
