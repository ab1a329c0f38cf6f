"""Ends of runs by regressed gains of accuracies."""
import numpy as np
import pytest
from scipy.stats import t

from tools.studies.accuracy_forecasts import Levels, PastRun, forecast_end

SHARES = np.array([0.1, 0.3, 1.0])


def past(then, final):
    """Runs known at a tenth of their training and at the end."""
    return [
        PastRun((Levels(SHARES[[0, 2]], np.array([now, end])), ), end)
        for now, end in zip(then, final)
    ]


def rough(n=8):
    rng = np.random.default_rng(17)
    then = 0.3 + 0.03 * np.arange(n)[:, None] + 0.01 * rng.normal(size=(n, 2))
    return then, 0.1 + 1.3 * then + 0.02 * rng.normal(size=(n, 2))


def test_gains_are_regressed_on_the_mean_level():
    then, final = rough()
    run = Levels(SHARES[:1], np.array([[0.5, 0.6]]))
    ends = forecast_end([run], past(then, final), .9, np.zeros(2))
    level, gains = then.mean(axis=1), final - then
    expected = [
        run.values[0, b] +
        np.polyval(np.polyfit(level, gains[:, b], 1), run.values[0].mean())
        for b in range(2)
    ]
    assert ends.values == pytest.approx(expected)
    # By a regression, with residuals of runs left out; of these runs, the
    # better are not forecast worse.
    errors = np.array([[
        gains[i, b] - np.polyval(
            np.polyfit(np.delete(level, i), np.delete(gains[:, b], i), 1),
            level[i]) for b in range(2)
    ] for i in range(8)])
    away = (level - level.mean())**2 / np.sum((level - level.mean())**2)
    leverage = 1 / 8 + away
    deviation = np.sqrt(np.mean(errors**2 * (1 - leverage[:, None]), axis=0))
    here = 1 / 8 + (run.values[0].mean() - level.mean())**2 / np.sum(
        (level - level.mean())**2)
    half = t.ppf(.95, 6) * deviation * np.sqrt(1 + here)
    assert ends.high - ends.values == pytest.approx(half)
    assert ends.low == pytest.approx(2 * ends.values - ends.high)


def test_the_better_source_counts_by_the_square_of_its_error():
    then, final = rough()
    worse = then + 0.1 * np.random.default_rng(1).normal(size=then.shape)
    run = Levels(SHARES[:1], np.array([[0.5, 0.6]]))
    sources = [past(table, final) for table in (then, worse)]
    alone = [forecast_end([run], one, .9, np.zeros(2)) for one in sources]
    together = forecast_end(
        [run, run],
        [PastRun((*a.sources, *b.sources), a.final)
         for a, b in zip(*sources)], .9, np.zeros(2))
    errors = []
    for table in (then, worse):
        level, gains = table.mean(axis=1), final - table
        errors.append(
            np.mean([(gains[i, b] - np.polyval(
                np.polyfit(np.delete(level, i), np.delete(gains[:, b], i), 1),
                level[i]))**2 for i in range(8) for b in range(2)]))
    weights = np.array(errors)**-2
    assert together.values == pytest.approx(
        np.average([one.values for one in alone], axis=0, weights=weights))


def test_intervals_have_the_noise_of_items():
    then = np.linspace(.3, .6, 5)[:, None] * np.ones(2)
    run = Levels(SHARES[:1], np.array([[0.4, 0.4]]))
    ends = forecast_end([run], past(then, 1.2 * then), .9, np.array([100, 0]))
    p = ends.values[0]
    assert p == pytest.approx(.48)
    assert ends.high[0] - p == pytest.approx(
        1.645 * np.sqrt(p * (1 - p) / 100), rel=1e-3)
    assert ends.high[1] == pytest.approx(ends.low[1])
