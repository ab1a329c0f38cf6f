"""Hidden states of a scoring LM in a file that a killed run can resume."""
import hashlib
import os
from glob import escape
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import Progress
from csv_plugin.core.texts import TextSet
from csv_plugin.io.files import atomic_path
from csv_plugin.lm.engines.causal_lm import (context_length, prefix_token,
                                             weights_in_memory)
from csv_plugin.lm.states.hidden_states import hidden_states
from csv_plugin.lm.tokens.tokenization import tokenize_all

#: Texts of a part; a run that is killed loses at most one part.
PART = 50
#: Name of the tensor in a file.
NAME = 'states'


def kept_states(path: Path,
                model: PreTrainedModel,
                tokenizer: PreTrainedTokenizerBase,
                texts: TextSet,
                progress: Progress = iter) -> Tensor:
    """Final hidden states at all tokens, computed once and kept in a file.

    An existing file is used if it is not damaged and belongs to the same
    weights, of which a sample is compared, and to the same tokens. Otherwise
    the states are computed in parts, each in a file next to it, so that after
    a killed run only the missing parts are computed. They are stored in
    bfloat16 if the model computes in bfloat16, else in float32.

    Args:
        path (Path): The file, created if necessary.
        model (PreTrainedModel): A causal LM.
        tokenizer (PreTrainedTokenizerBase): Its tokenizer.
        texts (TextSet): The texts to read.
        progress (Progress): Wraps the parts.

    Returns:
        Tensor: Shape `(T, H)`, mapped from the file if it was there.

    Raises:
        InputError: As in `hidden_states`.
    """
    ids = [tokens.ids for tokens in tokenize_all(tokenizer, texts.texts)]
    key = identity(model, tokenizer, ids)
    kept = read_states(path, key)
    if kept is not None:
        return kept
    dtype = torch.bfloat16 if model.dtype == torch.bfloat16 else torch.float32
    parts = []
    for first in progress(range(0, len(texts), PART)):
        if not any(map(len, ids[first:first + PART])):
            continue
        file = path.with_suffix(f'.part{first}')
        states = read_states(file, key)
        if states is None:
            part = texts.texts[first:first + PART]
            states = hidden_states(model, tokenizer, part).to(dtype)
            write_states(file, states, key)
        parts.append(states)
    states = torch.cat(parts)
    write_states(path, states, key)
    # Also parts of other models.
    for file in path.parent.glob(f'{escape(path.stem)}.part*'):
        file.unlink()
    return states


def write_states(path: Path, states: Tensor, key: str) -> None:
    """A safetensors file, which appears whole or not at all.

    Args:
        path (Path): The file.
        states (Tensor): Shape `(T, H)`.
        key (str): What they are states of; see `identity`.
    """
    with atomic_path(path) as temporary:
        save_file({NAME: states},
                  temporary,
                  metadata={
                      'key': key,
                      'sha256': _digest(states)
                  })


def read_states(path: Path, key: str) -> Optional[Tensor]:
    """The states of a file, mapped into memory; it is read once, to check it.

    Args:
        path (Path): A file of `write_states`.
        key (str): As it was written.

    Returns:
        Optional[Tensor]: Shape `(T, H)`; None if there is no such file, or it
        is damaged or has another key.
    """
    try:
        with safe_open(os.fspath(path), framework='pt') as file:
            metadata = file.metadata() or {}
            if metadata.get('key') != key:
                return None
            states = file.get_tensor(NAME)
    except (OSError, SafetensorError):
        return None
    return states if metadata.get('sha256') == _digest(states) else None


def _digest(states: Tensor) -> str:
    """SHA-256 of the numbers."""
    numbers = states.contiguous().view(torch.uint8).numpy()
    return hashlib.sha256(numbers.data).hexdigest()


def identity(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
             ids: list[NDArray[np.int64]]) -> str:
    """SHA-256 of everything that hidden states depend on.

    Args:
        model (PreTrainedModel): A sample of its weights counts, and its
            context length.
        tokenizer (PreTrainedTokenizerBase): Its prefix token counts.
        ids (list[NDArray]): Token ids of every text.
    """
    digest = hashlib.sha256(
        f'{weights_in_memory(model)} {context_length(model)} '
        f'{prefix_token(tokenizer)}'.encode())
    for row in ids:
        digest.update(len(row).to_bytes(8, 'big') + row.tobytes())
    return digest.hexdigest()
