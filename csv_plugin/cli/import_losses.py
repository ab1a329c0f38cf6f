"""Read losses and accuracies of other programs, and write them as tables.

For example, from lm-evaluation-harness (other programs: docs/importing.md):

    salience import lm-eval outputs/lm_eval/* \\
        --texts texts.jsonl --tasks arc_easy hellaswag \\
        --chance arc_easy=0.25 --out outputs/imported

`salience fit` can fit a predictor to the tables. With --tasks, but neither
--texts nor --items, only accuracies are written. --items adds losses on the
right answers of the items of --tasks.
"""
import argparse
from itertools import compress
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.cli.arguments import (into_folder, metrics_by_task, print_end,
                                      refuse)
from csv_plugin.cli.options import (add_choice, add_flag, add_option,
                                    add_shared, bar)
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import counted, first_names
from csv_plugin.core.measured import Measured, check_weights
from csv_plugin.core.plugins import IMPORTERS, plugin_names
from csv_plugin.extras.importers.every_eval_ever import read_every_eval_ever
from csv_plugin.extras.importers.importing import import_losses
from csv_plugin.extras.importers.lm_eval_results import read_lm_eval_accuracies
from csv_plugin.io.files import FilePath, file_set
from csv_plugin.io.model_paths import named_path, paths_by_model
from csv_plugin.io.model_tables import (BENCHMARKS, MEASURED, SCORES,
                                        write_accuracies, write_measured)
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import read_texts

#: Name of the source that has accuracies without losses.
RECORDS = 'every-eval-ever'
#: Names of the tables that an import may write.
_TABLES = 'losses.csv', SCORES, BENCHMARKS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_choice(
        parser, 'source', (*plugin_names(IMPORTERS), RECORDS),
        'the program that measured '
        f'the losses; accuracies alone come from {RECORDS} (required)')
    add_option(
        parser, 'paths', 'PATH', 'file or folder of each model, or NAME=PATH; '
        f'for {RECORDS}, records or folders with records (required)', str,
        None, '+')
    add_option(
        parser, '--texts', 'JSONL', 'with lm-eval, the validation set that '
        'was scored (default: none)')
    add_flag(
        parser, '--items',
        'with lm-eval, import losses on the right answers of --tasks '
        '(default: only if neither --texts nor --tasks is given)')
    # --benchmarks is kept for scripts of users.
    add_option(
        parser, '--tasks --benchmarks', 'NAME[=METRIC]', 'with lm-eval, tasks '
        'and groups whose accuracies to import (default: none), perhaps with '
        'a metric, such as gsm8k=exact_match,strict-match (default: acc_norm, '
        'else acc, else exact_match); with other sources, tasks to import '
        "(default: all); patterns such as 'arc*' match several", str, (), '+')
    add_shared(parser, '--chance', '--out')


@into_folder
def run(args: argparse.Namespace) -> None:
    chance = dict(args.chance)
    # The metric of each task, or '' for the default metric. Only lm-eval lets
    # the user choose a metric.
    metrics = dict.fromkeys(args.tasks, '')
    if args.source == 'lm-eval':
        metrics = metrics_by_task(args.tasks)
    features: Optional[FeatureTable] = None
    accuracies: Optional[AccuracyTable] = None
    if args.source == RECORDS:
        refuse(args, RECORDS, 'texts', 'items')
        accuracies = read_every_eval_ever(args.paths, [*metrics], chance)
    else:
        features, accuracies = _of_models(args, metrics, chance)
    _write_tables(args.out, features, accuracies)
    # The next command needs all tables. Tables that were not imported are
    # shown without a folder, because the user has to write them.
    files: list[FilePath] = []
    for name in _TABLES:
        path = args.out / name
        files.append(path if path.exists() else name)
    losses, scores, benchmarks = files
    print_end(args.out, 'salience', 'fit', '--losses', losses, '--scores',
              scores, '--models', 'models.csv', '--benchmarks', benchmarks,
              '--out', 'outputs/study')


def _of_models(
    args: argparse.Namespace, metrics: dict[str, str], chance: dict[str, float]
) -> tuple[Optional[FeatureTable], Optional[AccuracyTable]]:
    """Return the losses and the accuracies.

    Each is None if the options do not ask for it. `metrics` maps tasks to
    metrics, and `chance` maps them to chance levels.
    """
    has_accuracies = bool(metrics) and args.source == 'lm-eval'
    if args.items:
        if args.source != 'lm-eval':
            raise InputError(args.source, 'no --items beside it', '--items',
                             'Leave out --items, which is for lm-eval only.')
        refuse(args, '--items', 'texts')
    if not has_accuracies:
        refuse(args, 'no accuracies', 'chance')
    paths = _named_paths(args.paths)
    features = None
    accuracies = None
    if args.texts or args.items or not has_accuracies:
        texts = read_texts(args.texts) if args.texts else None
        features = import_losses(args.source, paths, texts, bar('models'),
                                 [*metrics])
    if has_accuracies:
        accuracies = read_lm_eval_accuracies(paths, [*metrics], metrics,
                                             chance)
    if features and accuracies:
        check_weights((*features.measured, *accuracies.measured))
        in_both = [m for m in accuracies.models if m in features.models]
        accuracies = accuracies.select(in_both)
    return features, accuracies


def _named_paths(paths: list[str]) -> dict[str, Path]:
    """Return the paths of models by name, from arguments NAME=PATH.

    Without NAME=, a model is named after its file or folder.
    """
    names = []
    files = []
    for text in paths:
        name, path = named_path(text)
        if not name:
            [name] = paths_by_model([path])
        names.append(name)
        files.append(Path(path))
    check_unique('names of models', names, 'Give one a name, as in NAME=PATH.')
    return dict(zip(names, files))


def _write_tables(out: Path, features: Optional[FeatureTable],
                  accuracies: Optional[AccuracyTable]) -> None:
    """Write the tables, and print what is in them and what is missing."""
    tables = [table for table in (features, accuracies) if table]
    counts = [counted(len(tables[0].models), 'model')]
    # Remove all files of an earlier import, which are about other models.
    earlier = [out / name for name in (*_TABLES, MEASURED)]
    with file_set(out, *earlier):
        if features:
            units = features.columns.units
            rows = []
            losses = features.values.tolist()
            for model, of_model in zip(features.models, losses):
                rows.append((model, *of_model))
            write_csv(out / 'losses.csv', ('model', *units), rows)
            counts.append(counted(len(units), 'unit'))
        if accuracies:
            write_accuracies(out, accuracies)
            counts.append(counted(len(accuracies.benchmarks), 'benchmark'))
        records: list[Measured] = []
        for table in tables:
            records += table.measured
        if records:
            write_measured(out, records)
    if accuracies:
        for name, column in zip(accuracies.benchmarks, accuracies.values.T):
            missing = [*compress(accuracies.models, np.isnan(column))]
            if missing:
                named = first_names(missing)
                print(one_line(f'No accuracy on {name} of {named}.'))
    print(f'{", ".join(counts)}.')
