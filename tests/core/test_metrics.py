import numpy as np
import pytest
from scipy.stats import spearmanr

from csv_plugin.core.metrics import coverage, mae, mse, spearman

NAN = float('nan')
MEASURES = [mse, mae, spearman]


def test_spearman_is_scipys_with_ties() -> None:
    rng = np.random.default_rng(0)
    for pair in rng.integers(0, 4, (50, 2, 9)):
        assert spearman(*pair) == pytest.approx(spearmanr(*pair)[0], abs=1e-12)
    assert np.isnan([spearman([1, 1], [0, 1]), spearman([0, 1], [1, 1])]).all()


def test_errors() -> None:
    errors = mse([.5, .5], [.3, .5]), mae([.5, .5], [.3, .5])
    assert errors == pytest.approx((.02, .1))


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
