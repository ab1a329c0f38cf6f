"""Tables of a comparison of methods."""
import json

import numpy as np
import pytest

from csv_plugin.core.predictions import Predictions
from tools.studies.comparison_tables import (benchmarks_table, methods_table,
                                             plain_values)
from tools.studies.other_methods.comparison import Comparison

METHODS = ('ridge', 'pca', 'ladder', 'mean-loss')
#: Of one model each of two families, on two benchmarks.
ERRORS = np.array([[.01, .02, np.nan, .005], [.04, .01, .1, .005]])


def comparison(families=('x', 'y')):
    values = 0.5 + np.repeat(ERRORS[None], 2, axis=0)
    flags = np.zeros(values.shape, bool)
    predictions = Predictions(('a', 'b'), ('easy|hard', 'other'), METHODS,
                              values, values - 0.03, values + 0.03, flags,
                              flags, np.full((2, 2), 0.5), 0.9)
    return Comparison(predictions, families, dict.fromkeys(METHODS, 2.4))


def cells(table):
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.splitlines()]


def test_methods_by_their_errors():
    rows = cells(methods_table(comparison()))
    assert [row[0]
            for row in rows[2:]] == ['mean-loss', 'pca', 'ridge', 'ladder']
    assert rows[4] == ['ridge', 'losses', '0.400', '1', '2.50', '0.50', '6.0',
                       '2']  # yapf: disable
    assert rows[3][2:4] == ['0.200', '0.50 (0.50 - 0.50)']
    assert rows[5] == ['ladder', 'size, tokens', *['-'] * 5, '2']


def test_a_share_without_an_interval():
    rows = cells(methods_table(comparison(('x', 'x'))))
    assert [row[3] for row in rows[3:]] == ['0.50', '1', '-']


def test_benchmarks_in_their_order():
    table = benchmarks_table(comparison())
    assert r'| easy\|hard ' in table
    assert cells(table)[3] == ['other', '1.60', '0.10', '10.00', '0.03']


def test_plain_values_are_json():
    values = plain_values(comparison())
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values['ladder']['mse'] is None
    errors = values['ladder']['benchmarks']['other']
    assert errors == pytest.approx(
        dict(mse=0.01, mae=0.1, coverage=0, width=0.06))
