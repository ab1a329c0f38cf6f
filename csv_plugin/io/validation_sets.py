"""Validation sets with a record of how they were made, and the shipped one."""
import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from csv_plugin import __version__
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.io.text_sets import read_texts, write_texts

TEXTS, MANIFEST = 'texts.jsonl', 'manifest.json'


@dataclass(frozen=True)
class ValidationSet:
    """Texts and how they were made.

    Args:
        texts (TextSet): In the order of source, sub-task and place in the
            split.
        manifest (dict[str, Any]): See docs/validation_sets.md.
    """
    texts: TextSet
    manifest: dict[str, Any]


def write_validation_set(folder: FilePath,
                         validation_set: ValidationSet) -> None:
    """Write `texts.jsonl`, then `manifest.json`, each whole or not at all.

    Args:
        folder (FilePath): Is made if it does not exist.
        validation_set (ValidationSet): What to write.
    """
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    # If the writing is interrupted, no old manifest stays beside new texts.
    (out / MANIFEST).unlink(missing_ok=True)
    write_texts(out / TEXTS, validation_set.texts)
    record = json.dumps(validation_set.manifest, indent=1, ensure_ascii=False)
    write_text(out / MANIFEST, record + '\n')


def shipped_texts() -> TextSet:
    """The texts that come with the package, which everybody may use.

    The project wrote them, in English and Chinese, and gives them away under
    CC0 1.0. They need no other file and no other package; see
    docs/validation_sets.md.

    Returns:
        TextSet: 500 texts with their answers.

    >>> texts = shipped_texts()
    >>> len(texts), texts.licences
    (500, {'csv_plugin': 'CC0 1.0'})
    """
    with as_file(files('csv_plugin.data') / 'shipped_texts.jsonl') as path:
        return read_texts(path)


def shipped_validation_set() -> ValidationSet:
    """`shipped_texts` with a manifest, as if they had been drawn."""
    texts = shipped_texts()
    (source, licence), = texts.licences.items()
    subtasks = Counter(map(subtask_name, texts))
    manifest = dict(
        fingerprint=texts.fingerprint,
        n_texts=len(texts),
        versions=dict(csv_plugin=__version__),
        sources=[
            dict(
                name=source,
                licence=licence,
                n_texts=len(texts),
                n_subtasks=len(subtasks),
                subtasks=dict(subtasks))
        ])
    return ValidationSet(texts, manifest)


def subtask_name(text: Text) -> str:
    """The sub-task that a text belongs to, from its id.

    >>> subtask_name(Text('mmlu/anatomy/17', 'x'))
    'anatomy'
    """
    return text.text_id.partition('/')[2].rpartition('/')[0]
