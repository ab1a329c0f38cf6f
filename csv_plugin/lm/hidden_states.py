"""Compute hidden states of a scoring LM at the tokens of texts (Eq. 3)."""
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

#: Number of texts whose states are in memory as fp32 at the same time. The
#: states of finished texts are kept in bfloat16 if the model computes in it,
#: which takes half the memory.
TEXTS_AT_ONCE = 50


def hidden_states(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
                  texts: Sequence[Text]) -> Tensor:
    """Return the final hidden states at every token of every text.

    The state *at* a token is computed from the prefix token, the tokens to its
    left and the token itself. Texts longer than the context of the model are
    cut into windows. The states are float32, `(T, H)`, with the T tokens of
    all texts in order.
    """
    prefix, _ = prefix_token(tokenizer)
    limit = context_length(model)
    # Windows only give states at positions that predict a next token.
    # Therefore a copy of the last token is appended to each text.
    windows: list[Window] = []
    # Number of tokens before each text.
    offsets = []
    n_tokens = 0
    tokenized = tokenize_all(tokenizer, texts)
    for index, tokens in enumerate(tokenized):
        last = tokens.ids[-1:]
        ids = np.append(tokens.ids, last)
        windows += cut_windows(index, ids, prefix, limit)
        offsets.append(n_tokens)
        n_tokens += len(tokens.ids)
    result = np.zeros((0, 0), np.float32)
    name = str(model.name_or_path)
    size = default_max_tokens(input_device(model))
    run = partial(_states, model)
    for batch in group_batches(windows, size):
        for part, states in in_halves(model, batch, run):
            if not result.size:
                hidden_size = states.shape[1]
                result = np.zeros((n_tokens, hidden_size), np.float32)
            states_by_window = by_window(part, states)
            for window, rows in zip(part, states_by_window):
                text = texts[window.text]
                check_finite('hidden states', name, text, rows)
                start = offsets[window.text] + window.first - 1
                if window.first == 0:
                    # The first row belongs to the prefix.
                    rows = rows[1:]
                    start += 1
                result[start:start + len(rows)] = rows
    return torch.from_numpy(result)


def _states(model: PreTrainedModel,
            batch: Sequence[Window]) -> NDArray[np.float32]:
    """Return the states that predict the targets of a batch, `(n, H)`."""
    with evaluating(model):
        inputs = pad(batch).to(input_device(model))
        body = body_states(model, inputs)
        at_all_positions = body.flatten(0, 1)
        _check_width(model, at_all_positions.shape[1])
        rows = target_rows(batch).to(body.device)
        states = at_all_positions[rows].float()
        return states.cpu().numpy()


def _check_width(model: PreTrainedModel, width: int) -> None:
    """Refuse a model whose body does not return the inputs of its head.

    An example is a wrapper of a model with an adapter: its body is the whole
    wrapped model, including the head.
    """
    head = model.get_output_embeddings()
    expected = getattr(head, 'in_features', width)
    if width != expected:
        raise InputError(f'hidden states of {model.name_or_path!r}',
                         f'the {expected} numbers that its head takes',
                         str(width), 'Merge adapters into the model first.')


def states_in_parts(model: PreTrainedModel,
                    tokenizer: PreTrainedTokenizerBase,
                    texts: Sequence[Text],
                    progress: Progress = iter) -> Tensor:
    """Return the final hidden states at all tokens, `(T, H)`.

    The states are computed for `TEXTS_AT_ONCE` texts at a time. They are
    bfloat16 if the model is bfloat16, else float32. `progress` wraps the loop
    over these groups of texts.
    """
    dtype = torch.float32
    if model.dtype == torch.bfloat16:
        dtype = torch.bfloat16
    parts = []
    for first in progress(range(0, len(texts), TEXTS_AT_ONCE)):
        part = texts[first:first + TEXTS_AT_ONCE]
        states = hidden_states(model, tokenizer, part)
        # A part of empty texts has no states, and so no width.
        if len(states):
            parts.append(states.to(dtype))
    return torch.cat(parts)
