"""The choice of settings and floors."""

import numpy as np
import pytest

from csv_plugin.core.salience import Uniform, fold_masks
from csv_plugin.core.salience.base import floor_candidates
from csv_plugin.core.scaling_law import accuracy_at, fit_curve
from tests.core.worlds import make_world
from tools.studies.other_methods.cross_validation import (Candidates,
                                                          cross_validate)

TASK = make_world(n=24, n_families=4, noise=0.02, floor=0.15).task
MASKS = fold_masks(TASK.families, 0, n_repeats=1)
#: Two settings: the first column alone, and the mean of all.
DIRECTIONS = np.array([[1.0, 0, 0, 0], [0.25] * 4])

FLOORS = floor_candidates(TASK.chance)


def candidates(task):
    return Candidates.of_one_score_each(task, DIRECTIONS)


def predictions(task, values):
    """By setting and floor, `(2, 6, M)`."""
    found = candidates(task)
    return np.array([[
        accuracy_at(
            found.slopes[s, f] @ DIRECTIONS @ values.T + found.offsets[s, f],
            FLOORS[f]) for f in range(6)
    ] for s in range(2)])


def test_curves_on_one_score_are_those_of_the_scaling_law():
    for direction, found in zip(DIRECTIONS, predictions(TASK, TASK.values)):
        score = TASK.values @ direction
        for floor, accuracies in zip(FLOORS, found):
            curve, _ = fit_curve(score, TASK.accuracy, floor)
            np.testing.assert_allclose(
                accuracies, curve.accuracies(score), atol=5e-4)


def test_the_least_error_on_held_out_families_wins():
    fit = cross_validate('name', TASK, MASKS, ('first', 'mean'), candidates)
    errors = np.zeros((2, 6))
    for mask in MASKS:
        predicted = predictions(TASK.select(mask), TASK.values[~mask])
        errors += np.sum((predicted - TASK.accuracy[~mask])**2, axis=2)
    assert fit.cv_mse == pytest.approx(errors.min() / len(TASK.accuracy))
    setting, floor = np.unravel_index(errors.argmin(), errors.shape)
    assert fit.model.curve.floor == FLOORS[floor]
    assert fit.notes[0].startswith(('first', 'mean')[setting])
    assert fit.folds.coefficients.shape == (len(MASKS), 4)


def test_the_mean_loss_is_that_of_the_solver_uniform():
    """So that all methods are judged alike."""
    ours = cross_validate(
        'name', TASK, MASKS, ('mean', ),
        lambda task: Candidates.of_one_score_each(task, DIRECTIONS[1:]))
    theirs = Uniform(learn_floor=True).fit(TASK, MASKS)
    assert ours.cv_mse == pytest.approx(theirs.cv_mse, rel=1e-4)
    np.testing.assert_allclose(
        ours.model.predict(TASK.values),
        theirs.model.predict(TASK.values),
        atol=1e-4)
    assert ours.notes == ()
