"""The baseline of `core.baselines` as a solver, with folds for intervals."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.baselines import fit_mean_loss
from csv_plugin.core.salience.base import (SalienceFit, Task, held_out_mse,
                                           with_all)
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Curve


@dataclass(frozen=True)
class MeanLoss:
    """The mean loss with a learned floor; every weight is 1."""
    name: str = 'mean-loss'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; each fold is a fit of its own, floor included."""
        loss, rows = task.features.mean_loss, with_all(masks)
        curves = Curve.stack([
            fit_mean_loss(loss[fitted], task.accuracy[fitted], task.chance)
            for fitted in rows
        ])
        models = SalienceModel(
            np.broadcast_to(task.uniform, (len(rows), len(task.uniform))),
            curves)
        error = held_out_mse(curves[:-1].accuracies(loss), task.accuracy,
                             masks)
        return SalienceFit(
            self.name,
            models[-1],
            models[:-1],
            masks,
            np.inf,
            error,
            scores=np.broadcast_to(loss, rows.shape))
