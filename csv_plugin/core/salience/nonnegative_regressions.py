"""Regressions with weights that cannot be negative, all masks at once.

A model's score is the sum of its losses, each times a weight of 0 or more.
Intercept and slope of the curve are fitted anew to the scores of every trial,
so that they belong to the weights. What remains is minimised by Newton steps:
with one system of equations where few weights are positive, else by conjugate
gradients, and in the end by equations of the models. Weights of 0 stay out of
the first two, except some that shall grow, so that products are of the columns
in use alone.
"""
from typing import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from csv_plugin.core.salience.nonnegative_steps import (Curvature, ModelSpace,
                                                        Step)
from csv_plugin.core.salience.ridge_regressions import (CURVATURES, Centre,
                                                        Problems, dots, ratio)
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Regressions, accuracy_at, slope_at

#: A regression is solved once its next step is expected to improve the
#: objective by less than this share.
TOLERANCE = 1e-12
#: A curve is fitted once a step improves it by less than this share.
LINE_TOLERANCE = 1e-15
#: Improvements below this, of the variance of the accuracies, never count.
LEAST_IMPROVEMENT = 1e-15
#: Steps at a penalty, of a curve; halvings of a step.
MAX_STEPS, MAX_LINE_STEPS, MAX_HALVINGS = 100, 10, 15
#: A step solves one system of equations where no more weights than this, and
#: no larger share of them, are positive.
MAX_DIRECT, MAX_DIRECT_SHARE = 500, 0.25
#: Where more are positive, this many steps at a penalty are by conjugate
#: gradients, and all others by equations of the models. With so many columns
#: for each model, all steps are by these equations, as products take longer.
MAX_CONJUGATE, WIDE = 8, 50
#: A step copies the columns it uses if they are no larger share than this.
MOST_COPIED = 0.5
#: Of the weights of 0, a step takes in this many, or this share of the
#: positive ones if that is more.
LEAST_JOINING, JOINING = 10, 0.1
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
        centre = Centre.of(values, uniform)
        self._means, self._uniform = centre.means, uniform
        self._units = uniform / centre.spread
        self._columns = centre.centred(values)
        self._columns *= self._units / centre.scale
        self._space = ModelSpace(self._columns)
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
            centre.free, self._accuracy, masks, problems.floors, n_free=2)
        lines = regressions.solve(0.0, regressions.start())
        rows = np.arange(len(masks))
        self._lines, self._errors = self._fit_lines(rows, self._scores, lines)

    @property
    def accuracies(self) -> NDArray:
        """Predicted of all models where the regressions are, `(Q, n)`."""
        return accuracy_at(_exponents(self._scores, self._lines), self._floors)

    def follow(self,
               penalty: float,
               hopeless: Callable[[], bool] = lambda: False) -> None:
        """Minimise all objectives, from where the regressions are.

        Args:
            penalty (float): Positive.
            hopeless (Callable): Asked after every step whether to leave the
                regressions where they are.
        """
        n, n_columns = self._columns.shape
        strength = penalty / n_columns
        rows = np.arange(len(self._weights))
        value = self._errors + strength / 2 * _squares(self._weights - 1)
        last = np.zeros(len(rows))
        most = min(MAX_DIRECT, MAX_DIRECT_SHARE * n_columns)
        max_conjugate = MAX_CONJUGATE if n_columns < WIDE * n else 0
        for count in range(MAX_STEPS):
            few = np.sum(self._weights[rows] > 0, axis=1) <= most
            new = value.copy()
            many = self._conjugate if count < max_conjugate else self._exact
            for part, step in ((few, self._direct), (~few, many)):
                if part.any():
                    new[part] = step(rows[part], strength, value[part])
            gain = value - new
            # Steps shrink at least linearly.
            expected = gain * np.minimum(ratio(gain, last, 1), 1)
            going = expected > TOLERANCE * value + LEAST_IMPROVEMENT
            rows, value, last = rows[going], new[going], gain[going]
            if not len(rows) or hopeless():
                break

    def models(self) -> SalienceModel:
        """Of where the regressions are, stacked, `(Q,)`."""
        gradient = self._lines[:, 1:] * self._weights * self._units
        offset = self._lines[:, 0] - gradient @ self._means
        return SalienceModel.from_linear(gradient, offset, self._floors[:, 0],
                                         self._uniform)

    def _direct(self, rows: NDArray, strength: float,
                value: NDArray) -> NDArray:
        """A step of some regressions by equations of their positive weights.

        Args:
            rows (NDArray): Which regressions, `(q,)`.
            strength (float): Of the penalty.
            value (NDArray): Their objectives, `(q,)`.

        Returns:
            NDArray: Their new objectives, `(q,)`.
        """
        used, step = self._some_columns(rows, strength)
        change = step.direct()
        by_score = change @ step.columns.T

        def trial(part: NDArray, share: float) -> tuple[NDArray, NDArray]:
            """Weights and scores of some regressions after a share of it."""
            return (step.weights[part] + share * change[part],
                    self._scores[rows[part]] + share * by_score[part])

        return self._line_search(rows, strength, value, used,
                                 step.slope(change), trial)

    def _conjugate(self, rows: NDArray, strength: float,
                   value: NDArray) -> NDArray:
        """The same by conjugate gradients; see `_direct`."""
        used, step = self._some_columns(rows, strength)
        change = step.conjugate()

        def trial(part: NDArray, share: float) -> tuple[NDArray, NDArray]:
            """Weights and scores of some regressions after a share of it."""
            moved = np.maximum(step.weights[part] + share * change[part], 0)
            return moved, moved @ step.columns.T

        return self._line_search(rows, strength, value, used,
                                 step.slope(change), trial)

    def _exact(self, rows: NDArray, strength: float,
               value: NDArray) -> NDArray:
        """The same by equations of the models; see `_direct`."""
        curvature = self._curvature(rows, self._scores[rows],
                                    self._lines[rows])
        before, start = self._weights[rows], self._scores[rows]
        weights, scores = self._space.step(rows, curvature, strength, before,
                                           start)
        change, by_score = weights - before, scores - start

        def trial(part: NDArray, share: float) -> tuple[NDArray, NDArray]:
            """Weights and scores of some regressions after a share of it."""
            return (before[part] + share * change[part],
                    start[part] + share * by_score[part])

        slope = dots(curvature.gradient, by_score)
        slope += strength * dots(before - 1, change)
        every = np.ones(before.shape[1], dtype=bool)
        return self._line_search(rows, strength, value, every, slope, trial)

    def _some_columns(self, rows: NDArray,
                      strength: float) -> tuple[NDArray, Step]:
        """Columns `(K,)` that steps of some regressions use, and these."""
        curvature = self._curvature(rows, self._scores[rows],
                                    self._lines[rows])
        weights = self._weights[rows]
        gradient = curvature.gradient @ self._columns
        gradient += strength * (weights - 1)
        free = _free(weights, gradient)
        used = free.any(axis=0)
        columns = self._columns
        if used.mean() > MOST_COPIED:
            used[:] = True
        else:
            columns = columns[:, used]
            weights, gradient = weights[:, used], gradient[:, used]
            free = free[:, used]
        return used, Step(columns, curvature, strength, weights, gradient,
                          free)

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
                   lines: NDArray) -> 'Curvature':
        exponents, floors = _exponents(scores, lines), self._floors[rows]
        shares = self._shares[rows]
        residuals = self._accuracy - accuracy_at(exponents, floors)
        slopes = slope_at(exponents, floors)
        bend = residuals * slopes * (1 - 2 * expit(exponents))
        squares = slopes**2
        return Curvature.of(
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
