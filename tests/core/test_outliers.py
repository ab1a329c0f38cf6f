"""Models far from their prediction: which, and how far."""
from dataclasses import replace
from math import inf, isinf, nan

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.predictions import Predictions
from csv_plugin.core.study import outliers

MODELS, BENCHMARKS = ('a', 'b', 'c'), ('x', 'y')


def predictions(observed, values, low, high, in_sample=False) -> Predictions:
    shape = (len(MODELS), len(BENCHMARKS))
    table = Predictions.of_method(
        MODELS, BENCHMARKS, {
            'values': np.broadcast_to(np.array(values, float), shape),
            'low': np.broadcast_to(np.array(low, float), shape),
            'high': np.broadcast_to(np.array(high, float), shape),
            'extrapolated': np.zeros(shape, bool),
            'in_sample': np.broadcast_to(np.array(in_sample), shape)
        }, 0.9)
    real = np.broadcast_to(np.array(observed, float), shape)
    return replace(table, real=real)


def test_distances():
    # Half an interval is 0.1 below the prediction and 0.2 above it.
    observed = [[0.5, 0.9], [0.1, 0.75], [nan, 0.35]]
    far = outliers(predictions(observed, 0.5, 0.4, 0.7))
    assert [(o.model, o.benchmark) for o in far] == [('b', 'x'), ('a', 'y'),
                                                     ('c', 'y'), ('b', 'y')]
    np.testing.assert_allclose([o.distance for o in far], [-4, 2, -1.5, 1.25])
    first = far[0]
    assert (first.observed, first.predicted, first.low,
            first.high) == (0.1, 0.5, 0.4, 0.7)
    assert len(outliers(predictions(observed, 0.5, 0.4, 0.7), limit=1.6)) == 2
    assert len(outliers(predictions(observed, 0.5, 0.4, 0.7), limit=0)) == 4


def test_fitted_models_do_not_count():
    in_sample = [[True, False], [False, False], [False, True]]
    far = outliers(predictions(0.9, 0.5, 0.4, 0.7, in_sample))
    assert [(o.model, o.benchmark) for o in far] == [('a', 'y'), ('b', 'x'),
                                                     ('b', 'y'), ('c', 'x')]


def test_another_method():
    table = predictions([[0.9, 0.5], [0.5, 0.5], [0.5, 0.1]], 0.5, 0.4, 0.7)
    far = predictions(0.5, 0.1, 0.0, 0.2)
    both = Predictions.side_by_side({
        'near': table,
        'far': far
    }, MODELS, BENCHMARKS)
    both = replace(both, real=table.real)
    assert outliers(both) == outliers(both, 'near') == outliers(table)
    assert len(outliers(both, 'far')) == 5


def test_cells_without_a_prediction():
    assert outliers(predictions(0.5, nan, nan, nan)) == []


def test_intervals_without_width():
    far = outliers(
        predictions([[0.5, 0.6], [0.4, 0.5], [0.5, 0.5]], 0.5, 0.5, 0.5))
    assert [(o.model, o.distance) for o in far] == [('a', inf), ('b', -inf)]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_listed_are_those_outside_their_interval(cells):
    low, value, high = np.sort([cell[:3] for cell in cells]).T.reshape(3, 3, 2)
    observed = np.array([cell[3] for cell in cells]).reshape(3, 2)
    far = outliers(predictions(observed, value, low, high))
    assert all(
        isinf(o.distance) or o.observed < o.low or o.observed > o.high
        or abs(o.distance) < 1 + 1e-6 for o in far)
    outside = (observed < low - 1e-9) | (observed > high + 1e-9)
    names = {(o.model, o.benchmark) for o in far}
    assert all(
        (MODELS[m], BENCHMARKS[b]) in names for m, b in np.argwhere(outside))
    distances = [abs(o.distance) for o in far]
    assert distances == sorted(distances, reverse=True)
    assert all((o.distance > 0) == (o.observed > o.predicted) for o in far)
