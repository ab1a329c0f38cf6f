"""Choice among solvers by how well they predict held-out families."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.formatting import short_repr
from csv_plugin.core.held_out_errors import LEAST_FAMILIES
from csv_plugin.core.salience.base import (SalienceFit, Solver, Task,
                                           held_out_mse, with_all)
from csv_plugin.core.salience.nonnegative import NonNegative
from csv_plugin.core.salience.ridge import Ridge, Uniform, ratio
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import PROBLEMS

#: Up to so many families are held out one by one.
ONE_BY_ONE = 8
#: Level of the test between two fits.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Constant:
    """Predicts the mean accuracy of the training models, or else chance.

    It accepts any task, even with `problems`.
    """
    name: str = 'constant'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; the penalty is infinite."""
        rows = with_all(masks)
        mean = ratio(rows @ task.accuracy, rows.sum(axis=1), task.chance)
        models = SalienceModel.constant(mean, task.uniform)
        predicted = np.broadcast_to(mean[:-1, None], masks.shape)
        error = held_out_mse(predicted, task.accuracy, masks)
        scores = np.broadcast_to(task.features.mean_loss, rows.shape)
        return SalienceFit(self.name, models[-1], models[:-1], masks, np.inf,
                           error, scores=scores)  # yapf: disable


@dataclass(frozen=True, eq=False)
class OnColumns:
    """A solver on k of K columns; the others get the coefficient 0.

    `columns` are their indices, `(k,)`; weights are shrunk to `uniform`,
    `(k,)`.
    """
    name: str
    solver: Solver
    columns: NDArray
    uniform: NDArray

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; columns with `problems` predict the mean."""
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
            notes=tuple(f'{self.name}, on its columns alone: {note}'
                        for note in notes))

    def _widen(self, model: SalienceModel, width: int) -> SalienceModel:
        return model.on_columns(
            np.arange(len(self.columns)), self.columns, width)


@dataclass(frozen=True)
class Auto:
    """Solver with the lowest error on held-out families, or a favourite.

    That error is the smallest of several, so it is too small; `held_out`
    returns predictions without this bias.

    Args:
        candidates (tuple[Solver, ...]): Solvers beside uniform weights with a
            learned floor, which win ties; by default ridge and, where every
            column has a positive uniform coefficient, non-negative weights.
        favourite (Optional[str]): Candidate that is kept unless another one
            predicts held-out families better by a test.
    """
    candidates: tuple[Solver, ...] = ()
    favourite: Optional[str] = None
    name: str = 'auto'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; the fit names the solver that was chosen."""
        if not len(masks):
            return Uniform().fit(task, masks)
        fits = self._fits(task, masks)
        best = self._best(task, fits)
        errors = ', '.join(f'{fit.solver} {fit.cv_mse:.2e}' for fit in fits)
        least = min(fit.cv_mse for fit in fits)
        kept = '' if best.cv_mse <= least else (
            ', as no other is better by a test')
        note = f'{best.solver} chosen by held-out MSE ({errors}){kept}'
        return replace(best, notes=(*best.notes, note))

    def _fits(self, task: Task, masks: NDArray) -> list[SalienceFit]:
        """Fit every candidate."""
        offered = [
            Uniform(learn_floor=True), *(self.candidates or _defaults(task))
        ]
        return [solver.fit(task, masks) for solver in offered]

    def _best(self, task: Task, fits: Sequence[SalienceFit]) -> SalienceFit:
        """The favourite, or the fit with the lowest held-out error."""
        best = min(fits, key=lambda fit: np.nan_to_num(fit.cv_mse, nan=np.inf))
        favourites = (fit for fit in fits if fit.solver == self.favourite)
        for fit in favourites:
            if len(fit.masks) and not predicts_better(task, best, fit):
                return fit
        return best

    def held_out(self, task: Task, masks: NDArray) -> NDArray:
        """See `ChoosingSolver.held_out`."""
        folds = _one_partition(task, masks)
        predicted = np.empty(len(task.accuracy))
        for fold, mask in enumerate(folds):
            part = task.select(mask)
            # The other folds of the partition hold out the other families.
            inner = np.delete(folds, fold, axis=0)[:, mask]
            if part.problems:
                fit = Constant().fit(part, inner)
            else:
                fit = self._best(part,
                                 self._fits(part, inner[inner.any(axis=1)]))
            predicted[~mask] = fit.model.predict(task.values)[~mask]
        return predicted


def _one_partition(task: Task, masks: NDArray) -> NDArray:
    """Masks that hold each model out once.

    Few families are held out one by one; else these are the first repeat.
    """
    families = np.unique(task.families)
    if len(families) <= ONE_BY_ONE:
        return task.families != families[:, None]
    held_out = np.cumsum(~masks, axis=0)
    return masks[:1 + int(held_out.all(axis=1).argmax())]


def _defaults(task: Task) -> tuple[Solver, ...]:
    if task.uniform.min() > 0:
        return Ridge(), NonNegative()
    return (Ridge(), )


def predicts_better(task: Task, fit: SalienceFit, other: SalienceFit) -> bool:
    """Return True if a fit predicts held-out families better than another.

    One-sided t-test with the families as sample, as errors within a family are
    correlated. Both fits have the same folds. False with fewer than
    `LEAST_FAMILIES`.
    """
    from scipy.stats import ttest_1samp
    held_out = [
        each.held_out_of(each.scores_of(task)) for each in (other, fit)
    ]
    errors = np.square(held_out - task.accuracy)
    names, member = np.unique(task.families, return_inverse=True)
    if len(names) < LEAST_FAMILIES:
        return False
    gains = np.bincount(member, errors[0] - errors[1]) / np.bincount(member)
    test = ttest_1samp(gains, 0, alternative='greater')
    return bool(test.pvalue < SIGNIFICANCE)
