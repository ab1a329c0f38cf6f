"""Notes on runs and their budgets."""
import numpy as np

from csv_plugin.triage.forecasting import EarlierRuns
from csv_plugin.triage.notes import notes_on_budgets
from tests.triage.test_forecasting import SHARES, make_run


def runs_of(*budgets: float, n: int | None = None):
    return [
        make_run(f'run of {budget:g}', n=n, budget=budget)
        for budget in budgets
    ]


def test_budgets_far_outside_of_the_earlier_ones_are_told():
    """From half of the shortest to one and a half of the longest."""
    earlier = EarlierRuns(runs_of(100, 150, 200))
    near = runs_of(50, 100, 200, 300, n=3)
    assert not [*notes_on_budgets('tokens', near, earlier, {})]
    long, short = notes_on_budgets('tokens', near + runs_of(49, 301, 400, n=3),
                                   earlier, {})
    assert long.startswith(
        'run of 301, run of 400: the budget is more than 1.5 times the '
        "longest earlier run's budget, 200 tokens.")
    assert short.startswith('run of 49: the budget is less than half of the '
                            "shortest earlier run's budget, 100 tokens.")
    # Finished runs are not forecast, and nothing is without earlier runs.
    assert not [*notes_on_budgets('steps', runs_of(10, 900), earlier, {})]
    far = runs_of(10, 900, n=3)
    assert not [*notes_on_budgets('steps', far, EarlierRuns([]), {})]
    # Nor are budgets of runs told that are not forecast.
    only, = notes_on_budgets('tokens', runs_of(49, 400, n=3), earlier,
                             {'run of 49': 'why'})
    assert only.startswith('run of 400: ')
    assert np.array_equal(far[0].shares, SHARES[:3])
