"""Losses by lm-evaluation-harness beside those of the package's own dumps.

    python -m tools.studies.compare_lm_eval --command ENV/bin/lm_eval

runs the command of the harness (0.4.13, in an environment of its own) on
models of the demonstration and its 250 texts, imports what it wrote, and
prints the differences: with `add_bos_token=False`, and without it, where the
import must be refused. The figures of docs/importing.md come from here.
"""
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import csv_plugin as cp
from csv_plugin.demo import shipped
from csv_plugin.extras.importers.lm_eval import write_lm_eval_task
from tools.studies.options import parser_of

MODELS = 'a/l/100', 'b/l/50', 'c/l/80', 'd/s/100'


def model_folder(root, model):
    """A model of the zoo with its tokenizer, as the harness wants it."""
    series, size, percent = model.split('/')
    folder = root / 'models' / f'{series}-{size}@{percent}'
    shutil.copytree(shipped.ZOO / model, folder)
    shutil.copytree(
        shipped.ZOO / series / 'tokenizer', folder, dirs_exist_ok=True)
    return folder


def run(command, root, folder, task, arguments):
    """Score the texts; returns the output folder and the seconds."""
    out = root / 'out' / f'{folder.name}{arguments}'
    start = time.time()
    subprocess.run([
        command, '--model', 'hf', '--model_args',
        f'pretrained={folder},dtype=float32{arguments}', '--device', 'cpu',
        '--batch_size', '8', '--tasks', task, '--include_path', root / 'tasks',
        '--output_path', out, '--log_samples'
    ],
                   check=True,
                   capture_output=True,
                   env={
                       **os.environ, 'HF_HUB_OFFLINE': '1',
                       'HF_HOME': str(root / 'cache')
                   })
    return out, time.time() - start


def own_losses(texts, model):
    """Nats by text, of the dump that comes with the package."""
    dumps = cp.read_dumps([shipped.COLLECTION / f'{model}.safetensors'], texts)
    return np.array([text.losses.sum() for text in dumps[model].texts])


def raw_losses(out):
    """Nats by text as the harness logged them, whatever they are."""
    path, = out.rglob('samples_*.jsonl')
    rows = map(json.loads, path.read_text('utf-8').splitlines())
    return np.array([-row['bits_per_byte'][0] for row in rows][1:])


def main(command, models):
    texts = cp.read_texts(shipped.TEXTS)
    chars = np.array([len(text.text) for text in texts])
    print('| model | largest difference, relative | all losses | seconds '
          '| with its own BOS: up to | and then |\n|---|---|---|---|---|---|')
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        task = write_lm_eval_task(root / 'tasks', texts)
        for model in models:
            copy = model_folder(root, model)
            out, seconds = run(command, root, copy, task,
                               ',add_bos_token=False')
            losses = cp.import_losses('lm-eval', {copy.name: out}, texts)
            own = own_losses(texts, copy.name)
            difference = np.abs(losses.values[0] * chars / own - 1).max()
            total = (losses.values[0] * chars).sum() / own.sum() - 1
            wrong, _ = run(command, root, copy, task, '')
            more = (raw_losses(wrong) / own - 1).max()
            try:
                cp.import_losses('lm-eval', {copy.name: wrong}, texts)
                verdict = 'NOT refused'
            except cp.InputError as error:
                verdict = ('refused' if 'add_bos_token=False' in str(error)
                           else f'refused for another reason: {error}')
            cells = (copy.name, f'{difference:.1e}', f'{total:+.0e}',
                     f'{seconds:.0f}', f'{more:+.0%}', verdict)
            print('|', ' | '.join(cells), '|', flush=True)


if __name__ == '__main__':
    parser = parser_of(__doc__)
    parser.add_argument('--command', default='lm_eval')
    parser.add_argument('--models', nargs='+', default=MODELS)
    main(**vars(parser.parse_args()))
