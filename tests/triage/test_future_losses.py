"""Errors of losses widen the joint distribution by what they move."""
import numpy as np
import pytest

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import LEVEL, Units
from csv_plugin.triage.future_losses import (LossForecast, log_losses,
                                             losses_of, with_loss_errors,
                                             worse_and_better)
from tests.triage.run_worlds import world


@pytest.fixture(scope='module')
def case():
    """A predictor, the ends of two new runs, and their joint distribution."""
    part = world(3, n_new=2)
    predictor = part.predictor()
    table = part.features.select(part.names('new', [100]))
    return predictor, table, predictor.joint(table)


def exponents(predictor, table, logs):
    """Of the first model, if logarithms of its losses are off by these."""
    values = table.values * np.exp(logs)
    return predictor.joint(FeatureTable(table.models, table.columns,
                                        values)).mean[0]


def widened(case, *errors, common=0.0):
    """Errors of the logarithms of each model, or None."""
    predictor, table, joint = case
    logs = log_losses(predictor, table.values)
    forecasts = [
        None if error is None else LossForecast(row, error, common)
        for row, error in zip(logs, errors)
    ]
    return with_loss_errors(joint, predictor, table, forecasts)


def ends(joint):
    return np.array(joint.intervals(LEVEL))


def test_without_errors_nothing_changes(case):
    assert widened(case, None, None) is case[2]
    none = np.zeros((1, 6))
    same = widened(case, none, none)
    assert ends(same) == pytest.approx(ends(case[2]))


def test_variances_add(case):
    """Of the exponents where two errors lead."""
    predictor, table, joint = case
    errors = np.array([np.linspace(.01, .03, 6), np.linspace(-.03, .01, 6)])
    wide = widened(case, errors, None)
    moves = [
        exponents(predictor, table, error) - joint.mean[0] for error in errors
    ]
    assert wide.variance[0] == pytest.approx(joint.variance[0] +
                                             np.mean(np.square(moves), axis=0))
    assert wide.variance[1] == pytest.approx(joint.variance[1])
    assert wide.mean.tolist() == joint.mean.tolist()


def test_an_error_of_all_units_is_one_of_all_benchmarks(case):
    """So means over benchmarks are hardly surer than a benchmark."""
    _, _, joint = case
    wide = widened(case, np.full((1, 6), .3), None)
    every = np.arange(3)
    halves = []
    for part in (joint, wide):
        middle, low, _ = part.means(every, LEVEL)
        alone = part.accuracies[0] - part.intervals(LEVEL)[0][0]
        halves.append((middle[0] - low[0]) / alone.mean())
    assert halves[0] < .9 and halves[1] > .95
    # Draws say the same.
    draws = wide.draws()[:, 0]
    assert np.corrcoef(draws.T)[0, 1] > .8 > np.corrcoef(
        joint.draws()[:, 0].T)[0, 1]


def test_what_errors_have_in_common_does_not_change_an_order(case):
    error = np.full((1, 6), .2)
    weights = np.array([[1, 0, 0], [-1, 0, 0]])
    apart, together = (
        widened(case, error, error, common=common) for common in (0.0, 1.0))
    assert ends(apart) == pytest.approx(ends(together))
    sums = [part.sum(weights, LEVEL) for part in (apart, together)]
    assert sums[1].high - sums[1].low < .7 * (sums[0].high - sums[0].low)


def test_losses_that_are_too_small_to_matter(case):
    predictor, table, _ = case
    typical = np.median(predictor.fit.losses, axis=0)
    tiny = np.array([0 * typical, 1e-9 * typical, typical])
    found = log_losses(predictor, tiny)
    assert found[0] == pytest.approx(np.log(.05 * typical))
    assert found[1].tolist() == found[0].tolist()
    assert found[2] == pytest.approx(np.log(typical))
    assert losses_of(predictor, found)[2] == pytest.approx(typical)


@pytest.mark.slow
def test_single_tokens_have_a_knee():
    """A token whose loss is nearly 0 does not count for more."""
    part = world(3)
    fitted = part.names('old')
    units = Units(np.arange(5), np.full(5, ''), {'easy': np.array([5])})
    predictor = fit_predictor(part.features, part.table(fitted),
                              [name.split('@')[0] for name in fitted], units)
    losses = np.repeat(predictor.fit.losses[:1], 3, axis=0)
    losses[:, 5] = [0, 1e-9, .1]
    found = log_losses(predictor, losses)[:, 5]
    assert found == pytest.approx(np.log([.1, .1, .2]))
    assert losses_of(predictor, log_losses(predictor,
                                           losses)) == pytest.approx(losses)


def test_better_models_are_the_last_of_them():
    splits = [(worse.tolist(), better.tolist())
              for worse, better in worse_and_better(np.array([3, 1, 2, 5]))]
    assert splits == [([1, 2], [0, 3]), ([1, 2, 0], [3]), ([1, 2, 0], [3])]
