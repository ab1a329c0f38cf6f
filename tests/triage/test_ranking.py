"""Intervals and probabilities agree with the errors they are made of."""
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t

from csv_plugin.core.differences import joint_of_scores
from csv_plugin.core.scaling_law import Curve
from csv_plugin.triage.forecasting import Backtest, Forecast
from csv_plugin.triage.ranking import (FINISHED, GO_ON, NOT_FORECAST, STOP,
                                       TOO_FAR, UNKNOWN)
from csv_plugin.triage.ranking import expect as expect_of
from csv_plugin.triage.ranking import rank_all
from tests.runs import train

#: Fitted once.
fitted = cache(train)


def make_predictor(deviation=0.0, constant=0.0):
    """Two benchmarks with the floor 0 and known errors of the predictor."""
    predictor = fitted()
    benchmarks = []
    for benchmark in predictor.benchmarks:
        curve = benchmark.model.curve
        benchmarks.append(
            replace(
                benchmark,
                model=replace(
                    benchmark.model, curve=Curve(curve.alpha, curve.beta, 0)),
                intervals=replace(
                    benchmark.intervals,
                    variance=np.array([constant, deviation])**2,
                    rate=0.0)))
    return replace(predictor, benchmarks=tuple(benchmarks))


def forecast(run,
             *exponents,
             errors=((0.0, 0.0), ),
             share=0.5,
             forward=(1.0, ) * 9):
    errors = np.array(errors).reshape(-1, 2)
    zeros = np.zeros_like(errors)
    names = tuple(f'past-{i}' for i in range(len(errors)))
    return Forecast(run, share, np.array(exponents, float),
                    Backtest(names, zeros, zeros, errors, np.array(forward)))


def expect(run, predictor):
    return expect_of(run, predictor, [0, 1])


def test_error_of_the_predictor():
    expected = expect(forecast('a', 0.0, 1.0), make_predictor(0.5))
    half = norm.ppf(0.95) * 0.5
    assert expected.low[:2] == pytest.approx(
        expit([-half, 1 - half]), abs=0.01)
    assert expected.high[:2] == pytest.approx(
        expit([half, 1 + half]), abs=0.01)
    flat = expect(forecast('a', 0.0, 1.0), make_predictor(0, 0.05))
    # That of the mean of two is smaller.
    assert flat.high - flat.values == pytest.approx(
        norm.ppf(0.95) * 0.05 * np.array([1, 1, np.sqrt(0.5)]), abs=0.005)
    assert flat.values == pytest.approx([0.5, expit(1), (0.5 + expit(1)) / 2])


@pytest.mark.parametrize('n', [2, 8])
def test_few_better_runs_make_wide_intervals(n):
    expected = expect(
        forecast(
            'a',
            0.0,
            0.0,
            errors=[(1.0, 0.0), (-1.0, 0.0)] * 4,
            forward=[1.0] * (n + 1)), make_predictor())
    half = t.ppf(0.95, n)
    assert expected.high[0] == pytest.approx(expit(half), abs=0.015)
    assert expected.high[1] == pytest.approx(0.5)


def test_accuracies_are_at_most_1():
    expected = expect(forecast('a', 6.0, -6.0), make_predictor(0, 0.3))
    assert expected.high[0] == 1 and expected.low[1] == 0


@pytest.mark.parametrize(('away', 'factor'), [(-0.5, 1), (0.5, 1.5), (1, 2)])
def test_wider_outside_the_range_fitted_on(away, factor):
    """By the mean distance over benchmarks, in spreads, times a rate of 2.

    A benchmark at chance may have emerged by then; nothing else is known.
    """
    predictor = make_predictor(0.5)
    easy, other = predictor.benchmarks
    high = easy.intervals.score_high
    spread = (high - easy.intervals.score_low) / 4
    run = forecast(
        'a', *easy.model.curve.exponents(np.array([high + away * spread])),
        *other.model.curve.exponents(np.array([other.intervals.score_high])))
    changed = [
        replace(
            easy,
            intervals=replace(
                easy.intervals, score_spread=spread, rate=rate, rise=rise))
        for rate, rise in ((0, 0), (2, 0), (2, 9))
    ]
    narrow, wide, early = (
        expect(run, replace(predictor, benchmarks=(part, other)))
        for part in changed)
    widths = [
        logit(part.high[0]) - logit(part.low[0]) for part in (narrow, wide)
    ]
    assert widths[1] == pytest.approx(factor * widths[0], rel=0.01)
    assert early.low[0] == narrow.low[0]
    emerged = changed[2].emerged(np.array((factor - 1) / 2))
    assert early.high[0] == pytest.approx(max(narrow.high[0], emerged))


def anywhere():
    """A predictor of which no score is outside its range."""
    predictor = make_predictor()
    return replace(
        predictor,
        benchmarks=tuple(
            replace(
                part,
                intervals=replace(
                    part.intervals, score_low=-1e9, score_high=1e9))
            for part in predictor.benchmarks))


def rankings(pairs,
             budgets=None,
             predictor=None,
             main=(0, 1),
             useless=(),
             **kwargs):
    predictor = predictor or anywhere()
    runs = [
        part if isinstance(part, Forecast) else forecast(run, *part, **kwargs)
        for run, part in pairs.items()
    ]
    expected = [
        expect_of(run, predictor, main, np.full((2, 3), run.run in useless))
        for run in runs
    ]
    budgets = np.array(budgets or [1.0] * len(runs))
    return rank_all(runs, expected, budgets, predictor, main)


@pytest.mark.parametrize('n', [2, 4])
def test_error_of_differences(n):
    """From pairs of earlier runs, beside that of the predictor."""
    errors = 0.02 * np.array([[3, 0], [-1, 1], [1, -1], [5, 1.5]])[:n]
    exponents = np.array([[0.0, 0.3], [0.1, 0.2]])
    found = rankings(dict(zip('ab', exponents)), errors=errors)
    predictor = anywhere()
    scores = np.array([
        part.model.curve.beta + row / part.model.curve.alpha
        for part, row in zip(predictor.benchmarks, exponents.T)
    ])
    shift = joint_of_scores(predictor, scores, 'ab',
                            predictor.names).differences(0, 1)
    i, j = np.triu_indices(n, 1)
    for k, ranking in enumerate(found):
        own = []
        for exponent in exponents:
            accuracy = expit(exponent + errors)
            of_k = accuracy.mean(axis=1) if k == 2 else accuracy[:, k]
            own.append(np.mean((of_k[i] - of_k[j])**2) / 2)
        variance = shift.deviation[k]**2
        freedom = (variance + sum(own))**2 / (
            variance**2 / shift.freedom[k] + (own[0]**2 + own[1]**2) / (n - 1))
        above = t.sf(0, freedom, abs(shift.difference[k]),
                     np.sqrt(variance + sum(own)))
        assert ranking.above_next[0] == pytest.approx(above, abs=0.002)
        assert np.isnan(ranking.above_next[1])
        assert ranking.chance[0] == pytest.approx(above, abs=0.02)


def test_verdicts():
    ranking, *_ = rankings(
        dict(a=(3.0, 0.0), b=(2.8, 0.0), c=(2.9, 0.0), d=(-4.0, 0.0)))
    assert ranking.runs == ('a', 'c', 'b', 'd')
    assert ranking.verdicts == (GO_ON, GO_ON, GO_ON, STOP)
    assert ranking.best.tolist() == [1, 1, 1, 4]
    assert ranking.worst.tolist() == [3, 3, 3, 4]
    assert ranking.chance.sum() == pytest.approx(1)
    assert ranking.chance[3] == 0
    alone, *_ = rankings({'d': (-4.0, 0.0)})
    assert alone.verdicts == (GO_ON, ) and alone.chance == 1


def test_a_run_that_may_end_a_point_below_the_best_goes_on():
    ranking, *_ = rankings({'a': (0.09, 0.0), 'b': (0.0, 0.0)})
    assert ranking.values[0] - ranking.values[1] == pytest.approx(
        0.0225, abs=1e-4)
    assert ranking.chance[1] < 0.05 and ranking.verdicts == (GO_ON, GO_ON)


def test_runs_compete_with_those_of_their_budget_or_a_smaller_one():
    runs = {'long': (3.0, 0.0), 'short': (-4.0, 0.0), 'poor': (-4.0, 0.0)}
    ranking, *_ = rankings(runs, [2.0, 1.0, 2.0])
    assert ranking.verdicts == (GO_ON, GO_ON, STOP)
    assert ranking.best.tolist() == [1, 1, 2]
    # Nearly equal budgets are equal.
    ranking, *_ = rankings(runs, [1.05, 1.0, 1.0])
    assert ranking.verdicts == (GO_ON, STOP, STOP)


def test_the_error_of_a_finished_run_is_known():
    """But not by how much another will change that is not."""
    runs = {
        'done': forecast('done', 3.0, 0.0, share=1.0),
        'young': forecast('young', -4.0, 0.0)
    }
    both, *_ = rankings(runs)
    assert both.verdicts == (FINISHED, STOP)
    runs['young'] = forecast('young', -4.0, 0.0, errors=())
    both, *_ = rankings(runs)
    assert both.verdicts == (UNKNOWN, UNKNOWN)
    assert np.isnan(both.best).all() and np.isnan(both.chance).all()


def test_without_held_out_errors_there_is_no_verdict():
    """As those of --method paper have."""
    predictor = replace(anywhere(), training_scores=None)
    runs = {'a': (0.0, 0.0), 'b': (3.0, 0.0)}
    both, *_ = rankings(runs, predictor=predictor)
    assert both.runs == ('b', 'a')
    assert both.verdicts == (UNKNOWN, UNKNOWN)


def test_runs_without_a_forecast_come_last():
    """Behind those whose forecasts are useless."""
    runs = {'a': (np.nan, np.nan), 'far': (3.0, 3.0), 'b': (0.0, 0.0)}
    found, *_ = rankings(runs, useless=('a', 'far'))
    assert found.runs == ('b', 'far', 'a') and np.isnan(found.values[2])
    # The first one has no rival.
    assert found.verdicts == (GO_ON, TOO_FAR, NOT_FORECAST)
    nothing = expect_of(
        forecast('a', np.nan, np.nan), anywhere(), [0, 1],
        np.ones((2, 3)) > 0)
    assert np.isnan([nothing.low, nothing.high]).all()
    assert not nothing.useless.any()


def test_the_mean_of_one_benchmark_is_this_one():
    runs = {'a': (0.0, 1.0), 'b': (0.2, 0.0)}
    first, _, mean = rankings(runs, main=[0])
    assert mean.runs == first.runs == ('b', 'a')
    assert mean.chance.tolist() == first.chance.tolist()
