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
        least_share (float): The ratio of a loss to the median loss of its
            column is odd if it is below this share of the model's median
            ratio, as that of a loss of 0 is, or above 1 / `least_share` times
            the median ratio.
    """
    of_fitted = np.ones(len(fitted))
    of_others = np.ones(len(losses))
    columns = _some_columns(columns)
    fitted = fitted[:, columns]
    losses = losses[:, columns]
    if not _can_be_told(fitted, losses):
        return of_fitted, of_others
    typical = np.median(fitted, axis=0)
    counted = typical > 0
    typical = typical[counted]
    logs_of_fitted = _logs(fitted[:, counted] / typical, least_share)
    logs_of_others = _logs(losses[:, counted] / typical, least_share)
    names = np.array(families)
    # A training model is explained by slopes within families. If some families
    # are in another unit, differences between families say nothing of slopes.
    constants = _left_out_constants(logs_of_fitted, names, groups=names)
    if not np.isnan(constants).all():
        of_fitted = _factors(constants, usual=constants)
    # Another model is explained by slopes over all training models.
    one_group = np.zeros(len(names))
    usual = _left_out_constants(logs_of_fitted, names, one_group)
    if not np.isnan(usual).all():
        constants = _constants(logs_of_fitted, one_group, logs_of_others)
        of_others = _factors(constants, usual)
    return of_fitted, of_others


def _some_columns(columns: NDArray) -> NDArray:
    """Return at most 300 of the columns, evenly spaced, which saves time."""
    most = 300
    if len(columns) <= most:
        return columns
    last = len(columns) - 1
    places = np.linspace(0, last, most)
    return columns[places.astype(int)]


def _can_be_told(fitted: NDArray, losses: NDArray) -> bool:
    """Return whether units can be told from these losses.

    There must be enough training models, `(N, K)`, and enough columns whose
    median is above 0, and no loss may be negative.
    """
    n_models, n_columns = fitted.shape
    if n_models < LEAST_FITTED or n_columns < LEAST_COLUMNS:
        return False
    if fitted.min() < 0 or losses.min(initial=0) < 0:
        return False
    medians = np.median(fitted, axis=0)
    return bool((medians > 0).sum() >= LEAST_COLUMNS)


def _logs(ratios: NDArray, least_share: float) -> Floats:
    """Return logarithms of losses relative to typical losses, `(M, K)`.

    `ratios`, `(M, K)`, are the losses divided by the median of their column.
    An odd one (see `measurement_factors`) says nothing on the unit, so it is
    replaced by the median ratio of the model.
    """
    medians = np.median(ratios, axis=1, keepdims=True)
    # Where the median of a model is 0, all of its losses count as odd.
    relative = np.divide(
        ratios, medians, out=np.zeros_like(ratios), where=medians > 0)
    is_odd = (relative < least_share) | (relative > 1 / least_share)
    usual = np.where(medians > 0, medians, 1)
    return np.log(np.where(is_odd, usual, ratios))


def _left_out_constants(logs: NDArray, families: NDArray,
                        groups: NDArray) -> Floats:
    """Return the constant of each training model, `(N,)`.

    Each family is explained by the models of other families. `logs`, `(N, K)`,
    `groups` and the result are as in `_constants`.
    """
    constants = np.full(len(logs), np.nan)
    for family in np.unique(families):
        is_in = families == family
        others = logs[~is_in]
        constants[is_in] = _constants(others, groups[~is_in], logs[is_in])
    return constants


def _constants(fitted: NDArray, groups: NDArray, logs: NDArray) -> Floats:
    """Return the constant of each of M models, `(M,)`.

    For a model whose logarithms are l_k, a row of `logs`, `(M, K)`,

        l_k = median_k + constant + quality slope_k + error_k

    The constant and the quality of the model are estimated by weighted least
    squares over the K columns. Medians, slopes and the variances of errors
    come from the logarithms of N other models, `fitted`, `(N, K)`; slopes and
    variances from their deviations from the mean of their group. `groups`,
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
    quality = fitted.mean(axis=1)
    squares = quality @ quality
    if squares == 0:
        return unknown
    slopes = quality @ fitted / squares
    residuals = fitted - np.outer(quality, slopes)
    variances = (residuals**2).mean(axis=0)
    # No column counts more than 10 typical columns do.
    variances += np.median(variances) / 10
    if not variances.all():
        return unknown
    weights = 1 / variances
    weights /= weights.sum()
    # The constant is the intercept of a regression of l on the slopes s. With
    # the weights w of the columns, the mean slope m and the variance v of the
    # slopes, it is the sum over columns of w l - m w (s - m) l / v.
    mean = weights @ slopes
    away = slopes - mean
    variance = weights @ away**2
    if variance == 0:
        return unknown
    by_column = weights * (1 - mean * away / variance)
    return logs @ by_column


def _factors(constants: NDArray, usual: NDArray) -> Floats:
    """Return the factors that follow from the constants of M models, `(M,)`.

    `usual`, `(N,)`, are the constants of the training models. The factor is
    the exponential of a constant that is far from 0, and 1 for any other
    constant, or where the constant is NaN.
    """
    sizes = np.abs(usual)
    # The median size of normal errors is .6745 standard deviations.
    deviation = np.nanmedian(sizes) / .6745
    # Constants are reported beyond a factor of 1.3 and 5 standard deviations.
    # With 1.25, two sound models of one collection would be reported
    # (tools/studies/LOG.md).
    least = max(np.log(1.3), 5 * deviation)
    is_far = np.abs(constants) > least
    return np.where(is_far, np.exp(constants), 1)


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
