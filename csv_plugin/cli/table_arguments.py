"""Options of the commands that work on tables of models."""
import argparse
from collections.abc import Sequence

from csv_plugin.cli.arguments import whole_number
from csv_plugin.io.tables import split_name
from csv_plugin.triage.checkpoints import (Checkpoint, describe_checkpoints,
                                           read_checkpoints)


def add_tables(parser: argparse.ArgumentParser) -> None:
    """`--losses`, `--scores`, `--models` and `--benchmarks`, explained."""
    for table, metavar, text in (
        ('losses', 'FILE', 'column model, and one of mean losses in nats per '
         'unit,\nsuch as a text or an item: .csv or .parquet; or a\n'
         '.safetensors tensor beside units.txt'),
        ('scores', 'FILE', 'column model, and one of accuracies per '
         'benchmark,\nfractions; empty where it was not run: .csv or\n'
         '.parquet'), ('models', 'CSV', 'columns model, family and split'),
        ('benchmarks', 'CSV', 'columns benchmark, chance, n_items and perhaps '
         'main\n(0 for benchmarks that means leave out)')):
        parser.add_argument(
            f'--{table}',
            required=True,
            metavar=metavar,
            help=f'{text} (required)')


def add_same_tables(parser: argparse.ArgumentParser, *optional: str) -> None:
    """The same four options, for a command that is not the first to read.

    Args:
        parser (argparse.ArgumentParser): Of the command.
        optional (str): Tables that may be left out.
    """
    for name in ('losses', 'scores', 'models', 'benchmarks'):
        needed = name not in optional
        default = 'required' if needed else 'default: none'
        parser.add_argument(
            f'--{name}',
            required=needed,
            metavar='FILE' if name in ('losses', 'scores') else 'CSV',
            help=f'table of {name}, as for `salience fit` ({default})')


def add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """`--checkpoints`, a table of runs and steps."""
    parser.add_argument(
        '--checkpoints',
        metavar='CSV',
        help='columns model, run, step, and perhaps tokens, budget\n'
        '(default: names of models tell run and step)')


def checkpoints_of(args: argparse.Namespace,
                   models: Sequence[str]) -> dict[str, Checkpoint]:
    """Run and step of models, as `--checkpoints` or their names tell them.

    Raises:
        InputError: As in `read_checkpoints` and `describe_checkpoints`.
    """
    table = read_checkpoints(args.checkpoints) if args.checkpoints else None
    return describe_checkpoints(models, table)


def add_fit_and_predict(parser: argparse.ArgumentParser) -> None:
    """`--fit` and `--predict`, the splits of models."""
    for option, verb, default in (('fit', 'fit to', ['train', 'validation']),
                                  ('predict', 'predict', ['test'])):
        parser.add_argument(
            f'--{option}',
            nargs='+',
            type=split_name,
            default=default,
            metavar='SPLIT',
            help=f'splits to {verb}, as the table of models names them\n'
            f'(default {" ".join(default)})')


def add_folds(parser: argparse.ArgumentParser) -> None:
    """`--leave-family-out` and `--seed`, of splits as they are named."""
    parser.add_argument(
        '--leave-family-out',
        action='store_true',
        help='predict each model of all these splits from the other\n'
        'families (default: no)')
    parser.add_argument(
        '--seed',
        type=whole_number,
        default=0,
        metavar='N',
        help='seed of the cross-validation folds (default 0)')
