"""Pictures show the numbers that they are given, legibly."""
from dataclasses import replace
from math import nan

import matplotlib
import numpy as np
import pytest

from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.escaping import one_line
from csv_plugin.extras import pictures
from csv_plugin.lm.head.training_steps import SPLITS
from tests.extras.pictures.layout import assert_readable, drawn_ticks, texts
from tests.extras.pictures.samples import (FLOOR, HOSTILE, figures, name_of,
                                           some_points, some_predictions,
                                           some_steps, some_triage)


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore:Glyph')
def test_every_picture_is_readable_whatever_the_names(tmp_path):
    """Of more benchmarks than stand side by side; settings stay."""
    before = dict(matplotlib.rcParams)
    for picture, figure in figures(HOSTILE).items():
        assert_readable(figure)
        shown = ''.join(words for words, _ in texts(figure))
        for name in HOSTILE:
            # Wrapped at spaces or anywhere.
            bare = one_line(name).replace(' ', '')
            assert bare in shown.replace('\n', '').replace(' ', ''), picture
        assert not any(text.get_parse_math()
                       for text in figure.findobj(matplotlib.text.Text))
    assert dict(matplotlib.rcParams) == before
    pictures.save(figure, tmp_path / 'a.svg')
    assert b'<script' not in (tmp_path / 'a.svg').read_bytes()


def words(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def drawn_families(axes) -> dict:
    """Points by family and whether they are filled."""
    points = [line for line in axes.lines if line.get_marker() != 'None']
    return {
        (line.get_label(), line.get_markerfacecolor() != 'white'):
        line.get_xydata()
        for line in points
    }


def test_capability_points_and_curve():
    points = some_points()
    points.accuracies[3], points.exponents[4] = nan, nan
    none = replace(points, accuracies=np.full(30, nan))
    axes, empty = pictures.capability_picture([points, none]).axes
    off = np.abs(accuracy_of(points.exponents, FLOOR) - points.accuracies)
    error = 100 * np.nanmean(off[~points.fitted])
    assert axes.get_title() == f'exam\nheld out: {error:.1f} points off'
    assert empty.get_title() == 'exam'
    drawn = drawn_families(axes)
    for family in set(points.families):
        for fitted in (True, False):
            rows = [
                m for m, name in enumerate(points.families)
                if name == family and points.fitted[m] == fitted and m not in (
                    3, 4)
            ]
            if rows:
                np.testing.assert_array_equal(
                    drawn.pop((family, fitted)),
                    np.stack([points.exponents, 100 * points.accuracies],
                             1)[rows])
    assert not drawn
    left, right = axes.get_xlim()
    assert left < np.nanmin(points.exponents)
    assert right > np.nanmax(points.exponents)
    chance, curve, beyond = axes.lines[:3]
    assert set(chance.get_ydata()) == {25}
    for line in (beyond, curve):
        np.testing.assert_array_equal(
            line.get_ydata(), 100 * accuracy_of(line.get_xdata(), FLOOR))
    # Of all models fitted on, whether they are among the points or not.
    assert (curve.get_xdata()[0], curve.get_xdata()[-1]) == (-3, 2)
    assert (beyond.get_linestyle(), curve.get_linestyle()) == ('--', '-')
    assert [text.get_text() for text in empty.texts] == ['no scores']


@pytest.mark.slow
def test_methods_picture():
    predictions = some_predictions(6)
    predictions.observed[7, 2] = nan
    predictions.observed[:, 5] = nan
    figure = pictures.methods_picture(predictions)
    # Axes of a method one after the other; blocks of four columns and two.
    grid = np.array(figure.axes, dtype=object).reshape(3, 6)
    for p in range(3):
        for b in range(5):
            rows = [m for m in range(4, 12) if (m, b) != (7, 2)]
            observed, axes = 100 * predictions.observed[rows, b], grid[p, b]
            values, low, high = (100 * part[rows, b, p]
                                 for part in (predictions.values,
                                              predictions.low,
                                              predictions.high))
            np.testing.assert_array_equal(axes.lines[-1].get_xydata(),
                                          np.stack([observed, values], 1))
            bars = np.array(axes.collections[0].get_segments())
            np.testing.assert_array_equal(bars[:, 0, 0], observed)
            np.testing.assert_array_equal(bars[:, :, 1].T, [low, high])
            error = np.abs(observed - values).mean()
            title = f'mean absolute error\n{error:.1f} points'
            assert axes.get_title() == (f'{name_of(b)}\n{title}'
                                        if p == 0 else title)
            assert axes.get_xlim() == axes.get_ylim() == grid[0, b].get_xlim()
            least, most = axes.get_xlim()
            assert least < min(observed.min(), values.min())
            assert most > max(observed.max(), values.max())
        assert 'error' not in grid[p, 5].get_title()
    labels = [[axes.get_ylabel() for axes in row] for row in grid]
    assert labels == [[name, '', '', name, '', '']
                      for name in ('salience', 'mean-loss', 'other')]


@pytest.mark.slow
def test_trajectories_and_forecasts():
    triage = some_triage()
    figure = pictures.trajectory_picture(triage)
    for b, axes in enumerate(figure.axes):
        dotted = [line for line in axes.lines if line.get_linestyle() == ':']
        for r, run in enumerate(triage.runs):
            table = triage.predictions.select(run.checkpoints)
            predicted, ahead = axes.lines[r], dotted[r]
            np.testing.assert_array_equal(
                predicted.get_xydata(),
                np.stack([run.tokens, 100 * table.values[:, b, 0]], 1))
            corners = axes.collections[r].get_paths()[0].vertices
            assert {*(100 * table.low[:, b, 0]),
                    *(100 * table.high[:, b, 0])} == set(corners[:, 1])
            assert ahead.get_color() == predicted.get_color()
            assert ahead.get_ydata()[1] == 90
            # The forecasts of one budget stand apart, around it.
            bar = axes.collections[2 + r].get_segments()[0]
            np.testing.assert_allclose(bar, [[(0.9875, 1.0125)[r] * 1e12, 60],
                                             [(0.9875, 1.0125)[r] * 1e12, 95]])
    assert axes.get_xscale() == 'log'
    finished = some_triage(tokens=(1e9, 2e9), budget=2e9)
    sizes = some_triage()
    sizes.runs, sizes.ends = (), sizes.ends[:1]
    alone = pictures.trajectory_picture(sizes).axes[0]
    assert [line.get_ydata() for line in alone.lines[:1]] == [[90.]]
    assert len(alone.collections) == 1
    narrow = pictures.trajectory_picture(finished).axes[0]
    assert narrow.get_xscale() == 'linear' and len(narrow.lines) == 2
    assert '1T' in {text.get_text() for text in drawn_ticks(axes.xaxis)}
    assert figure.get_supxlabel() == 'training steps'
    assert words(figure) == [
        'run-0', 'run-1', 'predicted', '90% interval', 'forecast'
    ]


def test_a_finished_run_with_a_single_checkpoint_is_a_point():
    """A line and a band of one checkpoint would show nothing."""
    triage = some_triage(tokens=(2e9, ), budget=2e9)
    figure = pictures.trajectory_picture(triage)
    for b, axes in enumerate(figure.axes):
        for r, run in enumerate(triage.runs):
            table = triage.predictions.select(run.checkpoints)
            value, low, high = (100 * part[0, b, 0]
                                for part in (table.values, table.low,
                                             table.high))
            point = axes.containers[r].lines[0]
            # The points of one budget stand apart, around it.
            place = (0.9875, 1.0125)[r] * 2e9
            assert point.get_xydata().tolist() == [[place, value]]
            assert point.get_marker() not in ('None', '')
            [[bar]] = [c.get_segments() for c in axes.containers[r].lines[2]]
            np.testing.assert_allclose(bar, [[place, low], [place, high]])


@pytest.mark.slow
def test_steps_picture():
    """Models, curve and errors of three steps, and the error of all steps."""
    steps = some_steps()
    families = {model: f'family {model[-1]}' for model in steps.models}
    figure = pictures.steps_picture(steps, families)
    first, middle, chosen, errors = figure.axes[4:8]
    assert chosen.get_title() == 'step 20: off by\n{:.1f} points'.format(
        100 * np.sqrt(steps.mse('test')[20, 1]))
    assert middle.get_title().startswith('step 2:')
    for axes, step in ((first, 0), (middle, 2), (chosen, 20)):
        points = np.concatenate([*drawn_families(axes).values()])
        expected = np.stack(
            [steps.scores[step, :, 1], 100 * steps.accuracies[:, 1]], 1)
        known = ~np.isnan(expected[:, 1])
        np.testing.assert_allclose(
            sorted(map(tuple, points[~np.isnan(points[:, 1])])),
            sorted(map(tuple, expected[known])))
        # Better models stand to the right.
        assert axes.get_xlim()[0] > axes.get_xlim()[1]
        curve = axes.lines[-1]
        np.testing.assert_allclose(
            curve.get_ydata(),
            100 * steps.curve[step, 1].accuracies(curve.get_xdata()))
    for line, split in zip(errors.lines, SPLITS):
        np.testing.assert_allclose(line.get_ydata(),
                                   100 * np.sqrt(steps.mse(split)[:, 1]))
    assert [*errors.lines[-1].get_xdata()] == [20, 20]


@pytest.mark.slow
def test_steps_are_judged_by_validation_models_where_there_is_no_test_model():
    steps = some_steps()
    kept = steps.splits != 'test'
    steps = replace(
        steps,
        models=tuple(np.array(steps.models)[kept]),
        splits=steps.splits[kept],
        accuracies=steps.accuracies[kept],
        scores=steps.scores[:, kept])
    figure = pictures.steps_picture(steps, dict.fromkeys(steps.models, 'a'))
    error = 100 * np.sqrt(steps.mse('validation')[0, 0])
    assert figure.axes[0].get_title() == f'step 0: off by\n{error:.1f} points'
    assert 'error of test models' not in words(figure)
