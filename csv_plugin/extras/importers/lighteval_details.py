"""Read losses on benchmark items from the details of lighteval 0.13.0."""
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import counted
from csv_plugin.core.measured import (SHOTS, SYSTEM, TEMPLATE, VERSION,
                                      Measured, check_weights)
from csv_plugin.extras.importers.left_out import (GENERATED, LeftOut,
                                                  read_items, right_answer)
from csv_plugin.extras.importers.lm_eval_results import arguments, quantization
from csv_plugin.extras.importers.text_losses import (Answer, Items, TextLoss,
                                                     told_apart)
from csv_plugin.io.files import FilePath, check_is_folder
from csv_plugin.io.json_files import (JsonPart, inside, is_number,
                                      read_json_part)
from csv_plugin.io.parquet_tables import read_rows_of

_REMEDY = 'Run lighteval again with --save-details.'
#: The reason for leaving out tasks on whole texts: version 0.13.0 scores each
#: token at the position of the token before it.
_ONE_OFF = 'whole texts, which lighteval scores one token off'


def read_lighteval(path: FilePath, tasks: Sequence[str],
                   left_out: LeftOut) -> Items:
    """Read the losses of one model on the right answers of benchmark items.

    All tokens of the answer are scored, given the question. If a task has
    several runs, the run with the most items counts. If several runs have
    equally many items, the newest of them counts. `path` is the folder with
    the details of one model, or a folder above it. An item is called
    '<task>|<few-shot examples>/<id>'. `tasks` are the `patterns` of
    `read_items`.
    """
    check_is_folder(path, 'the details of a model')
    files = list(Path(path).rglob('details_*.parquet'))
    if not files:
        raise InputError(path, 'details_*.parquet', 'none', _REMEDY)
    folders: set[str] = set()
    for file in files:
        model_folder = file.parents[1]
        folders.add(str(model_folder))
    if len(folders) > 1:
        raise InputError(path, 'outputs of one model',
                         ', '.join(sorted(folders)),
                         'Name the folder of each model.')
    runs: dict[str, list[Path]] = {}
    for file in sorted(files, key=_date):
        name = file.stem.removeprefix('details_')
        task, _, _ = name.rpartition('_')
        runs.setdefault(task, []).append(file)

    def read(task: str) -> list[Answer]:
        return _answers(task, runs[task], left_out)

    return read_items(path, read, sorted(runs), tasks, left_out)


def _date(file: Path) -> str:
    """Return the date in the name of a file with details."""
    _, _, date = file.stem.rpartition('_')
    return date


def _answers(task: str, runs: Sequence[Path],
             left_out: LeftOut) -> list[Answer]:
    """Return the losses on the items of a task.

    `runs` are the files with details of the task, the newest last. Only the
    run that counts is used.
    """
    records = {}
    rows = {}
    for file in runs:
        records[file] = _measured(task, file)
        rows[file] = _rows(file)
    check_weights(filter(None, records.values()))
    # The run with the most items counts; of equally long runs, the newest.
    chosen = runs[-1]
    for file in runs[::-1]:
        if len(rows[file]) > len(rows[chosen]):
            chosen = file
    for file in runs:
        if file != chosen:
            items = counted(len(rows[file]), 'item')
            left_out.add('run', 'another run has more items or is newer',
                         f'{items} of {task}')
    ids = []
    contents = []
    for row in rows[chosen]:
        doc = row.part('doc')
        name = doc.get('id', str)
        ids.append(f'{task}/{name}')
        query = doc.fields.get('query')
        choices = doc.fields.get('choices')
        contents.append(repr([query, choices]))
    names = told_apart(ids, contents)
    measured = records[chosen]
    answers = []
    for row, name in zip(rows[chosen], names):
        answers.append(_answer(row, name, measured))
    return answers


def _rows(file: Path) -> list[JsonPart]:
    """Return the rows of a file with details, one for each item."""
    rows = []
    columns = 'doc', 'model_response'
    for number, row in enumerate(read_rows_of(file, columns)):
        where = f'{file}, row {number}'
        rows.append(JsonPart(where, row, _REMEDY))
    return rows


def _measured(task: str, file: Path) -> Optional[Measured]:
    """Return what the results of a run state about its model and task.

    The result is None if there is no file of results beside the folder of
    details.
    """
    folder = file.absolute().parents[1]
    details = folder
    for parent in folder.parents[::-1]:
        if parent.name == 'details':
            # Of several folders of this name, the innermost counts.
            details = parent
    model_folder = folder.relative_to(details)
    date = _date(file)
    results = Path(details.parent, 'results', model_folder,
                   f'results_{date}.json')
    if not results.is_file():
        return None
    content = read_json_part(results, _REMEDY).fields
    config = partial(inside, content, 'config_general', 'model_config')
    settings = arguments(config())
    template = config('override_chat_template')
    if template is not None:
        template = 'some' if template else 'none'
    _, _, n_shots = task.rpartition('|')
    facts = {
        'model': config('model_name'),
        'revision': config('revision'),
        'dtype': config('dtype'),
        'quantization': quantization(settings),
        'adapter': config('base_model') or 'none',
        SHOTS: n_shots,
        VERSION: inside(content, 'versions', task),
        TEMPLATE: template,
        SYSTEM: config('system_prompt') or 'none',
    }
    return Measured('', task, str(results), facts)


def _answer(row: JsonPart, name: str, measured: Optional[Measured]) -> Answer:
    """Return the loss on the right answer of an item, called `name`.

    If the item cannot be used, return the reason instead.
    """
    doc = row.part('doc')
    response = row.part('model_response')
    methods = doc.get('sampling_methods', list)
    if 'LOGPROBS' not in methods:
        if 'PERPLEXITY' in methods:
            return _ONE_OFF
        return GENERATED
    choices = doc.get('choices', list)
    logprobs = response.get('logprobs', list)
    gold = doc.fields.get('gold_index')
    index = right_answer(gold, len(choices))
    if isinstance(index, str):
        return index
    logprob = None
    if len(logprobs) == len(choices):
        logprob = logprobs[index]
    # SGLang gives a number for each token of the answer, other backends give
    # one number for the whole answer.
    parts = logprob if isinstance(logprob, list) else [logprob]
    if not all(map(is_number, parts)):
        raise response.error('logprobs', f'{len(choices)} log-likelihoods')
    # The number is -1 where lighteval does not count truncated tokens.
    truncated = response.fields.get('truncated_tokens_count')
    if is_number(truncated) and truncated > 0:
        raise response.error('truncated_tokens_count', '0')
    context = _context(doc)
    answer = choices[index]
    if not isinstance(answer, str):
        raise doc.error('choices', 'texts')
    text = context + answer
    nats = 0.0 - sum(parts)
    return TextLoss(name, text, nats, len(context), row.where, measured)


def _context(doc: JsonPart) -> str:
    """Join the parts of the prompt; the prompt itself is not in the file."""
    parts = [doc.fields.get('instruction') or '']
    for example in doc.parts('fewshot_samples'):
        parts.append(example.get('query', str))
    parts.append(doc.get('query', str))
    return '\n\n'.join(filter(None, parts))
