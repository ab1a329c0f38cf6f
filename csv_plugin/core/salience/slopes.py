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
    changes = typical - np.log(slopes, where=slopes > 0, out=slopes * np.nan)
    weight = len(np.unique(task.families)) / max(fit.cv_mse, LEAST_ERROR)
    factors, shifts = np.ones(len(slopes)), np.zeros(len(slopes))
    for q in np.flatnonzero(np.abs(changes) > LEAST_CHANGE):
        scale = 1 if changes[q] < 0 else signal
        factors[q], shifts[q] = _pull(exponents[q, rows[q]],
                                      task.accuracy[rows[q]], floor,
                                      float(changes[q]),
                                      weight * SPREAD**2 / max(scale, 1e-6))
    alpha = curve.alpha * factors[-n_made:]
    models = replace(
        models,
        curve=Curve(alpha, curve.beta - shifts[-n_made:] / alpha, curve.floor))
    predicted = accuracy_at(
        factors[:-1, None] * exponents[:-1] + shifts[:-1, None], floor)
    error = held_out_mse(predicted, task.accuracy, fit.masks)
    return replace(
        fit,
        model=models[-1],
        folds=models[:-1],
        cv_mse=float(error),
        held_out=mean_unseen(predicted, fit.masks) if n_made == 1 else None)


def _pull(exponents: NDArray, accuracy: NDArray, floor: float, change: float,
          weight: float) -> tuple[float, float]:
    """Factor and shift of exponents that minimise the penalised errors.

    The weight is that of the mean squared error; `change` is the logarithm of
    the factor that leads to the typical slope.
    """
    from scipy.optimize import minimize
    centre, share = exponents.mean(), weight / len(accuracy)
    around = exponents - centre

    def penalised(place: NDArray) -> tuple[float, NDArray]:
        """Half the penalised squared error at shift and log factor."""
        moves = np.exp(place[1]) * around
        off = accuracy_at(place[0] + moves, floor) - accuracy
        steps = share * off * slope_at(place[0] + moves, floor)
        lag = place[1] - change
        return ((share * off @ off + lag**2) / 2,
                np.array([steps.sum(), steps @ moves + lag]))

    found = minimize(
        penalised, [centre, change / 2],
        jac=True,
        method='L-BFGS-B',
        bounds=[(None, None), (min(change, 0), max(change, 0))],
        options=dict(ftol=1e-14, gtol=1e-9))
    factor = float(np.exp(found.x[1]))
    return factor, float(found.x[0] - factor * centre)
