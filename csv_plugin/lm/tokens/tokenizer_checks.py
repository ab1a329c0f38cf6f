"""Whether tokenizers are those of their own files.

transformers 5 makes some tokenizers anew, from parts of their
`tokenizer.json` and the class that the folder names. If that is not the right
class, other ids come out without an error.
"""
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from huggingface_hub.constants import HF_HUB_CACHE
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text

# Options by which transformers changes the tokenizer of the file.
_OPTIONS = ('do_lower_case', 'strip_accents', 'tokenize_chinese_chars',
            'fix_mistral_regex', 'from_slow')


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
            'Load it by transformers.PreTrainedTokenizerFast.from_pretrained, '
            'or name that class in its tokenizer_config.json.')


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
