"""Partial least squares: components of the losses that go with accuracy.

Source: Wold, Sjostrom and Eriksson, "PLS-regression: a basic tool of
chemometrics", Chemometrics and Intelligent Laboratory Systems 58(2), 2001,
PLS1. The sigmoid takes the place of the last, linear step.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.salience.base import SalienceFit, Task
from tools.studies.other_methods.components import fit_components


@dataclass(frozen=True)
class PartialLeastSquares:
    """A solver: a sigmoid on the first components of PLS1."""
    name: str = 'pls'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return fit_components(
            self.name, task, masks,
            lambda part, n: pls_directions(part.values, part.accuracy, n))


def pls_directions(values: NDArray, target: NDArray, n: int) -> NDArray:
    """Coefficients of the scores of PLS1.

    The weights of a component are the covariances of the features with what
    the components before it leave of the target. (Features need not be
    deflated: scores that are orthogonal to those before them are enough.)

    Args:
        values (NDArray): Features of m models, `(m, K)`.
        target (NDArray): Shape `(m,)`.
        n (int): Number of components.

    Returns:
        NDArray: Coefficients of features less their means; zeros where the
        target is met by fewer components. Shape `(n, K)`.
    """
    centred = values - values.mean(axis=0)
    rest = target - target.mean()
    directions = np.zeros((n, values.shape[1]))
    scores = np.zeros((n, len(values)))
    least = 1e-10 * np.linalg.norm(centred) * np.linalg.norm(rest)
    for i in range(n):
        weights = rest @ centred
        size = np.linalg.norm(weights)
        if size <= least:
            break
        direction = weights / size
        score = centred @ direction
        # Twice, as one pass leaves what rounding adds.
        for _ in range(2):
            parts = scores[:i] @ score
            score = score - parts @ scores[:i]
            direction = direction - parts @ directions[:i]
        length = np.linalg.norm(score)
        directions[i], scores[i] = direction / length, score / length
        rest = rest - (scores[i] @ rest) * scores[i]
    return directions
