"""Forecast with which accuracies pretraining runs will end, and which to stop.

Predictions and forecasts have 90 % intervals. For example, judge two data
mixtures of the demonstration after a third of their training:

    D=$(salience demo --where)
    salience triage --out outputs/triage \\
        --predictor "$D/predictor.safetensors" \\
        --dumps "$D/collection/[dh]-l@[123]?.safetensors" \\
        --history "$D/collection/[bc]-*.safetensors"

A PLACE is a dump (a file of token losses), a folder of dumps, a work directory
of OpenCompass, or a pattern of any of them. Checkpoints have names such as
run@step, or are described in a table (--checkpoints or, with tables of losses,
--models); see docs/triage.md.

With tables of losses (docs/formats.md), a predictor is fitted to the finished
runs in the splits of --fit, and the runs in the splits of --predict are
judged:

    salience triage --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --fit train --predict test --out outputs/triage

With --params 7e9 --tokens 4e12, no runs are judged. Instead, accuracies are
forecast for a model of this size, which does not exist yet. The forecast is
made from the models of --fit, or from the dumps of --history and their sizes
in the table --models.
"""
import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional

from csv_plugin.cli.arguments import (into_folder, print_end, print_json,
                                      print_next, refuse)
from csv_plugin.cli.options import (FORECASTS, SPLITS, TABLES, TEST,
                                    add_option, add_shared, amount, bar,
                                    benchmarks_run, check_splits)
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.files import file_set
from csv_plugin.io.known_accuracies import read_known
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.tables import ModelInfo, check_names_in, read_models
from csv_plugin.report.notes import (chance_notes, family_notes, outlier_notes,
                                     shortage_notes)
from csv_plugin.report.screen import full_width
from csv_plugin.report.triage_report import as_text, write_triage
from csv_plugin.triage.checkpoints import (Checkpoint, check_described,
                                           describe_checkpoints, families_of,
                                           last_checkpoints, read_checkpoints,
                                           read_checkpoints_of_models)
from csv_plugin.triage.judging import find_budget, judge, judge_sizes
from csv_plugin.triage.result import Triage
from csv_plugin.triage.sizes import check_sizes, check_target, targets_of
from csv_plugin.triage.watching import TriageJob

#: Maps models to their numbers of parameters and training tokens.
Sizes = Mapping[str, ModelInfo]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, '--dumps', 'PLACE', 'losses of the runs to judge (these or '
        '--losses are required)', str, (), '+')
    add_shared(parser, *FORECASTS, '--budget', *TABLES, *SPLITS, needed=False)
    add_shared(parser, '--checkpoints')
    add_option(
        parser, '--params', 'NUMBER', 'number of parameters of a model that '
        'does not exist yet, such as 7B (default: judge runs)', amount)
    add_option(
        parser, '--tokens', 'NUMBER', 'number of training tokens of this '
        'model, such as 4T (required with --params)', amount)
    add_option(
        parser, '--out', 'DIR', 'folder for the tables, triage.json and a '
        'picture (default: none)', Path)
    add_shared(parser, '--wide', '--json')


@into_folder
def run(args: argparse.Namespace) -> None:
    is_size = bool(args.params or args.tokens)
    if is_size:
        _need(args, '--params', 'params', 'tokens')
        refuse(args, '--params', 'dumps', 'known', 'budget')
        _refuse_predict(args, '--params')
    if args.json:
        refuse(args, '--json', 'wide')
    fitted: Optional[Predictor] = None
    if args.losses:
        refuse(args, '--losses', 'predictor', 'dumps', 'history')
        _need(args, '--losses', 'scores', 'models', 'benchmarks')
        triage, fitted = _of_tables(args, is_size)
    elif is_size:
        _need(args, '--params', 'predictor', 'history', 'models')
        triage = _size_of_dumps(args)
    else:
        _need(args, 'salience triage without --losses', 'predictor', 'dumps')
        triage = _job(args).update(bar('dumps'))
    write_and_print(args, triage, fitted)
    if args.json:
        return
    command = shlex.split(args.command)
    has_history = args.losses or args.history
    if not (has_history or triage.ends):
        print_next(*command, '--history', 'finished/*.safetensors')
    elif args.out is None:
        print_next(*command, '--out', 'outputs/triage')


def _need(args: argparse.Namespace, where: str, *names: str) -> None:
    """Raise an `InputError` unless all these options are given.

    `where` begins the error, and says when the options are needed.
    """
    for name in names:
        if not getattr(args, name):
            raise InputError(where, f'--{" and --".join(names)}',
                             f'no --{name}',
                             'salience triage --help has examples.')


def _refuse_predict(args: argparse.Namespace, where: str) -> None:
    """Raise an `InputError` if `--predict` is given, as it would be ignored.
    """
    if args.predict is not TEST:
        raise InputError(
            where, 'no --predict beside it', '--predict',
            'Leave out --predict, which chooses runs to judge in tables.')


def _job(args: argparse.Namespace) -> TriageJob:
    """Return the job that judges the runs of `--dumps`."""
    refuse(args, '--dumps', 'scores', 'models', 'benchmarks', 'fit')
    _refuse_predict(args, '--dumps')
    predictor = load_predictor(args.predictor)
    return TriageJob(predictor, args.dumps, args.history, args.checkpoints,
                     args.budget, args.known)


def _size_of_dumps(args: argparse.Namespace) -> Triage:
    """Forecast a model of the size `--params` from dumps of finished runs."""
    refuse(args, '--params without --losses', 'scores', 'benchmarks', 'fit')
    predictor = load_predictor(args.predictor)
    job = TriageJob(predictor, [], args.history)
    features = job.history_features()
    info = read_models(args.models)
    check_names_in(', '.join(args.history), 'models', features.models,
                   args.models, info)
    sizes = _sizes(args, info, features.models, features.models)
    return judge_sizes(predictor, features, *sizes)


def _of_tables(args: argparse.Namespace,
               is_size: bool) -> tuple[Triage, Predictor]:
    """Fit to the finished runs of tables, and judge or forecast.

    If `is_size` is True, forecast a model of the size `--params`. Otherwise
    judge the runs of `--predict`. Return the triage and the fitted predictor.
    """
    if is_size:
        args.predict = []
    check_splits(args, 'Take the split out of one of the options.')
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    past = tables.models_to_fit(args.fit, args.predict,
                                f'{args.models} (--fit)')
    # Without any main benchmark, all benchmarks count.
    counting = tables.accuracies.main or tables.accuracies.benchmarks
    main = tables.accuracies.select(benchmarks=counting)
    scores = main.select(past)
    scores = scores.select(benchmarks=benchmarks_run(args, scores))
    notes = []
    if is_size:
        sizes = _sizes(args, tables.info, past, tables.features.models)
        families = [tables.families[model] for model in past]
        predictor = fit_predictor(
            tables.features,
            scores,
            families,
            progress=bar('steps of the fit'))
        triage = judge_sizes(predictor, tables.features, *sizes)
    else:
        triage, predictor, families = _judged(args, tables, scores)
        own_families = {tables.families[model] for model in past}
        if len(own_families) == 1 and len(set(families)) > 1:
            notes.append('All models to fit to are of one family, so each run '
                         'counts as a family: errors are measured on runs '
                         'that are left out.')
    losses = tables.features.select(past)
    notes += family_notes(tables.families, dict(zip(past, losses.values)))
    notes += shortage_notes(main, dict(zip(past, families)), past)
    notes += chance_notes(main, past)
    notes += outlier_notes(predictor, with_error=True)
    return replace(triage, notes=(*notes, *triage.notes)), predictor


def _judged(args: argparse.Namespace, tables: ModelTables,
            scores: AccuracyTable) -> tuple[Triage, Predictor, list[str]]:
    """Judge the runs of `--predict` after a fit to the models of `scores`.

    Return the triage, the predictor, and the family of each of these models in
    the fit.
    """
    table, notes = _described(args, tables.features.models)
    points = describe_checkpoints(tables.features.models, table)
    history = {model: points[model] for model in scores.models}
    predicted = tables.models_in(
        *args.predict, where=f'{args.models} (--predict)')
    new = {model: points[model] for model in predicted}
    families = families_of(history, tables.families)
    known = None
    if args.known:
        known, unused = read_known(args.known, tables.features.models,
                                   scores.benchmarks)
        notes += unused
    # The same checks as in `judge`, before the fit, which takes long.
    find_budget(new, history, args.budget)
    predictor = fit_predictor(
        tables.features, scores, families, progress=bar('steps of the fit'))
    triage = judge(
        predictor, tables.features, new, history, args.budget, known=known)
    triage = replace(triage, notes=(*triage.notes, *notes))
    return triage, predictor, families


def _described(
        args: argparse.Namespace, with_losses: Sequence[str]
) -> tuple[dict[str, Checkpoint], list[str]]:  # yapf: disable
    """Return the checkpoints that a table describes, and notes on it.

    The table is `--checkpoints` or, without this option, `--models`.
    `with_losses` are the models that have losses.
    """
    if not args.checkpoints:
        return read_checkpoints_of_models(args.models), []
    table = read_checkpoints(args.checkpoints)
    return table, check_described(args.checkpoints, table, with_losses)


def _sizes(args: argparse.Namespace, info: Sizes, past: Sequence[str],
           with_losses: Sequence[str]) -> tuple[Sizes, Sizes]:
    """Return the models to forecast from, and the models to forecast.

    The models to forecast have the requested size; the docstring of
    `targets_of` describes them. `past` are the models of finished runs, and
    `with_losses` all models that have losses.
    """
    points, _ = _described(args, with_losses)
    last: Sequence[str] = last_checkpoints(past, points)
    # The scaling law needs models with different numbers of tokens. If all
    # runs end at the same number, earlier checkpoints are used as well.
    lengths = {info[model].tokens for model in last}
    if len(lengths) == 1:
        last = past
    models = {model: info[model] for model in last}
    check_sizes(args.models, models)
    check_target(models, args.params, args.tokens)
    return models, targets_of(models, args.params / 1e9, args.tokens)


def write_and_print(args: argparse.Namespace,
                    triage: Triage,
                    fitted: Optional[Predictor] = None) -> None:
    """Print a table or JSON, and write tables and a picture to `--out`.

    The predictor that was fitted to tables is written, too.
    """
    drawn = False
    if args.out:
        with file_set(args.out):
            write_triage(args.out, triage)
            if fitted is not None:
                save_predictor(fitted, args.out / 'predictor.safetensors')
            drawn = _drawn(triage, args.out / 'triage.png')
    if args.json:
        print_json(triage.to_dict())
        return
    print(as_text(triage, full_width(args.wide)), flush=True)
    if args.out:
        if not drawn:
            print('\nNo picture: matplotlib is not installed.')
        print_end(args.out)
    else:
        print()


def _drawn(triage: Triage, path: Path) -> bool:
    """Draw a picture if matplotlib is installed; return whether it is."""
    try:
        from csv_plugin.extras.pictures import save, trajectory_picture
    except ModuleNotFoundError:
        return False
    save(trajectory_picture(triage), path)
    return True
