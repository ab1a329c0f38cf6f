"""The posterior of exponents given accuracies, and families left out.

This file takes the accuracies of M fitted models on B benchmarks, `(M, B)`,
and the standardised losses of these models (core.standardised). It computes
the posterior distribution of the models' exponents, which are the arguments of
the curve in Eq. 2 (core.curve). It also learns the hyper-parameters of this
distribution, and predicts each family of models from all other families. The
formulas are in docs/appendix/method.md, from "The prior" to "Families left
out", and its table "Words of the code" explains words such as "follow".

The model. For model m on benchmark b, with the mean loss u that the benchmark
follows (`Posterior.follow`):

    f = level_b + scale_b g_b,  level_b ~ N(level, level_width^2)
    g_b ~ GP(-u, kernel)        (the kernel is a sum of `kernels.PARTS`)
    accuracy = floor_b + (1 - floor_b) sigmoid(f) + noise
    noise has the variance noise_b p (1 - p)

The p in the noise is the observed accuracy with two right and two wrong items
added (Agresti and Coull, American Statistician 52(2), 1998), so that it does
not change during a fit. Each part of the kernel has an amount, a standard
deviation, which is the same for all benchmarks. Given the amounts, benchmarks
are independent here. Correlations between a model's errors on several
benchmarks are estimated afterwards (core.calibration).

The posterior. It is approximated by a normal distribution about its mode. At
the mode, each curve is replaced by its tangent (Laplace's method; Rasmussen
and Williams, Gaussian Processes for Machine Learning, 2006, chapter 3). The
steps to the mode and the evidence (the marginal likelihood) neglect the second
derivative of the curve (Gauss-Newton).

A tangent turns an accuracy into a *target*: the exponent at which the tangent
has the height of the accuracy. Let t be the targets, m their prior mean, and C
their covariance, which includes noise. Everything is computed from the

    dual = C^-1 (t - m)

For example, the posterior mean of an exponent is its prior mean, plus the
scalar product of its covariances with the targets and the dual. The dual has
one number for each accuracy, so the computing time does not depend on the
number of columns of the losses.

Hyper-parameters. They are logarithms: of the amounts, of the typical scale,
and for each benchmark of its scale and its noise. The gradients of the
evidence and of the cost of families left out are exact as long as tangents and
`doubt` are constant. In the code of the gradients, `by_x` is the derivative of
a cost with respect to x.

There are two masks of benchmarks, `(B,)`. What benchmarks share (the amounts,
the typical scale, and the usual noise, which is the mean of their relative
noises) is learned from the benchmarks where `learned_from` is True. A cost
that is minimised is a sum over the benchmarks where `included` is True.
"""
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from csv_plugin.core.arrays import Floats
from csv_plugin.core.calibration import doubt_of
from csv_plugin.core.curve import (LEAST_VARIANCE, Line, item_variance,
                                   line_at, moments)
from csv_plugin.core.families import rows_of_families, weights_of_models
from csv_plugin.core.kernels import PARTS, covariances, shared_parts
from csv_plugin.core.numerics import (add_to_diagonals, diagonals,
                                      products_of_pairs)
from csv_plugin.core.observed import filled_items
from csv_plugin.core.progress import Advance
from csv_plugin.core.settings import Settings
from csv_plugin.core.standardised import Standardised

N_PARTS = len(PARTS)
#: Index of the first benchmark's scale among the hyper-parameters.
SCALES = N_PARTS + 1
#: Degrees of freedom of Student's t distribution, which is the density in
#: costs of families left out. Large errors cost less than with a normal
#: distribution. The number is a convention and was not fitted.
COST_DEGREES = 4
#: Maximum number of steps to a mode, and number of lengths of a step that are
#: tried: the whole step, then half of the last one, until the cost is reduced.
NEWTON_STEPS, LENGTHS = 30, 9
#: A mode counts as found when a step reduces the cost by less than this number
#: of nats.
GAIN = 1e-3
#: Maximum number of steps of the hyper-parameters with the same tangents, and
#: maximum change of a hyper-parameter in these steps. Then new tangents are
#: taken, because tangents are inexact far from the mode.
HYPER_STEPS, HYPER_CHANGE = 15, 1.5


class Applied(NamedTuple):
    """Hyper-parameters that are not logarithms, with the kernel they give.

    `part_variances`, `(P,)`, are the squared amounts of the P parts of the
    kernel, `PARTS`. `scales` and `noise`, `(B,)`, have scale_b and noise_b of
    each benchmark. `kernel`, `(B, M, M)`, is the sum of the parts times their
    squared amounts.
    """
    part_variances: Floats
    scales: Floats
    noise: Floats
    kernel: Floats


def natural(hyper: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return hyper-parameters as they enter the model, not as logarithms.

    They are the squared amounts of the P parts of the kernel, `(P,)`, and
    scale_b and noise_b of each benchmark, `(B,)` each. `hyper` is as in
    `Posterior`.
    """
    log_amounts = hyper[:N_PARTS]
    part_variances = np.exp(2 * log_amounts)
    of_benchmarks = np.exp(hyper[SCALES:])
    scales, noise = np.split(of_benchmarks, 2)
    return part_variances, scales, noise


class Solution(NamedTuple):
    """Solution of the model in which a tangent replaces each curve.

    `dual`, `(B, M)`, is C^-1 (t - m), and `inverse` is a list of the B
    matrices C^-1, `(M, M)`; the docstring of this module defines t, m and C.
    Both are 0 where there is no accuracy. `evidence`, `(B,)`, is the logarithm
    of the evidence of each benchmark up to a constant.
    """
    dual: Floats
    inverse: list[Floats]
    evidence: Floats


class Posterior:
    """The posterior of the exponents of M fitted models on B benchmarks.

    Accuracies are `(M, B)` in 0..1, NaN where there is none; `n_items` are
    `(B,)`, 0 if unknown; `floor` is `(B,)`. `learned_from`, `(B,)`, is True
    for benchmarks that amounts, the typical scale and the usual noise are
    learned from. The scales and the noise of all other benchmarks are fitted
    after that. `straight` is as in `settings.Form`.

    First call `follow`, which sets the mean loss that each benchmark follows.
    Then call `find_mode` or, to take the tangents of an earlier fit,
    `solve_with_tangents_at`. Both set `scales`, `noise`, `line`, `solution`
    and `tangent_dual`.

    There are three duals, `(B, M)`, for three moments of a search: it starts
    from `start_dual`, it ends at `tangent_dual`, where the tangents are taken,
    and `solution.dual` solves the model with these tangents.

    Attributes:
        hyper: Logarithms of the hyper-parameters: the P amounts, the typical
            scale, B scales and B noises.
        shares: Weights of the C mean losses (`Standardised.mean_losses`) in
            the mean loss that each benchmark follows, `(C, B)`; sums over C
            are 1.
        followed_losses: The mean loss that each benchmark follows, `(B, M)`.
        worst: The largest of `followed_losses` over the sound models
            (`Settings.sound`), `(B,)`.
        scales: Changes of exponents for one standard deviation of the mean
            loss, `(B,)`.
        noise: Variances of the noise of accuracies, divided by p (1 - p),
            `(B,)`.
        line: Tangents at the mode.
        start_dual: The dual that the next `find_mode` starts from, `(B, M)`:
            0 after `follow`, the last `solution.dual` after a solution, or
            what the caller sets.
        tangent_dual: The dual at which the tangents were taken, `(B, M)`. The
            last step to it gained less than `GAIN` nats, unless there were
            `NEWTON_STEPS` steps before that. The file of a predictor contains
            it, so that a loaded model has the same tangents.
        solution: Solution of the linear model with these tangents. Its dual is
            one Newton step further, and is used for predictions.
        doubt: Variance that is added to the noise of accuracies of outliers,
            `(M, B)`; 0 for all other models.
    """

    def __init__(self, standardised: Standardised, accuracies: NDArray,
                 n_items: NDArray, floor: NDArray, learned_from: NDArray,
                 straight: float, settings: Settings) -> None:
        self.settings = settings
        self.standardised = standardised
        self.floor = floor
        self.learned_from = learned_from
        self.straight = straight
        self.accuracies = accuracies
        self.seen = ~np.isnan(accuracies)
        self.accuracies_or_0 = np.nan_to_num(accuracies)
        #: For each benchmark, indices of the models with an accuracy on it.
        self.rows = [np.flatnonzero(column) for column in self.seen.T]
        #: For each benchmark, the indices of a matrix `(M, M)` that give the
        #: matrix of these models.
        self.blocks = [np.ix_(rows, rows) for rows in self.rows]
        items = filled_items(n_items)
        #: Logarithms of the noise that independent items would have, `(B,)`.
        self.log_item_noise = -np.log(items)
        # Two right and two wrong items are added. Cells without an accuracy
        # are not used, so their value does not matter.
        observed = np.where(self.seen, accuracies, .5)
        n_right = observed * items + 2
        n_answered = items + 4
        smoothed = n_right / n_answered
        self.item_variance = item_variance(smoothed)
        self.doubt = np.zeros(accuracies.shape)
        families = standardised.families
        #: For each family, indices of its models.
        self.family_rows = rows_of_families(families)
        weights = weights_of_models(families)
        #: Weight of each accuracy in costs of families left out, `(M, B)`.
        self.weight = self.seen * weights[:, None]
        n_models, n_benchmarks = accuracies.shape
        # All hyper-parameters start from their prior means. The first of these
        # scales is the typical scale.
        scales = np.full(1 + n_benchmarks, settings.typical)
        noise = self.log_item_noise + settings.noise
        self.hyper = np.concatenate([self._prior_amounts, scales, noise])
        self.start_dual = np.zeros((n_benchmarks, n_models))

    @property
    def _prior_amounts(self) -> NDArray:
        """Prior means of the logarithms of the amounts of `PARTS`, `(P,)`."""
        amounts = [getattr(self.settings, part) for part in PARTS]
        return np.array(amounts)

    def follow(self,
               shares: NDArray,
               kernel: Optional[NDArray] = None) -> None:
        """Set the mean loss that each benchmark follows.

        It is a weighted mean of C mean losses, with the weights `shares`,
        `(C, B)`. The last mode is forgotten, so find the mode again. If a
        `kernel`, `(B, M, M)`, is given, it is used as it is: amounts cannot be
        learned, and the parts of the kernel are not computed, which saves
        memory.
        """
        self.shares = shares
        self.kernel = kernel
        models = self.standardised
        self.followed_losses = models.followed_losses(shares)
        self.worst = models.worst_losses(self.followed_losses)
        self.parts: list[NDArray] = []
        if kernel is None:
            self.parts = covariances(models, self.followed_losses, self.worst,
                                     self._shared_parts)
        self.start_dual = np.zeros_like(self.start_dual)

    @cached_property
    def _shared_parts(self) -> dict[str, NDArray]:
        """The parts of the kernel that are the same on all benchmarks."""
        models = self.standardised
        parts = shared_parts(models, models, self.settings.tilt, same=True)
        return dict(parts)

    # ---- the mode

    def _applied(self, hyper: NDArray) -> Applied:
        """Return hyper-parameters that are not logarithms, and the kernel."""
        part_variances, scales, noise = natural(hyper)
        kernel = self.kernel
        if kernel is None:
            n_benchmarks, n_models = self.start_dual.shape
            kernel = np.zeros((n_benchmarks, n_models, n_models))
            # Parts that are the same on all benchmarks are `(1, M, M)`.
            for variance, part in zip(part_variances, self.parts):
                kernel += variance * part
        return Applied(part_variances, scales, noise, kernel)

    def _prior_mean(self, applied: Applied) -> NDArray:
        """Return the prior means of exponents, `(M, B)`."""
        return self.settings.level - applied.scales * self.followed_losses.T

    def _shift(self, applied: Applied, dual: NDArray) -> NDArray:
        """Return exponents minus their prior means, `(M, B)`.

        The exponents are the posterior means that belong to a dual `(B, M)`.
        """
        level_variance = self.settings.level_width**2
        from_level = level_variance * dual.sum(axis=1)
        from_kernel = np.einsum('bij,bj->ib', applied.kernel, dual)
        from_kernel *= applied.scales**2
        return from_level + from_kernel

    def _line(self, applied: Applied, shift: NDArray) -> Line:
        """Return the tangents at exponents.

        `shift` are the exponents minus their prior means, `(M, B)`.
        """
        exponents = self._prior_mean(applied) + shift
        return line_at(exponents, self.accuracies_or_0, self.floor,
                       self.straight)

    def _cost(self, applied: Applied, dual: NDArray) -> NDArray:
        """Return the cost of each benchmark in the search for a mode, `(B,)`.

        It is the negative logarithm of the posterior density of the exponents
        that belong to a dual `(B, M)`, up to a constant.
        """
        shift = self._shift(applied, dual)
        line = self._line(applied, shift)
        errors = self.accuracies_or_0 - line.heights
        errors = np.where(self.seen, errors, 0)
        variance = self._noise_variance(applied.noise)
        # The negative log prior of exponents is
        # shift' covariance^-1 shift / 2, and covariance^-1 shift is the dual.
        squares = errors**2 / variance
        squares += dual.T * shift
        return squares.sum(axis=0) / 2

    def _noise_variance(self, noise: NDArray) -> NDArray:
        """Return the variances of the noise of accuracies, `(M, B)`.

        `noise`, `(B,)`, is noise_b of each benchmark.
        """
        return noise * self.item_variance + self.doubt

    def _target_noise(self, noise: NDArray, line: Line) -> NDArray:
        """Return the variances of the noise of targets, `(M, B)`.

        It is the variance of the noise of the accuracy, divided by the squared
        slope of the tangent. `noise`, `(B,)`, is noise_b of each benchmark.
        """
        variance = self._noise_variance(noise)
        variance /= line.slopes**2
        return variance

    def find_mode(self) -> None:
        """Find the exponents with the highest posterior density.

        This takes Gauss-Newton steps of the dual, from `start_dual` or, where
        its cost is lower, from 0. For each benchmark, a step is halved until
        it reduces the cost of this benchmark.
        """
        applied = self._applied(self.hyper)
        dual = self.start_dual.copy()
        zero = np.zeros_like(dual)
        cost = self._cost(applied, dual)
        cost_of_zero = self._cost(applied, zero)
        zero_is_better = cost_of_zero < cost
        dual[zero_is_better] = 0
        cost = np.minimum(cost_of_zero, cost)
        for _ in range(NEWTON_STEPS):
            shift = self._shift(applied, dual)
            line = self._line(applied, shift)
            solution = self._solve(applied, line, with_inverse=False)
            aim = solution.dual
            dual, new_cost = self._step(applied, dual, aim, cost)
            gains = cost - new_cost
            cost = new_cost
            if gains.sum() < GAIN:
                break
        self.solve_with_tangents_at(dual)

    def _step(self, applied: Applied, dual: NDArray, aim: NDArray,
              cost: NDArray) -> tuple[NDArray, NDArray]:
        """Return the dual after a step toward `aim`, and its cost.

        `aim` is the dual that solves the model with the current tangents.

        The duals are `(B, M)`, the costs `(B,)`. `cost` is the cost of `dual`,
        before the step. The dual of a benchmark does not change if no length
        of the step reduces its cost.
        """
        step = aim - dual
        length = np.ones((len(dual), 1))
        for _ in range(LENGTHS):
            trial = dual + length * step
            trial_cost = self._cost(applied, trial)
            is_better = trial_cost < cost
            if is_better.all():
                break
            length[~is_better] /= 2
        new_dual = dual.copy()
        new_dual[is_better] = trial[is_better]
        new_cost = np.minimum(trial_cost, cost)
        return new_dual, new_cost

    def solve_with_tangents_at(self, dual: NDArray) -> None:
        """Take tangents at a dual `(B, M)`, and solve the model with them.

        The curves are replaced by the tangents at the exponents that belong to
        the dual. The next search for a mode starts from the solution.
        """
        applied = self._applied(self.hyper)
        self.scales = applied.scales
        self.noise = applied.noise
        self.tangent_dual = dual
        shift = self._shift(applied, dual)
        self.line = self._line(applied, shift)
        self.solution = self._solve(applied, self.line)
        self.start_dual = self.solution.dual

    def _solve(self,
               applied: Applied,
               line: Line,
               with_inverse: bool = True) -> Solution:
        """Solve the linear model of each benchmark by a Cholesky factor.

        Without `with_inverse`, `Solution.inverse` is empty.
        """
        n_benchmarks, n_models = self.start_dual.shape
        duals = np.zeros_like(self.start_dual)
        evidence = np.zeros(n_benchmarks)
        inverses = []
        all_distances = line.targets - self._prior_mean(applied)
        noise_of_targets = self._target_noise(applied.noise, line)
        for b, rows in enumerate(self.rows):
            noise = noise_of_targets[rows, b]
            factor = self._factor(applied, noise, b)
            distances = all_distances[rows, b]
            dual, _ = lapack.dpotrs(factor, distances, lower=1)
            diagonal = np.diag(factor)
            half_log_determinant = np.log(diagonal).sum()
            half_square = distances @ dual / 2
            evidence[b] = -half_log_determinant - half_square
            duals[b, rows] = dual
            if with_inverse:
                inverse = _inverse_in_place(factor)
                inverse = _among_all(inverse, rows, n_models)
                inverses.append(inverse)
        return Solution(duals, inverses, evidence)

    def _factor(self, applied: Applied, noise: NDArray, b: int) -> NDArray:
        """Return the lower Cholesky factor of the covariance of targets.

        Only the m models with an accuracy on benchmark b have targets, so the
        factor is `(m, m)`. `noise`, `(m,)`, is the noise variance of targets.
        """
        kernel = applied.kernel[b]
        # This is a copy, which is changed in place to save memory.
        covariance = kernel[self.blocks[b]]
        covariance *= applied.scales[b]**2
        covariance += self.settings.level_width**2
        diagonal = np.arange(len(noise))
        covariance[diagonal, diagonal] += noise
        # The matrix is symmetric. Transposed, it has the memory order that
        # LAPACK needs to work in place.
        factor, failure = lapack.dpotrf(covariance.T, lower=1, overwrite_a=1)
        if failure:
            raise np.linalg.LinAlgError(
                'a covariance is not positive definite')
        return factor

    # ---- hyper-parameters

    def _prior(self, hyper: NDArray,
               included: NDArray) -> tuple[float, NDArray]:
        """Return the negative log prior of hyper-parameters, and its gradient.

        The scale and the noise of a benchmark have a prior only where
        `included`, `(B,)`, is True. The noise of a benchmark is relative to
        the noise of independent items. Its prior mean is the usual noise: the
        mean over the benchmarks where `learned_from` is True, which has the
        prior mean `Settings.noise`.
        """
        settings = self.settings
        learned_from = self.learned_from
        log_amounts = hyper[:N_PARTS]
        log_typical = hyper[N_PARTS]
        log_scales, log_noise = np.split(hyper[SCALES:], 2)
        # Each `_away` is a distance from a prior mean, divided by the prior
        # standard deviation.
        amounts_away = log_amounts - self._prior_amounts
        amounts_away /= settings.width
        typical_away = log_typical - settings.typical
        typical_away /= settings.width
        scales_away = log_scales - log_typical
        scales_away /= settings.scale_width
        scales_away *= included
        # Relative logarithms of noise, minus the prior mean of the usual
        # noise.
        excess = log_noise - self.log_item_noise - settings.noise
        usual = excess[learned_from].mean()
        usual_away = usual / settings.noise_width
        noise_away = excess - usual
        noise_away /= settings.noise_width
        noise_away *= included
        squares = amounts_away @ amounts_away
        squares += typical_away**2 + usual_away**2
        squares += scales_away @ scales_away
        squares += noise_away @ noise_away
        by_amounts = amounts_away / settings.width
        # The typical scale is the prior mean of each scale.
        by_typical = typical_away / settings.width
        by_typical -= scales_away.sum() / settings.scale_width
        by_scales = scales_away / settings.scale_width
        # The usual noise is a mean over the benchmarks that are learned from.
        # Both derivatives are divided by the width of noise at the end.
        by_usual = usual_away - noise_away.sum()
        by_usual /= learned_from.sum()
        by_noise = noise_away.copy()
        by_noise[learned_from] += by_usual
        by_noise /= settings.noise_width
        gradient = np.concatenate(
            [by_amounts, [by_typical], by_scales, by_noise])
        return squares / 2, gradient

    def _gradient(self, applied: Applied, line: Line, by_covariance: NDArray,
                  by_distance: NDArray) -> NDArray:
        """Return the gradient of a cost with respect to hyper-parameters.

        The cost does not include the prior of the hyper-parameters.
        `by_covariance`, `(B, M, M)`, are the derivatives of the cost with
        respect to the covariances of targets, and `by_distance`, `(B, M)`, the
        derivatives with respect to the targets minus their prior means. All
        hyper-parameters are logarithms, so the derivative with respect to a
        quantity is multiplied by this quantity.
        """
        scales = applied.scales
        squared_scales = scales[:, None, None]**2
        by_kernel = squared_scales * by_covariance
        by_variances = []
        for part in self.parts:
            by_variance = np.sum(part * by_kernel)
            by_variances.append(by_variance)
        by_amounts = 2 * applied.part_variances * by_variances
        # The cost depends on the typical scale only through the prior.
        by_typical = [0.]
        # A scale is squared in the covariance, and is the slope of the prior
        # mean.
        by_kernel *= applied.kernel
        by_square = by_kernel.sum(axis=(1, 2))
        by_slope = by_distance * self.followed_losses
        by_slope = by_slope.sum(axis=1)
        by_scales = 2 * by_square + scales * by_slope
        # Variances of the noise of targets if noise_b were 1. Where there is
        # no accuracy, `by_covariance` is 0.
        unit_noise = self.item_variance / line.slopes**2
        by_own_variance = diagonals(by_covariance)
        by_noise = by_own_variance * unit_noise.T
        by_noise = applied.noise * by_noise.sum(axis=1)
        return np.concatenate([by_amounts, by_typical, by_scales, by_noise])

    def evidence_cost(self, hyper: NDArray, line: Line,
                      included: NDArray) -> tuple[float, NDArray]:
        """Return the negative log of (evidence x prior), and its gradient.

        The evidence is the product of the evidences of all benchmarks where
        `included`, `(B,)`, is True.
        """
        cost, gradient = self._prior(hyper, included)
        applied = self._applied(hyper)
        dual, inverses, evidence = self._solve(applied, line)
        by_covariance = np.stack(inverses)
        by_covariance -= products_of_pairs(dual, dual)
        by_covariance /= 2
        by_covariance *= included[:, None, None]
        by_distance = included[:, None] * dual
        gradient += self._gradient(applied, line, by_covariance, by_distance)
        cost -= evidence @ included
        return cost, gradient

    def cost_of_exponents(self, hyper: NDArray, line: Line,
                          included: NDArray) -> tuple[float, NDArray]:
        """Return the cost of families left out, and its gradient.

        The cost is the negative log density, by Student's t, of the targets of
        each family given all other families, plus the negative log prior. It
        is a sum over the benchmarks where `included`, `(B,)`, is True. Its
        gradient is in closed form, so it is used to choose the amounts. It is
        a cost of exponents, so only costs with the same tangents can be
        compared; `accuracy_scores` compares candidates with other tangents.

        P is the inverse covariance C^-1 of the targets, a the targets minus
        their prior mean, d = P a the dual, and F a family that is left out.
        Then the errors e of the targets of F, their covariance E (`of_errors`
        in the code), and the differentials of both are

            E = (P_FF)^-1        e = E d_F
            dE = -E dP_FF E      de = dE d_F + E dd_F

        and the differentials of P and d are

            dP = -P dC P         dd = P da - P dC d
        """
        cost, gradient = self._prior(hyper, included)
        applied = self._applied(hyper)
        dual, inverses, _ = self._solve(applied, line)
        inverse = np.stack(inverses)
        benchmarks = np.arange(len(dual))
        all_weights = self.weight * included
        # Derivatives of the cost with respect to P and to d; sums over
        # families.
        by_inverse = np.zeros_like(inverse)
        by_dual = np.zeros_like(dual)
        for rows in self.family_rows:
            errors, of_errors = self._errors_without(rows, dual, inverses)
            variance = diagonals(of_errors)
            terms, by_error, by_variance = _student_cost(errors, variance)
            weight = all_weights[rows].T
            terms *= weight
            by_error *= weight
            by_variance *= weight
            cost += terms.sum()
            by_dual[:, rows] += _times(of_errors, by_error)
            # The derivatives with respect to E: the cost depends on E through
            # e, and through the diagonal of E, the variances.
            by_errors = products_of_pairs(by_error, dual[:, rows])
            add_to_diagonals(by_errors, by_variance)
            by_block = of_errors @ by_errors @ of_errors
            block = np.ix_(benchmarks, rows, rows)
            by_inverse[block] -= by_block
        by_inverse = _symmetric(by_inverse)
        # The derivatives with respect to a and C follow from the derivatives
        # with respect to P and d.
        by_distance = _times(inverse, by_dual)
        by_covariance = -inverse @ by_inverse @ inverse
        products = products_of_pairs(by_distance, dual)
        by_covariance -= _symmetric(products)
        gradient += self._gradient(applied, line, by_covariance, by_distance)
        return cost, gradient

    def _errors_without(self, rows: NDArray, dual: NDArray,
                        inverses: list[NDArray]) -> tuple[NDArray, NDArray]:
        """Return errors of the targets of a family that is left out.

        `rows` are the indices of the m models of the family. Returns the
        errors, `(B, m)`, and their covariances, `(B, m, m)`. Both are
        meaningless where a model has no accuracy.
        """
        family = np.ix_(rows, rows)
        blocks = np.stack([inverse[family] for inverse in inverses])
        # Rows without an accuracy are 0. A 1 on the diagonal makes the block
        # invertible.
        unseen = ~self.seen[rows]
        add_to_diagonals(blocks, unseen.T)
        covariance = np.linalg.inv(blocks)
        errors = _times(covariance, dual[:, rows])
        return errors, covariance

    def learn(self, rounds: int, advance: Advance) -> None:
        """Find the mode and the hyper-parameters of most evidence in turns.

        `advance` is called when each of the `rounds` begins.
        """
        cost = self.evidence_cost
        learned_from = self.learned_from
        all_indices = np.arange(len(self.hyper))
        # Indices of the hyper-parameters of the other benchmarks.
        scales = SCALES + np.flatnonzero(~learned_from)
        noises = len(learned_from) + scales
        own_indices = np.concatenate([scales, noises])
        for _ in range(rounds):
            advance()
            self.find_mode()
            self._find_doubt()
            # The scale and the noise of a benchmark that is not learned from
            # stay as they are, because the gradient with respect to them is 0.
            self.hyper = self._least(cost, all_indices, learned_from)
            if len(own_indices):
                self.hyper = self._least(cost, own_indices, ~learned_from)
        self.find_mode()

    def choose_amounts(self) -> None:
        """Choose the amounts by the cost of families left out.

        The amounts of most evidence predict new families worse: the amount
        `family` is too large and the amount `units` too small
        (tools/studies/LOG.md).
        """
        of_amounts = np.arange(N_PARTS)
        cost = self.cost_of_exponents
        self.hyper = self._least(cost, of_amounts, self.learned_from)
        self.find_mode()
        self._find_doubt()
        self.find_mode()

    def _least(self, cost: Callable, free: NDArray,
               included: NDArray) -> NDArray:
        """Return hyper-parameters of least cost.

        Only the hyper-parameters with the indices `free` change. `cost` is
        `evidence_cost` or `cost_of_exponents`.
        """
        # scipy.optimize takes long to load, and only fits need it.
        from scipy.optimize import minimize
        line = self.line
        hyper = self.hyper.copy()

        def cost_of_free(values: NDArray) -> tuple[float, NDArray]:
            """Return the cost and its gradient at these free values."""
            hyper[free] = values
            value, gradient = cost(hyper, line, included)
            return value, gradient[free]

        start = self.hyper[free]
        lowest = start - HYPER_CHANGE
        highest = start + HYPER_CHANGE
        bounds = np.column_stack([lowest, highest])
        least = minimize(
            cost_of_free,
            start,
            jac=True,
            method='L-BFGS-B',
            bounds=bounds,
            options={'maxiter': HYPER_STEPS})
        hyper[free] = least.x
        return hyper

    def _find_doubt(self) -> None:
        """Set the `doubt` of outliers from errors of families left out."""
        errors, deviations = self.left_out_errors()
        self.doubt = doubt_of(errors, deviations, self.learned_from,
                              self.settings.outlier)

    # ---- families left out

    def families_left_out(self) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents, `(M, B)` each.

        Each model is predicted from all families but its own. Values are NaN
        where there is no accuracy. The result is in closed form. A fit to all
        other families, with the same hyper-parameters and tangents, has the
        same result.
        """
        targets = self.line.targets
        mean = np.empty(targets.shape)
        variance = np.empty(targets.shape)
        dual, inverses, _ = self.solution
        noise = self._target_noise(self.noise, self.line)
        for rows in self.family_rows:
            errors, covariance = self._errors_without(rows, dual, inverses)
            mean[rows] = targets[rows] - errors.T
            # A target is an exponent with noise.
            of_targets = diagonals(covariance).T
            variance[rows] = of_targets - noise[rows]
        variance = np.maximum(variance, LEAST_VARIANCE)
        unseen = ~self.seen
        mean[unseen] = np.nan
        variance[unseen] = np.nan
        return mean, variance

    def left_out_errors(self) -> tuple[NDArray, NDArray]:
        """Return standardised errors and predicted deviations, `(M, B)` each.

        An error is the observed minus the predicted accuracy, divided by the
        predicted standard deviation. Each model is predicted from all families
        but its own.
        """
        mean, variance = self.families_left_out()
        floor = self.floor
        # Few nodes of the quadrature, as many fits are compared and exponents
        # of fitted models are not very uncertain.
        predicted, deviation = moments(
            mean, variance, floor, self.noise, n_nodes=9)
        errors = self.accuracies - predicted
        return errors / deviation, deviation

    def accuracy_scores(self) -> Floats:
        """Return negative log scores of families left out, `(B,)`.

        Low is good. The scores are computed from errors of accuracies, not of
        exponents, because exponents with different floors cannot be compared.
        They are used to choose floors, mean losses and forms. The predicted
        deviations do not include `doubt`, so a candidate with more `doubt`
        gains nothing by it.
        """
        standardised, deviation = self.left_out_errors()
        errors = standardised * deviation
        costs, _, _ = _student_cost(errors, deviation**2)
        costs *= self.weight
        return np.nansum(costs, axis=0)


def _student_cost(errors: NDArray,
                  variance: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return the negative log density of Student's t, and its derivatives.

    The density is up to a constant. The derivatives are with respect to the
    errors, and with respect to their variances. All three results have the
    shape of the errors.
    """
    power = (COST_DEGREES + 1) / 2
    scaled = COST_DEGREES * variance
    ratio = errors**2 / scaled
    log_deviation = np.log(variance) / 2
    cost = log_deviation + power * np.log1p(ratio)
    widened = 1 + ratio
    by_error = 2 * power / widened * errors / scaled
    by_log_variance = .5 - power * ratio / widened
    by_variance = by_log_variance / variance
    return cost, by_error, by_variance


def _times(matrices: NDArray, vectors: NDArray) -> NDArray:
    """Return the products of matrices `(B, M, M)` and vectors, `(B, M)`."""
    return np.einsum('bij,bj->bi', matrices, vectors)


def _symmetric(matrices: NDArray) -> NDArray:
    """Return the symmetric parts of matrices `(B, M, M)`."""
    transposed = matrices.transpose(0, 2, 1)
    return (matrices + transposed) / 2


def _inverse_in_place(factor: NDArray) -> NDArray:
    """Return the inverse of a matrix, given its lower Cholesky factor.

    The inverse takes the memory of the factor.
    """
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    # LAPACK fills only the lower half.
    below = np.tri(len(inverse), k=-1, dtype=bool)
    np.copyto(inverse.T, inverse, where=below)
    return inverse


def _among_all(matrix: NDArray, rows: NDArray, n_models: int) -> NDArray:
    """Return a matrix of all M models, `(M, M)`, from a matrix of m models.

    `matrix`, `(m, m)`, has the models with the indices `rows`. All elements of
    other models are 0.
    """
    if len(rows) == n_models:
        return matrix
    found = np.zeros((n_models, n_models))
    block = np.ix_(rows, rows)
    found[block] = matrix
    return found
