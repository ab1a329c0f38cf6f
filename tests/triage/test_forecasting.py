"""Forecasts are those of an independent computation, and tell their errors."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.forecasting import Forecaster, forecast_state
from tests.triage.trajectories import SHARES, law, make_run, truncated


def history(n=5, spread=0.3):
    """Runs with unlike limits, whose levels rise further late in training."""
    late = 1.2 * np.maximum(SHARES - 0.4, 0)
    return [
        make_run(f'past-{i}',
                 law(SHARES, limit=spread * (i - n // 2)) + late)
        for i in range(n)
    ]


def rough(n=7, seed=0):
    """Levels of n runs and logarithms on one unit, at a share and at the end.
    """
    rng = np.random.default_rng(seed)
    then = rng.normal(size=(n, 2)) + np.arange(n)[:, None] / 3
    return then, then + 1 + 0.4 * then[:, :1] + rng.normal(size=(n, 2))


def runs_of(then, final):
    """Runs known at a tenth of their training and at the end."""
    return [
        make_run(f'past-{i}', *zip(first, last), shares=np.array([0.1, 1.0]))
        for i, (first, last) in enumerate(zip(then, final))
    ]


@pytest.mark.parametrize('n', [4, 5, 8])
def test_both_gains_count_by_their_errors_on_runs_left_out(n):
    """The mean gain, and a line in the level, each fitted by itself.

    The error is that of the level.
    """
    then, final = rough(n)
    gains, level, now = final - then, then[:, 0], np.array([0.3, 1.9])

    def line(rows, at):
        return np.array([
            np.polyval(np.polyfit(level[rows], gains[rows, k], 1), at)
            for k in range(2)
        ])

    def mean(rows, at):
        return gains[rows].mean(axis=0)

    found, weights = [], []
    for rule in (mean, line):
        errors = [
            (gains[run] - rule(np.delete(np.arange(n), run), level[run]))[0]
            for run in range(n)
        ]
        found.append(rule(np.arange(n), now[0]))
        weights.append(np.mean(np.square(errors))**-2)
    expected = now + np.average(found, axis=0, weights=weights)
    assert forecast_state(now, then, final) == pytest.approx(expected)
    assert not np.allclose(*found, atol=0.05)


@pytest.mark.parametrize('n', [1, 2, 3])
def test_of_fewer_than_four_runs_the_mean_alone_counts(n):
    then, final = rough(n)
    now = np.array([0.3, 1.9])
    expected = now + (final - then).mean(axis=0)
    assert forecast_state(now, then, final) == pytest.approx(expected)


def test_equal_levels_tell_no_line():
    then = np.ones((5, 1))
    final = then + [[0.0], [0.0], [1.0], [1.0], [1.0]]
    assert forecast_state(np.ones(1), then, final) == pytest.approx(1.6)
    assert np.isfinite(forecast_state(np.full(1, 9.0), then, final)).all()


def test_a_finished_run_is_forecast_to_be_as_it_is():
    run = make_run('new', np.linspace(-5, 5, 7))
    for past in ([], history(5)):
        forecast = Forecaster(past).forecast(run)
        assert forecast.state == run.states[-1]
        assert forecast.errors_known and not len(forecast.errors.errors)


def test_the_back_test_forecasts_each_run_from_the_others():
    then, final = rough()
    backtest = Forecaster(runs_of(then, final)).backtest(0.1)
    expected = [
        forecast_state(then[i], np.delete(then, i, 0), np.delete(final, i, 0))
        for i in range(7)
    ]
    assert backtest.runs == tuple(f'past-{i}' for i in range(7))
    assert backtest.forecast == pytest.approx(np.array(expected))
    assert backtest.now == pytest.approx(then)
    assert backtest.errors == pytest.approx(final - expected)
    # It takes two runs.
    two = Forecaster(runs_of(then[:2], final[:2])).backtest(0.1)
    assert two.runs == ('past-0', 'past-1')


def test_errors_grow_for_a_run_ahead_of_all():
    """As better runs do, forecast from the worst 4, 5 and 6 of 7."""
    then, final = rough()
    forecaster = Forecaster(runs_of(then, final))
    backtest = forecaster.backtest(0.1)
    order, squares = np.argsort(final[:, 0]), []
    for n in (4, 5, 6):
        for run in order[n:]:
            value = forecast_state(then[run], then[order[:n]],
                                   final[order[:n]])
            squares.append((final[run] - value)[0]**2)
    growth = np.sqrt(np.mean(squares) / np.mean(backtest.errors[:, 0]**2))
    assert backtest.growth == pytest.approx(max(1, growth)) and growth > 1.05
    for away, factor in ((0, 1), (20, growth)):
        new = make_run(
            'new', *zip(then[0], then[0] + away), shares=np.array([0.05, 0.1]))
        errors = forecaster.forecast(new).errors
        assert errors.errors == pytest.approx(factor * backtest.errors[:, 1:])
        assert errors.common == pytest.approx(1 - factor**-2)
        assert errors.freedom == 6


def test_runs_that_are_forecast_exactly_have_no_growth():
    then, _ = rough()
    exact = Forecaster(runs_of(then, then + 1)).backtest(0.1)
    assert exact.growth == 1 and exact.errors == pytest.approx(0)


def test_a_younger_run_than_any_of_the_history():
    late = [
        replace(past, tokens=past.tokens[2:], states=past.states[2:],
                mean_loss=past.mean_loss[2:],
                checkpoints=past.checkpoints[2:]) for past in history()
    ]  # yapf: disable
    forecaster = Forecaster(late)
    early = forecaster.forecast(truncated(make_run('new'), 1))
    assert np.isnan(early.state).all() and not early.is_made
    assert forecaster.backtest(SHARES[0]).runs == ()
    assert forecaster.forecast(truncated(make_run('new'), 3)).is_made


def test_unfit_history():
    # Which is nearly all of it, but not all.
    with pytest.raises(
            InputError,
            match="'past-0'.*finished.* its last checkpoint at 200 of 200.5"):
        Forecaster([replace(run, budget=200.5) for run in history(2)])
    with pytest.raises(InputError, match="'past-1'.*history"):
        Forecaster(history(2)).forecast(truncated(make_run('past-1'), 2))
