"""The posterior of exponents given accuracies, and families left out.

For model m on benchmark b, with the mean loss u that the benchmark follows:

    f = level_b + scale_b g_b,  level_b ~ N(level, level_width^2)
    g_b ~ GP(-u, kernel)        (kernels.PARTS, each with its amount)
    accuracy = floor_b + (1 - floor_b) sigmoid(f) + noise
    noise has the variance noise_b p (1 - p)

The p in the noise is the observed accuracy with two right and two wrong items
added (Agresti and Coull, American Statistician 52(2), 1998), so that it does
not change during a fit. Benchmarks share the amounts of the kernel's parts,
and given these they are independent here. What a model's errors on several
benchmarks have in common is estimated afterwards (core.calibration).

The posterior of the exponents is approximated by a normal distribution about
its mode, where the curve is replaced by its tangent (Laplace's method;
Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter
3). Steps and evidence leave out the curvature of the curve (Gauss-Newton).

All is computed from the `dual`: the inverse covariance of the targets of the
tangents, times the targets minus their prior mean. It has one number for each
accuracy, so the cost does not depend on the number of columns of a table.

Hyper-parameters are logarithms: the amounts (as standard deviations), the
typical scale, and for each benchmark its scale and its noise. Gradients of the
evidence and of the cost of families left out are exact as long as tangents and
`doubt` stay as they are.
"""
from collections.abc import Callable
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack

from csv_plugin.core.calibration import doubt_of
from csv_plugin.core.curve import (LEAST_VARIANCE, Line, item_variance,
                                   line_at, moments)
from csv_plugin.core.kernels import (PARTS, Place, covariances,
                                     weights_of_models)
from csv_plugin.core.observed import filled_items
from csv_plugin.core.settings import Settings

N_PARTS = len(PARTS)
#: Index of the first benchmark's scale among the hyper-parameters.
SCALES = N_PARTS + 1
#: Degrees of freedom of Student's t in costs of families left out. So large
#: errors cost less than by a normal distribution. A convention, not fitted.
DEGREES = 4
#: Largest numbers of steps to a mode, and of halvings of a step that does not
#: reduce the cost.
NEWTON_STEPS, HALVINGS = 30, 9
#: A mode is found when a step gains less than so many nats.
GAIN = 1e-3
#: Largest number of steps of hyper-parameters, and their largest change,
#: before tangents are renewed: far from the mode, these would mislead them.
HYPER_STEPS, HYPER_CHANGE = 15, 1.5


class Solution(NamedTuple):
    """Solution of the linearised model.

    `dual` is `(B, M)`. `inverse`, `(B, M, M)`, is the inverse covariance of
    the targets, 0 where there is no accuracy. `evidence`, `(B,)`, is a
    logarithm.
    """
    dual: NDArray[np.float64]
    inverse: NDArray[np.float64]
    evidence: NDArray[np.float64]


class Posterior:
    """Exponents of M fitted models on B benchmarks.

    Accuracies are `(M, B)` in 0..1, NaN where there is none; `n_items` are
    `(B,)`, 0 if unknown; `floor` is `(B,)`. `counts`, `(B,)`, is True for
    benchmarks that amounts, the typical scale and the usual noise are fitted
    to. The other benchmarks have scales and noise of their own, which are
    fitted afterwards.

    Attributes:
        hyper: Hyper-parameters, see above.
        shares: Weights of the C mean losses in what benchmarks follow,
            `(C, B)`; sums over C are 1.
        means: The mean loss that each benchmark follows, `(B, M)`.
        worst: The largest of these, without absurd models, `(B,)`.
        line: Tangents at the mode.
        solution: Solution of the linear model with these tangents. Its dual is
            used for predictions.
        found: The dual at which the tangents were taken, `(B, M)`. It is
            within `GAIN` of `solution.dual`; a file keeps it, so that a loaded
            model has the same tangents.
        doubt: Variance that is added to the noise of accuracies of models that
            lie far off, `(M, B)`; 0 for others.
    """

    def __init__(self, place: Place, accuracies: NDArray, n_items: NDArray,
                 floor: NDArray, counts: NDArray, straight: float,
                 settings: Settings) -> None:
        self.settings, self.place, self.floor = settings, place, floor
        self.counts = counts
        self.straight = straight
        self.accuracies = accuracies
        self.seen = ~np.isnan(accuracies)
        self.filled = np.nan_to_num(accuracies)
        self.rows = [np.flatnonzero(column) for column in self.seen.T]
        n_models, n_benchmarks = accuracies.shape
        items = filled_items(n_items)
        self.independent = np.log(1 / items)
        share = np.where(self.seen, accuracies, .5)
        self.item_variance = item_variance((share * items + 2) / (items + 4))
        self.doubt = np.zeros((n_models, n_benchmarks))
        self.families = [
            np.flatnonzero(place.families == family)
            for family in np.unique(place.families)
        ]
        self.weight = self.seen * weights_of_models(place.families)[:, None]
        amounts = [getattr(settings, part) for part in PARTS]
        self.hyper = np.concatenate([
            amounts,
            np.full(1 + n_benchmarks, settings.typical),
            self.independent + settings.noise
        ])
        self.dual = np.zeros((n_benchmarks, n_models))

    def follow(self,
               shares: NDArray,
               kernel: Optional[NDArray] = None) -> None:
        """Let benchmarks follow weighted means of mean losses, `(C, B)`.

        The mode has to be found then. With a `kernel`, `(B, M, M)`, amounts
        stay as they are, and the kernel's parts take no memory.
        """
        self.shares, self.kernel = shares, kernel
        self.means = (self.place.means @ shares).T
        self.worst = worst_means(self.place, self.means, self.settings)
        self.parts = [] if kernel is not None else covariances(
            self.place, self.means, self.worst, self.settings.tilt)
        self.dual = np.zeros_like(self.dual)

    # ---- the mode

    def _apply(self, hyper: NDArray) -> NDArray:
        """Set amounts, scales and noise; return the kernel, `(B, M, M)`.

        `_cost` and `_solve` use what is set.
        """
        n_benchmarks = len(self.dual)
        self.part_variances = np.exp(2 * hyper[:N_PARTS])
        self.scales, self.noise = np.exp(hyper[SCALES:]).reshape(2, -1)
        if self.kernel is not None:
            return self.kernel
        kernel = sum(
            variance * part
            for variance, part in zip(self.part_variances, self.parts))
        return np.broadcast_to(kernel, (n_benchmarks, *kernel.shape[1:]))

    @property
    def _prior_mean(self) -> NDArray:
        return self.settings.level - self.scales * self.means.T

    def _line(self) -> Line:
        return line_at(self.exponents, self.filled, self.floor, self.straight)

    def _cost(self, kernel: NDArray, dual: NDArray) -> NDArray:
        """Minus log posterior by benchmark, `(B,)`, of a dual `(B, M)`.

        Sets `exponents`, where `_line` takes tangents.
        """
        above = (
            self.settings.level_width**2 * dual.sum(axis=1) +
            self.scales**2 * np.einsum('bij,bj->ib', kernel, dual))
        self.exponents = self._prior_mean + above
        errors = np.where(self.seen, self.filled - self._line().heights, 0)
        variance = self.noise * self.item_variance + self.doubt
        return .5 * (errors**2 / variance + dual.T * above).sum(axis=0)

    def find_mode(self) -> None:
        """Find the exponents of the highest posterior density.

        Gauss-Newton steps on the dual, from the last mode or from 0. A step is
        halved for each benchmark until it reduces the benchmark's cost.
        """
        kernel, dual = self._apply(self.hyper), self.dual
        now = self._cost(kernel, dual)
        from_zero = self._cost(kernel, 0 * dual)
        dual = np.where((from_zero < now)[:, None], 0, dual)
        now = np.minimum(from_zero, now)
        for _ in range(NEWTON_STEPS):
            self._cost(kernel, dual)
            step = self._solve(kernel, self._line(), False).dual - dual
            length, old = np.ones(len(dual)), now
            for _ in range(HALVINGS):
                now = self._cost(kernel, dual + length[:, None] * step)
                length = np.where(now < old, length, length / 2)
                if (now < old).all():
                    break
            length = np.where(now < old, length, 0)
            dual = dual + length[:, None] * step
            now = np.minimum(now, old)
            if (old - now).sum() < GAIN:
                break
        self.settle(dual)

    def settle(self, dual: NDArray) -> None:
        """Take tangents at a dual, and solve the model with them."""
        kernel = self._apply(self.hyper)
        self.found = dual
        self._cost(kernel, dual)
        self.line = self._line()
        self.solution = self._solve(kernel, self.line)
        self.dual = self.solution.dual

    def _solve(self,
               kernel: NDArray,
               line: Line,
               inverse: bool = True) -> Solution:
        """Solve the linear model, one Cholesky factor for each benchmark."""
        n_benchmarks, n_models = self.dual.shape
        duals = np.zeros((n_benchmarks, n_models))
        inverses = np.zeros(
            (n_benchmarks if inverse else 0, n_models, n_models))
        evidence = np.zeros(n_benchmarks)
        above = line.targets - self._prior_mean
        for b, rows in enumerate(self.rows):
            block = np.ix_(rows, rows)
            # A copy, which is changed in place: of many models it is large.
            matrix = kernel[b][block]
            matrix *= self.scales[b]**2
            matrix += self.settings.level_width**2
            variance = (
                self.noise[b] * self.item_variance[rows, b] +
                self.doubt[rows, b])
            matrix[np.diag_indices(len(rows))] += (
                variance / line.slopes[rows, b]**2)
            # The transposed symmetric matrix is in the order of LAPACK.
            factor = cho_factor(
                matrix.T, lower=True, overwrite_a=True, check_finite=False)
            duals[b, rows] = cho_solve(factor, above[rows, b])
            evidence[b] -= np.log(np.diag(factor[0])).sum()
            evidence[b] -= .5 * above[rows, b] @ duals[b, rows]
            if inverse:
                lower = np.tril(
                    lapack.dpotri(factor[0], lower=1, overwrite_c=1)[0])
                lower += np.tril(lower, -1).T
                inverses[b][block] = lower
        return Solution(duals, inverses, evidence)

    # ---- hyper-parameters

    def _prior(self, hyper: NDArray,
               counted: NDArray) -> tuple[float, NDArray]:
        """Minus log prior of hyper-parameters, and its gradient.

        Only benchmarks that are counted, `(B,)`, have a prior. That of noise
        is about the mean over the benchmarks of `counts`.
        """
        settings, n = self.settings, len(self.dual)
        amounts = np.array([getattr(settings, part) for part in PARTS])
        parts = (hyper[:N_PARTS] - amounts) / settings.width
        typical = (hyper[N_PARTS] - settings.typical) / settings.width
        scales = hyper[SCALES:SCALES + n] - hyper[N_PARTS]
        scales = counted * scales / settings.scale_width
        noise = hyper[SCALES + n:] - self.independent - settings.noise
        mean = noise[self.counts].mean()
        common = mean / settings.noise_width
        each = counted * (noise - mean) / settings.noise_width
        by_mean = (common - each.sum()) * self.counts / self.counts.sum()
        gradient = np.concatenate([
            parts / settings.width,
            [typical / settings.width - scales.sum() / settings.scale_width],
            scales / settings.scale_width,
            (each + by_mean) / settings.noise_width
        ])
        squares = (
            parts @ parts + typical**2 + scales @ scales + each @ each +
            common**2)
        return .5 * squares, gradient

    def _gradient(self, hyper: NDArray, kernel: NDArray, line: Line,
                  by_matrix: NDArray, by_above: NDArray) -> NDArray:
        """Gradient of a cost by hyper-parameters, without their prior.

        `by_matrix`, `(B, M, M)`, are derivatives of the cost by covariances of
        targets, and `by_above`, `(B, M)`, by targets minus their prior mean.
        """
        n = len(self.dual)
        gradient = np.zeros_like(hyper)
        scaled = self.scales[:, None, None]**2 * by_matrix
        gradient[:N_PARTS] = [
            2 * variance * (part * scaled).sum()
            for variance, part in zip(self.part_variances, self.parts)
        ]
        gradient[SCALES:SCALES +
                 n] = (2 * (scaled * kernel).sum(axis=(1, 2)) + self.scales *
                       (by_above * self.means).sum(axis=1))
        spread = np.where(self.seen, self.item_variance / line.slopes**2, 0)
        diagonal = np.diagonal(by_matrix, axis1=1, axis2=2)
        gradient[SCALES + n:] = self.noise * (diagonal * spread.T).sum(axis=1)
        return gradient

    def evidence_cost(self, hyper: NDArray, line: Line,
                      counted: NDArray) -> tuple[float, NDArray]:
        """Return minus log of evidence times prior, and its gradient.

        The evidence is that of the benchmarks that are counted, `(B,)`.
        """
        cost, gradient = self._prior(hyper, counted)
        kernel = self._apply(hyper)
        dual, inverse, evidence = self._solve(kernel, line)
        by_matrix = .5 * (inverse - dual[:, :, None] * dual[:, None])
        by_matrix *= counted[:, None, None]
        by_above = counted[:, None] * dual
        return cost - evidence @ counted, gradient + self._gradient(
            hyper, kernel, line, by_matrix, by_above)

    def cost_of_exponents(self, hyper: NDArray, line: Line,
                          counted: NDArray) -> tuple[float, NDArray]:
        """Return the cost of families left out, and its gradient.

        The cost is minus the log score of targets, which are exponents, by
        Student's t, plus minus the log prior. Errors of the targets of a
        family that is left out are `E dual`, and their covariance is `E`, the
        inverse of the family's block of the inverse covariance. Benchmarks
        that are counted, `(B,)`, have a part in it.

        It has a gradient in closed form, so that amounts can be chosen by it.
        Candidates with other tangents are compared by `accuracy_scores`.
        """
        cost, gradient = self._prior(hyper, counted)
        kernel = self._apply(hyper)
        dual, inverse, _ = self._solve(kernel, line)
        by_inverse, by_dual = np.zeros_like(inverse), np.zeros_like(dual)
        power = (DEGREES + 1) / 2
        for rows in self.families:
            errors, matrix = self._left_out(rows, dual, inverse)
            variance = np.diagonal(matrix, axis1=1, axis2=2)
            weight = self.weight[rows].T * counted[:, None]
            ratio = errors**2 / (DEGREES * variance)
            terms = .5 * np.log(variance) + power * np.log1p(ratio)
            cost += (weight * terms).sum()
            by_error = (
                weight * 2 * power / (1 + ratio) * errors /
                (DEGREES * variance))
            by_variance = weight * (.5 - power * ratio /
                                    (1 + ratio)) / variance
            by_block = by_error[:, :, None] * dual[:, None, rows]
            places = np.arange(len(rows))
            by_block[:, places, places] += by_variance
            by_dual[:, rows] += np.einsum('bij,bj->bi', matrix, by_error)
            every = np.ix_(np.arange(len(dual)), rows, rows)
            by_inverse[every] -= matrix @ by_block @ matrix
        by_inverse = (by_inverse + by_inverse.transpose(0, 2, 1)) / 2
        by_above = np.einsum('bij,bj->bi', inverse, by_dual)
        mixed = by_above[:, :, None] * dual[:, None]
        by_matrix = (-inverse @ by_inverse @ inverse -
                     (mixed + mixed.transpose(0, 2, 1)) / 2)
        return cost, gradient + self._gradient(hyper, kernel, line, by_matrix,
                                               by_above)

    def _left_out(self, rows: NDArray, dual: NDArray,
                  inverse: NDArray) -> tuple[NDArray, NDArray]:
        """Errors `(B, m)` and covariances `(B, m, m)` of a family's targets,
        predicted without the family.
        """
        block = inverse[:, rows][:, :, rows]
        unseen = ~self.seen[rows].T
        block = block + np.eye(len(rows)) * unseen[:, :, None]
        matrix = np.linalg.inv(block)
        return np.einsum('bij,bj->bi', matrix, dual[:, rows]), matrix

    def learn(self, rounds: int) -> None:
        """Find hyper-parameters of most evidence, and the mode, in turns."""
        for _ in range(rounds):
            self.find_mode()
            self._find_doubt()
            every = np.arange(len(self.hyper))
            self.hyper = self._least(self.evidence_cost, every, self.counts)
            if not self.counts.all():
                others = SCALES + np.flatnonzero(~self.counts)
                free = np.concatenate([others, others + len(self.counts)])
                self.hyper = self._least(self.evidence_cost, free,
                                         ~self.counts)
        self.find_mode()

    def choose_amounts(self) -> None:
        """Choose the amounts by the cost of families left out.

        With the amounts of most evidence, new families are predicted worse:
        it gives much to families and little to weights of units
        (tools/studies/LOG.md).
        """
        self.hyper = self._least(self.cost_of_exponents, np.arange(N_PARTS),
                                 self.counts)
        self.find_mode_and_doubt()

    def find_mode_and_doubt(self) -> None:
        """Find the mode, which models lie far off, and the mode with these.
        """
        self.find_mode()
        self._find_doubt()
        self.find_mode()

    def _least(self, cost: Callable, free: NDArray,
               counted: NDArray) -> NDArray:
        """Hyper-parameters of least cost; those of the indices `free` change.
        """
        # scipy.optimize takes long to load, and only fits need it.
        from scipy.optimize import minimize
        line, hyper = self._line(), self.hyper.copy()

        def cost_of_free(values: NDArray) -> tuple[float, NDArray]:
            """Return the cost and its gradient, with these values at `free`.
            """
            hyper[free] = values
            value, gradient = cost(hyper, line, counted)
            return value, gradient[free]

        start = self.hyper[free]
        bounds = [(value - HYPER_CHANGE, value + HYPER_CHANGE)
                  for value in start]
        found = minimize(
            cost_of_free,
            start,
            jac=True,
            method='L-BFGS-B',
            bounds=bounds,
            options={'maxiter': HYPER_STEPS})
        hyper[free] = found.x
        return hyper

    def _find_doubt(self) -> None:
        self.doubt = doubt_of(*self.left_out_errors(), self.counts,
                              self.settings.outlier)

    # ---- families left out

    def families_left_out(self) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents without a model's family.

        `(M, B)`, NaN where there is no accuracy. In closed form: a fit to the
        other families with the same hyper-parameters and tangents gives the
        same.
        """
        mean, variance = np.full((2, *self.seen.shape), np.nan)
        of_noise = self.noise * self.item_variance + self.doubt
        of_noise = of_noise / self.line.slopes**2
        for rows in self.families:
            errors, matrix = self._left_out(rows, self.dual,
                                            self.solution.inverse)
            mean[rows] = self.line.targets[rows] - errors.T
            total = np.diagonal(matrix, axis1=1, axis2=2).T
            variance[rows] = np.maximum(total - of_noise[rows], LEAST_VARIANCE)
        mean[~self.seen] = variance[~self.seen] = np.nan
        return mean, variance

    def left_out_errors(self) -> tuple[NDArray, NDArray]:
        """Errors of accuracies over deviations, and these, `(M, B)`.

        Each model is predicted without its family.
        """
        middle, deviation = moments(*self.families_left_out(), self.floor,
                                    self.noise)
        return (self.accuracies - middle) / deviation, deviation

    def accuracy_scores(self) -> NDArray[np.float64]:
        """Return minus log scores of accuracies of families left out, `(B,)`.

        Small scores are good. Floors, mean losses and forms are compared by
        them: exponents of other floors are not comparable. `doubt` is no part
        of the deviations, so a candidate does not gain by doubting models.
        """
        errors, deviation = self.left_out_errors()
        power = (DEGREES + 1) / 2
        cost = np.log(deviation) + power * np.log1p(errors**2 / DEGREES)
        return np.nansum(self.weight * cost, axis=0)


def worst_means(place: Place, means: NDArray,
                settings: Settings) -> NDArray[np.float64]:
    """Return the largest mean loss by benchmark, `(B,)`, of sound models.

    `means`, `(B, M)`, are the mean losses that benchmarks follow.
    """
    sound = np.abs(place.means[:, 0]) <= settings.sound
    return means[:, sound].max(axis=1)
