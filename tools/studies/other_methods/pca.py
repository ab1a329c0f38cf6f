"""Principal components of the losses, and a sigmoid on them.

Source: Ruan, Maddison and Hashimoto, "Observational Scaling Laws and the
Predictability of Language Model Performance", NeurIPS 2024, arXiv 2405.10938.
They take the components of the scores on other benchmarks; here they are
components of the losses, as nothing else of a model is known.
"""
from dataclasses import dataclass

from numpy.typing import NDArray

from csv_plugin.core.salience.base import SalienceFit, Task
from tools.studies.other_methods.components import (fit_components,
                                                    principal_directions)


@dataclass(frozen=True)
class PrincipalComponents:
    """A solver: a sigmoid on the first principal components."""
    name: str = 'pca'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return fit_components(
            self.name, task, masks,
            lambda part, n: principal_directions(part.values, n))
