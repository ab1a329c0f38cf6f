"""Errors of losses widen the joint distribution by what they move."""
import numpy as np
import pytest
from scipy.stats import t

from csv_plugin.triage.loss_errors import (LEVEL, LossErrors, log_losses,
                                           with_loss_errors, worse_and_better)
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
    return predictor.joint(type(table)(table.models, table.columns,
                                       values)).mean[0]


def widened(case, *errors):
    predictor, table, joint = case
    return with_loss_errors(joint, predictor, table, errors)


def ends(joint):
    return np.array(joint.intervals(LEVEL))


NONE = LossErrors(np.zeros((0, 6)), 1)


def test_without_errors_nothing_changes(case):
    _, _, joint = case
    same = widened(case, NONE, NONE)
    assert ends(same) == pytest.approx(ends(joint))
    weights = np.array([[1, 0, 0], [-1, 0, 0]])
    assert same.sum(weights, LEVEL) == pytest.approx(joint.sum(weights, LEVEL))
    assert same.draws() == pytest.approx(joint.draws(), abs=1e-6)


def test_variances_add(case):
    """Of the exponents where two errors lead, as wide as by Student's t."""
    predictor, table, joint = case
    errors = np.array([np.linspace(.01, .03, 6), np.linspace(-.03, .01, 6)])
    wide = widened(case, LossErrors(errors, 4), NONE)
    moves = [
        exponents(predictor, table, error) - joint.mean[0] for error in errors
    ]
    scale = t.ppf(.95, 4) / joint.model.tails.quantile(LEVEL)
    assert wide.variance[0] == pytest.approx(joint.variance[0] + scale**2 *
                                             np.mean(np.square(moves), axis=0))
    assert wide.variance[1] == pytest.approx(joint.variance[1])
    assert wide.mean.tolist() == joint.mean.tolist()


def test_an_error_of_all_units_is_one_of_all_benchmarks(case):
    """So means over benchmarks are hardly surer than a benchmark."""
    _, _, joint = case
    wide = widened(case, LossErrors(np.full((1, 6), .3), 10), NONE)
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
        widened(case, *[LossErrors(error, 10, common)] * 2)
        for common in (0.0, 1.0))
    assert ends(apart) == pytest.approx(ends(together))
    sums = [part.sum(weights, LEVEL) for part in (apart, together)]
    assert sums[1].high - sums[1].low < .7 * (sums[0].high - sums[0].low)
    # Some of the models keep what they have.
    first = together.take(np.array([0]))
    assert ends(first) == pytest.approx(ends(together)[:, :1])
    means = np.array(together.means(np.arange(3), LEVEL))
    assert np.array(first.means(np.arange(3),
                                LEVEL)) == pytest.approx(means[:, :1])


def test_losses_that_are_too_small_to_matter(case):
    predictor, table, _ = case
    typical = np.median(predictor.fit.losses, axis=0)
    tiny = np.array([0 * typical, 1e-9 * typical, typical])
    found = log_losses(predictor, tiny)
    assert found[0] == pytest.approx(np.log(.05 * typical))
    assert found[1].tolist() == found[0].tolist()
    assert found[2] == pytest.approx(np.log(typical))


def test_better_models_are_the_last_of_them():
    splits = [(worse.tolist(), better.tolist())
              for worse, better in worse_and_better(np.array([3, 1, 2, 5]))]
    assert splits == [([1, 2], [0, 3]), ([1, 2, 0], [3]), ([1, 2, 0], [3])]
