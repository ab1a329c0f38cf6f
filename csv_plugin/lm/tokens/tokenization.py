"""Exact byte spans for the tokens of any Hugging Face tokenizer."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, utf8_bytes
from csv_plugin.lm.tokens.token_alignment import from_offsets, from_surfaces
from csv_plugin.lm.tokens.token_bytes import byte_level_chars, from_bytes

# Texts in one call of a tokenizer: enough for its threads, little memory.
_BATCH = 256
_MOST_UNKNOWN = 0.01


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """The tokens of one text, without special tokens.

    Args:
        ids (NDArray): Vocabulary entry of each token. Shape `(n,)`, int64.
        spans (TokenSpans): Bytes of each token; they tile the text.
        unknown (int): Tokens that stand for text outside the vocabulary.
    """
    ids: NDArray[np.int64]
    spans: TokenSpans
    unknown: int


def tokenize(tokenizer: PreTrainedTokenizerBase,
             text: str,
             where: str = 'text') -> TokenizedText:
    """Tokens of one text and the bytes that each covers.

    Spans come from the bytes of the tokens if these spell the text, else
    from the tokenizer's offsets, repaired, else from an alignment of the
    token strings with the text; see `token_bytes` and
    `token_alignment`.

    Args:
        tokenizer (PreTrainedTokenizerBase): Any tokenizer. Truncation and
            padding that are on in its fast backend end up off, as after any
            call of it.
        text (str): The text. Special tokens in it are read as the tokenizer
            reads them; none is added.
        where (str): What to call the text in an error.

    Returns:
        TokenizedText: `n` tokens whose spans tile the text.

    Raises:
        InputError: The text holds a lone surrogate, or none of the three
            ways accounts for every byte of it.
    """
    return _tokenize(tokenizer, [text], [where])[0]


def tokenize_all(tokenizer: PreTrainedTokenizerBase,
                 texts: Sequence[Text]) -> list[TokenizedText]:
    """`tokenize` for many texts, with few calls of the tokenizer.

    Args:
        tokenizer (PreTrainedTokenizerBase): As in `tokenize`.
        texts (Sequence[Text]): The texts. Length S.

    Returns:
        list[TokenizedText]: One per text.

    Raises:
        InputError: As for `tokenize`; the text is named by its id.
    """
    found = []
    for first in range(0, len(texts), _BATCH):
        batch = texts[first:first + _BATCH]
        found += _tokenize(tokenizer, [text.text for text in batch],
                           [f'text {text.text_id!r}' for text in batch])
    return found


def check_unknown_share(tokenized: Sequence[TokenizedText],
                        tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer that does not know the texts.

    Some tokenizer files load without complaint and then read everything as
    unknown: losses on such tokens say nothing about the text.

    Args:
        tokenized (Sequence[TokenizedText]): All texts. Length S.
        tokenizer (PreTrainedTokenizerBase): What tokenized them.

    Raises:
        InputError: More than 1 % of all tokens are unknown.
    """
    unknown = sum(text.unknown for text in tokenized)
    total = sum(len(text.ids) for text in tokenized)
    if unknown > _MOST_UNKNOWN * total:
        raise InputError(
            _name(tokenizer), f'at most {_MOST_UNKNOWN:.0%} unknown tokens',
            f'{unknown} of {total}',
            'Check that all of its files are there and were loaded by the '
            'right class, or leave this model out.')


def _tokenize(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str],
              where: Sequence[str]) -> list[TokenizedText]:
    for text, name in zip(texts, where):
        utf8_bytes(text, name)
    encoded = tokenizer(
        list(texts),
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False)
    added = tokenizer.get_added_vocab().keys()
    all_ids = [np.array(ids, np.int64) for ids in encoded['input_ids']]
    found = []
    for i, tokens in enumerate(_token_strings(tokenizer, all_ids)):
        is_unknown = all_ids[i] == tokenizer.unk_token_id
        spans = from_bytes(tokens, added, texts[i])
        if spans is not None:
            # What spells the text is known, be it the text '<unk>'.
            is_unknown[:] = False
        elif encoded.encodings:
            spans = from_offsets(tokens, is_unknown,
                                 encoded.encodings[i].offsets, texts[i])
        if spans is None:
            surfaces = _surfaces(tokenizer, texts[i], all_ids[i], tokens)
            spans = from_surfaces(surfaces, added, texts[i])
        if spans is None:
            raise _unplaced(tokenizer, where[i], tokens)
        found.append(TokenizedText(all_ids[i], spans, int(is_unknown.sum())))
    return found


def _token_strings(
        tokenizer: PreTrainedTokenizerBase,
        all_ids: Sequence[NDArray[np.int64]]) -> Iterator[list[str]]:
    """The vocabulary's strings of the tokens of each text."""
    used = np.unique(np.concatenate(all_ids)).tolist()
    entries = tokenizer.convert_ids_to_tokens(used)
    # Some tokenizers have entries of bytes.
    strings = {
        index: byte_level_chars(entry) if isinstance(entry, bytes) else entry
        for index, entry in zip(used, entries)
    }
    for ids in all_ids:
        yield list(map(strings.__getitem__, ids.tolist()))


def _surfaces(tokenizer: PreTrainedTokenizerBase, text: str,
              ids: NDArray[np.int64], tokens: list[str]) -> list[str]:
    """Token strings with the parts of the text that were unknown."""
    surfaces = tokenizer.tokenize(text)
    same = tokenizer.convert_tokens_to_ids(surfaces) == ids.tolist()
    return surfaces if same else tokens


def _unplaced(tokenizer: PreTrainedTokenizerBase, where: str,
              tokens: Sequence[str]) -> InputError:
    return InputError(
        f'{where}, {_name(tokenizer)}',
        'tokens that account for every byte of the text',
        f'{len(tokens)} tokens that do not, {tokens[:8]} first',
        'Load the fast tokenizer of this model, or leave the text out.')


def _name(tokenizer: PreTrainedTokenizerBase) -> str:
    return f'{type(tokenizer).__name__} {tokenizer.name_or_path!r}'
