"""Which pretraining run is worth continuing, from the losses so far."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.triage.checkpoints import Checkpoint, measure
from csv_plugin.triage.forecasting import Backtest, Forecaster
from csv_plugin.triage.ranking import Expectation, Ranking, expect, rank
from csv_plugin.triage.readings import Readings
from csv_plugin.triage.screening import OffTrajectory, screen
from csv_plugin.triage.trajectories import RunTrajectory, exponents

#: Name of the ranking by the mean over the benchmarks.
OVERALL = 'mean'
#: Level of all intervals.
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class Triage:
    """Everything that is said about R runs on B benchmarks.

    Args:
        benchmarks (tuple[str, ...]): B names.
        measure (str): 'tokens', or 'steps' where no tokens are known.
        runs (tuple[RunTrajectory, ...]): R runs.
        predictions (PredictionTable): Of all their checkpoints.
        expected (Mapping[str, Expectation]): At the budget, by run.
        rankings (Mapping[str, Ranking]): By benchmark and `OVERALL`.
        backtests (Mapping[str, Backtest]): Earlier runs forecast from where
            this one is, by run; of runs that are not finished.
        floors (NDArray): Of the curves, `(B,)`.
        off (tuple[OffTrajectory, ...]): Checkpoints to look at.
        notes (tuple[str, ...]): What else a user should know.
    """
    benchmarks: tuple[str, ...]
    measure: str
    runs: tuple[RunTrajectory, ...]
    predictions: PredictionTable
    expected: Mapping[str, Expectation]
    rankings: Mapping[str, Ranking]
    backtests: Mapping[str, Backtest]
    floors: NDArray
    off: tuple[OffTrajectory, ...]
    notes: tuple[str, ...]

    def error_to_expect(self, run: str) -> tuple[NDArray, NDArray]:
        """Mean absolute errors on the earlier runs, as early as a run is.

        Returns:
            tuple[NDArray, NDArray]: Of the forecasts, and of the predictions
            at that point taken for the final ones; fractions, `(B,)`.
            Measured against what is predicted of the finished runs.
        """
        test = self.backtests[run]
        actual, forecast, now = (
            accuracy_at(part, self.floors)
            for part in (test.actual, test.forecast, test.now))
        return (np.abs(actual - forecast).mean(axis=0),
                np.abs(actual - now).mean(axis=0))


def triage(readings: Readings,
           checkpoints: Mapping[str, Checkpoint],
           history: Mapping[str, Checkpoint] = {},
           budget: float = math.nan) -> Triage:
    """Judge runs by the checkpoints that were read.

    Checkpoints at 0 tokens are left out: training tokens go by their log.
    A run without a budget of its own has the given one, else that of the
    earlier runs (their median), else none: it is then compared as it is.

    Args:
        readings (Readings): Of the checkpoints and the history.
        checkpoints (Mapping[str, Checkpoint]): Of the runs to judge.
        history (Mapping[str, Checkpoint]): Of earlier, finished runs.
        budget (float): Of runs without one of their own; NaN if not known.

    Raises:
        InputError: If nothing can be judged, only some checkpoints have
            tokens, or a run is part of the history or beyond its budget.
    """
    read, past = ({
        name: known
        for name, known in some.items() if name in readings.features
    } for some in (checkpoints, history))
    by = measure([*read.values(), *past.values()])
    earlier = _runs(readings, past, by, math.nan)
    if math.isnan(budget) and earlier:
        budget = float(np.median([run.budget for run in earlier]))
    runs = _runs(readings, read, by, budget)
    if not runs:
        reasons = [f'{name}: {why}' for name, why in readings.refused.items()]
        raise InputError('checkpoints', 'one or more that can be used',
                         reasons[0] if reasons else 'none beyond 0 tokens',
                         'Collect losses of checkpoints.')
    notes = _notes(readings, by, runs, earlier, budget)
    return _judge(readings, by, runs, earlier, tuple(notes))


def _judge(readings: Readings, by: str, runs: Sequence[RunTrajectory],
           earlier: Sequence[RunTrajectory], notes: tuple[str, ...]) -> Triage:
    """Predictions, forecasts and rankings of trajectories."""
    predictor = readings.predictor
    names = tuple(known.benchmark for known in predictor.benchmarks)
    forecaster = Forecaster(earlier)
    forecasts = [forecaster.forecast(run) for run in runs]
    expected = [expect(one, predictor, LEVEL) for one in forecasts]
    parts = {name: b for b, name in enumerate(names)} | {OVERALL: slice(None)}
    ordered = [name for run in runs for name in run.checkpoints]
    return Triage(
        names, by, tuple(runs),
        predictor.predict(
            readings.table(ordered), predictor.fingerprint, LEVEL),
        {one.run: one for one in expected},
        {name: rank(expected, part, LEVEL) for name, part in parts.items()},
        {one.run: one.backtest for one in forecasts
         if one.share < 1 and one.backtest.runs},
        np.array([known.model.floor for known in predictor.benchmarks]),
        tuple(screen(runs, earlier)), notes)  # yapf: disable


def _runs(readings: Readings, checkpoints: Mapping[str, Checkpoint], by: str,
          budget: float) -> list[RunTrajectory]:
    """Trajectories by name; those without a budget end where they are."""
    members: dict[str, list[tuple[float, str]]] = {}
    budgets: dict[str, float] = {}
    for name, known in checkpoints.items():
        place = known.tokens if by == 'tokens' else known.step
        if place > 0:
            members.setdefault(known.run, []).append((place, name))
            if not math.isnan(known.budget):
                budgets[known.run] = known.budget
    found = []
    for run, places in sorted(members.items()):
        tokens, names = zip(*sorted(places))
        end = budgets.get(run, budget)
        features = readings.table(names)
        found.append(
            RunTrajectory(run, names, np.array(tokens, float),
                          tokens[-1] if math.isnan(end) else end,
                          exponents(readings.predictor, features),
                          features.values @ features.uniform))
    return found


def _notes(readings: Readings, by: str, runs: Sequence[RunTrajectory],
           earlier: Sequence[RunTrajectory], budget: float) -> list[str]:
    notes = [f'left out, {name}: {why}'
             for name, why in readings.refused.items()]  # yapf: disable
    if by == 'steps':
        notes.append('No tokens are known, so training goes by steps.')
    open_runs = [run for run in runs if run.shares[-1] < 1]
    if math.isnan(budget) and not open_runs:
        notes.append('No budget is known, so the runs are compared as they '
                     'are: give --budget or --history.')
    if open_runs and len(earlier) < 2:
        notes.append('Fewer than two earlier runs (--history): the error of '
                     'the forecasts is not known, nor how much a falling '
                     'learning rate adds.')
    return notes + [
        f'{run.run}: one checkpoint only, its forecast is what the earlier '
        'runs gained from there on' for run in open_runs
        if len(run.tokens) == 1 and earlier
    ]  # yapf: disable
