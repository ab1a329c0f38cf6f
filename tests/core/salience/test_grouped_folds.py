from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience.base import grouped_folds

FAMILIES = st.lists(st.sampled_from('abcdefg'), min_size=2, max_size=40)
SEEDS = st.integers(0, 2**32 - 1)


@given(
    FAMILIES.filter(lambda names: len(set(names)) > 1), st.integers(2, 9),
    SEEDS)
@settings(deadline=None)
def test_folds_keep_families_whole(families, n_folds, seed) -> None:
    folds = grouped_folds(families, n_folds, seed)
    assert len(set(zip(families, folds.tolist()))) == len(set(families))
    n_used = min(n_folds, len(set(families)))
    assert set(folds.tolist()) == set(range(n_used))
    # Greedy balance: no fold exceeds another by more than one family.
    sizes, largest = np.bincount(folds), max(Counter(families).values())
    assert sizes.max() - sizes.min() <= largest


@given(FAMILIES.filter(lambda names: len(set(names)) > 1), SEEDS)
@settings(deadline=None)
def test_folds_follow_the_seed_and_not_the_order_of_models(families,
                                                           seed) -> None:
    folds = grouped_folds(families, 3, seed)
    np.testing.assert_array_equal(folds, grouped_folds(families, 3, seed))
    np.testing.assert_array_equal(folds[::-1],
                                  grouped_folds(families[::-1], 3, seed))


def test_the_largest_families_are_placed_first() -> None:
    # Placed in alphabetical or most other orders, the folds differ in size.
    for seed in range(20):
        folds = grouped_folds(list('abbcccdddd'), 2, seed)
        np.testing.assert_array_equal(np.bincount(folds), [5, 5])


def test_a_single_family_is_refused() -> None:
    with pytest.raises(InputError, match=r"two families, found \['Yi'\]"):
        grouped_folds(['Yi', 'Yi'], 5, seed=0)
