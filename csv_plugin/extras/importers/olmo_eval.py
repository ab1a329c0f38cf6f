"""Losses on benchmark items from olmo-eval.

Read as its snapshot of June 2026 (allenai/olmo-eval, commit e8b88f19) writes
`predictions/<model>/<task>_<hash>-predictions.jsonl`.
"""
import os
from pathlib import Path

from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.json_rows import JsonPart, read_json_rows
from csv_plugin.extras.importers.text_losses import TextLoss
from csv_plugin.io.files import FilePath, check_is_folder

_SUFFIX = '-predictions.jsonl'
_REMEDY = 'Run olmo-eval again, or fetch an intact copy of its output.'


def read_olmo_eval(path: FilePath) -> list[TextLoss]:
    """Read the losses of one model on the right answers of benchmark items.

    Scored: all tokens of the answer, given the prompt, which the files do
    not contain; the hash in the name of a file stands for it.

    Args:
        path (FilePath): The folder of a model, `predictions/<model>`.

    Returns:
        list[TextLoss]: By file and line. An item is called
        '<task>_<hash>/<native_id>', so that other prompts are other items.

    Raises:
        InputError: There is no such file, one is damaged, an item has no
            right answer, or an answer has no log-likelihood or one that
            leaves out tokens.
    """
    check_is_folder(path, 'the predictions of a model')
    files = sorted(Path(path).glob(f'*{_SUFFIX}'))
    if not files:
        raise InputError(
            os.fspath(path), f'files *{_SUFFIX}', 'none',
            'Name the folder predictions/<model>.')
    return [
        _answer(row, f'{file.name.removesuffix(_SUFFIX)}/') for file in files
        for row in read_json_rows(file, _REMEDY)
    ]


def _answer(row: JsonPart, prefix: str) -> TextLoss:
    answers = row.parts('model_output')
    # A task with a single answer may have any label: its text, for example.
    index = 0 if len(answers) == 1 else row.fields.get('label')
    if type(index) is not int or not 0 <= index < len(answers):
        raise row.error('label', f'the index of one of {len(answers)} answers')
    answer = answers[index]
    if answer.get('num_tokens', int) != answer.get('num_tokens_all', int):
        raise answer.error('num_tokens',
                           f'all {answer.fields["num_tokens_all"]} tokens')
    text = answer.get('text', str)
    if not text:
        raise answer.error('text', 'the answer that was scored')
    return TextLoss(
        prefix + str(row.fields.get('native_id')),
        text,
        0.0 - answer.number('sum_logits'),
        where=answer.where)
