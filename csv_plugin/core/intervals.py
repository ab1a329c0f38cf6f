"""Prediction intervals from held-out models, wider the farther away.

CV+ (Barber et al., "Predictive inference with the jackknife+", Annals of
Statistics 49(1), 2021) over family-grouped folds. docs/appendix/method.md has
the formulas. Errors are in standard deviations, whose variance is a constant
part plus a part that grows with the squared slope of the curve. Benchmarks
share the *shape* of the variance, the ratio of the parts, the more the fewer
families they have; each has its own size.

The *distance* of a model is how far its capability scores lie outside those of
the training models, in their standard deviations, on average over the
benchmarks. Standard deviations of errors grow by a rate times the distance,
which is learned from back-tests: fits to the worse models predict the better
ones. These are few, so it is shrunk to a usual rate.

Models of a family have correlated errors, so n families count as n errors.
All models answer the same items, so only a part of the binomial noise of a
score is a model's own. No interval is narrower than this part.

Where all training models are at chance, nothing tells when a benchmark will
emerge. Its intervals reach from chance up to where the steepest of the other
benchmarks would be, had it emerged at the border of the training models.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.held_out_errors import FoldPredictions, mean_unseen
from csv_plugin.core.salience_model import SalienceModel, outside
from csv_plugin.core.scaling_law import CHANCE_MARGIN, accuracy_at

#: The back-tests fit to these shares of the models, the worst by mean loss.
BACKTEST_SHARES = (1 / 2, 2 / 3, 5 / 6)
#: The rate at which errors grow with the distance where nothing is known, as
#: measured on six collections, and the deviation of its logarithm among them.
USUAL_RATE, RATE_DEVIATION = 2.0, 0.25
#: All back-tests of a benchmark count as so many errors.
BACKTEST_ERRORS = 6
#: Degrees of freedom of errors beyond the training models: at most, and how
#: many fewer than families, as two place a curve. The usual rate was measured
#: with these 4; the 5 of `core.paired` are of errors within the range.
MOST_FREEDOM, CURVE_PARAMETERS = 4, 2
#: Errors are reported for models with so many times the compute of the best
#: training model. Losses fall by this power of the compute (measured on seven
#: collections: .03 to .17, with a median of .065).
TIMES_COMPUTE, LOSS_EXPONENT = (3, 10, 30), 0.06
#: A model is far from the training models where errors have grown this much.
FAR = 1.5
#: Losses this much higher than those fitted on, as a share, count as within
#: their range: tables are rounded.
ROOM = 0.01
#: Least distance of the probabilities of quantiles from 0.5 and 1.
LEAST_TAIL = 1e-12
#: Standard deviations of errors are not taken to be smaller than this.
LEAST_DEVIATION = 1e-6
#: The shared shape counts like so many families of the benchmark's own.
SHARED_FAMILIES = 6
_ROUNDS = 10
#: Pseudo-counts added to an accuracy, half of them right, before its variance
#: is estimated (Agresti and Coull, The American Statistician 52(2), 1998).
_IMAGINED_ITEMS = 4
#: Share of the binomial variance that is a model's own, as measured on
#: neighbouring checkpoints (docs/appendix/real_runs.md, "Noise of items").
OWN_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Intervals:
    """Prediction intervals of one benchmark.

    `folds` are models without the held-out families, `(F,)`. `errors`, `(N,)`,
    are their absolute errors on unseen models, in standard deviations, made by
    the models `fold`; N is `n_models` times the repeats of the
    cross-validation. `variance`, `(2,)`, has the constant part of the variance
    of an error, and the part per squared slope.

    Training models have scores from `score_low` to `score_high`, with the
    standard deviation `score_spread`. Deviations of errors grow by `rate`
    times the distance of a model. `further`, `(3,)`, are distances of models
    with `TIMES_COMPUTE` times the compute of the best one. `rise` is 0, or for
    a benchmark at chance how much the exponent of the steepest other one rises
    by distance. A model with a column above `highest`, `(K,)`, has the
    interval 0 to 1; None for solvers of many columns.
    """
    folds: SalienceModel
    n_models: int
    errors: NDArray
    fold: NDArray
    variance: NDArray
    n_families: int
    score_low: float
    score_high: float
    score_spread: float
    rate: float
    further: NDArray
    rise: float = 0.0
    highest: Optional[NDArray] = None

    def distance(self, score: NDArray) -> NDArray[np.float64]:
        """Return the distance of scores `(M,)` from those of the training."""
        if not self.n_models:
            return np.zeros(np.shape(score))
        return outside(score, self.score_low, self.score_high,
                       self.score_spread)

    def growth(self, distance: NDArray) -> NDArray:
        """Return how many times as large errors are as at the distance 0."""
        return np.asarray(1 + self.rate * distance)

    def beyond(self, values: NDArray) -> NDArray[np.bool_]:
        """Return True for models with a loss above those of training, `(M,)`.

        False if `highest` is None.
        """
        if self.highest is None:
            return np.zeros(len(values), dtype=bool)
        room = ROOM * np.abs(self.highest)
        return (values > self.highest + room).any(axis=1)

    def expected_errors(self, slopes: NDArray,
                        distance: NDArray) -> NDArray[np.float64]:
        """Return root mean square errors to expect, fractions, `(M,)`.

        Slopes are those of the predictions. NaN where nothing was held out, or
        all training models are at chance.
        """
        if not len(self.errors) or self.rise:
            return np.full(len(slopes), np.nan)
        usual = np.sqrt(np.mean(self.errors**2))
        expected = usual * deviation(self.variance, slopes)
        return np.minimum(expected * self.growth(distance), 1)

    def bounds(self, model: SalienceModel, values: NDArray, distance: NDArray,
               level: float) -> tuple[NDArray, NDArray]:
        """Return lower and upper ends, `(M,)` each, clipped to 0..1.

        They are 0 and 1 where too few models or families were held out for the
        level, and for models that are `beyond`. The predictions of `model`,
        fitted to all models, always lie inside. Distances are `(M,)`.
        """
        if not 0 < level < 1:
            raise InputError('intervals', 'a level in (0, 1)', str(level),
                             'Give 0.9 for 90 % intervals.')
        # Each sum over all columns once: there may be many thousands.
        scores = self.folds.scores(values)
        by_fold = self.folds.curve.accuracies(scores)[self.fold]
        error = self.errors[:, None] * deviation(
            self.variance, self.folds.curve.slopes(scores))[self.fold]
        error *= self._stretched(distance, level)
        low = -_upper_quantile(error - by_fold, level, self.n_models)
        high = _upper_quantile(error + by_fold, level, self.n_models)
        predicted = model.predict(values)
        beyond = self.beyond(values)
        low = np.where(beyond, 0, np.minimum(low, predicted))
        high = np.where(beyond, 1, np.maximum(high, predicted))
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def _stretched(self, distance: NDArray, level: float) -> NDArray:
        """Growth of errors, times the ratio of t and normal quantiles."""
        # At both ends the ratio of the quantiles would be no number.
        upper = np.clip((1 + level) / 2, .5 + LEAST_TAIL, 1 - LEAST_TAIL)
        freedom = min(self.n_families - CURVE_PARAMETERS, MOST_FREEDOM)
        near, far = scipy.special.stdtrit(
            [self.n_families, max(freedom, 1)], upper)
        return np.asarray(near + far * self.rate *
                          distance) / scipy.special.ndtri(upper)

    def emerged(self, chance: float, distance: NDArray) -> NDArray[np.float64]:
        """Return accuracies had the benchmark emerged at the distance 0."""
        start = scipy.special.logit(CHANCE_MARGIN / (1 - chance))
        return accuracy_at(start + self.rise * distance, chance)


def _upper_quantile(values: NDArray, level: float, n: int) -> NDArray:
    """The quantile `level (n + 1) / n` of CV+ along axis 0, or infinity.

    Each of the n models may have several values.
    """
    rank = int(np.ceil(level * (n + 1) * len(values) / max(n, 1)))
    if not 0 < rank <= len(values):
        return np.full(values.shape[1:], np.inf)
    return np.partition(values, rank - 1, axis=0)[rank - 1]


def deviation(variance: NDArray, slopes: NDArray) -> NDArray[np.float64]:
    """Return the standard deviation of errors; see `Intervals.variance`."""
    modelled = variance[0] + variance[1] * slopes**2
    return np.maximum(np.sqrt(modelled), LEAST_DEVIATION)


def fit_variance(sizes: NDArray, slopes: NDArray) -> NDArray[np.float64]:
    """Fit both parts of the variance by weighted least squares, `(2,)`.

    Sizes are errors of any sign, `(N,)`; without one, it is `[1, 0]`.
    """
    from scipy.optimize import nnls
    columns = np.stack([np.ones_like(slopes), slopes**2], axis=1)
    parts = np.array([1.0, 0.0])
    for _ in range(_ROUNDS if len(sizes) else 0):
        # The variance of a squared error is that of the error, squared.
        weight = deviation(parts, slopes)**-2
        parts, _ = nnls(columns * weight[:, None], sizes**2 * weight)
    return parts


def shared_variances(folds: Sequence[FoldPredictions]) -> list[NDArray]:
    """Return the variance of each benchmark, shrunk to a shared shape.

    With n families, the variance of the benchmark's own errors counts n times,
    and the shared shape at the benchmark's level `SHARED_FAMILIES` times.
    """
    errors = [(part.errors, part.slopes[part.unseen]) for part in folds]
    variances = [fit_variance(*part) for part in errors]
    sharing = [
        b for b, (sizes, _) in enumerate(errors)
        if sizes.any() and folds[b].exponents.any()
    ]
    shared = _of_one_shape([errors[b] for b in sharing])
    for b, variance in zip(sharing, shared):
        n = folds[b].n_families
        variances[b] = (n * variances[b] + SHARED_FAMILIES * variance) / (
            n + SHARED_FAMILIES)
    return variances


def _of_one_shape(errors: Sequence[tuple[NDArray, NDArray]]) -> list[NDArray]:
    """Variances that differ by a factor only, from sizes and slopes."""
    levels, shape = np.ones(len(errors)), np.array([])
    for _ in range(_ROUNDS if errors else 0):
        shape = fit_variance(
            np.concatenate(
                [sizes / level for (sizes, _), level in zip(errors, levels)]),
            np.concatenate([slopes for _, slopes in errors]))
        levels = np.array([
            np.sqrt(np.mean((sizes / deviation(shape, slopes))**2))
            for sizes, slopes in errors
        ])
        # Shape and levels have one unit between them.
        levels /= np.exp(np.log(levels).mean())
    return [shape * level**2 for level in levels]


def mean_distances(folds: Sequence[FoldPredictions]) -> NDArray[np.float64]:
    """Return distances of the models, when held out, over all benchmarks."""
    away = [mean_unseen(part.distances, part.masks) for part in folds]
    distances = np.concatenate([np.zeros(0), *away])
    models = np.concatenate(
        [np.zeros(0, np.int64), *(part.models for part in folds)])
    known = ~np.isnan(distances)
    totals = np.bincount(models, np.where(known, distances, 0))
    return totals / np.maximum(np.bincount(models, known), 1)


def learn_rate(backtests: Sequence[Mapping[str, FoldPredictions]],
               variances: Mapping[str, NDArray]) -> float:
    """Return the rate at which errors grow with the distance.

    Back-tests are by benchmark. The rate is the most likely one for errors of
    Student's t distribution and a normal prior of its logarithm.
    """
    from scipy.optimize import minimize_scalar
    sizes, distances = [np.zeros(0)], [np.zeros(0)]
    for parts in backtests:
        away = mean_distances([*parts.values()])
        for name, part in parts.items():
            _, model = part.unseen
            deviations = deviation(variances[name], part.slopes[part.unseen])
            sizes.append(part.errors / deviations)
            distances.append(away[part.models[model]])
    squares, away = np.concatenate(sizes)**2, np.concatenate(distances)
    n_errors = BACKTEST_ERRORS * np.sqrt(len(variances))

    usual, room = np.log(USUAL_RATE), 6 * RATE_DEVIATION

    def loss(log_rate: float) -> float:
        """Negative log posterior, but for a constant."""
        scale = (1 + np.exp(log_rate) * away)**2
        prior = ((log_rate - usual) / RATE_DEVIATION)**2 / 2
        if not len(squares):
            return float(prior)
        tails = np.log1p(squares / (MOST_FREEDOM * scale))
        likelihood = np.log(scale) + (MOST_FREEDOM + 1) * tails
        return float(prior + n_errors * likelihood.mean() / 2)

    bounds = usual - room, usual + room
    return float(np.exp(minimize_scalar(loss, bounds=bounds).x))


def worse_models(mean_loss: NDArray) -> NDArray[np.bool_]:
    """Return masks of the models that the back-tests fit to, `(3, n)`."""
    order = np.argsort(-mean_loss, kind='stable')
    worse = np.zeros((len(BACKTEST_SHARES), len(order)), dtype=bool)
    for mask, share in zip(worse, BACKTEST_SHARES):
        mask[order[:round(len(order) * share)]] = True
    return worse


def item_variance(accuracy: NDArray,
                  n_items: ArrayLike) -> NDArray[np.float64]:
    """Return the variance of the answer to one item, always above 0.

    Accuracies are fractions or NaN; numbers of items, 0 if unknown, broadcast.
    """
    n_items = np.asarray(n_items)
    share = (accuracy * n_items + _IMAGINED_ITEMS / 2) / (
        n_items + _IMAGINED_ITEMS)
    return np.asarray(share * (1 - share))


def at_least_noise(low: NDArray, predicted: NDArray, high: NDArray,
                   n_items: ArrayLike,
                   level: float) -> tuple[NDArray, NDArray]:
    """Return ends of intervals, no narrower than a model's own noise.

    Ends and predictions are fractions in one shape, `n_items` as in
    `item_variance`; unknown numbers change nothing.
    """
    variance = item_variance(predicted, n_items) * inverse(n_items)
    # Near a level of 1, (1 + level) / 2 would round to it.
    half = -scipy.special.ndtri(
        (1 - level) / 2) * np.sqrt(OWN_SHARE * variance)
    return (np.minimum(low, np.maximum(predicted - half, 0)),
            np.maximum(high, np.minimum(predicted + half, 1)))


def inverse(n_items: ArrayLike) -> NDArray[np.float64]:
    """Return 1 / n, and 0 where n is 0."""
    n_items = np.asarray(n_items)
    return np.divide(
        1, n_items, where=n_items > 0, out=np.zeros(n_items.shape))
