"""Losses ahead follow from what earlier runs gained."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.forecasting import EarlierRuns, GainLaw
from csv_plugin.triage.runs import Run

SHARES = np.array([0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0])


def make_run(name='run', final=1.0, shares=SHARES, n=None, budget=200.0):
    """A run of two units whose level rises to `final`, as a power law.

    The further it has got, the more it gains.
    """
    shares = shares[:n]
    levels = final * (1.5 - .5 * shares**-.3)
    states = np.column_stack([levels, -.1 * levels, -.2 * levels])
    return Run(name, tuple(f'{name}@{share:g}' for share in shares),
               shares * budget, budget, states, 2 * shares**-.1)


TEN = [f'run{i}' for i in range(10)]
EARLIER = [make_run(f'old{i}', 1 + i / 4) for i in range(5)]


def test_runs_of_one_law_are_forecast():
    """Better ones gain more; one of them was never seen."""
    found = EarlierRuns(EARLIER).forecast(make_run(final=1.6, n=3))
    assert found.logs == pytest.approx([-.16, -.32], abs=.01)
    assert np.abs(found.errors).max() < .02


def test_alike_runs_gain_alike():
    """Units say which gain it is, where levels are all the same."""
    rng = np.random.default_rng(0)
    kind = np.repeat([-1., 1.], 5)
    now = np.column_stack([np.zeros(10), kind, -kind])
    now += .01 * rng.normal(size=now.shape)
    end = now + (1 + .5 * kind)[:, None]
    law = GainLaw(TEN, TEN, now, end)
    found = law.forecast(np.array([[0, 1., -1.], [0, -1., 1.]]))
    assert found[:, 0] == pytest.approx([1.5, .5], abs=.05)
    assert law.left_out == pytest.approx(end, abs=.1)


def test_a_family_is_left_out_as_a_whole():
    """In closed form, as by a law that is fitted to the others."""
    rng = np.random.default_rng(1)
    now, gain = rng.normal(size=(2, 6, 4))
    families = ['a', 'a', 'a', 'b', 'b', 'c']
    law = GainLaw('uvwxyz', families, now, now + gain)
    # The constant and what runs deviate by depend on all runs a little.
    copies = GainLaw('uvwxyz', 'uvwxyz', now, now + gain)
    far = np.abs(law.left_out - copies.left_out)
    assert far[:5].max(axis=1).min() > 0
    # A run that is like another one of its family is not forecast by it.
    now[1], gain[0], gain[1] = now[0], 5, 5
    law = GainLaw('uvwxyz', families, now, now + gain)
    assert law.left_out[0, 0] < now[0, 0] + 3
    copies = GainLaw('uvwxyz', 'uvwxyz', now, now + gain)
    assert copies.left_out[0, 0] > law.left_out[0, 0]


def test_gains_follow_the_penalty_that_forecasts_other_families_best():
    """Kernel ridge regression, fitted anew without each family."""
    candidates = [.03, .1, .3, 1., 3., 10., 100.]
    chosen = []
    for noise in (.01, .03, .05, .1, .2, .5, 1.):
        rng = np.random.default_rng(4)
        now = rng.normal(size=(12, 4)) * [1, .5, .3, .1]
        end = now * 1.5 + noise * rng.normal(size=now.shape)
        families = np.arange(12) // 3
        new = rng.normal(size=(2, 4))
        weights = 1 / now.var(axis=0)
        weights[1:] = 1 / now.var(axis=0)[1:].sum()

        def gains(kept, states, penalty):
            known = now[kept] - now.mean(axis=0)
            weighted = (states - now.mean(axis=0)) * weights
            kernel = 100 + known * weights @ known.T
            kernel += penalty * np.eye(len(known))
            solved = np.linalg.solve(kernel, (end - now)[kept])
            return (100 + weighted @ known.T) @ solved

        left_out = []
        for penalty in candidates:
            forecasts = [
                gains(families != family, now[families == family], penalty)
                for family in range(4)
            ]
            left_out.append(now + np.concatenate(forecasts))
        costs = [np.square(part - end)[:, 0].sum() for part in left_out]
        best = np.argmin(costs)
        chosen.append(candidates[best])
        names = [f'run{i}' for i in range(12)]
        law = GainLaw(names, [str(f) for f in families], now, end)
        np.testing.assert_allclose(law.left_out, left_out[best], rtol=1e-6)
        expected = new + gains(families >= 0, new, candidates[best])
        np.testing.assert_allclose(law.forecast(new), expected, rtol=1e-6)
    assert chosen == candidates


def test_errors_never_shrink_for_better_runs():
    """Here only the worse runs are hard to forecast."""
    rng = np.random.default_rng(5)
    now = np.linspace(-2, 2, 10)[:, None] * [1, .1, .1]
    end = now + 1
    end[:5] += .2 * rng.normal(size=(5, 3))
    assert GainLaw(TEN, TEN, now, end).growth == 1


def test_states_between_checkpoints():
    run = make_run()
    middle = run.state_at(np.sqrt(.1 * .2))
    assert middle == pytest.approx((run.states[0] + run.states[1]) / 2)
    assert run.state_at(.05).tolist() == run.states[0].tolist()
    assert run.covers(.084) and not run.covers(.08)


def test_a_forecast_needs_two_runs_that_begin_as_early():
    late = make_run('late', shares=SHARES[3:])
    run = make_run(n=2)
    assert EarlierRuns([EARLIER[0], late]).forecast(run) is None
    assert EarlierRuns([]).forecast(run) is None
    assert EarlierRuns([*EARLIER[:2], late]).forecast(run) is not None
    unknown = replace(run, budget=np.nan)
    assert EarlierRuns(EARLIER).forecast(unknown) is None


def test_families_of_earlier_runs():
    """All runs of one family count as many."""
    names = [run.name for run in EARLIER]
    one = EarlierRuns(EARLIER, dict.fromkeys(names, 'f')).law(.2)
    none = EarlierRuns(EARLIER).law(.2)
    two = EarlierRuns(EARLIER, {names[0]: 'f', names[1]: 'f'}).law(.2)
    assert one.families == none.families == tuple(names)
    assert two.families == ('f', 'f', *names[2:])
    # The two worst runs are further off, if only better ones are known.
    far = [np.abs(part.at_end - part.left_out)[0, 0] for part in (none, two)]
    assert far[1] > far[0]


def test_errors_grow_for_a_run_that_is_ahead_of_all():
    rng = np.random.default_rng(2)
    runs = []
    for i in range(8):
        run = make_run(f'old{i}', 1 + (i / 4)**2)
        run.states[:] += .01 * rng.normal(size=run.states.shape)
        runs.append(run)
    earlier = EarlierRuns(runs)
    inside, ahead = (
        earlier.forecast(make_run(final=final, n=3)) for final in (2., 6.))
    growth = earlier.law(.35).growth
    assert growth > 1
    assert ahead.errors == pytest.approx(growth * inside.errors)
    assert (inside.common_share, ahead.common_share) == (0, 1 - growth**-2)


def test_an_unfinished_run_teaches_nothing():
    with pytest.raises(
            InputError, match="run 'run'.*last checkpoint at 70 of"):
        EarlierRuns([make_run(n=3)])


@pytest.mark.parametrize('changes, message', [
    (dict(budget=100.), 'a budget of at least 200'),
    (dict(tokens=np.full(7, 200.)), 'one checkpoint at each number'),
])  # yapf: disable
def test_runs_that_cannot_be(changes, message):
    parts = vars(make_run()) | changes
    with pytest.raises(InputError, match=message):
        Run(**parts)
