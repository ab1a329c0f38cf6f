from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from csv_plugin.core.conventions import InputError
from csv_plugin.core.metrics import (coverage, mae, mean_width, mse,
                                     pairwise_accuracy, spearman)

NAN = float('nan')
MEASURES = [mse, mae, spearman, pairwise_accuracy]
# Few distinct values, so that ties are common.
ACCURACIES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
PAIRS = st.lists(st.tuples(ACCURACIES, ACCURACIES), min_size=2, max_size=12)


def test_errors_by_hand() -> None:
    observed, predicted = [0.5, 0.2, 0.9], [0.4, 0.5, 0.9]
    assert mse(observed, predicted) == pytest.approx((0.01 + 0.09) / 3)
    assert mae(observed, predicted) == pytest.approx((0.1 + 0.3) / 3)


@given(PAIRS)
@settings(deadline=None)
def test_spearman_is_scipys_with_ties(pairs) -> None:
    observed, predicted = zip(*pairs)
    value = spearman(observed, predicted)
    if len(set(observed)) == 1 or len(set(predicted)) == 1:
        assert np.isnan(value)
    else:
        reference = spearmanr(observed, predicted)[0]
        assert value == pytest.approx(reference, abs=1e-12)


@given(PAIRS)
@settings(deadline=None)
def test_pairwise_accuracy_counts_pairs_one_by_one(pairs) -> None:
    points = []
    for (seen_a, guess_a), (seen_b, guess_b) in combinations(pairs, 2):
        if seen_a == seen_b:
            continue
        if guess_a == guess_b:
            points.append(0.5)
        else:
            points.append(float((seen_a > seen_b) == (guess_a > guess_b)))
    expected = np.mean(points) if points else NAN
    assert pairwise_accuracy(*zip(*pairs)) == pytest.approx(
        expected, nan_ok=True)


@pytest.mark.parametrize('measure', MEASURES)
def test_pairs_with_nan_on_either_side_are_left_out(measure) -> None:
    observed, predicted = [0.1, 0.4, 0.3, 0.8], [0.2, 0.3, 0.4, 0.7]
    with_gaps = measure(observed + [NAN, 0.9], predicted + [0.0, NAN])
    assert with_gaps == measure(observed, predicted)


@pytest.mark.parametrize('measure', MEASURES)
@pytest.mark.parametrize('observed, predicted', [([], []),
                                                 ([NAN, 0.5], [0.5, NAN])])
def test_no_usable_pair_gives_nan(measure, observed, predicted) -> None:
    assert np.isnan(measure(observed, predicted))


@pytest.mark.parametrize('measure', [spearman, pairwise_accuracy])
def test_order_of_equal_observations_is_undefined(measure) -> None:
    assert np.isnan(measure([0.5, 0.5, 0.5], [0.1, 0.2, 0.3]))


def test_coverage_includes_the_bounds() -> None:
    observed = [0.1, 0.2, 0.3, 0.4, NAN, 0.5]
    low = [0.1, 0.1, 0.31, 0.2, 0.0, NAN]
    high = [0.2, 0.2, 0.5, 0.39, 1.0, 1.0]
    assert coverage(observed, low, high) == 0.5
    assert np.isnan(coverage([NAN], [0.0], [1.0]))


def test_mean_width_leaves_out_missing_bounds() -> None:
    assert mean_width([0.1, 0.2, NAN], [0.3, 0.6, 1.0]) == pytest.approx(0.3)
    assert np.isnan(mean_width([NAN], [1.0]))


@pytest.mark.parametrize('call', [
    lambda: mse([0.1, 0.2], [0.1]),
    lambda: coverage([0.1], [[0.0]], [1.0]),
])
def test_shapes_that_differ_are_refused(call) -> None:
    with pytest.raises(
            InputError, match=r'of the same shape \(n,\), found \('):
        call()
