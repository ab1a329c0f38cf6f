"""A few components of the losses, and the curve on all of them together.

The number of components is the setting that is chosen. Sources: Ruan, Maddison
and Hashimoto, "Observational Scaling Laws and the Predictability of Language
Model Performance", NeurIPS 2024, arXiv 2405.10938, who take principal
components of the scores on other benchmarks, where here they are of losses, as
nothing else of a model is known; and Wold, Sjostrom and Eriksson,
"PLS-regression: a basic tool of chemometrics", Chemometrics and Intelligent
Laboratory Systems 58(2), 2001, PLS1, where the sigmoid takes the place of the
last, linear step.
"""
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA

from csv_plugin.core.salience.base import SalienceFit, Task, floor_candidates
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import LEAST_MODELS
from tools.studies.other_methods.cross_validation import (Candidates,
                                                          cross_validate,
                                                          fit_lines)

#: Numbers of components that are tried.
NUMBERS = 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20


@dataclass(frozen=True)
class PrincipalComponents:
    """A solver: a sigmoid on the first principal components."""
    name: str = 'pca'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return fit_components(
            self.name, task, masks,
            lambda part, n: PCA(n).fit(part.values).components_)


@dataclass(frozen=True)
class PartialLeastSquares:
    """A solver: a sigmoid on the first components of PLS1."""
    name: str = 'pls'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return fit_components(
            self.name, task, masks, lambda part, n: PLSRegression(
                n, scale=False).fit(part.values, part.accuracy).x_rotations_.T)


def fit_components(name: str, task: Task, masks: NDArray,
                   components: Callable[[Task, int], NDArray]) -> SalienceFit:
    """Fit with one component, two, and so on; keep the best number.

    Args:
        components (Callable): Coefficients of the first n components of a
            task, `(n, K)`; they turn as the features are turned.
    """
    n_models, n_columns = task.features.shape
    if n_columns > n_models:
        # Models span few directions, in which all else is much quicker.
        axes = PCA().fit(task.values).components_
        turned = task.on(task.values @ axes.T, axes @ task.uniform)
        fit = fit_components(name, turned, masks, components)
        return replace(
            fit,
            model=_turned_back(fit.model, axes),
            folds=_turned_back(fit.folds, axes))
    smallest = min([n_models, *masks.sum(axis=1)])
    # As many models as coefficients would be met exactly.
    most = min(n_columns, max(1, smallest - LEAST_MODELS + 1))
    numbers = [number for number in NUMBERS if number <= most]

    def candidates(part: Task) -> Candidates:
        """Fits with each number of components."""
        directions = components(part, numbers[-1])
        scores = part.values @ directions.T
        floors = floor_candidates(part.chance)
        lines = [
            fit_lines(scores[:, :number], part.accuracy, floors)
            for number in numbers
        ]
        slopes = [
            np.pad(line, ((0, 0), (0, numbers[-1] - line.shape[1])))
            for line, _ in lines
        ]
        return Candidates(directions, np.stack(slopes),
                          np.stack([offsets for _, offsets in lines]))

    settings = [f'components: {number}' for number in numbers]
    return cross_validate(name, task, masks, settings, candidates)


def _turned_back(model: SalienceModel, axes: NDArray) -> SalienceModel:
    return replace(model, coefficients=model.coefficients @ axes)
