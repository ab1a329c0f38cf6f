"""Validation sets as JSON lines, and the one that ships."""
import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.containers import errors_name
from csv_plugin.io.files import FilePath, file_set, read_bytes, write_text
from csv_plugin.io.json_files import check_fields, parse_json, write_json

#: Files of a validation set in its folder.
TEXTS, MANIFEST = 'texts.jsonl', 'manifest.json'
_FIELDS = dict.fromkeys(('text_id', 'text', 'source'), 'a text')
_REMEDY = 'Repair the line: one JSON object per line.'


def read_texts(path: FilePath) -> TextSet:
    """Read a validation set, in the order of the file.

    The file is UTF-8. Every line is a JSON object with the strings `text_id`
    and `text`. It may also have the string `source`, and `[start, end]` in
    characters as the `answer`. Blank lines are skipped, other fields ignored.

    Raises:
        InputError: The file cannot be read or decoded or has no text, a line
            is not such an object or has a wrong answer, or two lines have the
            same `text_id`.
    """
    texts = []
    first_line: dict[str, int] = {}
    for line, content in enumerate(read_bytes(path).splitlines(), start=1):
        where = f'{path}, line {line}'
        # A byte order mark is no text, either.
        if not content.removeprefix(BOM_UTF8).strip():
            continue
        text = _text(where, parse_json(content, where, _REMEDY))
        earlier = first_line.setdefault(text.text_id, line)
        if earlier != line:
            raise InputError(
                where, 'a text_id that no earlier line has',
                repr(text.text_id), f'Line {earlier} has it too: rename '
                'or remove one of the two.')
        texts.append(text)
    if not texts:
        raise InputError(path, 'at least one text', 'an empty file', _REMEDY)
    return TextSet(tuple(texts))


def _text(where: str, record: Any) -> Text:
    """Return the text of a line, whose fields are checked."""
    if isinstance(record, dict):
        record = {'source': '', 'answer': None} | record
    check_fields(where, 'the line', record, _FIELDS, _REMEDY)
    answer = record['answer']
    is_pair = False
    if isinstance(answer, list):
        is_pair = list(map(type, answer)) == [int, int]
    if answer is not None and not is_pair:
        raise InputError(
            where, "two whole numbers as 'answer'",
            repr(answer)[:80], 'Give the positions of its first character and '
            'of the character after its last, counted from 0.')
    with errors_name(where, 'a text with a valid answer', _REMEDY):
        place = None if answer is None else (answer[0], answer[1])
        return Text(record['text_id'], record['text'], record['source'], place)


def write_texts(path: FilePath, texts: TextSet) -> None:
    """Write a validation set; the file appears whole or not at all.

    Raises:
        InputError: The folder does not exist.
    """
    lines = []
    for text in texts:
        record = {name: getattr(text, name) for name in _FIELDS}
        if text.answer is not None:
            record['answer'] = text.answer
        lines.append(json.dumps(record, ensure_ascii=False) + '\n')
    write_text(path, ''.join(lines))


def write_validation_set(folder: FilePath, texts: TextSet,
                         manifest: Mapping[str, Any]) -> None:
    """Write `texts.jsonl` and `manifest.json`, both or none.

    The folder is made if it does not exist. The manifest says how the texts
    were made; see docs/validation_sets.md.
    """
    out = Path(folder)
    with file_set(out):
        write_texts(out / TEXTS, texts)
        write_json(out / MANIFEST, manifest)


def shipped_texts() -> TextSet:
    """Return the 500 texts that come with the package, with their answers.

    The project wrote them, in English and Chinese, and gives them away under
    CC0 1.0; see docs/validation_sets.md.

    >>> shipped_texts()
    TextSet(500 texts e775fa504a46)
    """
    with as_file(files('csv_plugin') / 'data' / 'shipped_texts.jsonl') as path:
        return read_texts(path)


def subtask_name(text: Text) -> str:
    """Return the sub-task that a text belongs to, from its id.

    >>> subtask_name(Text('mmlu/anatomy/17', 'x'))
    'anatomy'
    """
    return text.text_id.partition('/')[2].rpartition('/')[0]
