"""Probabilities that mean what they say."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t

from csv_plugin.triage.forecasting import Backtest, Forecast
from csv_plugin.triage.ranking import (AHEAD, BEHIND, OPEN, UNKNOWN, expect,
                                       rank)
from tests.runs import train

LEVEL = 0.9


def make_predictor(deviation=0.0, constant=0.0):
    """Two benchmarks with the floor 0 and known errors of the predictor."""
    predictor = train()
    known = [
        replace(
            one, model=replace(one.model, floor=np.float64(0)),
            intervals=replace(
                one.intervals, variance=np.array([constant, deviation])**2,
                backtest=np.zeros(0)))
        for one in predictor.benchmarks
    ]  # yapf: disable
    return replace(predictor, benchmarks=tuple(known))


def forecast(run, *exponents, errors=((0.0, 0.0), ), share=0.5):
    errors = np.array(errors).reshape(-1, 2)
    zeros = np.zeros_like(errors)
    names = tuple(f'past-{i}' for i in range(len(errors)))
    return Forecast(run, share, np.array(exponents, float),
                    Backtest(names, zeros, zeros, errors))


def test_no_error_no_width():
    found = expect(forecast('a', 0.0, 1.0), make_predictor(), LEVEL)
    assert found.values == pytest.approx(expit([0.0, 1.0]))
    assert found.low == pytest.approx(found.values)
    assert found.high == pytest.approx(found.values)


def test_error_of_the_predictor():
    found = expect(forecast('a', 0.0, 1.0), make_predictor(0.5), LEVEL)
    half = norm.ppf(0.95) * 0.5
    assert found.low == pytest.approx(expit([-half, 1 - half]), abs=0.01)
    assert found.high == pytest.approx(expit([half, 1 + half]), abs=0.01)
    flat = expect(forecast('a', 0.0, 1.0), make_predictor(0, 0.05), LEVEL)
    assert flat.high - flat.values == pytest.approx(
        norm.ppf(0.95) * 0.05, abs=0.005)


@pytest.mark.parametrize('n', [2, 8])
def test_few_earlier_runs_make_wide_intervals(n):
    errors = [(1.0, 0.0), (-1.0, 0.0)] * (n // 2)
    found = expect(
        forecast('a', 0.0, 0.0, errors=errors), make_predictor(), LEVEL)
    half = t.ppf(0.95, n)
    assert found.high[0] == pytest.approx(expit(half), abs=0.015)
    assert found.high[1] == pytest.approx(0.5)


def test_a_finished_run_has_no_forecast_error():
    found = expect(
        forecast('a', 0.0, 0.0, errors=[(3.0, 3.0)] * 4, share=1.0),
        make_predictor(), LEVEL)
    assert found.low == pytest.approx(0.5)


def test_wider_outside_the_range_fitted_on():
    predictor = make_predictor(0.5)
    tested = replace(
        predictor,
        benchmarks=tuple(
            replace(
                one,
                intervals=replace(one.intervals, backtest=np.full(2, 2.0)))
            for one in predictor.benchmarks))
    easy = predictor.benchmarks[0]
    middle = (easy.intervals.score_low + easy.intervals.score_high) / 2
    inside = float(easy.model.alpha * (middle - easy.model.beta))
    for exponent, factor in ((inside, 1), (-20.0, 2), (20.0, 2)):
        one, other = (
            logit(expect(forecast('a', exponent, 0), p, LEVEL).draws[:, 0])
            for p in (predictor, tested))
        assert other.std() == pytest.approx(factor * one.std(), rel=0.01)


def ranking(pairs, benchmark=0, deviation=0.5, **kwargs):
    predictor = make_predictor(deviation)
    return rank([
        expect(forecast(run, *exponents, **kwargs), predictor, LEVEL)
        for run, exponents in pairs.items()
    ], benchmark, LEVEL)


def test_probability_that_one_run_ends_above():
    found = ranking({'low': (0.0, 0.0), 'high': (0.5, 0.0)})
    assert found.runs == ('high', 'low')
    wanted = norm.cdf(0.5 / (0.5 * np.sqrt(2)))
    assert found.above[0, 1] == pytest.approx(wanted, abs=0.02)
    assert found.above[1, 0] == pytest.approx(1 - found.above[0, 1])
    assert found.above.diagonal() == pytest.approx(0.5)
    assert found.verdicts == (OPEN, OPEN)


def test_verdicts():
    found = ranking({
        'a': (3.0, 0.0),
        'b': (0.0, 0.0),
        'c': (0.1, 0.0),
        'd': (-4.0, 0.0)
    })
    assert found.runs == ('a', 'c', 'b', 'd')
    assert found.verdicts == (AHEAD, BEHIND, BEHIND, BEHIND)
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    two = ranking({'b': (0.0, 0.0), 'c': (0.1, 0.0), 'd': (-4.0, 0.0)})
    assert two.verdicts == (OPEN, OPEN, BEHIND)


def test_mean_of_all_benchmarks():
    found = ranking({'a': (0.0, 2.0), 'b': (1.0, 0.0)}, slice(None))
    assert found.runs == ('a', 'b')
    assert found.values == pytest.approx([
        expit([0.0, 2.0]).mean(),
        expit([1.0, 0.0]).mean(),
    ])


def test_without_errors_nothing_is_said():
    found = ranking({'a': (0.0, 0.0), 'b': (3.0, 0.0)}, errors=())
    assert found.runs == ('b', 'a')
    assert found.verdicts == (UNKNOWN, UNKNOWN)
    assert np.isnan(found.low).all() and np.isnan(found.above).all()


def test_runs_without_a_forecast_come_last():
    found = ranking({'a': (np.nan, 0.0), 'b': (0.0, 0.0)})
    assert found.runs == ('b', 'a') and np.isnan(found.values[1])


def test_one_run_alone():
    assert ranking({'a': (0.0, 0.0)}).verdicts == (OPEN, )


def test_the_same_whatever_is_compared():
    one, two = (
        expect(forecast('a', 0.0, 1.0), make_predictor(1), LEVEL)
        for _ in range(2))
    other = expect(forecast('b', 0.0, 1.0), make_predictor(1), LEVEL)
    assert (one.draws == two.draws).all()
    assert abs(np.corrcoef(one.draws[:, 0], other.draws[:, 0])[0, 1]) < 0.1
