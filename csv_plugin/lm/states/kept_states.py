"""Hidden states of a scoring LM in a file that a killed run can resume."""
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.lm.engines.causal_lm import context_length, prefix_token
from csv_plugin.lm.states.hidden_states import StateChunk, hidden_states
from csv_plugin.lm.states.state_cache import (open_states, state_chunks,
                                              write_states)
from csv_plugin.lm.tokens.tokenization import tokenize_all

#: Texts of a part; a run that is killed loses at most one part.
PART = 50
#: Most numbers of a weight tensor that enter the identity of a model.
_SAMPLE = 1024


def kept_states(path: Path,
                model: PreTrainedModel,
                tokenizer: PreTrainedTokenizerBase,
                texts: TextSet,
                progress: Progress = iter) -> Tensor:
    """Final hidden states at all tokens, computed once and kept in a file.

    An existing file is used if it belongs to the same weights, of which a
    sample is compared, and to the same tokens. Otherwise the states are
    computed in parts, each in a file next to it, so that after a killed run
    only the missing parts are computed. They are stored in bfloat16 if the
    model computes in bfloat16, else in float32.

    Args:
        path (Path): The file, created if necessary.
        model (PreTrainedModel): A causal LM.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (TextSet): The texts to read.
        progress (Progress): Wraps the parts.

    Returns:
        Tensor: Shape `(T, H)`, mapped from the file.

    Raises:
        InputError: As in `hidden_states`.
    """
    ids = [tokens.ids for tokens in tokenize_all(tokenizer, texts.texts)]
    counts = np.array([len(row) for row in ids])
    key = identity(model, tokenizer, ids), texts.fingerprint
    dtype = torch.bfloat16 if model.dtype == torch.bfloat16 else torch.float32
    n_tokens = int(counts.sum())
    kept = _opened(path, key, n_tokens)
    if kept is not None:
        return kept
    files = [(first, path.with_suffix(f'.part{first}'))
             for first in range(0, len(texts), PART)
             if counts[first:first + PART].any()]
    parts = []
    for first, file in progress(files):
        part = slice(first, first + PART)
        offsets = _offsets(counts[part])
        states = _opened(file, key, int(offsets[-1]))
        if states is None:
            chunks = hidden_states(model, tokenizer, texts.texts[part])
            write_states(file, chunks, offsets, *key, dtype)
            states = open_states(file, *key, int(offsets[-1]))
        parts.append((first, states))
    write_states(path, _joined(parts, counts), _offsets(counts), *key, dtype)
    # Also parts of other models.
    for file in path.parent.glob(f'{escape(path.stem)}.part*'):
        file.unlink()
    return open_states(path, *key, n_tokens)


def identity(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
             ids: list[NDArray]) -> str:
    """SHA-256 of everything that hidden states depend on.

    Args:
        model (PreTrainedModel): A sample of each of its weights is hashed,
            and its context length.
        tokenizer (PreTrainedTokenizerBase): Its prefix token is hashed.
        ids (list[NDArray]): Token ids of every text.
    """
    digest = hashlib.sha256()
    for name, weight in model.named_parameters():
        digest.update(f'{name} {tuple(weight.shape)} {weight.dtype}'.encode())
        # The numbers of offloaded weights are not at hand.
        if weight.device.type != 'meta' and weight.numel():
            flat = weight.detach().flatten()
            sample = flat[::-(-len(flat) // _SAMPLE)].float().cpu().numpy()
            digest.update(sample.tobytes())
    digest.update(
        f'{context_length(model)} {prefix_token(tokenizer)}'.encode())
    for row in ids:
        digest.update(len(row).to_bytes(8, 'big') + row.tobytes())
    return digest.hexdigest()


def _opened(path: Path, key: tuple[str, str],
            n_tokens: int) -> Optional[Tensor]:
    """The states of this model and these texts, if a file holds them."""
    try:
        return open_states(path, *key, n_tokens)
    except InputError:
        return None


def _joined(parts: list[tuple[int, Tensor]],
            counts: NDArray[np.int64]) -> Iterator[StateChunk]:
    """The states of all parts, with the indices of all texts."""
    for first, states in parts:
        offsets = _offsets(counts[first:first + PART])
        for chunk in state_chunks(states, offsets):
            yield replace(chunk, text=first + chunk.text)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(counts))
