"""Find the byte spans of the tokens of any Hugging Face tokenizer.

transformers 5 builds some tokenizers anew, from parts of their
`tokenizer.json` and the class that the folder names. If the class is wrong,
the tokenizer returns wrong ids without an error. Ids are therefore compared
with the ids that `tokenizer.json` itself gives.
"""
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from huggingface_hub.constants import HF_HUB_CACHE
from tokenizers import Tokenizer
from transformers import BatchEncoding, PreTrainedTokenizerBase

from csv_plugin.core.arrays import Integers
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.tokens.token_alignment import (from_offsets,
                                                  from_token_strings)
from csv_plugin.lm.tokens.token_bytes import from_bytes, string_of

# Number of texts in one call of a tokenizer: enough to keep its threads busy,
# and few enough to take little memory.
_BATCH = 256
# Options with which transformers changes the tokenizer in `tokenizer.json`.
_OPTIONS = ('do_lower_case', 'strip_accents', 'tokenize_chinese_chars',
            'fix_mistral_regex', 'from_slow')


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """The tokens of one text, without special tokens.

    `ids`, `(n,)`, are token ids. `spans` are the bytes of each token; they
    tile the text. `unknown` is the number of tokens that stand for text
    outside the vocabulary.
    """
    ids: Integers
    spans: TokenSpans
    unknown: int


def tokenize_all(tokenizer: PreTrainedTokenizerBase,
                 texts: Sequence[Text]) -> list[TokenizedText]:
    """Return the tokens of texts and the bytes that each token covers.

    Spans come from the bytes of the tokens if these bytes spell the text.
    Otherwise the spans come from the tokenizer's offsets after repairs, and if
    that fails, from an alignment of the token strings with the text; see
    `token_bytes` and `token_alignment`.

    Special tokens in a text are read as the tokenizer reads them; no special
    token is added. Afterwards, the truncation and padding of a fast tokenizer
    are switched off.
    """
    file = _file_of(tokenizer)
    tokenized = []
    for first in range(0, len(texts), _BATCH):
        batch = texts[first:first + _BATCH]
        tokenized += _tokenize_batch(tokenizer, file, batch)
    return tokenized


def target_tokens(tokenizer: PreTrainedTokenizerBase,
                  texts: TextSet) -> TargetTokens:
    """Return the tokens of a scoring LM on a validation set."""
    tokenized = tokenize_all(tokenizer, texts.texts)
    spans = [tokens.spans for tokens in tokenized]
    return TargetTokens.of(texts, spans)


def check_unknown_share(tokenized: Sequence[TokenizedText],
                        tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer whose vocabulary does not cover the texts.

    Some tokenizers load without an error although files are missing, and then
    return the unknown token for everything.
    """
    unknown = 0
    total = 0
    for text in tokenized:
        unknown += text.unknown
        total += len(text.ids)
    # The largest share of unknown tokens in all texts.
    most_unknown = 0.01
    if unknown > most_unknown * total:
        raise InputError(
            _named(tokenizer), f'at most {most_unknown:.0%} unknown tokens',
            f'{unknown} of {total} tokens',
            'Check the files and the class of the tokenizer.')


def _encode(tokenizer: PreTrainedTokenizerBase,
            texts: list[str]) -> BatchEncoding:
    """Return the tokens of texts without special tokens."""
    return tokenizer(texts, add_special_tokens=False, verbose=False)


def _tokenize_batch(tokenizer: PreTrainedTokenizerBase, file: Tokenizer | None,
                    texts: Sequence[Text]) -> list[TokenizedText]:
    """Return the tokens of some texts; `file` is from `_file_of`."""
    encoded = _encode(tokenizer, [text.text for text in texts])
    if file is not None:
        _check_against_file(tokenizer, file, texts, encoded['input_ids'])
    added = tokenizer.get_added_vocab().keys()
    all_ids = [np.array(ids, np.int64) for ids in encoded['input_ids']]
    tokenized: list[TokenizedText] = []
    for i, tokens in enumerate(_token_strings(tokenizer, all_ids)):
        text = texts[i].text
        ids = all_ids[i]
        is_unknown = ids == tokenizer.unk_token_id
        n_unknown = int(is_unknown.sum())
        spans = from_bytes(tokens, added, text)
        if spans is not None:
            # A token that spells its text is known, even '<unk>' itself.
            n_unknown = 0
        elif encoded.encodings:
            offsets = encoded.encodings[i].offsets
            spans = from_offsets(tokens, is_unknown, offsets, text)
        if spans is None:
            spans = _aligned(tokenizer, texts[i], ids, tokens)
        tokenized.append(TokenizedText(ids, spans, n_unknown))
    return tokenized


def _aligned(tokenizer: PreTrainedTokenizerBase, text: Text, ids: Integers,
             tokens: list[str]) -> TokenSpans:
    """Return spans from an alignment of the token strings with the text."""
    # If possible, unknown tokens are replaced by the text they stand for.
    strings = tokenizer.tokenize(text.text)
    if not all(isinstance(string, str) for string in strings):
        strings = tokens
    elif tokenizer.convert_tokens_to_ids(strings) != ids.tolist():
        strings = tokens
    added = tokenizer.get_added_vocab().keys()
    spans = from_token_strings(strings, added, text.text)
    if spans is None:
        raise InputError(
            f'text {text.text_id!r}, {_named(tokenizer)}',
            'tokens that account for every byte of the text',
            f'{len(tokens)} tokens that do not; the first are {tokens[:8]}',
            'Load the fast tokenizer of this model, or leave the text out.')
    return spans


def _token_strings(tokenizer: PreTrainedTokenizerBase,
                   all_ids: Sequence[Integers]) -> list[list[str]]:
    """Return the tokens of each text as the vocabulary writes them."""
    used_ids = np.unique(np.concatenate(all_ids))
    used = used_ids.tolist()
    names = tokenizer.convert_ids_to_tokens(used)
    entries = dict(zip(used, names))
    # Some tokenizers in python decode the bytes of entries, which loses bytes
    # that are not UTF-8. The bytes themselves are in `decoder`.
    kept = getattr(tokenizer, 'decoder', None)
    if isinstance(kept, Mapping):
        special = tokenizer.added_tokens_decoder
        for i in used:
            entry = kept.get(i)
            if i not in special and isinstance(entry, bytes):
                entries[i] = entry
    strings = []
    for ids in all_ids:
        of_text = [string_of(entries[i]) for i in ids.tolist()]
        strings.append(of_text)
    return strings


def _named(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return how errors name a tokenizer: by its class and its path."""
    return f'{type(tokenizer).__name__} {tokenizer.name_or_path!r}'


def _file_of(tokenizer: PreTrainedTokenizerBase) -> Tokenizer | None:
    """Return the tokenizer in the `tokenizer.json` of a tokenizer's folder.

    For a name on the hub, the file is looked up in the cache. The result is
    None if there is no such file, if the cache has several different files, or
    if options of transformers changed the tokenizer. It is also None for
    tokenizers written in python, which may differ from the file in spaces and
    rare characters.
    """
    name = tokenizer.name_or_path
    if not tokenizer.is_fast or not name:
        return None
    if not tokenizer.init_kwargs.keys().isdisjoint(_OPTIONS):
        return None
    paths = {Path(name, 'tokenizer.json')}
    if not Path(name).is_dir():
        cached = Path(HF_HUB_CACHE, f'models--{name.replace("/", "--")}')
        found = cached.glob('snapshots/*/tokenizer.json')
        paths = set(map(Path.resolve, found))
    # The revisions of a model on the hub may have different files.
    if len(paths) != 1:
        return None
    path = paths.pop()
    if not path.is_file():
        return None
    return _read(path, path.stat().st_mtime_ns)


# Texts are scored in many chunks, and reading the file takes as long as
# scoring a text. Therefore the result is cached.
@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Tokenizer:
    """Read a `tokenizer.json`, which was last changed at the time `changed`.
    """
    file = Tokenizer.from_file(str(path))
    file.no_truncation()
    file.no_padding()
    return file


def _check_against_file(tokenizer: PreTrainedTokenizerBase, file: Tokenizer,
                        texts: Sequence[Text],
                        all_ids: Sequence[list[int]]) -> None:
    """Refuse ids that differ from the ids that `tokenizer.json` gives.

    Options of transformers may change whether a space is put before the text,
    and the tokens around special and added tokens; such differences are
    allowed. `file` is from `_file_of`; `all_ids` are the ids of each text
    without special tokens.
    """
    contents = [text.text for text in texts]
    encodings = file.encode_batch(contents, add_special_tokens=False)
    for text, ids, right in zip(texts, all_ids, encodings):
        if ids == right.ids or _may_differ(tokenizer, file, text.text):
            continue
        first = len(os.path.commonprefix([ids, right.ids]))
        differing = slice(first, first + 5)
        raise InputError(
            f'text {text.text_id!r}, {_named(tokenizer)}',
            f'the tokens of its tokenizer.json, {right.tokens[differing]} '
            f'from number {first} on',
            f'{tokenizer.convert_ids_to_tokens(ids[differing])}',
            'Load it with transformers.PreTrainedTokenizerFast.from_pretrained'
            ', or name that class in its tokenizer_config.json.')


def _may_differ(tokenizer: PreTrainedTokenizerBase, file: Tokenizer,
                text: str) -> bool:
    """Return whether options explain that the ids of a text differ."""
    own = set(tokenizer.added_tokens_decoder.items())
    written = set(file.get_added_tokens_decoder().items())
    for pair in own | written:
        _, token = pair
        is_same = pair in own and pair in written
        may_matter = token.special or not is_same
        if may_matter and token.content in text:
            return True
    # If only one of the two tokenizers puts a space before the text, ids of
    # the text with and without a space agree.
    variants = [text, f' {text}']
    ids = _encode(tokenizer, variants)['input_ids']
    for encoding in file.encode_batch(variants, add_special_tokens=False):
        if encoding.ids in ids:
            return True
    return False
