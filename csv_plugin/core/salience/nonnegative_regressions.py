"""Regressions with weights that cannot be negative, all masks at once.

A model's score is the sum of its losses, each times a weight of 0 or more.
Intercept and slope of the curve are fitted anew to the scores of every trial,
so that they belong to the weights. What remains is minimised by Newton steps:
with one system of equations where few weights are positive, else by conjugate
gradients. Weights of 0 stay out of a step's equations, except some that shall
grow, so that products are of the columns in use alone.
"""
from typing import Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import expit

from csv_plugin.core.salience.base import SalienceModel
from csv_plugin.core.salience.ridge_regressions import Problems
from csv_plugin.core.salience.rows import dots, ratio
from csv_plugin.core.salience.wide_ridge import CURVATURES, CentredFeatures
from csv_plugin.core.scaling_law import Regressions, accuracy_at, slope_at

#: A regression is solved once its next step is expected to improve the
#: objective by less than this share.
TOLERANCE = 1e-12
#: A curve is fitted once a step improves it by less than this share.
LINE_TOLERANCE = 1e-15
#: Improvements below this, of the variance of the accuracies, never count.
LEAST_IMPROVEMENT = 1e-15
#: Steps at a penalty, of a curve; halvings of a step; iterations of conjugate
#: gradients; times that the equations of a step change their weights.
MAX_STEPS, MAX_LINE_STEPS, MAX_HALVINGS = 100, 10, 15
MAX_ITERATIONS, MAX_PIVOTS = 8, 20
#: Conjugate gradients end at this share of their first error.
STEP_TOLERANCE = 0.1
#: A step solves one system of equations where no more weights than this, and
#: no larger share of them, are positive.
MAX_DIRECT, MAX_DIRECT_SHARE = 500, 0.25
#: Of the weights of 0, a step takes in this many, or this share of the
#: positive ones if that is more.
LEAST_JOINING, JOINING = 10, 0.1
#: Weights up to this that shall fall have no part in conjugate gradients.
NEAR_ZERO = 1e-3
#: Keeps a saturated curve solvable.
LEAST_CURVATURE = 1e-15
#: Share of the expected gain that a step must reach.
LEAST_GAIN = 1e-4

#: Trial weights and scores `(q, c)`, `(q, n)` of some rows, by step length.
Trial = Callable[[NDArray, float], tuple[NDArray, NDArray]]


class NonNegativeRegressions:
    """Follows Q regressions from uniform weights to ever freer ones.

    Each minimises `mean_i (a_i - A(e_i))^2 / var(a) + penalty mean_k (w_k -
    1)^2` over the weights `w`, none below 0, and over the intercept and slope
    of the exponents `e`, where means over i are over the models of its mask.

    Args:
        values (NDArray): Features `(n, K)`.
        uniform (NDArray): Coefficients of the mean loss, positive, `(K,)`.
        problems (Problems): In none of the masks are all mean losses, or all
            accuracies, equal.
    """

    def __init__(self, values: NDArray, uniform: NDArray,
                 problems: Problems) -> None:
        features = CentredFeatures.of(values, uniform)
        self._means, self._uniform = features.means, uniform
        self._units = uniform / features.spread
        self._columns = features.values * (self._units / features.scale)
        self._accuracy = problems.accuracy
        self._floors = problems.floors[:, None]
        masks = problems.masks
        shares = masks / masks.sum(axis=1, keepdims=True)
        mean = (shares @ self._accuracy)[:, None]
        variance = dots(shares, (self._accuracy - mean)**2)
        #: What a squared residual counts, `(Q, n)`.
        self._shares = shares / variance[:, None]
        self._weights = np.ones((len(masks), values.shape[1]))
        self._scores = self._weights @ self._columns.T
        regressions = Regressions(
            features.free, self._accuracy, masks, problems.floors, n_free=2)
        lines = regressions.solve(0.0, regressions.start())
        rows = np.arange(len(masks))
        self._lines, self._errors = self._fit_lines(rows, self._scores, lines)

    def follow(self, penalty: float) -> SalienceModel:
        """Minimise all objectives, from where the regressions are.

        Returns:
            SalienceModel: Solutions, stacked, `(Q,)`.
        """
        strength = penalty / self._columns.shape[1]
        rows = np.arange(len(self._weights))
        value = self._errors + strength / 2 * _squares(self._weights - 1)
        last = np.zeros(len(rows))
        most = min(MAX_DIRECT, MAX_DIRECT_SHARE * self._weights.shape[1])
        for _ in range(MAX_STEPS):
            few = np.sum(self._weights[rows] > 0, axis=1) <= most
            new = value.copy()
            for part, direct in ((few, True), (~few, False)):
                if part.any():
                    new[part] = self._step(rows[part], strength, value[part],
                                           direct)
            gain = value - new
            # Steps shrink at least linearly.
            expected = gain * np.minimum(ratio(gain, last, 1), 1)
            going = expected > TOLERANCE * value + LEAST_IMPROVEMENT
            rows, value, last = rows[going], new[going], gain[going]
            if not len(rows):
                break
        return self._models()

    def _models(self) -> SalienceModel:
        gradient = self._lines[:, 1:] * self._weights * self._units
        offset = self._lines[:, 0] - gradient @ self._means
        return SalienceModel.from_linear(gradient, offset, self._floors[:, 0],
                                         self._uniform)

    def _step(self, rows: NDArray, strength: float, value: NDArray,
              direct: bool) -> NDArray:
        """A Newton step of some regressions; their new objectives."""
        curvature = self._curvature(rows, self._scores[rows],
                                    self._lines[rows])
        weights = self._weights[rows]
        gradient = curvature.gradient @ self._columns
        gradient += strength * (weights - 1)
        free = _free(weights, gradient)
        used = free.any(axis=0)
        columns = self._columns
        if not used.all():
            columns = columns[:, used]
            weights, gradient = weights[:, used], gradient[:, used]
            free = free[:, used]
        step = _Step(columns, curvature, strength, weights, gradient, free)
        change = step.direct() if direct else step.conjugate()
        by_score = change @ columns.T if direct else None

        def trial(part: NDArray, share: float) -> tuple[NDArray, NDArray]:
            """Weights and scores of some regressions after a share of it."""
            moved = weights[part] + share * change[part]
            if by_score is not None:
                return moved, self._scores[rows[part]] + share * by_score[part]
            moved = np.maximum(moved, 0)
            return moved, moved @ columns.T

        slope = dots(np.where(weights + change < 0, 0, gradient), change)
        return self._line_search(rows, strength, value, used, slope, trial)

    def _line_search(self, rows: NDArray, strength: float, value: NDArray,
                     used: NDArray, slope: NDArray, trial: Trial) -> NDArray:
        """Take the first share of the step that gains; the new objectives."""
        new = value.copy()
        trying, share = np.arange(len(rows)), 1.0
        unused = strength / 2 * np.sum(~used)
        for _ in range(MAX_HALVINGS):
            weights, scores = trial(trying, share)
            lines, errors = self._fit_lines(rows[trying], scores,
                                            self._lines[rows[trying]])
            values = errors + strength / 2 * _squares(weights - 1) + unused
            least = LEAST_GAIN * share * np.maximum(-slope[trying], 0)
            better = values <= value[trying] - least
            chosen = rows[trying[better]]
            self._weights[chosen] = 0
            self._weights[np.ix_(chosen, used)] = weights[better]
            self._scores[chosen], self._lines[chosen] = (scores[better],
                                                         lines[better])
            self._errors[chosen] = errors[better]
            new[trying[better]] = values[better]
            trying, share = trying[~better], share / 2
            if not len(trying):
                break
        return new

    def _curvature(self, rows: NDArray, scores: NDArray,
                   lines: NDArray) -> '_Curvature':
        exponents, floors = _exponents(scores, lines), self._floors[rows]
        shares = self._shares[rows]
        residuals = self._accuracy - accuracy_at(exponents, floors)
        slopes = slope_at(exponents, floors)
        bend = residuals * slopes * (1 - 2 * expit(exponents))
        squares = slopes**2
        return _Curvature.of(
            scores, lines[:, 1:], -shares * slopes * residuals,
            shares * np.clip(squares - bend, CURVATURES[0] * squares,
                             CURVATURES[1] * squares))

    def _half_errors(self, rows: NDArray, scores: NDArray,
                     lines: NDArray) -> NDArray:
        residuals = self._accuracy - accuracy_at(
            _exponents(scores, lines), self._floors[rows])
        return dots(self._shares[rows] * residuals, residuals) / 2

    def _fit_lines(self, rows: NDArray, scores: NDArray,
                   lines: NDArray) -> tuple[NDArray, NDArray]:
        """Lines `(q, 2)` from a start, and half their errors, `(q,)`."""
        lines = lines.copy()
        errors = self._half_errors(rows, scores, lines)
        going = np.arange(len(rows))
        for _ in range(MAX_LINE_STEPS):
            step = self._curvature(rows[going], scores[going],
                                   lines[going]).line_step()
            before, trying = errors[going], going
            for _ in range(MAX_HALVINGS):
                trial = lines[trying] + step
                new = self._half_errors(rows[trying], scores[trying], trial)
                better = new <= errors[trying]
                lines[trying[better]] = trial[better]
                errors[trying[better]] = new[better]
                trying, step = trying[~better], step[~better] / 2
                if not len(trying):
                    break
            least = LINE_TOLERANCE * before + LEAST_IMPROVEMENT
            going = going[before - errors[going] > least]
            if not len(going):
                break
        return lines, errors


class _Curvature(NamedTuple):
    """Derivatives of half the errors in the scores, lines fitted anew.

    The second ones are `diag(diagonal) - sum_j by_line_j by_line_j'`, where j
    is intercept or slope; they are convex with `convex_by_line`.
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
           squares: NDArray) -> '_Curvature':
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


class _Step(NamedTuple):
    """What a Newton step of q regressions is made of, on c columns."""
    columns: NDArray
    curvature: _Curvature
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
                step = nnls(root.T, target)[0] - weights
            change[row, free] = step
        return change

    def _equations(self, row: int, columns: NDArray) -> NDArray:
        """Second derivatives in the weights of some columns, `(f, f)`."""
        scaled = columns * self.curvature.diagonal[row][:, None]
        equations = scaled.T @ columns
        diagonal = np.einsum('ff->f', equations)
        # The last term keeps columns that are alike solvable.
        diagonal += self.strength + 1e-12 * diagonal
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
        size = first = _squares(error)
        for iteration in range(MAX_ITERATIONS):
            image = self.curvature.times(direction @ self.columns.T)
            image = image @ self.columns
            image *= free
            image += self.strength * direction
            bend = dots(direction, image)
            convex = bend > 1e-12 * self.strength * _squares(direction)
            if not iteration:
                change[~convex] = direction[~convex] / self.strength
            length = np.where(convex, ratio(size, bend), 0)[:, None]
            change += length * direction
            error -= length * image
            last, size = size, np.where(convex, _squares(error), 0)
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


def _free(weights: NDArray, gradient: NDArray) -> NDArray:
    """Positive weights, and those of 0 that gain most if they grow."""
    free = weights > 0
    for row, positive in enumerate(free):
        growing = np.flatnonzero(~positive & (gradient[row] < 0))
        n = max(LEAST_JOINING, int(JOINING * positive.sum()))
        if len(growing) > n:
            order = np.argpartition(gradient[row, growing], n)
            growing = growing[order[:n]]
        positive[growing] = True
    return free


def _exponents(scores: NDArray, lines: NDArray) -> NDArray:
    return lines[:, :1] + lines[:, 1:] * scores


def _squares(rows: NDArray) -> NDArray:
    return dots(rows, rows)
