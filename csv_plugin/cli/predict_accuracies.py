"""Predict accuracies of models from their token losses or a table of losses.

    salience predict outputs/losses --predictor predictor.safetensors
    salience predict --losses losses.csv --predictor predictor.safetensors

A place is a dump, a folder of dumps, a work directory of OpenCompass, or a
pattern of any of them.
"""
import argparse
import shlex
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.cli.arguments import (into_folder, print_end, print_json,
                                      print_next)
from csv_plugin.cli.options import add_option, add_shared, bar
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.formatting import counted
from csv_plugin.core.model_losses import mixed_engines
from csv_plugin.core.predicting import (ModelColumns, RealScores,
                                        collect_features)
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.model_tables import (read_accuracy_columns,
                                        read_loss_features, scores_alone)
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import find_dumps
from csv_plugin.report.leaderboards import (Leaderboard, as_text,
                                            predict_columns, write_leaderboard)
from csv_plugin.report.notes import first
from csv_plugin.report.screen import full_width


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(parser, 'places', 'PLACE',
               'token losses of the models (this or --losses is required)',
               str, None, '*')
    add_option(
        parser, '--losses', 'FILE', 'table of losses in place of token '
        'losses: .csv, .parquet, or .safetensors beside units.txt')
    add_option(
        parser, '--known', 'SCORES', 'table of known scores, which help to '
        'predict others (default: none)')
    add_option(
        parser, '--out', 'DIR', 'folder for leaderboard.txt, .md, .csv and '
        '.json, in percent (default: none)', Path)
    add_shared(parser, '--predictor', '--wide', '--json')


@into_folder
def run(args: argparse.Namespace) -> None:
    if bool(args.places) == bool(args.losses):
        raise InputError('PLACE or --losses', 'one of them',
                         'both' if args.losses else 'none',
                         'Say where the losses of the models are.')
    label, file = args.predictor
    predictor = load_predictor(file)
    tables, remarks = (
        _of_table(predictor, args.losses) if args.losses else _of_dumps(
            predictor, args.places))
    real: RealScores = {}
    known: Optional[AccuracyTable] = None
    if args.known:
        known = scores_alone(*read_accuracy_columns(args.known))
        real = _real_scores(args.known, known, predictor, tables)
        remarks += _unused(args.known, known, predictor, tables)
    board = predict_columns({label: tables}, dict(zip(tables, tables)),
                            {label: predictor}, {label: file}, real, remarks,
                            known)
    show_leaderboard(args, board)


def show_leaderboard(args: argparse.Namespace, board: Leaderboard) -> None:
    """Print a leaderboard, and write its files to `--out`."""
    if args.out:
        write_leaderboard(args.out / 'leaderboard', board)
    if args.json:
        print_json({'rows': list(board.rows()), 'notes': board.notes})
        return
    print(as_text(board, full_width(args.wide)))
    n_models = counted(len(board.predictions.models), 'model')
    print(f'\nPredicted {n_models}.')
    if args.out:
        print_end(args.out)
    else:
        print_next(*shlex.split(args.command), '--out', 'outputs/predictions')


def _real_scores(path: str, known: AccuracyTable, predictor: Predictor,
                 tables: ModelColumns) -> RealScores:
    """Known scores of models with losses, on benchmarks of the predictor."""
    real: RealScores = {
        (known.models[m], known.benchmarks[b]): known.values[m, b].item()
        for m, b in np.argwhere(~np.isnan(known.values))
        if known.models[m] in tables and known.benchmarks[b] in predictor.names
    }
    if not real:
        raise InputError(
            path, 'scores of models with losses, on benchmarks of the '
            'predictor', 'none',
            did_you_mean(known.models, tables) +
            did_you_mean(known.benchmarks, predictor.names) +
            'Correct the names.')
    return real


def _unused(path: str, known: AccuracyTable, predictor: Predictor,
            tables: ModelColumns) -> list[str]:
    """Notes on known scores that change no prediction."""
    notes = []
    has_scores = ~np.isnan(known.values).all(axis=1)
    models = [
        model for model, has in zip(known.models, has_scores)
        if has and model not in tables
    ]
    if models:
        notes.append(f'{path}: scores of {first(models)}, of which there are '
                     'no losses, were not used')
    others = [name for name in known.benchmarks if name not in predictor.names]
    if others:
        notes.append(f'{path}: scores on {first(others)}, which are not among '
                     'those of the predictor, were not used')
    return notes


def _of_table(predictor: Predictor,
              path: str) -> tuple[ModelColumns, list[str]]:
    """Columns of the models of a table, which may have more units."""
    columns = predictor.columns
    # Tokens are no units.
    losses = read_loss_features(
        path, units=columns.units if columns.scored is None else None)
    return {model: losses.select([model]) for model in losses.models}, []


def _of_dumps(predictor: Predictor,
              places: list[str]) -> tuple[ModelColumns, list[str]]:
    """Columns of all models with losses in some places, and notes on them."""
    # Places that are tables have an error of their own.
    dumps = find_dumps(places)
    predictor.check_tokens()
    columns, infos = collect_features(
        {'': predictor},
        list(dumps), lambda model, fingerprint: dumps[model].read(fingerprint),
        bar('dumps'))
    tables = columns['']
    reasons = [
        f'{model}: {table.reason.rstrip(".")}'
        for model, table in tables.items() if isinstance(table, Missing)
    ]
    if len(reasons) == len(dumps):
        raise InputError('dumps', 'losses that the predictor can use',
                         reasons[0] if reasons else 'none',
                         'Give losses on the texts of the predictor.')
    return tables, mixed_engines(infos)
