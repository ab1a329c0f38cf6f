"""Forecasts of runs from their first checkpoints, by several forecasters.

The tables of docs/appendix/intervals_and_forecasts.md on the zoo, from losses
and accuracies in the package (two minutes for the held-out runs, ten for the
others):

    python -m tools.studies.study_triage
    python -m tools.studies.study_triage --leave-run-out

and those on tables as docs/formats.md describes them, such as those of real
runs beside the repository:

    python -m tools.studies.study_triage --after 3 6 11 23 \\
        --tables ../shared/real/gemstones
"""
import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.table_arguments import add_fit_and_predict
from csv_plugin.demo import shipped
from csv_plugin.io.model_tables import read_model_tables
from csv_plugin.triage.checkpoints import read_checkpoints
from tools.studies.resampling import mean_with_interval
from tools.studies.triage_study import (FORECAST, HELD_OUT, TRAINING,
                                        Forecasts, forecast_case,
                                        leave_one_out, table_case, zoo_case)
from tools.studies.zoo.recipes import MODELS
from tools.studies.zoo_study import ZooStudy


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--tables',
        type=Path,
        metavar='DIR',
        help='folder with losses.csv or losses.safetensors, scores.csv,\n'
        'benchmarks.csv, and models.csv with the run and step of\n'
        'each model (default: the zoo)')
    add_fit_and_predict(parser)
    parser.add_argument(
        '--leave-run-out',
        action='store_true',
        help='forecast each run fitted to from the others (default: no)')
    parser.add_argument(
        '--after',
        nargs='+',
        type=float,
        default=[10, 20, 35, 50, 100],
        metavar='PERCENT',
        help='parts of the training (default 10 20 35 50 100)')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    after = [number / 100 for number in args.after]
    forecasts = (of_tables if args.tables else of_zoo)(args, after)
    print(f'{len(forecasts.runs)} runs: {", ".join(forecasts.runs)}\n')
    report(forecasts, [f'{number:g} %' for number in args.after])


def of_tables(args: argparse.Namespace, after: Sequence[float]) -> Forecasts:
    """Forecasts of the runs of a folder of tables."""
    folder = args.tables
    losses = folder / 'losses.csv'
    tables = read_model_tables(
        losses if losses.exists() else losses.with_suffix('.safetensors'),
        *(folder / f'{name}.csv'
          for name in ('scores', 'models', 'benchmarks')))
    checkpoints = read_checkpoints(folder / 'models.csv')
    fit = tables.models_to_fit(args.fit, args.predict)
    if not args.leave_run_out:
        case = table_case(tables, checkpoints, fit,
                          tables.models_in(*args.predict))
        return forecast_case(case, after)

    def left_out(run: str) -> Any:
        rest, of_run = ([
            model for model in fit if (checkpoints[model].run == run) == inside
        ] for inside in (False, True))
        return table_case(tables, checkpoints, rest, of_run)

    runs = list(dict.fromkeys(checkpoints[model].run for model in fit))
    return leave_one_out(runs, after, left_out, partial(tqdm, desc='runs'))


def of_zoo(args: argparse.Namespace, after: Sequence[float]) -> Forecasts:
    """Forecasts of the runs of the zoo."""
    zoo = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                        shipped.SCORING_TOKENIZER)
    if not args.leave_run_out:
        return forecast_case(zoo_case(zoo, HELD_OUT, HELD_OUT), after)
    others = [name for name in MODELS if name not in TRAINING]
    return leave_one_out(TRAINING, after,
                         lambda name: zoo_case(zoo, (name, ), (name, *others)),
                         partial(tqdm, desc='runs'))


def report(forecasts: Forecasts, after: Sequence[str]) -> None:
    """Print errors, order and intervals of all methods.

    Args:
        forecasts (Forecasts): After each part of the training.
        after (Sequence[str]): These parts.
    """
    ends = forecasts.ends
    print(
        _table(
            'MAE, points', after, {
                method: map(_with_interval,
                            forecasts.errors(method).mean(axis=2))
                for method in ends
            }))
    print(
        _table(
            'pairs in order', after, {
                method:
                [f'{share:.2f}' for share in forecasts.in_order(method)]
                for method in ends
            }))
    print(
        _table(
            '90 % intervals: hold the end, % (width, points)', after, {
                method: [
                    f'{100 * hold:.0f} ({100 * width:.1f})'
                    for hold, width in zip(
                        forecasts.coverage(method).mean(
                            axis=1), forecasts.width(method))
                ]
                for method in ends
                if not np.isnan(forecasts.width(method)).any()
            }))
    by_benchmark = 100 * forecasts.errors(FORECAST).mean(axis=1)
    print(
        _table(
            f'{FORECAST}: MAE, points', after, {
                name: [f'{error:.1f}' for error in by_benchmark[:, b]]
                for b, name in enumerate(forecasts.benchmarks)
            }))


def _with_interval(by_run: NDArray) -> str:
    """A mean over runs in percent, and its interval if they are drawn."""
    mean, low, high = mean_with_interval(100 * by_run)
    return f'{mean:.2f} ({low:.2f} - {high:.2f})'


def _table(title: str, after: Sequence[str], rows: dict[str, Any]) -> str:
    return tabulate([[name, *cells]
                     for name, cells in rows.items()], [title, *after],
                    tablefmt='pipe',
                    disable_numparse=True) + '\n'


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
