"""Eq. 2, the downstream scaling law, its slope, and its fit (Eq. 4).

`accuracy = floor + (1 - floor) / (1 + exp(-alpha (score - beta)))`. The
capability score is a weighted *loss* (Eq. 1), so a benchmark that improves
as models improve has a negative `alpha`. Source: Ge et al., ACL 2025, arXiv
2506.13216.
"""
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Optional

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError
from csv_plugin.core.observed import LEAST_MODELS

#: An accuracy of at most the chance level plus this margin does not show that
#: a model is better than chance. Two points are about two standard errors of
#: an accuracy near 25 % on 2,000 items.
CHANCE_MARGIN = 0.02

#: A tiny positive number, which keeps divisors from being 0.
_LEAST = float(np.finfo(float).tiny)

#: Reasons why a curve should not be fitted, by the keys that `diagnose`
#: returns.
PROBLEMS = {
    'too_few_models':
    f'fewer than {LEAST_MODELS} models with an accuracy',
    'constant_score':
    'all models have the same capability score',
    'constant_accuracy':
    'all models have the same accuracy',
    'at_chance':
    'no model is more than '
    f'{100 * CHANCE_MARGIN:.0f} points above chance',
}


def accuracy_at(exponent: ArrayLike, floor: ArrayLike) -> NDArray:
    """Return the accuracy by Eq. 2 at an exponent `alpha (score - beta)`.

    Shapes broadcast. `curve.accuracy_of` returns the same accuracy up to
    rounding, but takes longer, and a fit calls this function many times.
    """
    floor = np.asarray(floor)
    # `tanh` is several times as fast as `scipy.special.expit`.
    half = 0.5 * np.asarray(exponent)
    share = 0.5 + 0.5 * np.tanh(half)
    accuracy = floor + (1 - floor) * share
    return np.asarray(accuracy)


def slope_at(exponent: ArrayLike, floor: ArrayLike) -> NDArray:
    """Return the derivative of Eq. 2 with respect to its exponent."""
    share = accuracy_at(exponent, 0)
    most = 1 - np.asarray(floor)
    return most * share * (1 - share)


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of Eq. 2 with its parameters, or a stack of such curves.

    The parameters of a stack have any shape, `(...)`. `alpha` is the change of
    the exponent per unit of score. `beta` is the score at which the accuracy
    is half-way between the floor and 1. The floor is the accuracy at
    infinitely bad scores, a fraction; if alpha is 0, it may be as low as -1.
    """
    alpha: NDArray
    beta: NDArray
    floor: NDArray

    def __post_init__(self) -> None:
        for parameter in fields(self):
            given = getattr(self, parameter.name)
            values = np.asarray(given, np.float64)
            object.__setattr__(self, parameter.name, values)
        lowest = np.where(self.alpha == 0, -1, 0)
        in_range = (lowest <= self.floor) & (self.floor <= 1)
        if not in_range.all():
            raise InputError('curve', 'a floor in 0..1', f'{self.floor}'[:80],
                             'Give accuracies as fractions.')

    def __repr__(self) -> str:
        if self.alpha.ndim:
            return f'Curve(stack of shape {self.alpha.shape})'
        return f'Curve({self.alpha:.6g}, {self.beta:.6g}, {self.floor:.6g})'

    def exponents(self, scores: NDArray) -> NDArray:
        """Return `alpha (score - beta)`, `(..., M)`; scores may be `(M,)`."""
        alpha = self.alpha[..., None]
        beta = self.beta[..., None]
        return alpha * (scores - beta)

    def accuracies(self, scores: NDArray) -> NDArray:
        """Return accuracies, fractions, `(..., M)`; scores may be `(M,)`."""
        exponents = self.exponents(scores)
        return accuracy_at(exponents, self.floor[..., None])

    def slopes(self, scores: NDArray) -> NDArray:
        """Return derivatives of accuracies, `(..., M)`.

        They are with respect to the exponents. Scores may be `(M,)`.
        """
        exponents = self.exponents(scores)
        return slope_at(exponents, self.floor[..., None])

    def __getitem__(self, index: Any) -> 'Curve':
        """Return the curve, or the stack of curves, with this index."""
        alpha = self.alpha[index]
        beta = self.beta[index]
        return Curve(alpha, beta, self.floor[index])

    @classmethod
    def stack(cls, curves: Sequence['Curve']) -> 'Curve':
        """Stack curves of one shape along a new leading axis."""
        stacked = {}
        for parameter in fields(cls):
            values = [getattr(curve, parameter.name) for curve in curves]
            stacked[parameter.name] = np.stack(values)
        return cls(**stacked)

    @classmethod
    def constant(cls, accuracy: ArrayLike) -> 'Curve':
        """Make flat curves with these accuracies.

        Their `alpha` is 0, so their accuracy is half-way from the floor to 1.
        """
        accuracy = np.asarray(accuracy, dtype=np.float64)
        zeros = np.zeros_like(accuracy)
        return cls(zeros, zeros, 2 * accuracy - 1)


def diagnose(score: NDArray, accuracy: NDArray,
             chance: float) -> tuple[str, ...]:
    """Return the keys of `PROBLEMS` that a fit to n models has.

    `score` are the capability scores of the models and `accuracy` their
    accuracies, `(n,)` each. `chance` is the accuracy of guessing.
    """
    found = []
    if len(score) < LEAST_MODELS:
        found.append('too_few_models')
    if len(score):
        # Rounding may make scores of equal losses differ in their last bits.
        rounding = 1e-12 * np.abs(score).max()
        if np.ptp(score) <= rounding:
            found.append('constant_score')
        if np.ptp(accuracy) == 0:
            found.append('constant_accuracy')
    is_at_chance = accuracy <= chance + CHANCE_MARGIN
    if is_at_chance.all():
        found.append('at_chance')
    return tuple(found)


def fit_curve(score: Floats,
              accuracy: Floats,
              floor: float,
              guess: Optional[Floats] = None) -> tuple[Curve, Floats]:
    """Fit alpha and beta of the curve of one benchmark to n models (Eq. 4).

    `score` and `accuracy` are `(n,)`. Returns the curve, and its exponent as a
    line: intercept and slope with respect to standardised scores, `(2,)`. The
    optimisation starts from a logit regression and, if there is a `guess`,
    also from that line, `(2,)`. The better of the two solutions is returned.
    """
    centre = score.mean()
    spread = max(score.std(), _LEAST)
    standardised = (score - centre) / spread
    starts = [_logit_line(standardised, accuracy, floor)]
    if guess is not None:
        starts.append(guess)
    lines = []
    costs = []
    for start in starts:
        line, cost = _fitted_line(standardised, accuracy, floor, start)
        lines.append(line)
        costs.append(cost)
    best = lines[np.argmin(costs)]
    intercept, slope = best
    # With a slope of 0, beta would be infinite.
    slope = slope or -1e-12
    beta = centre - intercept * spread / slope
    curve = Curve(slope / spread, beta, np.array(floor))
    return curve, best


def _logit_line(score: NDArray, accuracy: NDArray, floor: float) -> NDArray:
    """Return a line to start from: intercept and slope, `(2,)`.

    It is the linear regression of the logit of the accuracy, between floor and
    1, on the standardised score, whose mean is 0. Both are `(n,)`.
    """
    share = (accuracy - floor) / (1 - floor)
    share = np.clip(share, .02, .98)
    logits = scipy.special.logit(share)
    intercept = logits.mean()
    # Both are sums over models.
    covariance = score @ (logits - intercept)
    variance = score @ score
    # The slope is 0 if all scores are the same.
    slope = covariance / max(variance, _LEAST)
    return np.array([intercept, slope])


def _fitted_line(score: NDArray, accuracy: NDArray, floor: float,
                 line: NDArray) -> tuple[NDArray, float]:
    """Return the line of least cost, `(2,)`, and this cost.

    A line is the intercept and the slope of the exponent with respect to the
    standardised score. Its cost is the sum of the squared errors of the
    accuracies. `score` and `accuracy` are `(n,)`. The search takes damped
    Gauss-Newton steps (Levenberg-Marquardt) from the given line.
    """
    # It ends when a step reduces the cost by less than this share. The share
    # is so small because Algorithm 2 (`lm.head.algorithm2`) takes gradients
    # that are exact only at the optimum.
    tolerance = 1e-14
    # It also ends when a step raises the cost by less than this share: at the
    # optimum, rounding alone decides whether a step is better.
    rounding = 1e-15
    # It also ends when the damping exceeds this, as no step is better then,
    # or after this number of steps.
    max_damping = 1e6
    max_steps = 50
    # The derivatives of the exponents with respect to the line, `(2, n)`.
    ones = np.ones_like(score)
    design = np.stack([ones, score])
    damping = 1e-6
    fitted = accuracy_at(line @ design, floor)
    errors = accuracy - fitted
    cost = (errors**2).sum()
    for _ in range(max_steps):
        slopes = (fitted - floor) * (1 - fitted)
        slopes /= 1 - floor
        derivatives = slopes * design
        gradient = derivatives @ errors
        hessian = derivatives @ derivatives.T
        # The term 1e-15 keeps the hessian invertible if all slopes are 0.
        added = damping * np.diag(hessian) + 1e-15
        hessian += np.diag(added)
        step = np.linalg.solve(hessian, gradient)
        trial = line + step
        trial_fitted = accuracy_at(trial @ design, floor)
        trial_errors = accuracy - trial_fitted
        trial_cost = (trial_errors**2).sum()
        is_better = trial_cost <= cost
        least_share = tolerance if is_better else rounding
        is_optimum = abs(cost - trial_cost) <= least_share * cost
        if is_better:
            line = trial
            fitted = trial_fitted
            errors = trial_errors
            cost = trial_cost
            damping /= 10
        else:
            damping *= 10
        if is_optimum or damping > max_damping:
            break
    return line, cost
