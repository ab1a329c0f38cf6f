"""Where pretraining runs will end, from tables of their losses so far.

Example (tables as docs/formats.md describes them; checkpoints have names such
as run@step, or are described in a table):

    salience forecast --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --fit train --predict test --out outputs/forecast

The runs of --fit are finished. Those of --predict are forecast from their
losses, and from their scores so far where there are any.
"""
import argparse
from collections.abc import Sequence

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_json, add_out, check_folder,
                                      nan_to_none, percent, print_json)
from csv_plugin.cli.fit_bars import fit_bars
from csv_plugin.cli.table_arguments import (add_checkpoints,
                                            add_fit_and_predict,
                                            add_same_tables, checkpoints_of)
from csv_plugin.core.cells import counted
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.report.forecast_tables import as_report, write_forecasts
from csv_plugin.triage.checkpoints import Checkpoint
from csv_plugin.triage.final_scores import LEAST_RUNS
from csv_plugin.triage.run_notes import as_sentences
from csv_plugin.triage.table_forecasts import (SOURCES, TableForecasts,
                                               forecast_tables)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_same_tables(parser)
    add_checkpoints(parser)
    add_fit_and_predict(parser)
    parser.add_argument(
        '--leave-run-out',
        action='store_true',
        help='forecast each run of --fit from the others in place of\n'
        'the runs of --predict (default: no)')
    parser.add_argument(
        '--after',
        nargs='+',
        type=percent,
        default=[],
        metavar='PERCENT',
        help='forecast from what was known after these parts of the\n'
        'training (default: from all checkpoints)')
    add_out(parser, 'the tables')
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    checkpoints = checkpoints_of(args, tables.features.models)
    fit = tables.models_in(*args.fit)
    after = [number / 100 for number in args.after]
    if args.leave_run_out:
        ends = _leave_runs_out(tables, checkpoints, fit, after)
    else:
        in_both = set(args.fit) & set(args.predict)
        if in_both:
            raise InputError('--fit and --predict', 'different splits',
                             f'{" and ".join(sorted(in_both))} in both',
                             'Take it out of one, or use --leave-run-out.')
        ends = _forecast(tables, checkpoints, fit,
                         tables.models_in(*args.predict), after, fit_bars())
    sentences = as_sentences(ends.notes)
    if not any(one.method in SOURCES for one in ends.forecasts):
        raise InputError(
            '--after', 'parts of the training at which the runs to forecast '
            f'and {LEAST_RUNS} finished runs have checkpoints',
            ' '.join(sentences),
            'Give other percentages, or the losses of more runs.')
    title = _title(ends)
    files = write_forecasts(args.out, ends, title, args.command)
    if args.json:
        print_json({
            'title':
            title,
            'forecasts':
            [nan_to_none(one._asdict()) for one in ends.forecasts],
            'notes':
            sentences
        })
        return
    names = ', '.join(path.name for path in files)
    print(
        title, as_report(ends), f'Written to {args.out}: {names}', sep='\n\n')


def _title(ends: TableForecasts) -> str:
    runs = {one.run for one in ends.forecasts}
    finished = {one.run for one in ends.forecasts if one.share == 1}
    title = f'{counted(len(runs), "run")} forecast'
    return f'{title}, {len(finished)} at the end' if finished else title


def _forecast(tables: ModelTables,
              checkpoints: dict[str, Checkpoint],
              fit: Sequence[str],
              predict: Sequence[str],
              after: Sequence[float],
              progress: Progress,
              all_finished: bool = False) -> TableForecasts:
    return forecast_tables(tables.features,
                           tables.accuracies.select(benchmarks=tables.main),
                           checkpoints, fit, predict, after, all_finished,
                           progress)


def _leave_runs_out(tables: ModelTables, checkpoints: dict[str, Checkpoint],
                    fit: Sequence[str],
                    after: Sequence[float]) -> TableForecasts:
    """Each run of some checkpoints, from the other runs."""
    parts = []
    runs = dict.fromkeys(checkpoints[model].run for model in fit)
    for left_out in tqdm(list(runs), desc='runs'):
        of_run, others = ([
            model for model in fit
            if (checkpoints[model].run == left_out) == inside
        ] for inside in (True, False))
        parts.append(
            _forecast(
                tables,
                checkpoints,
                others,
                of_run,
                after,
                iter,
                all_finished=True))
    known = {}
    for part in parts:
        known.update(part.known)
    return TableForecasts([one for part in parts for one in part.forecasts],
                          [note for part in parts for note in part.notes],
                          known)
