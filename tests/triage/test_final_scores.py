"""Ends of runs, forecast by what earlier runs gained."""
import numpy as np
import pytest

from csv_plugin.triage import final_scores
from csv_plugin.triage.final_scores import (Levels, PastRun, as_early,
                                            forecast_end, forecast_other)

SHARES = np.array([0.05, 0.1, 0.3, 1.0])
#: Of a run that ends one point above where it starts, on two benchmarks.
RISE = np.array([[0.0, 0.0], [0.2, 0.3], [0.6, 0.5], [1.0, 1.0]])


def curve(skill: float) -> Levels:
    """The better a run, the more it gains."""
    return Levels(SHARES, 0.3 + skill * (0.1 + 0.3 * RISE))


def past(skills, *, noise=0.0, n_sources=1) -> list[PastRun]:
    rng = np.random.default_rng(0)
    runs = []
    for i, skill in enumerate(skills):
        exact = curve(skill)
        wrong = noise * rng.normal(size=(n_sources, *exact.values.shape))
        sources = tuple(Levels(SHARES, exact.values + w) for w in wrong)
        runs.append(PastRun(str(i), sources, exact.values[-1]))
    return runs


def other_end(sources, history):
    """Numbers that may be of any size, each run exactly as it is told."""
    own = [*(one.sources[0] for one in history), sources[0]]
    return forecast_other(own, sources, history, 0.9)


def test_gains_in_proportion_are_forecast_beyond_the_history():
    run = curve(1.5)
    history = past([0.2, 0.4, 0.6, 0.8])
    for share in SHARES:
        known = [run.until(share)]
        for ends in (other_end(known, history),
                     forecast_end(known, history, 0.9, np.zeros(2))):
            assert ends.values == pytest.approx(run.values[-1])
            assert ends.high - ends.low == pytest.approx(0, abs=1e-6)


def test_gains_add_to_what_a_run_is():
    """A run that is better than its like on one benchmark stays so."""
    run = curve(0.5).until(0.1)
    shifted = Levels(run.shares, run.values + [0.05, -0.05])
    ends = forecast_end([shifted], past([0.2, 0.4, 0.6, 0.8]), 0.9,
                        np.zeros(2))
    assert ends.values == pytest.approx(curve(0.5).values[-1] + [0.05, -0.05])
    others = other_end([shifted], past([0.2, 0.4, 0.6, 0.8]))
    assert others.values == pytest.approx(curve(0.5).values[-1])


def test_intervals_widen_with_the_distance_to_the_history():
    history = past(np.linspace(0.2, 0.8, 8), noise=0.01)
    widths = []
    for skill in (0.5, 1.5, 3.0):
        ends = other_end([curve(skill).until(0.1)], history)
        assert (ends.low < ends.values).all()
        widths.append((ends.high - ends.low).mean())
    assert widths[0] < widths[1] < widths[2]


def test_nine_of_ten_intervals_hold_the_end():
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(100):
        skills = rng.uniform(0.2, 0.8, 10)
        runs = [
            PastRun(
                str(i), (Levels(SHARES[:1],
                                curve(s).values[:1]), ),
                curve(s).values[-1] + 0.02 * rng.normal(size=2))
            for i, s in enumerate(skills)
        ]
        *history, new = runs
        ends = other_end(new.sources, history)
        inside.append((ends.low <= new.final) & (new.final <= ends.high))
    assert 0.85 < np.mean(inside) < 0.95


def test_the_better_source_counts_most():
    good, bad = past([0.2, 0.4, 0.6, 0.8,
                      1.0]), past([0.2, 0.4, 0.6, 0.8, 1.0], noise=0.05)
    history = [
        PastRun(a.run, (*a.sources, *b.sources), a.final)
        for a, b in zip(good, bad)
    ]
    run = curve(0.5).until(0.1)
    off = Levels(run.shares, run.values + 0.2)
    ends = other_end([run, off], history)
    assert ends.values == pytest.approx(curve(0.5).values[-1], abs=1e-3)


def test_accuracies_stay_in_range_and_have_the_noise_of_items():
    history = past([0.2, 0.4, 0.6, 0.8])
    ends = forecast_end([curve(1.0)], history, 0.9, np.array([100, 0]))
    p = ends.values[0]
    assert ends.high[0] - p == pytest.approx(
        1.645 * np.sqrt(p * (1 - p) / 100), rel=1e-3)
    assert ends.high[1] == pytest.approx(ends.low[1])
    far = forecast_end([curve(4.0).until(0.1)], history, 0.9,
                       np.array([100, 100]))
    assert far.high.max() <= 1 and far.values.max() <= 1


def test_checkpoints_elsewhere_are_looked_up_between():
    run = Levels(np.array([0.2]), np.array([curve(0.5).at(0.2)]))
    ends = other_end([run], past([0.2, 0.4, 0.6, 0.8]))
    assert ends.values == pytest.approx(curve(0.5).values[-1])


def hold_the_best_run():
    """Share of intervals that hold a run beyond a slight bend of its like."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(100):
        *skills, best = np.sort(rng.uniform(0.2, 0.8, 12))
        runs = [
            PastRun(
                str(i), (curve(s).until(0.1), ),
                curve(s).values[-1] - 0.1 * s**2 + 0.01 * rng.normal(size=2))
            for i, s in enumerate([*skills, best + 0.1])
        ]
        *history, new = runs
        ends = other_end(new.sources, history)
        inside.append((ends.low <= new.final) & (new.final <= ends.high))
    return np.mean(inside)


def test_forecasts_of_better_runs_from_worse_widen_intervals(monkeypatch):
    """Runs left out do not show a bend as better runs do."""
    assert hold_the_best_run() > 0.85
    monkeypatch.setattr(final_scores, 'forward_errors',
                        lambda final, error: np.zeros(2))
    assert hold_the_best_run() < 0.8


def test_a_late_run_is_left_out():
    history = past([0.2, 0.4, 0.6, 0.8, 1.0], noise=0.01)
    late = history[2]
    late = late._replace(
        sources=(Levels(SHARES[2:], late.sources[0].values[2:]), ))
    sources = [curve(0.5).until(0.1)]
    assert not as_early(late, sources)
    ends = other_end(sources, [late, *history[3:], *history[:2]])
    others = other_end(sources, [*history[3:], *history[:2]])
    assert np.array_equal(ends, others)
    assert as_early(late, [curve(0.5).until(0.3)])


def test_too_few_earlier_runs_forecast_nothing():
    few = past([0.2, 0.4, 0.6])
    assert other_end([curve(1.0)], few) is None
    assert forecast_end([curve(1.0)], few, 0.9, np.zeros(2)) is None
    early = Levels(np.array([0.01]), np.zeros((1, 2)))
    assert other_end([early], past([0.2, 0.4, 0.6, 0.8])) is None


def runs_beside_their_like(lasting, n=12):
    """Runs above or below their like, from the start or at a checkpoint."""
    rng = np.random.default_rng(2)
    runs, own = [], []
    for i, skill in enumerate(np.linspace(0.2, 0.8, n)):
        exact = curve(skill)
        shift = 0.2 * rng.normal(size=(1 if lasting else len(SHARES), 2))
        own.append(Levels(SHARES, exact.values + shift))
        runs.append(PastRun(str(i), (exact, ), own[-1].values[-1]))
    return runs, own


def test_what_lasts_of_earlier_runs_remains_of_a_run():
    """A run that is above its like stays so if earlier runs did."""
    known, beside = curve(0.5).until(0.3), [0.3, -0.3]
    run = Levels(SHARES, curve(0.5).values + beside)
    ends = {}
    for lasting in (True, False):
        history, own = runs_beside_their_like(lasting)
        ends[lasting] = forecast_other([*own, run], [known], history, 0.9)
    like = curve(0.5).values[-1]
    assert ends[True].values - like == pytest.approx(beside, abs=0.01)
    assert np.abs(ends[False].values - like).max() < 0.15


@pytest.mark.parametrize('lasting', [True, False])
def test_at_the_end_a_run_is_what_it_has_reached(lasting):
    history, own = runs_beside_their_like(lasting)
    run = Levels(SHARES, curve(0.5).values + [1.0, -1.0])
    ends = forecast_other([*own, run], [curve(0.5)], history, 0.9)
    for values in ends:
        assert values == pytest.approx(run.values[-1])
