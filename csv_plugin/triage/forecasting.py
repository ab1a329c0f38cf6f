"""Forecasts of the capability score at the end of a pretraining run.

A forecast is the exponent at the last checkpoint plus the median of what
earlier runs gained from the same share of their budgets on, so that the
forecast of a finished run is what its last checkpoint shows. A power law
through the checkpoints of the run adds nothing to that: most of the gain comes
with the decay of the learning rate, of which early checkpoints show nothing.

The errors to expect of a forecast are those of a back-test: every earlier run
is forecast from the other earlier runs in the same way. They are stretched as
far as errors are larger where the earlier runs that end better are forecast
from those that end worse.
"""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.forward_tests import forward_errors, unit_of
from csv_plugin.triage.trajectories import RunTrajectory


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
        forward (NDArray): Errors of forecasts of better runs from worse ones,
            in root mean squares of `errors`, `(n_b,)`; see `forward_errors`.
    """
    runs: tuple[str, ...]
    now: NDArray[np.float64]
    forecast: NDArray[np.float64]
    actual: NDArray[np.float64]
    forward: NDArray[np.float64]

    def __repr__(self) -> str:
        return f'Backtest({len(self.runs)} runs)'

    @property
    def errors(self) -> NDArray[np.float64]:
        """Actual minus forecast, `(H, B)`."""
        return self.actual - self.forecast

    @property
    def growth(self) -> float:
        """How many times larger errors are on better runs; 1 or more."""
        if not len(self.forward):
            return 1.0
        return max(1.0, float(np.sqrt(np.mean(self.forward**2))))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Exponents of Eq. 2 that are expected of a run at its budget.

    Args:
        run (str): Its name.
        share (float): Share of the budget at its last checkpoint, NaN if
            that is not known.
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

        Those of the back-test are as much larger as they are on better runs.

        Returns:
            NDArray: One row for each error, `(n, B)`.
        """
        if self.share == 1:
            return np.zeros((1, len(self.exponents)))
        return self.backtest.growth * self.backtest.errors

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the errors: better runs less one, or 1."""
        return max(1, len(self.backtest.forward) - 1)


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
                    f'it {names.count(past.run)} times' if past.finished else
                    f'its last checkpoint at {past.tokens[-1]:.6g} of '
                    f'{past.budget:.6g}',
                    'Leave unfinished runs out of the history.')
        self._backtests: dict[float, Backtest] = {}

    def forecast(self, run: RunTrajectory) -> Forecast:
        """Forecast a run at its budget.

        Args:
            run (RunTrajectory): A run on the benchmarks of the history.

        Returns:
            Forecast: All NaN if the budget of the run is not known, or it is
            unfinished, and no earlier run has checkpoints as early.

        Raises:
            InputError: The run is part of the history.
        """
        if run.run in [past.run for past in self.history]:
            raise InputError(f'run {run.run!r}',
                             'a run that is not in the history',
                             'it in the history too',
                             'Leave it out of the history.')
        share = float(run.shares[-1])
        exponents = self._exponents(share, run.exponents[-1],
                                    self._comparable(share))
        return Forecast(run.run, share, exponents, self.backtest(share))

    def late(self, share: float) -> list[str]:
        """Earlier runs without a checkpoint as early as a share, by name."""
        early = self._comparable(share)
        return [past.run for past in self.history if past not in early]

    def backtest(self, share: float) -> Backtest:
        """Forecast each earlier run from the other ones.

        Args:
            share (float): Share of the budget. Each earlier run is forecast
                from what it was there; runs without a checkpoint as early
                are left out.
        """
        if share not in self._backtests:
            self._backtests[share] = self._leave_one_out(share)
        return self._backtests[share]

    def _leave_one_out(self, share: float) -> Backtest:
        members = self._comparable(share)
        if len(members) < 2:
            empty = np.zeros((0, 0))
            return Backtest((), empty, empty, empty, np.zeros(0))
        now = np.array([past.levels.at(share) for past in members])
        actual = np.array([past.exponents[-1] for past in members])

        def forecast(run: int, others: Iterable[int]) -> NDArray:
            return self._exponents(share, now[run],
                                   [members[other] for other in others])

        every = range(len(members))
        left_out = np.array([
            forecast(run, [other for other in every if other != run])
            for run in every
        ])
        unit = unit_of(np.sqrt(np.mean((actual - left_out)**2, axis=0)))
        forward = forward_errors(
            actual, lambda worse, run:
            (actual[run] - forecast(run, worse)) / unit)
        return Backtest(
            tuple(past.run for past in members), now, left_out, actual,
            forward)

    def _comparable(self, share: float) -> list[RunTrajectory]:
        """Earlier runs that can be looked up at a share of their budgets."""
        return [past for past in self.history if past.levels.covers(share)]

    @staticmethod
    def _exponents(share: float, now: NDArray,
                   members: Sequence[RunTrajectory]) -> NDArray:
        """Exponents at the budget, from some of the earlier runs. `(B,)`."""
        if share == 1:
            return now
        if not members:
            return np.full(len(now), np.nan)
        gains = [
            past.exponents[-1] - past.levels.at(share) for past in members
        ]
        # The median, since a capability emerges in a part of the runs only.
        return now + np.median(gains, axis=0)
