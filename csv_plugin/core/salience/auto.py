"""Cross-validation among the solvers."""
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from csv_plugin.core.salience.base import SalienceFit, Solver, Task
from csv_plugin.core.salience.linear import Ridge, Uniform
from csv_plugin.core.salience.nonnegative import NonNegative


@dataclass(frozen=True)
class Auto:
    """The solver with the lowest error on held-out families.

    Offered are ridge, non-negative and uniform weights, all with a learned
    floor. Uniform weights win ties; columns without a positive uniform
    coefficient (directions of a scoring LM) are not offered to `NonNegative`.
    """
    name: str = 'auto'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; the fit names the solver that was chosen."""
        if not len(masks):
            return Uniform(learn_floor=True).fit(task, masks)
        solvers: list[Solver] = [Uniform(learn_floor=True), Ridge()]
        if task.uniform.min() > 0:
            solvers.append(NonNegative())
        fits = [solver.fit(task, masks) for solver in solvers]
        best = min(fits, key=lambda fit: fit.cv_mse)
        errors = ', '.join(f'{fit.solver} {fit.cv_mse:.2e}' for fit in fits)
        note = f'{best.solver} chosen by held-out MSE ({errors})'
        return replace(best, notes=(*best.notes, note))
