"""Find models whose losses are in another unit of measurement.

Losses in bits are 1.44 times the same losses in nats in every column (of a
text, or of a table). Losses of a worse model are larger, too, but not by the
same factor in every column. So the logarithms of a model's losses are
explained by two numbers. One is how good the model is, which changes columns
by the slopes that the training models show. The other is a constant, which
changes all columns alike. A constant far from 0 shows another unit.
"""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.formatting import shortened

#: Fewer columns or training models do not tell slopes well enough; with one
#: or a few columns, another unit cannot be told from a worse model. A
#: convention, not fitted.
LEAST_COLUMNS, LEAST_FITTED = 6, 8


def measurement_factors(fitted: NDArray, families: Sequence[str],
                        losses: NDArray, columns: NDArray,
                        least_share: float) -> Floats:
    """Return how many times too large the losses of each model seem, `(M,)`.

    The factor is 1 for models that seem to be measured in the unit of the
    training models. It is 1 for all models if nothing can be told: with too
    few columns, training models or families, or if values are negative, so
    that they are no losses. Columns whose median is 0 do not count.

    Args:
        fitted (NDArray): Losses of the training models, `(N, K)`.
        families (Sequence[str]): The family of each training model.
        losses (NDArray): Losses of the models to look at, `(M, K)`.
        columns (NDArray): Indices of the columns to look at.
        least_share (float): Losses below this share of the median loss of
            their column are replaced by it.
    """
    factors = np.ones(len(losses))
    n_fitted = len(fitted)
    is_little = n_fitted < LEAST_FITTED or len(columns) < LEAST_COLUMNS
    if is_little or not len(losses):
        return factors
    # Some columns, evenly spaced, are enough, and save time.
    most_columns = 300
    if len(columns) > most_columns:
        last = len(columns) - 1
        some = np.linspace(0, last, most_columns)
        columns = columns[some.astype(int)]
    fitted = fitted[:, columns]
    losses = losses[:, columns]
    if min(fitted.min(), losses.min()) < 0:
        return factors
    typical = np.median(fitted, axis=0)
    counted = typical > 0
    if counted.sum() < LEAST_COLUMNS:
        return factors
    fitted = fitted[:, counted]
    losses = losses[:, counted]
    typical = typical[counted]
    logs_fitted = np.log(np.maximum(fitted / typical, least_share))
    logs = np.log(np.maximum(losses / typical, least_share))
    # The constants of training models, each family from the other families.
    constants_of_fitted = np.full(n_fitted, np.nan)
    names = np.array(families)
    for family in np.unique(names):
        is_in = names == family
        constants_of_fitted[is_in] = _constants(logs_fitted[~is_in],
                                                logs_fitted[is_in])
    sizes = np.abs(constants_of_fitted)
    known_sizes = sizes[~np.isnan(sizes)]
    if not len(known_sizes):
        return factors
    deviation = np.median(known_sizes) / .6745
    constants = _constants(logs_fitted, logs)
    # Constants are reported beyond a factor of 1.3 and 5 standard deviations.
    # The factor was 1.25 until two sound models of one collection were named;
    # tools/studies/LOG.md has what is found since.
    least = max(np.log(1.3), 5 * deviation)
    is_other = np.abs(constants) > least
    return np.where(is_other, np.exp(constants), factors)


def measurement_notes(models: Sequence[str], factors: NDArray) -> list[str]:
    """Return a note that names the models whose factor is not 1, if any.

    `factors`, `(M,)`, are as `measurement_factors` returns them.

    >>> measurement_notes(['a', 'b'], np.array([1, 1.44]))
    ['b (1.44): all losses seem to be off by this factor, as if they were \
measured in another unit than those of the training models, such as bits for \
nats. Measure all losses in the same unit.']
    """
    named = []
    for model, factor in zip(models, factors):
        if factor != 1:
            named.append(f'{model} ({factor:.3g})')
    if not named:
        return []
    names = shortened(', '.join(named), 200)
    return [
        f'{names}: all losses seem to be off by this factor, as if they were '
        'measured in another unit than those of the training models, such as '
        'bits for nats. Measure all losses in the same unit.'
    ]


def _constants(fitted: NDArray, logs: NDArray) -> Floats:
    """Return what all logarithms of a model's losses have in common, `(M,)`.

    The logarithms of a model, a row of `logs`, `(M, K)`, are explained by the
    slopes of columns times how good the model is, plus this constant, by
    weighted least squares.
    The slopes and the weights come from the logarithms of N other models,
    `fitted`, `(N, K)`. The constant is NaN if these models cannot tell it.
    """
    unknown = np.full(len(logs), np.nan)
    if len(fitted) < LEAST_FITTED / 2:
        return unknown
    middle_column = np.median(fitted, axis=0)
    fitted = fitted - middle_column
    logs = logs - middle_column
    # The slope of each column on the mean over columns, and the scatter.
    level = fitted.mean(axis=1)
    squares = level @ level
    if squares == 0:
        return unknown
    slopes = level @ fitted / squares
    residuals = fitted - np.outer(level, slopes)
    variances = (residuals**2).mean(axis=0)
    # No column counts more than 10 typical columns do.
    variances += np.median(variances) / 10
    if not variances.all():
        return unknown
    weights = 1 / variances
    weights /= weights.sum()
    middle = weights @ slopes
    away = slopes - middle
    spread = weights @ away**2
    if spread == 0:
        return unknown
    # The constant is the intercept of the weighted regression of logarithms on
    # slopes, a sum over columns with these weights.
    by_column = weights * (1 - middle * away / spread)
    return logs @ by_column
