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

from csv_plugin.core.conventions import InputError
from csv_plugin.core.observed import LEAST_MODELS

#: Accuracies this close to the chance level, or below it, carry no signal.
CHANCE_MARGIN = 0.02

AT_CHANCE = 'at_chance'

#: Reasons why a curve should not be fitted, by the keys that `diagnose`
#: returns.
PROBLEMS = {
    'too_few_models':
    f'fewer than {LEAST_MODELS} models with an accuracy',
    'constant_score':
    'all models have the same capability score',
    'constant_accuracy':
    'all models have the same accuracy',
    AT_CHANCE:
    'no model is more than '
    f'{100 * CHANCE_MARGIN:.0f} points above chance',
}


def accuracy_at(exponent: ArrayLike, floor: ArrayLike) -> NDArray:
    """Return the accuracy by Eq. 2 at an exponent `alpha (score - beta)`.

    Shapes broadcast. The result is that of `curve.accuracy_of`, but faster to
    compute: a fit calls this function many times.
    """
    floor = np.asarray(floor)
    # `tanh` is several times as fast as `scipy.special.expit`.
    share = 0.5 + 0.5 * np.tanh(0.5 * np.asarray(exponent))
    return np.asarray(floor + (1 - floor) * share)


def slope_at(exponent: ArrayLike, floor: ArrayLike) -> NDArray:
    """Return the derivative of Eq. 2 with respect to its exponent."""
    share = accuracy_at(exponent, 0)
    return (1 - np.asarray(floor)) * share * (1 - share)


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
        for part in fields(self):
            values = np.asarray(getattr(self, part.name), dtype=np.float64)
            object.__setattr__(self, part.name, values)
        lowest = np.where(self.alpha == 0, -1, 0)
        if not np.all((lowest <= self.floor) & (self.floor <= 1)):
            raise InputError('curve', 'a floor in 0..1', f'{self.floor}'[:80],
                             'Give accuracies as fractions.')

    def __repr__(self) -> str:
        if self.alpha.ndim:
            return f'Curve(stack of shape {self.alpha.shape})'
        return f'Curve({self.alpha:.6g}, {self.beta:.6g}, {self.floor:.6g})'

    def exponents(self, scores: NDArray) -> NDArray:
        """Return `alpha (score - beta)`, `(..., M)`; scores may be `(M,)`."""
        return self.alpha[..., None] * (scores - self.beta[..., None])

    def scores(self, exponents: NDArray) -> NDArray:
        """Return scores with these exponents, `(..., M)`."""
        return self.beta[..., None] + exponents / self.alpha[..., None]

    def accuracies(self, scores: NDArray) -> NDArray:
        """Return accuracies, fractions, `(..., M)`; scores may be `(M,)`."""
        return accuracy_at(self.exponents(scores), self.floor[..., None])

    def slopes(self, scores: NDArray) -> NDArray:
        """Return derivatives of accuracies by exponents, `(..., M)`."""
        return slope_at(self.exponents(scores), self.floor[..., None])

    def __getitem__(self, index: Any) -> 'Curve':
        return Curve(self.alpha[index], self.beta[index], self.floor[index])

    @classmethod
    def stack(cls, curves: Sequence['Curve']) -> 'Curve':
        """Stack curves of one shape along a new leading axis."""
        return cls(
            alpha=np.stack([curve.alpha for curve in curves]),
            beta=np.stack([curve.beta for curve in curves]),
            floor=np.stack([curve.floor for curve in curves]))

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

    `score` and `accuracy` are `(n,)`; `chance` is the accuracy of guessing.
    """
    # Rounding may make scores of equal losses differ in their last bits.
    rounding = 1e-12 * np.abs(score).max(initial=0)
    present = {
        'too_few_models': len(score) < LEAST_MODELS,
        'constant_score': len(score) and np.ptp(score) <= rounding,
        'constant_accuracy': len(score) and np.ptp(accuracy) == 0,
        AT_CHANCE: bool(np.all(accuracy <= chance + CHANCE_MARGIN)),
    }
    return tuple(name for name, is_so in present.items() if is_so)


@dataclass(frozen=True, eq=False)
class Regressions:
    """Q nonlinear regressions (Eq. 4) of accuracies on a design matrix.

    Each regression minimises `sum_i mask_i (a_i - A(x_i . theta))^2` over its
    coefficients theta, where x_i is row i of its design, a_i the accuracy of
    row i, and A(exponent) is Eq. 2 with the floor of the regression. All are
    solved together, by damped Gauss-Newton steps (Levenberg-Marquardt).

    The design is `(n, p)`, the same for all regressions, or `(Q, n, p)`.
    `accuracy` is `(n,)`, `masks`, of 0 and 1, `(Q, n)`, and `floors`, in
    [0, 1), `(Q,)`.
    """
    design: NDArray
    accuracy: NDArray
    masks: NDArray
    floors: NDArray

    def start(self) -> NDArray:
        """Return coefficients to start from, `(Q, p)`.

        They are those of a linear regression of the logit of the accuracy,
        between floor and 1, on the second column of the design. The first
        column must be ones. The coefficients of further columns are 0.
        """
        # Many regressions have the same few floors.
        floors, places = np.unique(self.floors, return_inverse=True)
        share = (self.accuracy - floors[:, None]) / (1 - floors[:, None])
        target = scipy.special.logit(np.clip(share, .02, .98))[places]
        z = self.design[..., 1]
        n = self.masks.sum(axis=1, keepdims=True)
        z_mean = _weighted_sums(self.masks, z[..., None]) / n
        target_sum = np.sum(self.masks * target, axis=1, keepdims=True)
        target_mean = target_sum / n
        dz, dt = z - z_mean, target - target_mean
        covariance = np.sum(self.masks * dz * dt, axis=1)
        variance = np.sum(self.masks * dz**2, axis=1)
        # The slope is 0 if z is the same in all rows whose mask is 1.
        rounding = 1e-20 * np.sum(self.masks * z**2, axis=1)
        rounding += np.finfo(float).tiny
        slope = covariance / np.maximum(variance, rounding)
        theta = np.zeros((len(self.masks), self.design.shape[-1]))
        theta[:, 0] = target_mean[:, 0] - slope * z_mean[:, 0]
        theta[:, 1] = slope
        return theta

    def predict(self, theta: NDArray) -> NDArray:
        """Return accuracies by coefficients `(Q, p)`, fractions, `(Q, n)`."""
        return accuracy_at(
            _exponents(theta, self.design), self.floors[:, None])

    def solve(self, start: NDArray, tolerance: float = 1e-6) -> NDArray:
        """Return the coefficients that minimise the objectives, `(Q, p)`.

        `start`, `(Q, p)`, are coefficients to start from. A regression is
        solved when a step reduces its objective by less than the share
        `tolerance`.
        """
        # A regression stops when its damping exceeds this: no step improves it
        # then.
        max_damping = 1e6
        theta, damping = start.copy(), np.full(len(start), 1e-6)
        active, part = np.arange(len(start)), self
        fitted, value = part._at(theta)
        # Maximum number of steps, whether or not a regression is solved.
        max_steps = 50
        for _ in range(max_steps):
            trial = theta[active] + part._step(fitted, damping[active])
            new_fitted, new = part._at(trial)
            better = new <= value
            theta[active[better]] = trial[better]
            damping[active] *= np.where(better, 0.1, 10)
            # At the optimum, rounding alone decides whether a step is better.
            least = value * np.where(better, tolerance, 1e-15)
            going = (np.abs(value - new) > least) & (
                damping[active] <= max_damping)
            if not going.any():
                break
            fitted = np.where(better[:, None], new_fitted, fitted)[going]
            value = np.where(better, new, value)[going]
            active, part = active[going], part._of(going)
        return theta

    def _of(self, rows: NDArray) -> 'Regressions':
        """Return the regressions where the mask `rows`, `(Q,)`, is True."""
        if rows.all():
            return self
        design = self.design if self.design.ndim == 2 else self.design[rows]
        return Regressions(design, self.accuracy, self.masks[rows],
                           self.floors[rows])

    def _at(self, theta: NDArray) -> tuple[NDArray, NDArray]:
        """Return accuracies, `(Q, n)`, and objectives, `(Q,)`, at `theta`."""
        fitted = self.predict(theta)
        return fitted, np.sum(self.masks * (self.accuracy - fitted)**2, axis=1)

    def _step(self, fitted: NDArray, damping: NDArray) -> NDArray:
        """Return steps of coefficients, `(Q, p)`.

        `fitted` are the accuracies at the current coefficients, `(Q, n)`.
        """
        floors = self.floors[:, None]
        slope = (fitted - floors) * (1 - fitted) / (1 - floors)
        weight = self.masks * slope
        hessian = _weighted_squares(weight * slope, self.design)
        # `diagonal` is a view: adding to it changes the hessian. The term
        # 1e-15 keeps the hessian invertible if all slopes are 0.
        diagonal = np.einsum('qpp->qp', hessian)
        diagonal += damping[:, None] * diagonal + 1e-15
        gradient = _weighted_sums(weight * (self.accuracy - fitted),
                                  self.design)
        return np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]


def _exponents(theta: NDArray, design: NDArray) -> NDArray:
    """Return `design @ t` for every row t of `theta`, `(Q, n)`."""
    if design.ndim == 2:
        return theta @ design.T
    return (design @ theta[:, :, None])[:, :, 0]


def _weighted_sums(weights: NDArray, design: NDArray) -> NDArray:
    """Return `design.T @ w` for every row w of `weights`, `(Q, p)`."""
    if design.ndim == 2:
        return weights @ design
    return (weights[:, None] @ design)[:, 0]


def _weighted_squares(weights: NDArray, design: NDArray) -> NDArray:
    """Return `design.T @ diag(w) @ design` for every row w of `weights`.

    The result is `(Q, p, p)`.
    """
    if design.ndim == 3:
        return design.swapaxes(1, 2) @ (weights[:, :, None] * design)
    n, p = design.shape
    products = (design[:, :, None] * design[:, None, :]).reshape(n, p * p)
    return (weights @ products).reshape(len(weights), p, p)


def fit_curve(
    score: NDArray[np.float64],
    accuracy: NDArray[np.float64],
    floor: float,
    guess: Optional[NDArray[np.float64]] = None
) -> tuple[Curve, NDArray[np.float64]]:
    """Fit alpha and beta of the curve of one benchmark (Eq. 4).

    Returns the curve, and its exponent as a line: intercept and slope with
    respect to standardised scores, `(2,)`. The optimisation starts from a
    logit regression and, if there is a `guess`, also from that line, `(2,)`.
    The better of the two solutions is returned.
    """
    centre = score.mean()
    spread = max(score.std(), np.finfo(float).tiny)
    standardised = (score - centre) / spread
    design = np.stack([np.ones_like(score), standardised], axis=1)
    n_starts = 1 if guess is None else 2
    all_count = np.ones((n_starts, len(score)))
    regressions = Regressions(design, accuracy, all_count,
                              np.full(n_starts, floor))
    starts = regressions.start()
    if guess is not None:
        starts[1] = guess
    # The tolerance is so small that gradients at the solution are exact.
    lines = regressions.solve(starts, tolerance=1e-14)
    squares = (regressions.predict(lines) - accuracy)**2
    line = lines[squares.sum(axis=1).argmin()]
    # With a slope of 0, beta would be infinite.
    slope = line[1] or -1e-12
    half_way = centre - line[0] * spread / slope
    return Curve(slope / spread, half_way, np.array(floor)), line
