"""Predictions of families that were held out, and whether they are better."""
import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from csv_plugin.core.salience.base import SalienceFit, Task

#: Families, and the level of the test, that tell two errors apart.
LEAST_FAMILIES, SIGNIFICANCE = 3, 0.05


def held_out_predictions(task: Task, fit: SalienceFit) -> NDArray:
    """Mean predictions of each model by the folds that have not seen it.

    Where the solver was chosen, those by choices that have not seen it.

    Args:
        task (Task): What `fit` was fitted on.
        fit (SalienceFit): The fit and its folds.

    Returns:
        NDArray: Accuracies, NaN where nothing was held out. `(n,)`.
    """
    if fit.held_out is not None:
        return fit.held_out.predicted
    held_out = ~fit.masks
    total = np.where(held_out, fit.folds.predict(task.values), 0).sum(axis=0)
    count = held_out.sum(axis=0)
    return np.divide(
        total, count, where=count > 0, out=np.full(len(total), np.nan))


def predicts_better(task: Task, fit: SalienceFit, other: SalienceFit) -> bool:
    """Whether a fit predicts held-out families better than another one.

    A one-sided t-test over the families, whose models err alike.

    Args:
        task (Task): What both were fitted on.
        fit (SalienceFit): A fit and its folds.
        other (SalienceFit): Another fit with the same folds.

    Returns:
        bool: False with fewer than `LEAST_FAMILIES`.
    """
    errors = [(held_out_predictions(task, of) - task.accuracy)**2
              for of in (other, fit)]
    names, member = np.unique(task.families, return_inverse=True)
    if len(names) < LEAST_FAMILIES:
        return False
    gains = np.bincount(member, errors[0] - errors[1]) / np.bincount(member)
    test = ttest_1samp(gains, 0, alternative='greater')
    return bool(test.pvalue < SIGNIFICANCE)
