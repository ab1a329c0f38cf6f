"""Token losses on a GPU; says so where there is none.

    python -m tests.bench.bench_gpu [--sizes smoke 1.8B 7B] [--texts 550]
        [--length 32]

Random-weight Llama models in bf16 read random texts of 50 to 1191 tokens, or
of one length. Seconds are wall time between synchronisations, the faster of
two passes after a warm-up, tokenization included. The *ideal forward* runs
the body alone over the same number of tokens in full batches, without
padding, prefix or head: its share of our time tells what is left. Memory is
the most allocated beyond the model.
"""
import time

import torch
from transformers import LlamaForCausalLM

from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.causal_lm import evaluating
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.windows import default_max_tokens
from tests.bench.common import (CONTEXT, LENGTHS, PASSES, SIZES, llama_config,
                                make_parser, make_tokenizer, one_at_a_time,
                                random_texts)


def make_model(size, device):
    torch.manual_seed(0)
    with torch.device(device):
        return LlamaForCausalLM(llama_config(SIZES[size])).bfloat16().eval()


def seconds_of(function, device):
    """Of the faster pass, and the most memory it took beyond before, MB."""
    on_gpu = device == 'cuda'
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    function()
    wait()
    before = torch.cuda.memory_allocated() if on_gpu else 0
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(PASSES):
        start = time.perf_counter()
        function()
        wait()
        seconds.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() if on_gpu else 0
    return min(seconds), (peak - before) / 2**20


def ideal_forward(model, n_tokens, device):
    """The body over that many tokens, in full batches."""
    width = min(CONTEXT, default_max_tokens(torch.device(device)))
    rows = max(1, default_max_tokens(torch.device(device)) // width)
    ids = torch.randint(1, 1000, (rows, width), device=device)
    with evaluating(model):
        for _ in range(-(-n_tokens // ids.numel())):
            model.model(ids, use_cache=False)


def bench_losses(size, n_texts, length, device):
    model = make_model(size, device)
    tokenizer = make_tokenizer(SIZES[size][-1])
    texts = [
        Text(str(i), text) for i, text in enumerate(
            random_texts(SIZES[size][-1], n_texts, (
                length, length) if length else LENGTHS))
    ]
    n_tokens = sum(
        len(text.losses) for text in token_losses(model, tokenizer, texts))
    print(f'\n{size}, V {SIZES[size][-1]}, {n_texts} texts, {n_tokens} tokens'
          '\n\n| | s | tokens / s | extra MB |\n|---|---|---|---|')
    ways = {
        'csv_plugin':
        lambda: token_losses(model, tokenizer, texts),
        'ideal forward':
        lambda: ideal_forward(model, n_tokens, device),
        'one text at a time':
        lambda: one_at_a_time(model, tokenizer, [t.text for t in texts]),
    }
    seconds = {}
    for name, way in ways.items():
        seconds[name], memory = seconds_of(way, device)
        print(f'| {name} | {seconds[name]:.2f} | '
              f'{n_tokens / seconds[name]:.0f} | {memory:.0f} |')
    ours = seconds['csv_plugin']
    print('\nshare of the ideal forward '
          f'{seconds["ideal forward"] / ours:.2f}; one text at a time takes '
          f'{seconds["one text at a time"] / ours:.2f} times as long')


def main():
    parser = make_parser(__doc__, texts=550, length=0)
    parser.add_argument(
        '--sizes', nargs='+', choices=SIZES, default=['1.8B', '7B'])
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda')
    options = parser.parse_args()
    if options.device == 'cuda' and not torch.cuda.is_available():
        print('There is no GPU here: nothing was measured.')
        return
    name = torch.cuda.get_device_name() if options.device == 'cuda' else 'CPU'
    print(f'{name}, torch {torch.__version__}')
    for size in options.sizes:
        bench_losses(size, options.texts, options.length, options.device)


if __name__ == '__main__':
    main()
