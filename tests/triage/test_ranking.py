"""Intervals and probabilities agree with the errors they are made of."""
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t

from csv_plugin.core.scaling_law import Curve
from csv_plugin.triage.forecasting import Backtest, Forecast
from csv_plugin.triage.ranking import (AHEAD, BEHIND, NOT_FORECAST, OPEN,
                                       UNKNOWN, expect, rank)
from tests.runs import train

LEVEL = 0.9

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
                    backtest=np.zeros(0))))
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


def test_error_of_the_predictor():
    expected = expect(forecast('a', 0.0, 1.0), make_predictor(0.5), LEVEL)
    half = norm.ppf(0.95) * 0.5
    assert expected.low == pytest.approx(expit([-half, 1 - half]), abs=0.01)
    assert expected.high == pytest.approx(expit([half, 1 + half]), abs=0.01)
    flat = expect(forecast('a', 0.0, 1.0), make_predictor(0, 0.05), LEVEL)
    assert flat.high - flat.values == pytest.approx(
        norm.ppf(0.95) * 0.05, abs=0.005)


@pytest.mark.parametrize('n', [2, 8])
def test_few_better_runs_make_wide_intervals(n):
    expected = expect(
        forecast(
            'a',
            0.0,
            0.0,
            errors=[(1.0, 0.0), (-1.0, 0.0)] * 4,
            forward=[1.0] * (n + 1)), make_predictor(), LEVEL)
    half = t.ppf(0.95, n)
    assert expected.high[0] == pytest.approx(expit(half), abs=0.015)
    assert expected.high[1] == pytest.approx(0.5)


def test_accuracies_are_at_most_1():
    expected = expect(forecast('a', 6.0, 0.0), make_predictor(0, 0.3), LEVEL)
    assert expected.high[0] == 1 and expected.draws.min() == 0


@pytest.mark.parametrize(('away', 'backtest', 'factor'), [
    (-0.5, 2.0, 1),
    (0.5, 2.0, 3),
    (1.0, 2.0, 4),
    (1.0, 0.4, 1),
])
@pytest.mark.parametrize('above', [False, True])
def test_wider_outside_the_range_fitted_on(away, backtest, factor, above):
    """By the back-tests' error and the distance in spreads, 1 or more."""
    predictor = make_predictor(0.5)
    easy = predictor.benchmarks[0]
    curve, intervals = easy.model.curve, easy.intervals
    spread = (intervals.score_high - intervals.score_low) / 4
    score = (
        intervals.score_high +
        away * spread if above else intervals.score_low - away * spread)
    [exponent] = curve.exponents(np.array([score]))
    narrow, wide = (
        logit(
            expect(
                forecast('a', exponent, 0),
                replace(
                    predictor,
                    benchmarks=(replace(
                        easy,
                        intervals=replace(
                            intervals, backtest=tested,
                            score_spread=spread)), *predictor.benchmarks[1:])),
                LEVEL).draws[:, 0])
        for tested in (np.zeros(0), np.full(2, backtest)))
    assert wide.std() == pytest.approx(factor * narrow.std(), rel=0.01)


def ranking(pairs, benchmark=0, deviation=0.5, **kwargs):
    predictor = make_predictor(deviation)
    return rank([
        expect(forecast(run, *exponents, **kwargs), predictor, LEVEL)
        for run, exponents in pairs.items()
    ], benchmark, LEVEL)


def test_probability_that_one_run_ends_above():
    both = ranking({'low': (0.0, 0.0), 'high': (0.5, 0.0)})
    assert both.runs == ('high', 'low')
    probability = norm.cdf(0.5 / (0.5 * np.sqrt(2)))
    assert both.above[0, 1] == pytest.approx(probability, abs=0.02)
    assert both.above[1, 0] == pytest.approx(1 - both.above[0, 1])
    assert both.above.diagonal() == pytest.approx(0.5)
    assert both.verdicts == (OPEN, OPEN)


def test_verdicts():
    four = ranking({
        'a': (3.0, 0.0),
        'b': (0.0, 0.0),
        'c': (0.1, 0.0),
        'd': (-4.0, 0.0)
    })
    assert four.runs == ('a', 'c', 'b', 'd')
    assert four.verdicts == (AHEAD, BEHIND, BEHIND, BEHIND)
    assert (four.low <= four.values).all()
    assert (four.values <= four.high).all()
    three = ranking({'b': (0.0, 0.0), 'c': (0.1, 0.0), 'd': (-4.0, 0.0)})
    assert three.verdicts == (OPEN, OPEN, BEHIND)


def test_intervals_of_the_mean_are_those_of_its_draws():
    overall = ranking({'a': (0.0, 2.0), 'b': (1.0, 0.0)}, [0, 1])
    assert overall.runs == ('a', 'b')
    assert overall.values == pytest.approx(
        [expit([0.0, 2.0]).mean(),
         expit([1.0, 0.0]).mean()])
    expected = expect(forecast('a', 0.0, 2.0), make_predictor(0.5, 0.1), LEVEL)
    for part, draws, value in ((1, expected.draws[:, 1], expected.values[1]),
                               ([0, 1], expected.draws.mean(axis=1),
                                expected.values.mean())):
        alone = rank([expected], part, LEVEL)
        assert alone.low == pytest.approx(np.quantile(draws, [0.05]))
        assert alone.high == pytest.approx(np.quantile(draws, [0.95]))
        assert alone.low[0] < value < alone.high[0]


def test_the_error_of_a_finished_run_is_known():
    """But not by how much another will change that is not."""
    predictor = make_predictor(0.5)
    both = rank([
        expect(forecast('done', 3.0, 0.0, share=1.0), predictor, LEVEL),
        expect(forecast('young', 0.0, 0.0, errors=()), predictor, LEVEL)
    ], 0, LEVEL)
    assert both.verdicts == (UNKNOWN, UNKNOWN)
    assert np.isnan(both.above[0, 1]) and np.isnan(both.above[1, 0])
    assert np.isfinite(both.low[0]) and np.isnan(both.low[1])


def test_without_errors_there_is_no_verdict():
    both = ranking({'a': (0.0, 0.0), 'b': (3.0, 0.0)}, errors=())
    assert both.runs == ('b', 'a')
    assert both.verdicts == (UNKNOWN, UNKNOWN)
    assert np.isnan(both.low).all() and np.isnan(both.above).all()


def test_runs_without_a_forecast_come_last():
    both = ranking({'a': (np.nan, 0.0), 'b': (0.0, 0.0)})
    assert both.runs == ('b', 'a') and np.isnan(both.values[1])
    # The other one has no rival.
    assert both.verdicts == (OPEN, NOT_FORECAST)
