"""Intervals of forecasts hold the accuracies of runs whose laws are known."""
import numpy as np
import pytest

from csv_plugin.core.comparison import MEAN
from csv_plugin.triage.checkpoints import describe_checkpoints
from csv_plugin.triage.judging import judge
from tests.triage.run_worlds import STEPS, world

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def worlds():
    found = [world(seed, n_old=(6, 10, 14)[seed % 3]) for seed in range(9)]
    return [(part, part.predictor()) for part in found]


def forecasts(worlds, steps, scored=False):
    """Values, ends of intervals, and observed accuracies, `(4, runs, 4)`."""
    rows = []
    for part, predictor in worlds:
        new = part.names('new', steps)
        triage = judge(
            predictor,
            part.features,
            describe_checkpoints(new),
            describe_checkpoints(part.names('old')),
            known=part.table(new) if scored else None)
        table = triage.forecasts
        parts = [table.values, table.low, table.high]
        for e, end in enumerate(triage.ends):
            observed = part.table([f'{end.name}@100']).values[0]
            mean = [*triage.means[:, e], observed.mean()]
            each = [*(cube[e, :, 0] for cube in parts), observed]
            rows.append(np.column_stack([each, mean]))
    return np.moveaxis(rows, 1, 0)


@pytest.mark.parametrize('n_steps', [1, 3, 5])
def test_intervals_hold_as_often_as_they_say(worlds, n_steps):
    """From a tenth and a third of the training, and at its end.

    Of 54 runs on three benchmarks and their mean.
    """
    values, low, high, actual = forecasts(worlds, STEPS[:n_steps])
    held = (low <= actual) & (actual <= high)
    assert 0.8 <= held[:, :3].mean() <= 0.97
    assert 0.8 <= held[:, 3].mean() <= 0.99
    assert (high - low).mean() < 5 * np.abs(values - actual).mean() + .03


def test_forecasts_are_better_than_the_prediction_now(worlds):
    values, _, _, actual = forecasts(worlds, STEPS[:3])
    now = np.array([
        predictor.predict(part.features.select(part.names('new', [35]))).values
        for part, predictor in worlds
    ]).reshape(-1, 3)
    errors = np.abs(values - actual)[:, :3].mean()
    assert errors < np.abs(now - actual[:, :3]).mean() / 2


def test_known_accuracies_make_forecasts_better(worlds):
    plain, scored = (
        forecasts(worlds, STEPS[:3], scored) for scored in (False, True))
    errors = [np.mean((part[0] - part[3])**2) for part in (plain, scored)]
    assert errors[1] < 0.9 * errors[0]


def test_probabilities_to_end_best_are_those_of_ends(worlds):
    """The mean probability of what ended best is what they say of themselves.
    """
    of_best, expected = [], []
    for part, predictor in worlds:
        new = part.names('new', STEPS[:3])
        triage = judge(predictor, part.features, describe_checkpoints(new),
                       describe_checkpoints(part.names('old')))
        best = triage.orders[MEAN].best
        ends = part.table([f'{end.name}@100' for end in triage.ends]).values
        of_best.append(best[ends.mean(axis=1).argmax()])
        expected.append(np.sum(best**2))
    assert np.mean(of_best) == pytest.approx(np.mean(expected), abs=0.2)
