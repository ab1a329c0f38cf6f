"""Predict accuracies of models from their token losses or a table of losses.

Each prediction has a 90 % interval.

    salience predict outputs/losses --predictor predictor.safetensors
    salience predict --losses losses.csv --predictor predictor.safetensors

A PLACE is a dump (a file of token losses), a folder of dumps, a work directory
of OpenCompass, or a pattern of any of them. For a single run of OpenCompass,
its observed accuracies are shown, too. --page writes a page for a browser,
which loads nothing from elsewhere:

    salience predict outputs/csv/20260101_120000 --page report.html \\
        --predictor predictor.safetensors --texts texts.jsonl

If --predictor is given several times, their predictions are shown side by
side; the first predictor is the main one.
"""
import argparse
import math
import shlex
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import numpy as np

from csv_plugin.cli.arguments import (check_folder, into_folder, print_end,
                                      print_json, print_next, refuse)
from csv_plugin.cli.options import add_option, add_shared, bar
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import counted
from csv_plugin.core.model_losses import TokenLossDump, mixed_engine_notes
from csv_plugin.core.predicting import (ColumnsByLabel, ModelColumns,
                                        collect_features, fitted_benchmarks)
from csv_plugin.core.predictions import PREDICTED, Missing, check_labels
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.text_tables import wrapped
from csv_plugin.io.files import check_target
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.model_paths import named_path
from csv_plugin.io.model_tables import read_loss_features
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import find_dumps, run_models
from csv_plugin.io.tables import check_names_in, read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboard_tables import as_text, write_leaderboard
from csv_plugin.report.leaderboards import Leaderboard, predict_columns
from csv_plugin.report.overview import overview, shown_notes
from csv_plugin.report.run_leaderboards import run_leaderboard
from csv_plugin.report.screen import shown_path, terminal_width

if TYPE_CHECKING:
    from csv_plugin.extras.page.rendering import HeatMaps

#: Maps labels to predictors, the main predictor first.
ByLabel = Mapping[str, Predictor]


def predictor_file(text: str) -> tuple[str, str]:
    """Return label and path of the option `--predictor [LABEL=]FILE`.

    >>> predictor_file('salience=p.safetensors')
    ('salience', 'p.safetensors')
    >>> predictor_file('p.safetensors')
    ('predicted', 'p.safetensors')
    """
    label, path = named_path(text)
    return label or PREDICTED, path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(parser, 'places', 'PLACE',
               'token losses of the models (this or --losses is required)',
               str, None, '*')
    add_option(
        parser, '--losses', 'FILE', 'table of losses in place of token '
        'losses: .csv, .parquet, or .safetensors beside units.txt')
    add_option(
        parser, '--known', 'SCORES', 'table of known accuracies of these '
        'models, which help to predict other accuracies of the same model and '
        'of models of its family (default: none)')
    add_option(
        parser, '--models', 'CSV', 'table of models with the columns model '
        'and family (default: only checkpoints of the same run, such as '
        'run@1000 and run@2000, are a family)')
    add_option(
        parser, '--out', 'DIR', 'folder for leaderboard.txt, .md, .csv and '
        '.json, in percent (default: none)', Path)
    add_option(
        parser, '--page', 'PATH', 'file .html to write a page for a browser '
        'to, or folder for predictions.html (default: none)', Path)
    add_option(
        parser, '--texts', 'JSONL', 'validation set of the predictor, whose '
        'tokens the page shows (default: no tokens)')
    add_option(
        parser,
        '--predictor',
        '[LABEL=]FILE',
        'file of a predictor, such as predictor.safetensors; LABEL names its '
        'predictions, by default predicted; may be given several times '
        '(required)',
        predictor_file,
        action='append')
    add_shared(parser, '--wide', '--json')


@into_folder
def run(args: argparse.Namespace) -> None:
    if bool(args.places) == bool(args.losses):
        raise InputError('PLACE or --losses', 'one of them',
                         'both' if args.losses else 'none',
                         'Say where the losses of the models are.')
    if args.json:
        refuse(args, '--json', 'wide')
    if args.page:
        args.page = _page_file(args.page)
    else:
        refuse(args, 'no --page', 'texts')
    check_labels('predictors', [label for label, _ in args.predictor])
    files = dict(args.predictor)
    predictors = {}
    for label, file in files.items():
        predictors[label] = load_predictor(file)
    heat_maps: 'HeatMaps' = []
    if args.page:
        # The heat maps are made first, so that errors such as wrong texts are
        # found before losses are read, which takes long.
        heat_maps = _heat_maps(args, predictors)
    predict = _predict_places
    if len(args.places) == 1:
        [place] = args.places
        if Path(place, 'predictions').is_dir():
            predict = _predict_run
    board, columns, families = predict(args, predictors, files)
    if args.page:
        _write_page(args, board, predictors, heat_maps, columns, families)
    show_leaderboard(args, board)


def _heat_maps(args: argparse.Namespace, predictors: ByLabel) -> 'HeatMaps':
    """Return the heat maps of the main predictor, for a page."""
    # Loading matplotlib and jinja2 takes longer than a prediction.
    from csv_plugin.extras.page.rendering import heat_sections
    main_label, _ = args.predictor[0]
    main = predictors[main_label]
    if main.targets is None:
        refuse(args, 'a predictor of tables, which has no tokens', 'texts')
    texts = read_texts(args.texts) if args.texts else None
    return heat_sections(main, texts)


#: A leaderboard, the columns of losses that the main predictor predicts from,
#: and the families of models.
_Predicted = tuple[Leaderboard, ModelColumns, Mapping[str, str]]


def _predict_run(args: argparse.Namespace, predictors: ByLabel,
                 files: Mapping[str, str]) -> _Predicted:
    """Predict the models of a run, and add the run's observed accuracies."""
    for label, predictor in predictors.items():
        predictor.check_tokens(f'predictor {label!r}')
    work_dir, = args.places
    models = run_models(work_dir)
    families = _families(args, models)
    known: Optional[AccuracyTable] = None
    notes: list[str] = []
    if args.known:
        benchmarks = fitted_benchmarks(predictors)
        known, notes = read_known(args.known, models, benchmarks)
    board, columns = run_leaderboard(work_dir, predictors, files,
                                     bar('models'), known, families)
    main_columns = columns[next(iter(predictors))]
    _check_usable(main_columns)
    board = replace(board, notes=(*board.notes, *notes))
    return board, main_columns, families or {}


def _predict_places(args: argparse.Namespace, predictors: ByLabel,
                    files: Mapping[str, str]) -> _Predicted:
    """Predict the models of a table or of dumps."""
    columns: ColumnsByLabel
    remarks: list[str] = []
    if args.losses:
        columns = {}
        for label, predictor in predictors.items():
            columns[label] = _of_table(predictor, args.losses)
    else:
        columns, remarks = _of_dumps(predictors, args.places)
    tables = columns[next(iter(predictors))]
    families = _families(args, tables)
    observed: dict[tuple[str, str], float | Missing] = {}
    known: Optional[AccuracyTable] = None
    if args.known:
        benchmarks = fitted_benchmarks(predictors)
        known, notes = read_known(args.known, tables, benchmarks)
        for m, b in np.argwhere(~np.isnan(known.values)):
            cell = known.models[m], known.benchmarks[b]
            observed[cell] = known.values[m, b].item()
        remarks += notes
    names = {model: model for model in tables}
    board = predict_columns(
        columns,
        names,
        predictors,
        files,
        observed,
        remarks,
        known,
        families=families)
    return board, tables, families or {}


def _page_file(path: Path) -> Path:
    """Return the path of the page's file, and check that it can be written."""
    if path.suffix != '.html':
        if path.suffix and not path.is_dir():
            raise InputError(
                '--page', 'a file .html or a folder', repr(str(path)),
                f'Write {str(path.with_suffix(".html"))!r}, or name a folder '
                'without a dot.')
        check_folder(path)
        path.mkdir(parents=True, exist_ok=True)
        path /= 'predictions.html'
    check_target(path)
    return path


def _write_page(args: argparse.Namespace, board: Leaderboard,
                predictors: ByLabel, heat_maps: 'HeatMaps',
                columns: ModelColumns, families: Mapping[str, str]) -> None:
    """Write the page of a leaderboard to the file of `--page`."""
    from csv_plugin.extras.page.rendering import PredictorFile, write_page
    from csv_plugin.extras.page.run_pages import page_of
    sources = []
    for label, file in args.predictor:
        sources.append(PredictorFile(label, file, predictors[label]))
    title = 'Predictions'
    named = [args.losses] if args.losses else args.places
    if len(named) == 1:
        path = Path(named[0])
        title = path.resolve().name
    page = page_of(title, board, sources, columns, heat_maps, families)
    write_page(args.page, page)


def show_leaderboard(args: argparse.Namespace, board: Leaderboard) -> None:
    """Print a leaderboard, and write its files to `--out`."""
    if args.out:
        write_leaderboard(args.out / 'leaderboard', board)
    if args.json:
        print_json(board.to_dict())
        return
    parts = filter(None, _shown(args, board))
    print('\n\n'.join(parts))
    n_models = counted(len(board.predictions.models), 'model')
    print(f'\nPredicted {n_models}.')
    written = list(filter(None, [args.page, args.out]))
    for path in written:
        print_end(path)
    if not written:
        print_next(*shlex.split(args.command), '--out', 'outputs/predictions')


def _shown(args: argparse.Namespace, board: Leaderboard) -> list[str]:
    """Return what to print: the table, what it leaves out, and the notes."""
    if args.wide:
        return [as_text(board, math.inf)]
    width = terminal_width()
    table, left_out = overview(board, width)
    where = '--wide prints them, and --out writes them to files'
    if args.out is not None:
        where = f'they are in {shown_path(args.out)}/leaderboard.txt and .csv'
    if left_out:
        left_out = wrapped([f'Not shown: {left_out}; {where}.'], width)
    return [table, left_out, wrapped(shown_notes(board, table), width)]


def _families(args: argparse.Namespace,
              models: Collection[str]) -> Optional[dict[str, str]]:
    """Return the families of models, from the table `--models` if given."""
    if args.models is None:
        return None
    info = read_models(args.models)
    places = args.losses or ', '.join(args.places)
    check_names_in(places, 'models', models, args.models, info)
    return {model: info[model].family for model in models}


def _of_table(predictor: Predictor, path: str) -> ModelColumns:
    """Return the losses of each model in a table, in the predictor's columns.

    Other columns of the table are ignored.
    """
    columns = predictor.columns
    # A table cannot have the columns of a predictor from token losses. All
    # columns are then read, and a later check raises the error.
    units = columns.units if columns.scored is None else None
    losses = read_loss_features(path, units=units)
    return {model: losses.select([model]) for model in losses.models}


def _of_dumps(predictors: ByLabel,
              places: list[str]) -> tuple[ColumnsByLabel, list[str]]:
    """Read the dumps of all models in `places`.

    Return the columns of losses of each predictor, by its label, and notes on
    losses that were measured in different ways.
    """
    # If a place is a table of losses, `find_dumps` raises an error that says
    # so.
    dumps = find_dumps(places)
    for predictor in predictors.values():
        predictor.check_tokens()

    def read(model: str, fingerprint: str) -> TokenLossDump:
        return dumps[model].read(fingerprint)

    columns, infos = collect_features(predictors, list(dumps), read,
                                      bar('dumps'))
    _check_usable(columns[next(iter(predictors))])
    return columns, mixed_engine_notes(infos)


def _check_usable(columns: ModelColumns) -> None:
    """Raise an `InputError` if no model has losses for the main predictor."""
    reasons = []
    for model, table in columns.items():
        if isinstance(table, Missing):
            reasons.append(f'{model}: {table.reason.rstrip(".")}')
    if len(reasons) == len(columns):
        raise InputError('dumps', 'losses that the predictor can use',
                         reasons[0] if reasons else 'none',
                         'Give losses on the texts of the predictor.')
