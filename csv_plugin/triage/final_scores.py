"""Where pretraining runs will end, by what earlier runs gained from there on.

At each checkpoint of a run, the gain from there to the end is regressed, over
the earlier runs, on how good they were at the same part of their training: the
mean over the benchmarks. Regressions at several checkpoints, and on several
sources such as observed scores and accuracies predicted from losses, are
averaged with weights that fall with the square of their mean squared error on
earlier runs left out.

Intervals are those of a regression whose residuals come from earlier runs left
out. They are no narrower than back-tests say, in which the earlier runs that
end better are forecast from those that end worse, and than the noise of a
score.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from csv_plugin.triage.forward_tests import forward_errors, unit_of

#: With fewer earlier runs, a regression left one out has no error.
LEAST_RUNS = 4
#: A run is also looked up before its first checkpoint, by at most this factor.
SLACK = 1.2
#: Smaller mean squared errors count as this, and leverages as no more.
_LEAST_ERROR, _MOST_LEVERAGE = 1e-12, 0.99


@dataclass(frozen=True, eq=False)
class Levels:
    """How good a run was along its training, by one source.

    Args:
        shares (NDArray): Parts of the training, rising, in (0, 1], `(n,)`.
        values (NDArray): Accuracies, or anything else that gets better or
            worse, on B benchmarks, `(n, B)`.
    """
    shares: NDArray[np.float64]
    values: NDArray[np.float64]

    def covers(self, share: float) -> bool:
        """Whether the run can be looked up at a part of the training."""
        return len(self.shares) > 0 and bool(self.shares[0] <= SLACK * share)

    def at(self, share: float) -> NDArray[np.float64]:
        """Values there, linear in the log of the training, `(B,)`."""
        places = np.log(self.shares)
        return np.array([
            np.interp(np.log(share), places, column)
            for column in self.values.T
        ])

    def until(self, share: float) -> 'Levels':
        """The checkpoints up to a part of the training."""
        seen = self.shares <= share
        return Levels(self.shares[seen], self.values[seen])


class PastRun(NamedTuple):
    """A finished run.

    Args:
        run (str): Its name.
        sources (tuple[Levels, ...]): By each source, as little fitted to the
            run as to the runs to forecast.
        final (NDArray): What it reached at its end, higher is better, `(B,)`.
    """
    run: str
    sources: tuple[Levels, ...]
    final: NDArray[np.float64]


class Ends(NamedTuple):
    """Forecasts of the end of a run, each `(B,)`.

    Args:
        values (NDArray): The most likely.
        low (NDArray): Lower ends of the intervals.
        high (NDArray): Upper ends.
    """
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def as_early(past: PastRun, sources: Sequence[Levels]) -> bool:
    """Whether an earlier run can be looked up where a run is by now.

    Args:
        past (PastRun): By each source.
        sources (Sequence[Levels]): The run so far, by the same sources, each
            at one checkpoint or more.
    """
    return all(
        levels.covers(source.shares[-1])
        for levels, source in zip(past.sources, sources))


def forecast_end(sources: Sequence[Levels],
                 history: Sequence[PastRun],
                 level: float,
                 n_items: Optional[NDArray] = None) -> Optional[Ends]:
    """Forecast the end of a run.

    Args:
        sources (Sequence[Levels]): The run so far, by each source.
        history (Sequence[PastRun]): Earlier runs, by the same sources. Those
            that are not `as_early` are left out.
        level (float): Share of intervals that should hold the end.
        n_items (Optional[NDArray]): Items behind each accuracy, `(B,)`, 0
            where unknown; None if the ends are not those of the sources but
            other numbers, which then are regressed in place of gains.

    Returns:
        Optional[Ends]: None if fewer than `LEAST_RUNS` earlier runs remain.
    """
    history = [past for past in history if as_early(past, sources)]
    if len(history) < LEAST_RUNS:
        return None
    columns = list(_columns(sources, history))
    final, n_past = np.array([past.final for past in history]), len(history)
    if n_items is None:
        columns = [
            column._replace(values=np.zeros((n_past + 1, final.shape[1])))
            for column in columns
        ]
    value, errors, spread, spreads = _regress(columns, final,
                                              np.arange(n_past), n_past)
    deviation = np.sqrt(np.mean(errors**2 / (1 + spreads[:, None]), axis=0))
    half = (
        _quantile(columns, final, deviation, level) * deviation *
        np.sqrt(1 + spread))
    if n_items is None:
        return Ends(value, value - half, value + half)
    value = np.clip(value, 0, 1)
    half = np.maximum(half, _noise(value, n_items, level))
    return Ends(value, np.clip(value - half, 0, 1),
                np.clip(value + half, 0, 1))


class _Column(NamedTuple):
    """What one source tells at one checkpoint.

    Args:
        values (NDArray): Of the H earlier runs and of the one to forecast, to
            which gains are added, `(H + 1, B)`.
        level (NDArray): How good they are there, `(H + 1,)`.
    """
    values: NDArray[np.float64]
    level: NDArray[np.float64]


def _quantile(columns: Sequence[_Column], final: NDArray, deviation: NDArray,
              level: float) -> float:
    """How many standard deviations of a forecast half an interval is.

    Args:
        columns (Sequence[_Column]): As in `_regress`.
        final (NDArray): Likewise.
        deviation (NDArray): Of a residual on each benchmark, `(B,)`.
        level (float): Of the interval.
    """
    unit = unit_of(deviation)

    def forward_error(worse: NDArray, run: int) -> NDArray:
        value, _, spread, _ = _regress(columns, final, worse, run)
        return (final[run] - value) / (unit * np.sqrt(1 + spread))

    errors = forward_errors(final, forward_error)
    left_out = t.ppf((1 + level) / 2, len(final) - 2)
    if not len(errors):
        return float(left_out)
    forward = t.ppf((1 + level) / 2, len(errors) - 1)
    return float(max(left_out, forward * np.sqrt(np.mean(errors**2))))


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
             history: Sequence[PastRun]) -> Iterator[_Column]:
    """All checkpoints of a run at which it and the others can be looked up."""
    runs = [*(past.sources for past in history), sources]
    for of_source in zip(*runs):
        for share in of_source[-1].shares:
            if all(levels.covers(share) for levels in of_source):
                values = np.array([levels.at(share) for levels in of_source])
                yield _Column(values, values.mean(axis=1))


def _regress(columns: Sequence[_Column], final: NDArray, others: NDArray,
             run: int) -> _Regression:
    """Forecast a run by the mean of the regressions at all columns.

    Args:
        columns (Sequence[_Column]): At least one.
        final (NDArray): Ends of the H earlier runs, `(H, B)`.
        others (NDArray): Rows of the n earlier runs to forecast from.
        run (int): Row of the run to forecast.
    """
    parts = [
        _regress_gain(column, final[others], others, run) for column in columns
    ]
    errors = np.array([np.mean(part.errors**2) for part in parts])
    trusted = np.maximum(errors, _LEAST_ERROR)**-2.0
    weights = trusted / trusted.sum()
    return _Regression(*(sum(weight * part[i]
                             for weight, part in zip(weights, parts))
                         for i in range(4)))


def _regress_gain(column: _Column, final: NDArray, others: NDArray,
                  run: int) -> _Regression:
    """From the level to the gain on each benchmark."""
    values, level = column
    design = np.column_stack([np.ones(len(others)), level[others]])
    solve = np.linalg.pinv(design)
    here = np.array([1, level[run]]) @ solve
    hat = design @ solve
    leverage = np.minimum(np.diag(hat), _MOST_LEVERAGE)
    gain = final - values[others]
    return _Regression(values[run] + here @ gain,
                       (gain - hat @ gain) / (1 - leverage)[:, None],
                       float(here @ here), leverage / (1 - leverage))


def _noise(accuracy: NDArray, n_items: NDArray, level: float) -> NDArray:
    """Half-width of the interval of a score by its items alone, `(B,)`."""
    variance = np.where(n_items > 0,
                        accuracy * (1 - accuracy) / np.maximum(n_items, 1), 0)
    return norm.ppf((1 + level) / 2) * np.sqrt(variance)
