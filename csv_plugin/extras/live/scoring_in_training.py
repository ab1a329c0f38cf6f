"""Token losses of a model in training, which goes on as if nothing was."""
import random
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.texts import TextSet
from csv_plugin.lm.dumping import dump_losses


def losses_in_training(model: nn.Module, tokenizer: PreTrainedTokenizerBase,
                       texts: TextSet, name: str) -> TokenLossDump:
    """Score a model between two steps of its training, in nats.

    It is a causal LM of `transformers`, perhaps compiled or wrapped for
    data-parallel training. It is scored where it is, without gradients and in
    evaluation mode. Its modes, its gradients and the states of all random
    numbers are afterwards what they were.

    Raises:
        InputError: The model is not a whole model of `transformers`, or as
            in `token_losses`, such as for a loss that is not finite.
    """
    whole = _whole_model(model)
    devices = {p.device for p in whole.parameters() if p.is_cuda}
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(list(devices)):
        try:
            return dump_losses(whole, tokenizer, texts, name=name)
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            # Copies of weights in half precision that an outer `autocast`
            # keeps were made without gradients.
            torch.clear_autocast_cache()


def _whole_model(model: nn.Module) -> PreTrainedModel:
    """The model of `transformers` inside of what trains it."""
    inner: Any = model
    while not isinstance(inner, PreTrainedModel):
        # A compiled model, or one that is the same on several devices.
        held = getattr(inner, '_orig_mod', getattr(inner, 'module', None))
        if not isinstance(held, nn.Module):
            raise InputError(
                'model in training', 'a causal LM of transformers',
                f'a {type(inner).__name__}',
                'Give the model that the trainer wraps; for '
                'others, see Tables in docs/importing.md.')
        inner = held
    if _is_sharded(model):
        # The others would have to run the model too: waiting for them hangs.
        raise InputError(
            'model in training', 'the whole model on one rank',
            'a part of it on each (FSDP, ZeRO-3 or tensor parallel)',
            'Score its checkpoints by `salience watch`.')
    return inner


def _is_sharded(model: nn.Module) -> bool:
    """Whether a rank holds only a part of the parameters."""
    # Names in place of classes, whose modules not every torch has: FSDP 1
    # wraps modules, FSDP 2 and tensor parallel make tensors of a mesh of
    # devices, and ZeRO-3 numbers the parameters that it took apart.
    return any(
        type(module).__name__ == 'FullyShardedDataParallel'
        for module in model.modules()) or any(
            hasattr(parameter, 'device_mesh') or hasattr(parameter, 'ds_id')
            for parameter in model.parameters())
