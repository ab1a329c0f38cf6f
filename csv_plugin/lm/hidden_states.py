"""Hidden states of a scoring LM at the tokens of the texts (for Eq. 3)."""
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.causal_lm import (body_states, context_length,
                                             evaluating, in_halves,
                                             input_device, prefix_token)
from csv_plugin.lm.engines.protocol import check_finite
from csv_plugin.lm.engines.windows import (Window, by_window, cut_windows,
                                           default_max_tokens, group_batches,
                                           pad, target_rows)
from csv_plugin.lm.tokens.tokenization import tokenize_all

#: Texts whose states are computed together, in fp32. They are kept in the
#: type of the model, so that half precision halves the memory of all others.
PART = 50


def hidden_states(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
                  texts: Sequence[Text]) -> Tensor:
    """Final hidden states of a causal LM at every token of every text.

    The state *at* a token has read that token and those to its left, behind
    the prefix token. Texts longer than the model's context are cut into
    windows. Returns float32, `(T, H)`, tokens of all texts in order.
    """
    prefix, _ = prefix_token(tokenizer)
    limit = context_length(model)
    # Windows have states where a next token is predicted. A copy of the last
    # token is appended, so that the last token has a next one.
    windows: list[Window] = []
    # Number of tokens before each text, and before the end.
    offsets = [0]
    for index, tokens in enumerate(tokenize_all(tokenizer, texts)):
        ids = np.append(tokens.ids, tokens.ids[-1:])
        windows += cut_windows(index, ids, prefix, limit)
        offsets.append(offsets[-1] + len(tokens.ids))
    result = np.zeros((0, 0), np.float32)
    size = default_max_tokens(input_device(model))
    for batch in group_batches(windows, size):
        for part, states in in_halves(model, batch, partial(_states, model)):
            if not result.size:
                result = np.zeros((offsets[-1], states.shape[1]), np.float32)
            for window, rows in zip(part, by_window(part, states)):
                check_finite('hidden states', str(model.name_or_path),
                             texts[window.text], rows)
                # The first row of the first window belongs to the prefix.
                skip = int(window.first == 0)
                start = offsets[window.text] + window.first + skip - 1
                result[start:start + len(rows) - skip] = rows[skip:]
    return torch.from_numpy(result)


def _states(model: PreTrainedModel,
            batch: Sequence[Window]) -> NDArray[np.float32]:
    """States where the targets are predicted, window by window, `(n, H)`."""
    with evaluating(model):
        inputs = pad(batch).to(input_device(model))
        body = body_states(model, inputs).flatten(0, 1)
        _check_width(model, body.shape[1])
        rows = target_rows(batch).to(body.device)
        return body[rows].float().cpu().numpy()


def _check_width(model: PreTrainedModel, width: int) -> None:
    """Refuse wrappers whose inner model is the whole model with its head."""
    expected = getattr(model.get_output_embeddings(), 'in_features', width)
    if width != expected:
        raise InputError(f'hidden states of {model.name_or_path!r}',
                         f'the {expected} numbers that its head takes',
                         str(width), 'Merge adapters into the model first.')


def states_in_parts(model: PreTrainedModel,
                    tokenizer: PreTrainedTokenizerBase,
                    texts: Sequence[Text],
                    progress: Progress = iter) -> Tensor:
    """Final hidden states at all tokens, computed for some texts at a time.

    They are bfloat16 if the model computes in bfloat16, else float32, `(T,
    H)`. `progress` wraps the parts.
    """
    dtype = torch.bfloat16 if model.dtype == torch.bfloat16 else torch.float32
    parts = []
    for first in progress(range(0, len(texts), PART)):
        part = hidden_states(model, tokenizer, texts[first:first + PART])
        # A part of empty texts has no states, and so no width.
        if len(part):
            parts.append(part.to(dtype))
    return torch.cat(parts)
