"""Refuse losses that no model can have, as a failed scoring writes."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError

#: Only with this number of units or more, losses of 0 on most units are a
#: sign of failure. With fewer, they may be 0 by accident.
MANY = 10
_REMEDY = ('The scoring of the model seems to have failed: score it again, or '
           'leave the model out.')


def check_spread(where: str, models: Sequence[str], losses: NDArray,
                 least_units: int) -> None:
    """Check that the losses of each model differ, and are mostly above 0.

    `losses`, `(M, K)`, are the losses of M models on K units, such as texts.
    Losses that are NaN are ignored. A model with losses on fewer than
    `least_units` units is not checked. Errors call the losses `where`.

    Raises:
        InputError: The losses of a model are 0 on all units; or 0 on more than
            half of the units, of `MANY` or more; or the same on about 90 % of
            the units, of 5 or more.
    """
    # Losses up to this limit count as 0.
    nothing = 1e-9
    # With fewer units, all losses may happen to be equal after rounding.
    few = 5
    # Before the range is taken, this share of the losses is left out at each
    # end: the lowest and the highest losses.
    ends = 0.05
    # Smallest range of the remaining losses that is accepted, divided by the
    # highest remaining loss. Among 335 public models and checkpoints, the
    # smallest such ratio is 0.14.
    least_range = 1e-4
    for model, row in zip(models, losses):
        known = row[~np.isnan(row)]
        ordered = np.sort(known)
        n_units = len(ordered)
        if n_units < least_units:
            continue
        n_zeros = np.count_nonzero(ordered <= nothing)
        are_mostly_zero = n_units >= MANY and n_zeros > n_units / 2
        if n_zeros == n_units or are_mostly_zero:
            raise InputError(f'{where}, model {model!r}',
                             'losses above 0 on most units',
                             f'0 on {n_zeros} of {n_units}', _REMEDY)
        n_at_end = int(ends * n_units)
        low = ordered[n_at_end]
        high = ordered[-1 - n_at_end]
        are_equal = high - low <= least_range * high
        if are_equal and n_units >= few:
            raise InputError(f'{where}, model {model!r}',
                             'losses that differ from unit to unit',
                             f'{low:g} on nearly all of {n_units} units',
                             _REMEDY)


def check_means(where: str, models: Sequence[str], means: NDArray, low: float,
                high: float) -> None:
    """Check that mean losses, `(M,)`, are near the usual range.

    The usual range is from `low` to `high`.

    Raises:
        InputError: A mean loss is less than `low / 100` or greater than
            `100 * high`.
    """
    # Mean losses are accepted within this factor of the usual range.
    far = 100
    for model, mean in zip(models, means):
        if mean < low / far or mean > high * far:
            raise InputError(
                f'{where}, model {model!r}',
                f'a mean loss within a factor of {far} of the usual '
                f'{low:.3g} to {high:.3g}', f'{mean:.3g}',
                'Use the same unit for all models. ' + _REMEDY)


def check_models(where: str,
                 models: Sequence[str],
                 losses: NDArray,
                 least_units: int = 2) -> None:
    """Check the losses of each model alone, then the mean losses of all.

    Arguments are as in `check_spread`, and errors as in `check_spread` and
    `check_means`. With four or more models with losses, the usual range of
    mean losses is between their quartiles. With fewer, it is 0.01 to 1e4, and
    means are only checked if each model has losses on `MANY` units or more.
    """
    check_spread(where, models, losses, least_units)
    is_known = ~np.isnan(losses)
    n_units = is_known.sum(axis=1)
    scored = n_units > 0
    means = np.nanmean(losses[scored], axis=1)
    # Mean losses in any usual unit, from bits per byte to nats per document.
    low, high = 0.01, 1e4
    if len(means) >= 4:
        low, high = np.quantile(means, (.25, .75))
    elif n_units[scored].min(initial=MANY) < MANY:
        return
    names = [models[m] for m in np.flatnonzero(scored)]
    check_means(where, names, means, low, high)
