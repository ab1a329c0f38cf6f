"""Runs are checked, truncated and interpolated."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.trajectories import clipped_exponents
from tests.runs import dump, model_losses, train
from tests.triage.trajectories import SHARES, law, make_run, truncated


@pytest.mark.parametrize('changes, expected', [
    (dict(tokens=np.array([1.0, 1.0])), 'checkpoint at each number'),
    (dict(budget=39.0), 'budget of 40 or more'),
])
def test_bad_runs_are_refused(changes, expected):
    with pytest.raises(InputError, match=expected):
        replace(truncated(make_run(), 2), **changes)


def test_interpolation_is_linear_in_the_log():
    run = make_run(budget=1.0)
    between = np.sqrt(SHARES[1] * SHARES[2])
    exponent, = run.at(between)
    assert exponent == pytest.approx((law(SHARES[1]) + law(SHARES[2])) / 2)
    found = [run.at(share)[0] for share in SHARES]
    assert found == pytest.approx(law(SHARES))


def test_shares_that_a_run_covers():
    # Its first checkpoint is at a tenth.
    run = make_run()
    covered = [run.covers(share) for share in (0.083, 0.1 / 1.2, 0.1, 1.0)]
    assert covered == [False, True, True, True]


def test_exponents_are_those_of_the_curve():
    predictor = train()
    features = predictor.features({
        f'm{skill}':
        dump(f'm{skill}', model_losses(skill))
        for skill in (0.1, 0.5, 1.5)
    })
    features.values[0] *= 5
    exponents = clipped_exponents(predictor, features)
    assert exponents.shape == (3, len(predictor.benchmarks))
    values = predictor.predict(features).values[:, :, 0]
    for b, benchmark in enumerate(predictor.benchmarks):
        floor = benchmark.model.curve.floor
        accuracies = floor + (1 - floor) / (1 + np.exp(-exponents[:, b]))
        assert accuracies[1:] == pytest.approx(values[1:, b])
    assert (exponents[0] == -6).all()
    assert (exponents[2] > exponents[1]).all()
