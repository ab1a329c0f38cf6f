"""A triage as a picture: accuracies by tokens, and where they will end."""
from pathlib import Path

import numpy as np

from csv_plugin.report.pictures.accuracy_by_tokens import (Forecast,
                                                           Trajectory,
                                                           trajectory_picture)
from csv_plugin.report.pictures.style import save
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory


def write_picture(path: Path, found: Triage) -> None:
    """Write a panel per benchmark; see `trajectory_picture`.

    Args:
        path (Path): The file to create or replace, `.png` or `.svg`.
        found (Triage): What to draw.
    """
    save(
        trajectory_picture(
            {
                benchmark:
                [trajectory_of(found, run, b) for run in found.runs]
                for b, benchmark in enumerate(found.benchmarks)
            }, found.measure), path)


def trajectory_of(found: Triage, run: RunTrajectory, b: int) -> Trajectory:
    """A run on a benchmark as it is drawn, with a forecast if it goes on."""
    cells = found.predictions.select(run.checkpoints)
    expected = found.expected[run.run]
    ahead = None
    if run.shares[-1] < 1 and not np.isnan(expected.low[b]):
        ahead = Forecast(run.budget, expected.values[b], expected.low[b],
                         expected.high[b])
    return Trajectory(run.run, run.tokens, cells.values[:, b],
                      cells.low[:, b], cells.high[:, b],
                      np.full(len(run.tokens), np.nan), ahead)
