"""Many penalised sigmoid regressions at once, by damped Gauss-Newton.

One problem: `min mean_i mask_i (a_i - A(x_i . theta))^2 + penalty |theta'|^2`
with `A(e) = floor + (1 - floor) expit(e)` (Eq. 2 in its linear form) and
`theta'` the coefficients behind the first `n_free`. Cross-validation needs
hundreds of them that differ in mask, floor and penalty only, so they are
stacked and solved together.
"""
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from csv_plugin.core.scaling_law import accuracy_at

MAX_STEPS = 50
#: Numbers in the products of design columns that are in memory at a time.
PRODUCTS = 2**20
#: A problem whose damping has grown this far cannot be improved any more.
MAX_DAMPING = 1e6


@dataclass(frozen=True, eq=False)
class Regressions:
    """Q regressions on one design matrix.

    Args:
        design (NDArray): Shape `(n, p)`.
        accuracy (NDArray): Shape `(n,)`, fractions.
        masks (NDArray): Rows that count, 0 or 1, shape `(Q, n)`.
        floors (NDArray): Shape `(Q,)`, fractions in [0, 1).
        n_free (int): Leading coefficients that are not penalised.
    """
    design: NDArray
    accuracy: NDArray
    masks: NDArray
    floors: NDArray
    n_free: int

    def start(self) -> NDArray:
        """Logit regression on the second column (the first is ones).

        Returns:
            NDArray: Shape `(Q, p)`; the other coefficients are 0.
        """
        floors = self.floors[:, None]
        share = np.clip((self.accuracy - floors) / (1 - floors), .02, .98)
        target, z = logit(share), self.design[:, 1]
        n = self.masks.sum(axis=1, keepdims=True)
        dz = z - self.masks @ z[:, None] / n
        dt = target - np.sum(self.masks * target, axis=1, keepdims=True) / n
        # Flat where z does not vary among the rows that count.
        rounding = 1e-20 * (self.masks @ z**2) + np.finfo(float).tiny
        slope = np.sum(
            self.masks * dz * dt, axis=1) / np.maximum(
                np.sum(self.masks * dz**2, axis=1), rounding)
        theta = np.zeros((len(self.masks), self.design.shape[1]))
        theta[:, 0] = ((target - dt) - slope[:, None] * (z - dz))[:, 0]
        theta[:, 1] = slope
        return theta

    def predict(self, theta: NDArray) -> NDArray:
        """Accuracies of all rows, shape `(Q, n)`, fractions."""
        return accuracy_at(theta @ self.design.T, self.floors[:, None])

    def solve(self,
              penalty: float,
              start: NDArray,
              tolerance: float = 1e-6) -> NDArray:
        """Minimise all Q objectives.

        Args:
            penalty (float): Ridge penalty of the coefficients behind the
                first `n_free`, relative to the mean squared residual.
            start (NDArray): Shape `(Q, p)`.
            tolerance (float): A problem is solved once a step improves its
                objective by less than this share.

        Returns:
            NDArray: Coefficients, shape `(Q, p)`.
        """
        theta, damping = start.copy(), np.full(len(start), 1e-6)
        ridge = np.full(self.design.shape[1], penalty)
        ridge[:self.n_free] = 0
        active = np.arange(len(start))
        value = self._objective(theta, active, ridge)
        for _ in range(MAX_STEPS):
            step = self._step(theta[active], active, ridge, damping[active])
            trial = theta[active] + step
            new = self._objective(trial, active, ridge)
            better = new <= value
            theta[active[better]] = trial[better]
            damping[active] *= np.where(better, 0.1, 10)
            # At the optimum, rounding makes a step better or worse.
            least = value * np.where(better, tolerance, 1e-15)
            done = (np.abs(value - new) <= least) | (
                damping[active] > MAX_DAMPING)
            value = np.where(better, new, value)[~done]
            active = active[~done]
            if not len(active):
                break
        return theta

    def _objective(self, theta: NDArray, rows: NDArray,
                   ridge: NDArray) -> NDArray:
        masks, floors = self.masks[rows], self.floors[rows, None]
        fitted = accuracy_at(theta @ self.design.T, floors)
        squares = masks * (self.accuracy - fitted)**2
        return squares.sum(axis=1) / masks.sum(axis=1) + theta**2 @ ridge

    def _step(self, theta: NDArray, rows: NDArray, ridge: NDArray,
              damping: NDArray) -> NDArray:
        masks, floors = self.masks[rows], self.floors[rows, None]
        p = expit(theta @ self.design.T)
        slope = (1 - floors) * p * (1 - p)
        weight = masks * slope / masks.sum(axis=1, keepdims=True)
        residual = self.accuracy - floors - (1 - floors) * p
        hessian = _weighted_squares(weight * slope, self.design)
        diagonal = np.einsum('qpp->qp', hessian)
        diagonal += ridge
        # The last term keeps a saturated problem solvable.
        diagonal += damping[:, None] * diagonal + 1e-15
        gradient = (weight * residual) @ self.design - theta * ridge
        return np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]


def _weighted_squares(weights: NDArray, design: NDArray) -> NDArray:
    """`design.T @ diag(w) @ design` for every row `w` of the weights.

    One product of large matrices instead of many of small ones.

    Args:
        weights (NDArray): Shape `(Q, n)`.
        design (NDArray): Shape `(n, p)`.

    Returns:
        NDArray: Shape `(Q, p, p)`.
    """
    n, p = design.shape
    total = np.zeros((len(weights), p * p))
    n_rows = max(1, PRODUCTS // p**2)
    for start in range(0, n, n_rows):
        rows = design[start:start + n_rows]
        products = (rows[:, :, None] * rows[:, None, :]).reshape(-1, p * p)
        total += weights[:, start:start + n_rows] @ products
    return total.reshape(-1, p, p)


def fit_line(
    score: NDArray[np.float64],
    accuracy: NDArray[np.float64],
    floor: float,
    guess: Optional[NDArray[np.float64]] = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eq. 4 for one benchmark by Levenberg-Marquardt on standardised scores.

    Solved twice, from a logit regression and from the guess; the better one
    counts.

    Args:
        score (NDArray): Shape `(n,)`.
        accuracy (NDArray): Shape `(n,)`, none missing.
        floor (float): Lower end of Eq. 2.
        guess (Optional[NDArray]): Intercept and slope, shape `(2,)`.

    Returns:
        tuple[NDArray, NDArray]: Intercept and slope in standardised scores;
        alpha and beta.
    """
    centre = score.mean()
    spread = max(score.std(), np.finfo(float).tiny)
    design = np.stack([np.ones_like(score), (score - centre) / spread], axis=1)
    n_starts = 1 if guess is None else 2
    regressions = Regressions(
        design,
        accuracy,
        np.ones((n_starts, len(score))),
        np.full(n_starts, floor),
        n_free=2)
    starts = regressions.start()
    starts[1:] = guess
    # So tight that gradients taken at the solution are exact.
    lines = regressions.solve(0.0, starts, tolerance=1e-14)
    squares = (regressions.predict(lines) - accuracy)**2
    line = lines[squares.sum(axis=1).argmin()]
    # A flat optimum has its half-way point infinitely far away.
    slope = line[1] or -1e-12
    return line, np.array([slope / spread, centre - line[0] * spread / slope])
