"""Eq. 1 and the baselines."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.baselines import (bits_per_byte, bits_per_character,
                                       capability_score, label_token_loss,
                                       mean_token_loss)
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable

NAN = float('nan')
BASELINES = (mean_token_loss, bits_per_byte, bits_per_character)


def table(losses, n_chars=(5, 1), n_bytes=(5, 3)):
    losses = np.array(losses)
    models = tuple(f'm{i}' for i in range(len(losses)))
    return LossTable(models, ('en', 'zh'), losses,
                     np.array([0, 2, losses.shape[1]]), np.array(n_chars),
                     np.array(n_bytes), 'f')


def test_capability_score_is_equation_1():
    losses = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]])
    weights = np.array([0.5, -1.0, 2.0])
    expected = [(0.5 - 2 + 8) / 10, (1.5 - 5 + 14) / 10]
    np.testing.assert_allclose(
        capability_score(losses, weights, 10), expected, 1e-15)


@given(st.lists(st.floats(0, 30), min_size=3, max_size=3), st.integers(1, 99))
def test_uniform_weights_give_the_loss_per_character(losses, n_chars):
    score = capability_score(np.array([losses]), np.ones(3), n_chars)
    np.testing.assert_allclose(score, sum(losses) / n_chars, 1e-14, 1e-300)


def test_unscored_tokens_of_weight_zero_are_left_out():
    losses = np.array([[NAN, 2.0], [np.inf, 4.0]])
    score = capability_score(losses, np.array([0.0, 1.0]), 2)
    assert score.tolist() == [1.0, 2.0]


@pytest.mark.parametrize('losses, weights, n_chars, message', [
    ([[1.0, NAN]], [0.0, 1e-9], 1, 'found nan for model 0, token 1'),
    ([[1.0, 1.0], [1.0, np.inf]], [0.0, 1.0], 1, 'inf for model 1, tok'),
    ([[1.0, 1.0]], [1.0, NAN], 1, 'found nan for token 1'),
    ([[1.0, 1.0]], [1.0, np.inf], 1, 'found inf for token 1'),
    ([[1.0, 1.0]], [1.0], 1, r'found \(1, 2\) and \(1,\)'),
    ([1.0, 1.0], [1.0, 1.0], 1, r'found \(2,\) and \(2,\)'),
    ([[1.0]], [1.0], 0, 'n_chars above 0, found 0'),
    ([[1.0]], [1.0], -3, 'n_chars above 0, found -3'),
])
def test_bad_scores_are_refused(losses, weights, n_chars, message):
    with pytest.raises(InputError, match=message):
        capability_score(np.array(losses), np.array(weights), n_chars)


def test_baselines_count_the_tokens_that_every_model_scored():
    losses = table([[NAN, 2.0, 3.0, 7.0], [1.0, 4.0, 8.0, NAN]])
    np.testing.assert_allclose(mean_token_loss(losses), [2.5, 6.0], 1e-15)
    np.testing.assert_allclose(
        bits_per_byte(losses),
        np.array([5.0, 12.0]) / np.log(2) / 8, 1e-15)
    np.testing.assert_allclose(
        bits_per_character(losses),
        np.array([5.0, 12.0]) / np.log(2) / 6, 1e-15)


def test_bits_are_one_per_byte_for_a_coin_flip_on_each():
    coin = np.log(2) * np.array([[1.0, 4.0, 3.0]])
    np.testing.assert_allclose(bits_per_byte(table(coin)), [1.0], 1e-15)


def test_label_token_loss_counts_the_scored_answer_tokens():
    losses = table([[1.0, 2.0, 3.0, 7.0], [1.0, 4.0, 8.0, NAN]])
    mask = np.array([False, True, True, True])
    assert label_token_loss(losses, mask).tolist() == [2.5, 6.0]


@pytest.mark.parametrize('baseline', BASELINES)
def test_a_table_without_common_tokens_is_refused(baseline):
    losses = table([[1.0, 2.0, NAN], [NAN, NAN, 8.0]])
    with pytest.raises(InputError, match="none of 3, .*'m1' .*fewest, 1"):
        baseline(losses)


@pytest.mark.parametrize('mask', [[True, False, False], [False] * 3])
def test_answers_without_common_tokens_are_refused(mask):
    losses = table([[NAN, 2.0, 3.0]])
    with pytest.raises(InputError, match=f'label_mask: .*none of {sum(mask)}'):
        label_token_loss(losses, np.array(mask))


@pytest.mark.parametrize('mask', [[True, False], [1, 0, 0]])
def test_masks_of_another_shape_or_type_are_refused(mask):
    with pytest.raises(InputError, match=r'booleans of shape \(3,\)'):
        label_token_loss(table([[1.0, 2.0, 3.0]]), np.array(mask))


@pytest.mark.parametrize('baseline', BASELINES[1:])
def test_texts_without_length_are_refused(baseline):
    empty = table([[0.0, 0.0, 0.0]], n_chars=(0, 0), n_bytes=(0, 0))
    with pytest.raises(InputError, match='0 in all'):
        baseline(empty)
