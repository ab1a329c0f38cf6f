"""Predict accuracies of models from their token losses or a table of losses.

    salience predict outputs/losses --predictor predictor.safetensors
    salience predict --losses losses.csv --predictor predictor.safetensors

A place is a dump, a folder of dumps, a work directory of OpenCompass, or a
pattern of any of them.
"""
import argparse
import math
import shlex
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.cli.arguments import (check_folder, into_folder, print_end,
                                      print_json, print_next, refuse)
from csv_plugin.cli.options import add_option, add_shared, bar
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import counted
from csv_plugin.core.model_losses import TokenLossDump, mixed_engines
from csv_plugin.core.predicting import ModelColumns, collect_features
from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.text_tables import wrapped
from csv_plugin.io.files import check_target
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.model_tables import read_loss_features
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import find_dumps
from csv_plugin.io.tables import check_names_in, read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboard_tables import as_text, write_leaderboard
from csv_plugin.report.leaderboards import Leaderboard, predict_columns
from csv_plugin.report.notes import DIFFERENCES
from csv_plugin.report.overview import overview
from csv_plugin.report.screen import shown_path, terminal_width


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(parser, 'places', 'PLACE',
               'token losses of the models (this or --losses is required)',
               str, None, '*')
    add_option(
        parser, '--losses', 'FILE', 'table of losses in place of token '
        'losses: .csv, .parquet, or .safetensors beside units.txt')
    add_option(
        parser, '--known', 'SCORES', 'table of known scores of these models, '
        'which help to predict others of the same model and of its family '
        '(default: none)')
    add_option(
        parser, '--models', 'CSV', 'columns model and family (default: '
        'checkpoints of a run, such as run@1000 and run@2000, are a family)')
    add_option(
        parser, '--out', 'DIR', 'folder for leaderboard.txt, .md, .csv and '
        '.json, in percent (default: none)', Path)
    add_option(
        parser, '--page', 'PATH', 'write a page to read in a browser, a file '
        '.html or a folder for predictions.html (default: none)', Path)
    add_option(
        parser, '--texts', 'JSONL', 'validation set of the predictor, whose '
        'tokens the page shows (default: no tokens)')
    add_shared(parser, '--predictor', '--wide', '--json')


@into_folder
def run(args: argparse.Namespace) -> None:
    if bool(args.places) == bool(args.losses):
        raise InputError('PLACE or --losses', 'one of them',
                         'both' if args.losses else 'none',
                         'Say where the losses of the models are.')
    if args.page:
        args.page = _page_file(args.page)
    else:
        refuse(args, 'no --page', 'texts')
    label, file = args.predictor
    predictor = load_predictor(file)
    if args.losses:
        tables, remarks = _of_table(predictor, args.losses)
    else:
        tables, remarks = _of_dumps(predictor, args.places)
    families = _families(args.models, tables) if args.models else None
    observed: dict[tuple[str, str], float | Missing] = {}
    known: Optional[AccuracyTable] = None
    if args.known:
        known, notes = read_known(args.known, tables, predictor.names)
        for m, b in np.argwhere(~np.isnan(known.values)):
            cell = known.models[m], known.benchmarks[b]
            observed[cell] = known.values[m, b].item()
        remarks += notes
    names = {model: model for model in tables}
    columns = {label: tables}
    predictors = {label: predictor}
    files = {label: file}
    board = predict_columns(
        columns,
        names,
        predictors,
        files,
        observed,
        remarks,
        known,
        families=families)
    if args.page:
        _write_page(args, board, predictor, tables, families or {})
    show_leaderboard(args, board)


def _page_file(path: Path) -> Path:
    """Return the file of the page, and refuse one that cannot be written."""
    if path.suffix != '.html':
        check_folder(path)
        path.mkdir(parents=True, exist_ok=True)
        path /= 'predictions.html'
    check_target(path)
    return path


def _write_page(args: argparse.Namespace, board: Leaderboard,
                predictor: Predictor, columns: ModelColumns,
                families: dict[str, str]) -> None:
    # matplotlib and jinja2 take longer than a prediction.
    from csv_plugin.extras.page.rendering import (PredictorFile, heat_sections,
                                                  write_page)
    from csv_plugin.extras.page.run_pages import page_of
    label, file = args.predictor
    source = PredictorFile(label, file, predictor)
    texts = read_texts(args.texts) if args.texts else None
    title = Path(args.losses).name if args.losses else 'Predictions'
    write_page(
        args.page,
        page_of(title, board, [source], columns,
                heat_sections(predictor, texts), families))


def show_leaderboard(args: argparse.Namespace, board: Leaderboard) -> None:
    """Print a leaderboard, and write its files to `--out`."""
    if args.out:
        write_leaderboard(args.out / 'leaderboard', board)
    if args.json:
        print_json({'rows': list(board.rows()), 'notes': board.notes})
        return
    print('\n\n'.join(filter(None, _shown(args, board))))
    n_models = counted(len(board.predictions.models), 'model')
    print(f'\nPredicted {n_models}.')
    places = [place for place in (args.page, args.out) if place]
    for place in places:
        print_end(place)
    if not places:
        print_next(*shlex.split(args.command), '--out', 'outputs/predictions')


def _shown(args: argparse.Namespace, board: Leaderboard) -> list[str]:
    """Return the text of the screen: table, what it leaves out, and notes."""
    if args.wide:
        return [as_text(board, math.inf)]
    width = terminal_width()
    table, left_out = overview(board, width)
    where = '--wide prints them, and --out writes them to files'
    if args.out is not None:
        where = f'they are in {shown_path(args.out)}/leaderboard.txt and .csv'
    if left_out:
        left_out = wrapped([f'Not shown: {left_out}; {where}.'], width)
    # The table has no differences.
    notes = [note for note in board.notes if note != DIFFERENCES]
    return [table, left_out, wrapped(notes, width)]


def _families(path: str, tables: ModelColumns) -> dict[str, str]:
    """Read the families of all models with losses from a table."""
    info = read_models(path)
    check_names_in('models with losses', 'models', tables, path, info)
    return {model: info[model].family for model in tables}


def _of_table(predictor: Predictor,
              path: str) -> tuple[ModelColumns, list[str]]:
    """Read the predictor's columns from a table, which may have more."""
    columns = predictor.columns
    # Tokens are no units.
    units = columns.units if columns.scored is None else None
    losses = read_loss_features(path, units=units)
    return {model: losses.select([model]) for model in losses.models}, []


def _of_dumps(predictor: Predictor,
              places: list[str]) -> tuple[ModelColumns, list[str]]:
    """Read the dumps of all models in some places; return notes, too."""
    # Places that are tables have an error of their own.
    dumps = find_dumps(places)
    predictor.check_tokens()

    def read(model: str, fingerprint: str) -> TokenLossDump:
        return dumps[model].read(fingerprint)

    columns, infos = collect_features({'': predictor}, list(dumps), read,
                                      bar('dumps'))
    tables = columns['']
    reasons = []
    for model, table in tables.items():
        if isinstance(table, Missing):
            reasons.append(f'{model}: {table.reason.rstrip(".")}')
    if len(reasons) == len(dumps):
        raise InputError('dumps', 'losses that the predictor can use',
                         reasons[0] if reasons else 'none',
                         'Give losses on the texts of the predictor.')
    return tables, mixed_engines(infos)
