"""Prediction intervals from models that were held out.

Inside the range of capability scores that were fitted on: CV+ (Barber et al.,
"Predictive inference with the jackknife+", Annals of Statistics 49(1), 2021)
over family-grouped folds. Outside that range, back-tests widen the interval:
fits to the worse models predict the better ones, and their errors count, the
more the further a model lies from the range.

Models of a family err alike, so what n families tell of a quantile is what n
errors tell: it is that of Student's t distribution. Errors on families left
out are squared about zero, so no mean takes a degree of freedom away: there
are n. The back-tests predict models of the families that they fit to. Their
errors are those of n families about a curve that the same families have
placed by two parameters, which leaves n - 2, but 1 of two families.

Errors are pooled in standard deviations. Their variance is a constant part
plus a part that grows with the squared slope of the curve: where the curve is
steep, an error of the score moves the accuracy most. Few families do not tell
these two parts from each other. What they are in proportion to each other,
the *shape* of the variance, is taken to be alike on all benchmarks of the same
models: they share it, the more the fewer families they have. How large errors
are in all is each benchmark's own matter.

A score is a share of right answers, so it has the noise of as many draws as
there are items (binomial). But all models answer the same items, and most of
them the same ones rightly: only a part of this noise is a model's own. No
interval is narrower than that.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from scipy.stats import norm, t

from csv_plugin.core.conventions import InputError
from csv_plugin.core.held_out import FoldPredictions
from csv_plugin.core.salience_model import SalienceModel, side

#: The back-tests fit to these shares of the models, the worst by mean loss.
BACKTEST_SHARES = (1 / 2, 2 / 3, 5 / 6)
#: Parameters by which families place a curve: alpha and beta.
CURVE_PARAMETERS = 2
#: Losses this much higher than those fitted on, as a share, count as within
#: their range: tables are rounded.
ROOM = 0.01
#: How near to 0.5 and 1 the probabilities of quantiles come.
LEAST_TAIL = 1e-12
#: Most standard deviations of a score from the range that count, and the least
#: one of scores.
MOST, TINY = 1e6, 1e-150
#: Standard deviations of errors are not taken to be smaller than this.
LEAST_DEVIATION = 1e-6
#: The shape that benchmarks share counts like that many families of one's own.
SHARED_FAMILIES = 6
_ROUNDS = 10
#: Right and wrong answers in equal parts, which are added to those that a
#: score is made of before its noise is told: two right answers out of two are
#: no score without noise (Agresti and Coull, The American Statistician 52(2),
#: 1998).
_IMAGINED_ITEMS = 4
#: How much of the binomial variance is a model's own. By that much, scores of
#: neighbouring checkpoints of pretraining runs scatter about their trend
#: (docs/results.md, "Noise of items").
OWN_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Intervals:
    """What an interval of one benchmark needs.

    Args:
        folds (SalienceModel): Models without the held-out families, `(F,)`.
        n_models (int): Models that were fitted on.
        errors (NDArray): Absolute errors of the fold models on the models
            they did not see, in standard deviations. Shape `(N,)`; `N` is
            `n_models` times the repeats of the cross-validation.
        fold (NDArray): Which fold model made each error, `(N,)` integers.
        variance (NDArray): Of an error: the constant part, and the part per
            squared slope (`SalienceModel.slopes`). Shape `(2,)`.
        backtest (NDArray): Absolute errors of the back-tests, in standard
            deviations at the border of the range. Shape `(n_b,)`.
        n_families (int): Families of the models that were fitted on.
        score_low (float): Lowest capability score of the models fitted on,
            infinite without a model.
        score_high (float): The highest, negative infinite without a model.
        score_spread (float): Standard deviation of these scores: an error is
            expected to double where a score lies this far from the range.
            Infinite without a model.
        highest (Optional[NDArray]): Highest value of each column, `(K,)`:
            a model with a higher one has the interval 0 to 1. None where
            there are so many columns that sound models have one, too.
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
        """Whether scores `(M,)` lie outside those fitted on."""
        return side(score, self.score_low, self.score_high) != 0

    @property
    def backtest_error(self) -> float:
        """Root mean square of the errors of the back-tests.

        In standard deviations; infinite without a back-test.
        """
        if not len(self.backtest):
            return np.inf
        return float(np.sqrt(np.mean(self.backtest**2)))

    def growth(self, score: NDArray) -> NDArray:
        """How many times larger errors are than at the border of the range.

        Args:
            score (NDArray): Capability scores, `(M,)`.

        Returns:
            NDArray: 1 or more, `(M,)`.
        """
        return _growth(score, self.score_low, self.score_high,
                       self.score_spread)

    def beyond(self, values: NDArray) -> NDArray[np.bool_]:
        """Whether models have higher losses than any that was fitted on.

        Args:
            values (NDArray): Feature columns, `(M, K)`.

        Returns:
            NDArray: Shape `(M,)`; False where no highest ones are known.
        """
        if self.highest is None:
            return np.zeros(len(values), dtype=bool)
        room = ROOM * np.abs(self.highest)
        return (values > self.highest + room).any(axis=1)

    def bounds(self, model: SalienceModel, values: NDArray,
               level: float) -> tuple[NDArray, NDArray]:
        """Lower and upper ends at a level, clipped to 0..1.

        Args:
            model (SalienceModel): Fitted on all models; its predictions
                always lie inside.
            values (NDArray): Feature columns, shape `(M, K)`.
            level (float): Share of intervals that should hold the observed
                accuracy, in (0, 1).

        Returns:
            tuple[NDArray, NDArray]: Two of shape `(M,)`. Where too few
            models or families were held out for the level, and for models
            that are `beyond`, 0 and 1.

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
        error *= t.ppf(upper, self.n_families) / norm.ppf(upper)
        low = -_upper_quantile(error - by_fold, level, self.n_models)
        high = _upper_quantile(error + by_fold, level, self.n_models)
        scores = model.scores(values)
        predicted = model.curve.accuracies(scores)
        # With fewer than one degree of freedom there is no distribution.
        freedom = max(self.n_families - CURVE_PARAMETERS, 1)
        half = t.ppf(upper, freedom) * self.backtest_error * self.growth(
            scores) * deviation(self.variance, model.curve.slopes(scores))
        half = np.where(self.extrapolated(scores), half, 0)
        low = np.minimum(low, predicted - half)
        high = np.maximum(high, predicted + half)
        beyond = self.beyond(values)
        return (np.where(beyond, 0,
                         np.clip(low, 0,
                                 1)), np.where(beyond, 1, np.clip(high, 0, 1)))


def _growth(score: NDArray, low: float, high: float, spread: float) -> NDArray:
    """Of errors at scores `(M,)`: 1 in the range, 2 one `spread` away.

    How many times larger they are expected to be than in the range.
    """
    distance = np.maximum(np.maximum(low - score, score - high), 0)
    return 1 + np.minimum(distance, MOST * spread) / max(spread, TINY)


def _upper_quantile(values: NDArray, level: float, n: int) -> NDArray:
    """The quantile of CV+ along axis 0: a share `level (n + 1) / n` of all.

    Infinite where that is more than there are. `n` is the number of values,
    or of models where each model has several values.
    """
    rank = int(np.ceil(level * (n + 1) * len(values) / max(n, 1)))
    if not 0 < rank <= len(values):
        return np.full(values.shape[1:], np.inf)
    return np.partition(values, rank - 1, axis=0)[rank - 1]


def deviation(variance: NDArray, slopes: NDArray) -> NDArray[np.float64]:
    """Standard deviation of errors.

    Args:
        variance (NDArray): Its constant part, in squared fractions, and its
            part per squared slope, in squared exponents. Shape `(2,)`.
        slopes (NDArray): Of curves, as in `FoldPredictions`, in any shape.

    Returns:
        NDArray: Fractions in the same shape, `LEAST_DEVIATION` or more.
    """
    modelled = variance[0] + variance[1] * slopes**2
    return np.maximum(np.sqrt(modelled), LEAST_DEVIATION)


def fit_variance(sizes: NDArray, slopes: NDArray) -> NDArray[np.float64]:
    """Both parts of the variance, by weighted least squares.

    Args:
        sizes (NDArray): Absolute errors, fractions, `(N,)`.
        slopes (NDArray): Of the curves that made them, `(N,)`.

    Returns:
        NDArray: Shape `(2,)`; `[1, 0]` without an error.
    """
    columns = np.stack([np.ones_like(slopes), slopes**2], axis=1)
    parts = np.array([1.0, 0.0])
    for _ in range(_ROUNDS if len(sizes) else 0):
        # The variance of a squared error is that of the error, squared.
        weight = 1 / deviation(parts, slopes)**2
        parts, _ = nnls(columns * weight[:, None], sizes**2 * weight)
    return parts


def shared_variances(folds: Sequence[FoldPredictions]) -> list[NDArray]:
    """The variance on each benchmark, drawn to the shape that all share.

    With n families, that of the benchmark's own errors counts n times, and the
    shared one, with the benchmark's own level, `SHARED_FAMILIES` times.

    Args:
        folds (Sequence[FoldPredictions]): Of B benchmarks. Those whose folds
            have no error, or predict one accuracy each whatever the score
            (flat curves have no exponent but 0), tell nothing of the shape
            and keep their own variances.

    Returns:
        list[NDArray]: B variances, `(2,)` each.
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
    """Variances that differ by a factor only, for each benchmark.

    The rounds settle the shape where errors tell one. Where they hardly do,
    it is as good wherever the rounds end. Errors come as sizes and slopes.
    """
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
    """The models that the back-tests fit to, a mask for each.

    Args:
        mean_loss (NDArray): All-token loss of each model, `(n,)`.

    Returns:
        NDArray: Shape `(3, n)`.
    """
    order = np.argsort(-mean_loss, kind='stable')
    worse = np.zeros((len(BACKTEST_SHARES), len(order)), dtype=bool)
    for mask, share in zip(worse, BACKTEST_SHARES):
        mask[order[:round(len(order) * share)]] = True
    return worse


def backtest_errors(model: SalienceModel, values: NDArray, accuracy: NDArray,
                    worse: NDArray, variance: NDArray) -> NDArray:
    """Absolute errors on the better models, in standard deviations.

    They are divided by how many times larger errors are so far from the
    range of the worse models.

    Args:
        model (SalienceModel): Fitted to the worse models.
        values (NDArray): Feature columns of all n models, `(n, K)`.
        accuracy (NDArray): Theirs, `(n,)`.
        worse (NDArray): Mask of the worse ones, `(n,)`.
        variance (NDArray): As in `Intervals`.

    Returns:
        NDArray: Of each better model.
    """
    score = model.scores(values)
    fitted, score = score[worse], score[~worse]
    errors = np.abs(model.curve.accuracies(score) - accuracy[~worse])
    times = _growth(score, fitted.min(), fitted.max(), float(fitted.std()))
    return errors / deviation(variance, model.curve.slopes(score)) / times


def item_variance(accuracy: NDArray,
                  n_items: ArrayLike) -> NDArray[np.float64]:
    """Variance of the answer to one item, above 0 even for none right.

    Args:
        accuracy (NDArray): Fractions, NaN where not known, any shape.
        n_items (ArrayLike): Number of items that they are from, 0 where not
            known. Broadcasts against them.

    >>> item_variance(np.array([0.5, 1.0]), np.array([100, 2]))
    array([0.25      , 0.22222222])
    """
    n_items = np.asarray(n_items)
    share = (accuracy * n_items + _IMAGINED_ITEMS / 2) / (
        n_items + _IMAGINED_ITEMS)
    return np.asarray(share * (1 - share))


def at_least_noise(low: NDArray, predicted: NDArray, high: NDArray,
                   n_items: ArrayLike,
                   level: float) -> tuple[NDArray, NDArray]:
    """Intervals that are no narrower than the noise of a model's own.

    Args:
        low (NDArray): Lower ends, fractions in any shape.
        predicted (NDArray): In the same shape.
        high (NDArray): Upper ends, likewise.
        n_items (ArrayLike): Of the benchmark, as in `item_variance`; where it
            is not known, intervals are as they were.
        level (float): Of the intervals, in (0, 1).

    Returns:
        tuple[NDArray, NDArray]: Both ends, in 0..1.

    >>> low, high = at_least_noise(np.array([.5, .25]), np.array([.5, .5]),
    ...                            np.array([.5, .75]), np.array([625]), .9545)
    >>> low.round(3), high.round(3)
    (array([0.48, 0.25]), array([0.52, 0.75]))
    """
    variance = item_variance(predicted, n_items) * inverse(n_items)
    # Near a level of 1, (1 + level) / 2 would round to it.
    half = norm.isf((1 - level) / 2) * np.sqrt(OWN_SHARE * variance)
    return (np.minimum(low, np.maximum(predicted - half, 0)),
            np.maximum(high, np.minimum(predicted + half, 1)))


def inverse(n_items: ArrayLike) -> NDArray[np.float64]:
    """1 / n, and 0 where n is 0, for not known."""
    n_items = np.asarray(n_items)
    return np.divide(
        1, n_items, where=n_items > 0, out=np.zeros(n_items.shape))
