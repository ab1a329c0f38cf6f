"""Slopes that follow a prior."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from csv_plugin.core.salience import Task, Uniform, fold_masks, slopes
from csv_plugin.core.salience.slopes import pulled, slope_of, typical_slope
from csv_plugin.core.scaling_law import accuracy_at

CHANCE = 0.25


def step(noise: float = 0.01) -> tuple:
    rng = np.random.default_rng(0)
    families = np.repeat(['a', 'b', 'c', 'd', 'e', 'f'], 4)
    losses = rng.uniform(20, 40, (24, 1))
    accuracy = accuracy_at(.8 * (22 - losses[:, 0]), CHANCE)
    task = Task.of(losses, np.ones(1), accuracy + noise * rng.normal(size=24),
                   CHANCE, families)
    masks = fold_masks(families, 0, n_repeats=1)
    return task, Uniform().fit(task, masks)


@pytest.mark.parametrize('typical', [-1.8, 1.7])
def test_errors_and_prior_are_minimised(typical, monkeypatch):
    """By another algorithm, on exponents by which the mean loss counts."""
    monkeypatch.setattr(slopes, 'SPREAD', 0.5)
    task, fit = step()
    loss, n_families = task.values[:, 0], 6

    def objective(place):
        fitted = accuracy_at(place[0] - np.exp(place[1]) * (loss - 30), CHANCE)
        squares = np.mean((fitted - task.accuracy)**2)
        share = 1 if place[1] > typical else 0.3
        return (n_families * squares / fit.cv_mse + share *
                ((place[1] - typical) / .5)**2)

    exponents = fit.models.exponents(task.values)
    start = [-6, np.log(slope_of(task, exponents[-1]))]
    expected = minimize(
        objective,
        start,
        method='Nelder-Mead',
        options=dict(xatol=1e-8, fatol=1e-10, maxiter=4000)).x
    found = pulled(task, fit, exponents, typical, 0.3)
    slope = slope_of(task, found.model.exponents(task.values))
    assert np.log(slope) == pytest.approx(expected[1], abs=1e-3)
    assert found.model.predict(task.values) == pytest.approx(
        accuracy_at(expected[0] - np.exp(expected[1]) * (loss - 30), CHANCE),
        abs=1e-4)
    predicted = found.folds.predict(task.values)
    squares = (predicted - task.accuracy)**2
    assert found.cv_mse == pytest.approx(squares[~fit.masks].mean())


def test_slopes_that_are_typical_or_negative_stay():
    task, fit = step()
    exponents = fit.models.exponents(task.values)
    own = float(np.log(slope_of(task, exponents[-1])))
    same = pulled(task, fit, exponents, own, 1.0).model
    np.testing.assert_array_equal(
        same.predict(task.values), fit.model.predict(task.values))
    falling = replace(task, accuracy=1 - task.accuracy)
    risen = Uniform().fit(falling, fit.masks)
    np.testing.assert_array_equal(
        pulled(falling, risen, risen.models.exponents(task.values),
               own, 1.0).model.predict(task.values),
        risen.model.predict(task.values))


def test_the_typical_slope_is_a_weighted_median():
    slopes = np.exp([0.0, 1.0, 2.0, 9.0])
    assert typical_slope(slopes, np.array([1, 1, 1, 0])) == pytest.approx(1)
    assert typical_slope(slopes, np.array([1, 1, 6, 0])) > 1.5
    assert typical_slope([*slopes[:3], 0.0], np.ones(4)) == pytest.approx(1)
    assert typical_slope(slopes[:2], np.ones(2)) == pytest.approx(.5)
    assert np.isnan(typical_slope([-1.0, 2.0, 3.0], np.array([1, 1, 0])))
