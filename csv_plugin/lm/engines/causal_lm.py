"""Running a `transformers` causal LM: body and head, prefix, batches."""
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional, TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.logit_losses import (FullLogits, HeadLogits, Logits,
                                                block_starts)
from csv_plugin.lm.engines.windows import Window

Output = TypeVar('Output')

#: Tokens on which the logits of the head are compared with the model's own: a
#: model that changes them does so from the first tokens on.
PROBE_TOKENS = 2


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode without gradients, and back after."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        # Not `inference_mode`: what a model then keeps for later, such as a
        # table of positions, could take no part in a training.
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def prefix_token(
        tokenizer: PreTrainedTokenizerBase) -> tuple[Optional[int], str]:
    """Token put in front of every text, so that its first token is scored.

    Returns its id, and its name for the records: BOS ('bos 1'), else EOS ('eos
    2'), else no token ('none').
    """
    for name in ('bos', 'eos'):
        token = getattr(tokenizer, f'{name}_token_id')
        if token is not None:
            return token, f'{name} {token}'
    return None, 'none'


def context_length(model: PreTrainedModel) -> int:
    """Most tokens the model takes at once; 0 if it has no limit."""
    config = model.config.get_text_config()
    for name in ('max_position_embeddings', 'n_positions', 'max_seq_len'):
        length = getattr(config, name, None)
        if length:
            return int(length)
    return 0


def input_device(model: PreTrainedModel) -> torch.device:
    """The device that takes token ids; the CPU for offloaded embeddings."""
    weight: Any = model.get_input_embeddings().weight
    return torch.device('cpu') if weight.is_meta else weight.device


def plain_head(model: PreTrainedModel, inputs: Tensor) -> Optional[nn.Linear]:
    """The output head, if the model's logits are those of the head alone.

    None if the head is quantised, offloaded or no `nn.Linear`, and if the
    model changes its logits further (Gemma-2 caps them, Cohere scales them).
    Such a change shows on the first tokens of the inputs, `(1, n)`; a cap,
    which changes large logits only, is also looked up in the model's config.
    """
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear or head.weight.is_meta:
        return None
    if not head.weight.is_floating_point() or _is_capped(model):
        return None
    probe = inputs[:, :PROBE_TOKENS]
    hidden = body_states(model, probe)[0]
    if hidden.shape[1] != head.in_features:
        return None
    by_model = _run(model, probe).logits[0].to(head.weight.device)
    by_head = HeadLogits(hidden.to(head.weight.device), head)
    return head if _same_logits(by_head, by_model) else None


def _same_logits(by_head: HeadLogits, by_model: Tensor) -> bool:
    """Return whether logits differ by the model's own rounding at most."""
    if by_model.shape[1] != by_head.n_columns:
        return False
    # Some models compute logits in half precision and return them as fp32.
    eps = max(
        torch.finfo(by_model.dtype).eps,
        torch.finfo(by_head.head.weight.dtype).eps)
    tolerance = 8 * eps * by_model.abs().max().float()
    starts = block_starts(by_head)
    blocks = by_model.split(starts.step, dim=1)
    for start, block in zip(starts, blocks):
        difference = by_head.block(start, start + block.shape[1]) - block
        # Written so that NaN differs, too.
        if not difference.abs().max() <= tolerance:
            return False
    return True


def _is_capped(model: PreTrainedModel) -> bool:
    settings = model.config.get_text_config().to_dict()
    for name, value in settings.items():
        if 'logit' in name and 'softcap' in name.replace('_', '') and value:
            return True
    return False


def _run(network: nn.Module, inputs: Tensor) -> Any:
    # All ones, padding included: with zeros, or without a mask (where it
    # looks for packed texts), transformers gives up the causal kernel.
    return network(
        input_ids=inputs,
        attention_mask=torch.ones_like(inputs),
        use_cache=False)


def body_states(model: PreTrainedModel, inputs: Tensor) -> Tensor:
    """Final hidden states, after the last norm, shape `(batch, n, H)`.

    `inputs` may be padded on the right: causal models do not look right, so
    no mask is needed.
    """
    return _run(model.base_model, inputs)[0]


def logits_of(model: PreTrainedModel, head: Optional[nn.Linear],
              inputs: Tensor) -> Logits:
    """Logits at all `batch * n` positions of a batch, row by row.

    `head` is from `plain_head`; None runs the model as a whole. `inputs` are
    padded on the right, `(batch, n)`.
    """
    if head is None:
        return FullLogits(_run(model, inputs).logits.flatten(0, 1))
    hidden = body_states(model, inputs).to(head.weight.device)
    return HeadLogits(hidden.flatten(0, 1), head)


def in_halves(
    model: PreTrainedModel, batch: Sequence[Window],
    run: Callable[[Sequence[Window]], Output]
) -> Iterator[tuple[Sequence[Window], Output]]:
    """Run a model on a batch, halved until the GPU has room for each part.

    Yields windows, in their order, and what `run` returned for them. An
    `InputError` if the GPU has no room for a single window.
    """
    try:
        output = run(batch)
    except torch.cuda.OutOfMemoryError as error:
        if len(batch) == 1:
            raise InputError(
                f'model {str(model.name_or_path)!r}',
                f'room on the GPU for {len(batch[0].inputs)} tokens',
                ' '.join(str(error).split())[:200],
                'Free memory of the GPU, or take more or larger GPUs.'
            ) from error
    else:
        yield batch, output
        return
    # Only now: the error kept what the batch had taken.
    torch.cuda.empty_cache()
    middle = len(batch) // 2
    for half in batch[:middle], batch[middle:]:
        yield from in_halves(model, half, run)
