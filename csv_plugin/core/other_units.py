"""Find models whose losses were measured in another unit.

Losses in bits are 1.44 times the same losses in nats on every unit (a text, or
a column of a table). Losses of a worse model are larger, too, but not by the
same factor on every unit. So the logarithms of a model's losses are explained
by two numbers: by how good the model is, which changes units by the slopes
that the training models show, and by a constant, which changes all units
alike. A constant far from 0 tells another unit.
"""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.formatting import shortened
from csv_plugin.core.settings import Settings

#: Fewer units or training models do not tell slopes well enough.
LEAST_UNITS, LEAST_MODELS = 6, 8


def unit_factors(fitted: NDArray, families: Sequence[str], losses: NDArray,
                 units: NDArray) -> Floats:
    """Return how many times too large the losses of each model seem, `(M,)`.

    `fitted`, `(N, K)`, are the losses of the training models, whose families
    are `families`. `losses`, `(M, K)`, are the losses of the models to look
    at. `units` are the indices of the columns that are units. The factor is 1
    for models whose unit seems to be that of the training models. It is 1 for
    all models if there are too few units or training models to tell, or if a
    loss is not positive.
    """
    factors = np.ones(len(losses))
    n_models = len(fitted)
    if n_models < LEAST_MODELS or len(units) < LEAST_UNITS:
        return factors
    # Some units, evenly spaced, are enough, and save time.
    most_units = 300
    if len(units) > most_units:
        last = len(units) - 1
        some = np.linspace(0, last, most_units)
        units = units[some.astype(int)]
    fitted = fitted[:, units]
    losses = losses[:, units]
    if min(fitted.min(), losses.min()) <= 0:
        return factors
    typical = np.median(fitted, axis=0)
    # Smaller losses count as this share of the median loss of their unit.
    least_share = Settings.least
    logs_fitted = np.log(np.maximum(fitted / typical, least_share))
    logs = np.log(np.maximum(losses / typical, least_share))
    # Sound constants: those of each family, as the other families see it.
    sound = np.zeros(n_models)
    names = np.array(families)
    for family in np.unique(names):
        is_in = names == family
        sound[is_in] = _constants(logs_fitted[~is_in], logs_fitted[is_in])
    deviation = np.median(np.abs(sound)) / .6745
    constants = _constants(logs_fitted, logs)
    # Constants are reported beyond a factor of 1.3 and 5 standard deviations.
    # On four public collections with 31 or more units and families left out,
    # this finds 98 to 100 % of models in bits, and at most 1 in 66 others.
    least = max(np.log(1.3), 5 * deviation)
    is_other = np.abs(constants) > least
    return np.where(is_other, np.exp(constants), factors)


def unit_notes(models: Sequence[str], factors: NDArray) -> list[str]:
    """Return a note that names the models whose factor is not 1, if any.

    `factors`, `(M,)`, are as `unit_factors` returns them.

    >>> unit_notes(['a', 'b'], np.array([1, 1.44]))
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

    The logarithms `logs`, `(M, K)`, are explained by the slopes of units times
    how good the model is, plus this constant, by weighted least squares. The
    slopes and the weights come from the logarithms of N other models,
    `fitted`, `(N, K)`. The constant is 0 if these models cannot tell it.
    """
    nothing = np.zeros(len(logs))
    if len(fitted) < LEAST_MODELS / 2:
        return nothing
    middle_unit = np.median(fitted, axis=0)
    fitted = fitted - middle_unit
    logs = logs - middle_unit
    # The slope of each unit on the mean over units, and the scatter about it.
    level = fitted.mean(axis=1)
    squares = level @ level
    if squares == 0:
        return nothing
    slopes = level @ fitted / squares
    residuals = fitted - np.outer(level, slopes)
    variances = (residuals**2).mean(axis=0)
    # No unit counts more than 10 typical units do.
    variances += np.median(variances) / 10
    if not variances.all():
        return nothing
    weights = 1 / variances
    weights /= weights.sum()
    middle = weights @ slopes
    away = slopes - middle
    spread = weights @ away**2
    if spread == 0:
        return nothing
    # How good a model is does not change the sum that has these weights.
    by_unit = weights * (1 - middle * away / spread)
    return logs @ by_unit
