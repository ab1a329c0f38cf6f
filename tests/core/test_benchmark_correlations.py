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


def test_correlations_are_as_by_the_formula():
    """Pair by pair, with gaps, weights of families and noise of items."""
    rng = np.random.default_rng(4)
    n, stretch, between = 20, 1.3, .25
    common = rng.normal(size=(n, 1))
    errors = common * [2, 2, -1, 0] + 1.5 * rng.normal(size=(n, 4))
    errors[rng.random((n, 4)) < .2] = np.nan
    errors[0, 0] = 30.
    share = rng.uniform(.3, 1, (n, 4))
    share[np.isnan(errors)] = np.nan
    families = np.array([0, 0, 1, 1, 1, 2, *range(3, 17)])
    weight = 1 / np.sqrt(np.bincount(families))[families]
    e = np.clip(errors / stretch, -3, 3)
    for b in range(4):
        seen = ~np.isnan(e[:, b])
        e[:, b] /= np.sqrt(np.average(e[seen, b]**2, weights=weight[seen]))
    estimates, scatters, totals = {}, {}, {}
    for i, j in zip(*np.triu_indices(4, 1)):
        root = np.sqrt(share[:, i] * share[:, j])
        products = weight * e[:, i] * e[:, j] * root
        expected = weight * root**2
        total = np.nansum(expected)
        estimate = np.nansum(products) / total
        squares = [
            np.nansum((products - estimate * expected)[families == family])**2
            for family in range(17)
        ]
        estimates[i, j], totals[i, j] = estimate, total
        scatters[i, j] = sum(squares) / total**2 * 17 / 16
    estimate, scatter, total = (
        np.array([*part.values()]) for part in (estimates, scatters, totals))
    away = estimate - np.average(estimate, weights=total)
    chance = (scatter * total).mean() / total
    genuine = np.average(away**2 - scatter, weights=total**2)
    assert 0 < genuine
    expected = np.eye(4)
    for pair, value in zip(estimates,
                           between + away * genuine / (genuine + chance)):
        expected[pair] = expected[pair[::-1]] = np.clip(value, -.95, .95)
    left_out = LeftOut(errors, errors, errors, share)
    matrix = correlations_of_pairs(left_out, stretch, families, between)
    np.testing.assert_allclose(matrix, expected)
