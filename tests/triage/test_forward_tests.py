"""Better runs are forecast from worse ones, and count alike."""
import numpy as np
import pytest

from csv_plugin.triage.forward_tests import forward_errors, unit_of


def test_the_better_half_is_forecast_from_the_worse():
    final = np.array([[0.5, 0.7], [0.1, 0.1], [0.9, 0.9], [0.2, 0.3],
                      [0.4, 0.2], [0.8, 0.9]])
    asked = []

    def error(worse, run):
        asked.append((set(worse.tolist()), run))
        return np.array([3.0, 4.0]) * final[run]

    errors = forward_errors(final, error)
    assert sorted(asked, key=str) == sorted(
        [({1, 3, 4}, 0), ({1, 3, 4}, 5), ({1, 3, 4}, 2), ({0, 1, 3, 4}, 5),
         ({0, 1, 3, 4}, 2), ({0, 1, 3, 4, 5}, 2)],
        key=str)  # yapf: disable
    expected = [
        np.sqrt(np.mean((np.array([3, 4]) * final[run])**2))
        for run in (0, 2, 5)
    ]
    assert errors == pytest.approx(expected)


def test_runs_count_alike_however_often_they_are_forecast():
    """The best run is forecast three times, with errors of 1, 2 and 3."""
    sizes = iter([0.0, 0.0, 1.0, 0.0, 2.0, 3.0])
    errors = forward_errors(
        np.arange(6.0)[:, None], lambda worse, run: np.array([next(sizes)]))
    assert errors == pytest.approx([0, 0, np.sqrt(14 / 3)])


def test_benchmarks_that_all_runs_end_alike_on_do_not_count():
    final = np.arange(6.0)[:, None] * [1, 0, 0]
    unit = unit_of(final.std(axis=0))
    assert np.isnan(unit).tolist() == [False, True, True]
    errors = forward_errors(final, lambda worse, run: final[run] / unit)
    alone = forward_errors(final[:, :1],
                           lambda worse, run: final[run, :1] / unit[:1])
    assert errors == pytest.approx(alone) and (errors > 1).any()
    nothing = forward_errors(final[:, 1:],
                             lambda worse, run: final[run, 1:] / unit[1:])
    assert len(nothing) == 0
