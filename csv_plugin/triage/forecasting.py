"""Forecasts of the capability score at the end of a pretraining run.

A forecast is the exponent at the last checkpoint plus the gain of earlier runs
from the same share of their budgets on. Two gains are averaged, weighted by
the inverse squares of their mean squared errors on earlier runs left out. The
median gain suits capabilities that emerge in some of the runs only. The gain
regressed on the level of the runs suits runs of which the better gain more.

Expected errors come from a back-test: every earlier run is forecast from the
others. They are scaled up by the growth of errors where better earlier runs
are forecast from worse ones.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.trajectories import RunTrajectory

#: With fewer earlier runs, a regression left one out has no error.
LEAST_RUNS = 4
#: Smaller mean squared errors count as this, and leverages as no more.
LEAST_ERROR, MOST_LEVERAGE = 1e-12, 0.99
#: Better runs are forecast from these shares of all runs, the worst.
WORSE = (1 / 2, 2 / 3, 5 / 6)
#: Benchmarks with smaller errors of exponents are left out.
LEAST_DEVIATION = 1e-6


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts of H truncated earlier runs, each from the others.

    `now`, `forecast` and `actual` are exponents at the truncation, forecast
    from there, and at the end, `(H, B)`. `forward`, `(n_b,)`, are errors of
    forecasts of better runs from worse ones, in root mean squares of `errors`.
    All are empty if fewer than two runs have checkpoints early enough.
    """
    runs: tuple[str, ...]
    now: NDArray[np.float64]
    forecast: NDArray[np.float64]
    actual: NDArray[np.float64]
    forward: NDArray[np.float64]

    @property
    def errors(self) -> NDArray[np.float64]:
        """Actual minus forecast, `(H, B)`."""
        return self.actual - self.forecast

    @property
    def growth(self) -> float:
        """Ratio of errors on better runs to those of the back-test; 1 or more.
        """
        if not len(self.forward):
            return 1.0
        return max(1.0, float(np.sqrt(np.mean(self.forward**2))))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected exponents of Eq. 2 of a run at its budget, `(B,)`.

    They are NaN where none can be made. `share` is the share of the budget at
    the last checkpoint, NaN if unknown; the back-test starts at the same
    share.
    """
    run: str
    share: float
    exponents: NDArray[np.float64]
    backtest: Backtest

    @property
    def errors(self) -> NDArray[np.float64]:
        """Expected errors: those of the back-test, scaled up, `(n, B)`.

        One row of zeros for a finished run.
        """
        if self.share == 1:
            return np.zeros((1, len(self.exponents)))
        return self.backtest.growth * self.backtest.errors

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the errors: better runs less one, or 1."""
        return max(1, len(self.backtest.forward) - 1)


class Forecaster:
    """Forecasts runs from H earlier runs that are finished; H may be 0."""

    def __init__(self, history: Sequence[RunTrajectory]) -> None:
        self.history = tuple(history)
        for past in self.history:
            if not past.finished:
                raise InputError(
                    f'history, run {past.run!r}', 'runs that are finished',
                    f'its last checkpoint at {past.tokens[-1]:.6g} of '
                    f'{past.budget:.6g}',
                    'Leave unfinished runs out of the history.')

    def forecast(self, run: RunTrajectory) -> Forecast:
        """Forecast a run at its budget.

        All is NaN if the budget is unknown, or if the run is unfinished and no
        earlier run has checkpoints as early. An `InputError` for a run of the
        history.
        """
        if run.run in [past.run for past in self.history]:
            raise InputError(f'run {run.run!r}',
                             'a run that is not in the history',
                             'it in the history too',
                             'Leave it out of the history.')
        share, now = float(run.shares[-1]), run.exponents[-1]
        exponents = now if run.finished else np.full_like(now, np.nan)
        members = self.members(share)
        if members and not run.finished:
            exponents = forecast_exponents(now, *_levels(members, share))
        return Forecast(run.run, share, exponents, self.backtest(share))

    def members(self, share: float) -> list[RunTrajectory]:
        """Return earlier runs that cover a share of their budgets."""
        return [past for past in self.history if past.covers(share)]

    def backtest(self, share: float) -> Backtest:
        """Forecast each earlier run from the others, at a share of budgets.

        Runs without a checkpoint as early are left out.
        """
        members = self.members(share)
        if len(members) < 2:
            empty = np.zeros((0, 0))
            return Backtest((), empty, empty, empty, np.array([]))
        then, final = _levels(members, share)
        left_out = np.array([
            forecast_exponents(then[run], np.delete(then, run, axis=0),
                               np.delete(final, run, axis=0))
            for run in range(len(members))
        ])
        return Backtest(
            tuple(past.run for past in members), then, left_out, final,
            _forward_errors(then, final, left_out))


def _levels(members: Sequence[RunTrajectory],
            share: float) -> tuple[NDArray, NDArray]:
    """Exponents of n runs at a share and at the end, `(n, B)` each."""
    return (np.array([past.at(share) for past in members]),
            np.array([past.exponents[-1] for past in members]))


def forecast_exponents(now: NDArray, then: NDArray,
                       final: NDArray) -> NDArray[np.float64]:
    """Forecast the exponents of a run at its end, `(B,)`.

    From its exponents now, `(B,)`, and those of n earlier runs at the same
    share of the budget and at their ends, `(n, B)`.
    """
    gains = final - then
    median = np.median(gains, axis=0)
    if len(gains) < LEAST_RUNS:
        return now + median
    left_out = [
        np.median(np.delete(gains, run, axis=0), axis=0)
        for run in range(len(gains))
    ]
    design = np.column_stack([np.ones(len(then)), then.mean(axis=1)])
    solve = np.linalg.pinv(design)
    regressed = np.array([1, now.mean()]) @ solve @ gains
    hat = design @ solve
    leverage = np.minimum(np.diag(hat), MOST_LEVERAGE)
    residuals = (gains - hat @ gains) / (1 - leverage)[:, None]
    errors = [np.mean((gains - left_out)**2), np.mean(residuals**2)]
    weights = np.maximum(errors, LEAST_ERROR)**-2.0
    return now + np.average([median, regressed], axis=0, weights=weights)


def worse_and_better(
        final: NDArray) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield rows of the worst 1/2, 2/3 and 5/6 of runs, and of the rest.

    Exponents at the end of H runs, `(H, B)`, order the runs.
    """
    order = np.argsort(final.mean(axis=1), kind='stable')
    for share in WORSE:
        n_worse = round(len(order) * share)
        yield order[:n_worse], order[n_worse:]


def _forward_errors(then: NDArray, final: NDArray,
                    left_out: NDArray) -> NDArray[np.float64]:
    """Errors of forecasts of better runs from worse ones, one per run.

    Empty where the forecasts `left_out` have no errors.
    """
    unit = np.sqrt(np.mean((final - left_out)**2, axis=0))
    usable = unit > LEAST_DEVIATION
    if not usable.any():
        return np.array([])
    squares: dict[int, list[float]] = {}
    for worse, better in worse_and_better(final):
        for run in better:
            forecast = forecast_exponents(then[run], then[worse], final[worse])
            errors = (final[run] - forecast)[usable] / unit[usable]
            squares.setdefault(run, []).append(float(np.mean(errors**2)))
    return np.sqrt([np.mean(of_run) for of_run in squares.values()])
