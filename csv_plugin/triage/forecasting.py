"""Where the capability score of a pretraining run will end.

The forecast starts from the last checkpoint, so that a finished run is
forecast to be what it is, and adds two increments: what the power law of the
run rises until the budget, and what earlier runs, looked at as early, rose
more than theirs. That gap is mostly the work of a falling learning rate,
which no early checkpoint shows.

A few checkpoints leave the shape of a power law open, so it is drawn to that
of the earlier runs. The errors of the same forecast on each earlier run, made
without it, are the errors to expect.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.power_laws import VAGUE, Shape, extrapolate, fit_shape
from csv_plugin.triage.trajectories import RunTrajectory

#: With history, of log drop and log rate around the median of the history.
#: On training runs of the demonstration, each held out, wider ones were no
#: better after two checkpoints and worse after one or three.
SPREAD = 0.15
#: Without history, a run needs this many checkpoints.
LEAST_CHECKPOINTS = 3


@dataclass(frozen=True, eq=False)
class Backtest:
    """Earlier runs, forecast from the others as if they were as young.

    Args:
        runs (tuple[str, ...]): H names; none if fewer than two can serve.
        now (NDArray): Exponents at the last share looked at, `(H, B)`.
        forecast (NDArray): Forecasts from there, `(H, B)`.
        actual (NDArray): What they ended at, `(H, B)`.
    """
    runs: tuple[str, ...]
    now: NDArray
    forecast: NDArray
    actual: NDArray

    @property
    def errors(self) -> NDArray:
        """Actual minus forecast, `(H, B)`."""
        return self.actual - self.forecast


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected of a run at its budget, in exponents of Eq. 2.

    Args:
        run (str): Its name.
        share (float): Share of the budget at its last checkpoint.
        exponents (NDArray): Forecast, `(B,)`; NaN where it cannot be made.
        backtest (Backtest): How the same went with earlier runs.
    """
    run: str
    share: float
    exponents: NDArray
    backtest: Backtest

    @property
    def errors(self) -> NDArray:
        """Errors to expect, one row each; a finished run has none."""
        if self.share == 1:
            return np.zeros((1, len(self.exponents)))
        return self.backtest.errors


class Forecaster:
    """Forecasts runs, given earlier runs that were finished.

    Args:
        history (Sequence[RunTrajectory]): H runs whose last checkpoint is
            at their budget; may be empty.

    Raises:
        InputError: If one is not finished, or a name occurs twice.
    """

    def __init__(self, history: Sequence[RunTrajectory]) -> None:
        self.history = tuple(history)
        names = [past.run for past in self.history]
        for past in self.history:
            if past.shares[-1] < 1 or names.count(past.run) > 1:
                raise InputError(
                    f'history, run {past.run!r}',
                    'runs that are finished, each once',
                    f'{past.shares[-1]:.0%} of the budget, '
                    f'{names.count(past.run)} times',
                    'Leave unfinished runs out of the history.')
        # Shape of each benchmark in each run: H lists of length B.
        self._shapes = [[
            fit_shape(past.shares, column, VAGUE)
            for column in past.exponents.T
        ] for past in self.history]
        self._backtests: dict[tuple[float, ...], Backtest] = {}

    def forecast(self, run: RunTrajectory) -> Forecast:
        """Forecast a run at its budget.

        Without history, a run of fewer than `LEAST_CHECKPOINTS` cannot be
        forecast, unless it is finished.

        Raises:
            InputError: If the run is part of the history.
        """
        for past in self.history:
            if past.run == run.run:
                raise InputError(f'run {run.run!r}',
                                 'runs that are not in the history',
                                 'one that is', 'Leave it out of one of both.')
        values = self._forecast(run.shares, run.exponents,
                                range(len(self.history)))
        return Forecast(run.run, float(run.shares[-1]), values,
                        self.backtest(run.shares))

    def backtest(self, shares: NDArray) -> Backtest:
        """Forecast each earlier run from some shares on and the others.

        Args:
            shares (NDArray): Shares of the budget looked at, rising, `(n,)`.
                Runs without a checkpoint that early are left out.
        """
        key = tuple(shares.tolist())
        if key not in self._backtests:
            self._backtests[key] = self._leave_one_out(shares)
        return self._backtests[key]

    def _leave_one_out(self, shares: NDArray) -> Backtest:
        able = [
            i for i, past in enumerate(self.history) if past.covers(shares)[-1]
        ]
        if len(able) < 2:
            none = np.zeros((0, 0))
            return Backtest((), none, none, none)
        rows = []
        for i in able:
            past = self.history[i]
            seen = shares[past.covers(shares)]
            before = past.at(seen)
            others = [j for j in able if j != i]
            rows.append(
                (before[-1], self._forecast(seen, before,
                                            others), past.exponents[-1]))
        return Backtest(
            tuple(self.history[i].run for i in able),
            *map(np.array, zip(*rows)))

    def _forecast(self, shares: NDArray, exponents: NDArray,
                  members: Sequence[int]) -> NDArray:
        """Exponents at the budget, given some of the history. `(B,)`."""
        if shares[-1] == 1:
            return exponents[-1]
        useful = [i for i in members if self.history[i].covers(shares)[-1]]
        if not useful and len(shares) < LEAST_CHECKPOINTS:
            return np.full(exponents.shape[1], np.nan)
        return np.array([
            self._forecast_one(shares, column, b, useful)
            for b, column in enumerate(exponents.T)
        ])

    def _forecast_one(self, shares: NDArray, exponent: NDArray, b: int,
                      members: Sequence[int]) -> float:
        """One benchmark at the budget: power law and gap."""
        if not members:
            # What never moves, such as a constant prediction, stays.
            still = np.ptp(exponent) == 0
            return exponent[-1] if still else extrapolate(
                shares, exponent, VAGUE)
        shapes = [self._shapes[i][b] for i in members]
        prior = Shape(
            float(np.median([shape.log_drop for shape in shapes])),
            float(np.median([shape.log_rate for shape in shapes])), SPREAD,
            SPREAD)
        gaps = []
        for past in (self.history[i] for i in members):
            seen = shares[past.covers(shares)]
            before = past.at(seen)[:, b]
            gaps.append(past.exponents[-1, b] -
                        extrapolate(seen, before, prior))
        # The median, since a capability emerges in some runs only.
        return extrapolate(shares, exponent, prior) + float(np.median(gaps))
