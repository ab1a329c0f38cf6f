"""Tables of the study of the zoo, of made-up errors."""
from types import SimpleNamespace

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from tools.studies import study_demo_zoo as script
from tools.studies.zoo_study import BASELINE, LABEL

#: Four models of four runs, of which the last two are larger sizes.
STUDY = SimpleNamespace(
    runs=lambda: ['r', 's', 't', 'u'],
    test_models=lambda: {
        'unseen series': np.array([True, True, False, False]),
        'larger sizes': np.array([False, False, True, True])
    },
    collection=SimpleNamespace(
        accuracies=SimpleNamespace(benchmarks=('x', 'y'))))
SQUARES = {
    'salience': np.array([[1., 4.], [1., 4.], [9., 1.], [9., 1.]]) / 1000,
    BASELINE: np.full((4, 2), .02),
    LABEL: np.full((4, 2), .004),
}


def cells(table):
    """Rows of a table in Markdown, by their first cell."""
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_methods_by_their_errors():
    rows = cells(script.table(STUDY, SQUARES))
    assert list(rows)[2:] == [BASELINE, LABEL, 'salience']
    assert rows[BASELINE] == [
        '20.00', '1', '20.00', '1', '20.00', '1', '5.00 (5.00 - 5.00)'
    ]
    # The root of 1 x 4, of 9 x 1, and of 5 x 2.5.
    assert rows['salience'][::2][:3] == ['2.00', '3.00', '3.54']
    assert rows['salience'][1] == '0.10 (0.10 - 0.10)'
    assert rows['salience'][-1].startswith('0.88 (')


def test_stated_errors():
    accuracies = AccuracyTable(('m1', 'm2', 'm3'), ('x', 'y'),
                               np.full((3, 2), 0.5), np.zeros(2),
                               np.zeros(2, dtype=int))
    study = SimpleNamespace(
        collection=SimpleNamespace(accuracies=accuracies),
        predicted=lambda of: np.array([[0.6, 0.5], [0.5, 0.7], [0.9, 0.9]]),
        test_models=lambda: {'new': np.array([True, True, False])})
    parts = {
        exam: SimpleNamespace(error=expected**.5, expected_error=typical)
        for exam, expected, typical in (('x', .004, .05), ('y', .008, .1))
    }
    rows = cells(
        script.stated_errors(study, SimpleNamespace(benchmark=parts.get)))
    assert rows['x'] == ['4.00', '2.50', '5.00']
    assert rows['y'] == ['8.00', '10.00', '20.00']
    assert rows['mean'] == ['6.00', '6.25', '12.50']
