"""The joint distribution of the accuracies of new models.

An exponent is the number from which the curve (Eq. 2) computes the accuracy of
one model on one benchmark. This file takes the means and the variances,
`(M, B)`, of the exponents of M models on B benchmarks, as the fitted model of
accuracies predicts them, and their correlations. From these it computes
expected accuracies, intervals of single accuracies and of weighted sums (such
as a difference of two models), random draws, and the conditional distribution
when some accuracies are known. The formulas stand in docs/appendix/method.md,
"One joint distribution" and "Known accuracies".

Correlations. A_b, `(M, M)`, are the correlations between the models on
benchmark b, from the posterior of this benchmark alone. A is the mean of all
A_b. The errors of one model on several benchmarks are correlated, too: the
fraction rho (`benchmark_correlation`) of each variance is common to all
benchmarks. The correlation of this common error between two models is taken
from A. This makes the matrix of all correlations positive semidefinite. The
correlations are then

    on the same benchmark b    R_b = (1 - rho) A_b + rho A
    on different benchmarks    rho A

If two models have different rho, the geometric mean of both takes the place of
rho, and the geometric mean of both 1 - rho that of 1 - rho.

Intervals. The curve (Eq. 2) turns exponents into accuracies, and the noise of
a benchmark's items is added. The interval of a single accuracy runs between
the accuracies at the limits of its exponent's interval, widened by the noise
at these limits. A weighted sum runs over cells; each cell is one model on one
benchmark. The half width of the interval of the sum is the square root of

    sum over cells i, j of  w_i w_j correlation_ij half_i half_j
    + sum over cells i of  (w_i noise_i)^2

where w_i is the weight of cell i, half_i the half width of its accuracy that
comes from the exponent, noise_i the half width that comes from the items, and
correlation_ij the correlation of the exponents of cells i and j. The noise of
items is independent between cells. Each accuracy has two half widths, one
below and one above it. For the lower limit of a sum, the half width below
counts if the weight is positive, and the half width above if it is negative.
For the upper limit, it is the other way round (recovery of variance estimates;
Zou and Donner, Statistics in Medicine 27(10), 2008). Intervals of single
accuracies are cut at 0 and 1. The interval of a sum is cut at the weighted
sums of the limits of the single intervals.

Known accuracies (`Joint.given`). The mode of their exponents is found in
core.given_accuracies. They need the correlation of each pair of benchmarks
(core.benchmark_correlations), whose mean over all pairs is rho. If a known
accuracy differs from its prediction by more than `LARGEST_ERROR` expected
errors, it changes the predictions on other benchmarks only as if it differed
by this limit.

The table "Words of the code" in docs/appendix/method.md explains further
words.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from csv_plugin.core.arrays import Booleans, Floats, Integers
from csv_plugin.core.benchmark_correlations import correlations_of_pairs
from csv_plugin.core.calibration import LARGEST_ERROR, LeftOut, Tails
from csv_plugin.core.curve import (LEAST_VARIANCE, accuracy_of, item_variance,
                                   moments)
from csv_plugin.core.families import family_numbers, rows_of_families
from csv_plugin.core.given_accuracies import GivenAccuracies
from csv_plugin.core.numerics import (SINGULAR, correlations_of, diagonals,
                                      geometric_means, possible_correlations,
                                      products_of_pairs, root_of_correlations,
                                      set_diagonals)
from csv_plugin.core.observed import Observed
from csv_plugin.core.settings import Settings

#: Number of random draws for ranks and for the probability that a model is the
#: best, and the seed of the draws.
DRAWS, SEED = 4000, 0


class ModelsOfForm(Protocol):
    """M models as one form of a model of accuracies sees them.

    An example is `standardised.Standardised`.
    """

    @property
    def families(self) -> Integers:
        """The number of each model's family, `(M,)`."""

    def take(self, rows: NDArray) -> 'ModelsOfForm':
        """Return the models with the given row indices."""


class Model(Protocol):
    """The attributes of a model of accuracies that `Joint` uses.

    `accuracy_model.AccuracyModel` documents them.
    """
    floor: Floats
    noise: Floats
    tails: Tails
    benchmark_correlation: float
    settings: Settings
    left_out: LeftOut
    observed: Observed

    def covariance(self, models_by_form: Sequence[Any]) -> Floats:
        """Return the covariances of exponents between models, `(B, M, M)`."""


class Halves(NamedTuple):
    """Half widths of the intervals of accuracies, as fractions, `(M, B)` each.

    `down` and `up` are the half widths below and above the expected accuracy
    that come from the uncertain exponents. `noise_down` and `noise_up` are the
    half widths that come from the noise of the items, at the lower and at the
    upper limit.
    """
    down: Floats
    up: Floats
    noise_down: Floats
    noise_up: Floats


class Sum(NamedTuple):
    """A weighted sum of accuracies, with its interval from `low` to `high`.

    `value` is the expected sum, and `positive` is the probability that the sum
    is above 0.
    """
    value: float
    low: float
    high: float
    positive: float


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint distribution of the accuracies of M models on B benchmarks.

    Attributes:
        model: The fitted model of accuracies.
        models_by_form: The M models, once for each form of the model of
            accuracies (`settings.Form`), as this form sees them.
        mean: Means of the exponents, `(M, B)`.
        variance: Variances of the exponents, `(M, B)`.
        rho: Correlation of each model's exponents on two different benchmarks,
            `(M,)`.
        changed_covariances: Covariances of exponents between models on each
            benchmark, `(B, M, M)`, if known accuracies or uncertain losses
            have changed them. With None, the model of accuracies computes
            them.
        known: Accuracies that `given` was told, `(M, B)`, NaN where unknown,
            or None if it was told none. They are certain: the accuracy is the
            known one, and its interval has no width.
    """
    model: Model
    models_by_form: Sequence[ModelsOfForm]
    mean: Floats
    variance: Floats
    rho: Floats
    changed_covariances: Optional[Floats] = None
    known: Optional[Floats] = None

    @classmethod
    def of(cls, model: Model, models_by_form: Sequence[ModelsOfForm],
           mean: NDArray, variance: NDArray) -> 'Joint':
        """Return the distribution that a model of accuracies predicts.

        The arguments are the attributes of the same names. For all models,
        `rho` is the `benchmark_correlation` of the model of accuracies.
        """
        rho = np.full(len(mean), model.benchmark_correlation)
        return cls(model, models_by_form, mean, variance, rho)

    @property
    def deviation(self) -> Floats:
        """Standard deviations of the exponents, `(M, B)`."""
        return np.sqrt(self.variance)

    @property
    def _covariances(self) -> Floats:
        """Covariances of exponents between models, `(B, M, M)`, as a copy."""
        deviation = self.deviation.T
        of_pairs = products_of_pairs(deviation, deviation)
        return self.model_correlations * of_pairs

    # ---- single accuracies

    @cached_property
    def _moments(self) -> tuple[NDArray, NDArray]:
        """Means and standard deviations of accuracies, `(M, B)` each."""
        model = self.model
        return moments(self.mean, self.variance, model.floor, model.noise)

    @property
    def is_known(self) -> Booleans:
        """Mask of the known accuracies, `(M, B)`."""
        if self.known is None:
            return np.zeros(self.mean.shape, bool)
        return ~np.isnan(self.known)

    @property
    def accuracies(self) -> Floats:
        """Expected accuracies in 0..1, `(M, B)`."""
        means, _ = self._moments
        if self.known is None:
            return means
        return np.where(self.is_known, self.known, means)

    @property
    def expected_errors(self) -> Floats:
        """Standard deviations of the errors of accuracies, `(M, B)`.

        They are fractions, multiplied by the factor `stretch` by which errors
        exceed their prediction. They are not the root mean squares of the
        Student's t distribution of the errors: with few families, its degrees
        of freedom are as low as 2.5, and then these root mean squares are more
        than twice the observed errors.
        """
        _, deviations = self._moments
        errors = self.model.tails.stretch * deviations
        return np.where(self.is_known, 0, errors)

    def halves(self, level: float) -> Halves:
        """Return the half widths of the intervals about `accuracies`.

        `level` is the probability that an interval holds the accuracy.
        """
        floor = self.model.floor
        noise = self.model.noise
        quantile = self.model.tails.quantile(level)
        away = quantile * self.deviation
        low = accuracy_of(self.mean - away, floor)
        high = accuracy_of(self.mean + away, floor)
        # The expected accuracy may lie outside, as the curve bends.
        accuracies = self.accuracies
        down = np.maximum(accuracies - low, 0)
        up = np.maximum(high - accuracies, 0)
        variance_low = noise * item_variance(low)
        variance_high = noise * item_variance(high)
        noise_down = quantile * np.sqrt(variance_low)
        noise_up = quantile * np.sqrt(variance_high)
        halves = np.stack([down, up, noise_down, noise_up])
        return Halves(*np.where(self.is_known, 0, halves))

    def intervals(self, level: float) -> tuple[NDArray, NDArray]:
        """Return the lower and upper limits of accuracies, `(M, B)` each."""
        half = self.halves(level)
        below = np.hypot(half.down, half.noise_down)
        above = np.hypot(half.up, half.noise_up)
        low = self.accuracies - below
        high = self.accuracies + above
        low = np.clip(low, 0, 1)
        high = np.clip(high, 0, 1)
        return low, high

    # ---- several accuracies at once

    def take(self, rows: NDArray) -> 'Joint':
        """Return the distribution of the models with the given row indices."""
        models_by_form = [models.take(rows) for models in self.models_by_form]
        covariances = self.changed_covariances
        if covariances is not None:
            covariances = covariances[:, rows][:, :, rows]
        known = None if self.known is None else self.known[rows]
        return replace(
            self,
            models_by_form=models_by_form,
            mean=self.mean[rows],
            variance=self.variance[rows],
            rho=self.rho[rows],
            changed_covariances=covariances,
            known=known)

    @cached_property
    def model_correlations(self) -> Floats:
        """Correlations of exponents between models, R_b, `(B, M, M)`."""
        if self.changed_covariances is not None:
            # They were changed from R_b, which contain rho already.
            return correlations_of(self.changed_covariances)
        covariance = self.model.covariance(self.models_by_form)
        # A_b and A of the formula above.
        alone = correlations_of(covariance)
        mean = alone.mean(axis=0)
        of_own = geometric_means(1 - self.rho) * alone
        of_common = geometric_means(self.rho) * mean
        return of_own + of_common

    @property
    def _across(self) -> Floats:
        """Correlations of models' exponents on two different benchmarks.

        They are `(M, M)`, the same for each pair of benchmarks. The A of the
        formula above is taken as the mean of the R_b, which is the same if all
        models have the same `rho`.
        """
        mean = self.model_correlations.mean(axis=0)
        return geometric_means(self.rho) * mean

    @property
    def _pair_excess(self) -> Floats:
        """Correlation of each pair of benchmarks minus the mean over pairs.

        The shape is `(B, B)`. After `given`, all values are 0, as only the
        mean correlation of each model (`rho`) is kept.
        """
        model = self.model
        if self.known is not None:
            n_benchmarks = len(model.floor)
            shape = n_benchmarks, n_benchmarks
            return np.zeros(shape)
        families = family_numbers(model.observed.families)
        of_pairs = correlations_of_pairs(model.left_out, model.tails.stretch,
                                         families, model.benchmark_correlation)
        return of_pairs - model.benchmark_correlation

    def sum(self, weights: NDArray, level: float) -> Sum:
        """Return the weighted sum of all accuracies, with its interval.

        `weights` are `(M, B)`. For example, the weights 1 and -1 on one
        benchmark, and 0 elsewhere, give the difference of two models on it.
        `level` is the probability that the interval holds the sum.
        """
        summands = weights * self.accuracies
        value = float(summands.sum())
        down, up, noise_down, noise_up = self.halves(level)
        # The sum falls if accuracies with a positive weight fall, and if
        # accuracies with a negative weight rise.
        adds = weights > 0
        half_below = np.where(adds, down, up)
        noise_below = np.where(adds, noise_down, noise_up)
        half_above = np.where(adds, up, down)
        noise_above = np.where(adds, noise_up, noise_down)
        below = self._half_of_sum(weights, half_below, noise_below)
        above = self._half_of_sum(weights, half_above, noise_above)
        low = value - below
        high = value + above
        # Intervals of single accuracies are cut at 0 and 1, so the sum of
        # their limits may be closer to the value. Then it is the limit.
        limits = np.stack(self.intervals(level))
        # Smaller summands come first, so the shape is `(2, M, B)`.
        limits = np.sort(weights * limits, axis=0)
        least, most = limits.sum(axis=(1, 2)).tolist()
        low = max(low, least)
        high = min(high, most)
        positive = self._probability(value, low, high, level)
        return Sum(value, low, high, positive)

    def _half_of_sum(self, weights: NDArray, half: NDArray,
                     noise: NDArray) -> float:
        """Return the half width of a weighted sum's interval on one side.

        `half` and `noise`, `(M, B)`, are the half widths of single accuracies
        on this side, from exponents and from the noise of items.
        """
        square = self._square(weights * half)
        noise_squares = (weights * noise)**2
        square += noise_squares.sum()
        return float(np.sqrt(square))

    def _probability(self, value: float, low: float, high: float,
                     level: float) -> float:
        """Return the probability that a weighted sum is above 0.

        `value` is the expected sum, and `low` and `high` are the limits of its
        interval with the probability `level`.
        """
        tails = self.model.tails
        # The half width on the side of `value` on which 0 lies.
        half = high - value
        if value > 0:
            half = value - low
        if half <= 0:
            return float(np.heaviside(value, .5))
        # The half width is this quantile of Student's t times a scale. The sum
        # is above 0 if Student's t is above -value / scale.
        quantile = tails.quantile(level) / tails.stretch
        distance = value / half * quantile
        return float(stdtr(tails.degrees, distance))

    def _square(self, halves: NDArray) -> float:
        """Return the squared half width of the interval of a sum.

        `halves`, `(M, B)`, are the half widths of the weighted summands. Each
        has the sign of the weight of its summand.
        """
        has_weight = halves.any(axis=1)
        if has_weight.sum() == 1:
            # Correlations between models, which take long, are not needed.
            squares = _squares_of_sums(halves, self.rho)
            return squares[has_weight].item()
        # The correlations R_b on one benchmark are those across benchmarks,
        # plus those that only errors on the same benchmark have.
        across = self._across
        own = self.model_correlations - across
        square = np.einsum('ib,bij,jb->', halves, own, halves)
        total = halves.sum(axis=1)
        square += total @ across @ total
        return max(float(square), 0.)

    def means(self, benchmarks: NDArray,
              level: float) -> tuple[NDArray, NDArray, NDArray]:
        """Return each model's mean accuracy over some benchmarks.

        The three arrays, `(M,)` each, are the means and the lower and upper
        limits of their intervals. `benchmarks` are indices, and `level` is the
        probability that an interval holds the mean.
        """
        accuracies = self.accuracies[:, benchmarks]
        middle = accuracies.mean(axis=1)
        halves = np.stack(self.halves(level))
        down, up, noise_down, noise_up = halves[..., benchmarks]
        below = self._halves_of_means(down, noise_down)
        above = self._halves_of_means(up, noise_up)
        low = middle - below
        high = middle + above
        # Intervals of single accuracies are cut at 0 and 1, so the mean of
        # their limits may lie closer to the middle. Then it is the limit.
        limits = np.stack(self.intervals(level))
        lows, highs = limits[..., benchmarks]
        least = lows.mean(axis=1)
        most = highs.mean(axis=1)
        low = np.maximum(low, least)
        high = np.minimum(high, most)
        return middle, low, high

    def _halves_of_means(self, half: NDArray, noise: NDArray) -> NDArray:
        """Return the half widths of intervals of means on one side, `(M,)`.

        A mean is over all benchmarks of the arguments. `half` and `noise`,
        `(M, B)`, are the half widths of single accuracies on this side, from
        exponents and from the noise of items.
        """
        n_benchmarks = half.shape[1]
        squares = _squares_of_sums(half / n_benchmarks, self.rho)
        noise_squares = (noise / n_benchmarks)**2
        squares += noise_squares.sum(axis=1)
        return np.sqrt(squares)

    def draws(self, n: int = DRAWS) -> Floats:
        """Return n random draws of all accuracies, `(n, M, B)`.

        They include the noise of items, and may lie outside of 0..1.
        """
        model = self.model
        tails = model.tails
        rng = np.random.default_rng(SEED)
        n_models, n_benchmarks = self.mean.shape
        shape = n, n_models
        deviation = self.deviation
        # As in `_square_of_sum`, R_b is `across` plus the rest.
        across = self._across
        common = rng.standard_normal(shape)
        common = common @ root_of_correlations(across)
        # A draw of Student's t is a normal draw divided by the square root of
        # (chi-square / degrees of freedom). The same chi-square is taken for
        # all models and benchmarks of a draw.
        chi_square = rng.chisquare(tails.degrees, (n, 1))
        chi_square /= tails.degrees
        widen = tails.stretch / np.sqrt(chi_square)
        all_of_them = np.empty((n, n_models, n_benchmarks))
        for b in range(n_benchmarks):
            own_correlations = self.model_correlations[b] - across
            own = rng.standard_normal(shape)
            own = own @ root_of_correlations(own_correlations)
            away = widen * (common + own)
            away *= deviation[:, b]
            exponents = self.mean[:, b] + away
            accuracies = accuracy_of(exponents, model.floor[b])
            noise_variance = model.noise[b] * item_variance(accuracies)
            noise = rng.standard_normal(shape)
            noise *= np.sqrt(noise_variance)
            noise *= widen
            all_of_them[:, :, b] = accuracies + noise
        if self.known is not None:
            all_of_them[:, self.is_known] = self.known[self.is_known]
        return all_of_them

    # ---- uncertain losses

    def with_errors(self, covariance: NDArray, common: NDArray) -> 'Joint':
        """Return the distribution with further errors added to the exponents.

        An example are the errors of losses that were extrapolated.
        `covariance`, `(M, B, B)`, has for each model the covariance of its
        added errors on the benchmarks. The fraction `common[m]` of the added
        variance of model m comes from one error that all models share;
        `common` is `(M,)`.
        """
        added = diagonals(covariance)
        variance = self.variance + added
        # Covariances between models on each benchmark.
        covariances = self._covariances
        common_variance = common[:, None] * added
        common_deviation = np.sqrt(common_variance).T
        covariances += products_of_pairs(common_deviation, common_deviation)
        set_diagonals(covariances, variance.T)
        # Covariances between benchmarks of each model.
        of_models = products_of_pairs(self.deviation, self.deviation)
        of_models *= self.rho[:, None, None]
        of_models += covariance
        set_diagonals(of_models, variance)
        return replace(
            self,
            variance=variance,
            rho=mean_correlations(of_models),
            changed_covariances=covariances)

    # ---- known accuracies

    def given(self, observed: NDArray) -> 'Joint':
        """Return the conditional distribution, given some known accuracies.

        `observed`, `(M, B)`, are the known accuracies in 0..1, NaN where
        unknown. They are the accuracies of the result, without any error,
        although the exponents behind them stay uncertain.

        A known accuracy changes the means and variances of all models of the
        same family; the models of other families keep their means and
        variances. On each benchmark, let `before` and `after` be the
        covariances of the family's models without and with the known
        accuracies. The family's new errors are taken to be K times its old
        errors plus an independent error, with K = after before^-1. So the
        family's covariances with models of other families are multiplied by K.

        Pass all known accuracies in one call: a second call takes the same
        correlation for all pairs of benchmarks.
        """
        seen = ~np.isnan(observed)
        if not seen.any():
            return self
        mean = self.mean.copy()
        variance = self.variance.copy()
        rho = self.rho.copy()
        covariances = self._covariances
        pair_excess = self._pair_excess
        benchmarks = np.arange(len(pair_excess))
        families = self.models_by_form[0].families
        for rows in rows_of_families(families):
            if not seen[rows].any():
                continue
            of_family = self.take(rows)
            moments_after = of_family._conditioned(observed[rows], pair_excess)
            mean[rows], after, rho[rows] = moments_after
            variance[rows] = diagonals(after).T
            block = np.ix_(benchmarks, rows, rows)
            before = covariances[block]
            inverse = np.linalg.pinv(before, SINGULAR, hermitian=True)
            factor = after @ inverse
            with_all = factor @ covariances[:, rows]
            covariances[:, rows] = with_all
            covariances[:, :, rows] = with_all.transpose(0, 2, 1)
            covariances[block] = after
        known = observed
        if self.known is not None:
            known = np.where(seen, observed, self.known)
        return replace(
            self,
            mean=mean,
            variance=variance,
            rho=rho,
            changed_covariances=covariances,
            known=known)

    def is_surprising(self, observed: NDArray) -> Booleans:
        """Return the mask of observed accuracies far from the prediction.

        `observed` are `(M, B)`, NaN where unknown. An accuracy is far if it
        differs from the prediction by more than `LARGEST_ERROR` expected
        errors, and lies outside of the interval with a level of 99 %.
        """
        low, high = self.intervals(.99)
        is_outside = (observed < low) | (observed > high)
        errors = np.abs(observed - self.accuracies)
        return is_outside & (errors > LARGEST_ERROR * self.expected_errors)

    def _conditioned(self, observed: NDArray,
                     pair_excess: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return the moments of exponents, given known accuracies.

        These are the means, `(M, B)`, the covariances between models on each
        benchmark, `(B, M, M)`, and each model's mean correlation between two
        benchmarks, `(M,)`. The posterior of the exponents is approximated by a
        normal distribution at its mode. `observed`, `(M, B)`, are accuracies,
        NaN where unknown, and `pair_excess`, `(B, B)`, is as `_pair_excess`. A
        cell is one model on one benchmark; the M B cells are ordered by
        benchmark, then by model.
        """
        model = self.model
        n_models, n_benchmarks = self.mean.shape
        prior_mean = self.mean.T.ravel()
        prior = self._covariance_of_cells(observed, pair_excess)
        accuracies = observed.T.ravel()
        is_known = ~np.isnan(accuracies)
        cells = np.flatnonzero(is_known)
        among_known = np.ix_(cells, cells)
        benchmarks = cells // n_models
        # The forms of the mixture have different limits beyond which their
        # curves are replaced by lines. The largest limit is taken here.
        straight = max(form.straight for form in model.settings.forms)
        known = GivenAccuracies(
            prior=prior_mean[cells],
            covariance=prior[among_known],
            accuracies=accuracies[cells],
            floor=model.floor[benchmarks],
            noise=model.noise[benchmarks],
            straight=straight)
        # The mean moves by the covariances with the known cells, times the
        # dual, as in core.posterior.
        dual = known.mode()
        with_known = prior[:, cells]
        mean = prior_mean + with_known @ dual
        matrix = known.matrix(dual)
        gain = np.linalg.solve(matrix, with_known.T)
        after = prior - with_known @ gain
        # Rounding may leave a variance that is too small.
        lacking = LEAST_VARIANCE - np.diag(after)
        lacking = np.maximum(lacking, 0)
        after += np.diag(lacking)
        # Axes: benchmark, model, benchmark, model.
        shape = n_benchmarks, n_models
        after = after.reshape(*shape, *shape)
        covariances = np.einsum('bibj->bij', after)
        of_models = np.einsum('bmcm->mbc', after)
        mean = mean.reshape(shape)
        return mean.T, covariances, mean_correlations(of_models)

    def _covariance_of_cells(self, observed: NDArray,
                             pair_excess: NDArray) -> Floats:
        """Return the covariances of exponents between all cells, `(M B, M B)`.

        Cells, `observed` and `pair_excess` are as in `_conditioned`. If a
        known accuracy is more than `LARGEST_ERROR` expected errors from its
        prediction, its correlations with other benchmarks are reduced.
        """
        n_models, n_benchmarks = self.mean.shape
        distances = np.abs(observed - self.accuracies)
        errors = distances / self.expected_errors
        # How many times `LARGEST_ERROR` an error is, and at least 1. It is 1
        # for cells without an accuracy, as fmax ignores NaN. The inverse is
        # the fraction of the error that counts for other benchmarks.
        times_limit = np.fmax(errors / LARGEST_ERROR, 1)
        kept = 1 / times_limit.T.ravel()
        # On different benchmarks: the mean over pairs, plus each pair's
        # difference from this mean.
        of_models = self.model_correlations.mean(axis=0)
        of_pairs = n_benchmarks, n_benchmarks
        correlations = np.tile(self._across, of_pairs)
        correlations += np.kron(pair_excess, of_models)
        correlations *= np.outer(kept, kept)
        # On the same benchmark, all correlations are replaced.
        for b, of_benchmark in enumerate(self.model_correlations):
            first = b * n_models
            block = slice(first, first + n_models)
            correlations[block, block] = of_benchmark
        correlations = possible_correlations(correlations)
        deviation = self.deviation.T.ravel()
        return correlations * np.outer(deviation, deviation)


def mean_correlations(covariance: NDArray) -> Floats:
    """Return each model's mean correlation between two benchmarks, `(M,)`.

    `covariance`, `(M, B, B)`, are each model's covariances between benchmarks.
    The mean correlation is the sum of the covariances of all pairs of
    different benchmarks, divided by the sum of the products of their two
    standard deviations, and clipped to 0..1. With one benchmark, it is 0.
    """
    n_models, n_benchmarks, _ = covariance.shape
    if n_benchmarks == 1:
        return np.zeros(n_models)
    variance = diagonals(covariance)
    deviation = np.sqrt(variance)
    # The sum over pairs of different benchmarks is the sum over all pairs
    # minus the sum over pairs of a benchmark with itself.
    of_same = variance.sum(axis=1)
    covariances = covariance.sum(axis=(1, 2))
    covariances -= of_same
    products = deviation.sum(axis=1)**2
    products -= of_same
    return np.clip(covariances / products, 0, 1)


def _squares_of_sums(halves: NDArray, rho: NDArray) -> Floats:
    """Return the squared half width of each model's sum, `(M,)`.

    It is the squared half width of the interval of the sum of the model's
    accuracies over benchmarks. `halves`, `(M, B)`, are the half widths of the
    accuracies, and `rho`, `(M,)`, is as in `Joint`.
    """
    squares = halves**2
    of_own = squares.sum(axis=1)
    of_common = halves.sum(axis=1)**2
    return (1 - rho) * of_own + rho * of_common
