"""Folds of models by family."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError


def grouped_folds(families: Sequence[str], n_folds: int,
                  seed: int) -> NDArray[np.int64]:
    """Assign models to folds that never divide a family, `(n,)`, from 0.

    The largest family goes first, into the fold with the fewest models;
    families of equal size go in a random order. With fewer families there are
    fewer folds. An `InputError` for fewer than two folds or families.
    """
    names, family_of_model, n_models = np.unique(
        families, return_inverse=True, return_counts=True)
    if n_folds < 2:
        raise InputError('n_folds', 'at least 2', str(n_folds),
                         'One fold would leave nothing to fit on.')
    if names.size < 2:
        raise InputError('families', 'at least two families',
                         str(names.tolist()), 'Add models of other families.')
    shuffled = np.random.default_rng(seed).permutation(names.size)
    largest_first = shuffled[np.argsort(-n_models[shuffled], kind='stable')]
    fold_of_family = np.empty(names.size, np.int64)
    fold_sizes = np.zeros(n_folds, np.int64)
    for family in largest_first:
        fold = fold_sizes.argmin()
        fold_of_family[family] = fold
        fold_sizes[fold] += n_models[family]
    return fold_of_family[family_of_model]
