"""Mean losses of tokens, bytes and characters."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import (bits_per_byte, bits_per_character,
                                      mean_token_loss)
from csv_plugin.core.losses import LossTable

NAN = float('nan')
BASELINES = (mean_token_loss, bits_per_byte, bits_per_character)


def table(losses, n_chars=(5, 1), n_bytes=(5, 3)):
    losses = np.array(losses)
    models = tuple(f'm{i}' for i in range(len(losses)))
    return LossTable(models, ('en', 'zh'), losses,
                     np.array([0, 2, losses.shape[1]]), np.array(n_chars),
                     np.array(n_bytes), 'f')


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
    assert mean_token_loss(losses, mask).tolist() == [2.5, 6.0]


@pytest.mark.parametrize('baseline', BASELINES)
def test_a_table_without_common_tokens_is_refused(baseline):
    losses = table([[1.0, 2.0, NAN], [NAN, NAN, 8.0]])
    with pytest.raises(InputError, match="none of 3, .*'m1' .*fewest, 1"):
        baseline(losses)


@pytest.mark.parametrize('mask', [[True, False, False], [False] * 3])
def test_answers_without_common_tokens_are_refused(mask):
    losses = table([[NAN, 2.0, 3.0]])
    with pytest.raises(InputError, match=f'none of {sum(mask)}'):
        mean_token_loss(losses, np.array(mask))
