"""Losses that no model has, which programs write where scoring fails."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError

#: With fewer units, most losses may be 0 by accident.
MANY = 10
_REMEDY = 'Its scoring failed: score it again, or leave the model out.'


def check_spread(where: str, models: Sequence[str], losses: NDArray,
                 least: int) -> None:
    """Refuse models whose losses are alike, or mostly zero.

    Losses are of K units of text, `(M, K)`; NaN is passed over. Models with
    fewer units than `least` are not checked.

    Raises:
        InputError: Those of a model are 0 on all units, or on most of at least
            `MANY`, or the same on 9 in 10 of at least 5.
    """
    # Losses up to this count as 0.
    nothing = 1e-9
    # With fewer units, all losses may be equal by rounding.
    few = 5
    # Share of the sorted losses at either end that may differ from the others.
    ends = 0.05
    # Least range of the other losses, as a share of the highest. The least of
    # 335 public models and checkpoints is 0.14.
    least_range = 1e-4
    for model, row in zip(models, losses):
        ordered = np.sort(row[~np.isnan(row)])
        n_units = len(ordered)
        if n_units < least:
            continue
        n_zeros = np.count_nonzero(ordered <= nothing)
        are_mostly_zero = n_units >= MANY and n_zeros > n_units / 2
        if n_zeros == n_units or are_mostly_zero:
            raise InputError(f'{where}, model {model!r}',
                             'losses above 0 on most units',
                             f'0 on {n_zeros} of {n_units}', _REMEDY)
        n_at_end = int(ends * n_units)
        low, high = ordered[n_at_end], ordered[-1 - n_at_end]
        if n_units >= few and high - low <= least_range * high:
            raise InputError(f'{where}, model {model!r}',
                             'losses that differ from unit to unit',
                             f'{low:g} on nearly all of {n_units} units',
                             _REMEDY)


def check_means(where: str, models: Sequence[str], means: NDArray, low: float,
                high: float) -> None:
    """Refuse mean losses `(M,)` that are far from usual ones.

    Raises:
        InputError: One is 100 times less than the least usual one, `low`, or
            greater than the greatest, `high`.
    """
    # Factor by which no mean loss differs from those of most other models.
    far = 100
    for model, mean in zip(models, means):
        if mean < low / far or mean > high * far:
            raise InputError(
                f'{where}, model {model!r}',
                f'a mean loss like that of other models, {low:.3g} to '
                f'{high:.3g}', f'{mean:.3g}',
                'Use the same unit for all models. ' + _REMEDY)


def check_models(where: str,
                 models: Sequence[str],
                 losses: NDArray,
                 least: int = 2) -> None:
    """Check each model by itself, and four or more by each other.

    Args and errors as in `check_spread` and `check_means`; `least` is the
    fewest units with which a model is checked by itself. Of four or more
    models with losses, the middle half has usual means. Of fewer, means from
    0.01 to 1e4 are usual if each has losses on `MANY` units.
    """
    check_spread(where, models, losses, least)
    n_units = (~np.isnan(losses)).sum(axis=1)
    scored = n_units.astype(bool)
    means = np.nanmean(losses[scored], axis=1)
    # Mean losses of models in any unit, from bits per byte to sums of
    # documents.
    low, high = 0.01, 1e4
    if len(means) >= 4:
        low, high = np.quantile(means, (.25, .75))
    elif n_units[scored].min(initial=MANY) < MANY:
        return
    names = [models[m] for m in np.flatnonzero(scored)]
    check_means(where, names, means, low, high)
