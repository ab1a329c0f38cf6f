"""Differences between predicted accuracies of models, and their errors.

Two predictions by one predictor share a part of their errors, and more of it
within a family. So errors of differences are learned from differences: those
between all pairs of training models, each predicted by fits to other families.

The variance of such an error has three parts: a constant; a part for pairs
from two families; and a part that grows with the predicted difference. This is
what independent errors of models and of families make, beside a random walk
along the predicted accuracy. So n models have a joint distribution.

A few families have much larger errors than the others. So errors follow
Student's t distribution, and its scale has the largest likelihood. As for
`intervals`, n families count as n errors, and benchmarks share the shape of
the variance, the more the fewer families they have. Outside the range of the
training models, errors are as much larger as those of the back-tests are.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.intervals import (LEAST_DEVIATION, OWN_SHARE,
                                       SHARED_FAMILIES, inverse, item_variance)
from csv_plugin.core.predictor import (BenchmarkPredictor, Losses, Predictor,
                                       TrainingScores)

#: Accuracies lie in 0..1, so no error of a difference has a larger deviation.
MOST_DEVIATION = 1.0
#: Pairs of models that share this part of the benchmarks or more count in the
#: errors of means.
LEAST_SHARED = 1 / 2
#: Most degrees of freedom of errors, as of three to eight the most likely on
#: families left out of four collections (docs/appendix/measurements.md).
MOST_FREEDOM = 5
#: Another model is above those that are not the best at this level.
NEARLY_SURE = 0.99
#: Draws from a joint distribution.
N_DRAWS = 4_000
#: Smaller directions, as a share of the largest, are rounding errors.
LEAST_SHARE = 1e-12
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class AccuracyDifferences:
    """Predicted accuracies of B minus those of A, fractions, `(K, ...)`.

    Axes behind the first are those of pairs: none for two models, `(n, n)` for
    n models, where entry `[k, i, j]` is model j minus model i. The last of
    several `benchmarks` is their mean. `deviation` is the standard error of
    the difference; `freedom`, `(K, ...)`, are degrees of freedom of Student's
    t distribution.
    """
    benchmarks: tuple[str, ...]
    difference: NDArray[np.float64]
    deviation: NDArray[np.float64]
    freedom: NDArray[np.float64]

    __repr__ = short_repr

    @property
    def probability(self) -> NDArray[np.float64]:
        """Probability that B has the higher measured accuracy, `(K, ...)`."""
        return np.asarray(
            stdtr(self.freedom, self.difference / self.deviation))

    def rank_ranges(
            self, level: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the best and worst ranks of n models, `(n,)`.

        By the last benchmark. Models that cannot be told apart at this level
        may be in either order.
        """
        least = stdtrit(self.freedom[-1, 0, 0], (1 + level) / 2)
        above = self.difference[-1] > least * self.deviation[-1]
        return 1 + above.sum(axis=1), len(above) - above.sum(axis=0)

    def chances(self) -> NDArray[np.float64]:
        """Return the probability of each of n models to be the best, `(n,)`.

        By the last benchmark, from draws of the joint distribution.
        """
        found = np.zeros(self.difference.shape[-1])
        # The others are hardly ever the best.
        rows = np.flatnonzero(self.rank_ranges(NEARLY_SURE)[0] == 1)
        pairs = np.ix_(rows, rows)
        variance = self.deviation[-1][pairs]**2
        np.fill_diagonal(variance, 0)
        # Covariances about the mean of the models, with these variances of
        # differences (Torgerson, Psychometrika 17, 1952).
        centred = np.eye(len(rows)) - 1 / len(rows)
        sizes, axes = np.linalg.eigh(-centred @ variance @ centred / 2)
        rng = np.random.default_rng(0)
        draws = rng.normal(
            size=(N_DRAWS, len(rows))) @ (axes * np.sqrt(sizes.clip(0))).T
        freedom = self.freedom[-1, 0, 0]
        draws *= np.sqrt(freedom / rng.chisquare(freedom, (N_DRAWS, 1)))
        best = np.argmax(self.difference[-1][pairs][0] + draws, axis=1)
        found[rows] = np.bincount(best, minlength=len(rows)) / N_DRAWS
        return found


@dataclass(frozen=True, eq=False)
class _PairErrors:
    """Variance of errors of differences: its three parts, `(3,)`.

    Learned from this number of families.
    """
    parts: NDArray[np.float64]
    families: int

    @property
    def known(self) -> bool:
        """False if nothing was held out."""
        return self.families > 1

    def variance(self, sizes: NDArray,
                 between: NDArray) -> NDArray[np.float64]:
        """Variance within the range of the training models."""
        if not self.known:
            return np.full(sizes.shape, MOST_DEVIATION**2)
        variance = self.parts[0] + self.parts[1] * between
        return np.maximum(variance + self.parts[2] * sizes, LEAST_DEVIATION**2)


def predict_differences(predictor: Predictor,
                        a: Losses,
                        b: Losses,
                        same_family: bool = False) -> AccuracyDifferences:
    """Predict how much the accuracies of model B exceed those of model A.

    Args:
        predictor (Predictor): With scores of its training models.
        a (Losses): Losses of A alone, as in `Predictor.features`.
        b (Losses): Losses of B alone.
        same_family (bool): True if A and B are of one family; False, with the
            wider interval, also if this is unknown.

    Raises:
        InputError: As in `Predictor.features`, or the predictor contains no
            scores of its training models.
    """
    values = np.vstack([predictor.features(part).values for part in (a, b)])
    families = ('a', 'a' if same_family else 'b')
    both = _differences(predictor, values, families, predictor.main)
    return AccuracyDifferences(both.benchmarks, both.difference[:, 0, 1],
                               both.deviation[:, 0, 1], both.freedom[:, 0, 1])


def all_differences(
        predictor: Predictor,
        losses: Losses,
        families: Optional[Sequence[str]] = None,
        main: Optional[Sequence[str]] = None) -> AccuracyDifferences:
    """Predict the differences of all pairs of n models, `(K, n, n)`.

    `families` are those of the models, by default all different; `main` are
    the benchmarks of the mean, by default the main ones. Errors are as in
    `predict_differences`.
    """
    features = predictor.features(losses)
    return _differences(predictor, features.values, families
                        or features.models, main or predictor.main)


def _differences(predictor: Predictor, values: NDArray,
                 families: Sequence[str],
                 main: Sequence[str]) -> AccuracyDifferences:
    """Differences of n models with features `(n, K)`."""
    chosen = np.isin(predictor.names, main)
    predicted = _predicted(predictor, values)
    columns = _with_mean(predicted, chosen).T
    distances = columns[:, None] - columns[:, :, None]
    group = np.asarray(families)
    between = group[:, None] != group
    learned = _learn(predictor, chosen)
    own = np.stack([
        errors.variance(np.abs(distance), between)
        for errors, distance in zip(learned, distances)
    ])
    n = len(predicted.T)
    larger = np.stack([_larger(part, values) for part in predictor.benchmarks])
    growth = np.maximum(larger[:, :, None], larger[:, None])**2
    noise = np.stack([
        OWN_SHARE * item_variance(column, part.n_items) * inverse(part.n_items)
        for part, column in zip(predictor.benchmarks, predicted.T)
    ])
    variance = own[:n] * growth
    if len(own) > n:
        of_mean = _of_mean(own[n], own[:n][chosen], growth[chosen])
        variance = np.append(variance, of_mean[None], axis=0)
        noise_of_mean = noise[chosen].sum(axis=0) / chosen.sum()**2
        noise = np.append(noise, noise_of_mean[None], axis=0)
    variance = np.maximum(variance, noise[:, :, None] + noise[:, None])
    freedom = np.clip([errors.families for errors in learned], 1.,
                      MOST_FREEDOM)
    return AccuracyDifferences(
        _names(predictor, chosen), distances,
        np.minimum(np.sqrt(variance), MOST_DEVIATION),
        np.broadcast_to(freedom[:, None, None], variance.shape))


def _of_mean(own: NDArray, parts: NDArray,
             growth: NDArray) -> NDArray[np.float64]:
    """Variance of errors of the mean, from that within the range, `(n, n)`.

    It grows as the variances of its benchmarks do, `(B, n, n)`. Those without
    a bound may move the mean by their share.
    """
    unbounded = np.isinf(growth)
    within = np.where(unbounded, 0, parts).sum(axis=0)
    grown = np.where(unbounded, 0, parts * growth).sum(axis=0)
    times = np.divide(grown, within, where=within > 0, out=np.ones_like(own))
    return own * times + unbounded.mean(axis=0)**2


def _learn(predictor: Predictor,
           chosen: NDArray[np.bool_]) -> list[_PairErrors]:
    """Errors of each benchmark and, of several, of their mean."""
    scores = predictor.training_scores
    if scores is None:
        raise InputError('predictor', 'held-out predictions of its training '
                         'models', 'none', 'Train one by another method than '
                         'paper, or an earlier one anew.')  # yapf: disable
    pairs = [_Pairs.of(scores, [b]) for b in range(len(predictor.names))]
    if chosen.sum() > 1:
        pairs.append(_Pairs.of(scores, np.flatnonzero(chosen)))
    sharing = [part for part in pairs if part.level > 0]
    shape = np.zeros(3) if not sharing else _fit_parts(
        np.concatenate([part.sizes / part.level for part in sharing]),
        np.concatenate([part.squares / part.level**2 for part in sharing]),
        np.concatenate([part.between for part in sharing]),
        np.concatenate([part.weights for part in sharing]))
    return [part.errors(shape) for part in pairs]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """N pairs of training models on a benchmark or the mean of several.

    Sizes of predicted differences, and squared errors of these differences;
    `between` is True for pairs of two families. Weights sum to 1: of pairs
    within a family and between families, one half each.
    """
    sizes: NDArray[np.float64]
    squares: NDArray[np.float64]
    between: NDArray[np.bool_]
    weights: NDArray[np.float64]
    families: int

    @classmethod
    def of(cls, scores: TrainingScores, columns: Any) -> '_Pairs':
        """Make all pairs of models with scores on the same benchmarks."""
        predicted = scores.held_out[:, columns]
        errors = predicted - scores.observed[:, columns]
        rows = ~np.isnan(errors).all(axis=1)
        names, family = np.unique(
            np.array(scores.families, object)[rows], return_inverse=True)
        i, j = np.triu_indices(int(rows.sum()), 1)
        errors, predicted = errors[rows], predicted[rows]
        wrong = errors[j] - errors[i]
        shared = ~np.isnan(wrong)
        kept = shared.mean(axis=1) >= LEAST_SHARED
        i, j, wrong, shared = i[kept], j[kept], wrong[kept], shared[kept]
        distance = np.where(shared, predicted[j] - predicted[i], 0)
        n_shared = np.maximum(shared.sum(axis=1), 1)
        return cls(
            np.abs(distance.sum(axis=1) / n_shared),
            (np.nansum(wrong, axis=1) / n_shared)**2, family[i] != family[j],
            _weights(family[i], family[j], len(names)),
            len(np.union1d(family[i], family[j])))

    @property
    def level(self) -> float:
        """Root mean squared error; 0 without a pair."""
        return float(np.sqrt(self.weights @ self.squares))

    def errors(self, shape: NDArray) -> _PairErrors:
        """Variance of the errors, shrunk to a shape for errors of level 1."""
        if not self.level:
            return _PairErrors(np.zeros(3), self.families)
        own = _fit_parts(self.sizes, self.squares, self.between, self.weights)
        shared = shape * np.array([self.level**2, self.level**2, self.level])
        return _PairErrors((self.families * own + SHARED_FAMILIES * shared) /
                           (self.families + SHARED_FAMILIES), self.families)


def _weights(first: NDArray, second: NDArray, n: int) -> NDArray[np.float64]:
    """Weights of pairs of n families; see `_Pairs`.

    Pairs of the same two families have correlated errors: k of them count as
    the square root of k.
    """
    key = np.minimum(first, second) * n + np.maximum(first, second)
    _, place, count = np.unique(key, return_inverse=True, return_counts=True)
    weights = 1 / np.sqrt(count[place])
    kinds = [first == second, first != second]
    for kind in kinds:
        weights[kind] /= weights[kind].sum()
    return weights / sum(kind.any() for kind in kinds)


def _fit_parts(sizes: NDArray, squares: NDArray, between: NDArray,
               weights: NDArray) -> NDArray[np.float64]:
    """Fit the parts of the squared scale of a t distribution, `(3,)`."""
    from scipy.optimize import nnls

    # Without pairs within a family, all count as such: the part is unknown.
    two = between & ~between.all()
    columns = np.stack([np.ones_like(sizes), two, sizes], axis=1)
    mean = np.average(squares, weights=weights)
    variance = np.full(len(sizes), max(mean, LEAST_DEVIATION**2))
    for _ in range(_ROUNDS):
        # Expectation-maximisation: large errors count less. The variance of a
        # squared error is that of the error, squared.
        counted = (MOST_FREEDOM + 1) / (MOST_FREEDOM + squares / variance)
        weighted = columns * (weights / variance**2)[:, None]
        # Least squares of many pairs by their normal equations, which are few.
        spans, axes = np.linalg.eigh(weighted.T @ columns)
        kept = spans > LEAST_SHARE * spans[-1]
        roots = np.sqrt(spans[kept])
        target = axes.T[kept] @ (weighted.T @ (squares * counted)) / roots
        parts, _ = nnls(roots[:, None] * axes.T[kept], target)
        variance = np.maximum(columns @ parts, LEAST_DEVIATION**2)
    return parts


def _larger(part: BenchmarkPredictor, values: NDArray) -> NDArray[np.float64]:
    """How many times errors of models are those within the range, `(n,)`."""
    intervals = part.intervals
    if intervals.n_families < 2:
        return np.full(len(values), np.inf)
    scores = part.model.scores(values)
    outside = intervals.backtest_error * intervals.growth(scores)
    larger = np.where(
        intervals.extrapolated(scores), np.maximum(outside, 1), 1)
    return np.where(intervals.beyond(values), np.inf, larger)


def _predicted(predictor: Predictor, values: NDArray) -> NDArray[np.float64]:
    """Predicted accuracies from features `(n, K)`, shape `(n, B)`."""
    return np.stack(
        [part.model.predict(values) for part in predictor.benchmarks], axis=1)


def _names(predictor: Predictor, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    """Benchmarks, and their mean if it is of several."""
    n = int(chosen.sum())
    return (*predictor.names, *[f'mean of {n}'] * (n > 1))


def _with_mean(values: NDArray, chosen: NDArray) -> NDArray[np.float64]:
    """Values `(n, B)` with their mean as the last column, if of several."""
    if chosen.sum() < 2:
        return values
    mean = values[:, chosen].mean(axis=1, keepdims=True)
    return np.append(values, mean, axis=1)
