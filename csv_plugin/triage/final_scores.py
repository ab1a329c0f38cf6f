"""Where pretraining runs will end, by what earlier runs gained from there on.

At each checkpoint of a run, the gain from there to the end is regressed, over
the earlier runs, on how good they were at the same part of their training: the
mean over the benchmarks. Of losses, the ends are regressed on it, and what the
run is above or below its like remains in part. Regressions at several
checkpoints, and on several sources such as observed scores and accuracies
predicted from losses, are averaged with weights that fall with the square of
their mean squared error on earlier runs left out.

Intervals are those of a regression whose residuals come from earlier runs left
out. They are no narrower than back-tests say, in which the earlier runs that
end better are forecast from those that end worse, and than the noise of a
score.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from csv_plugin.core.accuracies import standard_error
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


def forecast_end(sources: Sequence[Levels], history: Sequence[PastRun],
                 level: float, n_items: NDArray) -> Optional[Ends]:
    """Forecast the accuracies of a run at its end.

    Args:
        sources (Sequence[Levels]): The run so far, by each source.
        history (Sequence[PastRun]): Earlier runs, by the same sources. Those
            that are not `as_early` are left out.
        level (float): Share of intervals that should hold the end.
        n_items (NDArray): Items behind each accuracy, `(B,)`, 0 where
            unknown.

    Returns:
        Optional[Ends]: None if fewer than `LEAST_RUNS` earlier runs remain.
    """
    history = [past for past in history if as_early(past, sources)]
    if len(history) < LEAST_RUNS:
        return None
    value, half = _regressed(
        list(_columns(sources, history, ())), history, level)
    value = np.clip(value, 0, 1)
    half = np.maximum(half, _noise(value, n_items, level))
    return Ends(value, np.clip(value - half, 0, 1),
                np.clip(value + half, 0, 1))


def forecast_other(own: Sequence[Levels], sources: Sequence[Levels],
                   history: Sequence[PastRun], level: float) -> Optional[Ends]:
    """Forecast other numbers of a run at its end, such as losses.

    Ends are regressed on how good runs are by the sources. By as much as the
    earlier runs tell, the run stays above or below its like in these numbers
    themselves: at its end, its forecast is what it has reached.

    Args:
        own (Sequence[Levels]): What is forecast along the H earlier runs,
            and along the run so far, higher is better, `(n, B)` each.
        sources (Sequence[Levels]): As in `forecast_end`.
        history (Sequence[PastRun]): H earlier runs, as there, with the ends
            of these numbers.
        level (float): As there.

    Returns:
        Optional[Ends]: As there.
    """
    early = [as_early(past, sources) for past in history]
    if sum(early) < LEAST_RUNS:
        return None
    history = list(compress(history, early))
    columns = list(
        _columns(sources, history, [*compress(own, early), own[-1]]))
    value, half = _regressed(columns, history, level)
    return Ends(value, value - half, value + half)


class _Column(NamedTuple):
    """What one source tells at one checkpoint.

    Args:
        values (NDArray): Of the H earlier runs and of the one to forecast, to
            which gains are added, `(H + 1, B)`.
        level (NDArray): How good they are there, `(H + 1,)`.
        lasting (bool): Whether a run stays above or below its like in the
            values up to its end; else `_remaining` tells how much of it does.
    """
    values: NDArray[np.float64]
    level: NDArray[np.float64]
    lasting: bool


def _regressed(columns: Sequence[_Column], history: Sequence[PastRun],
               level: float) -> tuple[NDArray, NDArray]:
    """Ends of the run of the last rows, and half of their intervals."""
    final, n_past = np.array([past.final for past in history]), len(history)
    value, errors, spread, spreads = _regress(columns, final,
                                              np.arange(n_past), n_past)
    deviation = np.sqrt(np.mean(errors**2 / (1 + spreads[:, None]), axis=0))
    return value, (
        _quantile(columns, final, deviation, level) * deviation *
        np.sqrt(1 + spread))


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


def _columns(sources: Sequence[Levels], history: Sequence[PastRun],
             own: Sequence[Levels]) -> Iterator[_Column]:
    """All checkpoints of a run at which it and the others can be looked up.

    Args:
        sources (Sequence[Levels]): The run so far, by each source.
        history (Sequence[PastRun]): Earlier runs, by the same.
        own (Sequence[Levels]): What is forecast if that is not accuracies by
            each source; of the earlier runs, then of the run. Else empty.
    """
    runs = [*(past.sources for past in history), sources]
    for of_source in zip(*runs):
        for share in of_source[-1].shares:
            if all(levels.covers(share) for levels in of_source):
                values, told = (
                    np.array([levels.at(share) for levels in several])
                    for several in (own or of_source, of_source))
                yield _Column(values, told.mean(axis=1), not own)


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
    values, level, lasting = column
    design = np.column_stack([np.ones(len(others)), level[others]])
    solve = np.linalg.pinv(design)
    here = np.array([1, level[run]]) @ solve
    hat = design @ solve
    leverage = np.minimum(np.diag(hat), _MOST_LEVERAGE)

    def residuals(numbers: NDArray) -> NDArray:
        """Of the other runs, each left out of its regression."""
        return (numbers - hat @ numbers) / (1 - leverage)[:, None]

    ends, now = residuals(final), residuals(values[others])
    part, parts = 1.0, np.ones(len(others))
    if not lasting:
        part = _remaining(ends, now)
        parts = np.array([
            _remaining(np.delete(ends, one, 0), np.delete(now, one, 0))
            for one in range(len(others))
        ])
    return _Regression(
        here @ final + part * (values[run] - here @ values[others]),
        ends - parts[:, None] * now, float(here @ here),
        leverage / (1 - leverage))


def _remaining(ends: NDArray, now: NDArray) -> float:
    """How much of what runs are above or below their like remains, 0 to 1.

    It is the slope from the residuals now to those of the ends, averaged over
    what is forecast, less its squared standard error over itself (by the
    jackknife): nothing where the slope is less than its standard error, and
    nothing of two runs, which lie on every line through them.

    Args:
        ends (NDArray): Residuals of the ends of n runs, `(n, B)`.
        now (NDArray): Residuals at a checkpoint, likewise.
    """
    products, squares = ends * now, now**2
    tells = squares.sum(axis=0) > _LEAST_ERROR
    if len(now) < 3 or not tells.any():
        return 0.0
    products, squares = products[:, tells], squares[:, tells]
    product, square = products.sum(axis=0), squares.sum(axis=0)
    slope = np.mean(product / square)
    if slope <= 0:
        return 0.0
    without = np.mean(
        (product - products) / np.maximum(square - squares, _LEAST_ERROR),
        axis=1)
    variance = (len(now) - 1) * np.var(without)
    return float(np.clip(slope - variance / slope, 0, 1))


def _noise(accuracy: NDArray, n_items: NDArray, level: float) -> NDArray:
    """Half-width of the interval of a score by its items alone, `(B,)`."""
    deviation = np.nan_to_num(standard_error(accuracy, n_items))
    return norm.ppf((1 + level) / 2) * deviation
