"""Options that say where losses and accuracies of models come from."""
import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from csv_plugin.cli.arguments import named_number, refuse
from csv_plugin.core.conventions import InputError
from csv_plugin.io.collecting import collect
from csv_plugin.io.collection import Collection
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.tables import BenchmarkInfo, ModelInfo, read_benchmarks
from csv_plugin.io.text_sets import read_texts


def add_sources(group: Any, runs: str = '--runs') -> None:
    """Add the options, for `check_sources` and `collect_sources`.

    Args:
        group (Any): Part of a parser.
        runs (str): The option of runs, or the name of arguments in its
            place.
    """
    option = runs.startswith('-')
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument(
        runs,
        nargs='+' if option else '*',
        default=(),
        metavar='DIR' if option else 'RUN',
        help='time-stamped folders of OpenCompass, the newest last,\n'
        'which counts where several have a result; this,\n'
        '--dumps or --collection is required')
    source.add_argument(
        '--dumps',
        nargs='+',
        metavar='FILE',
        help='token losses <model>.safetensors, in place of runs;\n'
        'needs --scores')
    source.add_argument(
        '--collection',
        metavar='DIR',
        type=Path,
        help='what salience train --keep-collection or salience merge\n'
        'wrote, in place of runs; the next six options are\n'
        'refused beside it')
    group.add_argument(
        '--texts',
        metavar='FILE',
        help='validation set that the losses are on (required)')
    group.add_argument(
        '--models',
        metavar='CSV',
        help='columns model, family, and split or params_b\n'
        '(required, but for --split paper)')
    group.add_argument(
        '--benchmarks',
        metavar='CSV',
        help='columns benchmark, chance, n_items (this or --tasks is\n'
        'required)')
    group.add_argument(
        '--tasks',
        nargs='+',
        metavar='NAME',
        help='benchmarks as OpenCompass calls them, in place of a\n'
        'table')
    group.add_argument(
        '--chance',
        nargs='+',
        type=named_number,
        metavar='NAME=LEVEL',
        help='accuracies of guessing on --tasks, fractions such as\n'
        'mine=0.25 (default: those of common benchmarks)')
    group.add_argument(
        '--scores',
        metavar='CSV|paper',
        help='table of accuracies, fractions in 0..1; paper for those\n'
        'of the paper (default: those of the runs)')


def check_sources(args: argparse.Namespace) -> None:
    """Refuse options that do not go together.

    Raises:
        InputError: There are too many or too few of them.
    """
    if args.collection:
        refuse(args, '--collection', 'texts', 'models', 'scores', 'benchmarks',
               'tasks', 'chance')
        return
    if args.benchmarks:
        refuse(args, '--benchmarks', 'tasks', 'chance')
    if not args.texts or not (args.benchmarks or args.tasks):
        raise InputError('runs and --dumps',
                         '--texts and --benchmarks or --tasks beside them',
                         'fewer', 'Name the texts and the benchmarks.')


def collect_sources(
    args: argparse.Namespace,
    info: Mapping[str,
                  ModelInfo]) -> tuple[Collection, dict[str, BenchmarkInfo]]:
    """Losses and accuracies of runs or dumps, and their benchmarks.

    Args:
        args (argparse.Namespace): Options, not with `--collection`.
        info (Mapping[str, ModelInfo]): The models.

    Raises:
        InputError: As in `collect`.
    """
    benchmarks = (
        read_benchmarks(args.benchmarks) if args.benchmarks else
        benchmark_infos(args.tasks, dict(args.chance or ())))
    collection = collect(
        read_texts(args.texts), info, benchmarks, args.runs, args.dumps or (),
        args.scores, partial(tqdm, desc='losses'))
    return collection, benchmarks
