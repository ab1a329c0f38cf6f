"""Prediction intervals from held-out models.

Inside the range of capability scores of the training models: CV+ (Barber et
al., "Predictive inference with the jackknife+", Annals of Statistics 49(1),
2021) over family-grouped folds. Outside, back-tests widen the interval: fits
to the worse models predict the better ones. Their errors count more, the
further a model lies from the range.

Models of a family have correlated errors, so n families count as n errors, and
quantiles are those of Student's t distribution. Errors on families left out
have n degrees of freedom. Back-tests predict models of families that they fit
to, with a curve of two parameters: n - 2 degrees, at least 1.

Errors are pooled in standard deviations. Their variance is a constant part
plus a part that grows with the squared slope of the curve. Few families cannot
separate these parts. So benchmarks share the *shape* of the variance, the
ratio of the parts, the more the fewer families they have; each has its own
size.

A score is a share of right answers, so it has binomial noise. All models
answer the same items, so only a part of this noise is a model's own. No
interval is narrower than this part.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.held_out_errors import FoldPredictions
from csv_plugin.core.salience_model import SalienceModel, side

#: The back-tests fit to these shares of the models, the worst by mean loss.
BACKTEST_SHARES = (1 / 2, 2 / 3, 5 / 6)
#: Parameters by which families place a curve: alpha and beta.
CURVE_PARAMETERS = 2
#: Losses this much higher than those fitted on, as a share, count as within
#: their range: tables are rounded.
ROOM = 0.01
#: Least distance of the probabilities of quantiles from 0.5 and 1.
LEAST_TAIL = 1e-12
#: Most standard deviations of a score from the range that count, and the least
#: one of scores.
MOST, TINY = 1e6, 1e-150
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
    of an error, and the part per squared slope. `backtest`, `(n_b,)`, are
    absolute errors of the back-tests, in standard deviations at the border of
    the range.

    Training models have scores from `score_low` to `score_high`; errors double
    at the distance `score_spread` from there. A model with a column above
    `highest`, `(K,)`, has the interval 0 to 1; None for solvers of many
    columns.
    """
    folds: SalienceModel
    n_models: int
    errors: NDArray
    fold: NDArray
    variance: NDArray
    backtest: NDArray
    n_families: int
    score_low: float
    score_high: float
    score_spread: float
    highest: Optional[NDArray] = None

    def __repr__(self) -> str:
        return (f'Intervals({len(self.errors)} held-out errors of '
                f'{self.n_models} models, {len(self.backtest)} of '
                'back-tests)')

    def extrapolated(self, score: NDArray) -> NDArray:
        """Return True for scores `(M,)` outside the range of the training."""
        return side(score, self.score_low, self.score_high) != 0

    @property
    def backtest_error(self) -> float:
        """Root mean square of `backtest`; infinite without a back-test."""
        if not len(self.backtest):
            return np.inf
        return float(np.sqrt(np.mean(self.backtest**2)))

    def growth(self, score: NDArray) -> NDArray:
        """Return the size of errors at scores `(M,)`; 1 within the range."""
        return _growth(score, self.score_low, self.score_high,
                       self.score_spread)

    def beyond(self, values: NDArray) -> NDArray[np.bool_]:
        """Return True for models with a loss above those of training, `(M,)`.

        False if `highest` is None.
        """
        if self.highest is None:
            return np.zeros(len(values), dtype=bool)
        room = ROOM * np.abs(self.highest)
        return (values > self.highest + room).any(axis=1)

    def bounds(self, model: SalienceModel, values: NDArray,
               level: float) -> tuple[NDArray, NDArray]:
        """Return lower and upper ends, `(M,)` each, clipped to 0..1.

        They are 0 and 1 where too few models or families were held out for the
        level, and for models that are `beyond`. The predictions of `model`,
        fitted to all models, always lie inside.

        Raises:
            InputError: The level is not in (0, 1).
        """
        if not 0 < level < 1:
            raise InputError('intervals', 'a level in (0, 1)', str(level),
                             'Give 0.9 for 90 % intervals.')
        if self.n_families < 2:
            return np.zeros(len(values)), np.ones(len(values))
        # Each sum over all columns once: there may be many thousands.
        scores = self.folds.scores(values)
        by_fold = self.folds.curve.accuracies(scores)[self.fold]
        error = self.errors[:, None] * deviation(
            self.variance, self.folds.curve.slopes(scores))[self.fold]
        # At both ends the ratio of the quantiles would be no number.
        upper = np.clip((1 + level) / 2, .5 + LEAST_TAIL, 1 - LEAST_TAIL)
        error *= stdtrit(self.n_families, upper) / ndtri(upper)
        low = -_upper_quantile(error - by_fold, level, self.n_models)
        high = _upper_quantile(error + by_fold, level, self.n_models)
        scores = model.scores(values)
        predicted = model.curve.accuracies(scores)
        # With fewer than one degree of freedom there is no distribution.
        freedom = max(self.n_families - CURVE_PARAMETERS, 1)
        half = stdtrit(freedom,
                       upper) * self.backtest_error * self.growth(scores)
        half *= deviation(self.variance, model.curve.slopes(scores))
        half = np.where(self.extrapolated(scores), half, 0)
        low = np.minimum(low, predicted - half)
        high = np.maximum(high, predicted + half)
        beyond = self.beyond(values)
        return (np.where(beyond, 0,
                         np.clip(low, 0,
                                 1)), np.where(beyond, 1, np.clip(high, 0, 1)))


def _growth(score: NDArray, low: float, high: float, spread: float) -> NDArray:
    """Growth of errors at scores `(M,)`: 1 in the range, 2 a spread away."""
    distance = np.maximum(np.maximum(low - score, score - high), 0)
    return 1 + np.minimum(distance, MOST * spread) / max(spread, TINY)


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

    Sizes are absolute errors, `(N,)`; without one, it is `[1, 0]`.
    """
    from scipy.optimize import nnls
    columns = np.stack([np.ones_like(slopes), slopes**2], axis=1)
    parts = np.array([1.0, 0.0])
    for _ in range(_ROUNDS if len(sizes) else 0):
        # The variance of a squared error is that of the error, squared.
        weight = 1 / deviation(parts, slopes)**2
        parts, _ = nnls(columns * weight[:, None], sizes**2 * weight)
    return parts


def shared_variances(folds: Sequence[FoldPredictions]) -> list[NDArray]:
    """Return the variance of each benchmark, shrunk to a shared shape.

    With n families, the variance of the benchmark's own errors counts n times,
    and the shared shape at the benchmark's level `SHARED_FAMILIES` times.
    """
    errors = [(np.abs(part.errors), part.slopes[part.unseen])
              for part in folds]
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
    levels, shape = np.ones(len(errors)), np.zeros(2)
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


def worse_models(mean_loss: NDArray) -> NDArray[np.bool_]:
    """Return masks of the models that the back-tests fit to, `(3, n)`."""
    order = np.argsort(-mean_loss, kind='stable')
    worse = np.zeros((len(BACKTEST_SHARES), len(order)), dtype=bool)
    for mask, share in zip(worse, BACKTEST_SHARES):
        mask[order[:round(len(order) * share)]] = True
    return worse


def backtest_errors(model: SalienceModel, values: NDArray, accuracy: NDArray,
                    worse: NDArray, variance: NDArray) -> NDArray:
    """Return absolute errors on the better models, in standard deviations.

    They are divided by the growth of errors outside the range of the `worse`
    models (a mask), to which the model was fitted. Feature columns are `(n,
    K)`, accuracies and mask `(n,)`.
    """
    score = model.scores(values)
    fitted, score = score[worse], score[~worse]
    errors = np.abs(model.curve.accuracies(score) - accuracy[~worse])
    times = _growth(score, fitted.min(), fitted.max(), float(fitted.std()))
    return errors / deviation(variance, model.curve.slopes(score)) / times


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
    half = -ndtri((1 - level) / 2) * np.sqrt(OWN_SHARE * variance)
    return (np.minimum(low, np.maximum(predicted - half, 0)),
            np.maximum(high, np.minimum(predicted + half, 1)))


def inverse(n_items: ArrayLike) -> NDArray[np.float64]:
    """Return 1 / n, and 0 where n is 0."""
    n_items = np.asarray(n_items)
    return np.divide(
        1, n_items, where=n_items > 0, out=np.zeros(n_items.shape))
