"""What benchmarks on the same losses have in common."""
import numpy as np
import pytest

from csv_plugin.core.salience.base import MOST_PARTS, SharedFeatures

VALUES = np.arange(20.).reshape(5, 4)
UNIFORM = np.full(4, .25)
ROWS = np.array([True, False, True, True, False])


def features():
    return SharedFeatures(VALUES, UNIFORM)


def counter():
    """A function of features that counts its calls."""
    calls = []

    def make(of):
        calls.append(of)
        return of.values.sum()

    return make, calls


@pytest.mark.parametrize('rows', [ROWS, [0, 2, 3], [3, 0], np.ones(5, bool)])
def test_a_part_has_the_rows_that_were_selected(rows):
    part = features().select(np.asarray(rows))
    np.testing.assert_array_equal(part.values, VALUES[rows])
    np.testing.assert_array_equal(part.mean_loss, VALUES[rows].mean(axis=1))
    assert part.shape == VALUES[rows].shape


def test_a_part_of_a_part_counts_its_own_rows():
    part = features().select(ROWS).select(np.array([2, 0]))
    np.testing.assert_array_equal(part.values, VALUES[[3, 0]])


def test_what_is_made_is_made_once_for_the_same_rows():
    make, calls = counter()
    whole = features()
    for rows in (ROWS, ROWS.copy(), np.flatnonzero(ROWS)):
        assert whole.select(rows).once(make) == VALUES[ROWS].sum()
    assert len(calls) == 1
    assert whole.once(make) == VALUES.sum()
    assert whole.select(~ROWS).once(make) == VALUES[~ROWS].sum()
    assert len(calls) == 3


def test_only_the_last_parts_are_remembered():
    make, calls = counter()
    whole = SharedFeatures(np.eye(9), np.ones(9))
    for row in [*range(MOST_PARTS + 1), MOST_PARTS, 0]:
        whole.select(np.array([row])).once(make)
    assert len(calls) == MOST_PARTS + 2
