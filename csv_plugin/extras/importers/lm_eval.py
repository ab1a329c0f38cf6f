"""Read losses and grades from lm-evaluation-harness, 0.4.3 to 0.4.13.

For losses on texts, `write_lm_eval_task` writes a task that any backend of the
harness can run. With `--log_samples`, the harness then logs the
log-likelihood of every text, which `read_lm_eval` reads.
"""
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.comparing import Answers
from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import ALIKE, SHOTS, Measured, check_measured
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.left_out import (EMPTY, NO_RIGHT,
                                                  SEVERAL_RIGHT, LeftOut,
                                                  read_items)
from csv_plugin.extras.importers.lm_eval_results import (REMEDY, Result, Run,
                                                         read_results,
                                                         read_runs, samples_of)
from csv_plugin.extras.importers.text_losses import (Answer, Items, TextLoss,
                                                     told_apart)
from csv_plugin.io.files import FilePath, file_set, write_text
from csv_plugin.io.json_files import (JsonPart, inside, is_number,
                                      read_json_rows)

#: Id of an empty text that is added to each task. If the tokenizer adds no
#: special tokens, this text has no token. Therefore its loss must be 0.
_PROBE = 'salience_texts probe'
#: Output types of tasks without answers. None is the type of a group, and
#: tasks that score whole texts, as `write_lm_eval_task` writes them, have the
#: other type.
_NO_ANSWERS = None, 'loglikelihood_rolling'
_TASK = '''\
# Losses of every text: {n_texts} texts {fingerprint}.
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {path}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
# The column, not a template: texts may look like templates or like lists.
doc_to_target: text
metric_list:
  - metric: bits_per_byte
metadata:
  version: 1.0
  fingerprint: "{fingerprint}"
'''


def write_lm_eval_task(folder: FilePath, texts: TextSet) -> str:
    """Write a task of lm-evaluation-harness that scores texts.

    Args:
        folder (FilePath): Folder to write the task to, for the harness's
            option `--include_path`; created if it does not exist. The task
            contains the absolute path of its texts, so write it again after
            moving the folder.
        texts (TextSet): The validation set.

    Returns:
        str: Name of the task, for the harness's option `--tasks`.
    """
    root = Path(folder).resolve()
    name = _task_name(texts)
    path = root / f'{name}.jsonl'
    lines = [_line(_PROBE, '')]
    for text in texts:
        lines.append(_line(text.text_id, text.text))
    task = _TASK.format(
        name=name,
        n_texts=len(texts),
        fingerprint=texts.fingerprint,
        # A string in JSON is a valid string in YAML.
        path=json.dumps(str(path), ensure_ascii=False))
    with file_set(root):
        write_text(path, ''.join(lines))
        write_text(root / f'{name}.yaml', task)
    return name


def _line(text_id: str, text: str) -> str:
    row = {'text_id': text_id, 'text': text}
    line = json.dumps(row, ensure_ascii=False)
    return f'{line}\n'


def _task_name(texts: TextSet) -> str:
    return f'salience_texts-{texts.fingerprint[:12]}'


def read_lm_eval(path: FilePath, texts: TextSet) -> list[TextLoss]:
    """Read the losses of one model on texts from a run of their task.

    The task is the one that `write_lm_eval_task` writes for these texts; the
    newest complete run counts. All tokens of the texts are scored. The first
    token is predicted from the BOS token, or from the EOS token if the
    tokenizer has no BOS token. Texts longer than the context of the model are
    cut into windows, and the model does not see the text before a window.
    For `path`, see `read_lm_eval_items`.
    """
    task = _task_name(texts)
    left_out = LeftOut()
    runs = read_runs(path, left_out)
    if not any(task in run.results for run in runs):
        raise InputError(
            path, f'results with the task {task!r}', left_out.text,
            f'Run the harness with --tasks {task} --output_path.')
    samples, measured = samples_of(runs, Path(path).name, task, left_out)
    measured = replace(measured, task='')
    losses = []
    has_probe = False
    for row in read_json_rows(samples, REMEDY):
        loss = _text_loss(row, measured)
        if loss.text_id == _PROBE:
            has_probe = True
        else:
            losses.append(loss)
    if not has_probe:
        raise InputError(
            samples, 'the empty text of the task', 'none',
            'Write the task with write_lm_eval_task(), and run all of it.')
    left_out.warn()
    return losses


def _text_loss(row: JsonPart, measured: Measured) -> TextLoss:
    """Return the loss on the text of a sample that the harness logged."""
    doc = row.part('doc')
    text = doc.get('text', str)
    text_id = doc.get('text_id', str)
    pair = row.get('bits_per_byte', list)
    n_bytes = len(text.encode('utf-8', 'replace'))
    are_numbers = len(pair) == 2 and all(map(is_number, pair))
    if not are_numbers or pair[1] != n_bytes:
        raise row.error('bits_per_byte',
                        f'a log-likelihood and {n_bytes} bytes')
    log_likelihood, _ = pair
    # Subtracted from 0.0, a log-likelihood of 0 gives 0.0, not -0.0.
    nats = 0.0 - log_likelihood
    if text_id == _PROBE and nats:
        raise InputError(
            row.where, 'no loss on the empty text', f'{nats:g} nats',
            'The tokenizer adds a BOS token, and so does the harness: run the '
            'harness with add_bos_token=False among --model_args.')
    return TextLoss(text_id, text, nats, where=row.where, measured=measured)


def read_lm_eval_items(path: FilePath, tasks: Sequence[str],
                       left_out: LeftOut) -> Items:
    """Read the losses of one model on the right answers of benchmark items.

    All tokens of the answer and of the white space before it are scored,
    given the prompt. In the `text` of the returned losses, a hash replaces
    the prompt. If a task has several runs, the newest complete run counts.
    `path` is a file of results, with files `samples_*.jsonl` beside it, or a
    folder that contains such files. An item is called
    '<task>|<few-shot examples>/<id>'. `tasks` are the `patterns` of
    `read_items`; the name of a group stands for all its tasks.
    """
    model = Path(path).name
    runs = read_runs(path, left_out)
    wanted = _leaves(runs, tasks)
    kinds = _kinds(runs)

    def read(task: str) -> list[Answer]:
        if kinds[task] not in ('multiple_choice', 'loglikelihood', ''):
            raise InputError(path, 'answers that were scored',
                             f'the output type {kinds[task]!r}',
                             'Choose other tasks.')
        samples, measured = samples_of(runs, model, task, left_out)
        n_shots = measured.facts[SHOTS] or 0
        prefix = f'{task}|{n_shots}/'
        rows = _first_filter(samples)
        ids = []
        contents = []
        for row in rows:
            ids.append(f'{prefix}{row.fields.get("doc_id")}')
            contents.append(_content(row))
        names = told_apart(ids, contents)
        answers = []
        for row, name in zip(rows, names):
            answers.append(_answer(row, name, measured))
        return answers

    found = []
    for task in sorted(kinds):
        if kinds[task] not in _NO_ANSWERS:
            found.append(task)
    return read_items(path, read, found, sorted(wanted), left_out)


def _first_filter(samples: Path) -> list[JsonPart]:
    """Return the rows of the first filter in a file of samples.

    The file has a row for each item and filter.
    """
    rows: list[JsonPart] = []
    seen: set[str] = set()
    for row in read_json_rows(samples, REMEDY):
        doc_id = row.fields.get('doc_id')
        item = f'{doc_id} {_content(row)}'
        if 'filter' in row.fields:
            first = rows[0] if rows else row
            is_first = row.fields['filter'] == first.fields.get('filter')
        else:
            # Before 0.4.5, rows do not name their filter: the first row of
            # each item counts.
            is_first = item not in seen
        if is_first:
            rows.append(row)
            seen.add(item)
    return rows


def _content(row: JsonPart) -> str:
    """Return the requests of a row, which identify its item, as text."""
    return repr(row.fields.get('arguments'))


def read_lm_eval_answers(
        paths: Mapping[str, FilePath],
        tasks: Sequence[str] = (),
        metrics: Optional[Mapping[str, str]] = None) -> Mapping[str, Answers]:
    """Read the grade of each item, by model and task.

    Runs and metrics are chosen as in `read_lm_eval_accuracies`, but only runs
    with samples are used. The name of an item consists of its number and,
    where the file has it, the hash of its content. What cannot be used is left
    out with a warning. Another warning says whether models were run with
    different prompts or versions of a task.

    Args:
        paths (Mapping): File or folder of each model, as in `read_runs`.
        tasks (Sequence[str]): Tasks, groups or patterns; by default all tasks.
        metrics (Optional[Mapping[str, str]]): Metric of some of the `tasks`,
            perhaps with a filter, as in `read_lm_eval_accuracies`.

    Returns:
        Mapping: The grades, from 0 to 1, by model, task and item.

    Raises:
        InputError: A model has no grades, the results of a model were made
            with different weights, or the results of a task have different
            metrics, filters or numbers of few-shot examples.
    """
    left_out = LeftOut()
    runs = {}
    every = []
    for model, path in paths.items():
        runs[model] = read_runs(path, left_out)
        every += runs[model]
    leaves = {}
    if tasks:
        leaves = _leaves(every, tasks)
    else:
        for task, kind in _kinds(every).items():
            if kind is not None:
                leaves[task] = task
    chosen = {}
    wanted = metrics or {}
    for leaf, task in leaves.items():
        metric = wanted.get(task)
        if metric:
            chosen[leaf] = metric
    answers: dict[str, dict[str, Mapping[str, float]]] = {}
    for model in runs:
        answers[model] = {}
    records = []
    for result in read_results(runs, sorted(leaves), chosen, left_out, True):
        record = result.record
        try:
            answers[record.name][result.task] = _grades(result)
            records.append(record)
        except InputError as error:
            reason = str(error).removeprefix(f'{result.where}: ')
            left_out.add('result', reason, f'{result.task} of {record.name}')
    for model, of_tasks in answers.items():
        if not of_tasks:
            raise InputError(
                f'results of {model!r}, {paths[model]}',
                'samples with an accuracy', left_out.text,
                'Name tasks and metrics by --tasks, or run the '
                'harness, 0.4.3 or later, with --log_samples.')
    # Models are compared on common items, so they may have different numbers
    # of items.
    check_measured(records, ALIKE)
    left_out.warn()
    return answers


def _grades(result: Result) -> dict[str, float]:
    """Return the grades in the samples of a result, by item."""
    metric, _, wanted = result.metric.partition(',')
    filters = result.run.filters(result.task, metric)
    uses = Counter[str]()
    grades = dict[str, float]()
    samples = result.run.samples(result.task)
    for row in read_json_rows(samples, REMEDY):
        doc_id = row.fields.get('doc_id')
        doc_hash = row.fields.get('doc_hash', '')
        item = f'{doc_id} {doc_hash}'
        name = row.fields.get('filter') or ''
        if not name and uses[item] < len(filters):
            # Before 0.4.5, rows do not name their filter. The rows of an item
            # are in the order of the filters.
            name = filters[uses[item]]
        uses[item] += 1
        if name == wanted and metric in row.fields:
            grades.setdefault(item, _grade(row, metric))
    if not grades:
        raise InputError(result.where, f'samples with {result.metric}', 'none',
                         'Run the harness again, or name another metric.')
    return grades


def _grade(row: JsonPart, metric: str) -> float:
    """Return the grade of an item, from 0 to 1."""
    value = row.fields[metric]
    # Some tasks log true and false.
    is_bool = isinstance(value, bool)
    grade = float(value) if is_bool else row.number(metric)
    if not 0 <= grade <= 1:
        raise row.error(metric, 'a grade from 0 to 1')
    return grade


def _leaves(runs: Sequence[Run], names: Iterable[str]) -> dict[str, str]:
    """Map each task to the name that chose it: its own, or that of its group.

    A name or pattern that is no group of the runs is mapped to itself.
    """
    chosen: dict[str, str] = {}
    for name in names:
        leaves: set[str] = set()
        for run in runs:
            leaves.update(run.leaves(name))
        leaves.discard(name)
        chosen |= dict.fromkeys(leaves or {name}, name)
    return chosen


def _kinds(runs: Sequence[Run]) -> dict[str, Optional[str]]:
    """Return the output type of each task and group.

    The type of a group is None. Results of version 0.3 do not state types,
    and all their types are ''.
    """
    kinds = {}
    for run in runs:
        unstated = '' if run.version == '0.3' else None
        for task in run.tasks:
            kind = inside(run.content, 'configs', task, 'output_type')
            kinds[task] = kind or unstated
    return kinds


def _answer(row: JsonPart, name: str, measured: Measured) -> Answer:
    """Return the loss on the right answer of an item, called `name`.

    If the item cannot be used, return the reason instead.
    """
    fields = row.fields
    try:
        asked = [*fields['arguments'].values()]
        if 'acc_mutual_info' in fields:
            # The second half of the requests are answers without a prompt.
            del asked[len(asked) // 2:]
        answers = [part['arg_1'] for part in asked]
        scored = fields['filtered_resps']
        right = _right(row, answers, scored)
        if isinstance(right, str):
            return right
        prompt = asked[right]['arg_0']
        answer = answers[right]
        log_likelihood = float(scored[right][0])
        # The harness scores the white space at the end of a prompt as a part
        # of the answer.
        kept = prompt.rstrip()
        scored_text = prompt[len(kept):] + answer
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        return 'no log-likelihoods of answers'
    if not answer:
        return EMPTY
    if not math.isfinite(log_likelihood):
        return 'a log-likelihood that is not finite'
    # Number of characters of the hash that stands for the prompt.
    n_hash = 16
    data = kept.encode('utf-8', 'backslashreplace')
    digest = sha256(data).hexdigest()[:n_hash]
    nats = 0.0 - log_likelihood
    return TextLoss(name, digest + scored_text, nats, n_hash, row.where,
                    measured)


def _right(row: JsonPart, answers: Sequence[str],
           scored: Sequence[Any]) -> int | str:
    """Return the index of the right answer, or why the item is left out.

    The field `target` of the row is the index or the text of the right answer.
    In winogrande, all answers have the same text after different prompts. The
    index then follows from `acc` and the log-likelihoods in `scored`.
    """
    if len(answers) == 1:
        return 0
    target = str(row.fields.get('target'))
    right = []
    for index, answer in enumerate(answers):
        names = answer, answer.strip(), str(index)
        if target in names:
            right.append(index)
    accuracy = row.fields.get('acc')
    if len(right) > 1 and accuracy in (0, 1):
        values = []
        for log_likelihood, *_ in scored[:len(answers)]:
            values.append(float(log_likelihood))
        best = values.index(max(values))
        # The answer with the highest log-likelihood is the right one if the
        # accuracy is 1, and a wrong one if it is 0.
        right = [index for index in right if (index == best) == accuracy]
    if len(right) == 1:
        return right[0]
    if target.startswith('['):
        return SEVERAL_RIGHT
    return NO_RIGHT
