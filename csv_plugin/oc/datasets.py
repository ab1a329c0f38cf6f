"""Define an OpenCompass dataset that contains a validation set."""
from collections.abc import Iterable, Mapping
from typing import Any

from datasets import Dataset, Features, Sequence, Value
from opencompass.datasets import BaseDataset
from opencompass.registry import LOAD_DATASET

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import read_texts

_COLUMNS = Features({
    'text_id': Value('string'),
    'text': Value('string'),
    'sha256': Value('string'),
    'source': Value('string'),
    # Indices of the answer's first character, and of the character behind its
    # last one. The list is empty if the text has no answer.
    'answer': Sequence(Value('int64'))
})


@LOAD_DATASET.register_module()
class SalienceTextDataset(BaseDataset):
    """The texts on which token losses are collected.

    The train split and the test split both contain all texts.
    """

    @staticmethod
    def load(path: str, fingerprint: str = '') -> Dataset:
        """Read a validation set, one row per text.

        `fingerprint` is the start of the fingerprint that the texts must have.

        Raises:
            InputError: The texts have another fingerprint, or
                `read_nonempty_texts` refuses the file.
        """
        texts = read_nonempty_texts(path)
        if not texts.fingerprint.startswith(fingerprint):
            raise InputError(
                path, f'texts with a fingerprint of {fingerprint}...',
                texts.fingerprint, 'Put this fingerprint into the dataset '
                'config, and its first 12 digits into the abbr there.')
        rows = []
        for text in texts:
            rows.append({
                'text_id': text.text_id,
                'text': text.text,
                'sha256': text.sha256,
                'source': text.source,
                'answer': text.answer or ()
            })
        return Dataset.from_list(rows, features=_COLUMNS)


def read_nonempty_texts(path: str) -> TextSet:
    """Read a validation set, and check that none of its texts is empty.

    Raises:
        InputError: A text is empty, or `io.text_sets.read_texts` refuses the
            file.
    """
    texts = read_texts(path)
    for text in texts:
        if not text.text:
            raise InputError(
                path, 'some text behind every id',
                f'an empty text {text.text_id!r}',
                'Remove its line from the file, or fill in the text.')
    return texts


def texts_of_rows(rows: Iterable[Mapping[str, Any]]) -> TextSet:
    """Return the texts of the rows in a split of a `SalienceTextDataset`.

    Raises:
        InputError: A text occurs twice because the config repeats the dataset
            (`n`).
    """
    texts = []
    for row in rows:
        answer = tuple(row['answer']) or None
        texts.append(Text(row['text_id'], row['text'], row['source'], answer))
    return TextSet(tuple(texts))
