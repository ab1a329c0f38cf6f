"""Correlations of a model's errors on pairs of benchmarks."""
import numpy as np
import pytest

from csv_plugin.core.benchmark_correlations import correlations_of_pairs
from csv_plugin.core.calibration import LeftOut

#: Benchmarks in two groups: .6 within a group, 0 between groups.
TRUE = np.kron(np.eye(2), np.full((3, 3), .6)) + .4 * np.eye(6)
BETWEEN = TRUE[np.triu_indices(6, 1)].mean()


def found(n_models, n_families, noise=0., true=TRUE, seed=0):
    """Correlations from errors, in which items have a part `noise`."""
    rng = np.random.default_rng(seed)
    errors = rng.multivariate_normal(np.zeros(6), true, n_models)
    errors *= np.sqrt(1 - noise)
    errors += np.sqrt(noise) * rng.normal(size=errors.shape)
    errors[::7, 1] = np.nan
    share = np.where(np.isnan(errors), np.nan, 1 - noise)
    left_out = LeftOut(errors, errors, errors, share)
    families = np.arange(n_models) % n_families
    return correlations_of_pairs(left_out, 1., families, BETWEEN)


@pytest.mark.parametrize('noise', [0., .4])
def test_many_families_show_each_pair(noise):
    matrix = found(3000, 3000, noise)
    np.testing.assert_allclose(matrix, TRUE, atol=.12)
    np.testing.assert_array_equal(np.diag(matrix), 1)
    np.testing.assert_array_equal(matrix, matrix.T)


def test_few_families_are_hardly_believed():
    """The root mean square error is less than that of unshrunk pairs."""
    pairs = np.triu_indices(6, 1)
    even = TRUE * 0 + BETWEEN
    errors = {name: [] for name in ('shrunk', 'even')}
    for seed in range(20):
        matrix = found(
            12, 12, true=even + np.eye(6) * (1 - BETWEEN), seed=seed)
        errors['shrunk'].append((matrix - even)[pairs])
        rng = np.random.default_rng(seed)
        sample = rng.multivariate_normal(
            np.zeros(6), even + np.eye(6) * (1 - BETWEEN), 12)
        errors['even'].append((np.corrcoef(sample.T) - even)[pairs])
    shrunk, sample = (
        np.sqrt(np.mean(np.square(part))) for part in errors.values())
    assert shrunk < .6 * sample


def test_without_errors_all_pairs_are_equal():
    nothing = np.full((4, 3), np.nan)
    matrix = correlations_of_pairs(
        LeftOut(nothing, nothing, nothing, nothing), 1., np.arange(4), .2)
    assert matrix[0].tolist() == [1, .2, .2]


def test_one_family_shows_nothing_of_pairs():
    """Products of one family do not show how far they are off by chance."""
    pairs = np.triu_indices(6, 1)
    np.testing.assert_allclose(found(40, 1)[pairs], BETWEEN)
    assert np.ptp(found(40, 2)[pairs]) > 0
