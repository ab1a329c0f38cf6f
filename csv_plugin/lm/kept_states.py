"""Hidden states of a scoring LM that survive a run which is killed."""
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.errors import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.feature_blocks import token_states
from csv_plugin.lm.hidden_states import StateChunk, hidden_states
from csv_plugin.lm.state_cache import open_states, state_chunks, write_states

#: Texts whose states are written at once, which is what a kill can cost.
PART = 50
#: Largest difference between states that are computed twice, relative.
_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 5e-2}


def kept_states(path: Path,
                model: Any,
                tokenizer: Any,
                texts: TextSet,
                targets: TargetTokens,
                progress: Progress = iter) -> Tensor:
    """Final hidden states at all tokens, from a file where it has them.

    A file is used if its states of the shortest text are those that the
    model computes now. Missing ones are collected in parts next to it, so
    that a run which is killed goes on where it was. Stored as the model
    computes: bfloat16 if it does, else float32.

    Args:
        path (Path): The file, created if need be.
        model (Any): A causal LM of `transformers`.
        tokenizer (Any): Its tokenizer.
        texts (TextSet): What to read.
        targets (TargetTokens): Its texts in these tokens.
        progress (Progress): Wraps the parts.

    Returns:
        Tensor: Shape `(T, H)`, mapped from the file.

    Raises:
        InputError: As in `hidden_states`.
    """
    keeper = _Keeper(model, tokenizer, texts.fingerprint)
    counts = np.array([len(spans) for spans in targets.spans])
    if not keeper.has(path, texts.texts, counts):
        keeper.write(path, keeper.parts(path, texts.texts, counts, progress),
                     counts)
        for part in _part_files(path, len(texts)):
            part.unlink(missing_ok=True)
    return keeper.open(path)


def _part_files(path: Path, n_texts: int) -> list[Path]:
    return [
        path.with_suffix(f'.part{first}') for first in range(0, n_texts, PART)
    ]


class _Keeper:
    """Files of one model's states on one validation set."""

    def __init__(self, model: Any, tokenizer: Any, fingerprint: str) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.key = str(model.name_or_path), fingerprint
        self.dtype = (
            torch.bfloat16 if model.dtype == torch.bfloat16 else torch.float32)

    def open(self, path: Path) -> Tensor:
        return open_states(path, *self.key)

    def write(self, path: Path, chunks: Iterator[StateChunk],
              counts: NDArray[np.int64]) -> None:
        write_states(path, chunks, _offsets(counts), *self.key, self.dtype)

    def has(self, path: Path, texts: Sequence[Text],
            counts: NDArray[np.int64]) -> bool:
        """Whether a file holds what the model would compute."""
        try:
            states = self.open(path)
        except InputError:
            return False
        if len(states) != counts.sum():
            return False
        # An empty text has no states to compare.
        shortest = int(np.where(counts, counts, counts.max() + 1).argmin())
        stop = int(counts[:shortest + 1].sum())
        found = states[stop - int(counts[shortest]):stop].float()
        now = token_states(self.model, self.tokenizer,
                           TextSet((texts[shortest], )))
        return now.shape == found.shape and bool(
            torch.linalg.norm(found - now) <= _TOLERANCE[self.dtype] *
            torch.linalg.norm(now))

    def parts(self, path: Path, texts: Sequence[Text],
              counts: NDArray[np.int64],
              progress: Progress) -> Iterator[StateChunk]:
        """All chunks, part by part; parts are written before they count."""
        files = list(
            zip(range(0, len(texts), PART), _part_files(path, len(texts))))
        for first, file in progress(files):
            some = slice(first, first + PART)
            if not self.has(file, texts[some], counts[some]):
                self.write(
                    file, hidden_states(self.model, self.tokenizer,
                                        texts[some]), counts[some])
            for chunk in state_chunks(self.open(file), _offsets(counts[some])):
                yield replace(chunk, text=first + chunk.text)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(counts))
