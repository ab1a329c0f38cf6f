"""Turns the training texts of a series into tokens and batches."""
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from tools.demo_maker import world
from tools.demo_maker.recipes import CONTEXT, Series

#: Fills the places of a batch that hold no token; torch's losses ignore it.
NO_TOKEN = -100
# Texts in one call of a tokenizer.
_CHUNK = 512
# More characters than a token has on average, with any of the tokenizers.
_MOST_CHARS = 12

#: Tokens of texts, one array per text or part of a text.
Rows = list[NDArray[np.int64]]


def mixed_texts(series: Series, n_chars: int, seed: int) -> Iterator[str]:
    """Texts of all kinds, in the mixture of a series by characters."""
    for kind, share in series.shares.items():
        yield from world.documents(kind, round(n_chars * share), seed)


def training_rows(series: Series, tokenizer: PreTrainedTokenizerBase,
                  n_tokens: int, seed: int) -> Rows:
    """Tokens of training texts, in the mixture of a series by tokens."""
    rows: Rows = []
    for kind, share in series.shares.items():
        n_missing = round(n_tokens * share)
        texts = world.documents(kind, n_missing * _MOST_CHARS, seed)
        while n_missing > 0:
            for ids in encoded(tokenizer, list(islice(texts, _CHUNK))):
                ids.append(tokenizer.eos_token_id)
                rows += windows(ids)
                n_missing -= len(ids) - 1
                if n_missing <= 0:
                    break
    return rows


def encoded(tokenizer: PreTrainedTokenizerBase,
            texts: Sequence[str]) -> list[list[int]]:
    """Tokens of texts, each with BOS in front."""
    return tokenizer(list(texts), verbose=False)['input_ids']


def windows(ids: Sequence[int]) -> Rows:
    """Cut a text after every 512 predicted tokens.

    The last token of a row is the first of the next row, so each token but
    the first of the text is predicted once.

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
    """Batches of rows of similar length, in random order.

    Returns:
        list[NDArray[np.int64]]: Batches of shape `(rows, longest)`, with
        `NO_TOKEN` behind shorter rows.
    """
    order = rng.permutation(len(rows))
    lengths = np.array([len(row) for row in rows])[order]
    order = order[np.argsort(lengths, kind='stable')]
    groups: list[list[int]] = [[]]
    for index in order:
        # Rows come shortest first, so this row is the longest of its group.
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
