"""Validation sets as JSON lines: one text per line, in order."""
import json
import os
from collections.abc import Iterator
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.files import FilePath, read_bytes, write_text
from csv_plugin.io.json_files import parse_json

_REMEDY = 'Write one JSON object per line.'


def read_texts(path: FilePath) -> TextSet:
    """Read a validation set.

    The file is UTF-8, with or without a byte order mark. Every line is a
    JSON object with the strings `text_id` and `text`. It may also have the
    strings `source` and `licence`, and `[start, end]` in characters as the
    `answer`. Blank lines are skipped, other fields ignored.

    Args:
        path (FilePath): The file, such as `texts.jsonl`.

    Returns:
        TextSet: Texts in the order of the file.

    Raises:
        InputError: The file cannot be read or decoded or has no text, a
            line is not such an object or has a wrong answer, or two lines
            have the same `text_id`.
    """
    file = os.fspath(path)
    texts = []
    first_line: dict[str, int] = {}
    for line, record in _records(file):
        where = f'{file}, line {line}'
        text = _text(where, record)
        earlier = first_line.setdefault(text.text_id, line)
        if earlier != line:
            raise InputError(
                where, 'a text_id that no earlier line has',
                repr(text.text_id), f'Line {earlier} has it too: rename '
                'or remove one of the two.')
        texts.append(text)
    if not texts:
        raise InputError(file, 'at least one text', 'an empty file', _REMEDY)
    return TextSet(tuple(texts))


def write_texts(path: FilePath, texts: TextSet) -> None:
    """Write a validation set; the file appears whole or not at all.

    Args:
        path (FilePath): The file to create or replace.
        texts (TextSet): The texts, which `read_texts` will return.

    Raises:
        InputError: The folder does not exist.
    """
    lines = [
        json.dumps(_record(text), ensure_ascii=False) + '\n' for text in texts
    ]
    write_text(path, ''.join(lines))


def _record(text: Text) -> dict[str, Any]:
    record: dict[str, Any] = {
        'text_id': text.text_id,
        'text': text.text,
        'source': text.source,
    }
    if text.answer is not None:
        record['answer'] = text.answer
    if text.licence:
        record['licence'] = text.licence
    return record


def _records(file: str) -> Iterator[tuple[int, Any]]:
    """Line number and JSON value of every line that is not blank."""
    data = read_bytes(file)
    # Not splitlines(): JSON may contain other line separators, unescaped.
    lines = data.removeprefix(b'\xef\xbb\xbf').split(b'\n')
    for line, content in enumerate(lines, start=1):
        if content.strip():
            yield line, parse_json(content, f'{file}, line {line}', _REMEDY)


def _text(where: str, record: Any) -> Text:
    if not isinstance(record, dict):
        raise InputError(where, 'a JSON object', repr(record)[:80], _REMEDY)
    source, answer = record.get('source', ''), record.get('answer')
    licence = record.get('licence', '')
    for name, value in (('text_id',
                         record.get('text_id')), ('text', record.get('text')),
                        ('source', source), ('licence', licence)):
        if not isinstance(value, str):
            raise InputError(where, f'a text as {name!r}',
                             repr(value)[:80] if name in record else 'none',
                             'Put it in quotation marks.')
    if answer is not None and not _is_pair(answer):
        raise InputError(
            where, "two whole numbers as 'answer'",
            repr(answer)[:80], 'Give the positions of its first character and '
            'of the character after its last, counted from 0.')
    try:
        return Text(record['text_id'], record['text'], source, answer, licence)
    except InputError as error:
        raise InputError(where, 'a text with a valid answer and encoding',
                         f'an error ({error})', 'Repair the line.') from error


def _is_pair(answer: Any) -> bool:
    return (isinstance(answer, list) and len(answer) == 2
            and all(type(offset) is int for offset in answer))
