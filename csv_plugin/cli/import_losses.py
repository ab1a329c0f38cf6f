"""Write losses and accuracies that other programs measured as tables.

Of lm-evaluation-harness (docs/importing.md has the other programs):

    salience import lm-eval outputs/lm_eval/* \\
        --texts texts.jsonl --tasks arc_easy hellaswag \\
        --chance arc_easy=0.25 --out outputs/imported

`salience fit` learns from the tables and predicts. Without --texts, the
accuracies alone are written.
"""
import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Optional

import numpy as np
from tqdm import tqdm

from csv_plugin.cli.arguments import (add_flag, add_option, add_out,
                                      add_several, into_folder, named_number,
                                      print_end, refuse)
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import counted, shortened
from csv_plugin.core.measured import check_weights
from csv_plugin.extras.importers.every_eval_ever import read_every_eval_ever
from csv_plugin.extras.importers.importing import SOURCES, import_losses
from csv_plugin.extras.importers.lm_eval_accuracies import \
    read_lm_eval_accuracies
from csv_plugin.io.files import FilePath, file_set
from csv_plugin.io.model_paths import named_path, paths_by_model
from csv_plugin.io.model_tables import MEASURED, write_measured
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import read_texts

#: Accuracies without losses.
RECORDS = 'every-eval-ever'
LOSSES, SCORES, BENCHMARKS = 'losses.csv', 'scores.csv', 'benchmarks.csv'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'source',
        choices=(*SOURCES, RECORDS),
        help='the program that measured the losses; accuracies alone '
        f'come from {RECORDS} (required)')
    add_several(
        parser, 'paths', 'PATH', 'file or folder of each model, which is '
        f'called after it, or NAME=PATH; of {RECORDS}, records or folders of '
        'them (required)')
    add_option(
        parser, '--texts', 'JSONL', 'of lm-eval, the validation set that was '
        'scored (default: none)')
    add_flag(
        parser, '--items',
        'of lm-eval, losses on the right answers of --tasks '
        'beside accuracies, from samples_*.jsonl (default: where neither '
        '--texts nor --tasks is given)')
    add_several(
        parser, ('--tasks', '--benchmarks'), 'NAME[=METRIC]',
        'of lm-eval, tasks and groups '
        'whose accuracies to import, perhaps with a metric, such as '
        'gsm8k=exact_match,strict-match (default: no task; acc_norm, else '
        "acc, else exact_match); of others, tasks (default: all); patterns "
        "such as 'arc*' match several")
    add_several(
        parser, '--chance', 'NAME=LEVEL', 'accuracy of random guessing on a '
        'task, a fraction (default: of common benchmarks as they are known)',
        named_number)
    add_out(parser, 'the tables')


@into_folder
def run(args: argparse.Namespace) -> None:
    chance = dict(args.chance or ())
    metrics = dict(task.partition('=')[::2] for task in args.tasks or ())
    if args.source == RECORDS:
        refuse(args, RECORDS, 'texts')
        written = _write_tables(
            args.out, None, read_every_eval_ever(args.paths, [*metrics],
                                                 chance))
    else:
        written = _write_tables(args.out, *_of_models(args, metrics, chance))
    print_end(written, 'salience', 'fit', *_options(args.out, written),
              '--out', 'outputs/study')


def _of_models(
    args: argparse.Namespace, metrics: dict[str, str], chance: dict[str, float]
) -> tuple[Optional[FeatureTable], Optional[AccuracyTable]]:
    """Losses, accuracies or both, from a path for each model."""
    has_accuracies = bool(metrics) and args.source == 'lm-eval'
    if args.items:
        if args.source != 'lm-eval':
            raise InputError(args.source, 'no --items beside it', '--items',
                             'Leave it out: only lm-eval has both.')
        refuse(args, '--items', 'texts')
    if not has_accuracies:
        refuse(args, 'no accuracies', 'chance')
    paths = _named_paths(args.paths)
    features, accuracies = None, None
    if args.texts or args.items or not has_accuracies:
        texts = read_texts(args.texts) if args.texts else None
        features = import_losses(args.source, paths, texts,
                                 partial(tqdm, desc='models', delay=2),
                                 [*metrics])
    if has_accuracies:
        named = {name: metric for name, metric in metrics.items() if metric}
        accuracies = read_lm_eval_accuracies(paths, [*metrics], named, chance)
    if features and accuracies:
        check_weights((*features.measured, *accuracies.measured))
        accuracies = accuracies.select(
            [m for m in accuracies.models if m in features.models])
    return features, accuracies


def _named_paths(paths: Sequence[str]) -> dict[str, Path]:
    """Paths by the names given, else their own."""
    named = [*map(named_path, paths)]
    rest = paths_by_model([path for name, path in named if not name])
    named = [(name, path) for name, path in named if name]
    check_unique('names of models', [*rest, *(name for name, _ in named)])
    return rest | {name: Path(path) for name, path in named}


def _options(out: Path, written: Sequence[Path]) -> list[FilePath]:
    """The options that name the four tables; some may be the user's own."""
    return [
        word for option, name in (('losses', LOSSES), ('scores', SCORES),
                                  ('models', 'models.csv'), ('benchmarks',
                                                             BENCHMARKS))
        for word in (f'--{option}',
                     out / name if out / name in written else name)
    ]


def _write_tables(out: Path, features: Optional[FeatureTable],
                  accuracies: Optional[AccuracyTable]) -> list[Path]:
    """Write the tables, print what is in them, and return their paths."""
    tables = [table for table in (features, accuracies) if table]
    written, counts = [], [counted(len(tables[0].models), 'model')]
    with file_set():
        if features:
            write_csv(out / LOSSES, ('model', *features.columns.units),
                      ((model, *row) for model, row in zip(
                          features.models, features.values.tolist())))
            written.append(out / LOSSES)
            counts.append(counted(len(features.columns.units), 'unit'))
        if accuracies:
            write_csv(out / SCORES, ('model', *accuracies.benchmarks),
                      ((model, *row) for model, row in zip(
                          accuracies.models, accuracies.values.tolist())))
            write_csv(
                out / BENCHMARKS, ('benchmark', 'chance', 'n_items'),
                zip(accuracies.benchmarks, accuracies.chance.tolist(),
                    accuracies.n_items.tolist()))
            written += [out / SCORES, out / BENCHMARKS]
            counts.append(counted(len(accuracies.benchmarks), 'benchmark'))
        records = [record for table in tables for record in table.measured]
        if records:
            written.append(write_measured(out, records))
        else:
            (out / MEASURED).unlink(missing_ok=True)  # of an earlier import
    if accuracies:
        _print_missing(accuracies)
    print(f'{", ".join(counts)}.')
    return written


def _print_missing(accuracies: AccuracyTable) -> None:
    for b, name in enumerate(accuracies.benchmarks):
        missing = [
            accuracies.models[m]
            for m in np.flatnonzero(np.isnan(accuracies.values[:, b]))
        ]
        if missing:
            print(
                one_line(f'No accuracy on {name} of '
                         f'{counted(len(missing), "model")}: '
                         f'{shortened(", ".join(missing), 60)}'))
