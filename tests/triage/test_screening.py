"""Broken checkpoints are named, sound checkpoints are not."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.triage.screening import screen
from tests.triage.trajectories import SHARES, law, make_run, truncated

N_RUNS = 4


def sound(seed=0):
    """Runs with noise on the losses and exponents."""
    rng = np.random.default_rng(seed)
    return [
        make_run(
            f'run-{i}',
            *(law(SHARES) + 0.2 * rng.normal(size=7) for _ in range(3)),
            losses=2 * SHARES**-0.1 * np.exp(0.01 * rng.normal(size=7)))
        for i in range(N_RUNS)
    ]


def broken(place, loss=1.0, score=0.0, run=1):
    runs = sound()
    losses, scores = runs[run].mean_loss.copy(), runs[run].exponents.copy()
    losses[place] *= loss
    scores[place] += score
    runs[run] = replace(runs[run], mean_loss=losses, exponents=scores)
    return runs


def test_sound_runs():
    for seed in range(5):
        assert screen(sound(seed)) == []


@pytest.mark.parametrize('place', range(7))
def test_how_far_a_loss_is_off(place):
    """At the ends, too, where it goes on as between the nearest two."""
    losses = 2 * SHARES**-0.3
    losses[place] *= 1.5
    smooth = [make_run(f'other-{i}') for i in range(3)]
    [off] = screen([make_run(losses=losses)], smooth)
    assert off.loss_ratio == pytest.approx(1.5)
    assert ' mean loss +50% off its neighbours' in str(off)


@pytest.mark.parametrize(('deviations', 'named'), [(0.95, False), (1.1, True)])
@pytest.mark.parametrize(('most', 'least', 'of_loss'), [(6, 0.01, True),
                                                        (4, 0.1, False)])
def test_how_many_deviations_are_too_many(most, least, of_loss, deviations,
                                          named):
    """Of smooth runs, where the least deviations count."""
    early, place, late = np.log(SHARES[2:5])
    weight = (place - early) / (late - early)
    size = least * np.sqrt(1 + weight**2 + (1 - weight)**2)
    off = np.zeros(7)
    off[3] = -deviations * most * size
    losses = 2 * SHARES**-0.1 * np.exp(off * of_loss)
    scores = np.zeros(7) if of_loss else off
    found = screen(
        [make_run('run', 0.8 * scores, 1.2 * scores, losses=losses)],
        [make_run(f'{i}', *np.zeros((2, 7))) for i in range(9)])
    assert [bad.checkpoint for bad in found] == ['run@0.5'] * named
    for bad in found:
        told = bad.loss_deviations if of_loss else bad.score_deviations
        assert told == pytest.approx(-deviations * most)


def test_a_capability_that_emerges_is_not_broken():
    runs = broken(3)
    scores = runs[1].exponents.copy()
    scores[4:, 0] += 5
    runs[1] = replace(runs[1], exponents=scores)
    assert screen(runs) == []


def test_a_copy():
    runs = broken(4)
    losses, scores = runs[1].mean_loss.copy(), runs[1].exponents.copy()
    losses[4], scores[4] = losses[3], scores[3]
    runs[1] = replace(runs[1], mean_loss=losses, exponents=scores)
    [off] = screen(runs)
    assert (off.checkpoint, off.same_as) == ('run-1@0.65', 'run-1@0.5')
    assert 'same losses as run-1@0.5' in str(off)
    assert (off.loss_ratio, off.loss_deviations,
            off.score_deviations) == (1, 0, 0)


def test_too_few_to_judge():
    assert screen([truncated(run, 3) for run in broken(1, loss=3)]) == []
    [off] = screen([truncated(run, 4) for run in broken(1, loss=3)])
    assert off.checkpoint == 'run-1@0.2'


def residual(place, values, i):
    """From the line through the two checkpoints next to one, of unit noise."""
    near = {0: [1, 2], 6: [4, 5]}.get(i, [i - 1, i + 1])
    line = np.polyfit(place[near], values[near], 1)
    later = (place[i] - place[near[0]]) / np.diff(place[near])[0]
    return (values[i] - np.polyval(line, place[i])) / np.sqrt(1 + later**2 +
                                                              (1 - later)**2)


def test_deviations_are_those_of_the_median_residual():
    """Over the normal distribution's ratio of both."""
    place, zigzag = np.log(SHARES), 0.05 * (-1.0)**np.arange(7)
    rough = [
        make_run(
            f'{i}', np.zeros(7), losses=2 * SHARES**-0.1 * np.exp(zigzag))
        for i in range(3)
    ]
    off = np.zeros(7)
    off[3] = 1.5
    losses = 2 * SHARES**-0.1 * np.exp(off)
    [bad] = screen([make_run('run', np.zeros(7), losses=losses)], rough)
    sizes = [abs(residual(place, zigzag, i)) for i in range(7)] * 3
    sizes += [abs(residual(place, off, i)) for i in range(7)]
    usual = np.median(sizes) / 0.6744898
    assert bad.loss_deviations == pytest.approx(
        residual(place, off, 3) / usual, rel=1e-4)
