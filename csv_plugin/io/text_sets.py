"""Read and write validation sets, such as the one that comes with the package.
"""
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

#: Names of the files that `write_validation_set` writes.
TEXTS, MANIFEST = 'texts.jsonl', 'manifest.json'
_FIELDS = dict.fromkeys(('text_id', 'text', 'source'), 'a text')
_REMEDY = 'Repair the line: one JSON object per line.'


def read_texts(path: FilePath) -> TextSet:
    """Read a validation set, in the order of the file.

    The file is UTF-8. Every line is a JSON object with the strings `text_id`
    and `text`. It may also have the string `source`, and as `answer` the pair
    `[start, end]`, which says between which characters of the text the right
    answer is. Blank lines are skipped, and other fields are ignored.

    Raises:
        InputError: The file cannot be read or decoded or has no text, a line
            is not such an object or has a wrong answer, or two lines have the
            same `text_id`.
    """
    texts = []
    first_line: dict[str, int] = {}
    lines = read_bytes(path).splitlines()
    for line, content in enumerate(lines, start=1):
        where = f'{path}, line {line}'
        # A line with only a byte order mark is blank, too.
        if not content.removeprefix(BOM_UTF8).strip():
            continue
        record = parse_json(content, where, _REMEDY)
        text = _text(where, record)
        earlier = first_line.setdefault(text.text_id, line)
        if earlier != line:
            raise InputError(
                where, 'a text_id that no earlier line has',
                repr(text.text_id), f'Line {earlier} has it too: rename '
                'or remove one of the two.')
        texts.append(text)
    if not texts:
        raise InputError(
            path, 'at least one text', 'an empty file',
            "Write one JSON object per line, with 'text_id' and 'text'.")
    return TextSet(tuple(texts))


def _text(where: str, record: Any) -> Text:
    """Check the fields of a line, and return its text."""
    if isinstance(record, dict):
        record = {'source': '', 'answer': None} | record
    check_fields(where, 'the line', record, _FIELDS, _REMEDY)
    answer = record['answer']
    answer_range = None
    if isinstance(answer, list) and list(map(type, answer)) == [int, int]:
        first, end = answer
        answer_range = first, end
    elif answer is not None:
        raise InputError(
            where, "two whole numbers as 'answer'",
            repr(answer)[:80], 'Give the position of the first character of '
            'the answer in the text, and the position after its last '
            'character, counted from 0.')
    with errors_name(where, 'a text with a valid answer', _REMEDY):
        return Text(record['text_id'], record['text'], record['source'],
                    answer_range)


def write_texts(path: FilePath, texts: TextSet) -> None:
    """Write a validation set; the file appears completely or not at all.

    Raises:
        InputError: The folder does not exist.
    """
    lines = []
    for text in texts:
        record = {name: getattr(text, name) for name in _FIELDS}
        if text.answer is not None:
            record['answer'] = text.answer
        line = json.dumps(record, ensure_ascii=False)
        lines.append(f'{line}\n')
    write_text(path, ''.join(lines))


def write_validation_set(folder: FilePath, texts: TextSet,
                         manifest: Mapping[str, Any]) -> None:
    """Write `texts.jsonl` and `manifest.json` into a folder.

    The folder is made if it does not exist. If an error occurs, neither file
    is written. The manifest says how the texts were made; see
    docs/validation_sets.md.
    """
    out = Path(folder)
    with file_set(out):
        write_texts(out / TEXTS, texts)
        write_json(out / MANIFEST, manifest)


def shipped_texts() -> TextSet:
    """Return the 500 texts that come with the package, with their answers.

    They are in English and Chinese, and were written for this package. Their
    license is CC0 1.0; see docs/validation_sets.md.

    >>> shipped_texts()
    TextSet(500 texts e775fa504a46)
    """
    shipped = files('csv_plugin') / 'data' / 'shipped_texts.jsonl'
    with as_file(shipped) as path:
        return read_texts(path)


def subtask_name(text: Text) -> str:
    """Return the sub-task of a text, which its id states after the benchmark.

    >>> subtask_name(Text('mmlu/anatomy/17', 'x'))
    'anatomy'
    """
    _, _, rest = text.text_id.partition('/')
    subtask, _, _ = rest.rpartition('/')
    return subtask
