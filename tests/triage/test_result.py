"""Ranks and verdicts by draws of a joint distribution."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.comparison import MEAN
from csv_plugin.core.overall import rank_ranges
from csv_plugin.core.predictions import Predictions
from csv_plugin.triage.result import (FINISHED, GO_ON, NOT_BEGUN, STOP,
                                      TrainingEnd, Triage)
from tests.triage.test_forecasting import make_run

NAN = float('nan')
NOISE = np.random.default_rng(0).normal(size=(4000, 4))


class Draws:
    """A joint distribution of n benchmarks that are drawn alike."""

    def __init__(self, draws, n=2):
        self.drawn = np.repeat(draws[:, :, None], n, axis=2)

    def draws(self):
        return self.drawn

    def take(self, rows):
        return Draws(self.drawn[:, rows, 0], self.drawn.shape[2])

    def means(self, benchmarks, level):
        tail = (1 - level) / 2
        mean = self.drawn.mean(axis=2)
        return [mean.mean(axis=0), *np.quantile(mean, [tail, 1 - tail], 0)]


def table(names, benchmarks=('easy', 'hard'), **changes):
    shape = (len(names), len(benchmarks), 1)
    return Predictions(
        tuple(names), benchmarks, ('predicted', ),
        **{
            'values': np.full(shape, .5), 'low': np.full(shape, .4),
            'high': np.full(shape, .6), 'extrapolated': np.array(False),
            'in_sample': np.array(False)
        } | changes,
        observed=np.array(np.nan),
        level=.9,
        chance=dict(easy=.25, hard=.25))  # yapf: disable


def judged(values,
           deviations=.01,
           noise=NOISE,
           budgets=None,
           done=.5,
           **changes):
    """A triage of runs a, b, ... that end at these values."""
    names = 'abcd'[:len(values)]
    budgets = budgets or [1.0] * len(values)
    ends = [
        TrainingEnd(name, done * budget, budget)
        for name, budget in zip(names, budgets)
    ]
    draws = np.array(values) + deviations * noise[:, :len(values)]
    return Triage.of('tokens', [], table(''), ends, table(names, **changes),
                     Draws(draws), [])


def names(triage):
    return ''.join(end.name for end in triage.ends)


def test_probabilities_are_shares_of_draws():
    triage = judged([.50, .51, .30])
    order = triage.orders[MEAN]
    above = np.mean(.51 + .01 * NOISE[:, 1] > .50 + .01 * NOISE[:, 0])
    assert names(triage) == 'bac'
    assert order.best == pytest.approx([above, 1 - above, 0])
    assert order.first.tolist() == [1, 1, 3]
    assert order.last.tolist() == [2, 2, 3]
    for name in ('easy', 'hard'):
        assert np.array(triage.orders[name]) == pytest.approx(np.array(order))


def test_what_runs_have_in_common_does_not_change_their_order():
    common = np.repeat(NOISE[:, :1], 4, axis=1) + .01 * NOISE
    order = judged([.50, .52], .1, common).orders[MEAN]
    assert order.first.tolist() == [1, 2] == order.last.tolist()
    apart = judged([.50, .52], .1).orders[MEAN]
    assert apart.first.tolist() == [1, 1] and apart.last.tolist() == [2, 2]


def test_verdicts():
    triage = judged([.60, .585, .59, .30])
    assert names(triage) == 'acbd'
    assert triage.verdicts == (GO_ON, GO_ON, GO_ON, STOP)
    assert judged([.60, .30], done=1).verdicts == (FINISHED, FINISHED)
    assert judged([.60, .30], done=0).verdicts == (NOT_BEGUN, NOT_BEGUN)


def test_a_run_that_may_end_a_point_below_the_best_goes_on():
    near = judged([.52, .50], .006)
    assert near.orders[MEAN].best[1] < .05
    assert near.verdicts == (GO_ON, GO_ON)
    assert judged([.53, .50], .006).verdicts == (GO_ON, STOP)


@pytest.mark.parametrize('n_near, value, verdict', [
    (6, .4901, GO_ON), (5, .4901, GO_ON), (4, .4901, STOP), (100, .4899, STOP)
])  # yapf: disable
def test_five_percent_within_a_point_are_enough(n_near, value, verdict):
    draws = np.full((100, 2), .5)
    draws[:, 1] = np.where(np.arange(100) < n_near, value, .3)
    ends = [TrainingEnd('a', 1, 2), TrainingEnd('b', 1, 2)]
    triage = Triage.of('tokens', [], table(''), ends, table('ab'),
                       Draws(draws), [])
    assert triage.verdicts == (GO_ON, verdict)


@pytest.mark.parametrize('budget, verdict', [(1.04, STOP), (1.06, GO_ON)])
def test_budgets_that_differ_by_five_percent_are_equal(budget, verdict):
    triage = judged([.6, .3], budgets=[budget, 1.])
    assert triage.verdicts == (GO_ON, verdict)
    assert np.isnan(triage.orders[MEAN].best[1]) == (verdict == GO_ON)


def test_runs_compete_with_those_of_their_budget_or_a_smaller_one():
    triage = judged([.60, .31, .30], budgets=[2.0, 1.0, 2.0])
    assert names(triage) == 'abc'
    assert triage.verdicts == (GO_ON, GO_ON, STOP)
    # The shorter run has no rival, and no rank.
    order = triage.orders[MEAN]
    assert order.last[[0, 2]].tolist() == [1, 3] and np.isnan(order.first[1])
    # Nearly equal budgets are equal.
    triage = judged([.60, .30, .30], budgets=[1.05, 1.0, 1.0])
    assert triage.verdicts == (GO_ON, STOP, STOP)


def test_the_best_of_all_runs_whatever_their_budgets():
    triage = judged([.505, .50, .30], budgets=[2.0, 1.0, 1.0])
    assert names(triage) == 'abc'
    above = np.mean(.505 + .01 * NOISE[:, 0] > .50 + .01 * NOISE[:, 1])
    assert triage.best_of_all == pytest.approx([above, 1 - above, 0])
    # In the table, b is compared with c alone.
    assert triage.orders[MEAN].best == pytest.approx([above, 1, 0])
    alone = judged([.5])
    assert np.isnan(alone.best_of_all).all()
    assert [*triage.to_dict()['best_of_all'].values()] == [*triage.best_of_all]
    assert [*alone.to_dict()['best_of_all'].values()] == [None]


def test_a_lone_run_has_no_rank():
    triage = judged([.30])
    assert triage.verdicts == (GO_ON, ) and not triage.is_ranked
    assert np.isnan(np.array(triage.orders[MEAN])).all()
    assert 'rank' not in str(triage)
    assert {(row['best_rank'], row['probability_best'])
            for row in triage.forecast_records()} == {(None, None)}
    assert np.isnan(rank_ranges(NOISE[:, :1], .9).first).all()


def test_what_is_not_predictable_yet_takes_part_in_no_rank():
    unknown = np.array([False, True])[:, None]
    triage = judged([.60, .30], at_chance=unknown)
    assert np.isnan(triage.orders['hard'].best).all()
    assert triage.orders['easy'].first.tolist() == [1, 2]
    assert triage.orders[MEAN].first.tolist() == [1, 2]
    assert '(40-60)?' in str(triage)
    rows = [row for row in triage.forecast_records()
            if row['benchmark'] == 'hard']  # yapf: disable
    assert [row['at_chance'] for row in rows] == [1, 1]
    none = judged([.60, .30], at_chance=np.array(True))
    assert np.isnan(none.means).all() and not none.is_ranked
    assert none.verdicts == (GO_ON, GO_ON)
    assert none.forecast_rows()[-1][2] == '-'


def test_means_are_over_the_main_benchmarks():
    part = replace(table('ab'), outside_means=('hard', ))
    draws = np.array([.5, .3]) + .01 * NOISE[:, :2]
    both = Draws(draws)
    both.drawn[:, :, 1] = .4
    triage = Triage.of('tokens', [], table(''),
                       [TrainingEnd('a', 1, 2),
                        TrainingEnd('b', 1, 2)], part, both, [])
    assert np.array(triage.orders[MEAN]) == pytest.approx(
        np.array(triage.orders['easy']))


def test_without_main_benchmarks_means_are_over_all():
    part = replace(table('ab'), outside_means=('easy', 'hard'))
    draws = Draws(np.array([.5, .3]) + .01 * NOISE[:, :2])
    triage = Triage.of('tokens', [], table(''),
                       [TrainingEnd('a', 1, 2),
                        TrainingEnd('b', 1, 2)], part, draws, [])
    assert triage.means[0] == pytest.approx([.5, .3], abs=.01)


def test_runs_stand_in_the_tables_with_budgets_and_reasons():
    unknown = replace(make_run('b', n=2), budget=NAN)
    runs = [make_run('a', n=3), unknown, make_run('c', n=1)]
    runs = [replace(run, budget_source='table') for run in runs]
    points = [name for run in runs for name in run.checkpoints]
    ends = [TrainingEnd('a', 70, 200)]
    triage = Triage.of('tokens', runs, table(points), ends, table('a'),
                       Draws(.5 + .01 * NOISE[:, :1]), [], {
                           'b': 'why',
                           'c': 'too early'
                       })
    assert [row[:3] for row in triage.checkpoint_rows()] == [
        ['checkpoint', 'tokens', 'of budget'],
        ['a@0.1', '20', '10%'], ['a@0.2', '40', '20%'],
        ['a@0.35', '70', '35%'], ['b@0.1', '20', '-'],
        ['b@0.2', '40', '-'], ['c@0.1', '20', '10%']
    ]  # yapf: disable
    cells = ['50.0 (40-60)'] * 2
    assert triage.forecast_rows() == [
        ['run', 'from', 'mean of 2', 'easy', 'hard'],
        ['a', '35%', '50.0 (48-52)', *cells],
        ['b', '-', '-', '-', '-'], ['c', '10%', '-', '-', '-']
    ]  # yapf: disable
    assert triage.budget_lines() == ['Budget: 200 tokens (table) for a, c.']
    assert triage.budget_records() == [
        dict(run='a', budget=200, source='table'),
        dict(run='b', budget=None, source=None),
        dict(run='c', budget=200, source='table')
    ]  # yapf: disable
    shares = [(row['checkpoint'], row['share'])
              for row in triage.checkpoint_records()
              if row['benchmark'] == 'easy']  # yapf: disable
    assert shares[2:4] == [('a@0.35', .35), ('b@0.1', None)]
    known = replace(triage, runs=(runs[0], runs[2]))
    assert known.budget_lines() == ['Budget: 200 tokens (table).']
    assert replace(triage, runs=(unknown, )).budget_lines() == []


def test_marks_of_means_are_those_of_leaderboards():
    """A known accuracy marks a mean; training models far away do not."""
    known = np.array([[False, True], [False, False]])[:, :, None]
    triage = judged([.60, .30], in_sample=known, extrapolated=np.array(True))
    _, first, second = triage.forecast_rows()
    assert (first[2][-2:], second[2][-1:]) == (')*', ')')
    assert [cell[-1] for cell in second[-2:]] == ['>', '>']


def test_what_is_printed():
    """The table of forecasts below its heading, as there are no runs."""
    heading, _, *lines = str(judged([.60, .30])).splitlines()
    assert heading == 'Forecast at the end of the training, largest mean first'
    assert lines[0].split() == [
        'run', 'from', 'mean', 'of', '2', 'rank', 'best', 'verdict', 'easy',
        'hard'
    ]
    assert lines[2].split()[:6] == ['a', '50%', '60.0', '(58-62)', '1', '100%']


def test_what_is_printed_fits_into_100_columns():
    """Many benchmarks follow below, each row with its run again."""
    benchmarks = tuple(f'benchmark-{b}' for b in range(12))
    draws = Draws(np.array([.6, .3]) + .01 * NOISE[:, :2], len(benchmarks))
    ends = [TrainingEnd('a', 1, 2), TrainingEnd('b', 1, 2)]
    triage = Triage.of('tokens', [], table('', benchmarks), ends,
                       table('ab', benchmarks), draws, [])
    text = str(triage)
    assert max(map(len, text.splitlines())) <= 100
    assert all(name in text for name in benchmarks)
    assert text.count('\nb  ') > 1


def test_some_of_the_runs_among_themselves():
    few = judged([.60, .30, .59, .40]).among('bd')
    assert names(few) == 'db' and few.verdicts == (GO_ON, STOP)
    assert few.orders[MEAN].first.tolist() == [1, 2]
    assert few.means[0] == pytest.approx([.4, .3], abs=.01)
