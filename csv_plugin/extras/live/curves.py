"""A triage as curves, whatever draws them."""
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory


class Point(NamedTuple):
    """What is known at one checkpoint.

    Args:
        step (int): Tokens, or steps where no tokens are known.
        scalars (dict[str, float]): Accuracies by the name of their curve,
            fractions.
    """
    step: int
    scalars: dict[str, float]


class CurveLog(ABC):
    """Logs predictions and forecasts of runs, each checkpoint once.

    The curves of a benchmark are `predicted/<benchmark>` and
    `forecast/<benchmark>`, and below them `low` and `high`, the ends of the
    90 % interval.
    """

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def add(self, triage: Triage) -> None:
        """Log the checkpoints that were not logged before.

        Forecasts are logged at the last checkpoint of their run. What could
        not be logged is tried again with the next triage.

        Args:
            triage (Triage): The runs so far.
        """
        for run in triage.runs:
            if not self._logged.issuperset(run.checkpoints):
                self.write(run.run, list(_points(triage, run, self._logged)))
                self._logged.update(run.checkpoints)

    @abstractmethod
    def write(self, run: str, points: Sequence[Point]) -> None:
        """Log points of a run, by rising steps."""

    def close(self) -> None:
        """End what was begun for the log."""


def _points(triage: Triage, run: RunTrajectory,
            logged: Collection[str]) -> Iterator[Point]:
    """Predictions at the new checkpoints, then the forecast at the last."""
    steps = [round(tokens) for tokens in run.tokens]
    predicted = triage.predictions.select(run.checkpoints)
    cube = np.stack([predicted.values, predicted.low, predicted.high])
    for i, name in enumerate(run.checkpoints):
        if name not in logged:
            yield Point(
                steps[i],
                _scalars('predicted', triage.benchmarks, cube[:, i, :, 0]))
    forecasts = np.array([[ranking.values[r], ranking.low[r], ranking.high[r]]
                          for ranking in triage.rankings.values()
                          for r in [ranking.runs.index(run.run)]])
    scalars = _scalars('forecast', list(triage.rankings), forecasts.T)
    if scalars:
        yield Point(steps[-1], scalars)


def _scalars(kind: str, benchmarks: Sequence[str],
             rows: np.ndarray) -> dict[str, float]:
    """Those that are known of values, lower and upper ends, `(3, B)`."""
    return {
        f'{kind}/{benchmark}{end}': float(value)
        for end, row in zip(('', '/low', '/high'), rows)
        for benchmark, value in zip(benchmarks, row) if not np.isnan(value)
    }
