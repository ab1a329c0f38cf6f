"""The scores of the page as tables."""
import numpy as np

from csv_plugin.core.predictions import Prediction
from csv_plugin.report.page.summaries import summary_of
from csv_plugin.report.page.tables import predicted_table, real_table
from tests.report.page.pages import awkward_board

NAN = np.nan


def test_real():
    table = real_table(summary_of(awkward_board()))
    assert (table.models, table.benchmarks) == (('m0', 'm1', 'm2'), ('b0',
                                                                     'b1'))
    np.testing.assert_allclose(table.values,
                               [[NAN, 0.5], [0.51, 0.51], [0.52, 0.52]])


def test_predicted():
    board = awkward_board()
    board.predicted['all-token', 'm0',
                    'b1'] = Prediction(0.25, 0.2, 0.45, 0.9, False, False)
    main, other = (
        predicted_table(summary_of(board), label) for label in board.labels)
    assert (main.models, main.benchmarks) == (board.models, board.benchmarks)
    np.testing.assert_allclose(main.values,
                               [[0.4, 0.4], [NAN, 0.4], [0.55, 0.6]])
    np.testing.assert_array_equal(main.in_sample,
                                  [[False, False]] * 2 + [[True, False]])
    np.testing.assert_array_equal(main.extrapolated,
                                  [[False, False]] * 2 + [[False, True]])
    cell = other.at('m0', 'b1')
    np.testing.assert_allclose([cell.low, cell.value, cell.high],
                               [0.2, 0.25, 0.45])
