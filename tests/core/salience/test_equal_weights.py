"""Equal weights of the units that go with accuracy most."""
import numpy as np
import pytest
from scipy.stats import rankdata

from csv_plugin.core.salience import fold_masks
from csv_plugin.core.salience.averaged import EqualWeights, _halves
from csv_plugin.core.salience.base import held_out_mse
from csv_plugin.core.scaling_law import accuracy_at, fit_curve

N, K, FLOOR = 24, 40, 0.25
FLOORS = np.array([FLOOR, 0.0])
UNIFORM = np.full(K, 1 / K)
MASKS = fold_masks(np.repeat(np.arange(6), 4), 0, n_repeats=1)
SIZES = [40, 20, 10]


def world(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Losses that fall with a skill, the first the most steadily."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(-1, 1, N)
    noise = rng.normal(size=(N, K)) * np.linspace(0.05, 3, K)
    accuracy = accuracy_at(2 * skill, FLOOR) + rng.normal(size=N) / 100
    return 3 - skill[:, None] + noise, accuracy


def fitted(values, accuracy, masks=MASKS) -> EqualWeights:
    return EqualWeights.of(values, UNIFORM, accuracy, masks, FLOORS)


def test_units_are_ordered_by_their_correlation_with_ranks():
    values, accuracy = world()
    found = fitted(values, accuracy)
    for row, order in zip([*MASKS, np.ones(N, dtype=bool)], found.orders):
        correlations = [
            np.corrcoef(values[row, k], rankdata(accuracy[row]))[0, 1]
            for k in range(K)
        ]
        np.testing.assert_array_equal(order, np.argsort(correlations))


@pytest.mark.parametrize('size', range(3))
def test_curves_are_on_the_mean_of_the_first_units(size):
    values, accuracy = world()
    found = fitted(values, accuracy)
    assert found.sizes.tolist() == SIZES
    exponents, models = found.average(0, np.eye(3)[size])
    for row, order, by_fit in zip([*MASKS, np.ones(N, dtype=bool)],
                                  found.orders, exponents):
        score = values[:, order[:SIZES[size]]].mean(axis=1)
        curve, _ = fit_curve(score[row], accuracy[row], FLOOR)
        np.testing.assert_allclose(
            accuracy_at(by_fit, FLOOR), curve.accuracies(score), atol=1e-4)
    np.testing.assert_allclose(models.exponents(values), exponents, atol=1e-9)


def test_numbers_of_units_are_halved_down_to_eight():
    assert _halves(32).tolist() == [32, 16, 8]
    assert _halves(7).tolist() == [7]


def test_averages_are_those_of_the_exponents():
    values, accuracy = world()
    found = fitted(values, accuracy)
    weights = np.array([0.2, 0.3, 0.5])
    exponents, models = found.average(1, weights)
    expected = sum(weight * found.average(1, alone)[0]
                   for weight, alone in zip(weights, np.eye(3)))
    np.testing.assert_allclose(exponents, expected)
    np.testing.assert_allclose(models.exponents(values), exponents, atol=1e-9)
    assert models.curve.floor.tolist() == [0.0] * (len(MASKS) + 1)


def test_errors_are_those_of_models_that_are_held_out():
    values, accuracy = world()
    found = fitted(values, accuracy)
    assert found.errors.shape == (3, 2)
    for size in range(3):
        exponents, _ = found.average(1, np.eye(3)[size])
        predicted = accuracy_at(exponents[:-1], 0.0)
        assert found.errors[size, 1] == pytest.approx(
            float(held_out_mse(predicted, accuracy, MASKS)))


def test_a_fit_knows_nothing_of_the_accuracies_it_is_held_out_from():
    values, accuracy = world()
    changed = np.where(MASKS[0], accuracy, 1 - accuracy)
    first, other = (
        fitted(values, scores).average(0, np.full(3, 1 / 3))[0]
        for scores in (accuracy, changed))
    np.testing.assert_allclose(first[0], other[0])
    assert not np.allclose(first[1], other[1])


def test_units_and_accuracies_that_do_not_differ():
    values, accuracy = world()
    # As a table that is rounded might have it.
    values[:, 0] = 1.5 - 1e-5 * accuracy
    values[:, 1] = 1.5
    found = fitted(values, accuracy)
    assert np.isfinite(found.errors).all()
    assert not {0, 1} & {*found.orders[:, :10].ravel()}
    level = fitted(values, np.full(N, 0.5))
    np.testing.assert_allclose(level.errors, 0, atol=1e-6)
