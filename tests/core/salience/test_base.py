"""What the solvers share: tasks, models, folds, notes."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.salience import fold_masks
from csv_plugin.core.salience.base import (SharedFeatures, fit_notes,
                                           floor_candidates, held_out_mse)
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import PROBLEMS, Curve
from tests.core.worlds import make_world

UNIFORM = np.array([0.2, 0.3, 0.5])


def linear(seed=0, shape=()):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(*shape, 3)), rng.normal(size=shape),
            rng.uniform(0, 0.4, shape), rng.normal(size=(7, 3)))


def test_scores_are_equation_1():
    """A column for each token: its loss per character of the texts."""
    losses = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]])
    weights = np.array([0.5, -1.0, 2.0])
    scores = SalienceModel(weights, Curve(-1, 0, 0)).scores(losses / 10)
    expected = [(0.5 - 2 + 8) / 10, (1.5 - 5 + 14) / 10]
    np.testing.assert_allclose(scores, expected, 1e-15)


@pytest.mark.parametrize('shape', [(), (4, ), (2, 3)])
def test_from_linear_predicts_what_the_linear_form_does(shape):
    gradient, offset, floor, values = linear(0, shape)
    model = SalienceModel.from_linear(gradient, offset, floor, UNIFORM)
    eta = offset[..., None] + gradient @ values.T
    expected = floor[..., None] + (1 - floor[..., None]) / (1 + np.exp(-eta))
    assert expected.shape == (*shape, 7)
    np.testing.assert_allclose(model.predict(values), expected, rtol=1e-12)
    np.testing.assert_allclose(
        np.abs(model.coefficients).sum(axis=-1), 1, rtol=1e-12)
    assert (model.coefficients @ UNIFORM >= 0).all()
    np.testing.assert_array_equal(model.curve.alpha > 0, gradient @ UNIFORM
                                  > 0)


@pytest.mark.parametrize('offset', [-700.0, -4.5, 0.0, 4.5, 700.0])
def test_a_flat_linear_form_is_a_flat_model(offset):
    model = SalienceModel.from_linear(
        np.zeros(3), np.array(offset), 0.2, UNIFORM)
    assert np.isfinite(model.curve.beta)
    np.testing.assert_allclose(
        model.predict(np.ones((2, 3))), 0.2 + 0.8 / (1 + np.exp(-offset)))


def test_tasks_are_taken_by_index_or_mask():
    task = make_world().task
    mask = task.families == 'family 1'
    for rows in (mask, np.flatnonzero(mask)):
        part = task.select(rows)
        np.testing.assert_array_equal(part.values, task.values[mask])
        np.testing.assert_array_equal(part.accuracy, task.accuracy[mask])
        assert set(part.families) == {'family 1'}
        assert part.chance == task.chance
        assert part.uniform is task.uniform


@given(
    st.lists(st.sampled_from('abcdefgh'), min_size=2,
             max_size=30).filter(lambda families: len(set(families)) > 1),
    st.integers(0, 99), st.integers(2, 6), st.integers(1, 3))
def test_masks_hold_every_family_out_once_a_repeat(families, seed, n_folds,
                                                   n_repeats):
    names = np.array(families)
    masks = fold_masks(names, seed, n_folds, n_repeats)
    folds = min(n_folds, len(set(families)))
    assert masks.dtype == bool
    kept = len(masks) // folds
    assert masks.shape == (kept * folds, len(families))
    assert 1 <= kept <= n_repeats
    np.testing.assert_array_equal(np.sum(~masks, axis=0), kept)
    by_repeat = masks.reshape(kept, folds, -1)
    np.testing.assert_array_equal(np.sum(~by_repeat, axis=1), 1)
    # No two repeats are alike.
    assert len({frozenset(map(bytes, repeat)) for repeat in by_repeat}) == kept
    for mask in masks:
        assert mask.any() and not mask.all()
        assert not set(names[mask]) & set(names[~mask])


def test_few_families_need_no_repeats():
    families = np.array(list('aabbc'))
    assert len(fold_masks(families, 0, n_folds=5, n_repeats=3)) == 3
    assert len(fold_masks(np.array(list('abcdefgh')), 0)) == 15


def test_masks_depend_on_the_seed_alone():
    families = np.array(list('aabbccddeeffgghh'))
    masks = fold_masks(families, 1)
    np.testing.assert_array_equal(fold_masks(families, 1), masks)
    assert (fold_masks(families, 2) != masks).any()
    assert (masks[:5] != masks[5:10]).any()


def test_held_out_error_is_the_mean_over_held_out_models():
    rng = np.random.default_rng(0)
    predicted, accuracy = rng.random((2, 3, 4)), rng.random(4)
    masks = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    for p, error in zip(predicted, held_out_mse(predicted, accuracy, masks)):
        squares = [(p[f, i] - accuracy[i])**2 for f in range(3)
                   for i in range(4) if not masks[f, i]]
        assert len(squares) == 4
        assert error == pytest.approx(np.mean(squares), 1e-12)


def test_floors_run_from_chance_to_zero():
    np.testing.assert_allclose(
        floor_candidates(0.25), [0.25, 0.2, 0.15, 0.1, 0.05, 0])
    assert floor_candidates(0.0).tolist() == [0.0]


@pytest.mark.parametrize('alpha', [-1.0, 1.0])
@pytest.mark.parametrize('n_folds, gained, text', [
    (0, False, 'one family only'),
    (0, True, 'one family only'),
    (2, False, 'no gain'),
    (2, True, None),
])
def test_notes_say_why_the_mean_loss_was_used(n_folds, gained, text, alpha):
    model = SalienceModel(np.ones(1), Curve(alpha, 0.0, 0.0))
    notes = fit_notes(model, np.zeros((n_folds, 4), dtype=bool), gained)
    if alpha > 0:
        assert notes[-1] == PROBLEMS['slope_sign']
        notes = notes[:-1]
    assert len(notes) == (text is not None)
    assert all(text in note and 'uniform weights used' in note
               for note in notes)


VALUES = np.arange(20.).reshape(5, 4)
QUARTERS = np.full(4, .25)
ROWS = np.array([True, False, True, True, False])


def features():
    return SharedFeatures(VALUES, QUARTERS)


def counter():
    """A function of features that counts its calls."""
    calls = []

    def make(of):
        calls.append(of)
        return of.values.sum()

    return make, calls


@pytest.mark.parametrize('rows', [ROWS, [0, 2, 3], [3, 0], np.ones(5, bool)])
def test_a_part_has_the_rows_that_were_selected(rows):
    part = features().select(np.asarray(rows))
    np.testing.assert_array_equal(part.values, VALUES[rows])
    np.testing.assert_array_equal(part.mean_loss, VALUES[rows].mean(axis=1))
    assert part.shape == VALUES[rows].shape


def test_what_is_made_is_made_once_for_the_same_rows():
    make, calls = counter()
    whole = features()
    for rows in (ROWS, ROWS.copy(), np.flatnonzero(ROWS)):
        assert whole.select(rows).once(make) == VALUES[ROWS].sum()
    assert len(calls) == 1
    assert whole.once(make) == VALUES.sum()
    assert whole.select(~ROWS).once(make) == VALUES[~ROWS].sum()
    assert len(calls) == 3
