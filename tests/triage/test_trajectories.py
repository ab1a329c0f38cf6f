"""What a run must be, and where it is looked up."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.trajectories import LEAST_EXPONENT, exponents
from tests.runs import TEXTS, model_losses, train
from tests.triage.runs_of import SHARES, law, make_run


@pytest.mark.parametrize('changes, expected', [
    (dict(tokens=np.array([2.0, 1.0])), 'rising'),
    (dict(tokens=np.array([0.0, 1.0])), 'positive'),
    (dict(tokens=np.array([1.0, 1.0])), 'rising'),
    (dict(tokens=np.array([1.0, np.nan])), 'nan'),
    (dict(tokens=np.array([])), 'checkpoints'),
    (dict(budget=39.0), 'budget of 40 or more'),
    (dict(budget=np.nan), 'budget'),
    (dict(mean_loss=np.array([1.0, np.inf])), "'run@0.2'"),
    (dict(exponents=np.array([[np.nan], [1.0]])), "'run@0.1'"),
])
def test_what_is_refused(changes, expected):
    with pytest.raises(InputError, match=expected):
        replace(make_run().first(2), **changes)


def test_lookup_is_linear_in_the_log():
    run = make_run()
    between = np.sqrt(SHARES[1] * SHARES[2])
    [[found]] = run.at(np.array([between]))
    assert found == pytest.approx((law(SHARES[1]) + law(SHARES[2])) / 2)
    assert run.at(SHARES)[:, 0] == pytest.approx(law(SHARES))


def test_what_is_covered():
    covered = make_run().covers(np.array([0.05, 0.09, 0.1, 1.0]))
    assert covered.tolist() == [False, True, True, True]


def test_first_keeps_the_budget():
    run = make_run().first(2)
    assert run.shares.tolist() == [0.1, 0.2]
    assert run.checkpoints == ('run@0.1', 'run@0.2')
    assert len(run.exponents) == len(run.mean_loss) == 2


def test_exponents_are_those_of_the_curve():
    predictor = train()
    losses = {f'm{s}': model_losses(s) for s in (0.1, 0.5, 1.5)}
    features = predictor.features(losses, TEXTS.fingerprint)
    features.values[0] *= 5
    found = exponents(predictor, features)
    assert found.shape == (3, len(predictor.benchmarks))
    values = predictor.predict(features, TEXTS.fingerprint).values
    for b, known in enumerate(predictor.benchmarks):
        floor = known.model.floor
        curve = floor + (1 - floor) / (1 + np.exp(-found[:, b]))
        assert curve[1:] == pytest.approx(values[1:, b])
    assert (found[0] == LEAST_EXPONENT).all()
    assert (found[2] > found[1]).all()
