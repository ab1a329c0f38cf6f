"""Losses of a real pretrained model, exact to rounding."""
import copy

import numpy as np
import pytest

from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.token_losses import token_losses
from tests.lm import smollm2
from tests.lm.models import reference_losses
from tests.lm.tokens.tokenizers import CORPUS

PROSE = ('Water boils at a lower temperature on a mountain, because the air '
         'above presses less on it. ')


@pytest.mark.slow
@pytest.mark.skipif(
    not smollm2.is_installed(),
    reason='SmolLM2 is not installed (see tests/lm/smollm2.py)')
def test_losses_are_those_of_a_log_softmax_in_64_bits():
    """Near those of a body in 64 bits, and of one that learned English."""
    model, tokenizer = smollm2.load()
    texts = [
        Text(f't{i}', text)
        for i, text in enumerate([*CORPUS, PROSE, 8 * PROSE])
    ]
    losses = token_losses(model, tokenizer, texts)
    double = copy.deepcopy(model).double()
    for body, tolerance in ((model, 5e-5), (double, 2e-4)):
        for text, scored in zip(texts, losses):
            ids = tokenizer(text.text, add_special_tokens=False).input_ids
            expected = reference_losses(body, [tokenizer.bos_token_id, *ids])
            # Large losses have larger rounding errors.
            np.testing.assert_allclose(
                scored.losses, expected, rtol=2e-5, atol=tolerance)
    *_, prose, repeated = losses
    assert prose.losses.sum() / np.log(2) / len(PROSE.encode()) < 2
    assert repeated.losses.sum() < 3 * prose.losses.sum()
