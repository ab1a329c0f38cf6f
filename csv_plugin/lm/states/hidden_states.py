"""Hidden states of a scoring LM at the tokens of the texts.

They are the last hidden states of a frozen causal LM, of which Eq. 3 makes
the salience weights.
"""
from collections.abc import Sequence
from functools import partial
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.causal_lm import (body_states, context_length,
                                             evaluating, in_halves,
                                             input_device, prefix_token)
from csv_plugin.lm.engines.windows import (Window, cut_windows,
                                           default_max_tokens, group_batches,
                                           pad, target_rows)
from csv_plugin.lm.tokens.tokenization import tokenize_all


def hidden_states(model: PreTrainedModel,
                  tokenizer: PreTrainedTokenizerBase,
                  texts: Sequence[Text],
                  context: Optional[int] = None,
                  progress: Progress = iter) -> Tensor:
    """Final hidden states of a causal LM at every token of every text.

    The state *at* a token has read that token and those to its left, behind
    the prefix token (`prefix_token`). Texts longer than the context are cut
    into windows as in `token_losses`.

    Args:
        model (PreTrainedModel): A causal LM.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (Sequence[Text]): What to read.
        context (Optional[int]): Longest window, prefix included; the
            model's own by default, 0 = no limit.
        progress (Progress): Wraps the batches, as `tqdm.tqdm` does.

    Returns:
        Tensor: float32, shape `(T, H)`, tokens of all texts in order.

    Raises:
        InputError: If a text cannot be reproduced from its tokens, a state
            is not finite, the model is wrapped by an adapter, or a GPU has
            no room for one window.
    """
    prefix, _ = prefix_token(tokenizer)
    limit = context_length(model) if context is None else context
    tokenized = tokenize_all(tokenizer, texts)
    offsets = np.cumsum([0, *(len(tokens.ids) for tokens in tokenized)])
    # The state at a token is where the next one is predicted from, so the
    # last token gets a follower.
    windows = [
        window
        for index, tokens in enumerate(tokenized) for window in cut_windows(
            index, np.append(tokens.ids, tokens.ids[-1:]), prefix, limit)
    ]
    result: Optional[NDArray[np.float32]] = None
    size = default_max_tokens(input_device(model))
    for batch in progress(list(group_batches(windows, size))):
        for part, states in in_halves(model, batch, partial(_states, model)):
            if result is None:
                result = np.zeros((offsets[-1], states.shape[1]), np.float32)
            bounds = np.cumsum([len(window.targets) for window in part])[:-1]
            for window, rows in zip(part, np.split(states, bounds)):
                _check_finite(model, texts[window.text], rows)
                # Target t stands behind token t - 1; the first, behind the
                # prefix.
                skip = int(window.first == 0)
                start = offsets[window.text] + window.first + skip - 1
                result[start:start + len(rows) - skip] = rows[skip:]
    return torch.from_numpy(
        np.zeros((0, 0), np.float32) if result is None else result)


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


def _check_finite(model: PreTrainedModel, text: Text,
                  states: NDArray[np.float32]) -> None:
    if not np.isfinite(states).all():
        raise InputError(
            f'hidden states of {model.name_or_path!r}', 'finite numbers',
            f'NaN or infinity in text {text.text_id!r}',
            'If the model runs in float16, which overflows, load it in '
            'bfloat16 or float32.')
