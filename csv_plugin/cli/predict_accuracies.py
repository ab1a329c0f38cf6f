"""Predict accuracies of models from their token losses or a table of losses.

    salience predict outputs/losses --predictor predictor.safetensors
    salience predict --losses losses.csv --predictor predictor.safetensors

A place is a dump, a folder of dumps, a work directory of OpenCompass, or a
pattern of any of them.
"""
import argparse
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Optional, Union

import numpy as np
from tqdm import tqdm

from csv_plugin.cli.arguments import (add_json, add_option, add_predictor,
                                      add_several, add_wide, into_folder,
                                      print_end, print_json)
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import counted
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.predicting import collect_features
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.model_tables import (read_accuracy_columns,
                                        read_loss_features)
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import find_dumps
from csv_plugin.report.leaderboards import (Leaderboard, as_text,
                                            predict_columns, write_leaderboard)
from csv_plugin.report.screen import full_width

#: Feature columns by model, or why there are none.
Tables = dict[str, Union[FeatureTable, Missing]]
#: How losses were made, by model.
Infos = dict[str, DumpInfo]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_several(parser, 'places', 'PLACE',
                'token losses of the models (this or --losses is required)',
                str, (), '*')
    add_option(
        parser, '--losses', 'FILE', 'table of losses, for a predictor that '
        'was fitted to one, in place of token losses: .csv or .parquet; or '
        '.safetensors beside units.txt')
    add_predictor(
        parser, 'such as predictor.safetensors; the label names the '
        'predictions, by default predicted')
    add_option(
        parser, '--known', 'SCORES', 'table of known scores, as `salience '
        'fit` takes them: they stand beside the predictions and help to make '
        'the others (default: none)')
    add_option(
        parser, '--out', 'DIR', 'folder for leaderboard.txt, .md, .csv and '
        '.json, in percent (default: none)', Path)
    add_wide(parser)
    add_json(parser)


@into_folder
def run(args: argparse.Namespace) -> None:
    if bool(args.places) == bool(args.losses):
        raise InputError('PLACE or --losses', 'one of them',
                         'both' if args.losses else 'none',
                         'Say where the losses of the models are.')
    label, file = args.predictor
    predictor = load_predictor(file)
    known = _known(args.known)
    infos: Infos = {}
    if args.losses:
        # Tables may have more units, in any order; tokens are no units.
        columns = predictor.columns
        units = columns.units if columns.scored is None else None
        losses = read_loss_features(args.losses, units=units)
        tables: Tables = {name: losses.select([name])
                          for name in losses.models}  # yapf: disable
    else:
        tables, infos = _from_dumps(predictor, args.places)
    real: dict[tuple[str, str], Union[float, Missing]] = {}
    notes: list[str] = []
    change = None
    if known is not None:
        from csv_plugin.extras.score_imputation import (unused_notes,
                                                        with_known_scores)
        real = {(model, name): score
                for model, row in zip(known.models, known.values.tolist())
                for name, score in zip(known.benchmarks, row)
                if model in tables and name in predictor.names
                and score == score}  # yapf: disable
        if not real:
            raise InputError(
                args.known, 'scores of models with losses, on '
                'benchmarks of the predictor', 'none', 'Correct the names.')
        change = partial(with_known_scores, known=known)
        notes = [*unused_notes(args.known, known, predictor, [*tables])]
    board = predict_columns({label: tables},
                            {model: model
                             for model in tables}, {label: predictor},
                            {label: file},
                            real,
                            infos,
                            change=change)
    show_leaderboard(args, replace(board, notes=(*board.notes, *notes)))


def show_leaderboard(args: argparse.Namespace, board: Leaderboard) -> None:
    """Print a leaderboard, and write its files to `--out`."""
    if args.json:
        print_json({'rows': list(board.rows()), 'notes': board.notes})
    else:
        print(as_text(board, full_width(args.wide)))
    if args.out:
        write_leaderboard(args.out / 'leaderboard', board)
    if not args.json:
        n_models = counted(len(board.predictions.models), 'model')
        print(f'\nPredicted {n_models}.')
        if args.out:
            print_end([args.out])
        else:
            # Behind the verb, as options may end before the places.
            salience, verb, *rest = shlex.split(args.command)
            print_end((), salience, verb, '--out', 'outputs/predictions',
                      *rest)


def _known(path: Optional[str]) -> Optional[AccuracyTable]:
    """Scores that are known, without what the predictor has."""
    if path is None:
        return None
    table = read_accuracy_columns(path)
    n_benchmarks = len(table.columns)
    return AccuracyTable(table.models, table.columns, table.values,
                         np.zeros(n_benchmarks),
                         np.zeros(n_benchmarks, np.int64))


def _from_dumps(predictor: Predictor,
                places: list[str]) -> tuple[Tables, Infos]:
    """Columns of all models whose losses are in some places.

    And by model how its losses were made.
    """
    predictor.check_tokens()
    dumps = find_dumps(places)
    infos: Infos = {}

    def read(model: str, fingerprint: str) -> TokenLossDump:
        dump = dumps[model].read(fingerprint)
        infos[model] = dump.info
        return dump

    tables = collect_features({'': predictor}, list(dumps), read,
                              partial(tqdm, desc='dumps', delay=2))['']
    refused = {
        model: table.reason
        for model, table in tables.items() if isinstance(table, Missing)
    }
    if len(refused) == len(dumps):
        model = next(iter(refused), '')
        raise InputError(
            'dumps', 'losses that the predictor can use',
            f'{model}: {refused[model].rstrip(".")}' if refused else 'none',
            'Give losses on the texts of the predictor.')
    return tables, infos
