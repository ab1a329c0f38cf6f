"""Whether models are enough to learn from, told before they are fitted."""
import math
from collections.abc import Mapping, Sequence

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.scaling_law import LEAST_MODELS

#: Fewer families leave nothing to hold out.
LEAST_FAMILIES = 2


def least_models(level: float) -> int:
    """Models that intervals need, so as not to reach from 0 to 100 %.

    CV+ takes the smallest of n errors that a share `level (n + 1) / n` of
    them does not exceed.

    Args:
        level (float): Of the intervals, in (0, 1).

    >>> least_models(0.9)
    9
    """
    # Less a rounding error: 0.9 / (1 - 0.9) is a little more than 9.
    return math.ceil(level / (1 - level) - 1e-9)


def shortages(accuracies: AccuracyTable,
              families: Mapping[str, str],
              fitted: Sequence[str],
              level: float = 0.9) -> dict[str, str]:
    """Benchmarks with too few models to fit to.

    Args:
        accuracies (AccuracyTable): Of these models and perhaps more.
        families (Mapping[str, str]): Family of each model.
        fitted (Sequence[str]): Models to fit to.
        level (float): Of the intervals that predictions will have.

    Returns:
        dict[str, str]: By benchmark what is lacking, what comes of it, and
        what would do; to stand behind the name, or all names with the same,
        and a colon.
    """
    table = accuracies.select(fitted)
    found = {}
    for b, benchmark in enumerate(table.benchmarks):
        present = ~np.isnan(table.values[:, b])
        groups = {families[fitted[m]] for m in np.flatnonzero(present)}
        if few := _too_few(int(present.sum()), len(groups), level):
            found[benchmark] = few
    return found


def _too_few(n: int, n_families: int, level: float) -> str:
    """What comes of n models of so many families; empty if they suffice."""
    enough = least_models(level)
    if not n:
        return 'left out, as no model to fit to was run there.'
    if n < LEAST_MODELS:
        result = 'the mean accuracy is predicted'
    elif n_families < LEAST_FAMILIES:
        result = ('nothing can be held out, so that settings are not chosen '
                  'and all intervals are 0 to 100 %')
    elif n < enough:
        result = f'all {level:.0%} intervals are 0 to 100 %'
    else:
        return ''
    noun = 'family' if n_families == 1 else 'families'
    return (f'too few models to fit to, {n} of {n_families} {noun}: {result}. '
            f'{enough} models of {LEAST_FAMILIES} families would do, some '
            'dozens are better.')
