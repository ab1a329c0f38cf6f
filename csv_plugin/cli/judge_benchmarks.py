"""Which benchmarks tell pretraining runs apart, and how early.

Example (checkpoints have names such as run@step, or are described in a table):

    salience benchmarks --scores scores.csv --out outputs/benchmarks

With --losses, --models and --benchmarks, the order by losses is judged beside
that by scores.
"""
import argparse

from numpy.typing import NDArray

from csv_plugin.cli.arguments import (add_out, into_folder, print_end,
                                      save_picture)
from csv_plugin.cli.table_arguments import (add_checkpoints, add_tables,
                                            checkpoints_of, fit_bars)
from csv_plugin.core.conventions import InputError
from csv_plugin.extras.benchmark_signal import (LEGEND, benchmark_signals,
                                                predicted_by_others,
                                                signal_rows, write_signals)
from csv_plugin.io.files import file_set
from csv_plugin.io.model_tables import read_accuracy_columns, read_model_tables
from csv_plugin.report.screen import text_table, wrapped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser, 'losses', 'models', 'benchmarks')
    add_checkpoints(parser)
    add_out(parser, 'the tables and the picture')


@into_folder
def run(args: argparse.Namespace) -> None:
    scores = read_accuracy_columns(args.scores)
    checkpoints = checkpoints_of(args, scores.models)
    rows = benchmark_signals(
        scores.models, scores.columns, scores.values, checkpoints,
        _by_losses(args, scores.models,
                   [checkpoints[model].run for model in scores.models]))
    title = (f'{len(rows)} benchmarks by {len(scores.models)} checkpoints of '
             f'{len({point.run for point in checkpoints.values()})} runs')
    with file_set():
        write_signals(args.out, rows, title, args.command)
        note = save_picture('order_picture', rows, args.out / 'benchmarks.png')
    print(title, text_table(signal_rows(rows)), wrapped([LEGEND, *note]),
          sep='\n\n')  # yapf: disable
    tables = []
    for name in ('losses', 'scores', 'models', 'benchmarks'):
        tables += [f'--{name}', getattr(args, name) or f'{name}.csv']
    if args.checkpoints:
        tables += ['--checkpoints', args.checkpoints]
    print_end([args.out], 'salience', 'forecast', *tables, '--out',
              'outputs/forecast')


def _by_losses(args: argparse.Namespace, models: tuple[str, ...],
               runs: list[str]) -> NDArray | None:
    """Predictions from losses of models with scores; None without losses."""
    given = [args.losses, args.models, args.benchmarks]
    if not any(given):
        return None
    if not all(given):
        raise InputError('--losses, --models and --benchmarks',
                         'all three or none', 'some of them',
                         'Give the others too.')
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    return predicted_by_others(
        tables.features,
        tables.accuracies.select(models),
        runs,
        progress=fit_bars())
