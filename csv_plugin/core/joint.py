"""The joint distribution of accuracies of new models, and views of it.

This file takes means, variances and correlations of the exponents of M models
on B benchmarks, `(M, B)`, as a model of accuracies predicts them. From these
it computes expected accuracies, intervals of single accuracies and of weighted
sums (such as a difference of two models), draws, and the distribution that is
left when some accuracies are known. The formulas stand in
docs/appendix/method.md, "One joint distribution" and "Known accuracies".

Correlations. A_b, `(M, M)`, are the correlations between models on benchmark
b, from the posterior of this benchmark alone, and A is their mean over
benchmarks. A model's errors on several benchmarks also go together: a share
`between` of each variance is common to all benchmarks. Between models, this
common part has the correlations A, so that the whole is the covariance of a
distribution. The correlations are then

    on the same benchmark b    R_b = (1 - between) A_b + between A
    on different benchmarks    between A

Intervals. Accuracies follow from exponents by the curve (Eq. 2), and the
noise of a benchmark's items is added. The interval of a single accuracy runs
between the accuracies at the ends of its exponent's interval, widened by the
noise at these ends. A weighted sum runs over cells, which are a model and a
benchmark each. The half width of its interval is the root of

    sum over cells i, j of  w_i w_j correlation_ij half_i half_j
    + sum over cells i of  (w_i noise_i)^2

where `half` are the half widths that come from exponents, and `noise` those
from items, which are independent. Each accuracy has two half widths, below and
above it. The one that counts is that in the direction in which the accuracy
would move the sum (recovery of variance estimates; Zou and Donner, Statistics
in Medicine 27(10), 2008). Single intervals are cut at 0 and 1. The interval
of a sum is cut where all accuracies are at the ends of their own intervals.

Known accuracies (`Joint.given`). They need one thing more: how far each pair
of benchmarks goes together. For this, `between` is that of the pair
(core.between); the mean over all pairs is the `between` above. A known
accuracy that is farther off than `LARGEST_ERROR` expected errors counts only
as far as this limit for other benchmarks.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from csv_plugin.core.between import correlations_of_pairs
from csv_plugin.core.calibration import LARGEST_ERROR, LeftOut, Tails
from csv_plugin.core.curve import (LEAST_VARIANCE, Line, accuracy_of,
                                   item_variance, line_at, moments)
from csv_plugin.core.kernels import families_by_number
from csv_plugin.core.observed import Observed
from csv_plugin.core.settings import Settings

#: Largest number of steps to the mode, given known accuracies, and the least
#: part of a step that is tried.
GIVEN_STEPS, LEAST_LENGTH = 30, 1e-4
#: The mode is found when a step changes the dual by less than this share.
SAME = 1e-13
#: Eigenvalues of a covariance below this share of the largest count as 0.
#: Those of correlations that are drawn from are at least this: rounding, and
#: what known accuracies leave only approximately, make some of them negative.
SINGULAR = 1e-9
#: Number of draws for ranks and probabilities to be best, and their seed.
DRAWS, SEED = 4000, 0


class ModelRows(Protocol):
    """M models as one form of a model of accuracies sees them, a row each."""

    @property
    def families(self) -> NDArray[np.int64]:
        """Numbers that are equal in a family, `(M,)`."""

    def take(self, rows: NDArray) -> 'ModelRows':
        """Return some of the models."""


class Model(Protocol):
    """What a joint distribution needs of a model of accuracies.

    Its attributes are those of `accuracy_model.AccuracyModel`.
    """
    floor: NDArray[np.float64]
    noise: NDArray[np.float64]
    tails: Tails
    between: float
    settings: Settings
    left_out: LeftOut
    observed: Observed

    def covariance(self, model_rows: Sequence[Any]) -> NDArray[np.float64]:
        """Return covariances of exponents between models, `(B, M, M)`."""


class Halves(NamedTuple):
    """Half widths of intervals of accuracies, fractions, `(M, B)`.

    `down` and `up` come from the exponents, below and above the accuracy;
    `noise_down` and `noise_up` from the noise of items at these ends.
    """
    down: NDArray[np.float64]
    up: NDArray[np.float64]
    noise_down: NDArray[np.float64]
    noise_up: NDArray[np.float64]


class Sum(NamedTuple):
    """A weighted sum of accuracies.

    `positive` is the probability that it is above 0.
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
        model_rows: The M models, as each form of the model of accuracies sees
            them.
        mean: Means of exponents, `(M, B)`.
        variance: Variances of exponents, `(M, B)`.
        within: Covariances of exponents between models on each benchmark,
            `(B, M, M)`, if known accuracies or uncertain losses have changed
            them; None to take those of the model of accuracies.
        shared: The share `between` of each model, `(M,)`, if it has changed;
            None to take that of the model of accuracies.
        conditioned: True if accuracies are known.
    """
    model: Model
    model_rows: Sequence[ModelRows]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    within: Optional[NDArray[np.float64]] = None
    shared: Optional[NDArray[np.float64]] = None
    conditioned: bool = False

    @property
    def between(self) -> NDArray[np.float64]:
        """Correlation of a model's exponents between benchmarks, `(M,)`."""
        if self.shared is not None:
            return self.shared
        return np.full(len(self.mean), self.model.between)

    # ---- single accuracies

    @cached_property
    def _moments(self) -> tuple[NDArray, NDArray]:
        return moments(self.mean, self.variance, self.model.floor,
                       self.model.noise)

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """Expected accuracies in 0..1, `(M, B)`."""
        return self._moments[0]

    @property
    def expected_errors(self) -> NDArray[np.float64]:
        """Standard deviations of errors, stretched, fractions, `(M, B)`.

        These are not root mean squares of Student's t. Few families bound its
        degrees of freedom to 2.5, and then root mean squares are more than
        twice the observed errors.
        """
        return self.model.tails.stretch * self._moments[1]

    def halves(self, level: float) -> Halves:
        """Return half widths of intervals about `accuracies`."""
        floor, noise = self.model.floor, self.model.noise
        quantile = self.model.tails.quantile(level)
        away = quantile * np.sqrt(self.variance)
        low = accuracy_of(self.mean - away, floor)
        high = accuracy_of(self.mean + away, floor)
        # The expected accuracy may lie beyond an end, as the curve bends.
        down = np.maximum(self.accuracies - low, 0)
        up = np.maximum(high - self.accuracies, 0)
        noise_down = quantile * np.sqrt(noise * item_variance(low))
        noise_up = quantile * np.sqrt(noise * item_variance(high))
        return Halves(down, up, noise_down, noise_up)

    def intervals(self, level: float) -> tuple[NDArray, NDArray]:
        """Return the ends of intervals of accuracies, `(M, B)` each."""
        half = self.halves(level)
        low = self.accuracies - np.hypot(half.down, half.noise_down)
        high = self.accuracies + np.hypot(half.up, half.noise_up)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    # ---- several at once

    def take(self, rows: NDArray) -> 'Joint':
        """Return the distribution of some of the models."""
        within = self.within
        if within is not None:
            within = within[:, rows][:, :, rows]
        model_rows = [form_rows.take(rows) for form_rows in self.model_rows]
        return replace(
            self,
            model_rows=model_rows,
            mean=self.mean[rows],
            variance=self.variance[rows],
            within=within,
            shared=self.between[rows])

    @cached_property
    def correlations(self) -> NDArray[np.float64]:
        """Correlations of exponents between models, R_b, `(B, M, M)`."""
        if self.within is not None:
            return _correlations(self.within)
        alone = _correlations(self.model.covariance(self.model_rows))
        common = np.sqrt(np.outer(self.between, self.between))
        own = np.sqrt(np.outer(1 - self.between, 1 - self.between))
        return own * alone + common * alone.mean(axis=0)

    @property
    def _across(self) -> NDArray[np.float64]:
        """Correlations of exponents on different benchmarks, `(M, M)`."""
        common = np.sqrt(np.outer(self.between, self.between))
        return common * self.correlations.mean(axis=0)

    @property
    def _pairs(self) -> NDArray[np.float64]:
        """Correlations of pairs of benchmarks less their mean, `(B, B)`."""
        model = self.model
        n_benchmarks = len(model.floor)
        if self.conditioned:
            return np.zeros((n_benchmarks, n_benchmarks))
        families = families_by_number(model.observed.families)
        of_pairs = correlations_of_pairs(model.left_out, model.tails.stretch,
                                         families, model.between)
        return of_pairs - model.between

    def sum(self, weights: NDArray, level: float) -> Sum:
        """Return a weighted sum of accuracies, with weights `(M, B)`.

        For example, the difference of two models, or of their means.
        """
        value = float((weights * self.accuracies).sum())
        half = self.halves(level)
        # The sum falls if accuracies with a positive weight fall, and others
        # rise; it rises the other way round.
        down, noise_down = half.down, half.noise_down
        up, noise_up = half.up, half.noise_up
        adds = weights > 0
        below = self._half_of_sum(weights, np.where(adds, down, up),
                                  np.where(adds, noise_down, noise_up))
        above = self._half_of_sum(weights, np.where(adds, up, down),
                                  np.where(adds, noise_up, noise_down))
        # Single accuracies may have less room, as they lie in 0..1.
        ends = np.sort(weights * np.array(self.intervals(level)), axis=0)
        least, most = ends.sum(axis=(1, 2))
        low = max(value - below, float(least))
        high = min(value + above, float(most))
        positive = self._probability(value, low, high, level)
        return Sum(value, low, high, positive)

    def _half_of_sum(self, weights: NDArray, half: NDArray,
                     noise: NDArray) -> float:
        """Half the width of a sum's interval, on one side.

        `half` and `noise`, `(M, B)`, are the half widths of its cells, from
        exponents and from items.
        """
        noise_square = ((weights * noise)**2).sum()
        return float(np.sqrt(self._square(weights * half) + noise_square))

    def _probability(self, value: float, low: float, high: float,
                     level: float) -> float:
        """Probability that a sum with this interval is above 0."""
        tails = self.model.tails
        # Half the interval, on the side on which 0 lies.
        half = value - low if value > 0 else high - value
        if half <= 0:
            return float(np.heaviside(value, .5))
        quantile = tails.quantile(level) / tails.stretch
        return float(stdtr(tails.degrees, value / half * quantile))

    def _square(self, halves: NDArray) -> float:
        """Square of the half width of a sum, from those of its cells."""
        moved = np.flatnonzero(halves.any(axis=1))
        if len(moved) == 1:
            # Correlations between models, which take long, are not needed.
            square = _square_of_mean(halves[moved], self.between[moved])
            return float(square[0])
        across = self._across
        own = self.correlations - across
        of_own = np.einsum('ib,bij,jb->', halves, own, halves)
        total = halves.sum(axis=1)
        of_common = total @ across @ total
        return max(float(of_own + of_common), 0.)

    def means(self, benchmarks: NDArray,
              level: float) -> tuple[NDArray, NDArray, NDArray]:
        """Return mean accuracies over benchmarks, and their ends, `(M,)` each.

        `benchmarks` are their indices.
        """
        half = self.halves(level)
        below = self._halves_of_means(half.down[:, benchmarks],
                                      half.noise_down[:, benchmarks])
        above = self._halves_of_means(half.up[:, benchmarks],
                                      half.noise_up[:, benchmarks])
        middle = self.accuracies[:, benchmarks].mean(axis=1)
        # Single accuracies may have less room, as they lie in 0..1.
        least, most = self.intervals(level)
        low = np.maximum(middle - below, least[:, benchmarks].mean(axis=1))
        high = np.minimum(middle + above, most[:, benchmarks].mean(axis=1))
        return middle, low, high

    def _halves_of_means(self, half: NDArray, noise: NDArray) -> NDArray:
        """Half widths of the intervals of models' means, on one side, `(M,)`.

        `half` and `noise`, `(M, B)`, are the half widths of single accuracies,
        from exponents and from items.
        """
        n_benchmarks = half.shape[1]
        square = _square_of_mean(half / n_benchmarks, self.between)
        noise_square = ((noise / n_benchmarks)**2).sum(axis=1)
        return np.sqrt(square + noise_square)

    def draws(self, n: int = DRAWS) -> NDArray[np.float64]:
        """Return n draws of all accuracies, with noise, `(n, M, B)`."""
        model, rng = self.model, np.random.default_rng(SEED)
        n_models, n_benchmarks = self.mean.shape
        deviation = np.sqrt(self.variance)
        across = self._across
        common = rng.standard_normal((n, n_models)) @ _root(across)
        # Student's t: a normal distribution over the root of a chi-square.
        chi = rng.chisquare(model.tails.degrees, n) / model.tails.degrees
        widen = model.tails.stretch / np.sqrt(chi)[:, None]
        found = np.empty((n, n_models, n_benchmarks))
        for b in range(n_benchmarks):
            root = _root(self.correlations[b] - across)
            own = rng.standard_normal((n, n_models)) @ root
            away = widen * (common + own)
            exponents = self.mean[:, b] + deviation[:, b] * away
            accuracies = accuracy_of(exponents, model.floor[b])
            noise_deviation = np.sqrt(model.noise[b] *
                                      item_variance(accuracies))
            noise = rng.standard_normal(accuracies.shape) * noise_deviation
            found[:, :, b] = accuracies + widen * noise
        return found

    # ---- uncertain losses

    def with_errors(self, covariance: NDArray, common: NDArray) -> 'Joint':
        """Return the distribution with further errors of exponents.

        For example, errors of losses that were extrapolated. `covariance`,
        `(M, B, B)`, is that of the errors of each model on the benchmarks. The
        share `common[m]` of model m's added variance comes from one error that
        all models have alike.
        """
        added = np.diagonal(covariance, axis1=1, axis2=2)
        deviation, variance = np.sqrt(self.variance), self.variance + added
        n_models, n_benchmarks = self.mean.shape
        # Between models, on each benchmark.
        within = self.correlations * _products(deviation.T)
        within += _products(np.sqrt(common[:, None] * added).T)
        rows = np.arange(n_models)
        within[:, rows, rows] = variance.T
        # Between benchmarks, of each model.
        of_models = self.between[:, None, None] * _products(deviation)
        of_models += covariance
        places = np.arange(n_benchmarks)
        of_models[:, places, places] = variance
        return replace(
            self,
            variance=variance,
            within=within,
            shared=correlation_between(of_models))

    # ---- known accuracies

    def given(self, observed: NDArray) -> 'Joint':
        """Return the distribution, given accuracies of some of the models.

        Observed are `(M, B)` in 0..1, NaN where unknown. They change the
        predictions of models of the same family. Other families keep their
        distribution. On each benchmark, the family has covariances `before`
        and `after` the accuracies are known. Its new deviations are K times
        its old ones plus an independent rest, with K = after before^-1. So
        its covariances with models of other families are multiplied by K.

        Give all known accuracies at once: with a second call, all pairs of
        benchmarks go together alike.
        """
        seen = ~np.isnan(observed)
        if not seen.any():
            return self
        mean, variance = self.mean.copy(), self.variance.copy()
        shared, families = self.between.copy(), self.model_rows[0].families
        within = self.correlations * _products(np.sqrt(variance).T)
        pairs, benchmarks = self._pairs, np.arange(mean.shape[1])
        for family in np.unique(families[seen.any(axis=1)]):
            rows = np.flatnonzero(families == family)
            of_family = self.take(rows)
            mean[rows], after, shared[rows] = of_family._conditioned(
                observed[rows], pairs)
            variance[rows] = np.diagonal(after, axis1=1, axis2=2).T
            block = np.ix_(benchmarks, rows, rows)
            before = within[block]
            factor = after @ np.linalg.pinv(before, SINGULAR, hermitian=True)
            within[:, rows] = factor @ within[:, rows]
            within[:, :, rows] = within[:, rows].transpose(0, 2, 1)
            within[block] = after
        return replace(
            self,
            mean=mean,
            variance=variance,
            within=within,
            shared=shared,
            conditioned=True)

    def _conditioned(self, observed: NDArray,
                     pairs: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Means, covariances and correlations, given accuracies and `_pairs`.

        Means are `(M, B)`, covariances between models on each benchmark
        `(B, M, M)`, and correlations between benchmarks `(M,)`. The exponents
        are normal at the mode of their posterior. A cell is a model on a
        benchmark; the M B cells are ordered by benchmark, then by model.
        """
        model, (n_models, n_benchmarks) = self.model, self.mean.shape
        prior_mean = self.mean.T.ravel()
        prior = self._covariance_of_cells(observed, pairs)
        accuracies = observed.T.ravel()
        cells = np.flatnonzero(~np.isnan(accuracies))
        known = Known(
            prior=prior_mean[cells],
            covariance=prior[np.ix_(cells, cells)],
            accuracies=accuracies[cells],
            floor=np.repeat(model.floor, n_models)[cells],
            noise=np.repeat(model.noise, n_models)[cells],
            straight=max(form.straight for form in model.settings.forms))
        # As in core.posterior: covariances with known cells, times the dual.
        dual = known.mode()
        with_known = prior[:, cells]
        mean = prior_mean + with_known @ dual
        gain = np.linalg.solve(known.matrix(dual), with_known.T)
        after = prior - with_known @ gain
        lacking = np.maximum(LEAST_VARIANCE - np.diag(after), 0)
        after[np.diag_indices(len(after))] += lacking
        # From cells to benchmark, model, benchmark, model.
        after = after.reshape(n_benchmarks, n_models, n_benchmarks, n_models)
        within = np.einsum('bibj->bij', after)
        of_models = np.einsum('bmcm->mbc', after)
        mean = mean.reshape(n_benchmarks, n_models).T
        return mean, within, correlation_between(of_models)

    def _covariance_of_cells(self, observed: NDArray,
                             pairs: NDArray) -> NDArray[np.float64]:
        """Covariances of exponents between all cells, `(M B, M B)`.

        Cells, `observed` and `pairs` are as in `_conditioned`. Correlations of
        a known cell with other benchmarks shrink if it is very far off.
        """
        n_models, n_benchmarks = self.mean.shape
        errors = np.abs(observed - self.accuracies) / self.expected_errors
        # The part of an error that counts for others; 1 for cells without an
        # accuracy, as fmax ignores NaN.
        kept = 1 / np.fmax(errors / LARGEST_ERROR, 1)
        kept = kept.T.ravel()
        # Between benchmarks: the mean over pairs, and what each pair adds.
        correlations = np.tile(self._across, (n_benchmarks, n_benchmarks))
        correlations += np.kron(pairs, self.correlations.mean(axis=0))
        correlations *= np.outer(kept, kept)
        for b in range(n_benchmarks):
            block = slice(b * n_models, (b + 1) * n_models)
            correlations[block, block] = self.correlations[b]
        deviation = np.sqrt(self.variance).T.ravel()
        return _possible(correlations) * np.outer(deviation, deviation)


@dataclass(frozen=True, eq=False)
class Known:
    """N known accuracies, and the distribution of their exponents before.

    `prior`, `(N,)`, are means and `covariance`, `(N, N)`, covariances of the
    exponents. `accuracies`, `floor` and `noise` are `(N,)`, and `straight` is
    as in `Form`. A dual, `(N,)`, is the inverse covariance times exponents
    minus their prior means; at the mode it is that of core.posterior.
    """
    prior: NDArray[np.float64]
    covariance: NDArray[np.float64]
    accuracies: NDArray[np.float64]
    floor: NDArray[np.float64]
    noise: NDArray[np.float64]
    straight: float

    def mode(self) -> NDArray[np.float64]:
        """Return the dual of the mode, by Gauss-Newton steps.

        A step is halved until it does not raise the cost. At the mode, steps
        change nothing but last digits, and the search ends.
        """
        dual = np.zeros(len(self.prior))
        for _ in range(GIVEN_STEPS):
            above = self._line(dual).targets - self.prior
            step = np.linalg.solve(self.matrix(dual), above) - dual
            before, length = self._cost(dual), 1.
            while self._cost(dual + length * step) > before:
                length /= 2
                if length < LEAST_LENGTH:
                    return dual
            dual = dual + length * step
            if np.abs(step).max() <= SAME * np.abs(dual).max():
                return dual
        return dual

    def matrix(self, dual: NDArray) -> NDArray[np.float64]:
        """Return the covariance of the targets of tangents at a dual."""
        noise_of_targets = self._variance / self._line(dual).slopes**2
        return self.covariance + np.diag(noise_of_targets)

    @property
    def _variance(self) -> NDArray[np.float64]:
        # p is the accuracy, clipped. The fit adds two right and two wrong
        # items instead, which needs the number of items that were run: that of
        # a known accuracy may be another than that of the fitted ones.
        return self.noise * item_variance(self.accuracies)

    def _line(self, dual: NDArray) -> Line:
        exponents = self.prior + self.covariance @ dual
        return line_at(exponents, self.accuracies, self.floor, self.straight)

    def _cost(self, dual: NDArray) -> float:
        """Minus logarithm of the posterior density."""
        errors = self.accuracies - self._line(dual).heights
        of_accuracies = (errors**2 / self._variance).sum()
        of_exponents = dual @ self.covariance @ dual
        return float(of_accuracies + of_exponents) / 2


def correlation_between(covariance: NDArray) -> NDArray[np.float64]:
    """Return one correlation between benchmarks for each model, `(M,)`.

    Covariances are `(M, B, B)`. The correlation is the sum of the covariances
    of different benchmarks, over the sum of the products of their deviations;
    0 for one benchmark.
    """
    n_models, n_benchmarks, _ = covariance.shape
    if n_benchmarks == 1:
        return np.zeros(n_models)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    # Sums over different benchmarks: over all, less those of each with itself.
    of_same = variance.sum(axis=1)
    covariances = covariance.sum(axis=(1, 2)) - of_same
    products = np.sqrt(variance).sum(axis=1)**2 - of_same
    return np.clip(covariances / products, 0, 1)


def _square_of_mean(halves: NDArray, between: NDArray) -> NDArray[np.float64]:
    """Squares of half widths of sums over benchmarks, of each model, `(M,)`.

    `halves`, `(M, B)`, are those of its accuracies, and `between`, `(M,)`, are
    their correlations.
    """
    of_own = (halves**2).sum(axis=1)
    of_common = halves.sum(axis=1)**2
    return (1 - between) * of_own + between * of_common


def _products(values: NDArray) -> NDArray[np.float64]:
    """Products of all pairs of values in each row: `(N, K)` to `(N, K, K)`."""
    return values[:, :, None] * values[:, None]


def _correlations(covariance: NDArray) -> NDArray[np.float64]:
    """Correlations of covariances `(B, M, M)`."""
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    return np.clip(covariance / _products(deviation), -1, 1)


def _possible(correlations: NDArray) -> NDArray[np.float64]:
    """Correlations without negative eigenvalues, which estimates may have."""
    values, vectors = np.linalg.eigh(correlations)
    if values[0] >= 0:
        return correlations
    positive = np.maximum(values, SINGULAR)
    covariance = vectors * positive @ vectors.T
    return _correlations(covariance[None])[0]


def _root(correlations: NDArray) -> NDArray[np.float64]:
    """The symmetric root of correlations, `(M, M)`."""
    values, vectors = np.linalg.eigh(correlations)
    positive = np.maximum(values, SINGULAR)
    return vectors * np.sqrt(positive) @ vectors.T
