"""Losses of a real pretrained model, exact to rounding."""
import copy

import numpy as np
import pytest

from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.token_losses import token_losses
from tests.lm import smollm2
from tests.lm.models import reference_losses
from tests.lm.tokens.tokenizers import CORPUS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not smollm2.is_installed(),
        reason='SmolLM2 is not installed (see tests/lm/smollm2.py)')
]

PROSE = ('Water boils at a lower temperature on a mountain, because the air '
         'above presses less on it. ')


@pytest.fixture(scope='module')
def model():
    return smollm2.load()


@pytest.fixture(scope='module')
def texts():
    return [
        *(Text(f't{i}', text) for i, text in enumerate(CORPUS)),
        Text('prose', PROSE),
        Text('repeated', 8 * PROSE)
    ]


@pytest.fixture(scope='module')
def losses(model, texts):
    return token_losses(*model, texts)


def largest_difference(model, tokenizer, texts, losses):
    """From one pass a text and a log-softmax in 64 bits, nats a token."""
    return max(
        np.abs(scored.losses - reference_losses(model, [
            tokenizer.bos_token_id,
            *tokenizer(text.text, add_special_tokens=False).input_ids
        ]).numpy()).max() for text, scored in zip(texts, losses))


def test_losses_are_those_of_a_log_softmax_in_64_bits(model, texts, losses):
    assert largest_difference(*model, texts, losses) <= 5e-5


def test_the_model_itself_in_64_bits_is_close(model, texts, losses):
    """What rounding in a body of 32 bits costs, in whatever program."""
    double = copy.deepcopy(model[0]).double()
    assert largest_difference(double, model[1], texts, losses) <= 2e-4


def test_it_has_learned_a_language(losses):
    """Bits per byte of English, and of what has been read before."""
    *_, prose, repeated = losses
    n_bytes = len(PROSE.encode())
    assert prose.losses.sum() / np.log(2) / n_bytes < 2
    assert repeated.losses.sum() < 3 * prose.losses.sum()
