"""Functions for notebooks draw on the axes that they are given."""
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import csv_plugin as cp
from tests.extras.pictures.samples import some_predictions, some_triage

NAN = float('nan')
NAMES = ['$x_1$', r'$\frac{', *map(str, range(10))]

PLOTS = {
    'leaderboard':
    lambda ax: cp.plot_leaderboard(
        replace(some_predictions(2), models=tuple(NAMES)), ax=ax),
    'predicted':
    lambda ax: cp.plot_predicted(
        some_predictions(2), 'core_benchmark_1', ax=ax),
    'trajectories':
    lambda ax: cp.plot_trajectories(some_triage(), 'other', ax),
}


@pytest.fixture(autouse=True)
def closed():
    with matplotlib.rc_context({'backend': 'agg'}):
        yield
        pyplot.close('all')


@pytest.mark.parametrize('plot', PLOTS)
def test_given_axes_are_drawn_on_and_returned(plot):
    """No name is a formula, and nothing of pyplot is touched."""
    axes = Figure().subplots()
    assert PLOTS[plot](axes) is axes
    axes.figure.draw_without_rendering()
    assert axes.has_data() and not pyplot.get_fignums()


def points_of(axes, index=0):
    return axes.lines[index].get_xydata()


def test_leaderboard_has_the_best_model_on_top():
    table = some_predictions(2)
    axes = cp.plot_leaderboard(table, 'core_benchmark_1', Figure().subplots())
    real = points_of(axes, -1)
    assert list(real[:, 0]) == sorted(table.real[:, 1], reverse=True)
    order = np.argsort(-table.real[:, 1])
    np.testing.assert_array_equal(
        points_of(axes)[:, 0], table.values[order, 1, 0])
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [table.models[m] for m in order]
    ends = [segment[:, 0] for segment in axes.collections[0].get_segments()]
    np.testing.assert_array_equal(
        ends,
        np.stack([table.low, table.high], 3)[order, 1, 0])


def test_predicted_shows_held_out_models_alone():
    table = some_predictions(2)
    axes = cp.plot_predicted(table, 'core_benchmark_1', 'uniform',
                             Figure().subplots())
    shown = [line.get_xydata() for line in axes.lines
             if line.get_linestyle() == 'None'][0]  # yapf: disable
    np.testing.assert_array_equal(
        shown, np.stack([table.real[4:, 1], table.values[4:, 1, 1]], 1))
