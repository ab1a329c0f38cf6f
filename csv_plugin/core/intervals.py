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

Errors are pooled in standard deviations, which are larger where the curve is
steep (`error_variances`).
"""
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.error_variances import (HeldOutErrors, deviation,
                                             shared_variances)
from csv_plugin.core.salience.base import SalienceFit, Solver, Task, fold_masks
from csv_plugin.core.salience.ridge import Plain
from csv_plugin.core.salience_model import SalienceModel

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
_REMEDY = 'Fit the predictor again.'


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
            Infinite if not recorded, as in files of earlier versions.
        highest (Optional[NDArray]): Highest value of each column, `(K,)`:
            a model with a higher one has the interval 0 to 1. None where
            there are so many columns that sound models have one, too.

    Raises:
        InputError: An error or a variance is negative or not finite, the
            spread of scores is negative or NaN, an error belongs to no fold
            model, or the models do not have the same number of errors each.
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
    score_spread: float = np.inf
    highest: Optional[NDArray] = None

    def __post_init__(self) -> None:
        for name in ('errors', 'variance', 'backtest'):
            values = getattr(self, name)
            if not np.all((values >= 0) & np.isfinite(values)):
                raise InputError(f'{name} of intervals', 'numbers of 0 or '
                                 'more', f'{values}'[:80], _REMEDY)
        if not self.score_spread >= 0:
            raise InputError('score_spread of intervals', '0 or more',
                             str(self.score_spread), _REMEDY)
        n_folds, n_models = len(self.folds.coefficients), self.n_models
        if np.any((self.fold < 0) | (self.fold >= n_folds)):
            raise InputError('errors of intervals',
                             f'fold models below {n_folds}',
                             f'{self.fold.tolist()}'[:80], _REMEDY)
        if len(self.errors) % max(n_models, 1) or (len(self.errors)
                                                   and not n_models):
            raise InputError('errors of intervals',
                             f'the same number for each of {n_models} models',
                             f'{len(self.errors)} in all', _REMEDY)

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


def side(score: NDArray, low: float, high: float) -> NDArray[np.int64]:
    """On which side of a range scores lie: -1 below, 0 inside, 1 above."""
    # The last bits of a score depend on the models beside it.
    slack = 1e-9 * (high - low)
    return np.where(score > high + slack, 1,
                    np.where(score < low - slack, -1, 0))


def _growth(score: NDArray, low: float, high: float, spread: float) -> NDArray:
    """Of errors at scores `(M,)`: 1 in the range, 2 one `spread` away."""
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


def learn_all_intervals(fits: Mapping[str, tuple[Task, SalienceFit]],
                        backtest: Callable[[str, NDArray], NDArray],
                        progress: Progress = iter) -> dict[str, Intervals]:
    """The intervals of fits that share the shape of their errors' variance.

    Args:
        fits (Mapping): By benchmark, what was fitted on, and the fit.
        backtest (Callable): From a benchmark and the variance of its errors,
            `(2,)`, to what `learn_intervals` takes as `backtest`.
        progress (Progress): Wraps the benchmarks.
    """
    errors = {name: HeldOutErrors.of(*fits[name]) for name in fits}
    variances = dict(zip(fits, shared_variances(list(errors.values()))))
    return {
        name:
        learn_intervals(*fits[name], errors[name], variances[name],
                        backtest(name, variances[name]))
        for name in progress(list(fits))
    }


def learn_intervals(task: Task, fit: SalienceFit, errors: HeldOutErrors,
                    variance: NDArray, backtest: NDArray) -> Intervals:
    """The intervals of a fit.

    Args:
        task (Task): What `fit` was fitted on.
        fit (SalienceFit): The fit and its folds.
        errors (HeldOutErrors): Of these folds, for CV+.
        variance (NDArray): Of an error, `(2,)`, as in `Intervals`.
        backtest (NDArray): Absolute errors of back-tests, in standard
            deviations, `(n_b,)`.
    """
    # With the many columns of other solvers, sound models are beyond in some.
    few = fit.solver == Plain.name
    score = fit.model.scores(task.values)
    return Intervals(fit.folds, len(task.accuracy),
                     errors.in_deviations(variance), errors.fold, variance,
                     backtest, errors.n_families,
                     float(score.min(initial=np.inf)),
                     float(score.max(initial=-np.inf)), _spread(score),
                     task.values.max(axis=0) if few else None)


def _spread(score: NDArray) -> float:
    return float(score.std()) if len(score) else np.inf


def run_backtests(task: Task, solver: Solver, seed: int,
                  variance: NDArray) -> NDArray[np.float64]:
    """Fit to the worse models; return the errors on the better ones.

    Args:
        task (Task): All models.
        solver (Solver): Fits to the worse ones, with their own
            cross-validation.
        seed (int): Of its folds.
        variance (NDArray): Of an error, `(2,)`, as in `Intervals`.

    Returns:
        NDArray: As `backtest_errors`, of all fits; empty if nothing can be
        fitted.
    """
    errors = []
    for worse in worse_models(task.features.mean_loss):
        part = task.select(worse)
        if not part.problems:
            # One repeat: only the penalty is chosen by these folds.
            masks = fold_masks(part.families, seed, n_repeats=1)
            model = solver.fit(part, masks).model
            errors.append(backtest_errors(model, task, worse, variance))
    return np.concatenate([np.zeros(0), *errors])


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


def backtest_errors(model: SalienceModel, task: Task, worse: NDArray,
                    variance: NDArray) -> NDArray:
    """Absolute errors on the better models, in standard deviations.

    They are divided by how many times larger errors are so far from the
    range of the worse models.

    Args:
        model (SalienceModel): Fitted to the worse models.
        task (Task): All n models.
        worse (NDArray): Mask of the worse ones, `(n,)`.
        variance (NDArray): As in `Intervals`.

    Returns:
        NDArray: Of each better model.
    """
    score = model.scores(task.values)
    fitted, score = score[worse], score[~worse]
    errors = np.abs(model.curve.accuracies(score) - task.accuracy[~worse])
    growth = _growth(score, fitted.min(), fitted.max(), _spread(fitted))
    return errors / deviation(variance, model.curve.slopes(score)) / growth
