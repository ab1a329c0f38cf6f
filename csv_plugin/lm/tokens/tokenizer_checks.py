"""Checks that find tokenizers which were put together wrongly.

transformers 5 makes some tokenizers anew, from parts of their
`tokenizer.json` and the class that the folder names. If that is not the right
class, other ids come out, or blanks of the text are lost, without an error.
"""
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from huggingface_hub.constants import HF_HUB_CACHE
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.token_bytes import readings, string_of

_REMEDY = ('Load it by transformers.PreTrainedTokenizerFast.from_pretrained, '
           'or name that class in its tokenizer_config.json.')
# Options by which transformers changes the tokenizer of the file.
_OPTIONS = ('do_lower_case', 'strip_accents', 'tokenize_chinese_chars',
            'fix_mistral_regex', 'from_slow')
# Spaces and line breaks that tokenizers write; they remove other controls.
_BLANKS = re.compile('[\t\n\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f'
                     '\u205f\u3000]+')
# Above this share of entries that start with a space, a vocabulary writes
# spaces. Letters that look like the sign of a space occur in vocabularies of
# words too, which leave spaces out by design.
_FEW = 0.01
# Entries of a vocabulary, at most, that are tried.
_SAMPLE = 2000
# Rules of GGUF files, with which transformers makes the tokens of llama.cpp.
_WORD_RULES = '', 'default', 'gpt-2', 'smollm', 'qwen2'


def named(tokenizer: PreTrainedTokenizerBase) -> str:
    """A tokenizer in errors."""
    return f'{type(tokenizer).__name__} {tokenizer.name_or_path!r}'


def file_of(tokenizer: PreTrainedTokenizerBase) -> Tokenizer | None:
    """The tokenizer in the `tokenizer.json` of its folder or on the hub.

    None if there is no such file, or several from the hub, if the tokenizer
    is one in python, which may differ from the file in spaces and rare
    characters, or if options of transformers changed it.
    """
    if (not tokenizer.is_fast or not tokenizer.name_or_path
            or any(option in tokenizer.init_kwargs for option in _OPTIONS)):
        return None
    name = tokenizer.name_or_path
    paths = {Path(name, 'tokenizer.json')}
    if not Path(name).is_dir():
        cached = Path(HF_HUB_CACHE, f'models--{name.replace("/", "--")}')
        found = cached.glob('snapshots/*/tokenizer.json')
        paths = {path.resolve() for path in found}
    # Revisions on the hub may have different files.
    if len(paths) != 1 or not (path := paths.pop()).is_file():
        return None
    return _read(path, path.stat().st_mtime_ns)


# Sets are scored in chunks, and reading takes as long as scoring a text.
@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Tokenizer:
    file = Tokenizer.from_file(str(path))
    file.no_truncation()
    file.no_padding()
    return file


def check_gguf(tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer from a GGUF file that is not the file's.

    transformers cuts texts into words by one rule, whatever the file says.
    Loaded as a model of another type, such as scores of merges taken for
    probabilities, it cuts words into smaller tokens than the file has: a
    sample of the vocabulary is encoded, token by token, and most have to come
    out whole. Other tokenizers pass.
    """
    files = (tokenizer.name_or_path, tokenizer.init_kwargs.get('vocab_file'))
    file = next((f for f in files if str(f).endswith('.gguf')), None)
    if file is None:
        return
    remedy = ('Give the tokenizer of the model that the file was made of '
              '(--tokenizer).')
    rule = _word_rule(Path(file))
    if rule not in _WORD_RULES:
        raise InputError(
            named(tokenizer), 'a file whose words are cut as by '
            f'{" or ".join(filter(None, _WORD_RULES))}',
            f'the rule {rule!r}, which transformers leaves out', remedy)
    vocabulary = tokenizer.get_vocab()
    sample = sorted(vocabulary)[::len(vocabulary) // _SAMPLE + 1]
    words = [
        token for token in sample
        if any(text.strip().isalpha() and len(text.strip()) > 1
               for text in readings(token))
    ]
    whole = sum(_is_whole(tokenizer, token) for token in words)
    if whole < len(words) / 2:
        raise InputError(
            named(tokenizer), f'{len(words)} words of the vocabulary of its '
            'file as single tokens', f'{len(words) - whole} in pieces', remedy)


@lru_cache(maxsize=8)
def _word_rule(file: Path) -> str:
    """The name of the rule that cuts words; '' where a GGUF file has none."""
    if not file.is_file():
        return ''
    from gguf import GGUFReader  # transformers needs it for such files, too
    rule = GGUFReader(file).get_field('tokenizer.ggml.pre')
    return rule.contents() if rule else ''


def _is_whole(tokenizer: PreTrainedTokenizerBase, token: str) -> bool:
    """Return whether a text that the token stands for becomes this token."""
    texts = [form for text in readings(token) for form in (text, text.strip())]
    ids = tokenizer(texts, add_special_tokens=False, verbose=False)
    return [tokenizer.convert_tokens_to_ids(token)] in ids['input_ids']


def check_against_file(tokenizer: PreTrainedTokenizerBase, file: Tokenizer,
                       texts: Sequence[Text],
                       all_ids: Sequence[list[int]]) -> None:
    """Refuse ids that are not those of the tokenizer's own file.

    Options of transformers may change whether there is a space before the
    text, and the tokens around special and added ones. The file is from
    `file_of`, the ids of the texts are without special tokens.
    """
    encodings = file.encode_batch([text.text for text in texts],
                                  add_special_tokens=False)
    for text, ids, right in zip(texts, all_ids, encodings):
        if ids == right.ids or _may_differ(tokenizer, file, text.text):
            continue
        first = next(
            (i for i, (a, b) in enumerate(zip(ids, right.ids)) if a != b),
            min(len(ids), len(right.ids)))
        raise InputError(
            f'text {text.text_id!r}, {named(tokenizer)}',
            f'the tokens of its tokenizer.json, {right.tokens[first:][:5]} '
            f'from number {first} on',
            f'{tokenizer.convert_ids_to_tokens(ids[first:first + 5])}',
            _REMEDY)


def _may_differ(tokenizer: PreTrainedTokenizerBase, file: Tokenizer,
                text: str) -> bool:
    """Return whether options explain that the ids of a text differ."""
    own = tokenizer.added_tokens_decoder.items()
    written = file.get_added_tokens_decoder().items()
    for index, token in {*own, *written}:
        shared = (index, token) in own and (index, token) in written
        if token.content in text and (token.special or not shared):
            return True
    # Equal if either puts a space before the text.
    variants = text, f' {text}'
    of_file = [
        file.encode(variant, add_special_tokens=False).ids
        for variant in variants
    ]
    return any(
        tokenizer(variant, add_special_tokens=False, verbose=False)
        ['input_ids'] in of_file for variant in variants)


class LostWhitespace(NamedTuple):
    """Consecutive blanks of a text, and the texts its tokens may stand for.

    Outer ones start or end the text.
    """
    text_id: str
    chars: str
    written: str
    is_outer: bool


def lost_whitespace(text: Text, tokens: Sequence[str],
                    is_opaque: NDArray[np.bool_],
                    spans: TokenSpans) -> Iterator[LostWhitespace]:
    """Blanks whose tokens have no blank, or no line break where they do.

    `is_opaque` tokens, unknown and added ones, may cover blanks without a
    blank in them.
    """
    bounds = np.cumsum([0, *(len(char.encode()) for char in text.text)])
    starts, ends = spans.starts, spans.ends
    # Nothing is known of a token that holds a part of a character.
    is_opaque = is_opaque | ~(np.isin(starts, bounds) & np.isin(ends, bounds))
    for match in _BLANKS.finditer(text.text):
        first, last = bounds[match.start()], bounds[match.end()]
        # Tokens that share bytes with the blanks; empty ones beside them.
        covers = np.where(starts == ends, (starts >= first) & (ends <= last),
                          (starts < last) & (ends > first))
        if is_opaque[covers].any():
            continue
        written = ''.join(
            word for i in np.flatnonzero(covers)
            for word in readings(tokens[i]))
        if not _BLANKS.search(
                written) or '\n' in match[0] and '\n' not in written:
            yield LostWhitespace(
                text.text_id, match[0], written,
                match.start() == 0 or match.end() == len(text.text))


def check_whitespace(tokenizer: PreTrainedTokenizerBase,
                     lost: Sequence[LostWhitespace]) -> None:
    """Refuse a tokenizer that drops blanks for which it has tokens.

    SentencePiece may be set to remove blanks around a text, and to write one
    space for several blanks.
    """
    if not lost:
        return
    vocabulary = list(map(string_of, tokenizer.get_vocab()))
    is_byte_level = _writes('Ġ', vocabulary)
    if not is_byte_level and not any(_writes(s, vocabulary) for s in '▁ '):
        return
    line_breaks = {'Ċ'} if is_byte_level else {'\n', '<0x0A>'}
    has_line_break = not line_breaks.isdisjoint(vocabulary)
    for part in lost:
        lost_break = ('\n' in part.chars and '\n' not in part.written
                      and has_line_break)
        may_trim = part.is_outer and not is_byte_level
        if lost_break or not (may_trim or _BLANKS.search(part.written)):
            raise InputError(
                f'text {part.text_id!r}, {named(tokenizer)}',
                f'tokens that hold its blanks, {part.chars!r} among them',
                'none', _REMEDY)


def _writes(space: str, vocabulary: Sequence[str]) -> bool:
    """Return whether more than a few entries start with a sign of a space."""
    count = sum(entry.startswith(space) for entry in vocabulary)
    return count > _FEW * len(vocabulary)
