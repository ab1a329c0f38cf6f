"""CPU time and memory of token losses, beside others who compute them.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_token_losses
        [--sizes smoke 23M 60M] [--texts 24]
    python -m tests.bench.bench_token_losses --sizes smollm2 --set FILE

Random-weight Llama models read random texts, of 50 to 1191 tokens or of
`--length`, in random order; a real one (`tests/lm/smollm2.py`) reads texts of
a validation set, by default the shipped one, some from each part of it. Each
contender runs in a process of its own: CPU seconds of the faster of two passes
after a warm-up, and the most memory in use during them beyond what was in use
before (Linux only). Contenders that are not installed are named.
"""
import argparse
import functools
import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from csv_plugin.core.texts import Text
from csv_plugin.io.text_sets import read_texts, shipped_texts
from csv_plugin.lm.engines.token_losses import token_losses
from tests.bench.common import (CONTEXT, LENGTHS, PASSES, SIZES, llama_config,
                                make_parser, make_tokenizer, measure,
                                one_at_a_time, random_texts, run_apart)
from tests.lm import smollm2

BATCH = 8
REAL = 'smollm2'


def make(size, n_texts, texts, folder, length):
    """Write a model, its tokenizer and texts."""
    if size == REAL:
        smollm2.save(folder)
        every = -(-len(texts) // n_texts)
        texts = [text.text for text in texts[::every]]
    else:
        vocabulary = SIZES[size][-1]
        texts = random_texts(vocabulary, n_texts,
                             (length, length) if length else LENGTHS)
        torch.manual_seed(0)
        LlamaForCausalLM(
            llama_config(
                SIZES[size], tie_word_embeddings=True,
                initializer_range=.1)).save_pretrained(folder)
        make_tokenizer(vocabulary).save_pretrained(folder)
    (folder / 'texts.json').write_text(json.dumps(texts))


def load(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


# A contender loads a model and returns what scores texts: per text the
# losses of its tokens, or their sum, or None for what cannot be compared.


def csv_plugin(folder):
    model, tokenizer = load(folder)

    def score(texts):
        named = [Text(str(i), text) for i, text in enumerate(texts)]
        return [
            losses.losses for losses in token_losses(model, tokenizer, named)
        ]

    return score


def plain(folder):
    return functools.partial(one_at_a_time, *load(folder))


def opencompass(folder):
    from opencompass.models import HuggingFaceBaseModel
    model = HuggingFaceBaseModel(
        path=str(folder),
        model_kwargs=dict(device_map='cpu', torch_dtype='torch.float32'),
        max_seq_len=CONTEXT)

    def score(texts):
        for start in range(0, len(texts), BATCH):
            model.get_ppl(texts[start:start + BATCH])

    return score


def lm_eval(folder):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    model, tokenizer = load(folder)
    scorer = HFLM(
        pretrained=model,
        tokenizer=tokenizer,
        batch_size=BATCH,
        max_length=CONTEXT,
        device='cpu')

    def score(texts):
        requests = [
            Instance('loglikelihood_rolling', {}, (text, ), i)
            for i, text in enumerate(texts)
        ]
        sums = scorer.loglikelihood_rolling(requests, disable_tqdm=True)
        return [-np.float64(value) for value in sums]

    return score


CONTENDERS = {
    'csv_plugin': ('csv_plugin', csv_plugin),
    'one text at a time': ('transformers', plain),
    f'OpenCompass get_ppl, batches of {BATCH}': ('opencompass', opencompass),
    f'lm-eval rolling, batches of {BATCH}': ('lm_eval', lm_eval),
}


def score(name, folder):
    """Run one contender in this process: seconds, memory, losses."""
    torch.set_num_threads(1)
    texts = json.loads((folder / 'texts.json').read_text())
    contender = CONTENDERS[name][1](folder)
    contender([min(texts, key=len)])
    rows, seconds, memory = measure(contender, texts, passes=PASSES)
    losses = None if rows is None else [row.tolist() for row in rows]
    return seconds, memory, losses


def difference(losses, reference):
    """Largest difference, of tokens or else of sums, nats."""
    if losses is None:
        return 'not comparable'
    pairs = [(np.array(a), np.array(b)) for a, b in zip(losses, reference)]
    if all(a.shape == b.shape for a, b in pairs):
        return f'{max(abs(a - b).max() for a, b in pairs):.1e} a token'
    return f'{max(abs(a.sum() - b.sum()) for a, b in pairs):.1e} a text'


def score_apart(name, folder):
    """Run one contender in a process of its own."""
    said = run_apart('bench_token_losses', '--worker', name, folder)
    return json.loads(said.splitlines()[-1])


def compare(size, n_texts, texts, folder, length):
    """Print a row for every contender at one size."""
    make(size, n_texts, texts, folder, length)
    results = {
        name: score_apart(name, folder) if find_spec(package) else None
        for name, (package, _) in CONTENDERS.items()
    }
    ours = results['csv_plugin']
    reference = results['one text at a time'][2]
    tokens = sum(map(len, reference))
    print(f'\n{size}, {len(reference)} texts, {tokens} tokens\n')
    print('| | CPU s | ratio | extra MB | ratio | largest difference |')
    print('|---|---|---|---|---|---|')
    for name, result in results.items():
        if result is None:
            print(f'| {name} | not installed | | | | |')
            continue
        seconds, extra, losses = result
        print(f'| {name} | {seconds:.1f} | {seconds / ours[0]:.2f} '
              f'| {extra:.0f} | {extra / ours[1]:.1f} '
              f'| {difference(losses, reference)} |')
    sys.stdout.flush()


def main():
    parser = make_parser(__doc__, texts=24, length=0)
    parser.add_argument(
        '--sizes', nargs='+', choices=[*SIZES, REAL], default=['23M', '60M'])
    parser.add_argument('--set', type=Path, metavar='FILE')
    parser.add_argument('--worker', nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        name, folder = arguments.worker
        print('\n' + json.dumps(score(name, Path(folder))))
        return
    texts = read_texts(arguments.set) if arguments.set else shipped_texts()
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            compare(size, arguments.texts, texts.texts, Path(folder),
                    arguments.length)


if __name__ == '__main__':
    main()
