"""Splits of models: folds by family, by size, and the paper's own."""
import csv
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError


def grouped_folds(families: Sequence[str], n_folds: int,
                  seed: int) -> NDArray[np.int64]:
    """Assign models to folds so that no family is ever divided.

    The largest family goes first, always into the fold that has the fewest
    models so far; families of equal size go in a random order. The fold of
    a family does not depend on the order of the models.

    Args:
        families (Sequence[str]): Family of each model. Shape `(n,)`.
        n_folds (int): Number of folds, at least 2. With fewer families
            than that, every family is a fold of its own.
        seed (int): Seed of the random order.

    Returns:
        NDArray: Fold of each model, counted from 0; no fold is empty.
            Shape `(n,)`.

    Raises:
        InputError: Fewer than two folds or two families.

    >>> grouped_folds(['Yi', 'Yi', 'Qwen2', 'Gemma2'], n_folds=2, seed=0)
    array([0, 0, 1, 1])
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


def split_by_size(families: Sequence[str],
                  sizes: Sequence[float]) -> NDArray[np.str_]:
    """Split models so that the larger ones are predicted from the smaller.

    In every family the largest size is for test, the next largest for
    validation and the rest for training. The smallest size is always for
    training, so two sizes leave none for validation, and all models of one
    size (base and chat) stay together.

    Args:
        families (Sequence[str]): Family of each model. Shape `(n,)`.
        sizes (Sequence[float]): Parameters of each model, in any unit. Shape
            `(n,)`.

    Returns:
        NDArray: 'train', 'validation' or 'test' for each model. Shape
            `(n,)`.

    >>> split_by_size(['Yi'] * 3, [6, 9, 34]).tolist()
    ['train', 'validation', 'test']
    """
    family, size = np.asarray(families), np.asarray(sizes, np.float64)
    split = np.full(family.shape, 'train', dtype='<U10')
    for name in np.unique(family):
        members = family == name
        distinct, n_smaller = np.unique(size[members], return_inverse=True)
        n_larger = distinct.size - 1 - n_smaller
        split[members] = np.select(
            (n_smaller == 0, n_larger == 0, n_larger == 1),
            ('train', 'test', 'validation'), 'train')
    return split


def paper_split() -> dict[str, str]:
    """The paper's own split of its open-source models, Table 2.

    Names follow the paper's Tables 3 and 4, in their spelling. Two
    models of Table 2 have no row there and keep their Table 2 names:
    internlm2.5-1.8B-chat-sft and internlm2.5-7B-chat-sft. The other way
    round, Tables 3 and 4 score gemma-2-2b-it and gemma-2-9b-it, which are
    in no split. Table 2 prints Yi-1.5-34B-Chat twice; here it is listed once.

    Returns:
        dict[str, str]: 'train', 'validation' or 'test' for each model.

    >>> paper_split()['Meta-Llama-3-70B']
    'test'
    """
    table = files('csv_plugin.data').joinpath('paper_table2.csv')
    rows = csv.DictReader(table.read_text('utf-8').splitlines())
    return {row['model']: row['split'] for row in rows}
