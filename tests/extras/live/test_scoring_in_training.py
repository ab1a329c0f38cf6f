"""A model is scored as by `score`, and trains on as if it was not."""
import random

import numpy as np
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.live.live_predictions import losses_in_training
from csv_plugin.lm.dumping import dump_losses
from tests.extras.live.training import TEXTS, TOKENIZER, model
from tests.lm.models import make


def states():
    return (random.getstate(), np.random.get_state()[1].tolist(),
            torch.get_rng_state().tolist())


def test_losses_are_those_of_a_model_at_rest():
    learner = model()
    live = losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
    rest = dump_losses(learner.eval(), TOKENIZER, TEXTS, name='run@1')
    assert live.info == rest.info
    for mine, other in zip(live.texts, rest.texts):
        assert np.array_equal(mine.losses, other.losses)


def test_the_model_and_all_random_numbers_stay_as_they_were(monkeypatch):
    learner = model()
    learner.transformer.h[0].eval()
    learner.lm_head.weight.grad = torch.ones_like(learner.lm_head.weight)
    modes = [module.training for module in learner.modules()]
    before = states()
    forward = learner.transformer.forward

    def drawing(*args, **settings):
        random.random(), np.random.rand(), torch.rand(1)
        return forward(*args, **settings)

    monkeypatch.setattr(learner.transformer, 'forward', drawing)
    losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
    assert states() == before
    assert [module.training for module in learner.modules()] == modes
    assert (learner.lm_head.weight.grad == 1).all()
    assert torch.is_grad_enabled()


def test_an_error_leaves_the_model_in_training():
    learner = model()
    before = states()
    with torch.no_grad():
        learner.transformer.ln_f.weight.fill_(np.nan)
    with pytest.raises(InputError, match='finite'):
        losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
    assert learner.training and states() == before


def test_what_a_model_keeps_for_later_can_train():
    """Such as a table of positions, made when it first is too short."""

    def gradient(scored):
        learner = make('llama').train()
        rotary = learner.model.rotary_emb
        forward, tables = rotary.forward, []

        def remembering(states, position_ids):
            length = position_ids.shape[1]
            if not tables or tables[-1][0].shape[1] < length:
                tables.append(forward(states, position_ids))
            return tuple(part[:, :length] for part in tables[-1])

        rotary.forward = remembering
        if scored:
            losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
        n_tables = len(tables)
        ids = torch.arange(4)[None]
        learner(input_ids=ids, labels=ids).loss.backward()
        # The table of the scoring is used.
        assert len(tables) == max(n_tables, 1)
        return learner.get_input_embeddings().weight.grad

    assert torch.equal(gradient(scored=True), gradient(scored=False))


def test_autocast_keeps_no_weights_without_gradients():
    learner = model()
    ids = torch.arange(8)[None]
    with torch.autocast('cpu', torch.bfloat16):
        losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
        learner(input_ids=ids, labels=ids).loss.backward()
    assert learner.transformer.h[0].attn.c_attn.weight.grad is not None


@pytest.mark.parametrize('mark', ['ds_id', 'device_mesh'])
def test_parts_of_a_model_are_refused(mark):
    learner = model()
    setattr(learner.lm_head.weight, mark, 0)
    with pytest.raises(InputError, match='the whole model on one rank.*watch'):
        losses_in_training(learner, TOKENIZER, TEXTS, 'run@1')
