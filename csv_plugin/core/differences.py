"""Differences between predicted accuracies of models, and their errors.

Two predictions by one predictor share a part of their errors, and more of it
within a family. So errors of differences are learned from those between all
pairs of training models, each predicted by fits to other families.

The variance of such an error has three parts: a constant; a part for pairs
from two families; and a part that grows with the predicted difference. This is
what independent errors of models and of families make, beside a random walk
along the predicted accuracy. So n models have a joint distribution.

Of predicted differences that are as small as their errors, a part is error.
And where a curve is flat, models differ more than their predictions, in the
order of their scores. So the expected difference is

    d - s^2 / (s^2 + d^2) * (shrink * d - order * s * x)

for the predicted one d with the scale s of its error, and x that of inverse
hyperbolic sines of exponents (Eq. 2). Shrink and order are in 0..1, with a
normal prior of unit deviation about 0.

A few families have much larger errors than the others. So errors follow
Student's t distribution, and its scale has the largest likelihood. As for
`intervals`, n families count as n errors, benchmarks share the shape of the
variance, and errors grow with the distance from the training models.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.intervals import (LEAST_DEVIATION, OWN_SHARE,
                                       SHARED_FAMILIES, inverse, item_variance)
from csv_plugin.core.paired import MOST_FREEDOM
from csv_plugin.core.predictor import Losses, Predictor, TrainingScores
from csv_plugin.core.scaling_law import LEAST_MODELS

#: Accuracies lie in 0..1, so no error of a difference has a larger variance.
MOST_VARIANCE = 1.0
#: Pairs of models that share this part of the benchmarks or more count in the
#: errors of means.
LEAST_SHARED = 1 / 2
#: Another model is above those that are not the best at this level.
NEARLY_SURE = 0.99
#: Draws from a joint distribution.
N_DRAWS = 4_000
#: Smaller shares are rounding errors.
LEAST_SHARE = 1e-12
#: Of more pairs than these, so many are drawn.
MOST_PAIRS = 20_000
#: Rounds of expectation-maximisation.
_ROUNDS = 12
_LEAST_VARIANCE = LEAST_DEVIATION**2


class AccuracyDifferences(NamedTuple):
    """Expected accuracies of B minus those of A, fractions, `(K, ...)`.

    `deviation` is their standard error, `freedom` the degrees of freedom of
    Student's t distribution.
    """
    difference: NDArray[np.float64]
    deviation: NDArray[np.float64]
    freedom: NDArray[np.float64]


class OwnErrors(NamedTuple):
    """Errors of n models beside those of the predictor, each model's own."""
    variance: NDArray[np.float64]  # (K, n)
    freedom: NDArray[np.float64]  # (n,)


@dataclass(frozen=True, eq=False)
class JointPredictions:
    """Predicted accuracies of n models, and what to expect of differences.

    Values are fractions, `(K, n)`; the last of several `benchmarks` is their
    mean. `orders`, `(K, n)`, are inverse hyperbolic sines of the exponents of
    Eq. 2. Pairs of models are named by arrays of places i and j, which
    broadcast: differences are j minus i. `parts`, `(K, 5)`, are those of the
    variance, shrink and order, learned from `n_families`, `(K,)`. `larger`,
    `(B, n)`, is how many times errors are those within the range; `noise`,
    `(K, n)`, the variance that items leave; `chosen`, `(B,)`, marks the
    benchmarks of the mean.
    """
    benchmarks: tuple[str, ...]
    values: NDArray[np.float64]
    orders: NDArray[np.float64]
    parts: NDArray[np.float64]
    n_families: NDArray[np.int64]
    larger: NDArray[np.float64]
    noise: NDArray[np.float64]
    families: NDArray
    chosen: NDArray[np.bool_]
    own: Optional[OwnErrors] = None

    def select(self, places: NDArray[np.intp]) -> 'JointPredictions':
        """Return some of the models."""
        own = self.own and OwnErrors(*(part[..., places] for part in self.own))
        parts = {name: getattr(self, name)[..., places]
                 for name in ('values', 'orders', 'larger', 'noise',
                              'families')
                 }  # yapf: disable
        return replace(self, own=own, **parts)

    def differences(self, i: Any, j: Any) -> AccuracyDifferences:
        """Return expected differences of pairs, `(K, ...)`."""
        parts = [
            np.broadcast_arrays(*self._pairs(k, i, j))
            for k in range(len(self.benchmarks))
        ]
        return AccuracyDifferences(*map(np.array, zip(*parts)))

    def rank_ranges(
            self,
            level: float,
            k: int = -1,
            within: float = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the best and worst ranks of the models, `(n,)`.

        By benchmark k. Models that cannot be told apart at this level may be
        in either order, as those with `within` of each other.
        """
        everyone = np.arange(self.values.shape[1])
        gap, error, freedom = self._pairs(k, everyone[:, None], everyone)
        above = gap > within + error * scipy.special.stdtrit(
            freedom, (1 + level) / 2)
        return 1 + above.sum(axis=1), len(everyone) - above.sum(axis=0)

    def chances(self, k: int = -1, within: float = 0) -> NDArray[np.float64]:
        """Return the probability of each model to be the best, `(n,)`.

        By benchmark k, from draws of the joint distribution; models with
        `within` of the best count as such.
        """
        found = np.zeros(self.values.shape[1])
        # The others are hardly ever the best.
        rows = np.flatnonzero(self.rank_ranges(NEARLY_SURE, k, within)[0] == 1)
        gap, error, freedom = self._pairs(k, rows[:, None], rows)
        variance = error**2
        np.fill_diagonal(variance, 0)
        # Covariances about the mean of the models, with these variances of
        # differences (Torgerson, Psychometrika 17, 1952).
        centred = np.eye(len(rows)) - 1 / len(rows)
        sizes, axes = np.linalg.eigh(-centred @ variance @ centred / 2)
        rng = np.random.default_rng(0)
        draws = rng.normal(
            size=(N_DRAWS, len(rows))) @ (axes * np.sqrt(sizes.clip(0))).T
        least = np.min(freedom)
        draws *= np.sqrt(least / rng.chisquare(least, (N_DRAWS, 1)))
        # The values that have these differences, by least squares.
        draws += gap.mean(axis=0)
        near = draws >= draws.max(axis=1, keepdims=True) - within
        found[rows] = near.mean(axis=0)
        return found

    def _pairs(self, k: int, i: Any, j: Any) -> tuple[Any, ...]:
        """Differences on a benchmark, their errors and degrees of freedom."""
        k %= len(self.benchmarks)
        between = self.families[i] != self.families[j]
        gap = self.values[k, j] - self.values[k, i]
        variance = self._within(k, i, j, between)
        gap = gap - _beside_noise(gap, self.orders[k, j] - self.orders[k, i],
                                  variance) @ self.parts[k, 3:]
        if k < len(self.larger):
            variance = variance * self._growth(k, i, j)
        else:
            variance = self._of_mean(variance, i, j, between)
        variance = np.clip(variance, self.noise[k, i] + self.noise[k, j],
                           MOST_VARIANCE)
        freedom = np.clip(self.n_families[k], 1., MOST_FREEDOM)
        if self.own is None:
            return gap, np.sqrt(variance), freedom
        own = [self.own.variance[k, place] for place in (i, j)]
        # Degrees of freedom of a sum after Welch (1947).
        lost = variance**2 / freedom + sum(part**2 / self.own.freedom[place]
                                           for part, place in zip(own, (i, j)))
        variance = variance + own[0] + own[1]
        return gap, np.sqrt(variance), variance**2 / lost

    def _within(self, k: int, i: Any, j: Any,
                between: NDArray) -> NDArray[np.float64]:
        """Variance of errors within the range of the training models."""
        sizes = np.abs(self.values[k, j] - self.values[k, i])
        # With a single family, nothing was held out.
        if self.n_families[k] < 2:
            return np.full(sizes.shape, MOST_VARIANCE)
        constant, of_two, growing, *_ = self.parts[k]
        variance = constant + of_two * between + growing * sizes
        return np.maximum(variance, _LEAST_VARIANCE)

    def _growth(self, b: int, i: Any, j: Any) -> NDArray[np.float64]:
        return np.maximum(self.larger[b, i], self.larger[b, j])**2

    def _of_mean(self, own: NDArray, i: Any, j: Any,
                 between: NDArray) -> NDArray[np.float64]:
        """Variance of errors of the mean, from that within the range.

        It grows as the variances of its benchmarks do. Those without a bound
        may move the mean by their share.
        """
        within, grown, unbounded = np.zeros((3, *own.shape))
        for b in np.flatnonzero(self.chosen):
            variance = self._within(b, i, j, between)
            growth = self._growth(b, i, j)
            bounded = np.isfinite(growth)
            within += np.where(bounded, variance, 0)
            grown += np.where(bounded, variance * growth, 0)
            unbounded += ~bounded
        times = np.divide(
            grown, within, where=within > 0, out=np.ones_like(own))
        return own * times + (unbounded / self.chosen.sum())**2


def predict_jointly(predictor: Predictor,
                    losses: Losses,
                    families: Optional[Sequence[str]] = None,
                    main: Optional[Sequence[str]] = None) -> JointPredictions:
    """Predict n models and the errors of their differences.

    The predictor has scores of its training models. `families` are those of
    the models, by default all different; `main` are the benchmarks of the
    mean, by default the main ones.
    """
    features, benchmarks = predictor.features(losses), predictor.benchmarks
    scores = [part.model.scores(features.values) for part in benchmarks]
    found = joint_of_scores(predictor, np.array(scores), families
                            or features.models, main or predictor.main)
    beyond = [p.intervals.beyond(features.values) for p in benchmarks]
    return replace(found, larger=np.where(beyond, np.inf, found.larger))


def joint_of_scores(predictor: Predictor, scores: NDArray,
                    families: Sequence[str],
                    main: Sequence[str]) -> JointPredictions:
    """Predict as `predict_jointly`, from capability scores `(B, n)`."""
    training = predictor.training_scores
    assert training is not None
    names, benchmarks = predictor.names, predictor.benchmarks
    chosen = np.isin(names, main)
    columns = [[b] for b in range(len(names))]
    curves = [part.model.curve for part in benchmarks]
    values = np.array([c.accuracies(row) for c, row in zip(curves, scores)])
    orders = np.arcsinh([c.exponents(row) for c, row in zip(curves, scores)])
    n_items = np.array([[part.n_items] for part in benchmarks])
    noise = OWN_SHARE * item_variance(values, n_items) * inverse(n_items)
    distances = predictor.distances(scores)
    larger = np.array([p.intervals.growth(distances) for p in benchmarks])
    # Nothing is known from a single family, or from curves through two models.
    larger[[
        part.intervals.n_families < 2 or len(part.fit_models) <= LEAST_MODELS
        for part in benchmarks
    ]] = np.inf
    n = int(chosen.sum())
    if n > 1:
        names = (*names, f'mean of {n}')
        columns.append(np.flatnonzero(chosen).tolist())
        values = np.vstack([values, values[chosen].mean(axis=0)])
        orders = np.vstack([orders, orders[chosen].mean(axis=0)])
        noise = np.vstack([noise, noise[chosen].sum(axis=0) / n**2])
    floors = np.array([curve.floor for curve in curves])
    pairs = [_Pairs.of(training, some, floors) for some in columns]
    return JointPredictions(names, values, orders, _fit(pairs),
                            np.array([part.families for part in pairs]),
                            larger, noise, np.array([*families]), chosen)


def _beside_noise(gap: NDArray, order: NDArray,
                  variance: NDArray) -> NDArray[np.float64]:
    """What shrink and order take off predicted differences, `(..., 2)`."""
    share = variance / (variance + gap**2)
    return np.stack([share * gap, -share * np.sqrt(variance) * order], axis=-1)


def _fit(all_pairs: Sequence['_Pairs']) -> NDArray[np.float64]:
    """Parts of the errors, shrunk to a shape that all share, `(K, 5)`."""
    found = np.zeros((len(all_pairs), 5))
    scaled = [
        pairs._replace(
            sizes=pairs.sizes / pairs.level, errors=pairs.errors / pairs.level)
        for pairs in all_pairs if pairs.level
    ]
    if scaled:
        *columns, families = zip(*scaled)
        joined = *map(np.concatenate, columns), np.mean(families)
        shape = _fit_parts(*_Pairs._make(joined))
    for row, pairs in zip(found, all_pairs):
        level, n = pairs.level, pairs.families
        if level:
            own = n * _fit_parts(*pairs)
            shared = shape * np.array([level**2, level**2, level, 1, 1])
            row[:] = (own + SHARED_FAMILIES * shared) / (n + SHARED_FAMILIES)
    return found


class _Pairs(NamedTuple):
    """N pairs of training models on a benchmark or the mean of several.

    Sizes of predicted differences, and by how much they are too large;
    `orders` of scores are positive if predictions have the same order.
    `between` is True for pairs of two families. Weights sum to 1: of pairs
    within a family and between families, one half each.
    """
    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    orders: NDArray[np.float64]
    between: NDArray[np.bool_]
    weights: NDArray[np.float64]
    families: int

    @classmethod
    def of(cls, scores: TrainingScores, columns: list[int],
           floors: NDArray) -> '_Pairs':
        """Make all pairs of models with scores on the same benchmarks."""
        floors, predicted = floors[columns], scores.held_out[:, columns]
        errors = predicted - scores.observed[:, columns]
        above = (predicted - floors) / np.maximum(1 - floors, LEAST_SHARE)
        orders = np.arcsinh(
            scipy.special.logit(above.clip(LEAST_SHARE, 1 - LEAST_SHARE)))
        known = ~np.isnan(errors)
        names, family = np.unique(
            np.array(scores.families, object), return_inverse=True)
        i, j = np.triu_indices(len(family), 1)
        shared = known[i] & known[j]
        kept = shared.mean(axis=1) >= LEAST_SHARED
        i, j, shared = i[kept], j[kept], shared[kept]
        weights = _weights(family[i], family[j], len(names))
        if len(i) > MOST_PAIRS:
            drawn = np.random.default_rng(0).choice(
                len(i), MOST_PAIRS, p=weights)
            i, j, shared = i[drawn], j[drawn], shared[drawn]
            weights = np.full(MOST_PAIRS, 1 / MOST_PAIRS)
        gaps = np.array([
            np.where(shared, part[j] - part[i], 0).sum(axis=1)
            for part in (predicted, errors, orders)
        ]) / shared.sum(axis=1)
        sizes, errors, orders = np.where(gaps[0] < 0, -gaps, gaps)
        return cls(sizes, errors, orders, family[i] != family[j], weights,
                   len(np.union1d(family[i], family[j])))

    @property
    def level(self) -> float:
        """Root mean squared error; 0 without a pair."""
        return float(np.sqrt(self.weights @ self.errors**2))


def _weights(first: NDArray, second: NDArray, n: int) -> NDArray[np.float64]:
    """Weights of pairs of n families; see `_Pairs`.

    Pairs of the same two families have correlated errors: k of them count as
    the square root of k.
    """
    key = np.minimum(first, second) * n + np.maximum(first, second)
    weights = np.bincount(key)[key]**-0.5
    for kind in (first == second, first != second):
        weights[kind] /= weights[kind].sum()
    return weights / weights.sum()


def _fit_parts(sizes: NDArray, errors: NDArray, orders: NDArray,
               between: NDArray, weights: NDArray,
               families: float) -> NDArray[np.float64]:
    """Fit the parts of a t distribution's squared scale and mean, `(5,)`."""
    # Without pairs within a family, all count as such: the part is unknown.
    two = between & ~between.all()
    columns = np.stack([np.ones_like(sizes), two, sizes], axis=1)
    mean = np.average(errors**2, weights=weights)
    variance = np.full(len(sizes), max(mean, _LEAST_VARIANCE))
    moved = np.zeros(2)
    for _ in range(_ROUNDS):
        near = _beside_noise(sizes, orders, variance)
        squares = (errors - near @ moved)**2
        # Expectation-maximisation: large errors count less. The variance of a
        # squared error is that of the error, squared.
        counted = (MOST_FREEDOM + 1) / (MOST_FREEDOM + squares / variance)
        # n families count as n errors beside the prior.
        moved = _regress(near, errors, weights * counted / variance,
                         weights.sum() / families).clip(max=1)
        parts = _regress(columns, squares * counted, weights / variance**2)
        variance = np.maximum(columns @ parts, _LEAST_VARIANCE)
    return np.append(parts, moved)


def _regress(columns: NDArray,
             target: NDArray,
             weights: NDArray,
             prior: float = 0) -> NDArray[np.float64]:
    """Coefficients of weighted least squares, none below 0, `(p,)`."""
    from scipy.optimize import nnls

    # By normal equations, which are few; the least ridge is for columns that
    # are alike but for rounding errors.
    weighted = columns * weights[:, None]
    square = weighted.T @ columns
    ridge = prior + LEAST_SHARE * np.trace(square)
    root = np.linalg.cholesky(square + ridge * np.eye(len(square)))
    return nnls(root.T, np.linalg.solve(root, weighted.T @ target))[0]
