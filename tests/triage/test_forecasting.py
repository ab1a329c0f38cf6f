"""Forecasts are those of an independent computation, and tell their errors."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.forecasting import Forecaster, forecast_exponents
from tests.triage.trajectories import SHARES, law, make_run, truncated

#: What a falling learning rate adds late in the training.
DECAY = 1.2 * np.maximum(SHARES - 0.4, 0)


def history(n=5, spread=0.3, decay=DECAY):
    return [
        make_run(f'past-{i}',
                 law(SHARES, limit=2 + spread * (i - n // 2)) + decay)
        for i in range(n)
    ]


def rough(n=7, seed=0):
    """Exponents of n runs on two benchmarks at a share, and at the end."""
    rng = np.random.default_rng(seed)
    then = rng.normal(size=(n, 2)) + np.arange(n)[:, None] / 3
    return then, then + 1 + 0.4 * then.mean(axis=1)[:, None] + rng.normal(
        size=(n, 2))


def two_gains(now, then, final):
    """The gain by the median and by a line, and their errors left out."""
    gains, level = final - then, then.mean(axis=1)

    def middle(rows, _):
        ranked, n = np.sort(gains[rows], axis=0), len(rows)
        return (ranked[(n - 1) // 2] + ranked[n // 2]) / 2

    def line(rows, at):
        return np.array([
            np.polyval(np.polyfit(level[rows], gains[rows, b], 1), at)
            for b in range(2)
        ])

    every = list(range(len(then)))
    found = []
    for rule in (middle, line):
        errors = [
            gains[run] - rule([i for i in every if i != run], level[run])
            for run in every
        ]
        found.append((rule(every, now.mean()), np.mean(np.square(errors))))
    return found


@pytest.mark.parametrize('n', [4, 5, 8])
def test_both_gains_count_by_their_errors_on_runs_left_out(n):
    then, final = rough(n)
    now = np.array([0.3, 1.9])
    (median, worse), (line, better) = two_gains(now, then, final)
    weights = np.array([worse, better])**-2
    expected = now + (weights[0] * median + weights[1] * line) / weights.sum()
    assert forecast_exponents(now, then, final) == pytest.approx(expected)
    assert not np.allclose(median, line, atol=0.05)


@pytest.mark.parametrize('n', [1, 2, 3])
def test_of_fewer_than_four_runs_the_median_alone_counts(n):
    then, final = rough(n)
    now = np.array([0.3, 1.9])
    assert forecast_exponents(
        now, then,
        final) == pytest.approx(now + np.median(final - then, axis=0))


def test_equal_levels_tell_no_line():
    then = np.ones((5, 1))
    gains = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    forecast = forecast_exponents(np.ones(1), then, then + gains)
    assert 0.6 <= forecast[0] - 1 <= 1
    # A line meets one run beside equal ones, whatever its gain: squared errors
    # left out are .55 by the median, and 4/15 by the line from the others.
    then[0] = 3
    weights = np.array([0.55, 4 / 15])**-2
    assert forecast_exponents(
        np.ones(1), then,
        then + gains) == pytest.approx(1 + weights @ [1, 0.75] / weights.sum())


def test_a_finished_run_is_forecast_to_be_as_it_is():
    run = make_run('new', np.linspace(-5, 5, 7))
    for past in ([], history(5)):
        forecast = Forecaster(past).forecast(run)
        assert forecast.exponents == run.exponents[-1]
        assert (forecast.errors == 0).all() and len(forecast.errors)


def runs_of(then, final):
    """Runs known at a tenth of their training and at the end."""
    return [
        make_run(f'past-{i}', *zip(first, last), shares=np.array([0.1, 1.0]))
        for i, (first, last) in enumerate(zip(then, final))
    ]


def test_the_back_test_forecasts_each_run_from_the_others():
    then, final = rough()
    backtest = Forecaster(runs_of(then, final)).backtest(0.1)
    expected = [
        forecast_exponents(then[i], np.delete(then, i, 0),
                           np.delete(final, i, 0)) for i in range(7)
    ]
    assert backtest.runs == tuple(f'past-{i}' for i in range(7))
    assert backtest.forecast == pytest.approx(np.array(expected))
    assert backtest.now == pytest.approx(then)
    assert backtest.errors == pytest.approx(final - expected)
    # It takes two runs.
    two = Forecaster(runs_of(then[:2], final[:2])).backtest(0.1)
    assert two.runs == ('past-0', 'past-1')


def test_better_runs_are_forecast_from_worse_ones():
    """From the worst 4, 5 and 6 of 7: the best run three times."""
    then, final = rough()
    forecaster = Forecaster(runs_of(then, final))
    backtest = forecaster.backtest(0.1)
    unit = np.sqrt(np.mean(backtest.errors**2, axis=0))
    order = np.argsort(final.mean(axis=1))
    squares = {}
    for n in (4, 5, 6):
        for run in order[n:]:
            value = forecast_exponents(then[run], then[order[:n]],
                                       final[order[:n]])
            squares.setdefault(run, []).append(
                np.mean(((final[run] - value) / unit)**2))
    of_runs = [np.mean(several) for several in squares.values()]
    assert sorted(backtest.forward) == pytest.approx(sorted(np.sqrt(of_runs)))
    growth = max(1, np.sqrt(np.mean(of_runs)))
    assert backtest.growth == pytest.approx(growth) and growth > 1.1
    new = make_run('new', then[0], then[1], shares=np.array([0.05, 0.1]))
    forecast = forecaster.forecast(new)
    assert forecast.errors == pytest.approx(growth * backtest.errors)
    assert forecast.freedom == 2
    alone = replace(backtest, forward=backtest.forward[:1])
    assert replace(forecast, backtest=alone).freedom == 1


def test_benchmarks_that_are_forecast_exactly_tell_nothing():
    then, final = rough()
    # With the mean level of the others, it moves no regression.
    same = then.mean(axis=1, keepdims=True)
    alone, beside = (
        Forecaster(runs_of(*levels)).backtest(0.1)
        for levels in ((then, final), (np.hstack([then, same]),
                                       np.hstack([final, same]))))
    assert len(beside.forward) == len(alone.forward)
    assert np.isfinite(beside.growth)
    exact = Forecaster(runs_of(same, same)).backtest(0.1)
    assert exact.growth == 1 and not len(exact.forward)


def test_a_younger_run_than_any_of_the_history():
    late = [
        replace(past, tokens=past.tokens[2:], exponents=past.exponents[2:],
                mean_loss=past.mean_loss[2:],
                checkpoints=past.checkpoints[2:]) for past in history()
    ]  # yapf: disable
    forecaster = Forecaster(late)
    assert np.isnan(
        forecaster.forecast(truncated(make_run('new'), 1)).exponents).all()
    assert forecaster.backtest(SHARES[0]).runs == ()
    assert np.isfinite(
        forecaster.forecast(truncated(make_run('new'), 3)).exponents).all()


def test_unfit_history():
    # Which is nearly all of it, but not all.
    with pytest.raises(
            InputError,
            match="'past-0'.*finished.* its last checkpoint at 200 of 200.5"):
        Forecaster([replace(run, budget=200.5) for run in history(2)])
    with pytest.raises(InputError, match="'past-1'.*history"):
        Forecaster(history(2)).forecast(truncated(make_run('past-1'), 2))
