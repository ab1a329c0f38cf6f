"""Errors in the course of a training, whichever method it was."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience import SalienceFit, Task


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """Mean squared errors in the course of a training.

    Args:
        benchmarks (tuple[str, ...]): B names.
        x (NDArray): Steps, `(n,)`.
        x_label (str): What they are.
        train (NDArray): Errors on the models fitted on, `(n, B)`; NaN where
            a benchmark has stopped.
        validation (NDArray): Errors on held-out models, likewise.
        best (NDArray): Index into `x` of the step that is kept, int,
            `(B,)`.
    """
    benchmarks: tuple[str, ...]
    x: NDArray
    x_label: str
    train: NDArray
    validation: NDArray
    best: NDArray[np.int64]

    __repr__ = short_repr


def path_curve(
        fits: Mapping[str, tuple[Task,
                                 SalienceFit]]) -> Optional[TrainingCurve]:
    """Errors along the regularisation paths of an exact solver.

    Args:
        fits (Mapping): By benchmark, what was fitted to and the fit.

    Returns:
        Optional[TrainingCurve]: Step 0 has uniform weights, every further
        step a weaker penalty; held-out errors are those on families that
        were left out. None if no benchmark had a path.
    """
    paths = {
        name: (task, fit, fit.path)
        for name, (task, fit) in fits.items() if fit.path is not None
    }
    if not paths:
        return None
    n_steps = max(len(path.penalties) for _, _, path in paths.values())
    errors = np.full((2, n_steps, len(paths)), np.nan)
    for b, (task, fit, path) in enumerate(paths.values()):
        residuals = path.models.predict(task.values) - task.accuracy
        errors[0, :len(residuals), b] = (residuals**2).mean(axis=1)
        errors[1, :len(residuals), b] = path.held_out_mse
    best = [
        int(np.flatnonzero(path.penalties == fit.penalty)[0])
        for _, fit, path in paths.values()
    ]
    return TrainingCurve(
        tuple(paths), np.arange(n_steps),
        'step from uniform weights (0) to ever weaker shrinkage', errors[0],
        errors[1], np.array(best))
