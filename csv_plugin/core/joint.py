"""The joint distribution of accuracies of new models, and views of it.

Exponents of M models on B benchmarks have means, variances and correlations.
A_b are the correlations between models on benchmark b, from the posterior of
this benchmark alone, and A is their mean over benchmarks. Errors of one model
also go together between benchmarks: a part `between` of each variance is
common to all of them. This part has the correlations A between models, so that
the whole is the covariance of a distribution. So correlations are

    on the same benchmark b    R_b = (1 - between) A_b + between A
    on different benchmarks    between A

Only known accuracies need more than this (`Joint.given`): how far each pair of
benchmarks goes together. There `between` is that of the pair
(core.between), and its mean over all pairs is the one above. A known accuracy
that is farther off than `LARGEST_ERROR` expected errors counts only as far as
this limit for other benchmarks.

Accuracies follow by the curve (Eq. 2), with the noise of a benchmark's items.
The interval of a single accuracy runs between the accuracies at the ends of
its exponent's interval, widened by the noise at these ends. The half width of
the interval of a weighted sum of cells, which are a model and a benchmark
each, is the root of

    sum over cells i, j of  w_i w_j correlation_ij half_i half_j
    + sum over cells i of  (w_i noise_i)^2

where `half` are the half widths that come from exponents, and `noise` those
from items, which are independent. Each accuracy has two halves, below and
above; the one in the direction in which it would move the sum counts (recovery
of variance estimates; Zou and Donner, Statistics in Medicine 27(10), 2008).
Ends of sums are cut at what they are if all accuracies are at the same ends of
their own intervals, which are cut at 0 and 1.
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
SINGULAR = 1e-9
#: Number of draws for ranks and probabilities to be best, and their seed.
DRAWS, SEED = 4000, 0
#: Least eigenvalue of correlations that are drawn from: rounding, and what
#: known accuracies leave only approximately, make some of them negative.
LEAST_EIGENVALUE = 1e-9


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

    `model_rows` are the models as each form of the model of accuracies sees
    them. `mean` and `variance`, `(M, B)`, are those of exponents. Known
    accuracies or uncertain losses change covariances: then `within`,
    `(B, M, M)`, are those between models on each benchmark, and `shared`,
    `(M,)`, is `between` of each model. Without them both are those of the
    model of accuracies.
    `conditioned` is True if accuracies are known.
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
        model = self.model
        quantile = model.tails.quantile(level)
        away = quantile * np.sqrt(self.variance)
        parts = []
        for sign in (-1, 1):
            end = accuracy_of(self.mean + sign * away, model.floor)
            noise = quantile * np.sqrt(model.noise * item_variance(end))
            half = np.maximum(sign * (end - self.accuracies), 0)
            parts.append((half, noise))
        (down, noise_down), (up, noise_up) = parts
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
        return replace(
            self,
            model_rows=[part.take(rows) for part in self.model_rows],
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
        if self.conditioned:
            return np.zeros((len(model.floor), len(model.floor)))
        of_pairs = correlations_of_pairs(
            model.left_out, model.tails.stretch,
            families_by_number(model.observed.families), model.between)
        return of_pairs - model.between

    def sum(self, weights: NDArray, level: float) -> Sum:
        """Return a weighted sum of accuracies, with weights `(M, B)`.

        For example, the difference of two models, or of their means.
        """
        value = float((weights * self.accuracies).sum())
        half = self.halves(level)
        sizes = []
        for sign in (-1, 1):
            upward = sign * weights > 0
            exponent = weights * np.where(upward, half.up, half.down)
            noise = weights * np.where(upward, half.noise_up, half.noise_down)
            sizes.append(np.sqrt(self._square(exponent) + (noise**2).sum()))
        # Single accuracies may have less room, as they lie in 0..1.
        ends = np.sort(weights * np.array(self.intervals(level)), axis=0)
        least, most = ends.sum(axis=(1, 2))
        low = max(value - sizes[0], float(least))
        high = min(value + sizes[1], float(most))
        side = value - low if value > 0 else high - value
        quantile = self.model.tails.quantile(level) / self.model.tails.stretch
        if side > 0:
            positive = float(
                stdtr(self.model.tails.degrees, value / side * quantile))
        else:
            positive = float(np.heaviside(value, .5))
        return Sum(value, low, high, positive)

    def _square(self, halves: NDArray) -> float:
        """Square of the half width of a sum, from those of its cells."""
        moved = halves.any(axis=1)
        if moved.sum() == 1:
            # Correlations between models, which take long, are not needed.
            between, row = self.between[moved][0], halves[moved][0]
            return float((1 - between) * row @ row + between * row.sum()**2)
        across, total = self._across, halves.sum(axis=1)
        within = np.einsum('ib,bij,jb->', halves, self.correlations - across,
                           halves)
        return max(float(within + total @ across @ total), 0.)

    def means(self, benchmarks: NDArray,
              level: float) -> tuple[NDArray, NDArray, NDArray]:
        """Return mean accuracies over benchmarks, and their ends, `(M,)` each.

        `benchmarks` are their indices.
        """
        half, n, between = self.halves(level), len(benchmarks), self.between
        sizes = []
        for exponent, noise in ((half.down, half.noise_down), (half.up,
                                                               half.noise_up)):
            exponent = exponent[:, benchmarks] / n
            noise = noise[:, benchmarks] / n
            square = ((1 - between) * (exponent**2).sum(axis=1) +
                      between * exponent.sum(axis=1)**2)
            sizes.append(np.sqrt(square + (noise**2).sum(axis=1)))
        middle = self.accuracies[:, benchmarks].mean(axis=1)
        # Single accuracies may have less room, as they lie in 0..1.
        low, high = self.intervals(level)
        least = low[:, benchmarks].mean(axis=1)
        most = high[:, benchmarks].mean(axis=1)
        return (middle, np.maximum(middle - sizes[0],
                                   least), np.minimum(middle + sizes[1], most))

    def draws(self, n: int = DRAWS) -> NDArray[np.float64]:
        """Return n draws of all accuracies, with noise, `(n, M, B)`."""
        model, rng = self.model, np.random.default_rng(SEED)
        n_models, n_benchmarks = self.mean.shape
        across = self._across
        common = rng.standard_normal((n, n_models)) @ _root(across)
        # Student's t: a normal distribution over the root of a chi-square.
        chi = rng.chisquare(model.tails.degrees, n) / model.tails.degrees
        widen = model.tails.stretch / np.sqrt(chi)[:, None]
        found = np.empty((n, n_models, n_benchmarks))
        for b in range(n_benchmarks):
            own = rng.standard_normal(
                (n, n_models)) @ _root(self.correlations[b] - across)
            away = widen * (common + own)
            exponents = self.mean[:, b] + np.sqrt(self.variance[:, b]) * away
            drawn = accuracy_of(exponents, model.floor[b])
            noise = widen * np.sqrt(model.noise[b] * item_variance(drawn))
            found[:, :, b] = drawn + noise * rng.standard_normal(drawn.shape)
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
        within = self.correlations * (
            deviation.T[:, :, None] * deviation.T[:, None])
        together = np.sqrt(common[:, None] * added).T
        within += together[:, :, None] * together[:, None]
        rows = np.arange(len(self.mean))
        within[:, rows, rows] = variance.T
        of_models = covariance + self.between[:, None, None] * (
            deviation[:, :, None] * deviation[:, None])
        each = np.arange(self.mean.shape[1])
        of_models[:, each, each] = variance
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
        distribution. The family's new deviations are K times its old ones plus
        an independent rest, K = after before^-1 of its covariances, so its
        covariances with others are multiplied by K.

        Give all known accuracies at once: with a second call, all pairs of
        benchmarks go together alike.
        """
        seen = ~np.isnan(observed)
        if not seen.any():
            return self
        mean, variance = self.mean.copy(), self.variance.copy()
        shared, families = self.between.copy(), self.model_rows[0].families
        deviation = np.sqrt(variance).T
        within = self.correlations * (
            deviation[:, :, None] * deviation[:, None])
        pairs = self._pairs
        for family in np.unique(families[seen.any(axis=1)]):
            rows = np.flatnonzero(families == family)
            part = self.take(rows)
            mean[rows], after, shared[rows] = part._conditioned(
                observed[rows], pairs)
            benchmarks = np.arange(len(within))
            block = np.ix_(benchmarks, rows, rows)
            before = within[block]
            factor = after @ np.linalg.pinv(before, SINGULAR, hermitian=True)
            within[:, rows] = factor @ within[:, rows]
            within[:, :, rows] = within[:, rows].transpose(0, 2, 1)
            within[block] = after
            variance[rows] = np.diagonal(after, axis1=1, axis2=2).T
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

        Means are `(M, B)`, covariances of models by benchmark `(B, M, M)`, and
        correlations between benchmarks `(M,)`. The exponents are normal at the
        mode of their posterior. Cells are ordered by benchmark, then by model.
        """
        model, (n, n_benchmarks) = self.model, self.mean.shape
        deviation = np.sqrt(self.variance)
        # The part of what an accuracy is off by that counts for others; 1 for
        # cells without one, as fmax ignores NaN.
        size = np.abs(observed - self.accuracies) / self.expected_errors
        kept = 1 / np.fmax(size / LARGEST_ERROR, 1)
        kept, deviation = kept.T.ravel(), deviation.T.ravel()
        # Correlations of all cells: between benchmarks, then on each one.
        full = np.tile(self._across, (n_benchmarks, n_benchmarks))
        full += np.kron(pairs, self.correlations.mean(axis=0))
        full *= np.outer(kept, kept)
        for b in range(n_benchmarks):
            block = slice(b * n, (b + 1) * n)
            full[block, block] = self.correlations[b]
        full = _possible(full)
        full *= np.outer(deviation, deviation)
        prior = self.mean.T.ravel()
        cells = np.flatnonzero(~np.isnan(observed.T.ravel()))
        known = Known(prior[cells], full[np.ix_(cells, cells)],
                      observed.T.ravel()[cells],
                      np.repeat(model.floor, n)[cells],
                      np.repeat(model.noise, n)[cells],
                      max(form.straight for form in model.settings.forms))
        # As in core.posterior: covariances with known cells, times the dual.
        dual = known.mode()
        mean = prior + full[:, cells] @ dual
        gain = np.linalg.solve(known.matrix(dual), full[cells])
        after = full - full[:, cells] @ gain
        least = np.maximum(LEAST_VARIANCE - np.diag(after), 0)
        after[np.diag_indices(len(after))] += least
        after = after.reshape(n_benchmarks, n, n_benchmarks, n)
        within = np.stack([after[b, :, b] for b in range(n_benchmarks)])
        of_models = np.stack([after[:, m, :, m] for m in range(n)])
        mean = mean.reshape(n_benchmarks, n).T
        return mean, within, correlation_between(of_models)


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
            targets = self._line(dual).targets
            step = np.linalg.solve(self.matrix(dual),
                                   targets - self.prior) - dual
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
        return self.covariance + np.diag(
            self._variance / self._line(dual).slopes**2)

    @property
    def _variance(self) -> NDArray[np.float64]:
        # p is the accuracy, clipped. The fit adds two right and two wrong
        # items instead, which needs the number of items that were run: that of
        # a known accuracy may be another than that of the fitted ones.
        return self.noise * item_variance(self.accuracies)

    def _line(self, dual: NDArray) -> Line:
        return line_at(self.prior + self.covariance @ dual, self.accuracies,
                       self.floor, self.straight)

    def _cost(self, dual: NDArray) -> float:
        """Minus logarithm of the posterior density."""
        errors = self.accuracies - self._line(dual).heights
        return float(.5 * (errors**2 / self._variance).sum() +
                     .5 * dual @ self.covariance @ dual)


def correlation_between(covariance: NDArray) -> NDArray[np.float64]:
    """Return one correlation between benchmarks for each model, `(M,)`.

    Covariances are `(M, B, B)`. It is the sum of the covariances of different
    benchmarks, over that of the products of their deviations; 0 for one
    benchmark.
    """
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    total = covariance.sum(axis=(1, 2)) - variance.sum(axis=1)
    pairs = np.sqrt(variance).sum(axis=1)**2 - variance.sum(axis=1)
    if covariance.shape[1] == 1:
        return np.zeros(len(covariance))
    return np.clip(total / pairs, 0, 1)


def _correlations(covariance: NDArray) -> NDArray[np.float64]:
    """Correlations of covariances `(B, M, M)`."""
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    found = covariance / (deviation[:, :, None] * deviation[:, None])
    return np.clip(found, -1, 1)


def _possible(correlations: NDArray) -> NDArray[np.float64]:
    """Correlations without negative eigenvalues, which estimates may have."""
    values, vectors = np.linalg.eigh(correlations)
    if values[0] >= 0:
        return correlations
    return _correlations(
        (vectors * np.maximum(values, LEAST_EIGENVALUE) @ vectors.T)[None])[0]


def _root(correlations: NDArray) -> NDArray[np.float64]:
    """The symmetric root of correlations, `(M, M)`."""
    values, vectors = np.linalg.eigh(correlations)
    return vectors * np.sqrt(np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
