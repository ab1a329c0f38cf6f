"""Runs are checked, truncated and interpolated."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from tests.triage.trajectories import SHARES, law, make_run, truncated


@pytest.mark.parametrize('changes, expected', [
    (dict(tokens=np.array([1.0, 1.0])), 'checkpoint at each number'),
    (dict(budget=39.0), 'budget of 40 or more'),
])
def test_bad_runs_are_refused(changes, expected):
    with pytest.raises(InputError, match=expected):
        replace(truncated(make_run(), 2), **changes)


def test_interpolation_is_linear_in_the_log():
    run = make_run('run', law(SHARES), SHARES, budget=1.0)
    between = np.sqrt(SHARES[1] * SHARES[2])
    assert run.at(between) == pytest.approx([
        (law(SHARES[1]) + law(SHARES[2])) / 2, (SHARES[1] + SHARES[2]) / 2
    ])
    found = [run.at(share)[0] for share in SHARES]
    assert found == pytest.approx(law(SHARES))
    # Before the first checkpoint, the first one counts.
    assert run.at(0.09).tolist() == run.states[0].tolist()
    assert truncated(run, 1).at(0.1).tolist() == run.states[0].tolist()


def test_shares_that_a_run_covers():
    # Its first checkpoint is at a tenth.
    run = make_run()
    covered = [run.covers(share) for share in (0.083, 0.1 / 1.2, 0.1, 1.0)]
    assert covered == [False, True, True, True]
