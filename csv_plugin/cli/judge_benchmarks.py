"""Which benchmarks tell pretraining runs apart, and how early.

Example (checkpoints have names such as run@step, or are described in a table):

    salience benchmarks --scores scores.csv --models models.csv \\
        --out outputs/benchmarks

With --losses, the order that losses tell is judged beside that of the scores.
"""
import argparse

import numpy as np
from numpy.typing import NDArray

from csv_plugin.cli.arguments import (add_json, add_out, check_folder,
                                      print_json)
from csv_plugin.cli.fit_bars import fit_bars
from csv_plugin.cli.table_arguments import (add_checkpoints, add_same_tables,
                                            checkpoints_of)
from csv_plugin.core.conventions import InputError
from csv_plugin.io.model_columns import ModelColumns
from csv_plugin.io.model_tables import read_model_tables
from csv_plugin.io.tables import (check_models_in, read_accuracy_columns,
                                  read_models)
from csv_plugin.report.benchmark_tables import record, trust_table, write_trust
from csv_plugin.triage.benchmark_trust import trust_benchmarks
from csv_plugin.triage.held_out import fit_holding_out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_same_tables(parser, 'losses', 'benchmarks')
    add_checkpoints(parser)
    add_out(parser, 'the tables and the picture')
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    if (args.losses is None) != (args.benchmarks is None):
        raise InputError('--losses and --benchmarks', 'both or none',
                         'one of them', 'Give the other one too.')
    scores = read_accuracy_columns(args.scores)
    info = read_models(args.models)
    check_models_in(args.scores, scores.models, args.models, info)
    checkpoints = checkpoints_of(args, scores.models)
    by_losses = None
    if args.losses:
        runs = {model: checkpoints[model].run for model in scores.models}
        by_losses = _by_losses(args, scores, runs)
    rows = trust_benchmarks(
        scores.models, scores.columns, scores.values, checkpoints,
        {model: (info[model].family, info[model].params_b)
         for model in scores.models}, by_losses)  # yapf: disable
    title = (f'{len(rows)} benchmarks by {len(scores.models)} checkpoints of '
             f'{len({point.run for point in checkpoints.values()})} runs')
    files = write_trust(args.out, rows, title, args.command)
    if args.json:
        print_json({
            'title': title,
            'benchmarks': [record(row) for row in rows]
        })
        return
    names = ', '.join(path.name for path in files)
    print(
        title,
        trust_table(rows),
        f'Written to {args.out}: {names}',
        sep='\n\n')


def _by_losses(args: argparse.Namespace, scores: ModelColumns,
               runs: dict[str, str]) -> NDArray[np.float64]:
    """What losses predict of the models with scores, in their order."""
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    accuracies = tables.accuracies.select(scores.models)
    return fit_holding_out(
        tables.features,
        accuracies, [runs[model] for model in scores.models],
        progress=fit_bars())[1]
