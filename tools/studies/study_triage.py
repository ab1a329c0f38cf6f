"""Forecasts of zoo runs from their first checkpoints, beside baselines.

The tables of docs/results.md, from losses and accuracies in the package (one
minute for the held-out runs, five more for the training runs):

    python -m tools.studies.study_triage --leave-one-run-out
"""
import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Optional

from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.core.resampling import mean_with_interval
from csv_plugin.demo import shipped
from tools.studies.triage_study import (CUTS, FORECAST, GAIN, Forecasts,
                                        hold_out, leave_one_run_out)
from tools.studies.zoo.recipes import CHECKPOINTS
from tools.studies.zoo_study import ZooStudy

#: Names, factors and formats of what `Forecasts.errors` returns.
MEASURES = (('MSE, 1e-3', 1000, '.0f'), ('pairs in order', 1, '.2f'))


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
                        shipped.SCORING_TOKENIZER)
    report('held-out runs', hold_out(zoo))
    if args.leave_one_run_out:
        report('training runs, each left out',
               leave_one_run_out(zoo, partial(tqdm, desc='runs')))


def report(title: str, forecasts: Forecasts) -> None:
    """Print the errors of all methods, and the intervals of the forecasts."""
    print(f'{len(forecasts.runs)} {title}: {", ".join(forecasts.runs)}\n')
    rows = [[method, *map(_with_interval, forecasts.errors_by_run(method))]
            for method in forecasts.values]
    saved = (forecasts.errors_by_run(GAIN) - forecasts.errors_by_run(FORECAST))
    rows.append(
        [f'{FORECAST}: less than with the gain', *map(_with_interval, saved)])
    print(table(['MAE, points', *after()], rows, ''))
    for m, (measure, factor, digits) in enumerate(MEASURES):
        rows = [[method, *factor * forecasts.errors(method)[:, m]]
                for method in forecasts.values]
        print(table([measure, *after()], rows, digits))
    differences = forecasts.values[FORECAST] - forecasts.real
    errors = 100 * abs(differences).mean(axis=1)
    rows = [[label, *row] for label, row in zip(after(), errors)]
    print(table([f'{FORECAST}: MAE, points', *forecasts.exams], rows, '.1f'))
    rows = [[
        'hold the real accuracy, %', *map(_with_interval, forecasts.coverage)
    ], ['width, points', *(f'{100 * width:.0f}' for width in forecasts.width)]]
    print(table(['90 % intervals', *after()], rows, ''))


def _with_interval(by_run: NDArray) -> str:
    """A mean over runs in percent, and its interval if they are drawn."""
    mean, low, high = mean_with_interval(100 * by_run)
    return f'{mean:.1f} ({low:.0f} - {high:.0f})'


def after() -> list[str]:
    """Shares of the training after which forecasts are made, in percent."""
    return [f'{CHECKPOINTS[cut - 1]} %' for cut in CUTS]


def table(header: Sequence[str], rows: Sequence[Sequence[Any]],
          digits: str) -> str:
    return tabulate(rows, header, tablefmt='pipe', floatfmt=digits) + '\n'


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
