"""Cells: whole percent from low to high, never outside of 0..100."""
from math import nan

import pytest

from csv_plugin.core.formatting import (interval, number, percent,
                                        predicted_cell)


def test_cells():
    assert predicted_cell(0.4321, 0.3, 0.45) == '43.2 (30-45)'
    assert predicted_cell(0.4, 0.3, 0.45, marks='*>') == '40.0 (30-45)*>'
    assert predicted_cell(0.4, nan, nan) == '40.0 (?)'
    assert predicted_cell(nan, nan, nan) == '-'
    assert (number(nan), number(61.66)) == ('-', '61.7')


@pytest.mark.parametrize('low, high, chance, shown', [
    (0.004, 0.996, 0.0, 'any'),
    (0.22, 1.0, 0.25, 'any'),
    (0.26, 1.0, 0.25, '26-100'),
    (0.0, 0.98, 0.25, '0-98'),
    (0.29, 0.57, 0.0, '29-57'),
    (0.271, 0.274, 0.0, '27-28'),
    (nan, nan, 0.0, '?'),
])
def test_interval(low, high, chance, shown):
    assert interval(low, high, chance) == shown


@pytest.mark.parametrize('percentage', [54.98, 72.95, 61.25, 0.07, 100.0, 0.0])
def test_percent_that_was_divided_returns(percentage):
    """Otherwise a number between two digits may be rounded otherwise."""
    assert percent(percentage / 100) == percentage
