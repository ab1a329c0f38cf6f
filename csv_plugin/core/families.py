"""Families of models: their numbers, their rows, and the weights of models."""
from collections.abc import Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats, Integers


def family_numbers(families: Sequence[str]) -> Integers:
    """Return the number of each model's family, `(M,)`.

    `families` has the name of each model's family. Families are numbered from
    0 in the order of their first appearance.
    """
    number_by_name: dict[str, int] = {}
    found = []
    for family in families:
        number = number_by_name.setdefault(family, len(number_by_name))
        found.append(number)
    return np.array(found, int)


def rows_of_families(families: NDArray) -> list[Integers]:
    """Return, for each family, the row indices of its models.

    `families`, `(M,)`, has the number of each model's family.
    """
    found = []
    for family in np.unique(families):
        is_member = families == family
        found.append(np.flatnonzero(is_member))
    return found


def numbers_of_new_models(families: Optional[Sequence[str]],
                          n_models: int) -> Integers:
    """Return the number of each new model's family, `(M,)`.

    `families` has the name of each model's family, or is None. With None, the
    families are unknown, and each of the `n_models` models gets a family of
    its own.
    """
    if families is None:
        return np.arange(n_models)
    return family_numbers(families)


def weights_of_models(families: NDArray) -> Floats:
    """Return the weight of each model, by the size of its family, `(M,)`.

    The models of one family are similar, so k models of a family show less
    than k independent models. Each of them has the weight 1 / sqrt(k), and
    together they have the weight sqrt(k). This k is the number of the family's
    models among all M models, even on a benchmark that few of them have an
    accuracy on. `families`, `(M,)`, is the number of each model's family, 0 or
    more.
    """
    sizes = np.bincount(families)
    return 1 / np.sqrt(sizes[families])
