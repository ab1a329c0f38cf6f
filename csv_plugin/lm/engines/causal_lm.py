"""Run the body and the head of a causal LM of `transformers` on batches."""
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

#: Number of tokens on which the logits of the head are compared with the
#: logits of the whole model. A model that changes the logits of its head
#: changes them on the first tokens, too.
PROBE_TOKENS = 2


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode without gradients, and restore it."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        # `inference_mode` is not used, because tensors that a model stores
        # in this mode, such as a table of positions, could not be used in a
        # later training.
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def prefix_token(
        tokenizer: PreTrainedTokenizerBase) -> tuple[Optional[int], str]:
    """Return the token put before a text so that its first token is scored.

    The token is BOS, else EOS. Return its id, and its name and id as text,
    such as 'bos 1' or 'eos 2'. If the tokenizer has neither token, return None
    and 'none'.
    """
    for name in ('bos', 'eos'):
        token = getattr(tokenizer, f'{name}_token_id')
        if token is not None:
            return token, f'{name} {token}'
    return None, 'none'


def context_length(model: PreTrainedModel) -> int:
    """Return how many tokens the model takes at once; 0 if it has no limit."""
    config = model.config.get_text_config()
    for name in ('max_position_embeddings', 'n_positions', 'max_seq_len'):
        length = getattr(config, name, None)
        if length:
            return int(length)
    return 0


def input_device(model: PreTrainedModel) -> torch.device:
    """Return the device to which token ids have to be moved.

    It is the CPU if the embeddings are offloaded.
    """
    weight: Any = model.get_input_embeddings().weight
    if weight.is_meta:
        return torch.device('cpu')
    return weight.device


def plain_head(model: PreTrainedModel, inputs: Tensor) -> Optional[nn.Linear]:
    """Return the output head, if its outputs are the logits of the model.

    The result is None if the head is quantised, offloaded or not an
    `nn.Linear`, or if the model changes the outputs of the head (Gemma-2 caps
    them, Cohere scales them). To find such a change, outputs and logits are
    compared on the first tokens of the inputs, `(1, n)`. A cap, which only
    changes large logits, is also looked up in the config of the model.
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
    device = head.weight.device
    by_head = HeadLogits(hidden.to(device), head)
    by_model = _run(model, probe).logits[0]
    is_alone = _same_logits(by_head, by_model.to(device))
    return head if is_alone else None


def _same_logits(by_head: HeadLogits, by_model: Tensor) -> bool:
    """Return whether logits differ by no more than the model's rounding."""
    if by_model.shape[1] != by_head.n_columns:
        return False
    # Some models compute logits in half precision and return them as fp32.
    of_logits = torch.finfo(by_model.dtype)
    of_weights = torch.finfo(by_head.head.weight.dtype)
    eps = max(of_logits.eps, of_weights.eps)
    largest = by_model.abs().max()
    tolerance = 8 * eps * largest.float()
    starts = block_starts(by_head)
    blocks = by_model.split(starts.step, dim=1)
    for start, block in zip(starts, blocks):
        stop = start + block.shape[1]
        difference = by_head.block(start, stop) - block
        # With `not` and `<=`, NaN counts as a difference.
        if not difference.abs().max() <= tolerance:
            return False
    return True


def _is_capped(model: PreTrainedModel) -> bool:
    """Return whether the config of a model sets a cap of its logits."""
    settings = model.config.get_text_config().to_dict()
    for name, value in settings.items():
        is_cap = 'logit' in name and 'softcap' in name.replace('_', '')
        if is_cap and value:
            return True
    return False


def _run(network: nn.Module, inputs: Tensor) -> Any:
    """Return the outputs of a model, or of its body, on padded inputs."""
    # The mask is 1 even at the padding, because transformers does not use the
    # fast causal kernel if the mask contains zeros. Without a mask, it does
    # not use this kernel either: it looks for several texts in one row.
    return network(
        input_ids=inputs,
        attention_mask=torch.ones_like(inputs),
        use_cache=False)


def body_states(model: PreTrainedModel, inputs: Tensor) -> Tensor:
    """Return the final hidden states, after the last norm, `(batch, n, H)`.

    `inputs`, `(batch, n)`, may be padded on the right. No mask is needed, as a
    causal model does not see the tokens to the right.
    """
    return _run(model.base_model, inputs)[0]


def logits_of(model: PreTrainedModel, head: Optional[nn.Linear],
              inputs: Tensor) -> Logits:
    """Return logits at all `batch * n` positions of a batch, row by row.

    `head` is what `plain_head` returned; if it is None, the model computes the
    logits itself. `inputs` are padded on the right, `(batch, n)`.
    """
    if head is None:
        logits = _run(model, inputs).logits
        return FullLogits(logits.flatten(0, 1))
    hidden = body_states(model, inputs)
    hidden = hidden.to(head.weight.device)
    return HeadLogits(hidden.flatten(0, 1), head)


def in_halves(
    model: PreTrainedModel, batch: Sequence[Window],
    run: Callable[[Sequence[Window]], Output]
) -> Iterator[tuple[Sequence[Window], Output]]:
    """Run a model on a batch, halving it until each part fits on the GPU.

    Yield pairs of some windows, in their order, and what `run` returned for
    them. An `InputError` if a single window does not fit on the GPU.
    """
    try:
        output = run(batch)
    except torch.cuda.OutOfMemoryError as error:
        if len(batch) == 1:
            n_tokens = len(batch[0].inputs)
            reason = ' '.join(str(error).split())
            raise InputError(
                f'model {str(model.name_or_path)!r}',
                f'room on the GPU for {n_tokens} tokens', reason[:200],
                'Free memory of the GPU, or use more or larger GPUs.'
            ) from error
    else:
        yield batch, output
        return
    # This comes after the `except` block, because the error kept the tensors
    # of the batch alive.
    torch.cuda.empty_cache()
    middle = len(batch) // 2
    for half in batch[:middle], batch[middle:]:
        yield from in_halves(model, half, run)
