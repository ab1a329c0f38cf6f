"""Errors in the course of a training, whichever method it was."""
import os
from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import SalienceFit, Task
from csv_plugin.io.collection import Collection
from csv_plugin.io.tables import write_csv
from csv_plugin.lm.head.algorithm2 import HeadSettings, TrainedHeads
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.salience_training import Training
from csv_plugin.report.pictures import TrainingCurve

CURVE_COLUMNS = ('benchmark', 'step', 'train_mse', 'held_out_mse', 'kept')


def train_with_curve(
        training: Training,
        settings: Optional[HeadSettings] = None,
        progress: Progress = iter
) -> tuple[Predictor, Optional[TrainingCurve]]:
    """A predictor, and the errors on the way to it.

    Args:
        training (Training): What to train on.
        settings (Optional[HeadSettings]): Of Algorithm 2, which the
            validation models stop; by default the exact method.
        progress (Progress): Wraps benchmarks or gradient steps.

    Raises:
        InputError: As in `Training.auto` and `train_paper_head`.
    """
    if settings:
        validation = set(training.collection.models_in('validation'))
        validation = validation_models(training.collection, training.models)
        head = train_paper_head(training, validation, settings, progress)
        return head.predictor, head_curve(head.heads)
    fits: dict[str, tuple[Task, SalienceFit]] = {}
    predictor = training.auto(progress,
                              lambda name, *fit: fits.update({name: fit}))
    return predictor, path_curve(fits)


def validation_models(collection: Collection,
                      models: Sequence[str]) -> list[str]:
    """Those among the models that are to be fitted to.

    Raises:
        InputError: If all of them are, or none.
    """
    found = [m for m in models if collection.info[m].split == 'validation']
    if not 0 < len(found) < len(models):
        raise InputError("the paper's head", 'train and validation models',
                         f'{len(found)} of {len(models)} for validation',
                         'Fit to both splits.')
    return found


def path_curve(
        fits: Mapping[str, tuple[Task,
                                 SalienceFit]]) -> Optional[TrainingCurve]:
    """Errors along the regularisation paths of an exact solver.

    Args:
        fits (Mapping): By benchmark, what was fitted to and the fit.

    Returns:
        Optional[TrainingCurve]: Step 0 are uniform weights, every further
        step is a weaker penalty; held-out errors are those on families that
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
        'step from uniform weights (0) to ever weaker shrinkage', *errors,
        np.array(best))


def head_curve(heads: TrainedHeads) -> TrainingCurve:
    """Errors by gradient step of Algorithm 2; held out: validation models."""
    return TrainingCurve(heads.benchmarks, np.arange(len(heads.train_mse)),
                         'gradient step', heads.train_mse,
                         heads.validation_mse, heads.best_step)


def write_curve(path: str | os.PathLike[str], curve: TrainingCurve) -> None:
    """Write a curve as CSV, a row per benchmark and step.

    Args:
        path (str | os.PathLike[str]): The file to create or replace.
        curve (TrainingCurve): Its columns are `CURVE_COLUMNS`, squared
            fractions; `kept` is 1 at the step that is kept.
    """
    rows = ((name, step, curve.train[s, b], curve.validation[s, b],
             int(s == curve.best[b]))
            for b, name in enumerate(curve.benchmarks)
            for s, step in enumerate(curve.x)
            if not np.isnan(curve.train[s, b]))
    write_csv(path, CURVE_COLUMNS, rows)
