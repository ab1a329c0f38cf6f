"""Newton steps of regressions with weights that cannot be negative.

Each takes the objectives for quadratic about where the regressions are. With
few positive weights their equations are solved; with many, conjugate
gradients come near, and equations of the models give all digits.
"""
from functools import cached_property
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.ridge_regressions import dots, ratio

#: Keeps a saturated curve solvable.
LEAST_CURVATURE = 1e-15
#: Iterations of conjugate gradients; times that the equations of a step
#: change their weights.
MAX_ITERATIONS, MAX_PIVOTS = 8, 20
#: Conjugate gradients end at this share of their first error.
STEP_TOLERANCE = 0.1
#: Weights up to this that shall fall have no part in conjugate gradients.
NEAR_ZERO = 1e-3
#: Keeps columns that are alike solvable.
LEAST_RIDGE = 1e-12
#: Iterations of non-negative least squares, by the number of weights.
MAX_NNLS = 30
#: By how much a convex objective may seem to bend downward.
ROUNDING = 1e-12


class Curvature(NamedTuple):
    """Derivatives of half the errors in the scores, lines fitted anew.

    The second ones are `diag(diagonal) - sum_j by_line_j by_line_j'`, where j
    is intercept or slope; they are convex with `convex_by_line`.

    Args:
        gradient (NDArray): First derivatives, `(q, n)`.
        diagonal (NDArray): Of the second ones, 0 or more, `(q, n)`.
        by_line (NDArray): What lines fitted anew take off, `(q, 2, n)`.
        convex_by_line (NDArray): The same, without the part of the errors
            that bends downward, `(q, 2, n)`.
        by_exponent (NDArray): First derivatives in the exponents, `(q, n)`.
        squares (NDArray): Second ones in the exponents, `(q, n)`.
        centred (NDArray): Scores less `means`, `(q, n)`.
        means (NDArray): Of the scores, weighted by `squares`, `(q,)`.
    """
    gradient: NDArray
    diagonal: NDArray
    by_line: NDArray
    convex_by_line: NDArray
    by_exponent: NDArray
    squares: NDArray
    centred: NDArray
    means: NDArray

    @classmethod
    def of(cls, scores: NDArray, slopes: NDArray, gradient: NDArray,
           squares: NDArray) -> 'Curvature':
        """Of derivatives in the exponents, first and second, `(q, n)`."""
        total = squares.sum(axis=1, keepdims=True) + LEAST_CURVATURE
        means = dots(squares, scores)[:, None] / total
        centred = scores - means
        spread = dots(squares, centred**2)[:, None] + LEAST_CURVATURE
        of_intercept = slopes * squares / np.sqrt(total)
        of_slope = slopes * squares * centred / np.sqrt(spread)
        exact = of_slope + gradient / np.sqrt(spread)
        return cls(slopes * gradient, slopes**2 * squares,
                   np.stack([of_intercept, exact], axis=1),
                   np.stack([of_intercept, of_slope], axis=1), gradient,
                   squares, centred, means[:, 0])

    def times(self, scores: NDArray) -> NDArray:
        """The second derivatives times `(q, n)`."""
        parts = np.einsum('qjn,qn->qj', self.by_line, scores)
        return self.diagonal * scores - np.einsum('qj,qjn->qn', parts,
                                                  self.by_line)

    def line_step(self) -> NDArray:
        """The Newton step of intercept and slope, `(q, 2)`."""
        slope = -dots(self.by_exponent, self.centred) / (
            dots(self.squares, self.centred**2) + LEAST_CURVATURE)
        middle = -self.by_exponent.sum(axis=1) / (
            self.squares.sum(axis=1) + LEAST_CURVATURE)
        return np.stack([middle - slope * self.means, slope], axis=1)


class Step(NamedTuple):
    """What a Newton step of q regressions is made of, on c columns.

    Args:
        columns (NDArray): Losses of the n models, scaled, `(n, c)`.
        curvature (Curvature): Where the regressions are.
        strength (float): Of the penalty, above 0.
        weights (NDArray): Where they are, `(q, c)`.
        gradient (NDArray): Of the objectives in the weights, `(q, c)`.
        free (NDArray): Weights that the step may change, bool, `(q, c)`.
    """
    columns: NDArray
    curvature: Curvature
    strength: float
    weights: NDArray
    gradient: NDArray
    free: NDArray

    def direct(self) -> NDArray:
        """The change of the weights, `(q, c)`; none becomes negative."""
        change = np.zeros_like(self.weights)
        for row, free in enumerate(self.free):
            columns = self.columns[:, free]
            equations = self._equations(row, columns)
            weights, gradient = self.weights[row, free], self.gradient[row,
                                                                       free]
            target = equations @ weights - gradient
            step = _without_negative(equations, target) - weights
            if gradient @ step + step @ equations @ step / 2 >= 0:
                root = np.linalg.cholesky(equations)
                target = solve_triangular(root, target, lower=True)
                step = nnls(root.T, target,
                            MAX_NNLS * len(target))[0] - weights
            change[row, free] = step
        return change

    def slope(self, change: NDArray) -> NDArray:
        """Of the objectives along a change, as far as it can be made. `(q,)`.

        Args:
            change (NDArray): Of the weights, `(q, c)`.
        """
        clipped = self.weights + change < 0
        return dots(np.where(clipped, 0, self.gradient), change)

    def _equations(self, row: int, columns: NDArray) -> NDArray:
        """Second derivatives in the weights of some columns, `(f, f)`."""
        scaled = columns * self.curvature.diagonal[row][:, None]
        equations = scaled.T @ columns
        diagonal = np.einsum('ff->f', equations)
        diagonal += self.strength + LEAST_RIDGE * diagonal
        by_line = self.curvature.by_line[row] @ columns
        exact = equations - by_line.T @ by_line
        try:
            np.linalg.cholesky(exact)
        except np.linalg.LinAlgError:
            by_line = self.curvature.convex_by_line[row] @ columns
            return equations - by_line.T @ by_line
        return exact

    def conjugate(self) -> NDArray:
        """About the change of the weights, `(q, c)`, before they are clipped.

        Conjugate gradients; they end where the curvature is negative.
        """
        # Weights that are about to become 0 are left to their own slope.
        down = -self.gradient / self.strength
        moves = np.abs(np.maximum(down, -self.weights)).max(axis=1)
        near = self.weights <= np.minimum(NEAR_ZERO, moves)[:, None]
        falling = near & (self.gradient > 0)
        free = self.free & ~falling
        error = np.where(free, -self.gradient, 0)
        change, direction = np.zeros_like(error), error.copy()
        size = first = dots(error, error)
        for iteration in range(MAX_ITERATIONS):
            image = self.curvature.times(direction @ self.columns.T)
            image = image @ self.columns
            image *= free
            image += self.strength * direction
            bend = dots(direction, image)
            convex = bend > 1e-12 * self.strength * dots(direction, direction)
            if not iteration:
                change[~convex] = direction[~convex] / self.strength
            length = np.where(convex, ratio(size, bend), 0)[:, None]
            change += length * direction
            error -= length * image
            last, size = size, np.where(convex, dots(error, error), 0)
            if np.all(size <= STEP_TOLERANCE**2 * first):
                break
            direction *= ratio(size, last)[:, None]
            direction += np.where(convex[:, None], error, 0)
        return np.where(falling & self.free, down, change)


def _without_negative(equations: NDArray, target: NDArray) -> NDArray:
    """About the least `x' E x / 2 - t' x` with no x below 0, `(f,)`."""
    kept = np.ones(len(target), dtype=bool)
    rounding = 1e-9 * np.abs(target).max()
    for pivot in range(MAX_PIVOTS):
        solution = np.zeros(len(target))
        solution[kept] = np.linalg.solve(equations[np.ix_(kept, kept)],
                                         target[kept])
        if (solution >= 0).all():
            back = ~kept & (equations @ solution - target < -rounding)
            if not back.any() or pivot > MAX_PIVOTS / 2:
                break
            kept |= back
        else:
            kept &= solution > 0
    return np.maximum(solution, 0)


class ModelSpace:
    """Newton steps by equations of the n models, with any number of weights.

    A step minimises `strength / 2 |w - 1|^2 + z' H z / 2 - t' z` over weights
    `w` of 0 or more, with the scores `z = C w`. There, `w` is the positive
    part of `1 - C' y / strength`, with `y = H z - t`. If it is known which
    weights are positive, `y` solves n equations that take from their columns
    only the inner products; they are solved for those positive in the last
    solution until these stay the same. Source: Hintermueller, Ito and Kunisch,
    The primal-dual active set strategy as a semismooth Newton method, SIAM
    Journal on Optimization 13(3), 2002.

    Args:
        columns (NDArray): Of the weights, `C`, `(n, K)`.
    """

    def __init__(self, columns: NDArray) -> None:
        self._columns = columns
        self._known: dict[int, _Products] = {}

    __repr__ = short_repr

    @cached_property
    def _by_weight(self) -> NDArray:
        return np.ascontiguousarray(self._columns.T)

    @cached_property
    def _all_products(self) -> '_Products':
        every = np.ones(len(self._by_weight), dtype=bool)
        return _Products.of(self._by_weight, every)

    def step(self, rows: NDArray, curvature: 'Curvature', strength: float,
             weights: NDArray, scores: NDArray) -> tuple[NDArray, NDArray]:
        """The least weights `(q, K)` and their scores `(q, n)`.

        Args:
            rows (NDArray): Which regressions, by numbers of their own. `(q,)`.
            curvature (Curvature): Where they are.
            strength (float): Of the penalty.
            weights (NDArray): Where they are, `(q, K)`.
            scores (NDArray): Of these, `(q, n)`.
        """
        quadratics = [
            _Quadratic.of(curvature, row, scores[row])
            for row in range(len(rows))
        ]
        weights, positive = weights.copy(), weights > 0
        going = np.arange(len(rows))
        for _ in range(MAX_PIVOTS):
            slopes = np.empty((len(going), len(self._columns)))
            for i, row in enumerate(going):
                products = self._products(int(rows[row]), positive[row])
                found = quadratics[row].slopes(products, strength)
                if found is None:
                    quadratics[row] = _Quadratic.of(
                        curvature, row, scores[row], convex=True)
                    found = quadratics[row].slopes(products, strength)
                slopes[i] = found
            weights[going] = 1 - slopes @ self._columns / strength
            before = positive[going]
            positive[going] = weights[going] > 0
            going = going[(positive[going] != before).any(axis=1)]
            if not len(going):
                break
        weights = np.maximum(weights, 0)
        return weights, weights @ self._columns.T

    def _products(self, row: int, positive: NDArray) -> '_Products':
        """Of the columns of positive weights, from what was known last."""
        known = self._known.get(row, self._all_products)
        self._known[row] = known.changed(self._by_weight, positive)
        return self._known[row]


class _Products(NamedTuple):
    """Of some columns: which `(K,)`, inner products `(n, n)`, sum `(n,)`."""
    taken: NDArray
    inner: NDArray
    total: NDArray

    @classmethod
    def of(cls, by_weight: NDArray, taken: NDArray) -> '_Products':
        """Of columns `(K, n)`, those that are taken."""
        columns = by_weight if taken.all() else by_weight[taken]
        return cls(taken.copy(), columns.T @ columns, columns.sum(axis=0))

    def changed(self, by_weight: NDArray, taken: NDArray) -> '_Products':
        """The same where others are taken."""
        came, left = taken & ~self.taken, self.taken & ~taken
        if came.sum() + left.sum() > taken.sum():
            return self.of(by_weight, taken)
        inner, total = self.inner, self.total
        for sign, change in ((1, came), (-1, left)):
            if change.any():
                part = self.of(by_weight, change)
                inner = inner + sign * part.inner
                total = total + sign * part.total
        return _Products(taken.copy(), inner, total)


class _Quadratic(NamedTuple):
    """The objective about the scores of one regression.

    `H` is `S (I - L' L) S`, with `S` the roots `(n,)` and `L` what lines that
    are fitted anew take off, `(2, n)`; `t` is `S` times the target, `(n,)`.
    """
    roots: NDArray
    lines: NDArray
    target: NDArray

    @classmethod
    def of(cls,
           curvature: 'Curvature',
           row: int,
           scores: NDArray,
           convex: bool = False) -> '_Quadratic':
        """Of one of q regressions, about its scores `(n,)`."""
        by_line = curvature.convex_by_line if convex else curvature.by_line
        roots = np.sqrt(curvature.diagonal[row])
        lines = ratio(by_line[row], np.broadcast_to(roots, (2, len(roots))))
        scaled = roots * scores
        scaled = scaled - (lines @ scaled) @ lines
        # The slopes at these scores are the gradient.
        return cls(roots, lines,
                   scaled - ratio(curvature.gradient[row], roots))

    def slopes(self, products: _Products,
               strength: float) -> Optional[NDArray]:
        """`y` where it is least, `(n,)`; None if the objective has no least.

        Args:
            products (_Products): Of the columns of positive weights.
            strength (float): Of the penalty.
        """
        inner = np.outer(self.roots, self.roots) * products.inner
        total = self.roots * products.total
        right = total - (self.lines @ total) @ self.lines - self.target
        equations = inner.copy()
        np.einsum('nn->n', equations)[:] += strength
        solved = np.linalg.solve(
            equations, np.column_stack([strength * right, self.lines.T]))
        solution, by_line = solved[:, 0], solved[:, 1:]
        # `I - L inner by_line`, of which rounding would leave nothing where
        # the penalty is small beside the products.
        rest = (1 + ROUNDING) * np.eye(2) - self.lines @ self.lines.T
        rest += strength * self.lines @ by_line
        if np.linalg.eigvalsh(rest)[0] <= 0:
            return None
        along = np.linalg.solve(rest, self.lines @ inner @ solution)
        return self.roots * (solution + by_line @ along)
