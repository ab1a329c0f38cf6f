"""Phi as columns that are never held at once."""
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.lm.head import state_columns
from csv_plugin.lm.head.state_columns import StateColumns, StateScale

T, H, M, N_CHARS = 23, 5, 4, 50
RNG = np.random.default_rng(0)
STATES = torch.from_numpy(RNG.normal(3, 2, (T, H)))
LOSSES = RNG.uniform(.5, 3, (M, T))
LOSSES[1, 2] = LOSSES[3, T - 1] = np.nan
TABLE = LossTable(tuple('klmn'), ('a', 'b'), LOSSES, np.array([0, 9, T]),
                  np.array([20, 30]), np.array([20, 30]), 'f')  # yapf: disable
SCORED = ~np.isnan(LOSSES).any(axis=0)
#: Some of them unscored.
PART = np.arange(T) % 3 == 2


@pytest.fixture(params=[1, 4, T - 2])
def block(request, monkeypatch):
    """Blocks of one token, of some, and of all that count."""
    monkeypatch.setattr(state_columns, '_BLOCK', request.param)


def dense_matrix(states, part):
    """`(T, 1 + H)`: what a nat of a token adds to each column."""
    weighted = SCORED & part
    matrix = np.zeros((T, 1 + H))
    matrix[weighted, 0] = 1
    part_states = states.double().numpy()[weighted]
    matrix[weighted, 1:] = (part_states -
                            part_states.mean(axis=0)) / part_states.std(axis=0)
    return matrix / N_CHARS


@pytest.mark.parametrize('dtype', [
    torch.float64, torch.float32, torch.bfloat16
])  # yapf: disable
@pytest.mark.parametrize('part', [None, PART])
def test_features_are_losses_times_standardised_states(block, part, dtype):
    states = STATES.to(dtype)
    columns = StateColumns.of(states, TABLE, part)
    features = columns.features(TABLE)
    matrix = dense_matrix(states, np.ones(T, bool) if part is None else part)
    np.testing.assert_allclose(
        features.values, np.where(SCORED, LOSSES, 0) @ matrix, atol=1e-12)
    assert features.models == TABLE.models
    for what in (features.columns, columns.columns):
        assert what.units == ('loss', 'h0', 'h1', 'h2', 'h3', 'h4')
        assert what.uniform.tolist() == [1, 0, 0, 0, 0, 0]
        assert what.fingerprint == TABLE.fingerprint
        # All tokens that were scored count, weighted or not.
        np.testing.assert_array_equal(what.scored, SCORED)
    assert states.dtype == dtype


def test_directions_that_never_change_are_columns_of_zeros(block):
    states = STATES.clone()
    states[:, 2:4] = torch.tensor([.1, 0])
    columns = StateColumns.of(states.float(), TABLE)
    assert columns.scale.spread[2:4].tolist() == [1, 1]
    assert abs(columns.features(TABLE).values[:, 3:5]).max() < 1e-12
    scale = StateScale.of_moments(np.ones(2), 1 + np.array([1e-13, 1e-10]))
    np.testing.assert_allclose(scale.spread, [1, 1e-5])


COLUMN = st.lists(
    st.one_of(st.just(0.),
              st.floats(-5, 5).map(lambda x: round(x, 3))),
    min_size=1 + H,
    max_size=1 + H)


@pytest.mark.parametrize('size', [1, 4, T])
@pytest.mark.parametrize('part', [None, PART])
@settings(max_examples=15, deadline=None)
@given(st.lists(COLUMN, max_size=4))
def test_sums_of_columns_are_sums_of_tokens(size, part, chosen):
    """Sparse coefficients, whole columns of zeros among them."""
    coefficients = np.array(chosen).reshape(-1, 1 + H).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_columns, '_BLOCK', size)
        columns = StateColumns.of(STATES, TABLE, part)
        sums = columns.combine(csc_array(coefficients))
    matrix = dense_matrix(STATES, np.ones(T, bool) if part is None else part)
    assert isinstance(sums, csc_array)
    assert sums.shape == (T, len(chosen))
    np.testing.assert_allclose(
        sums.toarray(), matrix @ coefficients, atol=1e-12)
    # As a predictor will use it: the same scores from fewer columns.
    np.testing.assert_allclose(
        np.where(SCORED, LOSSES, 0) @ sums.toarray(),
        columns.features(TABLE).values @ coefficients,
        atol=1e-12)


def test_models_to_predict_are_counted_on_the_tokens_of_the_training():
    """Whatever else they scored, and with the scale of the training."""
    columns = StateColumns.of(STATES, TABLE)
    fuller = replace(TABLE, losses=np.where(np.isnan(LOSSES), 7., LOSSES))
    np.testing.assert_allclose(
        columns.features(fuller).values,
        columns.features(TABLE).values)
    fewer = np.where(np.arange(T) == 0, np.nan, LOSSES)
    with pytest.raises(InputError, match='1 of them unscored'):
        columns.features(replace(TABLE, losses=fewer))
    with pytest.raises(InputError, match='set f, found the validation set g'):
        columns.features(replace(TABLE, fingerprint='g'))
