"""Prediction intervals from models that were held out.

Inside the capability scores seen in fitting: CV+ (Barber et al., "Predictive
inference with the jackknife+", Annals of Statistics 49(1), 2021) over
family-grouped folds. Outside: a forward back-test, the errors on the better
models of a fit on the worse ones.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.errors import InputError
from csv_plugin.core.salience.base import (SalienceFit, SalienceModel, Solver,
                                           Task, fold_masks)

#: The back-test fits on this share of the models, the worst by mean loss.
BACKTEST_SHARE = 2 / 3


@dataclass(frozen=True, eq=False)
class Intervals:
    """What an interval of one benchmark needs.

    Args:
        folds (SalienceModel): Models without the held-out families, `(F,)`.
        errors (NDArray): Absolute errors of the fold models on the models
            they did not see, shape `(N,)`; `N` is n times the repeats.
        fold (NDArray): Which fold model made each error, `(N,)` integers.
        backtest (NDArray): Absolute errors of the back-test, `(n_b,)`.
        score_low (float): Lowest capability score fitted on.
        score_high (float): Highest one.
    """
    folds: SalienceModel
    errors: NDArray
    fold: NDArray
    backtest: NDArray
    score_low: float
    score_high: float

    def extrapolated(self, score: NDArray) -> NDArray:
        """Whether scores `(M,)` lie outside those fitted on."""
        return (score < self.score_low) | (score > self.score_high)

    def bounds(self, values: NDArray, predicted: NDArray, score: NDArray,
               level: float) -> tuple[NDArray, NDArray]:
        """Lower and upper ends at a level, clipped to 0..1.

        Args:
            values (NDArray): Feature columns, shape `(M, K)`.
            predicted (NDArray): Accuracies, shape `(M,)`; always inside.
            score (NDArray): Capability scores, shape `(M,)`.
            level (float): Share of intervals that should hold the observed
                accuracy, in (0, 1).

        Returns:
            tuple[NDArray, NDArray]: Two of shape `(M,)`. Where too few
            models were held out for the level, 0 and 1.

        Raises:
            InputError: If the level is not in (0, 1).
        """
        if not 0 < level < 1:
            raise InputError('intervals', 'a level in (0, 1)', str(level),
                             'Give 0.9 for 90 % intervals.')
        by_fold = self.folds.predict(values)[self.fold]
        low = -_upper_quantile(self.errors[:, None] - by_fold, level)
        high = _upper_quantile(self.errors[:, None] + by_fold, level)
        half = np.where(
            self.extrapolated(score),
            _upper_quantile(self.backtest[:, None], level), 0)
        low = np.minimum(low, predicted - half)
        high = np.maximum(high, predicted + half)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)


def _upper_quantile(values: NDArray, level: float) -> NDArray:
    """The ceil(level (N + 1))-th smallest along axis 0, else infinity."""
    rank = int(np.ceil(level * (len(values) + 1)))
    if rank > len(values):
        return np.full(values.shape[1:], np.inf)
    return np.partition(values, rank - 1, axis=0)[rank - 1]


def learn_intervals(task: Task, fit: SalienceFit, solver: Solver,
                    seed: int) -> Intervals:
    """Collect the held-out errors of a fit.

    Args:
        task (Task): What `fit` was fitted on.
        fit (SalienceFit): Its folds provide the CV+ errors.
        solver (Solver): Fits the back-test, with its own cross-validation.
        seed (int): Of the back-test's folds.
    """
    fold, held_out = np.nonzero(~fit.masks)
    predicted = fit.folds.predict(task.values)[fold, held_out]
    score = fit.model.score(task.values)
    return Intervals(fit.folds, np.abs(predicted - task.accuracy[held_out]),
                     fold, _backtest(task, solver, seed), float(score.min()),
                     float(score.max()))


def _backtest(task: Task, solver: Solver, seed: int) -> NDArray:
    """Absolute errors on the better models of a fit on the worse ones."""
    order = np.argsort(-(task.values @ task.uniform), kind='stable')
    n_fit = round(len(order) * BACKTEST_SHARE)
    worse, better = task.take(order[:n_fit]), task.take(order[n_fit:])
    if worse.problems:
        return np.zeros(0)
    fit = solver.fit(worse, fold_masks(worse.families, seed))
    return np.abs(fit.model.predict(better.values) - better.accuracy)
