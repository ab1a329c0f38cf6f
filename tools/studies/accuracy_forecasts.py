"""Where runs will end, by regressed gains of accuracies.

A forecaster that `csv_plugin.triage` had before. At each checkpoint of a run,
the gain of its accuracies from there to the end is regressed, over the earlier
runs, on how good they were at the same part of their training: the mean over
the benchmarks. Regressions at several checkpoints, and on several sources such
as observed scores and accuracies predicted from losses, are averaged with
weights that fall with the square of their mean squared error on earlier runs
left out.

Intervals are those of a regression whose residuals come from earlier runs left
out. They are no narrower than forecasts of better runs from worse ones say,
and than the noise of a score.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from csv_plugin.core.accuracies import standard_error
from csv_plugin.triage.forecasting import (LEAST_DEVIATION, LEAST_ERROR,
                                           MOST_LEVERAGE, worse_and_better)
from csv_plugin.triage.trajectories import SLACK


@dataclass(frozen=True, eq=False)
class Levels:
    """How good a run was along its training, by one source.

    Args:
        shares (NDArray): Parts of the training, rising, in (0, 1], `(n,)`.
        values (NDArray): Accuracies on B benchmarks, `(n, B)`.
    """
    shares: NDArray[np.float64]
    values: NDArray[np.float64]

    def covers(self, share: float) -> bool:
        """Whether the run can be looked up at a part of the training."""
        return bool(self.shares[0] <= SLACK * share)

    def at(self, share: float) -> NDArray[np.float64]:
        """Values there, linear in the log of the training, `(B,)`."""
        places = np.log(self.shares)
        return np.array([
            np.interp(np.log(share), places, column)
            for column in self.values.T
        ])


class PastRun(NamedTuple):
    """A finished run.

    Args:
        sources (Sequence[Levels]): By each source.
        final (NDArray): What it reached at its end, `(B,)`.
    """
    sources: Sequence[Levels]
    final: NDArray[np.float64]


class Ends(NamedTuple):
    """Forecasts of the end of a run, and ends of intervals, each `(B,)`."""
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def forecast_end(sources: Sequence[Levels], history: Sequence[PastRun],
                 level: float, n_items: NDArray) -> Ends:
    """Forecast the accuracies of a run at its end.

    Args:
        sources (Sequence[Levels]): The run so far, by each source.
        history (Sequence[PastRun]): Earlier runs, by the same sources. Those
            with no checkpoint as early are left out; four must remain.
        level (float): Share of intervals that should hold the end.
        n_items (NDArray): Items behind each accuracy, `(B,)`, 0 where
            unknown.
    """
    history = [
        past for past in history if all(
            levels.covers(source.shares[-1])
            for levels, source in zip(past.sources, sources))
    ]
    columns = list(_columns(sources, history))
    final, n_past = np.array([past.final for past in history]), len(history)
    value, errors, spread, spreads = _regress(columns, final,
                                              np.arange(n_past), n_past)
    deviation = np.sqrt(np.mean(errors**2 / (1 + spreads[:, None]), axis=0))
    half = _quantile(columns, final, deviation,
                     level) * deviation * np.sqrt(1 + spread)
    value = np.clip(value, 0, 1)
    noise = np.nan_to_num(standard_error(value, n_items))
    half = np.maximum(half, norm.ppf((1 + level) / 2) * noise)
    return Ends(value, np.clip(value - half, 0, 1),
                np.clip(value + half, 0, 1))


def _quantile(columns: Sequence[NDArray], final: NDArray, deviation: NDArray,
              level: float) -> float:
    """How many standard deviations of a forecast half an interval is."""
    tells = deviation > LEAST_DEVIATION
    squares: dict[int, list[float]] = {}
    for worse, better in worse_and_better(final):
        for run in better if tells.any() else ():
            value, _, spread, _ = _regress(columns, final, worse, run)
            errors = ((final[run] - value) /
                      (deviation * np.sqrt(1 + spread)))[tells]
            squares.setdefault(run, []).append(float(np.mean(errors**2)))
    left_out = t.ppf((1 + level) / 2, len(final) - 2)
    if not squares:
        return float(left_out)
    mean = np.mean([np.mean(of_run) for of_run in squares.values()])
    forward = t.ppf((1 + level) / 2, len(squares) - 1)
    return float(max(left_out, forward * np.sqrt(mean)))


class _Regression(NamedTuple):
    """Forecast of one run from others, or several of them averaged.

    Args:
        value (NDArray): The end of the run, `(B,)`.
        errors (NDArray): Real minus forecast ends of the n other runs, each
            left out, `(n, B)`.
        spread (float): Variance of the value, in residual variances.
        spreads (NDArray): The same of the forecasts of the other runs, `(n,)`.
    """
    value: NDArray[np.float64]
    errors: NDArray[np.float64]
    spread: float
    spreads: NDArray[np.float64]


def _columns(sources: Sequence[Levels],
             history: Sequence[PastRun]) -> Iterator[NDArray]:
    """Levels at all checkpoints at which the run and the others have some.

    Yields:
        NDArray: Of the H earlier runs, then of the run, `(H + 1, B)`.
    """
    for of_source in zip(*(past.sources for past in history), sources):
        for share in of_source[-1].shares:
            if all(levels.covers(share) for levels in of_source):
                yield np.array([levels.at(share) for levels in of_source])


def _regress(columns: Sequence[NDArray], final: NDArray, others: NDArray,
             run: int) -> _Regression:
    """Forecast a run by the mean of the regressions at all columns.

    Args:
        columns (Sequence[NDArray]): At least one.
        final (NDArray): Ends of the H earlier runs, `(H, B)`.
        others (NDArray): Rows of the n earlier runs to forecast from.
        run (int): Row of the run to forecast.
    """
    parts = [
        _regress_gain(values, final[others], others, run) for values in columns
    ]
    errors = np.array([np.mean(part.errors**2) for part in parts])
    trusted = np.maximum(errors, LEAST_ERROR)**-2.0
    weights = trusted / trusted.sum()
    return _Regression(*(sum(weight * part[i]
                             for weight, part in zip(weights, parts))
                         for i in range(4)))


def _regress_gain(values: NDArray, final: NDArray, others: NDArray,
                  run: int) -> _Regression:
    """From the level to the gain on each benchmark."""
    level = values.mean(axis=1)
    design = np.column_stack([np.ones(len(others)), level[others]])
    solve = np.linalg.pinv(design)
    here = np.array([1, level[run]]) @ solve
    hat = design @ solve
    leverage = np.minimum(np.diag(hat), MOST_LEVERAGE)
    gains = final - values[others]
    errors = (gains - hat @ gains) / (1 - leverage)[:, None]
    return _Regression(values[run] + here @ gains, errors, float(here @ here),
                       leverage / (1 - leverage))
