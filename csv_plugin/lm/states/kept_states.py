"""Hidden states of a scoring LM that survive a run which is killed."""
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.lm.engines.causal_lm import context_length, prefix_token
from csv_plugin.lm.states.hidden_states import StateChunk, hidden_states
from csv_plugin.lm.states.state_cache import (open_states, state_chunks,
                                              write_states)
from csv_plugin.lm.tokens.tokenization import tokenize_all

#: Texts whose states are written at once, which is what a kill can cost.
PART = 50
#: Numbers of every weight that tell a model from others.
_SAMPLE = 1024


def kept_states(path: Path,
                model: Any,
                tokenizer: Any,
                texts: TextSet,
                progress: Progress = iter) -> Tensor:
    """Final hidden states at all tokens, from a file where it has them.

    A file is used if it was made with the same weights, of which a sample
    is compared, and the same tokens. Missing states are collected in parts
    next to it, so that a run which is killed goes on where it was. Stored
    as the model computes: bfloat16 if it does, else float32.

    Args:
        path (Path): The file, created if need be.
        model (Any): A causal LM of `transformers`.
        tokenizer (Any): Its tokenizer.
        texts (TextSet): What to read.
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
    if _has(path, key):
        return open_states(path, *key)
    parts = [(first, path.with_suffix(f'.part{first}'))
             for first in range(0, len(texts), PART)
             if counts[first:first + PART].any()]
    for first, file in progress(parts):
        if not _has(file, key):
            some = slice(first, first + PART)
            chunks = hidden_states(model, tokenizer, texts.texts[some])
            write_states(file, chunks, _offsets(counts[some]), *key, dtype)
    write_states(path, _joined(parts, key, counts), _offsets(counts), *key,
                 dtype)
    # Those of other models and what kills left of them, too.
    for pattern in (f'{path.stem}.part*', f'.*.{path.stem}.part*',
                    f'.*.{path.name}'):
        for file in path.parent.glob(pattern):
            file.unlink()
    return open_states(path, *key)


def identity(model: Any, tokenizer: Any, ids: list[NDArray]) -> str:
    """SHA-256 of what hidden states depend on.

    Args:
        model (Any): Its weights, a sample of each, and its context.
        tokenizer (Any): Its prefix.
        ids (list[NDArray]): Tokens of every text.
    """
    digest = hashlib.sha256()
    for name, weight in model.named_parameters():
        digest.update(f'{name} {tuple(weight.shape)} {weight.dtype}'.encode())
        # Weights that are offloaded have no numbers here.
        if weight.device.type != 'meta' and weight.numel():
            flat = weight.detach().flatten()
            sample = flat[::-(-len(flat) // _SAMPLE)].float().cpu().numpy()
            digest.update(sample.tobytes())
    digest.update(
        f'{context_length(model)} {prefix_token(tokenizer)}'.encode())
    for row in ids:
        digest.update(len(row).to_bytes(8, 'big') + row.tobytes())
    return digest.hexdigest()


def _has(path: Path, key: tuple[str, str]) -> bool:
    try:
        open_states(path, *key)
    except InputError:
        return False
    return True


def _joined(parts: list[tuple[int, Path]], key: tuple[str, str],
            counts: NDArray[np.int64]) -> Iterator[StateChunk]:
    for first, file in parts:
        offsets = _offsets(counts[first:first + PART])
        for chunk in state_chunks(open_states(file, *key), offsets):
            yield replace(chunk, text=first + chunk.text)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(counts))
