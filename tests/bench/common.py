"""Random models and texts for benchmarks, and what running something takes."""
import argparse
import ctypes
import gc
import itertools
import os
import random
import string
import subprocess
import sys
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

PASSES = 2
#: Shortest and longest random text, tokens.
LENGTHS = 50, 1191
CONTEXT = 2048
#: Width, layers, heads, heads of keys, width of the MLP, vocabulary.
SIZES = {
    'smoke': (64, 2, 4, 2, 128, 4000),
    '23M': (384, 6, 6, 6, 1024, 32000),
    '60M': (384, 6, 6, 6, 1024, 128256),
    '1.8B': (2048, 24, 16, 8, 8192, 92544),
    '7B': (4096, 32, 32, 8, 14336, 92544),
}


def make_parser(doc, **numbers):
    """Options with whole numbers, by their defaults."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in numbers.items():
        parser.add_argument(f'--{name}', type=int, default=default)
    return parser


def llama_config(shape, **settings):
    """A Llama with the numbers of `SIZES`."""
    width, layers, heads, kv_heads, mlp, vocabulary = shape
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=mlp,
        max_position_embeddings=CONTEXT,
        bos_token_id=0,
        eos_token_id=0,
        **settings)


def pieces_of(vocabulary):
    """BOS and as many words of four letters as fit."""
    words = map(''.join, itertools.product(string.ascii_lowercase, repeat=4))
    return ['<s>', *itertools.islice(('Ġ' + w for w in words), vocabulary - 1)]


def make_tokenizer(vocabulary):
    """One word, one token."""
    pieces = {piece: i for i, piece in enumerate(pieces_of(vocabulary))}
    backend = Tokenizer(models.WordLevel(pieces, '<s>'))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token='<s>',
        eos_token='<s>',
        pad_token='<s>',
        model_input_names=['input_ids', 'attention_mask'],
        model_max_length=CONTEXT)


def random_texts(vocabulary, n_texts, lengths=LENGTHS):
    """Texts of random numbers of tokens in a range."""
    draw, pieces = random.Random(0), pieces_of(vocabulary)[1:]
    return [
        ''.join(' ' + piece[1:]
                for piece in draw.choices(pieces, k=draw.randint(*lengths)))
        for _ in range(n_texts)
    ]


def one_at_a_time(model, tokenizer, texts):
    """The plain way to losses: a text, its logits in fp32, a cross entropy."""
    losses = []
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False).input_ids
        ids = torch.tensor([[tokenizer.bos_token_id, *ids]],
                           device=model.device)
        with torch.inference_mode():
            logits = model(ids, use_cache=False).logits[0, :-1].float()
        losses.append(
            torch.nn.functional.cross_entropy(
                logits, ids[0, 1:], reduction='none').cpu().numpy())
    return losses


def _memory(field):
    """Memory of this process in MB: 'VmRSS' now, 'VmHWM' at its peak."""
    status = Path('/proc/self/status').read_text()
    return int(status.split(field + ':')[1].split()[0]) / 1024


def measure(function, *arguments, passes=1):
    """Its result, the least CPU seconds, and the memory it added in MB."""
    gc.collect()
    ctypes.CDLL('libc.so.6').malloc_trim(0)
    Path('/proc/self/clear_refs').write_text('5')  # the peak starts anew
    before, seconds = _memory('VmRSS'), []
    for _ in range(passes):
        start = time.process_time()
        result = function(*arguments)
        seconds.append(time.process_time() - start)
    return result, min(seconds), _memory('VmHWM') - before


def run_apart(script, *arguments, **environment):
    """What a script of this folder prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, '-m', f'tests.bench.{script}', *map(str, arguments)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            **environment
        })
    if done.returncode:
        raise SystemExit(f'{arguments}:\n{done.stderr}')
    return done.stdout
