"""Ridge regressions on features of many columns, in the space of the models.

The penalised coefficients of a regression on n models are a sum of the
models' features, each times a multiplier: n numbers hold them, however many
columns there are, and all that is needed of the features is the matrix of
their inner products. Regressions on the same models are solved together, by
Newton steps with a line search, each step by conjugate gradients.
"""
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import SalienceModel
from csv_plugin.core.salience.ridge_regressions import Problems, Solutions
from csv_plugin.core.salience.rows import dots, ratio
from csv_plugin.core.scaling_law import (Regressions, accuracy_at, slope_at,
                                         weighted_squares)

#: Most principal directions that the preconditioner knows.
MAX_DIRECTIONS = 48
#: It knows those that are larger than the mean of the others by this factor.
LEAST_DIRECTION = 4
#: A regression is solved once its next step is expected to improve the
#: objective by less than this share: of a path, and for what is chosen.
TOLERANCE, FINAL_TOLERANCE = 1e-8, 1e-14
#: A model's curvature is that of its squared residual where it is within this
#: range of the squared slope. (Gauss-Newton steps have the squared slope alone
#: and take several times as many steps.)
CURVATURES = 0.1, 10.0
#: Squared slopes below this are taken for 0 where a step starts.
LEAST_SQUARE = 1e-12
#: Steps at a penalty, halvings of a step, iterations of conjugate gradients.
MAX_STEPS, MAX_HALVINGS, MAX_ITERATIONS = 50, 12, 10
#: Conjugate gradients end at this share of their first error.
STEP_TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class CentredFeatures:
    """Features of n models around their means.

    Args:
        values (NDArray): Features less their means, times `scale`, `(n, K)`.
        free (NDArray): Columns that no penalty is on: ones and the
            standardised mean loss, `(n, 2)`.
        means (NDArray): Shape `(K,)`.
        uniform (NDArray): Coefficients of the mean loss, `(K,)`.
        spread (float): Standard deviation of the mean loss.
        scale (float): Makes the largest value 1, so that squares of losses
            neither overflow nor vanish.
    """
    values: NDArray
    free: NDArray
    means: NDArray
    uniform: NDArray
    spread: float
    scale: float

    __repr__ = short_repr

    @classmethod
    def of(cls, values: NDArray, uniform: NDArray) -> 'CentredFeatures':
        """Of features `(n, K)` and uniform coefficients `(K,)`."""
        means = values.mean(axis=0)
        centred = values - means
        scale = 1 / np.abs(centred).max()
        centred *= scale
        mean_loss = centred @ uniform
        spread = mean_loss.std()
        free = np.stack([np.ones(len(values)), mean_loss / spread], axis=1)
        return cls(centred, free, means, uniform, spread / scale, scale)


@dataclass(frozen=True, eq=False)
class InnerProducts:
    """Inner products of the features of n models.

    Args:
        factor (NDArray): The features where that is less work than the
            products, which are `factor factor'`; else the products. `(n, m)`.
        directions (NDArray): The free columns, then the first k principal
            directions of the products, of length 1, `(n, 2 + k)`.
        inverse_sizes (NDArray): One over what the eigenvalues of the
            directions exceed `rest` by; 0 for the free columns. `(2 + k,)`.
        rest (float): Mean eigenvalue of all other directions.
        largest (float): The largest variance of any direction of the
            features, the unit of penalties.
    """
    factor: NDArray
    directions: NDArray
    inverse_sizes: NDArray
    rest: float
    largest: float

    __repr__ = short_repr

    @classmethod
    def of(cls, values: NDArray, free: NDArray) -> 'InnerProducts':
        """Of centred features `(n, K)` and free columns `(n, 2)`."""
        n, n_columns = values.shape
        products = values @ values.T
        k = min(MAX_DIRECTIONS, n - 1)
        sizes, axes = eigh(products, subset_by_index=[n - k, n - 1])
        rest = max(np.trace(products) - sizes.sum(), 0) / (n - k)
        kept = sizes > max(LEAST_DIRECTION * rest, 1e-12 * sizes[-1])
        return cls(values if 2 * n_columns < n else products,
                   np.hstack([free, axes[:, kept]]),
                   np.concatenate([np.zeros(2), 1 / (sizes[kept] - rest)]),
                   rest, sizes[-1] / n)

    def times(self, multipliers: NDArray) -> NDArray:
        """The products times multipliers, both `(q, n)`."""
        product = multipliers @ self.factor
        if self.factor.shape[0] == self.factor.shape[1]:
            return product
        return product @ self.factor.T


@dataclass(frozen=True, eq=False)
class WideRidge:
    """See `RidgeRegressions`; solutions have multipliers, `(Q, n)`.

    Args:
        features (CentredFeatures): Of n models.
    """
    features: CentredFeatures

    __repr__ = short_repr

    @classmethod
    def of(cls, values: NDArray, uniform: NDArray) -> 'WideRidge':
        """Of features `(n, K)`, and `(K,)` coefficients of the mean loss."""
        return cls(CentredFeatures.of(values, uniform))

    @cached_property
    def products(self) -> InnerProducts:
        """Of the features; made once, when a penalty is first asked for."""
        return InnerProducts.of(self.features.values, self.features.free)

    def path(self, problems: Problems,
             penalties: tuple[float, ...]) -> list[Solutions]:
        """See `RidgeRegressions.path`."""
        columns = self.features.free
        curves = Regressions(
            columns,
            problems.accuracy,
            problems.masks,
            problems.floors,
            n_free=2)
        free = curves.solve(0.0, curves.start())
        path = [
            Solutions(free, np.zeros_like(problems.masks), free @ columns.T)
        ]
        if penalties:
            follower = _Follower(self, problems, path[0])
        for penalty in penalties:
            follower.follow(penalty, TOLERANCE)
            path.append(follower.solutions)
        return path

    def refined(self, problems: Problems, solutions: Solutions,
                penalty: float) -> Solutions:
        """See `RidgeRegressions.refined`."""
        follower = _Follower(self, problems, solutions)
        follower.follow(penalty, FINAL_TOLERANCE)
        return follower.solutions

    def models(self, solutions: Solutions, floor: float) -> SalienceModel:
        """See `RidgeRegressions.models`."""
        features = self.features
        gradient = solutions.penalised @ features.values * features.scale
        gradient += solutions.free[:, 1:] / features.spread * features.uniform
        offset = solutions.free[:, 0] - gradient @ features.means
        return SalienceModel.from_linear(gradient, offset, floor,
                                         features.uniform)


class _Follower:
    """Moves regressions from penalty to penalty.

    At the optimum a multiplier is slope times residual over penalty.

    Args:
        ridge (WideRidge): Of the features.
        problems (Problems): Q regressions.
        start (Solutions): Of a larger penalty.
    """

    def __init__(self, ridge: WideRidge, problems: Problems,
                 start: Solutions) -> None:
        self._columns, self._products = ridge.features.free, ridge.products
        self._accuracy, self._masks = problems.accuracy, problems.masks
        self._floors = problems.floors[:, None]
        self._n_fitted = problems.masks.sum(axis=1)
        self._multipliers = start.penalised.copy()
        self._free = start.free.copy()
        # What the penalised coefficients add to the exponents.
        self._penalised = start.exponents - start.free @ self._columns.T

    @property
    def solutions(self) -> Solutions:
        """Where the regressions are."""
        return Solutions(self._free.copy(), self._multipliers.copy(),
                         self._exponents(slice(None)))

    def follow(self, penalty: float, tolerance: float) -> None:
        """Minimise all Q objectives, from where the regressions are.

        Args:
            penalty (float): Positive.
            tolerance (float): See `TOLERANCE`.
        """
        strength = penalty * self._products.largest
        rows = np.arange(len(self._free))
        value = self._objective(rows, strength)
        last = np.zeros(len(rows))
        for _ in range(MAX_STEPS):
            new = self._step(rows, strength, value)
            gain = value - new
            # Steps shrink at least linearly.
            expected = gain * np.minimum(ratio(gain, last, 1), 1)
            going = expected > tolerance * value
            rows, value, last = rows[going], new[going], gain[going]
            if not len(rows):
                break

    def _exponents(self, rows: Any) -> NDArray:
        return self._free[rows] @ self._columns.T + self._penalised[rows]

    def _residuals(self, rows: NDArray, exponents: NDArray) -> NDArray:
        return self._masks[rows] * (
            self._accuracy - accuracy_at(exponents, self._floors[rows]))

    def _objective(self, rows: NDArray, strength: float) -> NDArray:
        residuals = self._residuals(rows, self._exponents(rows))
        return dots(residuals, residuals) / self._n_fitted[rows] + (
            strength * dots(self._multipliers[rows], self._penalised[rows]))

    def _step(self, rows: NDArray, strength: float, value: NDArray) -> NDArray:
        """A Newton step of some regressions; their new objectives."""
        exponents = self._exponents(rows)
        residuals = self._residuals(rows, exponents)
        slopes = self._masks[rows] * slope_at(exponents, self._floors[rows])
        bend = residuals * slopes * (1 - 2 * expit(exponents))
        roots = np.sqrt(
            np.clip(slopes**2 - bend, CURVATURES[0] * slopes**2,
                    CURVATURES[1] * slopes**2))
        system = _System(self._products, self._columns, roots,
                         strength * self._n_fitted[rows])
        target = roots * exponents + residuals * ratio(slopes, roots)
        # Multipliers over roots, and 0 for models without a slope.
        start = self._multipliers[rows] * roots / (roots**2 + LEAST_SQUARE)
        solution, penalised, free = system.solve(target, start)
        change = _Change(roots * solution - self._multipliers[rows],
                         penalised - self._penalised[rows],
                         free - self._free[rows])
        share, new = self._line_search(rows, strength, value, exponents,
                                       change)
        self._multipliers[rows] += share * change.multipliers
        self._penalised[rows] += share * change.penalised
        self._free[rows] += share * change.free
        return new

    def _line_search(self, rows: NDArray, strength: float, value: NDArray,
                     exponents: NDArray,
                     change: '_Change') -> tuple[NDArray, NDArray]:
        """The share of the step to take, `(q, 1)`, and the new objectives.

        Exponents are linear along the step and the penalty is a parabola, so
        no product is needed.
        """
        by_exponent = change.penalised + change.free @ self._columns.T
        parabola = strength * np.stack([
            dots(self._multipliers[rows], self._penalised[rows]),
            2 * dots(self._multipliers[rows], change.penalised),
            dots(change.multipliers, change.penalised)
        ])
        share, new = np.zeros(len(rows)), value.copy()
        trying, part = np.arange(len(rows)), 1.0
        for _ in range(MAX_HALVINGS):
            residuals = self._residuals(
                rows[trying], exponents[trying] + part * by_exponent[trying])
            trial = dots(residuals, residuals) / self._n_fitted[rows[trying]]
            trial += np.array([1, part, part**2]) @ parabola[:, trying]
            better = trial <= value[trying]
            share[trying[better]], new[trying[better]] = part, trial[better]
            trying, part = trying[~better], part / 2
            if not len(trying):
                break
        return share[:, None], new


class _Change(NamedTuple):
    """A step of q regressions: multipliers, their part of the exponents, b."""
    multipliers: NDArray
    penalised: NDArray
    free: NDArray


class _System:
    """The equations of a Newton step, for q regressions at once.

    `(l I + S P S) x + S F b = target` and `F' S x = 0`, where `S` holds the
    roots of the curvatures, `P` the inner products, `F` the free columns,
    `l` the penalty times the models that count, and `S x` the multipliers.
    The preconditioner takes all but the first principal directions of `P` to
    be of one size; with that it solves the equations exactly, so conjugate
    gradients stay where `F' S x = 0`.
    """

    def __init__(self, products: InnerProducts, columns: NDArray,
                 roots: NDArray, strengths: NDArray) -> None:
        self._products, self._columns = products, columns
        self._roots, self._strengths = roots, strengths[:, None]
        squares = roots**2
        self._scale = 1 / (self._strengths + products.rest * squares)
        inner = weighted_squares(squares * self._scale, products.directions)
        diagonal = np.einsum('qpp->qp', inner)
        _keep_solvable(diagonal)
        diagonal += products.inverse_sizes
        self._inner = np.linalg.inv(inner)

    def solve(self, target: NDArray,
              start: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """`x`, `P S x` and `b` of targets `(q, n)`, from a start `(q, n)`."""
        x = self._admissible(start)
        product = self._products.times(self._roots * x)
        error = target - self._strengths * x - self._roots * product
        direction, free = self._precondition(error)
        size = first = dots(error, direction)
        for _ in range(MAX_ITERATIONS):
            by_direction = self._products.times(self._roots * direction)
            image = self._strengths * direction + self._roots * by_direction
            length = ratio(size, dots(direction, image))[:, None]
            x += length * direction
            product += length * by_direction
            error -= length * image
            update, more = self._precondition(error)
            free += more
            last, size = size, dots(error, update)
            if np.all(size <= STEP_TOLERANCE**2 * first):
                break
            direction *= ratio(size, last)[:, None]
            direction += update
        return x, product, free

    def _precondition(self, error: NDArray) -> tuple[NDArray, NDArray]:
        """Approximate `x` and `b`; takes `S F b` off the error in place."""
        directions = self._products.directions
        x = error * self._scale
        parts = (self._roots * x) @ directions
        parts = (self._inner @ parts[:, :, None])[:, :, 0]
        x -= (parts @ directions.T) * (self._roots * self._scale)
        free = parts[:, :2]
        error -= self._roots * (free @ self._columns.T)
        return x, free

    def _admissible(self, start: NDArray) -> NDArray:
        """The nearest `x` with `F' S x = 0`."""
        squares = weighted_squares(self._roots**2, self._columns)
        _keep_solvable(np.einsum('qpp->qp', squares))
        sums = (self._roots * start) @ self._columns
        parts = np.linalg.solve(squares, sums[:, :, None])[:, :, 0]
        return start - self._roots * (parts @ self._columns.T)


def _keep_solvable(diagonal: NDArray) -> None:
    """Add to diagonals `(q, p)`, in place, for slopes that are all 0."""
    diagonal += 1e-15 * diagonal + 1e-200
