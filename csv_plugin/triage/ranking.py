"""Expected accuracies of pretraining runs, and which to go on with.

Runs are ranked as in a tournament: by the errors of *differences* between
runs. The predictor's part is that of `core.differences`. The forecast's part
is from pairs of earlier runs, forecast from the same share of their budgets:
what all of them have in common cancels out.
"""
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.comparing import MARGIN
from csv_plugin.core.differences import (JointPredictions, OwnErrors,
                                         joint_of_scores)
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.triage.forecasting import Forecast

#: Level of all intervals and ranges of ranks.
LEVEL = 0.9
#: Draws from the distribution of what is expected of each run.
N_DRAWS = 4000
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
    `variance`, `(B + 1,)`, is that of the forecast's error in differences
    between runs, with its degrees of freedom. Forecasts are NaN where none can
    be made, the others where the error is unknown. Those from an extrapolated
    prediction are `extrapolated`, and `useless` if its interval leaves nothing
    out: then theirs is 0 to 1. `(B + 1,)` each.
    """
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    variance: NDArray[np.float64]
    freedom: int
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


def expect(forecast: Forecast,
           predictor: Predictor,
           main: Sequence[int],
           marks: Optional[NDArray[np.bool_]] = None) -> Expectation:
    """Return expected accuracies of a run, with intervals of `LEVEL`.

    A draw of the exponent is the forecast, plus an error like those of the
    back-test, from a multivariate t distribution, plus an error like those of
    the predictor on held-out models. A draw of the accuracy is the curve at
    this exponent, plus the part of the predictor's error that does not depend
    on the curve. Draws depend on the run alone. `main` are the places of the
    benchmarks of the mean; `marks` of the last prediction, none by default,
    are whether it is extrapolated and useless, `(2, B + 1)`.
    """
    rng = np.random.default_rng(
        zlib.crc32(forecast.run.encode('utf-8', 'surrogatepass')))
    floors = curve_floors(predictor)
    distance = predictor.distances(_scores(predictor, forecast.exponents))
    intervals = [benchmark.intervals for benchmark in predictor.benchmarks]
    constants, slopes = np.array([
        np.sqrt(part.variance) *
        part.growth(np.where(benchmark.at_chance, 0, distance))
        for part, benchmark in zip(intervals, predictor.benchmarks)
    ]).T
    shape = N_DRAWS, len(floors)
    errors = _backtest_errors(forecast.errors, forecast.freedom, rng)
    exponents = rng.normal(forecast.exponents + errors, slopes, shape)
    draws = _with_mean(
        rng.normal(accuracy_at(exponents, floors), constants).clip(0, 1), main)
    values = _with_mean(accuracy_at(forecast.exponents, floors), main)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    for b, benchmark in enumerate(predictor.benchmarks):
        high[b] = np.maximum(high[b], benchmark.emerged(distance))
    extrapolated, useless = np.zeros(
        (2, len(values)), bool) if marks is None else marks
    useless = useless & ~np.isnan(values)
    return Expectation(values, np.where(useless, 0, np.minimum(low, values)),
                       np.where(useless, 1, np.maximum(high, values)),
                       *_own_errors(forecast, floors, main), extrapolated,
                       useless)


def _with_mean(values: NDArray, main: Sequence[int]) -> NDArray[np.float64]:
    """Values `(..., B)` and last the mean of the main ones."""
    mean = np.take(values, main, axis=-1).mean(axis=-1, keepdims=True)
    return np.append(values, mean, axis=-1)


def _own_errors(forecast: Forecast, floors: NDArray,
                main: Sequence[int]) -> tuple[NDArray[np.float64], int]:
    """Variance of a forecast's error in differences, degrees of freedom.

    Half the mean squared difference of two errors of the back-test is their
    variance about their mean.
    """
    errors = forecast.errors
    freedom = max(len(errors) - 1, 1)
    if not len(errors):
        return np.full(len(floors) + 1, np.nan), freedom
    moved = accuracy_at(forecast.exponents + errors - errors.mean(axis=0),
                        floors) - accuracy_at(forecast.exponents, floors)
    return (_with_mean(moved, main)**2).sum(axis=0) / freedom, freedom


def curve_floors(predictor: Predictor) -> NDArray[np.float64]:
    """Return the floor of Eq. 2 for each benchmark, fractions, `(B,)`."""
    return np.array([
        benchmark.model.curve.floor for benchmark in predictor.benchmarks
    ])  # yapf: disable


def rank_all(forecasts: Sequence[Forecast],
             expectations: Sequence[Expectation], budgets: NDArray,
             predictor: Predictor, main: Sequence[int]) -> list[Ranking]:
    """Order R runs by each benchmark and last by the mean; NaN comes last.

    All budgets, `(R,)`, are in the unit of the trajectories.
    """
    names = np.array([forecast.run for forecast in forecasts], object)
    finished = np.array([forecast.share == 1 for forecast in forecasts])
    values = np.array([part.values for part in expectations]).T
    useless = np.array([part.useless for part in expectations])
    known = np.flatnonzero(np.isfinite(values.sum(axis=0)))
    joint = _joint([forecasts[i] for i in known],
                   [expectations[i] for i in known], predictor, main)
    found = []
    for b in range(len(values)):
        # The mean of a single benchmark is this benchmark.
        k = main[0] if b == len(predictor.names) and len(main) == 1 else b
        judged = np.full((5, len(names)), np.nan)
        rows = np.flatnonzero(~useless[known, b])
        if joint is not None and len(rows):
            judged[:, known[rows]] = _tournament(
                joint.select(rows), k, budgets[known[rows]])
        # Useless forecasts come behind others, NaN last; runs with equal
        # forecasts stay in their order.
        order = np.lexsort((-values[b], useless[:, b], np.isnan(values[b])))
        best, worst, chance, near, above = judged[:, order]
        verdicts = np.select([
            np.isnan(values[b, order]), useless[order, b],
            np.isnan(near), finished[order], near < LEAST_CHANCE
        ], [NOT_FORECAST, TOO_FAR, UNKNOWN, FINISHED, STOP], GO_ON)
        found.append(
            Ranking(
                tuple(names[order]), values[b, order], best, worst, chance,
                above, tuple(verdicts.tolist())))
    return found


def _joint(forecasts: Sequence[Forecast], expectations: Sequence[Expectation],
           predictor: Predictor,
           main: Sequence[int]) -> Optional[JointPredictions]:
    """Joint distribution of the ends of n runs; None if an error is unknown.
    """
    variance = np.array([part.variance for part in expectations]).T
    if (not forecasts or predictor.training_scores is None
            or np.isnan(variance).any()):
        return None
    exponents = np.transpose([forecast.exponents for forecast in forecasts])
    joint = joint_of_scores(predictor, _scores(predictor, exponents),
                            [forecast.run for forecast in forecasts],
                            [predictor.names[b] for b in main])
    freedom = np.array([part.freedom for part in expectations])
    return replace(
        joint, own=OwnErrors(variance[:len(joint.benchmarks)], freedom))


def _scores(predictor: Predictor, exponents: NDArray) -> NDArray[np.float64]:
    """Capability scores, as the exponents `(B, ...)`; 0 by flat curves."""
    curves = [benchmark.model.curve for benchmark in predictor.benchmarks]
    return np.array([
        curve.beta + part / (curve.alpha or np.inf)
        for curve, part in zip(curves, exponents)
    ])


def _tournament(joint: JointPredictions, k: int,
                budgets: NDArray) -> NDArray[np.float64]:
    """Numbers of n runs by benchmark k, `(5, n)`.

    Best and worst rank; probability to end best, near the best, and above the
    following run.
    """
    found = np.full((5, len(budgets)), np.nan)
    for budget in np.unique(budgets):
        rivals = np.flatnonzero(budgets <= LONGER * budget)
        part = joint.select(rivals)
        numbers = (*part.rank_ranges(LEVEL, k), part.chances(k),
                   part.chances(k, MARGIN))
        of_budget = budgets[rivals] == budget
        found[:4, rivals[of_budget]] = np.array(numbers)[:, of_budget]
    order = np.argsort(-joint.values[k], kind='stable')
    gaps = joint.differences(order[1:], order[:-1])
    found[4, order[:-1]] = scipy.special.stdtr(
        gaps.freedom[k], gaps.difference[k] / gaps.deviation[k])
    return found


def _backtest_errors(errors: NDArray, freedom: int,
                     rng: np.random.Generator) -> NDArray:
    """Draws from a t distribution with the scale of errors, `(N, B)`.

    A single NaN without errors.
    """
    n_runs = len(errors)
    if not n_runs:
        return np.array(np.nan)
    normal = rng.normal(size=(N_DRAWS, n_runs)) @ errors / np.sqrt(n_runs)
    scale = np.sqrt(freedom / rng.chisquare(freedom, size=(N_DRAWS, 1)))
    return normal * scale
