"""Benchmarks that tell runs apart, and those that do not."""
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.benchmark_signal import (NOT_HERE, BenchmarkSignal,
                                                benchmark_signals)
from csv_plugin.io.model_tables import read_accuracy_columns
from csv_plugin.triage.checkpoints import describe_checkpoints

STEPS = (10, 20, 40, 80, 100)
GEMSTONES = (
    Path(__file__).resolve().parents[3] / 'shared/real/gemstones/scores.csv')


def judge(scores: np.ndarray, **more) -> BenchmarkSignal:
    """One benchmark, with scores by run and step, `(R, 5)`."""
    models = [f'{r}@{step}' for r in range(len(scores)) for step in STEPS]
    trust, = benchmark_signals(models, ['exam'], scores.reshape(-1, 1),
                               describe_checkpoints(models), **more)
    return trust


def rising(*ends: float) -> np.ndarray:
    """Runs that rise in a line, each to its end."""
    return 0.2 + np.outer(ends, np.log(STEPS) / np.log(100))


def test_runs_that_rise_apart_are_told_apart_at_once():
    trust = judge(rising(0.1, 0.2, 0.3))
    assert trust.signal == pytest.approx(0.2 / 0.4)
    assert trust.noise == pytest.approx(
        (0.2 * np.log([40, 80, 100]) / np.log(100)).std() / 0.4)
    assert trust.signal_to_noise == trust.signal / trust.noise
    assert trust.rising == 1 and trust.order == (1, 1, 1, 1)
    assert trust.shares == (0.1, 0.2, 0.4, 0.8)
    assert trust.apart_from == 0.1
    assert trust.verdict == 'tells runs apart from 10% on'
    assert isnan(trust.apart_from_by_losses)


def test_crossing_runs_are_told_apart_after_they_cross():
    scores = rising(0.1, 0.2, 0.3)
    scores[:, :2] = scores[::-1, :2]
    trust = judge(scores)
    assert trust.order == (0, 0, 1, 1)
    assert trust.verdict == 'tells runs apart from 40% on'


def test_equal_scores_tell_nothing():
    trust = judge(np.full((3, 5), 0.25))
    assert trust.signal_to_noise == 0 and np.isnan(trust.order).all()
    assert trust.verdict == NOT_HERE


def test_the_first_steps_of_a_long_run_are_left_out():
    models = [f'{run}@{step}' for run in 'abc' for step in (1, 900, 9000)]
    trust, = benchmark_signals(models, ['exam'],
                               np.linspace(0, 1, 9)[:, None],
                               describe_checkpoints(models))
    assert trust.shares == (0.1, )


def test_the_last_order_alone_may_be_chance():
    """Of two, but there may be no other."""
    scores = rising(0.1, 0.2, 0.3)[:, 2:]
    scores[:, 0] = scores[::-1, 0]
    for first, verdict in ((0, NOT_HERE), (1, 'tells runs apart from 80% on')):
        models = [
            f'{r}@{step}' for r in range(3) for step in STEPS[2:][first:]
        ]
        trust, = benchmark_signals(models, ['exam'],
                                   scores[:, first:].reshape(-1, 1),
                                   describe_checkpoints(models))
        assert trust.verdict == verdict


@pytest.mark.parametrize('slip', [2, 3])
def test_after_a_late_slip_nothing_tells_that_the_order_is_right(slip):
    scores = rising(*np.arange(1, 7) / 10)
    scores[:, slip] = scores[[2, 1, 0, 5, 4, 3], slip]
    trust = judge(scores)
    assert trust.order[slip] == 0.6 and np.mean(trust.order) == 0.9
    assert trust.verdict == NOT_HERE


@pytest.mark.parametrize('n', [1, 2, 3])
def test_two_checkpoints_make_a_run_and_three_its_noise(n):
    models = [f'{r}@{step}' for r in range(3) for step in STEPS[-n:]]
    scores = rising(0.1, 0.2, 0.3)[:, -n:].reshape(-1, 1)
    described = describe_checkpoints(models)
    if n == 1:
        with pytest.raises(InputError, match="'exam'.*3 runs or more.*0"):
            benchmark_signals(models, ['exam'], scores, described)
        return
    trust, = benchmark_signals(models, ['exam'], scores, described)
    assert len(trust.runs) == 3 and isnan(trust.noise) == (n == 2)


def test_losses_are_judged_by_the_final_scores():
    scores = rising(0.1, 0.2, 0.3)
    by_losses = scores[::-1].reshape(-1, 1)
    trust = judge(scores, by_losses=by_losses)
    assert trust.order_by_losses == (0, 0, 0, 0)
    assert trust.verdict.endswith('10% on')
    assert isnan(trust.apart_from_by_losses)


def test_missing_scores_leave_checkpoints_and_runs_out():
    scores = rising(0.1, 0.2, 0.3, 0.4)
    scores[3, -1] = np.nan  # its end is not known
    scores[2, 0] = np.nan  # it starts later
    trust = judge(scores)
    assert trust.runs == ('0', '1', '2')
    assert trust.shares == (0.2, 0.4, 0.8)
    with pytest.raises(InputError, match="'exam'.*3 runs or more.*2"):
        judge(scores[1:])


@pytest.mark.skipif(not GEMSTONES.is_file(), reason='no scores of real runs')
def test_real_runs():
    table = read_accuracy_columns(GEMSTONES)
    rows = benchmark_signals(table.models, table.columns, table.values,
                             describe_checkpoints(table.models))
    found = {row.benchmark: row for row in rows}
    # Figures of 22 runs, of which 15 are here.
    for name, expected in (('hellaswag', 59), ('mmlu', 32), ('piqa', 22),
                           ('commonsense_qa', 19), ('arc_easy', 17),
                           ('arc_challenge', 16), ('openbookqa',
                                                   14), ('winogrande', 12)):
        assert found[name].signal_to_noise == pytest.approx(expected, rel=.2)
