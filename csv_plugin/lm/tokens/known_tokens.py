"""Tokens of texts that are made once for all models with one tokenizer."""
import hashlib
from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.tokenization import TokenizedText, tokenize_all

#: Files that a tokenizer is made of; of some the config names the class.
_PATTERNS = ('tokenizer*', 'vocab*', 'merges*', '*.model', '*.tiktoken',
             'special_tokens_map.json', 'added_tokens.json', 'config.json',
             '*.py')


class KnownTokens:
    """Remembers the tokens of texts.

    Two tokenizers are one if they were loaded by one name from the hub, or
    from folders with the same files of tokenizers: checkpoints of a run share
    their tokens. What was changed in a tokenizer after it was loaded is not
    noticed.
    """

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], TokenizedText] = {}
        self._marks: dict[str, str] = {}

    def tokenize(self, tokenizer: PreTrainedTokenizerBase,
                 texts: Sequence[Text]) -> list[TokenizedText]:
        """As `tokenize_all`, which is asked for what is not known."""
        path = str(tokenizer.name_or_path)
        if path not in self._marks:
            self._marks[path] = _mark(path)
        mark = self._marks[path]
        keys = [(mark, text.sha256) for text in texts]
        new = {
            key: text
            for key, text in zip(keys, texts) if key not in self._tokens
        }
        self._tokens.update(
            zip(new, tokenize_all(tokenizer, list(new.values()))))
        return [self._tokens[key] for key in keys]


def _mark(path: str) -> str:
    """A short text that changes with the tokenizer at a path."""
    files = sorted({
        file
        for pattern in _PATTERNS
        for file in Path(path).glob(pattern) if file.is_file()
    })
    digest = hashlib.sha256(b'' if files else path.encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f'{file.name} {len(content)}\n'.encode() + content)
    return digest.hexdigest()
