"""Cross-validation among solvers."""
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import SalienceFit, Solver, Task
from csv_plugin.core.salience.linear import Ridge, Uniform
from csv_plugin.core.salience.nonnegative import NonNegative


@dataclass(frozen=True)
class Auto:
    """The solver with the lowest error on held-out families.

    Uniform weights with a learned floor are always offered, and win ties.

    Args:
        candidates (tuple[Solver, ...]): What else is offered; by default
            ridge and, where every column has a positive uniform coefficient,
            non-negative weights.
    """
    candidates: tuple[Solver, ...] = ()
    name: str = 'auto'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; the fit names the solver that was chosen."""
        uniform = Uniform(learn_floor=True)
        if not len(masks):
            return uniform.fit(task, masks)
        offered = [uniform, *(self.candidates or _defaults(task))]
        fits = [solver.fit(task, masks) for solver in offered]
        best = min(fits, key=lambda fit: fit.cv_mse)
        errors = ', '.join(f'{fit.solver} {fit.cv_mse:.2e}' for fit in fits)
        note = f'{best.solver} chosen by held-out MSE ({errors})'
        return replace(best, notes=(*best.notes, note))


def _defaults(task: Task) -> tuple[Solver, ...]:
    if task.uniform.min() > 0:
        return Ridge(), NonNegative()
    return (Ridge(), )
