"""Completion of a matrix of scores at rank two."""
import numpy as np
import pytest

from csv_plugin.core.salience import Task, fold_masks
from tools.studies.other_methods.completion import (Completion,
                                                    completion_weights, filled,
                                                    score_features)

RNG = np.random.default_rng(0)
#: Of rank two around the means of its columns.
SCORES = 0.5 + 0.05 * RNG.normal(size=(30, 2)) @ RNG.normal(size=(2, 7))


def test_an_exact_matrix_is_recovered():
    """The target of a model that no weight was learned from, too."""
    others, target = SCORES[:20, :-1], SCORES[:20, -1]
    weights = completion_weights(others, target, 1e-12)
    completed = target.mean() + (SCORES[:, :-1] -
                                 others.mean(axis=0)) @ weights
    np.testing.assert_allclose(completed, SCORES[:, -1], atol=1e-8)


def test_holes_are_filled():
    holed = SCORES.copy()
    holed[[0, 3, 9, 9], [1, 2, 0, 5]] = np.nan
    np.testing.assert_allclose(filled(holed), SCORES, atol=1e-4)
    np.testing.assert_array_equal(filled(SCORES), SCORES)


def test_scores_tell_of_the_score():
    table = score_features(
        list(map(str, range(30))), list('abcdef'), SCORES[:, :-1])
    task = Task.of(table.values, table.columns.uniform, SCORES[:, -1], 0.0,
                   np.repeat(list('uvwxyz'), 5))
    fit = Completion().fit(task, fold_masks(task.families, 0))
    assert fit.notes[0].startswith('penalty of factors: 0.0')
    assert fit.cv_mse < 0.01 * SCORES[:, -1].var()
    assert table.mean_loss == pytest.approx(-SCORES[:, :-1].mean(axis=1))
