"""Forecasts are exact where they can be, and tell their errors."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.forecasting import Forecaster
from tests.triage.trajectories import SHARES, law, make_run

#: What a falling learning rate adds late in the training.
DECAY = 1.2 * np.maximum(SHARES - 0.4, 0)


def history(n=5, spread=0.3, decay=DECAY):
    """Runs of one shape, at other levels."""
    return [
        make_run(f'past-{i}',
                 law(SHARES, limit=2 + spread * (i - n // 2)) + decay)
        for i in range(n)
    ]


@pytest.mark.parametrize('n', range(1, 7))
def test_same_shape_and_decay_as_the_history(n):
    run = make_run('new', law(SHARES, limit=3.3) + DECAY)
    forecast = Forecaster(history()).forecast(run.truncated(n))
    assert forecast.exponents == pytest.approx(run.exponents[-1], abs=0.02)
    assert forecast.share == SHARES[n - 1]
    assert np.abs(forecast.errors).max() < 0.02
    assert forecast.errors.shape == (5, 1)


def test_nothing_is_forecast_without_earlier_runs():
    forecast = Forecaster([]).forecast(make_run('new').truncated(6))
    assert np.isnan(forecast.exponents).all()
    assert forecast.errors.shape[0] == 0


def test_the_median_gain_is_that_of_most_runs():
    """A capability that emerged in one earlier run promises nothing."""
    runs = history(4) + [make_run('odd', law(SHARES) + 9 * DECAY)]
    forecast = Forecaster(runs).forecast(make_run('new').truncated(3))
    assert forecast.exponents[0] == pytest.approx(law(1) + DECAY[-1], abs=.01)


@given(st.lists(st.floats(-5, 5), min_size=7, max_size=7), st.booleans())
@settings(max_examples=20)
def test_a_finished_run_is_forecast_to_be_as_it_is(exponent, with_history):
    run = make_run('new', np.array(exponent))
    forecast = Forecaster(history(3) if with_history else []).forecast(run)
    assert forecast.exponents == run.exponents[-1]
    assert (forecast.errors == 0).all() and len(forecast.errors)


@given(st.floats(-3, 3), st.integers(1, 6))
@settings(max_examples=20)
@pytest.mark.slow
def test_a_constant_moves_the_forecast_as_much(constant, n):
    forecaster = Forecaster(history(3))
    run = make_run('new', law(SHARES)).truncated(n)
    moved = replace(run, exponents=run.exponents + constant)
    assert forecaster.forecast(moved).exponents == pytest.approx(
        forecaster.forecast(run).exponents + constant, abs=1e-3)


def test_the_unit_of_tokens_does_not_matter():
    forecaster = Forecaster(history(3))
    run = make_run('new').truncated(3)
    scaled = replace(run, tokens=1e9 * run.tokens, budget=1e9 * run.budget)
    assert forecaster.forecast(scaled).exponents == pytest.approx(
        forecaster.forecast(run).exponents)


def test_benchmarks_do_not_mix():
    runs = [
        replace(
            first, exponents=np.hstack([first.exponents, second.exponents]))
        for first, second in zip(
            history(4), history(4, spread=1, decay=DECAY * 2))
    ]
    alone = Forecaster(history(4)).forecast(make_run('new').truncated(2))
    both = Forecaster(runs).forecast(
        make_run('new', law(SHARES), law(SHARES)).truncated(2)).exponents
    assert both[0] == pytest.approx(alone.exponents[0])
    assert both[1] > both[0] + 0.5


def test_errors_are_of_runs_left_out():
    """An odd run has a large error, and hardly moves the other forecasts."""
    runs = history(5) + [make_run('odd', law(SHARES) + 5 * DECAY)]
    backtest = Forecaster(runs).backtest(SHARES[2])
    assert backtest.runs[-1] == 'odd'
    odd = runs[-1].exponents[-1, 0] - (law(1) + DECAY[-1])
    assert backtest.errors[-1, 0] == pytest.approx(odd, abs=0.1)
    assert np.abs(backtest.errors[:-1]).max() < 0.1
    assert backtest.now[-1] == runs[-1].exponents[2]
    assert backtest.actual[-1] == runs[-1].exponents[-1]


@pytest.mark.parametrize(('better', 'growth'), [(3, 1.27), (0, 1)])
def test_errors_are_stretched_where_better_runs_are_forecast_worse(
        better, growth):
    """The gains of the better half are `better` times as far apart."""
    rng = np.random.default_rng(0)
    runs = [
        make_run(
            f'past-{i}',
            law(SHARES, limit=i) + DECAY *
            (1 + rng.uniform() * (better if i > 3 else 1))) for i in range(8)
    ]
    forecaster = Forecaster(runs)
    backtest = forecaster.backtest(SHARES[2])
    assert len(backtest.forward) == 4
    assert backtest.growth == pytest.approx(growth, abs=0.1)
    forecast = forecaster.forecast(make_run('new').truncated(3))
    assert forecast.errors == pytest.approx(backtest.growth * backtest.errors)
    assert forecast.freedom == 3


def test_checkpoints_at_other_steps_than_the_history():
    """The history is looked up between its checkpoints."""
    shares = np.array([0.12, 0.3])
    run = make_run('new', law(shares, limit=2.4), shares=shares)
    forecast = Forecaster(history()).forecast(run)
    assert forecast.exponents[0] == pytest.approx(
        law(1, limit=2.4) + DECAY[-1], abs=0.1)


def test_a_younger_run_than_any_of_the_history():
    late = [
        replace(past, tokens=past.tokens[2:], exponents=past.exponents[2:],
                mean_loss=past.mean_loss[2:],
                checkpoints=past.checkpoints[2:]) for past in history()
    ]  # yapf: disable
    forecaster = Forecaster(late)
    assert np.isnan(
        forecaster.forecast(make_run('new').truncated(1)).exponents).all()
    assert forecaster.backtest(SHARES[0]).runs == ()
    assert np.isfinite(
        forecaster.forecast(make_run('new').truncated(3)).exponents).all()


def test_a_single_earlier_run_shows_no_error():
    single = Forecaster(history(1)).forecast(make_run('new').truncated(1))
    assert np.isfinite(single.exponents).all() and not len(single.errors)


def test_a_finished_run_of_one_checkpoint_needs_no_history():
    run = make_run('new', np.ones(1), shares=np.ones(1))
    assert Forecaster([]).forecast(run).exponents == 1


def test_unfit_history():
    # Which is nearly all of it, but not all.
    with pytest.raises(
            InputError,
            match="'past-0'.*finished.* its last checkpoint at 200 of 200.5"):
        Forecaster([replace(run, budget=200.5) for run in history(2)])
    with pytest.raises(InputError, match='2 times'):
        Forecaster([make_run('a'), make_run('a')])
    with pytest.raises(InputError, match="'past-1'.*history"):
        Forecaster(history(2)).forecast(make_run('past-1').truncated(2))


def test_two_earlier_runs_forecast_each_other():
    """The gain of the first is expected of the second."""
    slow, fast = history(1), history(1, decay=3 * DECAY)
    runs = [*slow, replace(fast[0], run='fast')]
    backtest = Forecaster(runs).backtest(SHARES[2])
    assert backtest.errors[:,
                           0] == pytest.approx([-2 * DECAY[-1], 2 * DECAY[-1]],
                                               abs=0.15)
