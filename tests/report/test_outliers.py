"""Far from the prediction: which models, how far, and what it means."""
from math import inf, isinf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.report.outliers import Outlier, as_markdown, outliers

MODELS, BENCHMARKS = ('a', 'b', 'c'), ('x', 'y')


def tables(observed, values, low, high, in_sample=False):
    shape = (len(MODELS), len(BENCHMARKS))
    predictions = PredictionTable(
        MODELS, BENCHMARKS,
        *(np.broadcast_to(np.array(part, float), shape)
          for part in (values, low, high)), np.zeros(shape, bool),
        np.broadcast_to(np.array(in_sample), shape), 0.9)
    real = AccuracyTable(MODELS, BENCHMARKS,
                         np.broadcast_to(np.array(observed, float), shape),
                         np.zeros(2), np.zeros(2, int))
    return predictions, real


def test_distances():
    # Half an interval is 0.1 below the prediction and 0.2 above it.
    observed = [[0.5, 0.9], [0.1, 0.75], [nan, 0.35]]
    found = outliers(*tables(observed, 0.5, 0.4, 0.7))
    assert [(o.model, o.benchmark) for o in found] == [('b', 'x'), ('a', 'y'),
                                                       ('c', 'y'), ('b', 'y')]
    np.testing.assert_allclose([o.distance for o in found],
                               [-4, 2, -1.5, 1.25])
    first = found[0]
    assert (first.observed, first.predicted, first.low,
            first.high) == (0.1, 0.5, 0.4, 0.7)
    assert len(outliers(*tables(observed, 0.5, 0.4, 0.7), limit=1.6)) == 2
    assert len(outliers(*tables(observed, 0.5, 0.4, 0.7), limit=0)) == 4


def test_fitted_models_do_not_count():
    in_sample = [[True, False], [False, False], [False, True]]
    found = outliers(*tables(0.9, 0.5, 0.4, 0.7, in_sample))
    assert [(o.model, o.benchmark) for o in found] == [('a', 'y'), ('b', 'x'),
                                                       ('b', 'y'), ('c', 'x')]


def test_rows_are_matched_by_name():
    predictions, real = tables([[0.9, 0.5], [0.5, 0.5], [0.5, 0.1]], 0.5, 0.4,
                               0.7)
    expected = outliers(predictions, real)
    shuffled = real.select(('c', 'a', 'b')).select_benchmarks(('y', 'x'))
    assert outliers(predictions, shuffled) == expected
    with pytest.raises(InputError, match="'b'"):
        outliers(predictions, real.select(('a', 'c')))


def test_intervals_without_width():
    found = outliers(
        *tables([[0.5, 0.6], [0.4, 0.5], [0.5, 0.5]], 0.5, 0.5, 0.5))
    assert [(o.model, o.distance) for o in found] == [('a', inf), ('b', -inf)]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_listed_are_those_outside_their_interval(cells):
    low, value, high = np.sort([cell[:3] for cell in cells]).T.reshape(3, 3, 2)
    observed = np.array([cell[3] for cell in cells]).reshape(3, 2)
    found = outliers(*tables(observed, value, low, high))
    assert all(
        isinf(o.distance) or o.observed < o.low or o.observed > o.high
        or abs(o.distance) < 1 + 1e-6 for o in found)
    outside = (observed < low - 1e-9) | (observed > high + 1e-9)
    names = {(o.model, o.benchmark) for o in found}
    assert all(
        (MODELS[m], BENCHMARKS[b]) in names for m, b in np.argwhere(outside))
    distances = [abs(o.distance) for o in found]
    assert distances == sorted(distances, reverse=True)
    assert all((o.distance > 0) == (o.observed > o.predicted) for o in found)


def test_markdown():
    above = Outlier('a', 'x', 0.9, 0.5, 0.4, 0.7, 2.0)
    below = Outlier('m|n <b>\nc', 'y', 0.1, 0.5, 0.4, 0.7, -4.0)
    header, _, *rows = as_markdown([above, below], 0.9).splitlines()
    assert [cell.strip() for cell in header.strip('|').split('|')] == [
        'model', 'benchmark', 'side', 'distance', 'real', 'predicted',
        'interval'
    ]
    assert [cell.strip() for cell in rows[0].strip('|').split('|')
            ] == ['a', 'x', 'above', '+2.00', '90.0', '50.0', '40.0 - 70.0']
    assert r'| m\|n &lt;b> c' in rows[1] and '| below' in rows[1]
    text = ' '.join(rows[2:])
    assert 'about 10% miss' in text and 'never a proof' in text
    for words in ('contamination', 'do not show', 'chat template', 'parser'):
        assert words in text


def test_nothing_far():
    assert 'No real accuracy' in as_markdown([], 0.9)
