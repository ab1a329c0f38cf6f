"""Means over benchmarks: which count, whose ranks agree."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.overall import LEAST_MODELS, Overall, ranks
from csv_plugin.core.predictions import Predictions

NAN = float('nan')


def table(n_models=6, n_benchmarks=3, n_methods=2) -> Predictions:
    """The first method is right, the second has the order turned round."""
    models = tuple(f'm{i}' for i in range(n_models))
    benchmarks = tuple(f'b{i}' for i in range(n_benchmarks))
    methods = tuple(f'p{i}' for i in range(n_methods))
    rng = np.random.default_rng(0)
    real = rng.uniform(0.1, 0.9, (n_models, n_benchmarks))
    values = np.stack([real, 1 - real], axis=2)
    marks = np.zeros(values.shape, bool)
    return Predictions(models, benchmarks, methods, values, values, values,
                       marks, marks, real, 0.9)  # yapf: disable


def test_means():
    predictions = table()
    overall = Overall.of(predictions)
    assert overall.benchmarks == predictions.benchmarks
    np.testing.assert_allclose(overall.real, predictions.real.mean(axis=1))
    np.testing.assert_allclose(overall.values[:, 1], 1 - overall.real)
    assert overall.mean_differences()[0] == 0
    np.testing.assert_allclose(overall.differences()[:, 1],
                               1 - 2 * overall.real)


def test_benchmarks_that_were_run_count():
    predictions = table()
    real = predictions.real.copy()
    real[:, 0] = NAN  # not run at all
    real[2, 1] = NAN  # failed
    overall = Overall.of(replace(predictions, real=real))
    assert overall.benchmarks == ('b1', 'b2')
    assert np.isnan(overall.real[2])
    assert np.isnan(overall.real).sum() == 1
    np.testing.assert_allclose(overall.values[:, 0],
                               predictions.values[:, 1:, 0].mean(axis=1))
    nothing = Overall.of(replace(predictions, real=real * NAN))
    assert nothing.benchmarks == predictions.benchmarks
    assert np.isnan(nothing.real).all() and not np.isnan(nothing.values).any()


def test_a_model_without_a_benchmark_has_no_mean():
    predictions = table()
    values = predictions.values.copy()
    values[1, 2, 0] = NAN
    overall = Overall.of(replace(predictions, values=values))
    assert np.argwhere(np.isnan(overall.values)).tolist() == [[1, 0]]
    # Nor does it have a mark without a mean.
    fitted = np.arange(6)[:, None, None] < np.full((6, 3, 2), 2)
    overall = Overall.of(replace(predictions, values=values, in_sample=fitted))
    np.testing.assert_array_equal(
        overall.in_sample[:3], [[True, True], [False, True], [False, False]])


def test_a_benchmark_of_few_models_does_not_count():
    predictions = table()
    real = predictions.real.copy()
    real[1:, 2] = NAN  # of one model alone
    overall = Overall.of(replace(predictions, real=real))
    assert overall.benchmarks == ('b0', 'b1')
    assert np.isfinite(overall.real).all()
    # Without a benchmark that all have, nothing is lost by any.
    gaps = np.where(np.eye(6, 3, dtype=bool), NAN, predictions.real)[:3]
    some = replace(predictions.select(predictions.models[:3]), real=gaps)
    assert Overall.of(some).benchmarks == predictions.benchmarks


def test_benchmarks_that_the_first_method_predicts():
    predictions = table()
    values = predictions.values.copy()
    values[:, 0, 0] = values[:, 1, 1] = NAN
    for real in (predictions.real, predictions.real * NAN):
        overall = Overall.of(replace(predictions, values=values, real=real))
        assert overall.benchmarks == ('b1', 'b2')
        assert np.isfinite(overall.values[:, 0]).all()
        assert overall.methods == ('p0', )
    nothing = Overall.of(replace(predictions, values=values * NAN))
    assert nothing.benchmarks == predictions.benchmarks
    # Ranks by real means need no prediction.
    assert nothing.ranked.all()
    real = predictions.real.copy()
    real[:, 1:] = NAN  # where nothing is predicted
    assert Overall.of(replace(predictions, values=values,
                              real=real)).benchmarks == ('b0', )


def test_equal_means_share_a_rank():
    """Whatever the order of the accuracies, whose sums differ by it."""
    predictions = table()
    real = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]] * 3)
    assert len(set(real.mean(axis=1))) == 2
    values = np.stack([predictions.real, real], axis=2)
    overall = Overall.of(replace(predictions, real=real, values=values))
    np.testing.assert_array_equal(ranks(overall.real), np.ones(6))
    np.testing.assert_array_equal(
        ranks([0.2, NAN, 0.7, 0.7, 0.1]), [3, NAN, 1, 1, 4])
    assert ranks([]).shape == (0, )
    # All models are equal: there is no order to agree with.
    for method in overall.methods:
        value, n_models = overall.agreement(method)
        assert np.isnan(value) and n_models == 6


def test_predicted_ranks_count_models_with_a_real_mean():
    predictions = table()
    real = np.arange(6)[:, None] / np.full(3, 10)
    values = np.stack([real, real], axis=2)
    values[4, 0, 1] = NAN
    some = real.copy()
    some[[1, 5]] = NAN
    overall = Overall.of(replace(predictions, real=some, values=values))
    np.testing.assert_array_equal(overall.real_ranks(), [4, NAN, 3, 2, 1, NAN])
    np.testing.assert_array_equal(
        overall.predicted_ranks().T,
        [[4, NAN, 3, 2, 1, NAN], [3, NAN, 2, 1, NAN, NAN]])
    # The first method without any mean has no say.
    values[:, :, 0] = NAN
    mute = Overall.of(replace(predictions, real=real, values=values))
    assert mute.methods == ('p1', )
    expected = [5, 4, 3, 2, NAN, 1]
    np.testing.assert_array_equal(mute.real_ranks(), expected)
    np.testing.assert_array_equal(mute.predicted_ranks()[:, 0], expected)
    values[:, :, 0] = real
    nothing = Overall.of(replace(predictions, real=real * NAN, values=values))
    np.testing.assert_array_equal(nothing.predicted_ranks().T,
                                  [[6, 5, 4, 3, 2, 1], [5, 4, 3, 2, NAN, 1]])


def test_agreement_of_the_orders_of_enough_models():
    predictions = table()
    overall = Overall.of(predictions)
    assert overall.agreement('p0') == (pytest.approx(1), 6)
    assert overall.agreement('p1') == (pytest.approx(-1), 6)
    fitted = predictions.in_sample.copy()
    fitted[0, 1, 0] = True  # on one benchmark
    enough = Overall.of(replace(predictions, in_sample=fitted))
    assert enough.agreement('p0') == (pytest.approx(1), LEAST_MODELS)
    fitted[1, 1, 0] = True
    overall = Overall.of(replace(predictions, in_sample=fitted))
    value, n_models = overall.agreement('p0')
    assert np.isnan(value) and n_models == 4 < LEAST_MODELS
    assert overall.agreement('p1')[1] == 6
    assert overall.in_sample.sum() == 2
