"""Training texts of a series as tokens, and batches of them."""
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from csv_plugin.demo import world
from csv_plugin.demo.recipes import CONTEXT, Series

#: Stands for no token at all in a batch; what losses ignore in torch.
NO_TOKEN = -100
# Texts in one call of a tokenizer.
_CHUNK = 512
# No tokenizer here makes longer tokens on average.
_MOST_CHARS = 12

Rows = list[NDArray[np.int64]]


def mixed_texts(series: Series, n_chars: int, seed: int) -> Iterator[str]:
    """Texts of all kinds, as many characters of each as its share says.

    Args:
        series (Series): Whose mixture.
        n_chars (int): Characters altogether, about.
        seed (int): Of the texts.
    """
    for kind, share in series.shares.items():
        yield from world.documents(kind, round(n_chars * share), seed)


def training_rows(series: Series, tokenizer: PreTrainedTokenizerBase,
                  n_tokens: int, seed: int) -> Rows:
    """Tokens of training texts, in shares of the series' mixture.

    Args:
        series (Series): Whose mixture.
        tokenizer (PreTrainedTokenizerBase): The series' tokenizer.
        n_tokens (int): Tokens altogether; each kind ends with the text that
            reaches its share.
        seed (int): Of the texts.

    Returns:
        Rows: BOS, text and EOS of each text, see `windows`.
    """
    rows: Rows = []
    for kind, share in series.shares.items():
        wanted = round(n_tokens * share)
        texts = world.documents(kind, wanted * _MOST_CHARS, seed)
        while wanted > 0:
            for ids in encoded(tokenizer, list(islice(texts, _CHUNK))):
                ids.append(tokenizer.eos_token_id)
                rows += windows(ids)
                wanted -= len(ids) - 1
                if wanted <= 0:
                    break
    return rows


def encoded(tokenizer: PreTrainedTokenizerBase,
            texts: Sequence[str]) -> list[list[int]]:
    """Tokens of texts, BOS in front."""
    return tokenizer(list(texts), verbose=False)['input_ids']


def windows(ids: Sequence[int]) -> Rows:
    """Cut after every 512 predicted tokens, one token of overlap.

    >>> [len(row) for row in windows(range(1025))]
    [513, 513]
    """
    return [
        np.array(ids[first:first + CONTEXT + 1], np.int64)
        for first in range(0,
                           len(ids) - 1, CONTEXT)
    ]


def batches(rows: Rows, batch_tokens: int,
            rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Every row once, rows of about one length together, in random order.

    Args:
        rows (Rows): Tokens of texts.
        batch_tokens (int): Most predicted tokens of a batch, the places of
            padding included; a longer row is a batch of its own.
        rng (np.random.Generator): Which rows of a length meet, and when.

    Returns:
        list: Batches, shape `(rows, longest)` each, `NO_TOKEN` at the end of
            shorter rows.
    """
    order = rng.permutation(len(rows))
    lengths = np.array([len(row) for row in rows])[order]
    order = order[np.argsort(lengths, kind='stable')]
    groups: list[list[int]] = [[]]
    for index in order:
        # Rows come shortest first, so this one is the longest.
        if (len(groups[-1]) + 1) * (len(rows[index]) - 1) > batch_tokens:
            groups.append([])
        groups[-1].append(index)
    filled = [group for group in groups if group]
    return [
        _padded([rows[i] for i in filled[j]])
        for j in rng.permutation(len(filled))
    ]


def _padded(rows: Rows) -> NDArray[np.int64]:
    batch = np.full((len(rows), max(map(len, rows))), NO_TOKEN)
    for line, row in zip(batch, rows):
        line[:len(row)] = row
    return batch
