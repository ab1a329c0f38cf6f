"""The texts of a validation set, and their fingerprint."""
import hashlib
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional

from csv_plugin.core.conventions import InputError, utf8_bytes


def fingerprint(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 of the ids and texts of a validation set.

    Every id and every text is hashed after its length in bytes (8 bytes,
    big-endian). Sources and answers are not hashed. Raises an `InputError` if
    an id occurs twice.
    """
    digest = hashlib.sha256()
    seen: set[str] = set()
    for text_id, text in pairs:
        if text_id in seen:
            raise InputError('text ids', 'every id once', f'{text_id!r} twice',
                             'Rename one of the two.')
        seen.add(text_id)
        id_bytes = utf8_bytes(text_id, f'text id {text_id!r}')
        text_bytes = utf8_bytes(text, f'text {text_id!r}')
        for data in (id_bytes, text_bytes):
            n_bytes = len(data)
            digest.update(n_bytes.to_bytes(8, 'big'))
            digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Text:
    """One text of a validation set.

    Args:
        text_id (str): The name of the text, unique in the set.
        text (str): The text exactly as language models get it.
        source (str): The source of the text, such as a benchmark, or ''.
        answer (Optional[tuple[int, int]]): First character of the answer in
            the text, and the character after the last character of the answer;
            None if there is no answer.

    Raises:
        InputError: The answer is empty or not inside the text, or UTF-8 cannot
            encode the id, the text or the source.
    """
    text_id: str
    text: str
    source: str = ''
    answer: Optional[tuple[int, int]] = None

    def __post_init__(self) -> None:
        where = f'text {self.text_id!r}'
        utf8_bytes(self.text_id, f'text id {self.text_id!r}')
        utf8_bytes(self.text, where)
        utf8_bytes(self.source, f'source of {where}')
        if self.answer is not None:
            start, end = map(operator.index, self.answer)
            if not 0 <= start < end <= len(self.text):
                raise InputError(
                    f'answer of {where}', 'a start and a larger end in '
                    f'0..{len(self.text)}, in characters', f'{start} to {end}',
                    'Count characters from 0, the end excluded.')
            object.__setattr__(self, 'answer', (start, end))

    @property
    def sha256(self) -> str:
        """SHA-256 of the UTF-8 text, 64 hexadecimal digits."""
        data = utf8_bytes(self.text)
        return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class TextSet:
    """The texts of a validation set, in order.

    Args:
        texts (tuple[Text, ...]): The S texts, at least one.

    Attributes:
        fingerprint (str): The fingerprint of the texts; see
            `texts.fingerprint`.

    Raises:
        InputError: There is no text, or an id occurs twice.
    """
    texts: tuple[Text, ...]
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        texts = tuple(self.texts)
        if not texts:
            raise InputError('text set', 'at least one text', 'none',
                             'Add the texts to be scored.')
        pairs = [(text.text_id, text.text) for text in texts]
        object.__setattr__(self, 'texts', texts)
        object.__setattr__(self, 'fingerprint', fingerprint(pairs))

    def __repr__(self) -> str:
        return f'TextSet({len(self)} texts {self.fingerprint[:12]})'

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the S texts."""
        return tuple(text.text_id for text in self.texts)

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """SHA-256 of each text."""
        return tuple(text.sha256 for text in self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Text]:
        return iter(self.texts)
