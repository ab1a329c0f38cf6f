"""A solver that sees some of the feature columns only."""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import (SalienceFit, SalienceModel, Solver,
                                           Task)
from csv_plugin.core.salience.constant import Constant
from csv_plugin.core.scaling_law import PROBLEMS


@dataclass(frozen=True, eq=False)
class OnColumns:
    """A solver on k of K columns; the others get the coefficient 0.

    Args:
        name (str): What command lines and files call it.
        solver (Solver): Fits the k columns.
        columns (NDArray): Their indices, `(k,)`.
        uniform (NDArray): Coefficients that make the all-token loss, or
            whatever the weights shall be shrunk to, of them. `(k,)`.
    """
    name: str
    solver: Solver
    columns: NDArray
    uniform: NDArray

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; notes speak of the k columns.

        Columns on which nothing can be learned predict the mean accuracy.
        """
        part = task.on(task.values[:, self.columns], self.uniform)
        solver: Solver = Constant() if part.problems else self.solver
        fit = solver.fit(part, masks)
        notes = (*(PROBLEMS[name] for name in part.problems), *fit.notes)
        width = task.features.shape[1]
        return replace(
            fit,
            solver=self.name,
            model=self._widen(fit.model, width),
            folds=self._widen(fit.folds, width),
            path=fit.path
            and replace(fit.path, models=self._widen(fit.path.models, width)),
            notes=tuple(f'{self.name}, on its columns alone: {note}'
                        for note in notes))

    def _widen(self, model: SalienceModel, width: int) -> SalienceModel:
        return model.on_columns(
            np.arange(len(self.columns)), self.columns, width)
