"""What the solvers share: tasks, models, folds, notes."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import fold_masks
from csv_plugin.core.salience.base import (SharedFeatures, floor_candidates,
                                           grouped_folds)
from csv_plugin.core.salience_model import SalienceModel

UNIFORM = np.array([0.2, 0.3, 0.5])
FAMILIES = st.lists(
    st.sampled_from('abcdefgh'), min_size=2,
    max_size=40).filter(lambda families: len(set(families)) > 1)


def linear(seed=0, shape=()):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(*shape, 3)), rng.normal(size=shape),
            rng.uniform(0, 0.4, shape), rng.normal(size=(7, 3)))


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


@given(FAMILIES, st.integers(0, 99), st.integers(1, 3))
def test_masks_hold_every_family_out_once_a_repeat(families, seed, n_repeats):
    names = np.array(families)
    masks = fold_masks(names, seed, n_repeats)
    folds = min(5, len(set(families)))
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


def test_masks_depend_on_the_seed_alone():
    families = np.array(list('aabbccddeeffgghh'))
    masks = fold_masks(families, 1)
    assert len(masks) == 15
    assert (fold_masks(families, 2) != masks).any()
    # Few families need no repeats.
    assert len(fold_masks(np.array(list('aabbc')), 0)) == 3


@given(FAMILIES, st.integers(0, 2**32 - 1))
def test_folds_follow_the_seed_and_not_the_order_of_models(families, seed):
    folds = grouped_folds(families, 3, seed)
    np.testing.assert_array_equal(folds, grouped_folds(families, 3, seed))
    np.testing.assert_array_equal(folds[::-1],
                                  grouped_folds(families[::-1], 3, seed))


def test_the_largest_families_are_placed_first():
    # Placed in alphabetical or most other orders, the folds differ in size.
    for seed in range(20):
        folds = grouped_folds(list('abbcccdddd'), 2, seed)
        np.testing.assert_array_equal(np.bincount(folds), [5, 5])


def test_a_single_family_is_refused():
    with pytest.raises(InputError, match=r"two families, found \['Yi'\]"):
        grouped_folds(['Yi', 'Yi'], 5, seed=0)


def test_floors_run_from_chance_to_zero():
    np.testing.assert_allclose(
        floor_candidates(0.25), [0.25, 0.2, 0.15, 0.1, 0.05, 0])
    assert floor_candidates(0.0).tolist() == [0.0]


VALUES = np.arange(20.).reshape(5, 4)

ROWS = np.array([True, False, True, True, False])


def test_what_is_made_is_made_once_for_the_same_rows():
    calls = []

    def make(features):
        calls.append(features)
        return features.values.sum()

    whole = SharedFeatures(VALUES, np.full(4, .25))
    for rows in (ROWS, ROWS.copy(), np.flatnonzero(ROWS)):
        assert whole.select(rows).once(make) == VALUES[ROWS].sum()
    assert len(calls) == 1
    assert whole.select(~ROWS).once(make) == VALUES[~ROWS].sum()
    assert len(calls) == 2
