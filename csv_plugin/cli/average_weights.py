"""Average the weights of checkpoints that follow each other in a training.

    salience average-weights runs/mix2/checkpoint-990 \\
        runs/mix2/checkpoint-1000 --out runs/mix2-averaged/checkpoint-1000

The folder is a checkpoint like any other, with the config and the tokenizer of
the last one, for `salience losses`, OpenCompass or a further training. Memory
is needed for a few tensors, not for a model (docs/live.md).
"""
import argparse
from functools import partial
from pathlib import Path

from tqdm import tqdm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'checkpoints',
        nargs='+',
        type=Path,
        metavar='DIR',
        help='two folders of checkpoints or more, with their weights\n'
        'in safetensors, the last one at the end (required)')
    parser.add_argument(
        '--out',
        required=True,
        type=Path,
        metavar='DIR',
        help='folder to create for the average (required)')


def run(args: argparse.Namespace) -> None:
    from csv_plugin.lm.averaged_weights import average_weights
    average_weights(args.checkpoints, args.out, partial(tqdm, desc='tensors'))
    print(f'Written to {args.out}: the mean of {len(args.checkpoints)} '
          'checkpoints.')
