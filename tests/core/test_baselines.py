"""The mean loss with a learned floor, on few, flat and broken models too."""
import numpy as np
import pytest

from csv_plugin.core.baselines import fit_mean_loss
from csv_plugin.core.scaling_law import accuracy_at

LOSS = np.linspace(2.5, 1.5, 24)
#: A benchmark with likely wrong answers: bad models stay below chance.
CHANCE, FLOOR = 0.25, 0.125
ACCURACY = accuracy_at(4 * (1.4 - LOSS), FLOOR)


def predict(loss, accuracy=None, models=LOSS, chance=CHANCE):
    accuracy = ACCURACY if accuracy is None else accuracy
    return fit_mean_loss(models, accuracy, chance).accuracies(np.array(loss))


def test_curve_and_floor_are_recovered():
    curve = fit_mean_loss(LOSS, ACCURACY, CHANCE)
    assert curve.floor == FLOOR
    assert curve.alpha == pytest.approx(-4, rel=.02)
    assert curve.beta == pytest.approx(1.4, rel=.01)


def test_accuracies_about_chance_give_no_step():
    """Half of the models are below chance, and none is far above it."""
    rng = np.random.default_rng(0)
    accuracy = .24 + .03 * (2 - LOSS) + .01 * rng.normal(size=24)
    # With the floor at chance, a curve reaches .99 there.
    assert .28 < predict([.8], accuracy) < .32
    assert predict([1.2, 2.8], np.full(24, .25)) == pytest.approx(.25, abs=.02)


@pytest.mark.parametrize('n', [1, 2, 3, 5])
def test_few_models(n):
    """No step between them, and the right order."""
    places = np.linspace(3, 20, n).astype(int)
    found = predict(LOSS, ACCURACY[places], LOSS[places])
    assert np.all(np.diff(found) >= 0)
    np.testing.assert_allclose(found[places], ACCURACY[places], atol=.03)
    assert np.abs(found - ACCURACY).max() < (.1 if n > 2 else .6)


def test_equal_losses_give_the_mean_accuracy():
    models = np.full(24, .1 + .2)
    models[3] = .3
    assert predict([.1, 9], models=models) == pytest.approx(ACCURACY.mean())


def test_half_of_the_models_may_have_one_loss():
    models = np.where(np.arange(24) < 20, 2.0, LOSS)
    accuracy = accuracy_at(4 * (1.4 - models), FLOOR)
    assert predict([2.0, 1.6], accuracy, models) == pytest.approx(
        accuracy_at(4 * (1.4 - np.array([2.0, 1.6])), FLOOR), abs=.02)


def test_models_that_were_not_run_are_left_out():
    accuracy = np.where(np.arange(24) % 3, ACCURACY, np.nan)
    run = ~np.isnan(accuracy)
    np.testing.assert_array_equal(
        predict(LOSS, accuracy), predict(LOSS, ACCURACY[run], LOSS[run]))


@pytest.mark.parametrize('loss, accuracy', [(100, CHANCE), (1.55, CHANCE),
                                            (2.4, .9)])
def test_one_broken_model_hardly_matters(loss, accuracy):
    models, accuracies = LOSS.copy(), ACCURACY.copy()
    models[12], accuracies[12] = loss, accuracy
    np.testing.assert_allclose(
        predict(LOSS, accuracies, models), ACCURACY, atol=.04)


def test_accuracies_that_rise_with_the_loss_are_nearly_flat():
    found = predict(LOSS, ACCURACY[::-1])
    assert np.ptp(found) < .1 and np.all(np.diff(found) >= 0)


@pytest.mark.parametrize('unit', [1e-3, 1e3])
def test_the_unit_of_the_losses_does_not_matter(unit):
    np.testing.assert_allclose(
        predict(unit * LOSS, models=unit * LOSS), predict(LOSS), rtol=1e-9)


def test_without_a_chance_level_the_floor_is_zero():
    accuracy = accuracy_at(4 * (1.4 - LOSS), 0)
    curve = fit_mean_loss(LOSS, accuracy, 0.0)
    assert curve.floor == 0
    np.testing.assert_allclose(curve.accuracies(LOSS), accuracy, atol=.01)
