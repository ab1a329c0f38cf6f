"""Losses of texts from lm-evaluation-harness, 0.4.3 to 0.4.13.

`write_lm_eval_task` writes a task that any backend of the harness can run;
with `--log_samples` it leaves the log-likelihood of every text.
"""
import json
import os
from dataclasses import replace
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import Measured
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.json_rows import (JsonPart, is_number,
                                                   read_json_rows)
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.extras.importers.lm_eval_results import (REMEDY, read_runs,
                                                         samples_of, tasks_of)
from csv_plugin.extras.importers.text_losses import TextLoss
from csv_plugin.io.files import FilePath, write_text

#: The empty text among those of a task. A tokenizer that puts nothing around
#: a text gives it no token, so that it has no loss.
_PROBE = 'salience_texts probe'
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
        folder (FilePath): Where to write it, for `--include_path`; it is made
            if it does not exist. The task contains the path of the texts
            there, so write it anew after moving the folder.
        texts (TextSet): The validation set.

    Returns:
        str: Name of the task, for `--tasks`.
    """
    root, name = Path(folder).resolve(), _task_name(texts)
    root.mkdir(parents=True, exist_ok=True)
    pairs = [(_PROBE, ''), *((text.text_id, text.text) for text in texts)]
    rows = [{'text_id': text_id, 'text': text} for text_id, text in pairs]
    path = root / f'{name}.jsonl'
    write_text(
        path,
        ''.join(json.dumps(row, ensure_ascii=False) + '\n' for row in rows))
    write_text(
        root / f'{name}.yaml',
        _TASK.format(
            name=name,
            n_texts=len(texts),
            fingerprint=texts.fingerprint,
            # A text in JSON is one in YAML.
            path=json.dumps(str(path), ensure_ascii=False)))
    return name


def _task_name(texts: TextSet) -> str:
    return f'salience_texts-{texts.fingerprint[:12]}'


def read_lm_eval(path: FilePath, texts: TextSet) -> list[TextLoss]:
    """Read the losses of one model from the newest run of the texts' task.

    Scored: all tokens of the texts. The first one is given the BOS token, or
    the EOS token where there is none. In texts longer than the context of the
    model, each window of the harness begins without the text before. The path
    is as in `read_lm_eval_items`.

    Raises:
        InputError: There is no run of the task or it is of several models,
            samples were not logged, a file is damaged, or the tokenizer put
            BOS in front of the texts by itself, which the harness then
            scores.
    """
    task = _task_name(texts)
    left_out = LeftOut()
    runs = read_runs(path, left_out)
    if not any(task in run.results for run in runs):
        raise InputError(
            os.fspath(path), f'results with the task {task!r}',
            tasks_of(runs, left_out),
            f'Run the harness with --tasks {task} --output_path.')
    samples, measured = samples_of(runs, Path(path).name, task, left_out)
    measured = replace(measured, task='')
    losses = [
        _text_loss(row, measured) for row in read_json_rows(samples, REMEDY)
    ]
    if _PROBE not in [loss.text_id for loss in losses]:
        raise InputError(
            str(samples), 'the empty text of the task', 'none',
            'Write the task by write_lm_eval_task(), and run it whole.')
    left_out.warn()
    return [loss for loss in losses if loss.text_id != _PROBE]


def _text_loss(row: JsonPart, measured: Measured) -> TextLoss:
    """The loss on the text of a sample, as the harness logs it."""
    doc = row.part('doc')
    text, text_id = doc.get('text', str), doc.get('text_id', str)
    pair = row.get('bits_per_byte', list)
    n_bytes = len(text.encode('utf-8', 'replace'))
    if not (len(pair) == 2 and all(map(is_number, pair))
            and pair[1] == n_bytes):
        raise row.error('bits_per_byte',
                        f'a log-likelihood and {n_bytes} bytes')
    if text_id == _PROBE and pair[0]:
        raise InputError(
            row.where, 'no loss on the empty text', f'{-pair[0]:g} nats',
            'The tokenizer adds BOS by itself, and the harness scored it '
            'behind another BOS: run it with add_bos_token=False among '
            '--model_args.')
    # A sum of no terms is 0, not -0.
    return TextLoss(
        text_id, text, 0.0 - pair[0], where=row.where, measured=measured)
