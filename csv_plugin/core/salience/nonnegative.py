"""Non-negative weights, as in the paper, shrunk toward uniform.

The weights `w`, none below 0, minimise `mean_m (A_m - Ahat_m)^2 / var(A) +
penalty mean_k (w_k - 1)^2` together with intercept and slope of the curve:
the paper's objective (Eq. 5) with a penalty. L-BFGS-B replaces its gradient
steps.
"""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.formatting import short_repr
from csv_plugin.core.salience.base import (SalienceFit, Task, fit_notes,
                                           held_out_mse, with_all)
from csv_plugin.core.salience.ridge import Uniform
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import accuracy_at, slope_at

#: Relative to the variance of the accuracies.
PENALTIES = tuple(10**(-i / 2) for i in range(9))
#: No weaker penalty is tried once the error on held-out models is over so many
#: times the least one.
HOPELESS = 2
#: A regression is solved once a step improves the objective, which is at most
#: about 1, by less than this, or no slope is larger than the second number.
#: Along weak penalties the objective is so flat that larger ones end early.
TOLERANCE, LEAST_SLOPE = 1e-12, 1e-9
#: Accuracies are not taken to vary less than this, in squared fractions.
LEAST_VARIANCE = 1e-8


@dataclass(frozen=True)
class NonNegative:
    """Weights that cannot be negative, with the floor of the mean loss.

    Args:
        penalties (tuple[float, ...]): Candidates, in falling order.
    """
    penalties: tuple[float, ...] = PENALTIES
    name: str = 'nonnegative'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        uniform = Uniform(learn_floor=True).fit(task, masks)
        fallback = replace(
            uniform,
            solver=self.name,
            notes=fit_notes(uniform.model, masks, gained=False))
        if not len(masks):
            return fallback
        regressions = _Regressions(task, uniform.models, with_all(masks))
        candidates, errors = [], [uniform.cv_mse]
        for penalty in self.penalties:
            models = regressions.follow(penalty)
            predicted = models[:-1].predict(task.values)
            error = held_out_mse(predicted, task.accuracy, masks)
            if error > HOPELESS * min(errors):
                break
            candidates.append(models)
            errors.append(error)
        best = int(np.argmin(errors))
        if not errors[best] < uniform.cv_mse:
            return fallback
        folds, model = candidates[best - 1][:-1], candidates[best - 1][-1]
        return SalienceFit(self.name, model, folds, masks,
                           self.penalties[best - 1], errors[best],
                           fit_notes(model, masks, gained=True))


class _Regressions:
    """Q regressions, each on some of the n models of a task.

    The place of a regression is its intercept and, for each column, slope
    times weight, in units such that equal weights make standardised mean
    losses. The slope keeps the sign that it has with uniform weights, and its
    size minimises the penalty. They start from fits with uniform weights,
    `(Q,)`, to the models in `rows`, `(Q, n)`.
    """

    def __init__(self, task: Task, uniform: SalienceModel,
                 rows: NDArray) -> None:
        self._task, self._rows = task, rows
        self._floor = uniform.curve.floor[0]
        mean_loss = task.features.mean_loss
        self._units = task.uniform / mean_loss.std() * len(task.uniform)**.5
        self._means = task.values.mean(axis=0)
        self._columns = (task.values - self._means) * self._units
        alpha, beta = uniform.curve.alpha, uniform.curve.beta
        slopes = alpha * mean_loss.std() / len(task.uniform)**.5
        self._places = np.column_stack([
            alpha * (mean_loss.mean() - beta),
            np.repeat(slopes[:, None], len(task.uniform), axis=1)
        ])

    def follow(self, penalty: float) -> SalienceModel:
        """Minimise all objectives from the current places; models `(Q,)`."""
        from scipy.optimize import minimize
        for row, place in zip(self._rows, self._places):
            side = (0, None) if place[1:].sum() > 0 else (None, 0)
            place[:] = minimize(
                self._objective,
                place, (self._columns[row], self._task.accuracy[row], penalty),
                'L-BFGS-B',
                jac=True,
                bounds=[(None, None)] + [side] * (len(place) - 1),
                options=dict(ftol=TOLERANCE, gtol=LEAST_SLOPE)).x
        gradient = self._places[:, 1:] * self._units
        offset = self._places[:, 0] - gradient @ self._means
        return SalienceModel.from_linear(gradient, offset, self._floor,
                                         self._task.uniform)

    def _objective(self, place: NDArray, columns: NDArray, accuracy: NDArray,
                   penalty: float) -> tuple[float, NDArray]:
        """Value, and gradient `(1 + K,)`."""
        weights = place[1:]
        exponents = place[0] + columns @ weights
        residuals = accuracy_at(exponents, self._floor) - accuracy
        scale = 1 / (len(accuracy) * max(accuracy.var(), LEAST_VARIANCE))
        by_exponent = 2 * scale * residuals * slope_at(exponents, self._floor)
        # The mean square of `weights / slope - 1` with the best slope.
        total, squares = weights.sum(), max(weights @ weights, 1e-300)
        share = total / squares
        value = scale * residuals @ residuals
        value += penalty * (1 - total * share / len(weights))
        by_weight = by_exponent @ columns
        by_weight += 2 * penalty * share / len(weights) * (share * weights - 1)
        return float(value), np.append(by_exponent.sum(), by_weight)
