"""The mode of exponents, given known accuracies.

`core.joint` conditions its distribution on accuracies that are known. This
file finds the most probable exponents of these accuracies, by Gauss-Newton
steps as in core.posterior. The formulas stand in docs/appendix/method.md,
"Known accuracies".
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.curve import Line, item_variance, line_at

#: Largest number of Gauss-Newton steps to the mode, and the smallest fraction
#: of a step that is tried.
STEPS, LEAST_LENGTH = 30, 1e-4
#: The search for the mode ends when a step changes no entry of the dual by
#: more than this fraction of the largest entry.
MODE_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class GivenAccuracies:
    """N known accuracies, and the prior distribution of their exponents.

    `prior`, `(N,)`, are the prior means of the exponents, and `covariance`,
    `(N, N)`, their prior covariances. `accuracies` are the known accuracies p
    as fractions, `floor` the accuracies that the curve approaches for bad
    models, and `noise` the variances of the noise of p, divided by p (1 - p),
    `(N,)` each. `straight` is as in `Form`. The exponents are computed from a
    dual, `(N,)`. It is the inverse covariance times (exponents - prior means),
    as in core.posterior.
    """
    prior: Floats
    covariance: Floats
    accuracies: Floats
    floor: Floats
    noise: Floats
    straight: float

    def mode(self) -> Floats:
        """Return the dual at the mode of the posterior, `(N,)`.

        The search takes Gauss-Newton steps and halves each until it does not
        raise the cost. It ends when a step changes nothing but last digits.
        """
        dual = np.zeros_like(self.prior)
        for _ in range(STEPS):
            line = self._line(dual)
            distances = line.targets - self.prior
            matrix = self.matrix(dual)
            aim = np.linalg.solve(matrix, distances)
            step = aim - dual
            cost = self._cost(dual)
            length = 1.
            while self._cost(dual + length * step) > cost:
                length /= 2
                if length < LEAST_LENGTH:
                    return dual
            dual = dual + length * step
            largest_change = np.abs(step).max()
            largest = np.abs(dual).max()
            if largest_change <= MODE_TOLERANCE * largest:
                return dual
        return dual

    def matrix(self, dual: NDArray) -> Floats:
        """Return the covariance of the targets of tangents, `(N, N)`.

        The tangents touch the curve at the exponents of this dual. The target
        of a known accuracy is the exponent at which its tangent reaches it.
        """
        line = self._line(dual)
        noise_of_targets = self._variance / line.slopes**2
        return self.covariance + np.diag(noise_of_targets)

    @property
    def _variance(self) -> Floats:
        """Variances of the noise of the known accuracies, `(N,)`."""
        # `item_variance` clips accuracies near 0 and 1. The fit adds two right
        # and two wrong items instead. This needs the number of items, which
        # may be different for a known accuracy and for fitted accuracies.
        return self.noise * item_variance(self.accuracies)

    def _line(self, dual: NDArray) -> Line:
        """Return the tangents of the curve at the exponents of this dual."""
        exponents = self.prior + self.covariance @ dual
        return line_at(exponents, self.accuracies, self.floor, self.straight)

    def _cost(self, dual: NDArray) -> float:
        """Return the negative log posterior density, up to a constant."""
        line = self._line(dual)
        errors = self.accuracies - line.heights
        squares = errors**2 / self._variance
        twice_cost = squares.sum()
        twice_cost += dual @ self.covariance @ dual
        return float(twice_cost) / 2
