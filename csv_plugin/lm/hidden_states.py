"""Hidden states of a scoring LM at the tokens of the texts (for Eq. 3)."""
import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.files import atomic_path
from csv_plugin.lm.engines.causal_lm import (body_states, context_length,
                                             evaluating, in_halves,
                                             input_device, prefix_token,
                                             weights_in_memory)
from csv_plugin.lm.engines.windows import (Window, cut_windows,
                                           default_max_tokens, group_batches,
                                           pad, target_rows)
from csv_plugin.lm.tokens.tokenization import tokenize_all

#: Texts whose states are computed together.
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
    for batch in group_batches(windows, size):
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


def kept_states(path: Path,
                model: PreTrainedModel,
                tokenizer: PreTrainedTokenizerBase,
                texts: TextSet,
                progress: Progress = iter) -> Tensor:
    """Final hidden states at all tokens, computed once and kept in a file.

    An existing file is used if it is not damaged and belongs to the same
    weights, of which a sample is compared, and to the same tokens. States are
    stored in bfloat16 if the model computes in bfloat16, else in float32. They
    are mapped from the file if it was there, `(T, H)`.
    """
    ids = [tokens.ids for tokens in tokenize_all(tokenizer, texts.texts)]
    if not any(map(len, ids)):
        raise InputError('texts', 'a text with a token', 'none',
                         'Give texts that are not empty.')
    key = _identity(model, tokenizer, ids)
    kept = _read_states(path, key)
    if kept is not None:
        return kept
    dtype = torch.bfloat16 if model.dtype == torch.bfloat16 else torch.float32
    parts = []
    for first in progress(range(0, len(texts), PART)):
        if any(map(len, ids[first:first + PART])):
            part = texts.texts[first:first + PART]
            parts.append(hidden_states(model, tokenizer, part).to(dtype))
    states = torch.cat(parts)
    _write_states(path, states, key)
    return states


def _write_states(path: Path, states: Tensor, key: str) -> None:
    with atomic_path(path, waits=False) as temporary:
        save_file({'states': states},
                  temporary,
                  metadata={
                      'key': key,
                      'sha256': _digest(states)
                  })


def _read_states(path: Path, key: str) -> Optional[Tensor]:
    """Mapped states; None if the file is missing, damaged or of other states.

    The file is read once, to check it.
    """
    try:
        with safe_open(os.fspath(path), framework='pt') as file:
            metadata = file.metadata() or {}
            if metadata.get('key') != key:
                return None
            states = file.get_tensor('states')
    except (OSError, SafetensorError):
        return None
    return states if metadata.get('sha256') == _digest(states) else None


def _digest(states: Tensor) -> str:
    numbers = states.contiguous().view(torch.uint8).numpy()
    return hashlib.sha256(numbers.data).hexdigest()


def _identity(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
              ids: Sequence[NDArray[np.int64]]) -> str:
    """SHA-256 of everything that hidden states depend on."""
    digest = hashlib.sha256(
        f'{weights_in_memory(model)} {context_length(model)} '
        f'{prefix_token(tokenizer)}'.encode())
    for row in ids:
        digest.update(len(row).to_bytes(8, 'big') + row.tobytes())
    return digest.hexdigest()
