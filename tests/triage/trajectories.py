"""Pretraining runs whose states follow a known law."""
from dataclasses import replace

import numpy as np

from csv_plugin.triage.trajectories import RunTrajectory

SHARES = np.array([0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0])


def law(share, limit=2.0, drop=1.5, rate=0.5):
    """Levels along a power law in the share of the budget."""
    return limit - drop * np.asarray(share)**-rate


def make_run(name='run', *columns, shares=SHARES, budget=200.0, losses=None):
    """A run whose columns are levels, and logarithms of losses of units."""
    columns = columns or (law(shares), )
    return RunTrajectory(
        name, tuple(f'{name}@{share:g}' for share in shares), shares * budget,
        budget, np.stack(columns, axis=1),
        2 * shares**-0.1 if losses is None else np.asarray(losses))


def truncated(run, n):
    """The run after n checkpoints, with the same budget."""
    return replace(
        run,
        checkpoints=run.checkpoints[:n],
        tokens=run.tokens[:n],
        states=run.states[:n],
        mean_loss=run.mean_loss[:n])
