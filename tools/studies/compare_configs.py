"""Predicted rows of models in vLLM beside those of models in transformers.

    sh tests/bench/vllm_environment.sh FOLDER
    FOLDER/bin/python -m tools.studies.compare_configs

runs OpenCompass twice on the texts of the demonstration: on its models as they
are, and on the same models in the class `VLLM`. The table shows by how much
losses, in nats a token, and predictions, in percentage points, differ.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import csv_plugin as cp
from csv_plugin.demo import shipped
from tests.bench.bench_engines import VLLM_SETTINGS

ROOT = Path(__file__).resolve().parents[2]
CONFIG = '''
from mmengine.config import read_base
from opencompass.models import VLLM

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets as datasets
    from csv_plugin.configs.few_processes import eval, infer
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from csv_plugin.configs.summarizers.predicted import summarizer

models = held_out_models
del held_out_models
'''
IN_VLLM = '''
models = [
    dict(
        abbr=model['abbr'],
        type=VLLM,
        path={folder!r} + '/' + model['abbr'],
        model_kwargs=dict(
            dtype='float32', max_model_len=512, enforce_eager=True),
        max_seq_len=512,
        run_cfg=dict(num_gpus=0)) for model in models
]
'''


def save_models(folder):
    """Save the models of the demonstration as vLLM takes them."""
    for path in sorted(shipped.ZOO.glob('*/*/*/config.json')):
        series, size, percent = path.parent.parts[-3:]
        out = folder / f'{series}-{size}@{percent}'
        widened(
            AutoModelForCausalLM.from_pretrained(
                path.parent, dtype=torch.float32)).save_pretrained(out)
        AutoTokenizer.from_pretrained(shipped.ZOO / series /
                                      'tokenizer').save_pretrained(out)


def widened(model):
    """The same Llama with heads twice as wide.

    vLLM takes no heads of 16 on processors. Behind every dimension of a head
    comes one of zeros: so each keeps its speed of rotation. The scores of
    attention are divided by the root of the width, so queries are multiplied
    by the root of 2.
    """
    model.config.head_dim *= 2
    wide = AutoModelForCausalLM.from_config(model.config)
    weights = model.state_dict()
    for name, weight in weights.items():
        if name.endswith(('q_proj.weight', 'k_proj.weight', 'v_proj.weight')):
            scale = 2**.5 if 'q_proj' in name else 1
            weights[name] = torch.zeros(2 * len(weight), weight.shape[1])
            weights[name][::2] = scale * weight
        elif name.endswith('o_proj.weight'):
            weights[name] = torch.zeros(len(weight), 2 * weight.shape[1])
            weights[name][:, ::2] = weight
    wide.load_state_dict(weights)
    return wide


#: OpenCompass's command, its tasks in the same process: each of its own would
#: take half a minute to start.
COMMAND = 'import sys; from tests.oc.command import opencompass; ' \
    'print(opencompass(*sys.argv[1:]))'


def opencompass(folder, name, config):
    """Run a config; the losses by model, and the rows of the leaderboard."""
    file = folder / f'config_{name}.py'
    file.write_text(config)
    out = folder / name
    process = subprocess.run(
        [sys.executable, '-c', COMMAND,
         str(file), '-w',
         str(out)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            **VLLM_SETTINGS, 'PYTHONPATH': str(ROOT)
        })
    boards = list(out.glob('*/summary/leaderboard_*.json'))
    if process.returncode or not boards:
        raise SystemExit(process.stdout + process.stderr)
    dumps = {
        path.parent.name: path
        for path in out.glob('*/predictions/*/*.safetensors')
    }
    losses = cp.read_dumps(dumps, cp.read_texts(shipped.TEXTS))
    return losses, json.loads(boards[0].read_text('utf-8'))['rows']


def by_model(rows):
    """Numbers of all predictions, percent, by model; what is shown too."""
    numbers, shown = {}, {}
    for row in rows:
        values = [row[name] for name in ('predicted', 'low', 'high')]
        numbers.setdefault(row['model'], []).append(values)
        shown.setdefault(row['model'], []).append(
            [None if value is None else f'{value:.1f}' for value in values])
    return {
        name: np.array(values, np.float64)
        for name, values in numbers.items()
    }, shown


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_models(folder)
        losses, rows = opencompass(folder, 'transformers', CONFIG)
        in_vllm, vllm_rows = opencompass(
            folder, 'vllm', CONFIG + IN_VLLM.format(folder=str(folder)))
    numbers, shown = by_model(rows)
    vllm_numbers, vllm_shown = by_model(vllm_rows)
    print('| model | losses: largest | mean | predictions: largest '
          '| shown with one decimal |')
    print('|---|---|---|---|---|')
    for model in numbers:
        loss = np.abs(
            np.concatenate([
                mine.losses - theirs.losses for mine, theirs in zip(
                    losses[model].texts, in_vllm[model].texts)
            ]))
        prediction = np.abs(numbers[model] - vllm_numbers[model])
        same = sum(a == b for a, b in zip(shown[model], vllm_shown[model]))
        print(f'| {model} | {loss.max():.1e} | {loss.mean():.1e} '
              f'| {prediction.max():.1e} '
              f'| {same} of {len(prediction)} rows are the same |')


if __name__ == '__main__':
    main()
