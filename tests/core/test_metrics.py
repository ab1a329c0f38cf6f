import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from csv_plugin.core.metrics import coverage, mae, mse, spearman

NAN = float('nan')
MEASURES = [mse, mae, spearman]
# Few distinct values, so that ties are common.
ACCURACIES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
PAIRS = st.lists(st.tuples(ACCURACIES, ACCURACIES), min_size=2, max_size=12)


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


@pytest.mark.parametrize('measure', MEASURES)
def test_pairs_with_nan_on_either_side_are_left_out(measure) -> None:
    observed, predicted = [0.1, 0.4, 0.3, 0.8], [0.2, 0.3, 0.4, 0.7]
    with_gaps = measure(observed + [NAN, 0.9], predicted + [0.0, NAN])
    assert with_gaps == measure(observed, predicted)
    assert np.isnan(measure([], []))
    assert np.isnan(measure([NAN, 0.5], [0.5, NAN]))


def test_coverage_includes_the_bounds() -> None:
    observed = [0.1, 0.2, 0.3, 0.4, NAN, 0.5]
    low = [0.1, 0.1, 0.31, 0.2, 0.0, NAN]
    high = [0.2, 0.2, 0.5, 0.39, 1.0, 1.0]
    assert coverage(observed, low, high) == 0.5
    assert np.isnan(coverage([NAN], [0.0], [1.0]))
