"""A triage as a picture: accuracies by tokens, and forecasts of the end."""
from pathlib import Path
from typing import Optional

import numpy as np
from matplotlib.axes import Axes

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.pictures.accuracy_by_tokens import (Forecast,
                                                           Trajectory,
                                                           plot_runs,
                                                           trajectory_picture)
from csv_plugin.extras.pictures.style import save
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory


def write_picture(path: Path, triage: Triage) -> None:
    """Write a panel per benchmark; see `trajectory_picture`.

    Args:
        path (Path): The file to create or replace, `.png` or `.svg`.
        triage (Triage): What to draw.
    """
    panels = {
        benchmark: [trajectory_of(triage, run, b) for run in triage.runs]
        for b, benchmark in enumerate(triage.benchmarks)
    }
    save(trajectory_picture(panels, triage.measure), path)


def plot_trajectories(triage: Triage,
                      benchmark: str,
                      ax: Optional[Axes] = None) -> Axes:
    """Runs and their forecasts on one benchmark.

    Args:
        triage (Triage): What `forecast` returns.
        benchmark (str): One of its benchmarks.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: Those that were drawn on.

    Raises:
        InputError: There is no such benchmark.
    """
    if benchmark not in triage.benchmarks:
        raise InputError('triage', 'one of the benchmarks '
                         f'{", ".join(triage.benchmarks)}', repr(benchmark),
                         'Correct the name.')  # yapf: disable
    b = triage.benchmarks.index(benchmark)
    runs = [trajectory_of(triage, run, b) for run in triage.runs]
    return plot_runs(runs, benchmark, triage.measure, ax)


def trajectory_of(triage: Triage, run: RunTrajectory, b: int) -> Trajectory:
    """A run on a benchmark as it is drawn.

    Args:
        triage (Triage): What to draw.
        run (RunTrajectory): One of its runs.
        b (int): Place of the benchmark among the benchmarks.

    Returns:
        Trajectory: With a forecast if the run is not finished and the error
        of the forecast is known; observed accuracies are not known.
    """
    predicted = triage.predictions.select(run.checkpoints)
    expected = triage.expected[run.run]
    ahead = None
    if not run.finished and not np.isnan(expected.low[b]):
        ahead = Forecast(run.budget, expected.values[b], expected.low[b],
                         expected.high[b])
    return Trajectory(run.run, run.tokens, predicted.values[:, b, 0],
                      predicted.low[:, b, 0], predicted.high[:, b, 0],
                      np.full(len(run.tokens), np.nan), ahead)
