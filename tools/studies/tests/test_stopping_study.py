"""Tournaments count what is stopped, and stop by what was known."""
from types import SimpleNamespace

import numpy as np
import pytest

from csv_plugin.triage.checkpoints import describe_checkpoints
from tools.studies.stopping_study import of_case, rows, tournament
from tools.studies.study_triage import table_case
from tools.studies.tests.test_study_triage import AFTER, tables


def runs_ending_at(*scores):
    """Runs that are known by their place and share alone."""
    return [
        SimpleNamespace(
            scores=np.array([[0.1], [end]]),
            until=lambda share, i=i: SimpleNamespace(place=i, share=share))
        for i, end in enumerate(scores)
    ]


def test_outcome_of_a_tournament():
    stops = {0.1: [2], 0.5: [1]}

    def rule(runs):
        return np.array([run.place in stops[run.share] for run in runs])

    found = tournament(runs_ending_at(0.5, 0.7, 0.4), [0.1, 0.5], rule)
    assert found.best_stopped and found.lost == pytest.approx(0.2)
    assert found.saved == pytest.approx((0.9 + 0.5) / 3)
    # A single run that is left is not judged.
    stops[0.1] = [0, 2]
    kept = tournament(runs_ending_at(0.5, 0.7, 0.4), [0.1, 0.5], rule)
    assert kept == (False, 0, pytest.approx(2 * 0.9 / 3))


def test_the_worse_run_is_stopped():
    given = tables()
    models = given.features.models
    parts = ([model for model in models if (model[0] in 'agh') == new]
             for new in (False, True))
    case = table_case(given, describe_checkpoints(models), *parts)
    found = of_case(case, AFTER, 3)
    assert {*found} == {
        'triage', 'halving by observed scores', 'halving by mean loss'
    }
    for outcomes in found.values():
        [only] = outcomes
        assert not only.best_stopped and only.saved > 0.2
    assert len([*rows([found, found])]) == 3
