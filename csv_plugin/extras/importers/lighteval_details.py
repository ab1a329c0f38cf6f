"""Losses on benchmark items from lighteval, read as 0.13.0 writes them."""
import os
from pathlib import Path

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.json_rows import (JsonPart, is_number,
                                                   read_parquet_rows)
from csv_plugin.extras.importers.text_losses import TextLoss, check_one_model
from csv_plugin.io.files import FilePath, check_is_folder

_REMEDY = 'Run lighteval again with --save-details.'


def read_lighteval(path: FilePath) -> list[TextLoss]:
    """Read the losses of one model on the right answers of benchmark items.

    Scored: all tokens of the answer, given the question. Tasks that score no
    answers, and those on whole texts, are left out: in the latter, lighteval
    0.13.0 takes every token for the one before.

    Args:
        path (FilePath): The details of a model, or a folder above them. Of
            several runs of a task, the newest counts.

    Returns:
        list[TextLoss]: By task and row. An item is called
        '<task>|<few-shot examples>/<id>'.

    Raises:
        InputError: There are no details of such a task, they are of several
            models, a file is damaged, or an item has not a single right
            answer, has no log-likelihood, or was truncated.
    """
    check_is_folder(path, 'the details of a model')
    # The folder of a run is its date, in that of the model. Two organisations
    # may have a model of one name.
    found = sorted(
        Path(path).rglob('details_*.parquet'),
        key=lambda file: (file.parent.name, file.name))
    check_one_model(path, {str(file.parents[1]) for file in found})
    files: dict[str, Path] = {}
    for file in found:
        task = file.stem.removeprefix('details_')
        files[task.removesuffix(f'_{file.parent.name}')] = file
    losses = [
        _answer(row, task) for task, file in sorted(files.items())
        for row in read_parquet_rows(file, ('doc', 'model_response'), _REMEDY)
        if row.part('doc').fields.get('sampling_methods') == ['LOGPROBS']
    ]
    if not losses:
        raise InputError(
            os.fspath(path), 'details_*.parquet of tasks that score answers',
            ', '.join(files) or 'none', _REMEDY)
    return losses


def _answer(row: JsonPart, task: str) -> TextLoss:
    doc, response = row.part('doc'), row.part('model_response')
    choices = doc.get('choices', list)
    logprobs = response.get('logprobs', list)
    gold = doc.fields.get('gold_index')
    index = gold[0] if isinstance(gold, list) and len(gold) == 1 else gold
    if type(index) is not int or not 0 <= index < len(choices):
        raise doc.error('gold_index', 'the index of a single answer')
    if len(logprobs) != len(choices) or not is_number(logprobs[index]):
        raise response.error('logprobs', f'{len(choices)} log-likelihoods')
    if response.fields.get('truncated_tokens_count'):
        raise response.error('truncated_tokens_count', '0')
    context = _context(doc)
    return TextLoss(f'{task}/{doc.get("id", str)}', context + choices[index],
                    0.0 - logprobs[index], len(context), row.where)


def _context(doc: JsonPart) -> str:
    """The parts of the prompt, which itself is not in the file."""
    parts = [
        doc.fields.get('instruction') or '',
        *(example.get('query', str)
          for example in doc.parts('fewshot_samples')),
        doc.get('query', str)
    ]
    return '\n\n'.join(filter(None, parts))
