"""Which pretraining runs to go on with, by draws of where they end.

Runs are ranked as in a tournament: what all of them have in common, such as an
error of the salience weights, cancels out of their order.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.comparing import MARGIN
from csv_plugin.triage.loss_errors import LEVEL

#: A run is stopped if it ends within `MARGIN` of the best one with a smaller
#: probability.
LEAST_CHANCE = 0.05
#: Runs up to this many times as long count as runs of one budget.
LONGER = 1.05
#: Verdicts about a run.
GO_ON, STOP, FINISHED = 'go on', 'stop', 'finished'
UNKNOWN, NOT_FORECAST = 'no error known', 'not forecast'
TOO_FAR = 'too far'


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected accuracies of a run at its budget, fractions.

    `values` are the forecasts and `low` and `high` the ends of the intervals
    on each benchmark, and last for the mean of the main ones, `(B + 1,)` each.
    Forecasts are NaN where none can be made, the others where the error is
    unknown. Those from an extrapolated prediction are `extrapolated`, and
    `useless` if its interval leaves nothing out.
    """
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extrapolated: NDArray[np.bool_]
    useless: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ranking:
    """R runs ordered by a benchmark or by the mean, the best forecast first.

    Ranks from `best` to `worst` are possible, and `chance` is the probability
    to end best, among the runs with the same budget or a smaller one.
    `above_next` is the probability to end above the following run. `(R,)`
    each; unknown numbers are NaN, as `values`, the forecasts.
    """
    runs: tuple[str, ...]
    values: NDArray[np.float64]
    best: NDArray[np.float64]
    worst: NDArray[np.float64]
    chance: NDArray[np.float64]
    above_next: NDArray[np.float64]
    verdicts: tuple[str, ...]


def rank_all(runs: Sequence[str], expected: Sequence[Expectation],
             finished: NDArray[np.bool_], budgets: NDArray,
             draws: Optional[NDArray]) -> list[Ranking]:
    """Order R runs by each benchmark and last by the mean; NaN comes last.

    Those that are finished, and budgets in the unit of the trajectories, are
    `(R,)`. `draws` are accuracies at the ends, `(n, R, B + 1)`, the mean last;
    None if an error is unknown.
    """
    names = np.array(runs, object)
    values = np.array([part.values for part in expected]).T
    useless = np.array([part.useless for part in expected]).T
    found = []
    for k, (value, no_use) in enumerate(zip(values, useless)):
        # Useless forecasts come behind others, NaN last; runs with equal
        # forecasts stay in their order.
        order = np.lexsort((-value, no_use, np.isnan(value)))
        judged = np.full((5, len(names)), np.nan)
        rows = order[~(np.isnan(value) | no_use)[order]]
        if draws is not None and len(rows):
            judged[:, :len(rows)] = _tournament(draws[:, rows, k],
                                                budgets[rows])
        best, worst, chance, near, above = judged
        verdicts = np.select([
            np.isnan(value[order]), no_use[order],
            np.isnan(near), finished[order], near < LEAST_CHANCE
        ], [NOT_FORECAST, TOO_FAR, UNKNOWN, FINISHED, STOP], GO_ON)
        found.append(
            Ranking(
                tuple(names[order]), value[order], best, worst, chance, above,
                tuple(verdicts.tolist())))
    return found


def _tournament(draws: NDArray, budgets: NDArray) -> NDArray[np.float64]:
    """Numbers of n ordered runs by draws of their ends `(N, n)`; `(5, n)`.

    Best and worst rank; probability to end best, near the best, and above the
    following run.
    """
    n = len(budgets)
    found = np.full((5, n), np.nan)
    above = np.array([(draws[:, [run]] > draws).mean(axis=0)
                      for run in range(n)])
    surely = above > (1 + LEVEL) / 2
    for run in range(n):
        rivals = budgets <= LONGER * budgets[run]
        top = draws[:, rivals].max(axis=1)
        found[:4, run] = [
            1 + surely[rivals, run].sum(),
            rivals.sum() - surely[run, rivals].sum(), (draws[:, run]
                                                       >= top).mean(),
            (draws[:, run] >= top - MARGIN).mean()
        ]
    found[4, :-1] = np.diagonal(above, 1)
    return found
