"""Forecasts of the capability score at the end of a pretraining run.

A forecast is the exponent at the last checkpoint plus two increments, so that
the forecast of a finished run is what its last checkpoint shows. The first
increment is what the power law of the run rises until the budget. The second
is what earlier runs, truncated at the same shares of their budgets, rose
beyond their power laws. This gap is mostly due to the decay of the learning
rate, of which early checkpoints show nothing.

A few checkpoints do not determine the shape of a power law, so the shapes of
the earlier runs are its prior. The errors to expect of a forecast are those of
a back-test: every earlier run is forecast from the other earlier runs in the
same way.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.power_laws import VAGUE, Shape, extrapolate, fit_shape
from csv_plugin.triage.trajectories import RunTrajectory

#: Spread of log drop and log rate around the medians of the earlier runs. On
#: training runs of the demonstration, each held out, a wider prior was no
#: better after two checkpoints, and worse after one or three.
SPREAD = 0.15
#: Without earlier runs, a run needs this many checkpoints.
LEAST_CHECKPOINTS = 3


@dataclass(frozen=True, eq=False)
class Backtest:
    """Earlier runs, each truncated and forecast from the other ones.

    Args:
        runs (tuple[str, ...]): H names; none if fewer than two earlier runs
            have checkpoints early enough.
        now (NDArray): Exponents at the last share before the truncation,
            `(H, B)`.
        forecast (NDArray): Forecasts made there, `(H, B)`.
        actual (NDArray): Exponents at the end of the runs, `(H, B)`.
    """
    runs: tuple[str, ...]
    now: NDArray[np.float64]
    forecast: NDArray[np.float64]
    actual: NDArray[np.float64]

    def __repr__(self) -> str:
        return f'Backtest({len(self.runs)} runs)'

    @property
    def errors(self) -> NDArray[np.float64]:
        """Actual minus forecast, `(H, B)`."""
        return self.actual - self.forecast


@dataclass(frozen=True, eq=False)
class Forecast:
    """Exponents of Eq. 2 that are expected of a run at its budget.

    Args:
        run (str): Its name.
        share (float): Share of the budget at its last checkpoint.
        exponents (NDArray): Forecasts, `(B,)`; NaN where none can be made.
        backtest (Backtest): Forecasts of the earlier runs from that share.
    """
    run: str
    share: float
    exponents: NDArray[np.float64]
    backtest: Backtest

    def __repr__(self) -> str:
        return (f'Forecast({self.run} from {self.share:.0%} of the budget, '
                f'{len(self.exponents)} benchmarks)')

    @property
    def errors(self) -> NDArray[np.float64]:
        """Errors to expect: those of the back-test, none of a finished run.

        Returns:
            NDArray: One row for each error, `(n, B)`.
        """
        if self.share == 1:
            return np.zeros((1, len(self.exponents)))
        return self.backtest.errors


class Forecaster:
    """Forecasts runs from earlier runs that are finished.

    Args:
        history (Sequence[RunTrajectory]): H earlier runs whose last
            checkpoint is at their budget; may be empty.

    Raises:
        InputError: An earlier run is not finished, or a name occurs twice.
    """

    def __init__(self, history: Sequence[RunTrajectory]) -> None:
        self.history = tuple(history)
        names = [past.run for past in self.history]
        for past in self.history:
            if not past.finished or names.count(past.run) > 1:
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

        Args:
            run (RunTrajectory): A run on the benchmarks of the history.

        Returns:
            Forecast: All NaN if the run is unfinished, no earlier run has
            checkpoints as early, and it has fewer than `LEAST_CHECKPOINTS`.

        Raises:
            InputError: The run is part of the history.
        """
        if run.run in [past.run for past in self.history]:
            raise InputError(f'run {run.run!r}',
                             'a run that is not in the history',
                             'it in the history too',
                             'Leave it out of the history.')
        exponents = self._exponents(run.shares, run.exponents,
                                    range(len(self.history)))
        return Forecast(run.run, float(run.shares[-1]), exponents,
                        self.backtest(run.shares))

    def backtest(self, shares: NDArray) -> Backtest:
        """Forecast each earlier run from the other ones.

        Args:
            shares (NDArray): Shares of the budget, rising, `(n,)`. Each
                earlier run is forecast from what it was at these shares;
                runs without a checkpoint as early as the last are left out.
        """
        key = tuple(shares.tolist())
        if key not in self._backtests:
            self._backtests[key] = self._leave_one_out(shares)
        return self._backtests[key]

    def _leave_one_out(self, shares: NDArray) -> Backtest:
        members = self._comparable(range(len(self.history)), shares)
        if len(members) < 2:
            empty = np.zeros((0, 0))
            return Backtest((), empty, empty, empty)
        now, forecasts, actual = [], [], []
        for i in members:
            past = self.history[i]
            seen = shares[past.covers(shares)]
            before = past.interpolate(seen)
            rest = [j for j in members if j != i]
            now.append(before[-1])
            forecasts.append(self._exponents(seen, before, rest))
            actual.append(past.exponents[-1])
        return Backtest(
            tuple(self.history[i].run for i in members), np.array(now),
            np.array(forecasts), np.array(actual))

    def _comparable(self, members: Sequence[int],
                    shares: NDArray) -> list[int]:
        """Earlier runs that can be looked up at the last of some shares."""
        return [i for i in members if self.history[i].covers(shares)[-1]]

    def _exponents(self, shares: NDArray, exponents: NDArray,
                   members: Sequence[int]) -> NDArray:
        """Exponents at the budget, from some of the earlier runs. `(B,)`."""
        if shares[-1] == 1:
            return exponents[-1]
        members = self._comparable(members, shares)
        if not members and len(shares) < LEAST_CHECKPOINTS:
            return np.full(exponents.shape[1], np.nan)
        return np.array([
            self._exponent(shares, column, b, members)
            for b, column in enumerate(exponents.T)
        ])

    def _exponent(self, shares: NDArray, exponent: NDArray, b: int,
                  members: Sequence[int]) -> float:
        """The exponent of one benchmark at the budget: power law and gap."""
        if not members:
            # An exponent that never moved, as of a constant, stays.
            if np.ptp(exponent) == 0:
                return float(exponent[-1])
            return extrapolate(shares, exponent, VAGUE)
        shapes = [self._shapes[i][b] for i in members]
        prior = Shape(
            float(np.median([shape.log_drop for shape in shapes])),
            float(np.median([shape.log_rate for shape in shapes])), SPREAD,
            SPREAD)
        gaps = []
        for past in (self.history[i] for i in members):
            seen = shares[past.covers(shares)]
            before = past.interpolate(seen)[:, b]
            gaps.append(past.exponents[-1, b] -
                        extrapolate(seen, before, prior))
        # The median, since a capability emerges in a part of the runs only.
        return extrapolate(shares, exponent, prior) + float(np.median(gaps))
