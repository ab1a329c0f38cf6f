"""Forecasts of zoo runs from their first checkpoints, beside baselines.

The tables of docs/results.md, from losses and accuracies in the package (one
minute for the held-out runs, five more for the training runs):

    python tools/study_triage.py --leave-one-run-out
"""
import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Optional

from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.demo import shipped
from csv_plugin.demo.recipes import CHECKPOINTS
from csv_plugin.demo.studies.triage_study import (CUTS, FORECAST, Forecasts,
                                                  hold_out, leave_one_run_out)
from csv_plugin.demo.studies.zoo_study import FIRST_SERIES, ZooStudy

#: Names, factors and formats of what `Forecasts.errors` returns.
MEASURES = (('MAE, points', 100, '.1f'), ('MSE, 1e-3', 1000, '.0f'),
            ('pairs in order', 1, '.2f'))


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--leave-one-run-out',
        action='store_true',
        help='also forecast each training run from the other ones\n'
        '(default: no)')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    zoo = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                        shipped.SCORING_TOKENIZER).of_series(FIRST_SERIES)
    report('held-out runs', hold_out(zoo))
    if args.leave_one_run_out:
        report('training runs, each left out',
               leave_one_run_out(zoo, partial(tqdm, desc='runs')))


def report(title: str, forecasts: Forecasts) -> None:
    """Print the errors of all methods, and the intervals of the forecasts."""
    print(f'{len(forecasts.runs)} {title}: {", ".join(forecasts.runs)}\n')
    for m, (measure, factor, digits) in enumerate(MEASURES):
        rows = [[method, *factor * forecasts.errors(method)[:, m]]
                for method in forecasts.values]
        print(table([measure, *after()], rows, digits))
    differences = forecasts.values[FORECAST] - forecasts.real
    errors = 100 * abs(differences).mean(axis=1)
    rows = [[label, *row] for label, row in zip(after(), errors)]
    print(table([f'{FORECAST}: MAE, points', *forecasts.exams], rows, '.1f'))
    rows = [['hold the real accuracy, %', *100 * forecasts.coverage],
            ['width, points', *100 * forecasts.width]]
    print(table(['90 % intervals', *after()], rows, '.0f'))


def after() -> list[str]:
    """Shares of the training after which forecasts are made, in percent."""
    return [f'{CHECKPOINTS[cut - 1]} %' for cut in CUTS]


def table(header: Sequence[str], rows: Sequence[Sequence[Any]],
          digits: str) -> str:
    return tabulate(rows, header, tablefmt='pipe', floatfmt=digits) + '\n'


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
