"""Ranks, probabilities and verdicts are counted in draws."""
import numpy as np
import pytest

from csv_plugin.triage.ranking import (FINISHED, GO_ON, NOT_FORECAST, STOP,
                                       TOO_FAR, UNKNOWN, Expectation, rank_all)

#: Draws of accuracies in which every run lies off by itself.
NOISE = np.random.default_rng(0).normal(size=(20000, 4))


def rankings(values,
             deviations=0.01,
             finished=(),
             budgets=None,
             useless=(),
             known=True,
             noise=NOISE):
    """Rankings of runs a, b, ... by one benchmark, which is the mean, too."""
    values = np.array(values, float)
    n = len(values)
    names = tuple('abcd'[:n])
    expected = [
        Expectation(
            np.full(2, value), np.full(2, value - .1), np.full(2, value + .1),
            np.zeros(2, bool), np.full(2, name in useless))
        for name, value in zip(names, values)
    ]
    draws = (values + deviations * noise[:, :n])[:, :, None]
    return rank_all(names, expected,
                    np.array([name in finished for name in names]),
                    np.array(budgets or [1.0] * n),
                    np.repeat(draws, 2, axis=2) if known else None)


def test_probabilities_are_shares_of_draws():
    ranking, mean = rankings([.50, .51, .30])
    assert ranking.runs == ('b', 'a', 'c')
    above = np.mean(.51 + .01 * NOISE[:, 1] > .50 + .01 * NOISE[:, 0])
    assert ranking.above_next[:2] == pytest.approx([above, 1])
    assert np.isnan(ranking.above_next[2])
    # Of two runs that may be the best, one ends above the other.
    assert ranking.chance == pytest.approx([above, 1 - above, 0])
    assert ranking.best.tolist() == [1, 1, 3]
    assert ranking.worst.tolist() == [2, 2, 3]
    assert mean.chance.tolist() == ranking.chance.tolist()


def test_what_runs_have_in_common_does_not_change_their_order():
    common = np.repeat(NOISE[:, :1], 4, axis=1) + .01 * NOISE
    ranking, _ = rankings([.50, .52], .1, noise=common)
    assert ranking.best.tolist() == [1, 2] == ranking.worst.tolist()
    apart, _ = rankings([.50, .52], .1)
    assert apart.best.tolist() == [1, 1] and apart.worst.tolist() == [2, 2]


def test_verdicts():
    ranking, _ = rankings([.60, .585, .59, .30])
    assert ranking.runs == ('a', 'c', 'b', 'd')
    assert ranking.verdicts == (GO_ON, GO_ON, GO_ON, STOP)
    assert ranking.best.tolist() == [1, 1, 1, 4]
    assert ranking.worst.tolist() == [3, 3, 3, 4]
    assert ranking.chance.sum() == pytest.approx(1)
    assert ranking.chance[3] == 0
    alone, _ = rankings([.30])
    assert alone.verdicts == (GO_ON, ) and alone.chance == 1


def test_a_run_that_may_end_a_point_below_the_best_goes_on():
    ranking, _ = rankings([.52, .50], .006)
    assert ranking.chance[1] < 0.05 and ranking.verdicts == (GO_ON, GO_ON)
    ranking, _ = rankings([.53, .50], .006)
    assert ranking.verdicts == (GO_ON, STOP)


def test_runs_compete_with_those_of_their_budget_or_a_smaller_one():
    ranking, _ = rankings([.60, .30, .30], budgets=[2.0, 1.0, 2.0])
    assert ranking.verdicts == (GO_ON, GO_ON, STOP)
    assert ranking.best.tolist() == [1, 1, 2]
    # Nearly equal budgets are equal.
    ranking, _ = rankings([.60, .30, .30], budgets=[1.05, 1.0, 1.0])
    assert ranking.verdicts == (GO_ON, STOP, STOP)


def test_the_error_of_a_finished_run_is_known():
    """But not by how much another will change that is not."""
    both, _ = rankings([.60, .30], finished='a')
    assert both.verdicts == (FINISHED, STOP)
    both, _ = rankings([.60, .30], finished='a', known=False)
    assert both.verdicts == (UNKNOWN, UNKNOWN)
    assert np.isnan(both.best).all() and np.isnan(both.chance).all()


def test_runs_without_a_forecast_come_last():
    """Behind those whose forecasts are useless."""
    found, _ = rankings([np.nan, .60, .30], useless='b')
    assert found.runs == ('c', 'b', 'a') and np.isnan(found.values[2])
    # The first one has no rival.
    assert found.verdicts == (GO_ON, TOO_FAR, NOT_FORECAST)
    assert found.chance[0] == 1 and np.isnan(found.chance[1:]).all()
