"""Ridge regressions on features of few columns, or of few models.

All solutions lie in the subspace of the principal directions of the features
and of the mean loss. It has few dimensions, so every regression is solved in
it directly.
"""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import SalienceModel
from csv_plugin.core.salience.ridge_regressions import (Features, Problems,
                                                        Solutions)
from csv_plugin.core.scaling_law import Regressions


@dataclass(frozen=True, eq=False)
class NarrowRidge:
    """See `RidgeRegressions`; the penalised coefficients have shape `(Q, r)`.

    Args:
        design (NDArray): Ones, standardised mean loss, scaled principal
            coordinates of the features; shape `(n, 2 + r)`.
        directions (NDArray): The same columns as linear functions of the
            features, without the ones, shape `(1 + r, K)`.
        centre (NDArray): Feature means, shape `(K,)`.
        uniform (NDArray): Coefficients of the mean loss, `(K,)`.
    """
    design: NDArray
    directions: NDArray
    centre: NDArray
    uniform: NDArray

    __repr__ = short_repr

    @classmethod
    def of(cls, features: Features) -> 'NarrowRidge':
        """Of features of n models."""
        values, uniform = features.values, features.uniform
        centre = values.mean(axis=0)
        centred = values - centre
        mean = uniform / (centred @ uniform).std()
        _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
        kept = sizes > 1e-9 * sizes[0]
        scale = np.sqrt(len(values)) / sizes[0]
        directions = np.vstack([mean, axes[kept] * scale])
        design = np.hstack([np.ones((len(values), 1)), centred @ directions.T])
        return cls(design, directions, centre, uniform)

    def path(self, problems: Problems,
             penalties: tuple[float, ...]) -> list[Solutions]:
        """See `RidgeRegressions.path`."""
        regressions = Regressions(
            self.design,
            problems.accuracy,
            problems.masks,
            problems.floors,
            n_free=2)
        mean_only = replace(regressions, design=self.design[:, :2])
        theta = np.zeros((len(problems.masks), self.design.shape[1]))
        theta[:, :2] = mean_only.solve(0.0, mean_only.start())
        path = [theta]
        for penalty in penalties:
            path.append(regressions.solve(penalty, path[-1]))
        return [
            Solutions(theta[:, :2], theta[:, 2:], theta @ self.design.T)
            for theta in path
        ]

    def refined(self, problems: Problems, solutions: Solutions,
                penalty: float) -> Solutions:
        """The same: paths are solved to the last digits."""
        return solutions

    def models(self, solutions: Solutions, floor: float) -> SalienceModel:
        """See `RidgeRegressions.models`."""
        free, penalised = solutions.free, solutions.penalised
        gradient = free[:, 1:] * self.directions[0]
        gradient += penalised @ self.directions[1:]
        offset = free[:, 0] - gradient @ self.centre
        return SalienceModel.from_linear(gradient, offset, floor, self.uniform)
