"""Options that name losses, accuracies and checkpoints of models."""
import argparse
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_flag, add_option, add_predictor,
                                      add_required, add_several, named_number,
                                      positive, refuse, whole_number)
from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.io.collection import Collection, collect
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.runs.run_dumps import matching_paths
from csv_plugin.io.tables import ModelInfo, read_benchmarks, split_name
from csv_plugin.io.text_sets import read_texts

#: Default of `--predict`; one that is given is another list.
TEST = ['test']


def fit_bars() -> Progress:
    """Return bars for `fit_predictor`: of fits, then of back-tests."""
    labels = iter(('fits', 'back-tests'))
    return lambda benchmarks: tqdm(benchmarks, desc=next(labels))


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add `--losses`, `--scores`, `--models` and `--benchmarks`."""
    for table, metavar, text in (
        ('losses', 'FILE', 'column model, and one of mean losses in nats per '
         'unit, such as a text or an item: .csv or .parquet; or a '
         '.safetensors tensor beside units.txt'),
        ('scores', 'FILE', 'column model, and one of accuracies per '
         'benchmark, fractions; empty where it was not run: .csv or '
         '.parquet'), ('models', 'CSV', 'columns model, family and split'),
        ('benchmarks', 'CSV', 'columns benchmark, chance, n_items and perhaps '
         'main (0 for benchmarks that means leave out)')):
        add_required(parser, f'--{table}', metavar, text)


def add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """Add `--checkpoints`, a table of runs and steps."""
    add_option(
        parser, '--checkpoints', 'CSV', 'columns model, run, step, and '
        'perhaps tokens, budget (default: by names of models)')


def add_forecasts(parser: argparse.ArgumentParser, unit: str) -> None:
    """Add what forecasts are made with.

    `unit` is that of the length of trainings.
    """
    add_predictor(parser, 'made from token losses')
    add_several(parser, '--history', 'PLACE',
                'losses of earlier, finished runs (default: none)', str, ())
    add_option(
        parser, '--budget', 'NUMBER', f'{unit} at the end of a run (default: '
        'those of the earlier runs)', positive, math.nan)


def add_fit_and_predict(parser: argparse.ArgumentParser) -> None:
    """Add `--fit` and `--predict`, the splits of models."""
    add_several(
        parser, '--fit', 'SPLIT', 'splits to fit to, as the table of models '
        'names them (default: all but test and those of --predict)',
        split_name)
    add_several(parser, '--predict', 'SPLIT', 'splits to predict (default '
                'test)', split_name, TEST)


def add_folds(parser: argparse.ArgumentParser) -> None:
    """Add `--leave-family-out` and `--seed`."""
    add_flag(
        parser, '--leave-family-out', 'predict each model of all these splits '
        'from the other families; a test split is not needed (default: no)')
    add_seed(parser)


def models_of(args: argparse.Namespace,
              tables: ModelTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models of `--fit` and those of `--predict`."""
    splits = {row.split for row in tables.info.values()}
    if args.leave_family_out and args.predict is TEST and 'test' not in splits:
        args.predict = []
        if not args.fit and splits == {''}:
            return tables.features.models, ()
    return (tables.models_to_fit(args.fit, args.predict),
            tables.models_in(*args.predict))


def add_seed(group: Any) -> None:
    """Add `--seed`."""
    add_option(group, '--seed', 'N',
               'seed of the cross-validation folds (default 0)', whole_number,
               0)


def add_sources(group: Any) -> None:
    """Add the options, for `check_sources` and `collect_sources`."""
    source = group.add_mutually_exclusive_group(required=True)
    add_several(
        source, '--runs', 'DIR', 'time-stamped folders of OpenCompass, the '
        'newest last, which counts where several have a result; this, '
        '--dumps or --collection is required')
    add_several(
        source, '--dumps', 'FILE', 'token losses <model>.safetensors, or '
        'patterns of them, in place of runs; needs --scores')
    add_option(
        source, '--collection', 'DIR', 'what salience train --keep-collection '
        'wrote, in place of runs; the next six options are refused beside it',
        Path)
    add_option(group, '--texts', 'FILE',
               'validation set that the losses are on (required)')
    add_option(
        group, '--models', 'CSV', 'columns model, family and split '
        '(required, but for --split paper)')
    add_option(
        group, '--benchmarks', 'CSV', 'columns benchmark, chance, n_items '
        '(this or --tasks is required)')
    add_several(group, '--tasks', 'NAME',
                'benchmarks as OpenCompass calls them, in place of a table')
    add_several(
        group, '--chance', 'NAME=LEVEL', 'accuracies of guessing on --tasks, '
        'fractions such as mine=0.25 (default: those of common benchmarks)',
        named_number)
    add_option(
        group, '--scores', 'CSV|paper', 'table of accuracies, fractions in '
        '0..1; paper for those of the paper (default: those of the runs)')


def check_sources(args: argparse.Namespace) -> None:
    """Refuse options of sources that do not go together."""
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


def collect_sources(args: argparse.Namespace,
                    info: Mapping[str, ModelInfo]) -> Collection:
    """Return losses and accuracies of runs or dumps, as `collect` does."""
    benchmarks = (
        read_benchmarks(args.benchmarks) if args.benchmarks else
        benchmark_infos(args.tasks, dict(args.chance or ())))
    # One that several patterns match counts once.
    dumps = dict.fromkeys(path for place in args.dumps or ()
                          for path in matching_paths(place))
    return collect(
        read_texts(args.texts), info, benchmarks, args.runs, tuple(dumps),
        args.scores, partial(tqdm, desc='losses'))
