"""Write losses and accuracies that other programs measured as tables.

Of lm-evaluation-harness (docs/importing.md has the other programs):

    salience import lm-eval outputs/lm_eval/* \\
        --texts texts.jsonl --benchmarks arc_easy hellaswag \\
        --chance arc_easy=0.25 --out outputs/imported

`salience fit` learns from the tables and predicts. Without --texts, the
accuracies alone are written.
"""
import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Optional

import numpy as np
from tqdm import tqdm

from csv_plugin.cli.arguments import (add_out, check_folder, named_number,
                                      named_text, refuse, run_tool)
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.cells import counted
from csv_plugin.core.conventions import InputError, check_unique, shortened
from csv_plugin.core.escaping import one_line
from csv_plugin.extras.importers.importing import SOURCES, import_losses
from csv_plugin.extras.importers.lm_eval_accuracies import \
    read_lm_eval_accuracies
from csv_plugin.extras.sharing.every_eval_ever import read_every_eval_ever
from csv_plugin.io.model_paths import paths_by_model, split_name
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import read_texts

#: Accuracies without losses.
RECORDS = 'every-eval-ever'
LOSSES, SCORES, BENCHMARKS = 'losses.csv', 'scores.csv', 'benchmarks.csv'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'source',
        choices=(*SOURCES, RECORDS),
        help='the program that measured the losses; accuracies alone\n'
        f'come from {RECORDS} (required)')
    parser.add_argument(
        'paths',
        nargs='+',
        metavar='PATH',
        help='file or folder of each model, which is called after it,\n'
        f'or NAME=PATH; of {RECORDS}, records or folders\n'
        'of them (required)')
    parser.add_argument(
        '--texts',
        metavar='JSONL',
        help='the validation set that was scored; not needed by\n'
        'lighteval and olmo-eval, whose losses are on items, nor\n'
        'by lm-eval for accuracies alone (default: none)')
    parser.add_argument(
        '--benchmarks',
        nargs='+',
        metavar='NAME',
        help='tasks and groups of lm-evaluation-harness whose\n'
        'accuracies to import (default: none); evaluations in\n'
        f'{RECORDS} (default: all)')
    parser.add_argument(
        '--metric',
        nargs='+',
        type=named_text,
        metavar='NAME=METRIC',
        help='metric of a benchmark, perhaps with a filter, such as\n'
        'gsm8k=exact_match,strict-match (default: acc_norm, else\n'
        'acc, else exact_match)')
    parser.add_argument(
        '--chance',
        nargs='+',
        type=named_number,
        metavar='NAME=LEVEL',
        help='accuracy of random guessing on a benchmark, a fraction\n'
        '(default: what is known of common benchmarks)')
    add_out(parser, 'the tables')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    if args.source == RECORDS:
        refuse(args, RECORDS, 'texts', 'metric')
        import_records(args)
        return
    if args.source != 'lm-eval' and args.benchmarks:
        raise InputError('--benchmarks', 'results of lm-eval',
                         f'those of {args.source}',
                         'Give the accuracies as a table of your own.')
    if not args.benchmarks:
        refuse(args, 'no --benchmarks', 'metric', 'chance')
    paths = _named_paths(args.paths)
    features, accuracies = None, None
    if args.texts or not args.benchmarks:
        texts = read_texts(args.texts) if args.texts else None
        features = import_losses(args.source, paths, texts,
                                 partial(tqdm, desc='models', delay=2))
    if args.benchmarks:
        accuracies = read_lm_eval_accuracies(paths, args.benchmarks,
                                             dict(args.metric or ()),
                                             dict(args.chance or ()))
    args.out.mkdir(parents=True, exist_ok=True)
    written, counts = [], [counted(len(paths), 'model')]
    if features:
        write_csv(
            args.out / LOSSES, ('model', *features.columns.units),
            ((model, *row)
             for model, row in zip(features.models, features.values.tolist())))
        written.append(LOSSES)
        counts.append(counted(len(features.columns.units), 'unit'))
    if accuracies:
        _write_accuracies(args.out, accuracies)
        written += [SCORES, BENCHMARKS]
        counts.append(counted(len(accuracies.benchmarks), 'benchmark'))
        for line in _not_run(accuracies):
            print(line)
    print(f'{", ".join(counts)}. Written to {args.out}: {", ".join(written)}')


def _not_run(accuracies: AccuracyTable) -> Iterator[str]:
    """A line for each benchmark that lacks models; their cells are empty."""
    for b, name in enumerate(accuracies.benchmarks):
        lacking = [
            accuracies.models[m]
            for m in np.flatnonzero(np.isnan(accuracies.values[:, b]))
        ]
        if lacking:
            yield one_line(f'No accuracy on {name} of '
                           f'{counted(len(lacking), "model")}: '
                           f'{shortened(", ".join(lacking), 60)}')


def import_records(args: argparse.Namespace) -> None:
    """Write the accuracies of records as tables."""
    accuracies = read_every_eval_ever(args.paths, args.benchmarks or (),
                                      dict(args.chance or ()))
    args.out.mkdir(parents=True, exist_ok=True)
    _write_accuracies(args.out, accuracies)
    print(f'{counted(len(accuracies.models), "model")}, '
          f'{counted(len(accuracies.benchmarks), "benchmark")}. '
          f'Written to {args.out}: {SCORES}, {BENCHMARKS}')


def _named_paths(paths: Sequence[str]) -> dict[str, Path]:
    named = [split_name(path) for path in paths]
    rest = paths_by_model([path for name, path in named if not name])
    named = [(name, path) for name, path in named if name]
    check_unique('names of losses', [*rest, *(name for name, _ in named)])
    return rest | {name: Path(path) for name, path in named}


def _write_accuracies(out: Path, accuracies: AccuracyTable) -> None:
    write_csv(
        out / SCORES, ('model', *accuracies.benchmarks),
        ((model, *row)
         for model, row in zip(accuracies.models, accuracies.values.tolist())))
    write_csv(
        out / BENCHMARKS, ('benchmark', 'chance', 'n_items'),
        zip(accuracies.benchmarks, accuracies.chance.tolist(),
            accuracies.n_items.tolist()))


def main(argv: Optional[Sequence[str]] = None) -> int:
    return run_tool('import_losses', __doc__, add_arguments, run, argv)
