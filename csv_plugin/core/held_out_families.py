"""How well each family of models is predicted by the others."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience.choice import LEAST_FAMILIES


@dataclass(frozen=True)
class HeldOutFamily:
    """One family among the models that a predictor was fitted to.

    Args:
        family (str): Its name.
        n_models (int): How many of its models were fitted to, 1 or more.
        lowest (float): The lowest of their accuracies.
        highest (float): The highest of them.
        bias (float): Mean of predicted minus real accuracy, predicted by
            fits to other families; NaN if nothing could be held out.
        error (float): Root mean square of the same differences.

    Raises:
        InputError: A number is out of its range.
    """
    family: str
    n_models: int
    lowest: float
    highest: float
    bias: float
    error: float

    def __post_init__(self) -> None:
        sound = {
            'n_models': self.n_models >= 1,
            'lowest': 0 <= self.lowest <= self.highest,
            'highest': self.highest <= 1,
            'bias': not abs(self.bias) > 1,
            'error': not (self.error < 0 or self.error > 1),
        }
        for name in (name for name in sound if not sound[name]):
            raise InputError(f'family {self.family!r}'[:80],
                             f'a {name} in its range',
                             repr(getattr(self, name))[:80],
                             'Fit the predictor again.')


def held_out_families(families: Sequence[str], accuracies: NDArray,
                      predicted: NDArray) -> tuple[HeldOutFamily, ...]:
    """Errors by family.

    Args:
        families (Sequence[str]): Family of each of n models.
        accuracies (NDArray): What was observed, `(n,)`.
        predicted (NDArray): Predictions by fits to other families, `(n,)`;
            NaN where nothing was held out.

    Returns:
        tuple[HeldOutFamily, ...]: Sorted by name.

    >>> both = held_out_families(['b', 'a', 'b'], np.array([.5, .5, .25]),
    ...                          np.array([.75, .5, .25]))
    >>> [(f.family, f.n_models, f.bias) for f in both]
    [('a', 1, 0.0), ('b', 2, 0.125)]
    """
    names = np.asarray(families)
    found = []
    for name in sorted(set(families)):
        rows = names == name
        observed, errors = accuracies[rows], (predicted - accuracies)[rows]
        found.append(
            HeldOutFamily(
                str(name), int(rows.sum()), float(observed.min()),
                float(observed.max()), float(errors.mean()),
                float(np.sqrt(np.mean(errors**2)))))
    return tuple(found)


def typical_error(families: Sequence[HeldOutFamily]) -> float:
    """The error that half of the families stay below.

    One family that is like no other may make most of the mean over all
    models; it does not move this median.

    Args:
        families (Sequence[HeldOutFamily]): Each with its error.

    Returns:
        float: Root mean square; NaN with fewer than three families.

    >>> known = [HeldOutFamily(name, 1, 0.5, 0.5, 0.0, error)
    ...          for name, error in [('a', 0.1), ('b', 0.3), ('c', 0.02)]]
    >>> typical_error(known)
    0.1
    """
    if len(families) < LEAST_FAMILIES:
        return float('nan')
    return float(np.median([family.error for family in families]))
