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
from csv_plugin.core.formatting import first_names

#: Fewer columns or training models do not tell slopes well enough; with one
#: or a few columns, another unit cannot be told from a worse model. A
#: convention, not fitted.
LEAST_COLUMNS, LEAST_FITTED = 6, 8


def measurement_factors(fitted: NDArray, families: Sequence[str],
                        losses: NDArray, columns: NDArray,
                        least_share: float) -> tuple[Floats, Floats]:
    """Return how many times too large the losses of each model seem.

    The first array has the factors of the N training models, `(N,)`, each
    compared with the training models of other families. The second array has
    those of M other models, `(M,)`, compared with all training models. The
    factor is 1 for models that seem to be measured in the unit of the training
    models. It is 1 for all models if nothing can be told: with too few
    columns, training models or families, or if values are negative, so that
    they are no losses. Columns whose median is 0 do not count.

    Args:
        fitted (NDArray): Losses of the training models, `(N, K)`.
        families (Sequence[str]): The family of each training model.
        losses (NDArray): Losses of the other models, `(M, K)`.
        columns (NDArray): Indices of the columns to look at.
        least_share (float): A loss that, divided by the median loss of its
            column, is below this share of the model's median is an odd one,
            such as 0; so is a loss above the inverse of this share.
    """
    of_fitted = np.ones(len(fitted))
    of_others = np.ones(len(losses))
    if len(fitted) < LEAST_FITTED or len(columns) < LEAST_COLUMNS:
        return of_fitted, of_others
    # Some columns, evenly spaced, are enough, and save time.
    most_columns = 300
    if len(columns) > most_columns:
        last = len(columns) - 1
        some = np.linspace(0, last, most_columns)
        columns = columns[some.astype(int)]
    fitted = fitted[:, columns]
    losses = losses[:, columns]
    if fitted.min() < 0 or losses.min(initial=0) < 0:
        return of_fitted, of_others
    typical = np.median(fitted, axis=0)
    counted = typical > 0
    if counted.sum() < LEAST_COLUMNS:
        return of_fitted, of_others
    ratios = fitted[:, counted] / typical[counted]
    logs_fitted = _logs(ratios, least_share)
    ratios = losses[:, counted] / typical[counted]
    logs = _logs(ratios, least_share)
    names = np.array(families)
    # Training models in two units differ by a constant between families, so
    # slopes for training models come from the differences within families.
    for_fitted = _left_out_constants(logs_fitted, names, names)
    if not np.isnan(for_fitted).all():
        of_fitted = _factors(for_fitted, for_fitted)
    one_group = np.zeros(len(names))
    usual = _left_out_constants(logs_fitted, names, one_group)
    if not np.isnan(usual).all():
        constants = _constants(logs_fitted, one_group, logs)
        of_others = _factors(constants, usual)
    return of_fitted, of_others


def _factors(constants: NDArray, usual: NDArray) -> Floats:
    """Return the factors that follow from the constants of M models, `(M,)`.

    `usual`, `(N,)`, are the constants of the training models.
    """
    sizes = np.abs(usual)
    deviation = np.nanmedian(sizes) / .6745
    # Constants are reported beyond a factor of 1.3 and 5 standard deviations.
    # The factor was 1.25 until two sound models of one collection were named;
    # tools/studies/LOG.md has what is found since.
    least = max(np.log(1.3), 5 * deviation)
    is_other = np.abs(constants) > least
    return np.where(is_other, np.exp(constants), 1)


def _logs(ratios: NDArray, least_share: float) -> Floats:
    """Return logarithms of losses relative to typical losses, `(M, K)`.

    `ratios`, `(M, K)`, are the losses divided by the median of their column.
    An odd one (see `measurement_factors`) says nothing on the unit, so it is
    replaced by the median ratio of the model.
    """
    medians = np.median(ratios, axis=1, keepdims=True)
    # Losses of a model whose median is 0 are all odd.
    relative = np.divide(
        ratios, medians, out=np.zeros_like(ratios), where=medians > 0)
    is_odd = (relative < least_share) | (relative > 1 / least_share)
    usual = np.where(medians > 0, medians, 1)
    return np.log(np.where(is_odd, usual, ratios))


def measurement_notes(models: Sequence[str],
                      factors: NDArray,
                      reference: str = 'the training models') -> list[str]:
    """Return a note that names the models whose factor is not 1, if any.

    `factors`, `(M,)`, are as `measurement_factors` returns them, and
    `reference` says which models the models were compared with.

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
    names = first_names(named)
    return [
        f'{names}: all losses seem to be off by this factor, as if they were '
        f'measured in another unit than those of {reference}, such as bits '
        'for nats. Measure all losses in the same unit.'
    ]


def _left_out_constants(logs: NDArray, families: NDArray,
                        groups: NDArray) -> Floats:
    """Return the constant of each training model, `(N,)`.

    Each family is explained by the models of other families; see `_constants`.
    """
    constants = np.full(len(logs), np.nan)
    for family in np.unique(families):
        is_in = families == family
        others = logs[~is_in]
        constants[is_in] = _constants(others, groups[~is_in], logs[is_in])
    return constants


def _constants(fitted: NDArray, groups: NDArray, logs: NDArray) -> Floats:
    """Return what all logarithms of a model's losses have in common, `(M,)`.

    The logarithms of a model, a row of `logs`, `(M, K)`, are explained by the
    slopes of columns times how good the model is, plus this constant, by
    weighted least squares.
    The slopes and the weights come from the logarithms of N other models,
    `fitted`, `(N, K)`, as deviations from the mean of their group; `groups`,
    `(N,)`, has the group of each. The constant is NaN if these models cannot
    tell it.
    """
    unknown = np.full(len(logs), np.nan)
    if len(fitted) < LEAST_FITTED / 2:
        return unknown
    logs = logs - np.median(fitted, axis=0)
    fitted = fitted.copy()
    for group in np.unique(groups):
        is_in = groups == group
        fitted[is_in] -= fitted[is_in].mean(axis=0)
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
