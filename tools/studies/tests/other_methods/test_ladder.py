"""The ladder from size and tokens to the task loss and the accuracy."""
from dataclasses import replace

import numpy as np

from csv_plugin.core.salience import Task, fold_masks
from csv_plugin.core.scaling_law import Curve
from tools.studies.other_methods.ladder import (EXPONENTS, Ladder,
                                                ladder_features, loss_law)

PARAMETERS = np.repeat(np.geomspace(0.1, 5, 6), 4)
TOKENS = np.tile(np.geomspace(1e9, 1e11, 4), 6)
CURVE = Curve(-3.0, 1.5, 0.25)
A, B = EXPONENTS[5], EXPONENTS[9]
LOSS = 0.7 + 0.4 * PARAMETERS**-A + 150 * TOKENS**-B


def task(loss=LOSS):
    table = ladder_features([f'm{i}' for i in range(24)], PARAMETERS, TOKENS,
                            loss)
    return Task.of(table.values, table.columns.uniform, CURVE.accuracies(LOSS),
                   0.25, np.repeat([f'run {i}' for i in range(6)], 4))


def test_an_exact_law_is_found():
    constant, coefficients = loss_law(task().values[:, 1:], LOSS)
    assert round(constant, 9) == 0.7
    assert np.flatnonzero(coefficients).tolist() == [5, len(EXPONENTS) + 9]


def test_models_are_predicted_from_their_sizes_alone():
    exact = task()
    fit = Ladder().fit(exact, fold_masks(exact.families, 0, n_repeats=1))
    np.testing.assert_allclose(
        fit.model.predict(exact.values), exact.accuracy, atol=1e-6)
    assert fit.cv_mse < 1e-9 and fit.notes == ()
    assert fit.model.coefficients[0] == 0 and np.all(
        fit.folds.coefficients[:, 0] == 0)


def test_step_two_is_fitted_to_the_true_losses():
    """Where step one is wrong, the curve still is that of the losses."""
    rng = np.random.default_rng(0)
    loss = LOSS + 0.1 * rng.normal(size=24)
    noisy = replace(task(loss), accuracy=CURVE.accuracies(loss))
    model = Ladder().fit(noisy, fold_masks(noisy.families, 0,
                                           n_repeats=1)).model
    constant, coefficients = loss_law(noisy.values[:, 1:], loss)
    np.testing.assert_allclose(
        model.predict(noisy.values),
        CURVE.accuracies(constant + noisy.values[:, 1:] @ coefficients),
        atol=1e-5)
