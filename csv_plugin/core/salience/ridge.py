"""Signed weights, shrunk toward uniform.

`min mean_m (A_m - Ahat_m)^2 + penalty min_a |c - a u|^2` over the coefficients
`c`, with `u` the uniform ones: the mean loss keeps its own unpenalised
coefficient, so without evidence the answer is the mean loss. Penalty
and floor come from family-grouped cross-validation.

The penalised coefficients of a regression on n models are a sum of the models'
features, each times a multiplier. So n numbers represent them, and only the
inner products of the features are needed. Regressions on the same models are
solved together, by Newton steps with a line search; each step is found by
conjugate gradients.
"""
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.formatting import short_repr
from csv_plugin.core.salience.base import (SalienceFit, Task, fit_notes,
                                           floor_candidates, with_all)
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Regressions, accuracy_at

#: Relative to the largest variance of any direction of the features.
PENALTIES = tuple(10**(-i / 2) for i in range(21))
#: Penalty of `Plain`: so weak that three columns are hardly shrunk.
WEAK = 10**-3.5
#: Most principal directions in the preconditioner.
MAX_DIRECTIONS = 24
#: They are larger than the mean of the others by this factor.
LEAST_DIRECTION = 3
#: A regression is solved once its next step is expected to improve the
#: objective by less than this share: of a path, and for what is chosen.
TOLERANCE, FINAL_TOLERANCE = 1e-8, 1e-14
#: A model's curvature is that of its squared residual where it is within this
#: range of the squared slope. (Gauss-Newton steps have the squared slope alone
#: and take several times as many steps.)
CURVATURES = 0.1, 10.0
#: And never less than this, so that a model without a slope can be moved.
LEAST_CURVATURE = 1e-12
#: Steps at a penalty, halvings of a step, iterations of conjugate gradients.
MAX_STEPS, MAX_HALVINGS, MAX_ITERATIONS = 50, 12, 10
#: Conjugate gradients end at this share of their first squared error.
STEP_TOLERANCE = 0.04
#: With so many models, products are what takes long. They take half as long in
#: numbers of 32 bits, which are exact enough inside conjugate gradients.
MANY_MODELS = 400


@dataclass(frozen=True)
class Uniform:
    """Every weight is 1, and the curve is fitted to the mean loss.

    Args:
        learn_floor (bool): Choose the floor in [0, chance] by cross-validation
            rather than fix it at chance.
    """
    learn_floor: bool = False
    name: str = 'uniform'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return _cross_validate(task, masks, self.name, (), self.learn_floor)


@dataclass(frozen=True)
class Ridge:
    """Signed weights, shrunk toward uniform, with a learned floor.

    Args:
        penalties (tuple[float, ...]): Candidates, in falling order.
        learn_floor (bool): As in `Uniform`.
    """
    penalties: tuple[float, ...] = PENALTIES
    learn_floor: bool = True
    name: str = 'ridge'

    __repr__ = short_repr

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return _cross_validate(task, masks, self.name, self.penalties,
                               self.learn_floor)


@dataclass(frozen=True)
class Plain:
    """Signed weights for few columns: hardly shrunk, nothing chosen.

    The floor is the chance level. With a handful of families and columns, a
    choice among many penalties and floors costs more than it gains.
    """
    penalty: float = WEAK
    name: str = 'plain'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`; a single family gets the mean loss."""
        if not len(masks):
            return replace(Uniform().fit(task, masks), solver=self.name)
        floors = floor_candidates(task.chance)[:1]
        problems = Problems.of_folds(task, masks, floors)
        ridge = task.features.once(RidgeRegressions.of)
        start = ridge.path(problems, (self.penalty, ))[-1]
        solutions = ridge.refined(problems, start, self.penalty)
        models = ridge.models(solutions, floors[0])
        folds, model = models[:-1], models[-1]
        error = errors_by_floor([solutions], task, masks, floors)
        return SalienceFit(self.name, model, folds, masks, self.penalty,
                           float(error[0, 0]),
                           fit_notes(model, masks, gained=True))


def _cross_validate(task: Task, masks: NDArray, name: str,
                    penalties: tuple[float,
                                     ...], learn_floor: bool) -> SalienceFit:
    """Fit every penalty and floor, keep the best on held-out models."""
    choosing = learn_floor and len(masks)
    floors = floor_candidates(task.chance)[:None if choosing else 1]
    penalties = penalties if len(masks) else ()
    problems = Problems.of_folds(task, masks, floors)
    ridge = task.features.once(RidgeRegressions.of)
    path = ridge.path(problems, penalties)
    errors = errors_by_floor(path, task, masks, floors)
    best, floor = (
        int(i) for i in np.unravel_index(np.argmin(errors), errors.shape))
    tried = np.array([np.inf, *penalties])
    n_fits = len(masks) + 1
    of_floor = slice(floor * n_fits, (floor + 1) * n_fits)
    solutions = path[best][of_floor]
    if best:
        solutions = ridge.refined(problems[of_floor], solutions, tried[best])
    models = ridge.models(solutions, floors[floor])
    folds, model = models[:-1], models[-1]
    gained = bool(best) or name == Uniform.name
    return SalienceFit(name, model, folds, masks, float(tried[best]),
                       float(errors[best, floor]),
                       fit_notes(model, masks, gained))


class Features(Protocol):
    """Feature columns `(n, K)` and coefficients of the mean loss `(K,)`."""

    @property
    def values(self) -> NDArray:
        """Shape `(n, K)`."""

    @property
    def uniform(self) -> NDArray:
        """Shape `(K,)`."""


@dataclass(frozen=True, eq=False)
class Problems:
    """Q regressions: accuracies `(n,)`, masks `(Q, n)` and floors `(Q,)`.

    Each minimises `mean_i mask_i (a_i - A(e_i))^2 + penalty |g|^2` over `b`
    and `g`, where `A` is Eq. 2 and `e = b_0 + b_1 mean loss + features g` the
    exponents. Penalties are relative to the largest variance of any direction
    of the features. Masks are 0 or 1.
    """
    accuracy: NDArray
    masks: NDArray
    floors: NDArray

    @classmethod
    def of_folds(cls, task: Task, masks: NDArray,
                 floors: NDArray) -> 'Problems':
        """Make fits with each floor: by masks `(F, n)`, then to all models."""
        rows = with_all(masks)
        return cls(task.accuracy,
                   np.tile(rows, (len(floors), 1)).astype(float),
                   np.repeat(floors, len(rows)))

    def __getitem__(self, rows: Any) -> 'Problems':
        return Problems(self.accuracy, self.masks[rows], self.floors[rows])


@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions of Q regressions on n models.

    `free` are the coefficients `b`, `(Q, 2)`, `penalised` the multiplier of
    each model in `g`, `(Q, n)`, `exponents` those of all models, `(Q, n)`.
    """
    free: NDArray
    penalised: NDArray
    exponents: NDArray

    def __getitem__(self, rows: Any) -> 'Solutions':
        return Solutions.joined(lambda arrays: arrays[0][rows], [self])

    @classmethod
    def joined(cls, join: Callable[[tuple[NDArray, ...]], NDArray],
               parts: Sequence['Solutions']) -> 'Solutions':
        """Join each array of several solutions."""
        return cls(*map(join, zip(*(vars(part).values() for part in parts))))

    @classmethod
    def average(cls, parts: Sequence['Solutions'],
                weights: Iterable[float]) -> 'Solutions':
        """Average solutions of the same regressions."""
        return cls.joined(
            lambda arrays: np.asarray(sum(map(np.multiply, weights, arrays))),
            parts)


def errors_by_floor(path: Sequence[Solutions], task: Task, masks: NDArray,
                    floors: NDArray) -> NDArray:
    """Return mean squared errors where masks are False, `(P, L)`, or NaN.

    The path has the solutions of `Problems.of_folds` at P penalties. Masks are
    those of its folds, `(F, n)`, for errors on held-out models, or their
    opposites, for errors on fitted ones.
    """
    fold, model = np.nonzero(~masks)
    shape = len(floors), len(masks) + 1, -1
    exponents = np.array(
        [part.exponents.reshape(shape)[:, fold, model] for part in path])
    errors = accuracy_at(exponents, floors[:, None]) - task.accuracy[model]
    return np.sum(errors**2, axis=2) / (len(fold) or np.nan)


@dataclass(frozen=True, eq=False)
class Centre:
    """Centre and scale of the features of n models.

    `free` are the unpenalised columns: ones and the standardised mean loss,
    `(n, 2)`. `means` are those of the features, `(K,)`, `spread` is the
    standard deviation of the mean loss. `scale` makes the range of centred
    values 1, so that squares of losses neither overflow nor vanish.
    """
    free: NDArray
    means: NDArray
    spread: float
    scale: float

    @classmethod
    def of(cls, features: Features) -> tuple['Centre', NDArray]:
        """Centre and scale the features of n models, `(n, K)`."""
        values = features.values
        means = values.mean(axis=0)
        centred = values - means
        scale = 1 / np.ptp(centred)
        centred *= scale
        mean_loss = centred @ features.uniform
        spread = mean_loss.std()
        free = np.stack([np.ones(len(values)), mean_loss / spread], axis=1)
        return cls(free, means, spread / scale, scale), centred


@dataclass(frozen=True, eq=False)
class InnerProducts:
    """Inner products of the features of n models.

    `factor`, `(n, m)`, are the features where that is less work than the
    products `factor factor'`; else the products. `directions`, `(n, p)`, are
    the free columns, then the first principal directions of the products, of
    length 1, and `pairs`, `(n, p (p + 1) / 2)`, products of every two of them,
    with `places`, `(p, p)`, among these.
    `inverse_sizes` are 1 / (eigenvalue - `rest`), 0 for the free columns;
    `rest` is the mean eigenvalue of all other directions. `largest` is the
    largest variance of any direction of the features, the unit of penalties.
    `others` are the products less the part of the principal directions, in 32
    bits; None for few models.
    """
    factor: NDArray
    directions: NDArray
    pairs: NDArray
    places: NDArray[np.int64]
    inverse_sizes: NDArray
    rest: float
    largest: float
    others: Optional[NDArray[np.float32]] = None

    @classmethod
    def of(cls, values: NDArray, free: NDArray) -> 'InnerProducts':
        """Make products of centred features `(n, K)`."""
        n, n_columns = values.shape
        products = values @ values.T
        k = min(MAX_DIRECTIONS, n - 1)
        sizes, axes = scipy.linalg.eigh(
            products, subset_by_index=[n - k, n - 1])
        rest = max(np.trace(products) - sizes.sum(), 0) / (n - k)
        kept = sizes > max(LEAST_DIRECTION * rest, 1e-12 * sizes[-1])
        directions = np.hstack([free, axes[:, kept]])
        first, second = np.triu_indices(directions.shape[1])
        places = np.zeros((directions.shape[1], ) * 2, dtype=int)
        places[first, second] = places[second, first] = np.arange(len(first))
        others = None
        if n >= MANY_MODELS and n <= 2 * n_columns:
            known = (axes[:, kept] * sizes[kept]) @ axes[:, kept].T
            others = (products - known).astype(np.float32)
        return cls(values if 2 * n_columns < n else products, directions,
                   directions[:, first] * directions[:, second], places,
                   np.concatenate([np.zeros(2), 1 / (sizes[kept] - rest)]),
                   rest, sizes[-1] / n, others)

    def times(self, multipliers: NDArray) -> NDArray:
        """Return the products times multipliers, both `(q, n)`."""
        product = multipliers @ self.factor
        if self.factor.shape[0] == self.factor.shape[1]:
            return product
        return product @ self.factor.T

    def nearly_times(self, multipliers: NDArray) -> NDArray:
        """Return `times` with seven digits outside of the directions."""
        if self.others is None:
            return self.times(multipliers)
        axes = self.directions[:, 2:]
        sizes = self.rest + 1 / self.inverse_sizes[2:]
        product = (multipliers @ axes * sizes) @ axes.T
        product += multipliers.astype(np.float32) @ self.others
        return product

    def weighted_squares(self, weights: NDArray) -> NDArray:
        """Return `D' diag(w) D` of the directions `D`; weights `(q, n)`."""
        return (weights @ self.pairs)[:, self.places]


@dataclass(frozen=True, eq=False)
class RidgeRegressions:
    """Solves ridge regressions on the features of n models."""
    features: Features
    centre: Centre
    products: InnerProducts

    @classmethod
    def of(cls, features: Features) -> 'RidgeRegressions':
        """Prepare the regressions on these features."""
        centre, centred = Centre.of(features)
        return cls(features, centre, InnerProducts.of(centred, centre.free))

    def path(self,
             problems: Problems,
             penalties: tuple[float, ...],
             tolerance: float = TOLERANCE,
             hopeful: Optional[Callable[[Solutions], NDArray]] = None
             ) -> list[Solutions]:  # yapf: disable
        """Follow regressions from uniform weights to ever freer ones.

        Returns solutions at an infinite penalty, where `g` is 0, then at each
        of the falling penalties. `hopeful` gets those at a penalty and returns
        the mask `(Q,)` of regressions to follow; others stay where they are.
        """
        columns = self.centre.free
        curves = Regressions(columns, problems.accuracy, problems.masks,
                             problems.floors)
        free = curves.solve(curves.start())
        path = [
            Solutions(free, np.zeros_like(problems.masks), free @ columns.T)
        ]
        if penalties:
            follower = _PenaltyPath(self, problems, path[0])
        for penalty in penalties:
            follower.follow(np.full(len(problems.masks), penalty), tolerance)
            path.append(follower.solutions)
            if hopeful:
                hope = hopeful(path[-1])
                follower.rows = follower.rows[hope[follower.rows]]
        return path

    def refined(self,
                problems: Problems,
                solutions: Solutions,
                penalties: ArrayLike,
                tolerance: float = FINAL_TOLERANCE) -> Solutions:
        """Refine solutions at their penalties, of all or `(Q,)`."""
        follower = _PenaltyPath(self, problems, solutions)
        if tolerance < TOLERANCE:
            # In the last digits, products must be exact.
            follower.products = replace(self.products, others=None)
        follower.follow(
            np.broadcast_to(penalties, len(problems.masks)), tolerance)
        return follower.solutions

    def models(self, solutions: Solutions, floor: float) -> SalienceModel:
        """Turn solutions with one floor into salience models `(Q,)`."""
        offset, gradient = self.linear(solutions)
        return SalienceModel.from_linear(gradient, offset, floor,
                                         self.features.uniform)

    def linear(self, solutions: Solutions) -> tuple[NDArray, NDArray]:
        """Return offsets `(Q,)` of exponents and their gradients `(Q, K)`."""
        centre, uniform = self.centre, self.features.uniform
        # Less their mean, so that it does not matter where features are 0.
        multipliers = solutions.penalised - solutions.penalised.mean(
            axis=1, keepdims=True)
        gradient = (multipliers * centre.scale) @ self.features.values
        gradient *= centre.scale
        gradient += solutions.free[:, 1:] / centre.spread * uniform
        return solutions.free[:, 0] - gradient @ centre.means, gradient


class _Iterate(NamedTuple):
    """Position of q regressions, or a move.

    Multipliers and their part of the exponents are `(q, n)`, the free
    coefficients `(q, 2)`.
    """
    multipliers: NDArray
    penalised: NDArray
    free: NDArray


class _PenaltyPath:
    """Moves regressions from penalty to penalty.

    At the optimum a multiplier is slope times residual over penalty. Tangents
    of half the exponents are stored too, as numpy computes them faster than
    the logistic function.
    """

    def __init__(self, ridge: RidgeRegressions, problems: Problems,
                 start: Solutions) -> None:
        self._columns, self.products = ridge.centre.free, ridge.products
        self._accuracy, self._masks = problems.accuracy, problems.masks
        self._floors = problems.floors[:, None]
        self._n_fitted = problems.masks.sum(axis=1)
        self._place = _Iterate(start.penalised.copy(),
                               start.exponents - start.free @ self._columns.T,
                               start.free.copy())
        self._tangents = np.tanh(start.exponents / 2)
        self._last_move: Optional[_Iterate] = None
        #: Those that are still moved.
        self.rows = np.arange(len(problems.masks))

    @property
    def solutions(self) -> Solutions:
        """Current place of all Q regressions."""
        place = self._place
        return Solutions(place.free.copy(), place.multipliers.copy(),
                         self._exponents(slice(None)))

    def follow(self, penalties: NDArray, tolerance: float) -> None:
        """Minimise the objectives of `rows`, from the current place.

        Penalties are `(Q,)`.

        The first step repeats the total move of the last penalty.
        """
        if not len(self.rows):
            return
        rows, self._strengths = self.rows, penalties * self.products.largest
        before = [part.copy() for part in self._place]
        value = self._objective(rows)
        if self._last_move:
            move = _Iterate(*(part[rows] for part in self._last_move))
            value = self._line_search(rows, value, move)
        last = np.zeros(len(rows))
        for _ in range(MAX_STEPS):
            new = self._step(rows, value)
            gain = value - new
            # Steps shrink at least linearly, the first one to a tenth.
            expected = gain * np.minimum(ratio(gain, last, 0.1), 1)
            going = expected > tolerance * value
            rows, value, last = rows[going], new[going], gain[going]
            if not len(rows):
                break
        if self.products.others is not None and tolerance <= TOLERANCE:
            self._place.penalised[self.rows] = self.products.times(
                self._place.multipliers[self.rows])
            self._tangents[self.rows] = np.tanh(self._exponents(self.rows) / 2)
        self._last_move = _Iterate(
            *(now - then for now, then in zip(self._place, before)))

    def _exponents(self, rows: Any) -> NDArray:
        return (self._place.free[rows] @ self._columns.T +
                self._place.penalised[rows])

    def _residuals(self, rows: NDArray, tangents: NDArray) -> NDArray:
        floors = self._floors[rows]
        fitted = (1 + floors) / 2 + (1 - floors) / 2 * tangents  # Eq. 2
        return self._masks[rows] * (self._accuracy - fitted)

    def _objective(self, rows: NDArray) -> NDArray:
        residuals = self._residuals(rows, self._tangents[rows])
        return dots(residuals, residuals) / self._n_fitted[rows] + (
            self._strengths[rows] *
            dots(self._place.multipliers[rows], self._place.penalised[rows]))

    def _step(self, rows: NDArray, value: NDArray) -> NDArray:
        """Make a Newton step; return the new objectives."""
        tangents, masks = self._tangents[rows], self._masks[rows]
        residuals = self._residuals(rows, tangents)
        slopes = masks * ((1 - self._floors[rows]) / 4 * (1 - tangents**2))
        squares = slopes**2
        bend = -tangents * slopes * residuals
        curvatures = np.maximum(squares - bend, CURVATURES[0] * squares)
        np.minimum(curvatures, CURVATURES[1] * squares, out=curvatures)
        roots = masks * np.sqrt(np.maximum(curvatures, LEAST_CURVATURE))
        strengths = self._strengths[rows] * self._n_fitted[rows]
        system = _System(self.products, self._columns, roots, strengths)
        target = slopes * residuals
        target -= strengths[:, None] * self._place.multipliers[rows]
        # Both are 0 where a model is held out.
        target /= np.maximum(roots, LEAST_CURVATURE)
        return self._line_search(rows, value, system.solve(target))

    def _line_search(self, rows: NDArray, value: NDArray,
                     move: _Iterate) -> NDArray:
        """Take the first share of a move that does not raise the objectives.

        Exponents are linear along the move and the penalty is a parabola, so
        no product is needed. Returns the new objectives.
        """
        place, exponents = self._place, self._exponents(rows)
        by_exponent = move.penalised + move.free @ self._columns.T
        parabola = self._strengths[rows] * np.stack([
            dots(place.multipliers[rows], place.penalised[rows]),
            2 * dots(place.multipliers[rows], move.penalised),
            dots(move.multipliers, move.penalised)
        ])
        shares, new = np.zeros(len(rows)), value.copy()
        trying, share = np.arange(len(rows)), 1.0
        for _ in range(MAX_HALVINGS):
            tangents = np.tanh(
                (exponents[trying] + share * by_exponent[trying]) / 2)
            residuals = self._residuals(rows[trying], tangents)
            trial = dots(residuals, residuals) / self._n_fitted[rows[trying]]
            trial += np.array([1, share, share**2]) @ parabola[:, trying]
            better = trial <= value[trying]
            shares[trying[better]], new[trying[better]] = share, trial[better]
            self._tangents[rows[trying[better]]] = tangents[better]
            trying, share = trying[~better], share / 2
            if not len(trying):
                break
        for part, change in zip(place, move):
            part[rows] += shares[:, None] * change
        return new


class _System:
    """Equations of a Newton step, for q regressions at once.

    `(l I + S P S) x + S F b = target` and `F' S x = 0`, where `S` contains the
    roots of the curvatures, `P` the inner products, `F` the free columns, `l`
    the penalty times the number of models, and `S x` moves the multipliers.
    The preconditioner treats all but the first principal directions of `P` as
    of one size. It solves these equations exactly, so conjugate gradients stay
    where `F' S x = 0`.
    """

    def __init__(self, products: InnerProducts, columns: NDArray,
                 roots: NDArray, strengths: NDArray) -> None:
        self._products, self._columns = products, columns
        self._roots, self._strengths = roots, strengths[:, None]
        squares = roots**2
        self._scale = 1 / (self._strengths + products.rest * squares)
        self._scaled_roots = roots * self._scale
        inner = products.weighted_squares(squares * self._scale)
        diagonal = np.einsum('qpp->qp', inner)
        # Where all slopes are 0.
        diagonal += 1e-15 * diagonal + 1e-200
        diagonal += products.inverse_sizes
        self._inner = np.linalg.inv(inner)

    def solve(self, target: NDArray) -> _Iterate:
        """Approximate solution, as a move; overwrites the target."""
        x, product = np.zeros_like(target), np.zeros_like(target)
        direction, free = self._precondition(target)
        error, size = target, dots(target, direction)
        end = STEP_TOLERANCE * size
        for _ in range(MAX_ITERATIONS):
            by_direction = self._products.nearly_times(self._roots * direction)
            image = self._strengths * direction
            image += self._roots * by_direction
            length = ratio(size, dots(direction, image))[:, None]
            x += length * direction
            product += length * by_direction
            error -= length * image
            update, more = self._precondition(error)
            free += more
            last, size = size, dots(error, update)
            if np.all(size <= end):
                break
            direction *= ratio(size, last)[:, None]
            direction += update
        return _Iterate(self._roots * x, product, free)

    def _precondition(self, error: NDArray) -> tuple[NDArray, NDArray]:
        """Approximate `x` and `b`; subtracts `S F b` from the error."""
        directions = self._products.directions
        x = error * self._scale
        parts = (self._scaled_roots * error) @ directions
        parts = (self._inner @ parts[:, :, None])[:, :, 0]
        x -= (parts @ directions.T) * self._scaled_roots
        free = parts[:, :2]
        error -= self._roots * (free @ self._columns.T)
        return x, free


def dots(first: NDArray, second: NDArray) -> NDArray:
    """Return inner products of the rows of two arrays `(q, n)`."""
    return np.einsum('qn,qn->q', first, second)


def ratio(numerator: NDArray,
          denominator: NDArray,
          otherwise: float = 0) -> NDArray:
    """Return the ratio, or `otherwise` without a positive denominator."""
    return np.divide(
        numerator,
        denominator,
        where=denominator > 0,
        out=np.full_like(numerator, otherwise))
