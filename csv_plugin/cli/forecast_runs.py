"""Where pretraining runs will end, from tables of their losses so far.

Example (tables as docs/formats.md describes them; checkpoints have names such
as run@step, or are described in a table):

    salience forecast --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --fit train --predict test --out outputs/forecast

The runs of --fit are finished: a predictor is fitted to their checkpoints,
and they are the history of those of --predict, which are judged as by
`salience triage`. With --params 7e9 --tokens 4e12, a model of this size is
forecast in place of those of --predict.
"""
import argparse
from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np

from csv_plugin.cli.arguments import into_folder
from csv_plugin.cli.options import (SPLITS, TABLES, TEST, add_option,
                                    add_shared, check_splits, positive)
from csv_plugin.cli.predict_accuracies import show_leaderboard
from csv_plugin.cli.triage_checkpoints import write_and_print
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.formatting import counted
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import shortage_notes
from csv_plugin.triage.checkpoints import (Checkpoint, describe_checkpoints,
                                           last_checkpoints, read_checkpoints)
from csv_plugin.triage.judging import judge
from csv_plugin.triage.size_laws import (check_sizes, forecast_sizes,
                                         log_compute, targets_of)

_Points = Optional[Mapping[str, Checkpoint]]
#: How many times more compute errors were measured for, on few models beyond.
FAR = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, *TABLES, '--checkpoints', *SPLITS)
    add_option(
        parser, '--params', 'NUMBER', 'parameters of a model that does not '
        'exist, forecast from sizes of those of --fit (default: forecast '
        'runs)', positive)
    add_option(parser, '--tokens', 'NUMBER',
               'training tokens of this model (required with --params)',
               positive)
    add_shared(parser, '--out', '--wide', '--json')


@into_folder
def run(args: argparse.Namespace) -> None:
    is_size = bool(args.params or args.tokens)
    if is_size:
        if not (args.params and args.tokens) or args.predict is not TEST:
            raise InputError('--params', '--tokens, and no --predict',
                             'other options', 'Forecast one size, or runs.')
        args.predict = []
    check_splits(args, 'Take it out of one.')
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    past = tables.models_to_fit(args.fit, args.predict)
    points = read_checkpoints(args.checkpoints) if args.checkpoints else None
    (_forecast_size if is_size else _forecast_runs)(args, tables, past, points)


def _forecast_runs(args: argparse.Namespace, tables: ModelTables,
                   past: tuple[str, ...], points: _Points) -> None:
    """Forecast the runs of `--predict`."""
    checkpoints = describe_checkpoints(tables.features.models, points)
    new, history = ({
        model: checkpoints[model]
        for model in models
    } for models in (tables.models_in(*args.predict), past))
    predictor = _fitted(tables, past,
                        [checkpoint.run for checkpoint in history.values()])
    write_and_print(
        args,
        judge(
            predictor, tables.features, new, history, known=tables.accuracies))


def _fitted(tables: ModelTables, models: Sequence[str],
            families: Sequence[str]) -> Predictor:
    """The predictor of the main benchmarks, fitted to some models."""
    scores = tables.accuracies.select(models, tables.accuracies.main)
    return fit_predictor(tables.features,
                         scores.select(benchmarks=scores.benchmarks_run),
                         families)


def _forecast_size(args: argparse.Namespace, tables: ModelTables,
                   past: tuple[str, ...], points: _Points) -> None:
    """Forecast a model by its size, of each family and of a new one."""
    last = last_checkpoints(past, points)
    if len({tables.info[model].tokens for model in last}) == 1:
        last = past
    models = {model: tables.info[model] for model in last}
    check_sizes(args.models, models)
    targets = targets_of(models, args.params / 1e9, args.tokens)
    predictor = _fitted(tables, past, [tables.families[m] for m in past])
    predictions = forecast_sizes(predictor, tables.features, models, targets)
    main = tables.accuracies.select(benchmarks=tables.accuracies.main)
    notes = shortage_notes(main, tables.families, past)
    notes.append(
        f'The law of losses was fitted to {counted(len(models), "model")}' +
        ', the last checkpoints of runs' * (len(last) < len(past)) + '.')
    known, size = ([*part.values()] for part in (models, targets))
    times = np.exp(log_compute(size)[0] - log_compute(known).max())
    if times > FAR:
        notes.append(f'This is {times:.0f} times the compute of the largest '
                     f'model. Few forecasts beyond {FAR} times were checked.')
    show_leaderboard(args, Leaderboard.of(predictions, remarks=notes))
