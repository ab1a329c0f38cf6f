"""The shape that benchmarks share, from errors whose variance is known."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.error_variances import (LEAST_DEVIATION, SHARED_FAMILIES,
                                             HeldOutErrors, deviation,
                                             fit_variance, shared_variances)
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import Constant, Ridge, Uniform, fold_masks
from tests.core.worlds import make_world
from tests.tables import small_tables


def errors_of(variance, n, n_families=6, seed=0):
    """Normal errors of a known variance, on slopes from 0 to 0.3."""
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(0, 0.3, n)
    sizes = np.abs(rng.normal(0, deviation(np.array(variance), slopes)))
    return HeldOutErrors(np.zeros(n, int), sizes, slopes, n_families)


def ratio(variance):
    return variance[1] / variance[0]


@pytest.mark.parametrize('variance', [(1e-4, 0), (0, 4e-2), (4e-4, 4e-2)])
def test_both_parts_are_found(variance):
    errors = errors_of(variance, 20000)
    found = fit_variance(errors.sizes, errors.slopes)
    expected = deviation(np.array(variance), errors.slopes)
    # Errors at a slope of 0 that are 0 leave the least of deviations.
    steep = errors.slopes > 0.05
    np.testing.assert_allclose(
        deviation(found, errors.slopes)[steep], expected[steep], rtol=0.05)


def test_errors_are_those_on_models_that_were_held_out():
    task = make_world(noise=0.05).task
    fit = Uniform().fit(task, fold_masks(task.families, 0))
    errors = HeldOutErrors.of(task, fit)
    expected = [(f, abs(fit.folds[f].predict(task.values[[i]])[0] -
                        task.accuracy[i]), fit.folds[f].slopes(
                            task.values[[i]])[0])
                for f, mask in enumerate(fit.masks)
                for i in np.flatnonzero(~mask)]  # yapf: disable
    found = [errors.fold, errors.sizes, errors.slopes]
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)
    assert errors.n_families == len(set(task.families))


def test_a_single_benchmark_shares_nothing():
    errors = errors_of((4e-4, 4e-2), 60)
    variance, = shared_variances([errors])
    np.testing.assert_allclose(
        variance, fit_variance(errors.sizes, errors.slopes), rtol=1e-9)


def test_few_errors_take_the_shape_of_all():
    """Not their level: there the errors of the odd one are ten times larger.

    Its own shape is that of errors that do not grow with the slope.
    """
    others = [
        errors_of((x * 4e-4, x * 4e-2), 4000, seed=seed)
        for seed, x in enumerate((1, 1 / 4, 9))
    ]
    odd = errors_of((0.04, 0), 40, seed=9)
    odd = replace(odd, sizes=np.full(40, 0.2))
    alone = fit_variance(odd.sizes, odd.slopes)
    *rest, together = shared_variances([*others, odd])
    assert ratio(alone) == 0 and ratio(together) > 15
    for variance, x in zip(rest, (1, 1 / 4, 9)):
        np.testing.assert_allclose(variance, [x * 4e-4, x * 4e-2], rtol=0.25)
    assert np.sqrt(np.mean(odd.in_deviations(together)**2)) == pytest.approx(
        1, abs=0.2)


def test_many_families_keep_the_shape_of_their_own():
    others = [errors_of((4e-4, 4e-2), 4000, seed=seed) for seed in range(3)]
    own = np.array([0.04, 0.])
    few, many = (
        shared_variances([*others, errors_of(own, 4000, n)])[-1]
        for n in (SHARED_FAMILIES, 100 * SHARED_FAMILIES))
    assert ratio(many) < ratio(few) / 10
    np.testing.assert_allclose(many[0], own[0], rtol=0.1)


@given(st.floats(1e-4, 1e4))
def test_the_unit_of_a_benchmark_does_not_matter(unit):
    """Larger errors of one benchmark do not move the others."""
    one, two = errors_of((4e-4, 4e-2), 50), errors_of((1e-3, 0), 50, seed=1)
    larger = replace(two, sizes=unit * two.sizes)
    before, after = shared_variances([one, two]), shared_variances(
        [one, larger])  # yapf: disable
    np.testing.assert_allclose(after[0], before[0], rtol=1e-3)
    np.testing.assert_allclose(after[1], unit**2 * before[1], rtol=1e-3)


@pytest.mark.parametrize('accuracy', [0.0, 0.25, 0.9])
def test_a_mean_accuracy_tells_nothing_of_the_shape(accuracy):
    """Nor what the models scatter about it."""
    task = make_world(noise=0.05).task
    masks = fold_masks(task.families, 0)
    errors = HeldOutErrors.of(task, Uniform().fit(task, masks))
    assert not errors.constant
    scatter = np.where(np.arange(len(task.accuracy)) % 2, 0.01, 0)
    mean = replace(task, accuracy=np.full(len(scatter), accuracy) + scatter)
    constant = HeldOutErrors.of(mean, Constant().fit(mean, masks))
    assert constant.constant and constant.sizes.any()
    alone, = shared_variances([errors])
    together = shared_variances([constant, errors, constant])
    np.testing.assert_array_equal(together[1], alone)
    np.testing.assert_array_equal(
        together[0], fit_variance(constant.sizes, constant.slopes))


def test_benchmarks_that_nobody_solves_move_no_interval():
    tables = small_tables(n_models=24).only('easy', 'same')
    zeros = replace(
        tables.accuracies,
        values=np.column_stack(
            [tables.accuracies.column('easy'),
             np.zeros(len(tables.models))]))
    both, alone = (
        fit_predictor(tables.features, table, tables.groups, Ridge())
        for table in (zeros, tables.only('easy').accuracies))
    np.testing.assert_array_equal(
        both.benchmark('easy').intervals.variance,
        alone.benchmark('easy').intervals.variance)


def test_benchmarks_without_errors_take_no_part():
    none = HeldOutErrors(np.zeros(0, int), np.zeros(0), np.zeros(0), 1)
    zero = HeldOutErrors(
        np.zeros(4000, int), np.zeros(4000), np.full(4000, 0.2), 3)
    some = errors_of((4e-4, 4e-2), 4000)
    assert shared_variances([]) == []
    first, second, third, fourth = shared_variances([none, zero, some, zero])
    assert first.tolist() == [1, 0]
    for part in (second, fourth):
        assert deviation(part, zero.slopes) == pytest.approx(LEAST_DEVIATION)
    np.testing.assert_array_equal(third, shared_variances([some])[0])


def test_benchmarks_that_are_fitted_together_share():
    """Not what they predict, but how wide the intervals are."""
    tables = small_tables(n_models=24)
    both, alone = (
        fit_predictor(part.features, part.accuracies, part.groups, Ridge())
        for part in (tables, tables.only('easy')))
    one, other = (predictor.benchmark('easy') for predictor in (both, alone))
    np.testing.assert_array_equal(one.model.coefficients,
                                  other.model.coefficients)
    assert ratio(one.intervals.variance + 1e-9) != pytest.approx(
        ratio(other.intervals.variance + 1e-9))
    for predictor in (both, alone):
        for part in predictor.benchmarks:
            errors = part.intervals.errors
            if part.model.curve.alpha:
                assert np.sqrt(np.mean(errors**2)) == pytest.approx(1, abs=.2)
