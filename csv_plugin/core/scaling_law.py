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

#: Reasons against a curve, by the names that `diagnose` returns.
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
    """Return Eq. 2 of exponents `alpha (score - beta)`; shapes broadcast.

    As `curve.accuracy_of`, but fast, for the many calls of a fit.
    """
    floor = np.asarray(floor)
    # Several times as fast as `scipy.special.expit`.
    share = 0.5 + 0.5 * np.tanh(0.5 * np.asarray(exponent))
    return np.asarray(floor + (1 - floor) * share)


def slope_at(exponent: ArrayLike, floor: ArrayLike) -> NDArray:
    """Return the derivative of Eq. 2 in its exponent."""
    share = accuracy_at(exponent, 0)
    return (1 - np.asarray(floor)) * share * (1 - share)


@dataclass(frozen=True, eq=False)
class Curve:
    """Eq. 2 with its parameters, or a stack of such curves, `(...)`.

    `alpha` is the slope per unit of score, `beta` the score half-way between
    the floor and 1. The floor is the accuracy at infinitely bad scores, a
    fraction; where alpha is 0 it may lie below 0, down to -1.
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
        """Return accuracies, fractions, `(..., M)`; scores as above."""
        return accuracy_at(self.exponents(scores), self.floor[..., None])

    def slopes(self, scores: NDArray) -> NDArray:
        """Return accuracy per unit of exponent, `(..., M)`."""
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
        """Make flat curves: `alpha` is 0, and the floor places them."""
        accuracy = np.asarray(accuracy, dtype=np.float64)
        zeros = np.zeros_like(accuracy)
        return cls(zeros, zeros, 2 * accuracy - 1)


def diagnose(score: NDArray, accuracy: NDArray,
             chance: float) -> tuple[str, ...]:
    """Return keys of `PROBLEMS` of scores and accuracies `(n,)`."""
    # Equal losses may have sums that differ in their last bits.
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
    """Q regressions (Eq. 4) on one design matrix, or on one each.

    Each minimises `mean_i mask_i (a_i - A(x_i . theta))^2`, where `A` is Eq. 2
    of its exponent. They are solved together, by damped Gauss-Newton
    (Levenberg-Marquardt). The design is `(n, p)` or `(Q, n, p)`, accuracies
    `(n,)`, masks of 0 and 1 `(Q, n)`, floors `(Q,)`, in [0, 1).
    """
    design: NDArray
    accuracy: NDArray
    masks: NDArray
    floors: NDArray

    def start(self) -> NDArray:
        """Return logit regressions on the second column, `(Q, p)`.

        The first column must be ones; the other coefficients are 0.
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
        # Flat where z does not vary among the rows that count.
        rounding = 1e-20 * np.sum(self.masks * z**2, axis=1)
        rounding += np.finfo(float).tiny
        slope = covariance / np.maximum(variance, rounding)
        theta = np.zeros((len(self.masks), self.design.shape[-1]))
        theta[:, 0] = target_mean[:, 0] - slope * z_mean[:, 0]
        theta[:, 1] = slope
        return theta

    def predict(self, theta: NDArray) -> NDArray:
        """Return accuracies of all rows, fractions, `(Q, n)`."""
        return accuracy_at(
            _exponents(theta, self.design), self.floors[:, None])

    def solve(self, start: NDArray, tolerance: float = 1e-6) -> NDArray:
        """Return the coefficients `(Q, p)` that minimise all objectives.

        A problem is solved once a step improves its objective by less than the
        tolerance, as a share.
        """
        # A problem whose damping has grown this far cannot be improved any
        # more.
        max_damping = 1e6
        theta, damping = start.copy(), np.full(len(start), 1e-6)
        active, part = np.arange(len(start)), self
        fitted, value = part._at(theta)
        # Steps after which a regression is taken as it is.
        max_steps = 50
        for _ in range(max_steps):
            trial = theta[active] + part._step(fitted, damping[active])
            new_fitted, new = part._at(trial)
            better = new <= value
            theta[active[better]] = trial[better]
            damping[active] *= np.where(better, 0.1, 10)
            # At the optimum, rounding makes a step better or worse.
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
        """Those where `rows`, a mask, is True."""
        if rows.all():
            return self
        design = self.design if self.design.ndim == 2 else self.design[rows]
        return Regressions(design, self.accuracy, self.masks[rows],
                           self.floors[rows])

    def _at(self, theta: NDArray) -> tuple[NDArray, NDArray]:
        """Accuracies of all rows, `(Q, n)`, and objectives, `(Q,)`."""
        fitted = self.predict(theta)
        return fitted, np.sum(self.masks * (self.accuracy - fitted)**2, axis=1)

    def _step(self, fitted: NDArray, damping: NDArray) -> NDArray:
        """Steps from where the accuracies are `fitted`."""
        floors = self.floors[:, None]
        slope = (fitted - floors) * (1 - fitted) / (1 - floors)
        weight = self.masks * slope
        hessian = _weighted_squares(weight * slope, self.design)
        # A view: what is added to it is added to the hessian. The last term
        # keeps a saturated problem solvable.
        diagonal = np.einsum('qpp->qp', hessian)
        diagonal += damping[:, None] * diagonal + 1e-15
        gradient = _weighted_sums(weight * (self.accuracy - fitted),
                                  self.design)
        return np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]


def _exponents(theta: NDArray, design: NDArray) -> NDArray:
    """`design @ t` for every row `t` of `(Q, p)`."""
    if design.ndim == 2:
        return theta @ design.T
    return (design @ theta[:, :, None])[:, :, 0]


def _weighted_sums(weights: NDArray, design: NDArray) -> NDArray:
    """`design.T @ w` for every row `w` of `(Q, n)`."""
    if design.ndim == 2:
        return weights @ design
    return (weights[:, None] @ design)[:, 0]


def _weighted_squares(weights: NDArray, design: NDArray) -> NDArray:
    """`design.T @ diag(w) @ design` for every row `w` of `(Q, n)`."""
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
    """Fit alpha and beta of one benchmark (Eq. 4), on standardised scores.

    Solved from a logit regression and from the guess, if any; the better
    solution is returned. Guess and second result are intercept and slope in
    standardised scores, `(2,)`.
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
    # So tight that gradients taken at the solution are exact.
    lines = regressions.solve(starts, tolerance=1e-14)
    squares = (regressions.predict(lines) - accuracy)**2
    line = lines[squares.sum(axis=1).argmin()]
    # A flat optimum has its half-way point infinitely far away.
    slope = line[1] or -1e-12
    half_way = centre - line[0] * spread / slope
    return Curve(slope / spread, half_way, np.array(floor)), line
