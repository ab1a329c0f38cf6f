"""How far families reach: the accuracy at which most of them have models.

Few families tell of the accuracies beyond, so errors are larger there. The
range of all models would not say so: one family of many may span it alone.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The share of families that are most of them. In trials that no command
#: prints, on the eight series of the zoo left out, 1 divided errors slightly
#: better than 3/4, and 3/4 better than 1/2; but on the 89 public models next
#: to nothing is reached by all families.
MOST = 3 / 4


def reach(predicted: NDArray, families: NDArray) -> float:
    """The accuracy that most families reach with their best models.

    Args:
        predicted (NDArray): Predictions of n models that were fitted to,
            `(n,)`.
        families (NDArray): Their families, `(n,)`.

    Returns:
        float: A fraction; infinite without a model.

    >>> reach(np.array([.3, .9, .5, .6, .4]), np.array(list('aabcd')))
    0.5
    """
    best = sorted((predicted[families == family].max()
                   for family in np.unique(families)),
                  reverse=True)
    return float(best[int(np.ceil(MOST * len(best))) - 1]) if best else np.inf


def is_beyond(predicted: NDArray, limit: ArrayLike) -> NDArray[np.bool_]:
    """Which predictions are above a `reach`; both of any shape."""
    # The last bits of a prediction depend on the models beside it.
    return predicted > np.asarray(limit) + 1e-9
