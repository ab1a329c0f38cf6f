"""Tables of the study of the zoo, of made-up errors."""
from itertools import product
from types import SimpleNamespace

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.held_out_errors import CrossValidatedError
from tools.studies import study_demo_zoo as script
from tools.studies.expected_and_found import (BEYOND, WITHIN, ExpectedAndFound,
                                              errors_by_kind)
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
    'auto': np.array([[1., 4.], [1., 4.], [9., 1.], [9., 1.]]) / 1000,
    BASELINE: np.full((4, 2), .016),
    LABEL: np.full((4, 2), .004),
}


def cells(table):
    """Rows of a table in Markdown, by their first cell."""
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_methods_by_their_errors():
    rows = cells(script.table(STUDY, SQUARES))
    assert list(rows)[2:] == [BASELINE, LABEL, 'auto']
    assert rows[BASELINE] == [
        '16.00', '1', '16.00', '1', '16.00', '1', '4.00 (4.00 - 4.00)'
    ]
    # The root of 1 x 4, of 9 x 1, and of 5 x 2.5.
    assert rows['auto'][::2][:3] == ['2.00', '3.00', '3.54']
    assert rows['auto'][1] == '0.12 (0.12 - 0.12)'
    assert rows['auto'][-1].startswith('0.88 (')


def expected_and_found():
    """Of two exams, one of which states nothing beyond reach."""
    found = [.001, .003], [.009], [.002], []
    expected = .004, .02, .001, np.nan
    return [
        ExpectedAndFound(exam, kind, CrossValidatedError(mse, 6, 3),
                         {'series s': np.array(squares)})
        for (exam, kind), mse, squares in zip(
            product('xy', (WITHIN, BEYOND)), expected, found)
    ]


def test_expected_errors_beside_those_found_by_series():
    """Each prediction counts once, where an error is expected."""
    parts = expected_and_found()
    parts[-1].found['series s'] = np.array([.5])
    rows = cells(errors_by_kind(['series s'], parts))
    assert rows['series s'] == rows['all'] == [
        '3.00', '2.00', '3', '20.00', '9.00', '1'
    ]


def test_errors_cross_validated_in_all():
    accuracies = AccuracyTable(('m1', 'm2', 'm3'), ('x', 'y'),
                               np.full((3, 2), 0.5), np.zeros(2),
                               np.zeros(2, dtype=int))
    study = SimpleNamespace(
        collection=SimpleNamespace(accuracies=accuracies),
        predicted=lambda of: np.array([[0.6, 0.5], [0.5, 0.7], [0.9, 0.9]]),
        test_models=lambda: {'new': np.array([True, True, False])})
    parts = {
        exam: SimpleNamespace(cv_mse=expected, typical_error=typical)
        for exam, expected, typical in (('x', .004, .05), ('y', .008, .1))
    }
    rows = cells(
        script.cross_validated_in_all(study,
                                      SimpleNamespace(benchmark=parts.get)))
    assert rows['x'] == ['4.00', '2.50', '5.00']
    assert rows['y'] == ['8.00', '10.00', '20.00']
    assert rows['mean'] == ['6.00', '6.25', '12.50']


def test_expected_errors_beside_those_found_by_exam():
    study = SimpleNamespace(
        expected_and_found=lambda path: expected_and_found())
    lines = script.cross_validated_beside_found(study, None).splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in lines]
    assert rows[0] == ['x', WITHIN, '4.00 (6 of 3)', '2.00 (2)']
    assert rows[3] == ['y', BEYOND, '- (6 of 3)', '- (0)']
    assert rows[4:] == [['mean', WITHIN, '', '2.00 (cross-validated 2.50)'],
                        ['mean', BEYOND, '', '9.00 (cross-validated 20.00)']]
