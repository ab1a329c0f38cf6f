"""Views of one joint distribution of accuracies.

Exponents of M models on B benchmarks have means and deviations, and these
correlations: R_b between models on benchmark b, from the posterior; and a part
`between` of what a model deviates by is the same on all benchmarks:

    within benchmark b    (1 - between) R_b + between R
    between benchmarks    between R,  R the mean of all R_b

Accuracies follow by the curve (Eq. 2) and the noise of a benchmark's items.
An interval of a single accuracy has the ends of its exponent's, and the noise
beside them. Intervals of sums and differences have half widths of the root of

    sum over cells i, j of  w_i w_j correlation_ij half_i half_j

with the half of each accuracy on the side to which it would move the sum
(recovery of variance estimates; Zou and Donner, Statistics in Medicine 27(10),
2008). So no difference goes further than both of its sides do, which are cut
at 0 and 1.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from csv_plugin.core.curve import (Line, accuracy_of, item_variance, line_at,
                                   moments)
from csv_plugin.core.kernels import Place

if TYPE_CHECKING:
    from csv_plugin.core.accuracy_model import AccuracyModel

#: Newton steps to the mode, given known accuracies, and the least part of one.
GIVEN_STEPS, LEAST_LENGTH = 30, 1e-4
#: Draws of ranks and of what is best, and their seed.
DRAWS, SEED = 4000, 0
#: Added to variances of draws, so that equal models have a Cholesky factor.
JITTER = 1e-9


class Halves(NamedTuple):
    """Half widths of intervals of accuracies, below and above, `(M, B)`.

    `down` and `up` are those of the exponents, the others of the noise.
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

    `mean` and `variance`, `(M, B)`, are those of exponents. `blocks` are
    covariances `(B, m, m)` of the exponents of some models, by their rows,
    which known accuracies or uncertain losses have changed. `shared`, `(M,)`,
    is `between` for each of the models where it is not that of the model of
    accuracies.
    """
    model: 'AccuracyModel'
    places: Sequence[Place]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    blocks: tuple[tuple[NDArray[np.int64], NDArray[np.float64]], ...] = ()
    shared: Optional[NDArray[np.float64]] = None

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
        """Root mean square errors to expect, fractions, `(M, B)`."""
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
        blocks = []
        for old, block in self.blocks:
            kept = np.flatnonzero(np.isin(rows, old))
            places = [int(np.flatnonzero(old == row)[0]) for row in rows[kept]]
            if len(kept):
                part = block[:, places][:, :, places]
                blocks.append((kept, part))
        return replace(
            self,
            places=[place.take(rows) for place in self.places],
            mean=self.mean[rows],
            variance=self.variance[rows],
            blocks=tuple(blocks),
            shared=self.between[rows])

    @cached_property
    def correlations(self) -> NDArray[np.float64]:
        """Correlations of exponents between models, R_b, `(B, M, M)`."""
        covariance = self.model.covariance(self.places)
        deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        found = covariance / (deviation[:, :, None] * deviation[:, None])
        for rows, block in self.blocks:
            own = np.sqrt(np.diagonal(block, axis1=1, axis2=2))
            every = np.ix_(np.arange(len(found)), rows, rows)
            found[every] = block / (own[:, :, None] * own[:, None])
        return np.clip(found, -1, 1)

    def sum(self, weights: NDArray, level: float) -> Sum:
        """Return a weighted sum of accuracies, with weights `(M, B)`.

        Such as a difference of two models, or one of their means.
        """
        value = float((weights * self.accuracies).sum())
        half = self.halves(level)
        sizes = []
        for sign in (-1, 1):
            rises = sign * weights > 0
            exponent = weights * np.where(rises, half.up, half.down)
            noise = weights * np.where(rises, half.noise_up, half.noise_down)
            sizes.append(np.sqrt(self._square(exponent) + (noise**2).sum()))
        # Accuracies lie in 0..1, which may leave less room.
        ends = np.sort(weights * np.array(self.intervals(level)), axis=0)
        least, most = ends.sum(axis=(1, 2))
        low = max(value - sizes[0], float(least))
        high = min(value + sizes[1], float(most))
        side = value - low if value > 0 else high - value
        quantile = self.model.tails.quantile(level) / self.model.tails.stretch
        positive = .5
        if side > 0:
            positive = float(
                stdtr(self.model.tails.degrees, value / side * quantile))
        return Sum(value, low, high, positive)

    def _square(self, halves: NDArray) -> float:
        """Square of the half width of a sum, from those of its cells."""
        own = np.sqrt(1 - self.between)[:, None] * halves
        total = np.sqrt(self.between) * halves.sum(axis=1)
        if halves.any(axis=1).sum() == 1:
            return float((own**2).sum() + (total**2).sum())
        correlations = self.correlations
        within = np.einsum('ib,bij,jb->', own, correlations, own)
        common = total @ correlations.mean(axis=0) @ total
        return float(within + common)

    def means(self, benchmarks: NDArray,
              level: float) -> tuple[NDArray, NDArray, NDArray]:
        """Return mean accuracies over benchmarks, and their ends, `(M,)` each.

        `benchmarks` are places.
        """
        half, n = self.halves(level), len(benchmarks)
        between, ends = self.between, []
        for exponent, noise in ((half.down, half.noise_down),
                                (half.up, half.noise_up)):
            exponent = exponent[:, benchmarks] / n
            noise = noise[:, benchmarks] / n
            square = ((1 - between) * (exponent**2).sum(axis=1) +
                      between * exponent.sum(axis=1)**2)
            ends.append(np.sqrt(square + (noise**2).sum(axis=1)))
        middle = self.accuracies[:, benchmarks].mean(axis=1)
        return middle, middle - ends[0], middle + ends[1]

    def draws(self, n: int = DRAWS) -> NDArray[np.float64]:
        """Return n draws of all accuracies, with noise, `(n, M, B)`."""
        model, rng = self.model, np.random.default_rng(SEED)
        n_models, n_benchmarks = self.mean.shape
        correlations = self.correlations
        common = rng.standard_normal(
            (n, n_models)) @ _root(correlations.mean(axis=0))
        tails = np.sqrt(
            rng.chisquare(model.tails.degrees, n) / model.tails.degrees)
        found = np.empty((n, n_models, n_benchmarks))
        for b in range(n_benchmarks):
            own = rng.standard_normal((n, n_models)) @ _root(correlations[b])
            away = (
                np.sqrt(self.between) * common +
                np.sqrt(1 - self.between) * own)
            away *= model.tails.stretch / tails[:, None]
            exponents = self.mean[:, b] + np.sqrt(self.variance[:, b]) * away
            drawn = accuracy_of(exponents, model.floor[b])
            noise = np.sqrt(model.noise[b] * item_variance(drawn))
            noise *= model.tails.stretch
            found[:, :, b] = drawn + noise * rng.standard_normal(drawn.shape)
        return found

    # ---- uncertain losses

    def with_errors(self, covariance: NDArray, common: NDArray) -> 'Joint':
        """Return the distribution where exponents are off by more.

        Such as by what losses that are extrapolated are off. Covariances of
        these errors are `(M, B, B)`, between the benchmarks of each model. All
        models lie off together by a part of them, `common` of the variance,
        `(M,)`.
        """
        n_models, n_benchmarks = self.mean.shape
        added = np.diagonal(covariance, axis1=1, axis2=2)
        deviation, variance = np.sqrt(self.variance), self.variance + added
        block = self.correlations * (
            deviation.T[:, :, None] * deviation.T[:, None])
        together = np.sqrt(common[:, None] * added).T
        block += together[:, :, None] * together[:, None]
        rows = np.arange(n_models)
        block[:, rows, rows] = variance.T
        shared = self.between
        if n_benchmarks > 1:
            # Sums over pairs of unlike benchmarks.
            own = deviation.sum(axis=1)**2 - self.variance.sum(axis=1)
            errors = covariance.sum(axis=(1, 2)) - added.sum(axis=1)
            pairs = np.sqrt(variance).sum(axis=1)**2 - variance.sum(axis=1)
            shared = np.clip((shared * own + errors) / pairs, 0, 1)
        return replace(
            self, variance=variance, blocks=((rows, block), ), shared=shared)

    # ---- known accuracies

    def given(self, observed: NDArray) -> 'Joint':
        """Return the distribution, given accuracies of some of the models.

        Observed are `(M, B)` in 0..1, NaN where unknown. They change models of
        the same family, and these alone.
        """
        seen = ~np.isnan(observed)
        mean, variance = self.mean.copy(), self.variance.copy()
        blocks, families = [], self.places[0].families
        for family in np.unique(families[seen.any(axis=1)]):
            rows = np.flatnonzero(families == family)
            part = self.take(rows)
            mean[rows], block = part._conditioned(observed[rows])
            variance[rows] = np.diagonal(block, axis1=1, axis2=2).T
            blocks.append((rows, block))
        return replace(
            self, mean=mean, variance=variance, blocks=tuple(blocks))

    def _conditioned(self, observed: NDArray) -> tuple[NDArray, NDArray]:
        """Means `(M, B)` and covariances `(B, M, M)`, given accuracies.

        The exponents are normal at the mode of their posterior. Cells are
        ordered by benchmark, then by model.
        """
        model, (n, n_benchmarks) = self.model, self.mean.shape
        correlations = self.correlations
        common, alone = np.sqrt(self.between), np.sqrt(1 - self.between)
        full = np.tile(
            np.outer(common, common) * correlations.mean(axis=0),
            (n_benchmarks, n_benchmarks))
        for b in range(n_benchmarks):
            own = slice(b * n, (b + 1) * n)
            full[own, own] += np.outer(alone, alone) * correlations[b]
        deviation = np.sqrt(self.variance).T.ravel()
        full *= np.outer(deviation, deviation)
        prior = self.mean.T.ravel()
        cells = np.flatnonzero(~np.isnan(observed.T.ravel()))
        known = Known(prior[cells], full[np.ix_(cells, cells)],
                      observed.T.ravel()[cells],
                      np.repeat(model.floor, n)[cells],
                      np.repeat(model.noise, n)[cells],
                      max(form.straight for form in model.settings.forms))
        dual = known.mode()
        mean = prior + full[:, cells] @ dual
        gain = np.linalg.solve(known.matrix(dual), full[cells])
        covariance = full - full[:, cells] @ gain
        blocks = [
            covariance[b * n:(b + 1) * n, b * n:(b + 1) * n]
            for b in range(n_benchmarks)
        ]
        return mean.reshape(n_benchmarks, n).T, np.array(blocks)


@dataclass(frozen=True, eq=False)
class Known:
    """N accuracies that are known, and what their exponents were before.

    `prior` are means and `covariance`, `(N, N)`, covariances of the exponents;
    `accuracies`, `floor` and `noise` are of each, `(N,)`. The mode is written
    in the dual, the inverse covariance times how far exponents move.
    """
    prior: NDArray[np.float64]
    covariance: NDArray[np.float64]
    accuracies: NDArray[np.float64]
    floor: NDArray[np.float64]
    noise: NDArray[np.float64]
    straight: float

    def mode(self) -> NDArray[np.float64]:
        """Return the dual of the mode, by Newton steps that lead down."""
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
        return dual

    def matrix(self, dual: NDArray) -> NDArray[np.float64]:
        """Return the covariance of the targets of the curve's line there."""
        return self.covariance + np.diag(
            self._variance / self._line(dual).slopes**2)

    @property
    def _variance(self) -> NDArray[np.float64]:
        return self.noise * item_variance(self.accuracies)

    def _line(self, dual: NDArray) -> Line:
        return line_at(self.prior + self.covariance @ dual, self.accuracies,
                       self.floor, self.straight)

    def _cost(self, dual: NDArray) -> float:
        """Minus logarithm of the posterior density."""
        errors = self.accuracies - self._line(dual).heights
        return float(.5 * (errors**2 / self._variance).sum() +
                     .5 * dual @ self.covariance @ dual)


def _root(correlations: NDArray) -> NDArray[np.float64]:
    """The symmetric root of correlations, `(M, M)`."""
    values, vectors = np.linalg.eigh(correlations)
    return vectors * np.sqrt(np.maximum(values, JITTER)) @ vectors.T
