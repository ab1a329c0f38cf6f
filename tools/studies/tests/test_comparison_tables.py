"""Tables of a comparison of methods."""

import numpy as np

from csv_plugin.core.predictions import Predictions
from tools.studies.comparison_tables import methods_table
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
