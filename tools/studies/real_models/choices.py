"""Losses of the options of questions, with each context computed once.

A question becomes one row: its context and then all options, one after the
other. Each option sees the context and itself alone, at the positions right
behind the context.
"""
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.lm.engines.causal_lm import (evaluating, input_device,
                                             prefix_token)
from csv_plugin.lm.engines.logit_losses import HeadLogits, losses_of_targets
from csv_plugin.lm.engines.windows import default_max_tokens


class Row(NamedTuple):
    """Token ids of a context, never empty, and of the options behind it."""
    context: list[int]
    options: list[list[int]]

    @property
    def ids(self) -> list[int]:
        """All tokens that the model takes; an option's last predicts none."""
        return self.context + sum((ids[:-1] for ids in self.options), [])

    @property
    def positions(self) -> list[int]:
        """Place of each token in its own text."""
        n = len(self.context)
        return [*range(n)] + sum(
            (list(range(n, n + len(ids) - 1)) for ids in self.options), [])

    @property
    def parts(self) -> list[int]:
        """0 for tokens of the context, k for those of the k-th option."""
        return [0] * len(self.context) + sum(
            ([k] * (len(ids) - 1)
             for k, ids in enumerate(self.options, 1)), [])

    @property
    def scored(self) -> tuple[list[int], list[int]]:
        """Places that predict the tokens of all options, and these tokens."""
        places: list[int] = []
        start = len(self.context)
        for ids in self.options:
            inside = range(start, start + len(ids) - 1)
            places += [len(self.context) - 1, *inside]
            start = inside.stop
        return places, sum(self.options, [])


def option_losses(model: PreTrainedModel,
                  tokenizer: PreTrainedTokenizerBase,
                  questions: Sequence[tuple[str, Sequence[str]]],
                  max_tokens: Optional[int] = None,
                  progress: Progress = iter) -> list[NDArray[np.float64]]:
    """Return the summed loss of each option of each question, nats.

    Scored: the tokens of an option, given the context and, in front of it,
    one prefix token (BOS, else EOS). The boundary is where the tokens of the
    context alone end, as in lm-evaluation-harness. A batch has at most
    `max_tokens` tokens, padding included, by default as many as fit the
    caches of the device.

    Raises:
        InputError: The tokenizer has no prefix token, or an option is empty.
    """
    rows = [_row(tokenizer, *question) for question in questions]
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i].ids))
    found: dict[int, NDArray[np.float64]] = {}
    size = max_tokens or default_max_tokens(input_device(model))
    with evaluating(model):
        for batch in progress(list(_batches(order, rows, size))):
            losses = _losses(model, [rows[i] for i in batch])
            found.update(zip(batch, losses))
    return [found[i] for i in range(len(rows))]


def _row(tokenizer: PreTrainedTokenizerBase, context: str,
         options: Sequence[str]) -> Row:
    prefix, _ = prefix_token(tokenizer)
    if prefix is None:
        raise InputError(f'tokenizer {tokenizer.name_or_path!r}',
                         'a BOS or an EOS token', 'neither',
                         'Give it one of the two.')
    before = _ids(tokenizer, context)
    behind = [
        _ids(tokenizer, context + option)[len(before):] for option in options
    ]
    if not all(behind):
        raise InputError(f'options behind {context[-40:]!r}',
                         'a token in each', 'an empty one',
                         'Leave the question out.')
    return Row([prefix, *before], behind)


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)['input_ids']
    return ids


def _batches(order: Sequence[int], rows: Sequence[Row],
             max_tokens: int) -> Iterator[list[int]]:
    """Numbers of rows, the longest first, in batches of similar length."""
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * len(rows[batch[0]].ids) > max_tokens:
            yield batch
            batch = []
        batch.append(i)
    yield batch


def _losses(model: PreTrainedModel,
            batch: Sequence[Row]) -> list[NDArray[np.float64]]:
    device = input_device(model)
    width = max(len(row.ids) for row in batch)
    parts = _padded([row.parts for row in batch], width, fill=-1)
    hidden = model.model(
        input_ids=_padded([row.ids for row in batch], width).to(device),
        position_ids=_padded([row.positions for row in batch],
                             width).to(device),
        attention_mask=_visible(parts).to(device),
        use_cache=False)[0]
    places, targets = zip(*(row.scored for row in batch))
    flat = [r * width + place for r, row in enumerate(places) for place in row]
    losses = losses_of_targets(
        HeadLogits(hidden.flatten(0, 1), model.get_output_embeddings()),
        torch.tensor(flat, device=device),
        torch.tensor(sum(targets, []), device=device))
    ends = np.cumsum([len(ids) for row in batch for ids in row.options])
    sums = np.array(
        [part.sum(dtype=np.float64) for part in np.split(losses, ends[:-1])])
    return np.split(sums, np.cumsum([len(row.options) for row in batch])[:-1])


def _padded(rows: Sequence[list[int]], width: int, fill: int = 0) -> Tensor:
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


def _visible(parts: Tensor) -> Tensor:
    """Which places, `(batch, 1, n, n)`, see which: context and own option.

    Padding is a part of its own, so that no place sees nothing.
    """
    same = parts[:, :, None] == parts[:, None, :]
    context = parts[:, None, :] == 0
    causal = torch.ones(parts.shape[1], parts.shape[1]).tril().bool()
    return ((same | context) & causal)[:, None]
