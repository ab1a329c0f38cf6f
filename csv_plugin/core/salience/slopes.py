"""Slopes of curves, pulled to those of the other benchmarks.

Where few training models are above chance, a step fits as well as a curve, and
leads anywhere beyond these models. So the logarithm of each slope has a normal
prior around the median of the collection. Squared errors count against it like
those of so many models as there are families.
"""
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.held_out_errors import mean_unseen
from csv_plugin.core.salience.base import (SalienceFit, Task, held_out_mse,
                                           with_all)
from csv_plugin.core.scaling_law import Curve, accuracy_at, slope_at

#: Standard deviation of the logarithm of a slope around the median.
SPREAD = 1.0
#: Smaller mean squared errors count as this.
LEAST_ERROR = 1e-8
#: Slopes whose logarithms differ less are equal.
LEAST_CHANGE = 1e-9


def slope_of(task: Task, exponents: NDArray) -> NDArray[np.float64]:
    """Return by how much exponents `(..., n)` rise as the mean loss falls.

    The slopes `(...)` of regressions over the n models of the task.
    """
    falls = task.features.mean_loss.mean() - task.features.mean_loss
    return np.asarray(exponents @ falls / (falls @ falls))


def typical_slope(slopes: Sequence[NDArray], weights: NDArray) -> float:
    """Return the logarithm of the weighted median of slopes.

    Those that are not above 0 do not count; NaN if fewer than two count.
    """
    counted = sorted((float(np.log(slope)), weight)
                     for slope, weight in zip(slopes, weights)
                     if slope > 0 and weight > 0)
    # Folds of a single benchmark must not learn the slope of all its models.
    if len(counted) < 2:
        return float('nan')
    logs, shares = np.transpose(counted)
    middles = (np.cumsum(shares) - shares / 2) / shares.sum()
    return float(np.interp(0.5, middles, logs))


def pulled(task: Task, fit: SalienceFit, exponents: NDArray, typical: float,
           signal: float) -> SalienceFit:
    """Return the fit with slopes between its own and the typical one.

    Exponents are those of all models by each fold and by the fit to all,
    `(F + 1, n)`. Slopes that are not above 0 stay. A benchmark that losses do
    not explain may well be flat: the prior counts `signal` times where it is
    steeper. Without fold models, `held_out` has their predictions.
    """
    models, rows = fit.models, with_all(fit.masks)
    curve, slopes = models.curve, slope_of(task, exponents)
    floor, n_made = float(curve.floor[-1]), len(curve.floor)
    changes = typical - np.log(np.where(slopes > 0, slopes, np.nan))
    weight = len(np.unique(task.families)) / max(fit.cv_mse, LEAST_ERROR)
    weights = weight * SPREAD**2 / np.where(changes < 0, 1, max(signal, 1e-6))
    factors, shifts = np.ones(len(slopes)), np.zeros(len(slopes))
    moved = np.abs(changes) > LEAST_CHANGE
    if moved.any():
        parts = (part[moved] for part in (exponents, rows, changes, weights))
        factors[moved], shifts[moved] = _pull(task.accuracy, floor, *parts)
    alpha = curve.alpha * factors[-n_made:]
    models = replace(
        models,
        curve=Curve(alpha, curve.beta - shifts[-n_made:] / alpha, curve.floor))
    exponents = factors[:, None] * exponents + shifts[:, None]
    predicted = accuracy_at(exponents[:-1], floor)
    error = held_out_mse(predicted, task.accuracy, fit.masks)
    return replace(
        fit,
        model=models[-1],
        folds=models[:-1],
        cv_mse=float(error),
        held_out=mean_unseen(predicted, fit.masks) if n_made == 1 else None,
        scores=models.curve.scores(exponents[-n_made:]))


def _pull(accuracy: NDArray, floor: float, exponents: NDArray, masks: NDArray,
          changes: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Factors and shifts of exponents that minimise the penalised errors.

    Of Q fits at once, which is faster than one by one, with exponents and
    masks `(Q, n)`. Weights `(Q,)` are those of mean squared errors; `changes`,
    `(Q,)`, are the logarithms of factors that lead to the typical slope.
    """
    from scipy.optimize import fmin_l_bfgs_b
    centres = np.mean(exponents, axis=1, where=masks)
    around = exponents - centres[:, None]
    shares = masks * (weights / masks.sum(axis=1))[:, None]

    def penalised(places: NDArray) -> tuple[float, NDArray]:
        """Half the penalised squared errors at shifts and log factors."""
        shifts, logs = places.reshape(2, -1, 1)
        moves, lags = np.exp(logs) * around, logs[:, 0] - changes
        off = accuracy_at(shifts + moves, floor) - accuracy
        steps = shares * off * slope_at(shifts + moves, floor)
        gradient = [steps.sum(axis=1), np.sum(steps * moves, axis=1) + lags]
        return ((np.sum(shares * off**2) + lags @ lags) / 2,
                np.concatenate(gradient))

    bounds = [(None, None)] * len(changes)
    bounds += zip(np.minimum(changes, 0), np.maximum(changes, 0))
    start = np.concatenate([centres, np.zeros_like(changes)])
    found, *_ = fmin_l_bfgs_b(
        penalised, start, bounds=bounds, factr=45, pgtol=1e-9)
    shifts, logs = found.reshape(2, -1)
    return np.exp(logs), shifts - np.exp(logs) * centres
