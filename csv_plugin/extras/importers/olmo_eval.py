"""Read losses on benchmark items, and texts, from outputs of olmo-eval.

The files are `predictions/<model>/<task>_<hash>-predictions.jsonl`, as the
snapshot of June 2026 (allenai/olmo-eval, commit e8b88f19) writes them with any
provider, and `requests.jsonl`.
"""
import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.measured import SYSTEM, Measured
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.left_out import (EMPTY, GENERATED, NO_RIGHT,
                                                  LeftOut, read_items,
                                                  right_answer)
from csv_plugin.extras.importers.text_losses import (Answer, Items, TextLoss,
                                                     told_apart)
from csv_plugin.io.files import FilePath, check_is_folder
from csv_plugin.io.json_files import (JsonPart, inside, read_json_part,
                                      read_json_rows)

_SUFFIX = '-predictions.jsonl'
_REMEDY = 'Run olmo-eval again, or fetch an intact copy of its output.'
#: Names of all scorers that use log-likelihoods, and of some scorers that use
#: generated answers.
_OF_LIKELIHOODS = {'logprob', 'bits_per_byte', 'perplexity'}
_OF_GENERATED = {
    'exact_match', 'exact_match_flex', 'f1', 'math_verify',
    'minerva_math_flex', 'multiple_choice'
}
_GUESSED = 'scored by LiteLLM, which scores an answer of its own'


def read_olmo_eval(path: FilePath, tasks: Sequence[str],
                   left_out: LeftOut) -> Items:
    """Read the losses of one model on the right answers of benchmark items.

    All tokens of the answer are scored, given the prompt. The `text` of a
    returned loss is the answer alone, because the prompt is not in the file;
    the hash in the file's name identifies the prompts. `path` is
    `predictions/<model>`. The file `metrics.json` of the run, if it exists,
    states which weights were loaded. An item is called
    '<task>_<hash>/<native_id>'. `tasks` are the `patterns` of `read_items`.
    """
    check_is_folder(path, 'the predictions of a model')
    files = sorted(Path(path).glob(f'*{_SUFFIX}'))
    if not files:
        raise InputError(path, f'files *{_SUFFIX}', 'none',
                         'Name the folder predictions/<model>.')
    by_task = {}
    for file in files:
        task_name = file.name.removesuffix(_SUFFIX)
        by_task[task_name] = file

    def read(task: str) -> list[Answer]:
        return _answers(task, by_task[task])

    return read_items(path, read, by_task, tasks, left_out)


def _answers(task: str, file: Path) -> list[Answer]:
    """Return the losses on the items of a task, from its predictions."""
    # Rows may contain NaN, the loss of a model that diverged.
    rows = list(read_json_rows(file, _REMEDY))
    measured, provider = _measured(task, file)
    if provider == 'litellm':
        return [_GUESSED] * len(rows)
    ids = []
    for row in rows:
        native_id = row.fields.get('native_id')
        ids.append(str(native_id))
    # In some benchmarks, several items have the same native_id.
    uses = Counter(ids)
    names = []
    for row, item_id in zip(rows, ids):
        name = f'{task}/{item_id}'
        if uses[item_id] > 1:
            doc_id = row.fields.get('doc_id')
            name += f'/{doc_id}'
        names.append(name)
    contents = list(map(_content, rows))
    names = told_apart(names, contents)
    answers = []
    for row, name in zip(rows, names):
        answers.append(_answer(row, name, measured))
    return answers


def _content(row: JsonPart) -> str:
    """Return what identifies an item: its answers and its label, as text.

    Prompts are not in the file.
    """
    outputs = row.get('model_output', list)
    texts = [inside(output, 'text') for output in outputs]
    label = row.fields.get('label')
    return repr([texts, label])


def _measured(task: str, file: Path) -> tuple[Optional[Measured], Any]:
    """Return what `metrics.json` states about a task, and the provider.

    Both are None if the file does not exist.
    """
    folder = file.absolute().parent
    run = folder.parent.parent
    metrics = run / 'metrics.json'
    if not metrics.is_file():
        return None, None
    config = read_json_part(metrics, _REMEDY).fields.get('config')
    # In a run of several models, each model has a config of its own.
    config = inside(config, 'models', folder.name) or config
    provider = partial(inside, config, 'provider')
    kind = provider('kind')
    if not isinstance(provider(), dict):
        kind = provider()
        provider = partial(inside, config)
    facts = {
        'model': provider('model'),
        'revision': provider('revision') or 'main',
        'dtype': provider('dtype'),
        'quantization': provider('kwargs', 'quantization') or 'none',
        SYSTEM: inside(config, 'system_prompt') or 'none',
    }
    return Measured('', task, str(metrics), facts), kind


def _is_scored(row: JsonPart, answers: Sequence[JsonPart]) -> bool:
    """Return whether the answers were scored by their log-likelihoods.

    If not, the answers were generated. All answers must have log-likelihoods,
    and the names of the scorers tell how they were used.
    """
    for answer in answers:
        if 'sum_logits' not in answer.fields:
            return False
    metrics = row.fields.get('instance_metrics')
    scorers: set[str] = set()
    if isinstance(metrics, dict):
        for name, part in metrics.items():
            scorers.add(name)
            if isinstance(part, dict):
                scorers.update(part)
    if scorers & _OF_LIKELIHOODS:
        return True
    return len(answers) > 1 and not scorers & _OF_GENERATED


def _answer(row: JsonPart, name: str, measured: Optional[Measured]) -> Answer:
    """Return the loss on the right answer of an item, called `name`.

    If the item cannot be used, return the reason instead.
    """
    answers = row.parts('model_output')
    label = row.fields.get('label')
    if not _is_scored(row, answers):
        return GENERATED
    if len(answers) == 1:
        # Such a task may have any label, such as the answer's text.
        label = 0
    index = right_answer(label, len(answers))
    if isinstance(index, str):
        return index
    answer = answers[index]
    text = answer.get('text', str)
    if not text:
        return EMPTY
    # With some providers, num_tokens_all includes the tokens of the prompt.
    n_tokens = answer.get('num_tokens', int)
    if not 0 < n_tokens <= answer.get('num_tokens_all', int):
        raise answer.error('num_tokens', 'a number from 1 to num_tokens_all')
    nats = 0.0 - answer.number('sum_logits')
    return TextLoss(name, text, nats, 0, answer.where, measured)


_REQUESTS_REMEDY = 'Fetch an intact copy of the requests.'
_NAMES = 'requests.jsonl', 'requests.jsonl.gz'
#: Types of requests for log-likelihoods of given answers.
_SCORED = 'loglikelihood', 'generate_until_and_loglikelihood'


def read_requests(path: FilePath, tasks: Sequence[str] = ()) -> TextSet:
    """Read the requests of olmo-eval as texts, one for each item.

    A text consists of the prompt and the right answer. `path` is a file
    `requests.jsonl`, perhaps gzipped, or a folder that contains such files.
    `tasks` are the `patterns` of `read_items`. An item is called
    '<task>/<variant>/<doc_id>', after the folders of its file, and the source
    of its text is '<task>/<variant>'. Warnings list what is left out.
    """
    root = Path(path)
    files = [root]
    if root.is_dir():
        files = []
        for file in sorted(root.rglob('*')):
            if file.name in _NAMES:
                files.append(file)
    names = []
    for file in files:
        task_and_variant = file.absolute().parts[-3:-1]
        names.append('/'.join(task_and_variant))
    check_unique(f'tasks in {os.fspath(path)}', names)
    if not files or not files[0].exists():
        raise InputError(
            path, f'files {" or ".join(_NAMES)}', 'none',
            'Name a file of requests, or a folder with such '
            'files.')
    left_out = LeftOut()
    by_name = dict(zip(names, files))

    def read(name: str) -> list[Text | str]:
        return _texts(name, by_name[name])

    items = read_items(path, read, names, tasks, left_out)
    left_out.warn()
    texts = chain.from_iterable(items.values())
    return TextSet(tuple(texts))


def _texts(task: str, file: Path) -> list[Text | str]:
    """Return the texts of the documents in a file of requests.

    For a document that cannot be used, the list has the reason instead.
    """
    documents: dict[tuple[int, int], list[JsonPart]] = {}
    uses = Counter[tuple[int, int]]()
    for row in read_json_rows(file, _REQUESTS_REMEDY):
        doc_id = row.get('doc_id', int)
        answer = doc_id, row.get('idx', int)
        # The numbers `doc_id` may begin again in each split of a task.
        key = doc_id, uses[answer]
        rows_of_key = documents.setdefault(key, [])
        rows_of_key.append(row)
        uses[answer] += 1
    # From this number on, documents are answers without their questions. Their
    # scores serve to normalise some accuracies.
    unconditional = 1_000_000
    ids = []
    contents = []
    for (doc_id, _), rows in documents.items():
        requests = [row.fields.get('request') for row in rows]
        ids.append(f'{task}/{doc_id}')
        contents.append(repr(requests))
    names = told_apart(ids, contents)
    texts: list[Text | str] = []
    for name, key in zip(names, documents):
        doc_id, _ = key
        if doc_id >= unconditional:
            texts.append(
                'answers without a question, which normalise accuracies')
        else:
            text = _text(name, task, documents[key])
            texts.append(text)
    return texts


def _text(text_id: str, task: str, rows: Sequence[JsonPart]) -> Text | str:
    """Return the text of a document: its prompt and the right answer.

    `rows` has a row for each possible answer. If the item cannot be used,
    return the reason instead of a text.
    """
    first = rows[0]
    if first.get('request_type', str) not in _SCORED:
        return GENERATED
    options = {}
    for row in rows:
        option = row.get('idx', int)
        options[option] = row.part('request')
    label = first.fields.get('label')
    if len(options) == 1 and type(label) is not int:
        # The label may be the answer's text, for example.
        [label] = options
    index = right_answer(label, 1 + max(options))
    if isinstance(index, str):
        return index
    if index not in options:
        return NO_RIGHT
    right = options[index]
    prompt = right.get('context', str)
    answer = right.get('continuation', str)
    if not answer:
        return EMPTY
    text = prompt + answer
    answer_range = len(prompt), len(text)
    return Text(text_id, text, task, answer_range)
