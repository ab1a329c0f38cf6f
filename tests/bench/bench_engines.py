"""Losses of engines beside those of transformers in float32.

    sh tests/bench/vllm_environment.sh FOLDER
    FOLDER/bin/python -m tests.bench.bench_engines
        [--model MODEL] [--texts FILE] [--only NAME ...]

The model is `tiny`, a random Llama of one million weights; `smollm2`
(`tests/lm/smollm2.py`); or the folder of a Llama with its tokenizer. The texts
are a validation set, by default that of the demonstration. Every engine but
the first runs in a process of its own; all get the same ids, and are measured
with loading left out. Engines whose package is missing are named.
"""
import argparse
import importlib.util
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from csv_plugin.demo import shipped
from csv_plugin.extras.completions import CompletionsEngine
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from tests.bench.common import llama_config, make_parser, run_apart
from tests.lm import smollm2
from tests.lm.models import tokenizer as tiny_tokenizer

#: Most tokens of a window.
CONTEXT = 1024
#: A vLLM that runs on a processor, offline, and takes no more than it needs.
VLLM_SETTINGS = {
    'HF_HUB_OFFLINE': '1',
    'VLLM_CPU_KVCACHE_SPACE': '1',
    'VLLM_CPU_OMP_THREADS_BIND': 'nobind',
}
#: Windows of every contender: vLLM needs room for two ids more.
LONGEST = CONTEXT + 2

# An engine, made from the folder of a model and a number format.


@contextmanager
def run_transformers(folder, dtype):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    yield TransformersEngine(model)


@contextmanager
def run_vllm(folder, dtype):
    from vllm import LLM
    yield VLLMEngine(
        LLM(
            str(folder),
            dtype=dtype,
            max_model_len=LONGEST,
            # A long text is read in several pieces.
            max_num_batched_tokens=CONTEXT // 2,
            enforce_eager=True))


@contextmanager
def serving(folder, dtype):
    """The server of vLLM, on this machine alone; its address."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, '-m', 'vllm.entrypoints.openai.api_server', '--model',
        str(folder), '--served-model-name', 'measured', '--host', '127.0.0.1',
        '--port',
        str(port), '--dtype', dtype, '--max-model-len',
        str(LONGEST), '--enforce-eager'
    ]
    server = subprocess.Popen(command, stdout=sys.stderr)
    try:
        while not is_open(port):
            assert server.poll() is None, 'The server stopped.'
            time.sleep(1)
        yield f'http://127.0.0.1:{port}'
    finally:
        server.terminate()
        server.wait()


@contextmanager
def run_server(folder, dtype):
    with serving(folder, dtype) as url:
        yield CompletionsEngine(url, 'measured', dtype=dtype)


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


#: The package that must be installed, what makes the engine, number format.
CONTENDERS = {
    'transformers float32': ('transformers', run_transformers, 'float32'),
    'transformers bfloat16': ('transformers', run_transformers, 'bfloat16'),
    'vLLM float32': ('vllm', run_vllm, 'float32'),
    'vLLM bfloat16': ('vllm', run_vllm, 'bfloat16'),
    'vLLM server float32': ('vllm', run_server, 'float32'),
}
REFERENCE = next(iter(CONTENDERS))


def save_model(name, folder):
    """The folder of a model with its tokenizer."""
    if name == 'tiny':
        torch.manual_seed(0)
        tokenizer = tiny_tokenizer()
        # Heads of 32, the smallest that vLLM takes on processors.
        AutoModelForCausalLM.from_config(
            llama_config((128, 4, 4, 2, 256, len(tokenizer)),
                         initializer_range=.2)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    elif name == 'smollm2':
        smollm2.save(folder)
    else:
        return name
    return folder


def measure(name, folder, texts):
    """Run one contender in this process: its losses and seconds."""
    _, make, dtype = CONTENDERS[name]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = read_texts(texts).texts
    with make(folder, dtype) as engine:
        start = time.time()
        losses = token_losses(engine, tokenizer, texts, context=CONTEXT)
        seconds = time.time() - start
        versions = engine.facts.versions
    return dict(
        losses=np.concatenate([text.losses for text in losses]),
        ends=np.concatenate([text.spans.ends for text in losses]),
        seconds=seconds,
        versions=', '.join(f'{k} {v}' for k, v in versions.items()))


def measure_apart(name, folder, texts):
    """Measure one contender in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix='.npz') as out:
        run_apart('bench_engines', '--worker', name, folder, '--texts', texts,
                  '--out', out.name, **VLLM_SETTINGS)
        return dict(np.load(out.name))


def compare(folder, texts, names):
    """Print a row for every contender."""
    reference = measure(REFERENCE, folder, texts)
    print(f'{len(read_texts(texts))} texts, {len(reference["ends"])} tokens\n')
    print('| engine | largest | mean | seconds | versions |')
    print('|---|---|---|---|---|')
    for name in names:
        if importlib.util.find_spec(CONTENDERS[name][0]) is None:
            print(f'| {name} | not installed | | | |')
            continue
        result = reference if name == REFERENCE else measure_apart(
            name, folder, texts)
        np.testing.assert_array_equal(result['ends'], reference['ends'])
        difference = np.abs(result['losses'] - reference['losses'])
        print(
            f'| {name} | {difference.max():.1e} | {difference.mean():.1e} '
            f'| {result["seconds"]:.0f} | {result["versions"]} |',
            flush=True)


def main():
    parser = make_parser(__doc__)
    parser.add_argument('--model', default='tiny')
    parser.add_argument('--texts', type=Path, default=shipped.TEXTS)
    parser.add_argument(
        '--only', nargs='+', choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument('--worker', nargs=2, help=argparse.SUPPRESS)
    parser.add_argument('--out', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        np.savez(arguments.out, **measure(*arguments.worker, arguments.texts))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = save_model(arguments.model, scratch)
        compare(folder, arguments.texts, arguments.only)


if __name__ == '__main__':
    main()
