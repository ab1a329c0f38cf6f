"""Cross-validation among solvers."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import HeldOut, SalienceFit, Solver, Task
from csv_plugin.core.salience.constant import Constant
from csv_plugin.core.salience.families_tell import predicts_better
from csv_plugin.core.salience.linear import Ridge, Uniform
from csv_plugin.core.salience.nonnegative import NonNegative
from csv_plugin.core.salience.reach import is_beyond, reach

#: So many families are held out one by one.
ONE_BY_ONE = 8


@dataclass(frozen=True)
class Auto:
    """The solver with the lowest error on held-out families, or a favourite.

    Uniform weights with a learned floor are always offered, and win ties.

    That error is the smallest of several, so it promises too much;
    `held_out` gives predictions that keep what they promise.

    Args:
        candidates (tuple[Solver, ...]): What else is offered; by default
            ridge and, where every column has a positive uniform coefficient,
            non-negative weights.
        favourite (Optional[str]): The candidate that is kept unless another
            one predicts held-out families better by a test; with few
            families, the lowest error is often one by chance.
    """
    candidates: tuple[Solver, ...] = ()
    favourite: Optional[str] = None
    name: str = 'auto'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; the fit names the solver that was chosen."""
        if not len(masks):
            return Uniform(learn_floor=True).fit(task, masks)
        fits = self._fits(task, masks)
        best = self._best(task, fits)
        errors = ', '.join(f'{fit.solver} {fit.cv_mse:.2e}' for fit in fits)
        least = min(fit.cv_mse for fit in fits)
        kept = '' if best.cv_mse <= least else (
            ', as no other is better by a test')
        note = f'{best.solver} chosen by held-out MSE ({errors}){kept}'
        return replace(best, notes=(*best.notes, note))

    def _fits(self, task: Task, masks: NDArray) -> list[SalienceFit]:
        """Of all that is offered."""
        offered = [
            Uniform(learn_floor=True), *(self.candidates or _defaults(task))
        ]
        return [solver.fit(task, masks) for solver in offered]

    def _best(self, task: Task, fits: Sequence[SalienceFit]) -> SalienceFit:
        """The favourite, or the one of the lowest held-out error."""
        best = min(fits, key=lambda fit: np.nan_to_num(fit.cv_mse, nan=np.inf))
        favourites = (fit for fit in fits if fit.solver == self.favourite)
        for fit in favourites:
            if len(fit.masks) and not predicts_better(task, best, fit):
                return fit
        return best

    def held_out(self, task: Task, masks: NDArray) -> HeldOut:
        """See `ChoosingSolver.held_out`."""
        folds = _one_partition(task, masks)
        predicted = np.empty(len(task.accuracy))
        beyond = np.zeros(len(predicted), bool)
        for fold, mask in enumerate(folds):
            part = task.select(mask)
            # The other folds of the partition hold out the other families.
            inner = np.delete(folds, fold, axis=0)[:, mask]
            if part.problems:
                fit = Constant().fit(part, inner)
            else:
                fit = self._best(part,
                                 self._fits(part, inner[inner.any(axis=1)]))
            every = fit.model.predict(task.values)
            predicted[~mask] = every[~mask]
            limit = reach(every[mask], part.families)
            beyond[~mask] = is_beyond(every[~mask], limit)
        return HeldOut(predicted, beyond)


def _one_partition(task: Task, masks: NDArray) -> NDArray:
    """Masks that hold each model out once.

    Few families are held out one by one, since the error that is stated is
    that on one more family; of more, the masks of the first repeat are taken.
    """
    families = np.unique(task.families)
    if 1 < len(families) <= ONE_BY_ONE:
        return task.families != families[:, None]
    held_out = np.cumsum(~masks, axis=0)
    return masks[:1 + int(held_out.all(axis=1).argmax())]


def _defaults(task: Task) -> tuple[Solver, ...]:
    if task.uniform.min() > 0:
        return Ridge(), NonNegative()
    return (Ridge(), )
