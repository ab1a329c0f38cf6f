"""Pictures show the numbers they are given, legibly, in the same bytes."""
import os
import subprocess
import sys
from dataclasses import replace
from math import nan
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from scipy.stats import binom

from csv_plugin.core import metrics
from csv_plugin.core.capability_points import CapabilityPoints
from csv_plugin.core.conventions import InputError
from csv_plugin.core.coverage import Coverage, coverage_by_level
from csv_plugin.core.outliers import Outlier
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.salience import SOLVERS, Uniform
from csv_plugin.core.scaling_law import Curve
from csv_plugin.core.study import Study, split_study
from csv_plugin.core.training_curve import TrainingCurve
from csv_plugin.extras.pictures import (capability_picture, coverage_picture,
                                        methods_picture, outliers_picture,
                                        save, take_legend)
from csv_plugin.extras.pictures.accuracy_by_tokens import (Forecast,
                                                           Trajectory,
                                                           trajectory_picture)
from csv_plugin.extras.pictures.errors_by_step import (convergence_picture,
                                                       training_curve_picture)
from csv_plugin.extras.pictures.style import (COLOURS, GREY, LINES, MARKERS,
                                              MOST_NAMES, OTHERS, look, looks,
                                              plain)
from tests.extras.pictures.layout import assert_readable, drawn_ticks, texts
from tests.tables import small_tables
from tools.studies.errors_by_texts import TextsStudyRow, texts_picture

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
CURVE = Curve(-8.0, 1.0, 0.25)
HOSTILE = ('<script>alert(1)</script>', '$x_1$', r'$\frac{', '模型', 'a\nb',
           '_a\u202e% & "more"', '-->', 'x' * 60)


def name_of(index: int) -> str:
    return f'core_benchmark_{index}'


def some_points(benchmark: str = 'exam',
                n_models: int = 30,
                n_families: int = 6,
                seed: int = 0) -> CapabilityPoints:
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.4, 1.6, n_models)
    return CapabilityPoints(
        benchmark, tuple(f'model-{m}' for m in range(n_models)),
        tuple(f'family {m % n_families}' for m in range(n_models)), scores,
        np.clip(
            CURVE.accuracies(scores) + 0.05 * rng.normal(size=n_models), 0, 1),
        rng.uniform(size=n_models) < 0.6, (0.6, 1.4), CURVE, 0.25,
        'nats per character')


def some_predictions(n_benchmarks: int, n_models: int = 12) -> Predictions:
    """Of three methods; the first four models were fitted on."""
    rng = np.random.default_rng(n_benchmarks)
    shape = (n_models, n_benchmarks)
    real = rng.uniform(0.2, 0.9, shape)
    noise = [rng.normal(size=shape) for _ in range(3)]
    values = np.clip(
        np.stack([
            real + scale * part for scale, part in zip((0.02, 0.1, 0.2), noise)
        ], 2), 0, 1)
    fitted = np.arange(n_models) < 4
    return Predictions(
        tuple(f'model-{m}' for m in range(n_models)),
        tuple(map(name_of, range(n_benchmarks))),
        ('auto', 'uniform', 'constant'),
        values=values,
        low=np.clip(values - 0.1, 0, 1),
        high=np.clip(values + 0.2, 0, 1),
        extrapolated=np.zeros(values.shape, bool),
        in_sample=np.broadcast_to(fitted[:, None, None], values.shape),
        real=real,
        level=0.9)


def some_curve(n_benchmarks: int) -> TrainingCurve:
    rng = np.random.default_rng(0)
    shape = (40, n_benchmarks)
    return TrainingCurve(
        tuple(map(name_of, range(n_benchmarks))), np.arange(40),
        'gradient step', rng.uniform(1e-4, 1e-2, shape),
        rng.uniform(1e-3, 2e-2, shape), np.arange(n_benchmarks))


def some_runs(n_runs: int = 3, first: float = 1e9) -> list[Trajectory]:
    tokens = first * np.array([1., 3, 10, 30])
    rise = np.array([0.3, 0.4, 0.6, 0.7])
    return [
        Trajectory(f'run-{r}', tokens, rise + 0.02 * r, rise - 0.1, rise + 0.2,
                   np.array([0.31, nan, 0.58, nan])) for r in range(n_runs)
    ]


def some_coverage(n_benchmarks: int) -> Coverage:
    levels = np.array([0.5, 0.8, 0.9])
    return Coverage(
        tuple(map(name_of, range(n_benchmarks))), levels,
        np.tile(levels[:, None] + 0.03, n_benchmarks), levels + 0.02,
        np.full(n_benchmarks, 20))


def some_rows() -> list[TextsStudyRow]:
    return [
        TextsStudyRow(series, n if series == 'texts' else 50,
                      5 if series == 'texts' else n, draw, method, models,
                      (1 + draw) / n * (0.1 if method == 'ridge' else 0.2))
        for series, numbers in (('texts', (10, 25, 250)),
                                ('sources', (1, 2, 5))) for n in numbers
        for draw in (0, 1) for method in ('ridge', 'all-token loss')
        for models in ('unseen series', 'larger sizes')
    ]


def some_outliers(names=('model a', 'model b', 'model c')) -> list[Outlier]:
    return [
        Outlier(name, 'exam', 0.6 - 0.3 * (i % 2), 0.5, 0.45, 0.55,
                (2.0, -4.0)[i % 2]) for i, name in enumerate(names)
    ]


def many_points(n_benchmarks: int, n_families: int) -> list[CapabilityPoints]:
    return [
        some_points(name_of(b), 60, n_families, b) for b in range(n_benchmarks)
    ]


PICTURES = {
    'capability': lambda n: capability_picture(many_points(n, 15)),
    'convergence': lambda n: convergence_picture([
        ('step 0', many_points(n, 4)), ('the last step', many_points(n, 4))
    ]),
    'coverage': lambda n: coverage_picture(some_coverage(n)),
    'methods': lambda n: methods_picture(some_predictions(n)),
    'outliers': lambda n: outliers_picture(
        some_outliers([f'org/model-{i}-of-a-long-name' for i in range(n)])),
    'training': lambda n: training_curve_picture(some_curve(n)),
    'trajectory': lambda n: trajectory_picture(
        {name_of(b): some_runs() for b in range(n)}),
}  # yapf: disable


@pytest.mark.parametrize('n_benchmarks', [1, 6, 15])
@pytest.mark.parametrize('name', PICTURES)
def test_readable(name, n_benchmarks):
    assert_readable(PICTURES[name](n_benchmarks))


def test_texts_readable():
    assert_readable(texts_picture(some_rows()))


@pytest.mark.parametrize('n_families', [1, 9, 15, 40])
def test_legend_has_room(n_families):
    points = [
        replace(p, families=tuple(f'{f} of a long name' for f in p.families))
        for p in many_points(3, n_families)
    ]
    figure = capability_picture(points)
    assert_readable(figure)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    families = [name for name in names if name.startswith('family')]
    assert len(families) == min(n_families, MOST_NAMES)
    assert (OTHERS in names) == (n_families > MOST_NAMES)
    assert names[-5:] == [
        'fitted on', 'held out', 'scaling law', 'beyond the fit',
        'chance level'
    ]


# Style.


@example([str(i) for i in range(17)] + ['16'])
@given(st.lists(st.integers(0, 30).map(str), max_size=120))
@settings(max_examples=50, deadline=None)
def test_looks(names):
    by_name = looks(names)
    distinct = list(dict.fromkeys(names))
    own = [n for n in by_name if by_name[n] != by_name.get(OTHERS)]
    assert len(own) == len({by_name[n]
                            for n in own}) == min(len(distinct), MOST_NAMES)
    assert own == [name for name in distinct if name in own]
    assert set(by_name) - {OTHERS} == set(distinct)
    for name in set(distinct) - set(own):
        assert by_name[name].colour == GREY
        assert all(names.count(name) <= names.count(kept) for kept in own)


def test_looks_differ_without_colour_and_without_shape():
    pairs = {(look(i).colour, look(i).marker) for i in range(63)}
    assert len(pairs) == 63 == len(COLOURS) * len(MARKERS)
    assert len({look(i).marker for i in range(9)}) == 9
    assert [look(i).line for i in range(4)] == ['-', '--', '-.', '-']
    assert len(LINES) == 3


def test_plain_keeps_names_apart():
    drawn = [plain(name) for name in (*HOSTILE, 'a b', '模', '型')]
    assert len(set(drawn)) == len(drawn)
    assert plain('$x_1$ <b>') == '$x_1$ <b>'
    assert plain('\U0010fffd') == '\\U0010fffd'
    assert plain('a\nb') == 'a\\nb'


def hostile_pictures():
    points = [
        replace(some_points(name, len(HOSTILE)), families=HOSTILE)
        for name in HOSTILE
    ]
    predictions = replace(some_predictions(len(HOSTILE)), benchmarks=HOSTILE)
    runs = [replace(some_runs(1)[0], run=name) for name in HOSTILE]
    yield capability_picture(points)
    yield convergence_picture([('step', points)])
    yield methods_picture(predictions)
    yield trajectory_picture({name: runs for name in HOSTILE})
    yield outliers_picture(some_outliers(HOSTILE))
    yield coverage_picture(replace(some_coverage(8), benchmarks=HOSTILE))
    yield training_curve_picture(replace(some_curve(8), benchmarks=HOSTILE))


def test_hostile_names(tmp_path):
    for i, figure in enumerate(hostile_pictures()):
        assert_readable(figure)
        shown = ''.join(words for words, _ in texts(figure))
        for name in HOSTILE:
            # Wrapped at spaces or anywhere.
            bare = plain(name).replace(' ', '')
            assert bare in shown.replace('\n', '').replace(' ', ''), (i, name)
        assert not any(text.get_parse_math()
                       for text in figure.findobj(matplotlib.text.Text))
        save(figure, tmp_path / 'a.svg')
        assert b'<script' not in (tmp_path / 'a.svg').read_bytes()


@pytest.mark.parametrize('suffix', ['svg', 'png', 'SVG'])
def test_same_bytes(tmp_path, suffix):
    for name in 'ab':
        save(
            capability_picture([some_points()]), tmp_path / f'{name}.{suffix}')
        matplotlib.rcParams['font.size'] = 30
        matplotlib.rcParams['svg.hashsalt'] = 'theirs'
        matplotlib.rcParams['axes.facecolor'] = 'red'
    matplotlib.rcdefaults()
    first, second = ((tmp_path / f'{n}.{suffix}').read_bytes() for n in 'ab')
    assert first == second
    assert first.startswith(b'\x89PNG' if suffix == 'png' else b'<?xml')
    assert b'dc:date' not in first


def test_settings_of_others_stay():
    before = dict(matplotlib.rcParams)
    capability_picture([some_points()])
    assert dict(matplotlib.rcParams) == before


def test_without_pyplot():
    code = ('import sys\nfrom tests.extras.pictures.test_pictures import *\n'
            'capability_picture([some_points()])\n'
            'print("matplotlib.pyplot" in sys.modules)')
    process = subprocess.run([sys.executable, '-c', code], cwd=ROOT,
                             env={**os.environ, 'PYTHONPATH': str(ROOT)},
                             capture_output=True, text=True)  # yapf: disable
    assert process.stdout.split() == ['False'], process.stderr


@pytest.mark.parametrize('name, match', [('a.pdf', '.png or .svg'),
                                         ('a', '.png or .svg'),
                                         ('no/a.svg', 'existing folder')])
def test_save_refuses(tmp_path, name, match):
    with pytest.raises(InputError, match=match):
        save(capability_picture([some_points()]), tmp_path / name)
    assert not list(tmp_path.iterdir())


# Capability.


def drawn_families(axes) -> dict:
    """Points by family and whether they are filled."""
    points = [line for line in axes.lines if line.get_marker() != 'None']
    return {
        (line.get_label(), line.get_markerfacecolor() != 'white'):
        line.get_xydata()
        for line in points
    }


def test_capability_points_are_drawn():
    points = some_points()
    axes, = capability_picture([points]).axes
    drawn = drawn_families(axes)
    for family in set(points.families):
        for fitted in (True, False):
            rows = [
                m for m, name in enumerate(points.families)
                if name == family and points.fitted[m] == fitted
            ]
            if rows:
                np.testing.assert_array_equal(
                    drawn.pop((family, fitted)),
                    np.stack([points.scores, points.accuracies], 1)[rows])
    assert not drawn
    right, left = axes.get_xlim()
    assert left < points.scores.min() < points.scores.max() < right
    chance, curve, beyond = axes.lines[:3]
    assert set(chance.get_ydata()) == {0.25}
    for line in (beyond, curve):
        np.testing.assert_array_equal(line.get_ydata(),
                                      CURVE.accuracies(line.get_xdata()))
    # Of all models fitted on, whether they are among the points or not.
    assert (curve.get_xdata()[0], curve.get_xdata()[-1]) == (0.6, 1.4)
    assert beyond.get_xdata()[0] < points.scores.min()
    assert beyond.get_xdata()[-1] > points.scores.max()
    assert (beyond.get_linestyle(), curve.get_linestyle()) == ('--', '-')


LAW, BEYOND = 'scaling law', 'beyond the fit'


@pytest.mark.parametrize('fitted_range, names', [
    ((0.0, 9.0), [LAW]),
    ((0.6, 9.0), [LAW, BEYOND]),
    ((0.0, 1.4), [LAW, BEYOND]),
    ((5.0, 9.0), [BEYOND]),
    ((0.0, 0.1), [BEYOND]),
    ((1.0, 1.0), [BEYOND]),
    ((np.inf, -np.inf), [BEYOND]),
])
def test_lines_that_are_drawn_are_explained(fitted_range, names):
    points = replace(
        some_points(), fitted=np.zeros(30, bool), fitted_range=fitted_range)
    none = replace(
        points, accuracies=np.full(30, nan), fitted_range=(0.6, 1.4))
    figure = capability_picture([points, none])
    styles = {'-': LAW, '--': BEYOND}
    drawn = [
        line for line in figure.axes[0].lines if line.get_linestyle() in styles
    ]
    assert [styles[line.get_linestyle()] for line in drawn] == names
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [name for name in shown if name in (LAW, BEYOND)] == names
    low, high = sorted(figure.axes[0].get_xlim())
    for line in drawn:
        x, own = line.get_xdata(), styles[line.get_linestyle()] == LAW
        ends = np.clip(fitted_range, low, high) if own else (low, high)
        np.testing.assert_allclose([x[0], x[-1]], ends)


def test_a_family_looks_alike_everywhere():
    first = some_points('one')
    second = replace(first, benchmark='two', families=first.families[::-1])
    figure = capability_picture([first, second])
    colours = [{(line.get_label(), line.get_color(), line.get_marker())
                for line in axes.lines if line.get_marker() != 'None'}
               for axes in figure.axes]
    assert colours[0] == colours[1]
    texts = figure.legends[0].get_texts()
    shown = {
        text.get_text(): to_hex(handle.get_color()).upper()
        for text, handle in zip(texts, figure.legends[0].legend_handles)
    }
    assert all(shown[gid] == to_hex(colour).upper()
               for gid, colour, _ in colours[0])  # yapf: disable


def test_families_are_counted_by_models():
    # Sixteen families of one model, but one of them of two.
    points = some_points(n_models=17, n_families=16)
    figure = capability_picture([points] * 3)
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert 'family 0' in names and 'family 15' not in names


def test_missing_scores_are_left_out():
    points = some_points()
    points.accuracies[3], points.scores[4] = nan, nan
    none = replace(points, accuracies=np.full(30, nan))
    axes, empty = capability_picture([points, none]).axes
    assert sum(map(len, drawn_families(axes).values())) == 28
    assert [text.get_text() for text in empty.texts] == ['no scores']
    assert np.isfinite(axes.get_xlim() + axes.get_ylim()).all()


@pytest.mark.parametrize('fitted', [True, False])
def test_one_model(fitted):
    points = replace(some_points(n_models=1), fitted=np.array([fitted]))
    figure = capability_picture([points])
    assert_readable(figure)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ('fitted on' in names, 'held out' in names) == (fitted, not fitted)


@pytest.fixture(scope='module')
def tables():
    return small_tables(n_models=18)


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return split_study(tables.features, tables.accuracies, tables.families,
                       tables.models[:10], SOLVERS['ridge'])


def test_points_of_nothing():
    with pytest.raises(InputError, match='one benchmark'):
        capability_picture([])


# Methods.


def test_methods_picture():
    predictions = some_predictions(6)
    predictions.real[7, 2] = nan
    figure = methods_picture(predictions)
    # Axes of a method one after the other; two blocks of three columns.
    grid = np.array(figure.axes, dtype=object).reshape(3, 6)
    for p in range(3):
        for b in range(6):
            rows = [m for m in range(4, 12) if (m, b) != (7, 2)]
            real, axes = predictions.real[rows, b], grid[p, b]
            values, low, high = (
                part[rows, b, p]
                for part in (predictions.values, predictions.low,
                             predictions.high))
            np.testing.assert_array_equal(axes.lines[-1].get_xydata(),
                                          np.stack([real, values], 1))
            bars = np.array(axes.collections[0].get_segments())
            np.testing.assert_array_equal(bars[:, 0, 0], real)
            np.testing.assert_array_equal(bars[:, :, 1].T, [low, high])
            mse = 1e3 * metrics.mse(real, values)
            title = f'MSE {mse:.2f}e-3'
            assert axes.get_title() == (f'{name_of(b)}\n{title}'
                                        if p == 0 else title)
            assert axes.get_xlim() == axes.get_ylim() == grid[0, b].get_xlim()
            least, most = axes.get_xlim()
            assert least < min(real.min(), values.min())
            assert most > max(real.max(), values.max())
    x = np.array([[axes.get_position().x0 for axes in row] for row in grid])
    y = np.array([[axes.get_position().y0 for axes in row] for row in grid])
    assert (np.diff(x[:, :3]) > 0).all() and (np.diff(x[:, 3:]) > 0).all()
    # All methods of the first three, then all of the next three.
    order = np.concatenate([y[:, 0], y[:, 3]])
    assert (np.diff(order) < 0).all()
    labels = [[axes.get_ylabel() for axes in row] for row in grid]
    assert labels == [[name, '', ''] * 2
                      for name in ('auto', 'all-token loss', 'mean accuracy')]
    assert len({
        line.get_marker()
        for line in (axes.lines[-1] for axes in grid[:, 0])
    }) == 3


def test_methods_of_a_real_study(study):
    figure = methods_picture(study.predictions)
    empty = [axes for axes in figure.axes if axes.texts]
    # No model, or only fitted models, ran 'pair' and 'none'.
    assert len(empty) == 2 * len(study.predictions.methods)
    assert all(axes.get_title().endswith('MSE -') for axes in empty)
    assert_readable(figure)


def test_methods_without_held_out_models(tables):
    study = split_study(tables.features, tables.accuracies, tables.families,
                        tables.models, Uniform())
    with pytest.raises(InputError, match='none of 18'):
        methods_picture(study.predictions)


# Training.


def test_training_curve():
    curve = some_curve(3)
    curve.train[30:, 1] = curve.validation[30:, 1] = nan
    figure = training_curve_picture(curve)
    for b, axes in enumerate(figure.axes):
        train, validation, star = axes.lines
        np.testing.assert_array_equal(train.get_ydata(), curve.train[:, b])
        np.testing.assert_array_equal(validation.get_ydata(),
                                      curve.validation[:, b])
        assert list(star.get_xydata()[0]) == [b, curve.validation[b, b]]
        assert axes.get_yscale() == 'log' and axes.get_xscale() == 'linear'
        assert axes.get_title() == name_of(b)
    assert figure.get_supxlabel() == 'gradient step'


def test_flat_training_curve():
    zeros = np.zeros((40, 1))
    figure = training_curve_picture(
        replace(some_curve(1), train=zeros, validation=zeros + 1e-3))
    assert_readable(figure)


def test_convergence():
    steps = [(f'step {i}',
              [some_points(name_of(b), seed=10 * i + b) for b in range(6)])
             for i in range(2)]
    figure = convergence_picture(steps)
    grid = np.array(figure.axes, dtype=object).reshape(2, 6)
    for row, (name, points) in zip(grid, steps):
        assert [axes.get_ylabel() for axes in row] == [name, '', ''] * 2
        for axes, part in zip(row, points):
            drawn = np.concatenate(list(drawn_families(axes).values()))
            assert sorted(drawn[:, 0]) == sorted(part.scores)
    assert [axes.get_title()
            for axes in grid[0]] == [name_of(b) for b in range(6)]
    assert not any(axes.get_title() for axes in grid[1])


def test_convergence_refuses():
    with pytest.raises(InputError, match="step 'b'"):
        convergence_picture([('a', [some_points('x')]),
                             ('b', [some_points('y')])])
    for steps in ([], [('a', [])]):
        with pytest.raises(InputError, match='points of a step'):
            convergence_picture(steps)


# Trajectories.


def test_trajectories():
    runs = some_runs(2)
    runs[1] = replace(runs[1], forecast=Forecast(1e12, 0.9, 0.6, 0.95))
    figure = trajectory_picture({'exam': runs, 'other': []})
    axes, empty = figure.axes
    lines = axes.lines
    for run, (predicted, observed) in zip(runs, (lines[:2], lines[2:4])):
        np.testing.assert_array_equal(predicted.get_xydata(),
                                      np.stack([run.tokens, run.predicted], 1))
        np.testing.assert_array_equal(observed.get_ydata(), run.observed)
        assert predicted.get_color() == observed.get_color()
        assert (predicted.get_marker(), observed.get_linestyle()) == ('None',
                                                                      'None')
    for run, band in zip(runs, axes.collections):
        corners = band.get_paths()[0].vertices
        assert {*run.low, *run.high} == set(corners[:, 1])
    np.testing.assert_array_equal(lines[4].get_xydata(),
                                  [[3e10, runs[1].predicted[-1]], [1e12, 0.9]])
    whisker = axes.collections[-1].get_segments()[0]
    np.testing.assert_allclose(whisker, [[1e12, 0.6], [1e12, 0.95]])
    assert [text.get_text() for text in empty.texts] == ['no run']
    assert axes.get_xscale() == empty.get_xscale() == 'log'
    labels = {text.get_text() for text in drawn_ticks(axes.xaxis)}
    assert '1T' in labels
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [
        'run-0', 'run-1', 'predicted', 'its interval', 'observed', 'forecast'
    ]
    assert_readable(figure)


def test_forecasts_of_one_budget_stand_apart():
    """Around it; and what trainings are measured by is on the axis."""
    runs = [
        replace(
            run,
            observed=np.full(len(run.tokens), np.nan),
            forecast=Forecast(1e12, 0.9, 0.6, 0.95)) for run in some_runs(2)
    ]
    figure = trajectory_picture({'exam': runs}, 'steps')
    places = [
        bars.get_segments()[0][0, 0]
        for bars in figure.axes[0].collections[-2:]
    ]
    assert places[0] < 1e12 < places[1] < 1.1e12
    assert sum(places) == pytest.approx(2e12)
    assert figure.get_supxlabel() == 'training steps'
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert 'observed' not in names
    assert_readable(figure)


@pytest.mark.parametrize('tokens, scale', [([1e9, 1e10], 'linear'),
                                           ([1e9, 1.01e10], 'log'),
                                           ([0, 1e10], 'linear'),
                                           ([5e9], 'linear')])
def test_scale_of_tokens(tokens, scale):
    ones = np.ones(len(tokens)) / 2
    figure = trajectory_picture({
        'exam': [Trajectory('run', np.array(tokens), ones, ones, ones, ones)]
    })
    assert figure.axes[0].get_xscale() == scale
    assert_readable(figure)


def test_bad_trajectories():
    run = some_runs()[0]
    with pytest.raises(InputError, match="high of 'run-0'"):
        replace(run, high=run.high[1:])
    with pytest.raises(InputError, match='rising'):
        replace(run, tokens=run.tokens[::-1])
    for by_benchmark in ({}, {'exam': []}):
        with pytest.raises(InputError, match='a run'):
            trajectory_picture(by_benchmark)


# Coverage.


def test_coverage(tables, study):
    coverage = coverage_by_level(study.predictor, tables.features,
                                 tables.accuracies, (0.5, 0.9))
    figure = coverage_picture(coverage)
    shares = [coverage.pooled, *coverage.covered.T]
    for axes, share, n in zip(figure.axes, shares, [8, *coverage.n_models]):
        if not n:
            assert [text.get_text() for text in axes.texts] == ['no model']
            continue
        np.testing.assert_array_equal(axes.lines[-1].get_xydata(),
                                      np.stack([coverage.levels, share], 1))
        corners = axes.collections[0].get_paths()[0].vertices
        for level in coverage.levels:
            ends = corners[corners[:, 0] == level, 1]
            expected = binom.ppf([0.025, 0.975], n, level) / n
            assert [ends.min(), ends.max()] == list(expected)
        assert axes.get_title().endswith(f'{n} models')
    assert figure.axes[0].get_title().startswith('all benchmarks')
    assert_readable(figure)


# Texts and outliers.


def test_texts_picture():
    figure = texts_picture(some_rows())
    assert [axes.get_title() for axes in figure.axes] == [
        'unseen series', 'unseen series', 'larger sizes', 'larger sizes'
    ]
    assert [axes.get_xlabel() for axes in figure.axes
            ] == ['', '', 'texts of 5 sources', 'sources of 50 texts']
    for axes, numbers in zip(figure.axes, [(10, 25, 250), (1, 2, 5)] * 2):
        ticks = [text.get_text() for text in drawn_ticks(axes.xaxis)]
        assert ticks == list(map(str, numbers))
        for line, bars, part in zip(axes.lines, axes.collections, (0.1, 0.2)):
            np.testing.assert_allclose(line.get_ydata(),
                                       2**0.5 * part / np.array(numbers))
            ends = np.array(bars.get_segments())[:, :, 1]
            np.testing.assert_allclose(
                ends, np.outer(part / np.array(numbers), [1, 2]))
            assert np.abs(line.get_xdata() - np.arange(3)).max() < 0.2
    larger = [
        replace(r, mse=30 * r.mse) if r.models == 'larger sizes' else r
        for r in some_rows()
    ]
    limits = [axes.get_ylim() for axes in texts_picture(larger).axes]
    assert limits[0] == limits[1] != limits[2] == limits[3]
    for kind, (low, high) in zip(('unseen series', 'larger sizes'),
                                 limits[::2]):
        errors = [row.mse for row in larger if row.models == kind]
        assert min(errors) / 2 < low < min(errors)
        assert max(errors) < high < 2 * max(errors)
    with pytest.raises(InputError, match='rows'):
        texts_picture([])


def test_outliers_picture():
    far = some_outliers()
    axes, = outliers_picture(far).axes
    assert [text.get_text() for text in drawn_ticks(axes.yaxis)
            ] == [f'{outlier.model} on exam' for outlier in far]
    assert [text.get_text()
            for text in axes.texts] == ['+2.00', '-4.00', '+2.00', 'distance']
    for i, outlier in enumerate(far):
        interval, predicted, real = axes.lines[3 * i:3 * i + 3]
        place = axes.get_yticks()[i]
        assert list(interval.get_xdata()) == [outlier.low, outlier.high]
        assert predicted.get_xydata().tolist() == [[outlier.predicted, place]]
        assert real.get_xydata().tolist() == [[outlier.observed, place]]
        assert real.get_marker() == '^v'[i % 2]
    assert (np.diff(axes.get_yticks()) > 0).all() and axes.yaxis_inverted()
    with pytest.raises(InputError, match='outlier'):
        outliers_picture([])


def test_outliers_beyond_all_measure():
    outlier = replace(some_outliers()[0], distance=np.inf)
    assert_readable(outliers_picture([outlier]))


@pytest.mark.parametrize('accuracy', [0.0, 1.0])
def test_no_tick_of_an_accuracy_lies_outside_of_0_to_1(accuracy):
    """Where all models have one accuracy, the axes reach beyond."""
    points = some_points()
    points = replace(
        points,
        accuracies=np.full(len(points.models), accuracy),
        chance=accuracy)
    table = some_predictions(1)
    same = np.full(table.values.shape, accuracy)
    table = replace(
        table, values=same, low=same, high=same, real=same[:, :, 0])
    run = replace(
        some_runs(1)[0], predicted=np.full(4, accuracy),
        low=np.full(4, accuracy), high=np.full(4, accuracy),
        observed=np.full(4, nan))  # yapf: disable
    drawn = [(capability_picture([points]), 'y'),
             (methods_picture(table), 'xy'),
             (trajectory_picture({'exam': [run]}), 'y')]
    for figure, names in drawn:
        for axes in figure.axes:
            for name in names:
                axis = getattr(axes, f'{name}axis')
                low, high = axis.get_view_interval()
                assert low < 0 or high > 1
                ticks = [label.get_text() for label in drawn_ticks(axis)]
                assert ticks and all(0 <= float(tick) <= 1 for tick in ticks)


@pytest.mark.parametrize('n_benchmarks', [1, 5, 8])
def test_a_legend_taken_out_is_whole_and_narrow(n_benchmarks):
    points = [
        some_points(name_of(b), n_families=9) for b in range(n_benchmarks)
    ]
    figure, whole = capability_picture(points), capability_picture(points)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    legend = take_legend(figure, 3.5)
    assert figure.legends == []
    assert_readable(figure)
    assert figure.get_figheight() < whole.get_figheight()
    # They share the room that was around the legend.
    assert [box.height for box in panels_of(figure)
            ] == pytest.approx([box.height for box in panels_of(whole)],
                               abs=0.2)
    alone, = legend.legends
    assert [text.get_text() for text in alone.get_texts()] == names
    assert legend.get_figwidth() <= 3.5
    assert_readable(legend)


def panels_of(figure):
    """Boxes of the panels, inches."""
    return [
        axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        for axes in figure.axes
    ]
