"""The ids of a tokenizer beside those that its own file gives.

transformers 5 puts some tokenizers together anew, from parts of their
`tokenizer.json` and what it knows of the class that the folder names. Where
that is not the right class, other ids come out, without an error.
"""
import functools
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

# Options by which transformers changes what the file says.
_OPTIONS = ('do_lower_case', 'strip_accents', 'tokenize_chinese_chars',
            'fix_mistral_regex', 'from_slow')


def file_of(tokenizer: PreTrainedTokenizerBase) -> Tokenizer | None:
    """The tokenizer as the `tokenizer.json` of its folder has it.

    None if there is no such file, or if the tokenizer is one in python:
    those may differ from the file in spaces and rare characters.
    """
    if not tokenizer.is_fast or not tokenizer.name_or_path:
        return None
    path = Path(tokenizer.name_or_path) / 'tokenizer.json'
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else None


def first_difference(tokenizer: PreTrainedTokenizerBase, file: Tokenizer,
                     texts: Sequence[str],
                     all_ids: Sequence[list[int]]) -> tuple[int, int] | None:
    """The first text and token at which a tokenizer departs from its file.

    What options of transformers may change is no difference: whether there
    is a space before the text, the settings of BERT's normaliser, and the
    tokens around special ones and those that were added later.

    Args:
        tokenizer (PreTrainedTokenizerBase): A fast tokenizer.
        file (Tokenizer): What `file_of` returns for it.
        texts (Sequence[str]): The texts.
        all_ids (Sequence[list[int]]): Their ids by the tokenizer, without
            special tokens.
    """
    if any(option in tokenizer.init_kwargs for option in _OPTIONS):
        return None
    encodings = file.encode_batch(list(texts), add_special_tokens=False)
    for i, (text, ids, encoding) in enumerate(zip(texts, all_ids, encodings)):
        if ids != encoding.ids and not _may_differ(tokenizer, file, text):
            pairs = enumerate(zip(ids, encoding.ids))
            shorter = min(len(ids), len(encoding.ids))
            return i, next((j for j, (a, b) in pairs if a != b), shorter)
    return None


# One call of the package tokenizes the same texts several times, in parts.
@functools.lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Tokenizer:
    """Read a file; `changed`, its time, tells a new one from the old."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _may_differ(tokenizer: PreTrainedTokenizerBase, file: Tokenizer,
                text: str) -> bool:
    """Whether options explain that the ids of a text differ."""
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
