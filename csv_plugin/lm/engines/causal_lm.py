"""Running a `transformers` causal LM: body and head, prefix, context."""
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

import torch
from torch import Tensor, nn

from csv_plugin.lm.engines.logit_statistics import (COLUMNS, FullLogits,
                                                    HeadLogits, Logits)

#: Tokens on which the two ways to the logits are compared.
PROBE_TOKENS = 8


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode without gradients, and back to what it was."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True


def prefix_token(tokenizer: Any) -> tuple[Optional[int], str]:
    """The token put in front of every text, so that its first is scored.

    Returns:
        tuple[Optional[int], str]: Its id and what to record: BOS ('bos 1'),
        else EOS ('eos 2'), else nothing ('none').
    """
    for name in ('bos', 'eos'):
        token = getattr(tokenizer, f'{name}_token_id')
        if token is not None:
            return token, f'{name} {token}'
    return None, 'none'


def context_length(model: Any) -> int:
    """Most tokens the model takes at once; 0 if it has no limit."""
    config = model.config.get_text_config()
    for name in ('max_position_embeddings', 'n_positions', 'max_seq_len'):
        length = getattr(config, name, None)
        if length:
            return int(length)
    return 0


def input_device(model: Any) -> torch.device:
    """Where token ids go; hooks take them on where weights are offloaded."""
    device = model.get_input_embeddings().weight.device
    return torch.device('cpu') if device.type == 'meta' else device


def plain_head(model: Any, inputs: Tensor) -> Optional[nn.Linear]:
    """The head, if body and head alone give the model's logits.

    None where the head is quantised, offloaded or no `nn.Linear`, and where
    a model does more to its logits (Gemma-2 caps them, Cohere scales them),
    which is seen on the first tokens of an input; a cap, which shows at
    large logits only, is looked for by name as well.

    Args:
        model (Any): A causal LM in evaluation mode.
        inputs (Tensor): Token ids, shape `(1, n)`.
    """
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear or head.weight.is_meta \
            or not head.weight.is_floating_point() or _is_capped(model):
        return None
    probe = inputs[:, :PROBE_TOKENS]
    hidden = body_states(model, probe)[0]
    if hidden.shape[-1] != head.in_features:
        return None
    theirs = _run(model, probe).logits[0]
    ours = HeadLogits(hidden.to(head.weight.device).float(), head)
    return head if _agree(ours, theirs.to(head.weight.device)) else None


def _agree(ours: HeadLogits, theirs: Tensor) -> bool:
    """Whether logits differ by a model's own rounding at most."""
    if theirs.shape[1] != ours.n_columns:
        return False
    # Some models make logits in half precision and hand them out as fp32.
    eps = max(torch.finfo(x.dtype).eps for x in (theirs, ours.head.weight))
    tolerance = 8 * eps * theirs.abs().max().float()
    starts = range(0, ours.n_columns, COLUMNS)
    return all((ours.block(start, start + block.shape[1]) -
                block).abs().max() <= tolerance
               for start, block in zip(starts, theirs.split(COLUMNS, dim=1)))


def _is_capped(model: Any) -> bool:
    settings = model.config.get_text_config().to_dict()
    return any('logit' in name and 'softcap' in name.replace('_', '') and value
               for name, value in settings.items())


def _run(network: Any, inputs: Tensor) -> Any:
    # All ones, padding included: with zeros, or without a mask (where it
    # looks for packed texts), transformers gives up the causal kernel.
    return network(
        input_ids=inputs,
        attention_mask=torch.ones_like(inputs),
        use_cache=False)


def body_states(model: Any, inputs: Tensor) -> Tensor:
    """Final hidden states, after the last norm, shape `(batch, n, H)`.

    Args:
        model (Any): A causal LM in evaluation mode.
        inputs (Tensor): Token ids, padded on the right if at all: causal
            models do not look right, so no mask is needed.
    """
    return _run(model.base_model, inputs)[0]


def logits_of(model: Any, head: Optional[nn.Linear], inputs: Tensor) -> Logits:
    """Logits at all positions of a batch, row by row.

    Args:
        model (Any): A causal LM in evaluation mode.
        head (Optional[nn.Linear]): From `plain_head`; None runs the model
            as a whole.
        inputs (Tensor): Token ids, padded on the right. `(batch, n)`.
    """
    if head is None:
        return FullLogits(_run(model, inputs).logits.flatten(0, 1))
    hidden = body_states(model, inputs).to(head.weight.device)
    return HeadLogits(hidden.flatten(0, 1), head)
