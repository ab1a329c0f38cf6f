"""A few components of the losses, and the curve on all of them together.

The number of components is the setting that is chosen.
"""
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from csv_plugin.core.salience.base import SalienceFit, Task, floor_candidates
from csv_plugin.core.salience.equal_weights import fit_lines
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import LEAST_MODELS
from tools.studies.other_methods.cross_validation import (Candidates,
                                                          cross_validate)

#: Numbers of components that are tried.
NUMBERS = 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20


def fit_components(name: str, task: Task, masks: NDArray,
                   components: Callable[[Task, int], NDArray]) -> SalienceFit:
    """Fit with one component, two, and so on; keep the best number.

    Args:
        name (str): Of the method.
        task (Task): What to fit to.
        masks (NDArray): As in `Solver.fit`.
        components (Callable): Coefficients of the first n components of a
            task, `(n, K)`; they turn as the features are turned.
    """
    n_models, n_columns = task.features.shape
    if n_columns > n_models:
        # Models span few directions, in which all else is much quicker.
        axes = principal_directions(task.values, n_models)
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
        lines = [fit_lines(scores[:, :1], part.accuracy, floors)]
        for number in numbers[1:]:
            lines.append(
                fit_lines(scores[:, :number], part.accuracy, floors,
                          lines[-1]))
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


def principal_directions(values: NDArray, n: int) -> NDArray:
    """The directions in which models differ most.

    Args:
        values (NDArray): Features of models, `(m, K)`.
        n (int): How many directions.

    Returns:
        NDArray: Of length 1, the first differs most; zeros where models
        differ in fewer. Shape `(n, K)`.
    """
    centred = values - values.mean(axis=0)
    m, n_columns = centred.shape
    if m > n_columns:
        products = centred.T @ centred
        sizes, axes = eigh(
            products, subset_by_index=[n_columns - n, n_columns - 1])
        return (axes * _real(sizes)).T[::-1]
    sizes, axes = eigh(
        centred @ centred.T, subset_by_index=[max(m - n, 0), m - 1])
    directions = np.zeros((n, n_columns))
    real = _real(sizes)
    lengths = np.sqrt(sizes[real])
    found = ((axes[:, real] / lengths).T @ centred)[::-1]
    directions[:len(found)] = found
    return directions


def _real(sizes: NDArray) -> NDArray:
    """Which eigenvalues, in rising order, are more than rounding errors."""
    return np.asarray(sizes > 1e-12 * sizes[-1])
