"""Forecasts of the losses at the end of a pretraining run.

A forecast is the state at the last checkpoint, its level and the logarithms of
its losses, plus the gain of earlier runs from the same share of their budgets
on. Two gains are averaged: the mean gain, and the gain regressed on the level,
which suits runs of which the better gain more, or catch up. Their weights are
the inverse squares of their mean squared errors in the level, on earlier runs
left out: the level shows what noise hides in the losses of single units.

Expected errors come from a back-test: every earlier run is forecast from the
others. For a run that is to end better than all of them, they are scaled up by
the growth of errors where better earlier runs are forecast from worse ones.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.loss_errors import LossErrors, worse_and_better
from csv_plugin.triage.trajectories import RunTrajectory

#: With fewer earlier runs, a regression left one out has no error.
LEAST_RUNS = 4
#: Smaller mean squared errors count as this, and leverages as no more.
LEAST_ERROR, MOST_LEVERAGE = 1e-12, 0.99


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts of H truncated earlier runs, each from the others.

    `now`, `forecast` and `actual` are states at the truncation, forecast from
    there, and at the end, `(H, 1 + K)`. `forward`, `(n,)`, are errors of the
    levels of better runs forecast from worse ones. All are empty if fewer than
    two runs have checkpoints early enough.
    """
    runs: tuple[str, ...]
    now: NDArray[np.float64]
    forecast: NDArray[np.float64]
    actual: NDArray[np.float64]
    forward: NDArray[np.float64]

    @property
    def errors(self) -> NDArray[np.float64]:
        """Actual minus forecast, `(H, 1 + K)`."""
        return self.actual - self.forecast

    @property
    def growth(self) -> float:
        """Ratio of errors on better runs to those of the back-test; 1 or more.
        """
        if not len(self.forward):
            return 1.0
        usual = max(float(np.mean(self.errors[:, 0]**2)), LEAST_ERROR)
        return max(1.0, math.sqrt(float(np.mean(self.forward**2)) / usual))


@dataclass(frozen=True, eq=False)
class Forecast:
    """State of a run at its budget, `(1 + K,)`.

    It is NaN where none can be forecast. `share` is the share of the budget at
    the last checkpoint, NaN if unknown; the back-test starts at the same
    share.
    """
    run: str
    share: float
    state: NDArray[np.float64]
    backtest: Backtest

    @property
    def losses(self) -> NDArray[np.float64]:
        """Losses at the budget, `(K,)`."""
        return np.exp(self.state[1:])

    @property
    def is_made(self) -> bool:
        """True if there is a forecast."""
        return not np.isnan(self.state).any()

    @property
    def errors_known(self) -> bool:
        """True if there is a back-test, or the run is finished."""
        return self.share == 1 or bool(self.backtest.runs)

    @property
    def errors(self) -> LossErrors:
        """Expected errors of logarithms of losses: those of the back-test.

        They are scaled up for a run that is to end better than all of the
        back-test, and what this adds is common to all such runs. There is no
        error for a finished run.
        """
        test = self.backtest
        if self.share == 1 or not test.runs:
            return LossErrors(np.zeros((0, len(self.state) - 1)), 1)
        ahead = self.state[0] > test.actual[:, 0].max()
        growth = test.growth if ahead else 1.0
        return LossErrors(growth * test.errors[:, 1:],
                          len(test.runs) - 1, 1 - growth**-2)


class Forecaster:
    """Forecasts runs from H earlier runs that are finished; H may be 0."""

    def __init__(self, history: Sequence[RunTrajectory]) -> None:
        self.history = tuple(history)
        self._backtests: dict[float, Backtest] = {}
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
        share, now = float(run.shares[-1]), run.states[-1]
        state = now if run.finished else np.full_like(now, np.nan)
        members = self.members(share)
        if members and not run.finished:
            state = forecast_state(now, *_states(members, share))
        return Forecast(run.run, share, state, self.backtest(share))

    def members(self, share: float) -> list[RunTrajectory]:
        """Return earlier runs that cover a share of their budgets."""
        return [past for past in self.history if past.covers(share)]

    def backtest(self, share: float) -> Backtest:
        """Forecast each earlier run from the others, at a share of budgets.

        Runs without a checkpoint as early are left out.
        """
        if share not in self._backtests:
            self._backtests[share] = self._backtest(share)
        return self._backtests[share]

    def _backtest(self, share: float) -> Backtest:
        members = self.members(share)
        if len(members) < 2:
            empty = np.zeros((0, 0))
            return Backtest((), empty, empty, empty, np.zeros(0))
        then, final = _states(members, share)
        left_out = np.array([
            forecast_state(then[run], np.delete(then, run, axis=0),
                           np.delete(final, run, axis=0))
            for run in range(len(members))
        ])
        forward = []
        for worse, better in worse_and_better(final[:, 0]):
            for run in better:
                forecast = forecast_state(then[run], then[worse], final[worse])
                forward.append(final[run, 0] - forecast[0])
        return Backtest(
            tuple(past.run for past in members), then, left_out, final,
            np.array(forward))


def _states(members: Sequence[RunTrajectory],
            share: float) -> tuple[NDArray, NDArray]:
    """States of n runs at a share and at the end, `(n, 1 + K)` each."""
    return (np.array([past.at(share) for past in members]),
            np.array([past.states[-1] for past in members]))


def forecast_state(now: NDArray, then: NDArray,
                   final: NDArray) -> NDArray[np.float64]:
    """Forecast the state of a run at its end, `(1 + K,)`.

    From that now, `(1 + K,)`, and those of n earlier runs at the same share of
    the budget and at their ends, `(n, 1 + K)`.
    """
    gains, n = final - then, len(then)
    middle = gains.mean(axis=0)
    if n < LEAST_RUNS:
        return now + middle
    level = then[:, 0].mean()
    away = then[:, 0] - level
    square = max(float(away @ away), LEAST_ERROR)
    slope = away @ gains / square
    about_mean = gains[:, 0] - middle[0]
    about_line = about_mean - away * slope[0]
    leverage = np.minimum(1 / n + away**2 / square, MOST_LEVERAGE)
    errors = [
        np.mean((about_mean * n / (n - 1))**2),
        np.mean((about_line / (1 - leverage))**2)
    ]
    weights = np.maximum(errors, LEAST_ERROR)**-2.0
    weight = weights[1] / weights.sum()
    return now + middle + weight * (now[0] - level) * slope
