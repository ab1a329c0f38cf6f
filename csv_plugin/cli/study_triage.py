"""Forecasts of zoo runs from their first checkpoints, beside baselines.

The tables of docs/triage.md, from losses and scores in the package (one minute
for the first, five more for the second):

    python tools/study_triage.py --leave-one-run-out
"""
import argparse
import sys
from functools import partial

from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.demo import shipped
from csv_plugin.demo.recipes import CHECKPOINTS
from csv_plugin.demo.studies.triage_study import (CUTS, FORECAST, hold_out,
                                                  leave_one_run_out)
from csv_plugin.demo.studies.zoo_study import ZooStudy

#: Names, factors and formats of what `Forecasts.errors` returns.
MEASURES = (('MAE, points', 100, '.1f'), ('MSE, 1e-3', 1000, '.0f'),
            ('pairs in order', 1, '.2f'))


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--leave-one-run-out',
        action='store_true',
        help='also the runs that the choices were judged on')
    return parser.parse_args(argv)


def run(args):
    zoo = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                        shipped.SCORING_TOKENIZER)
    report('held-out runs', hold_out(zoo))
    if args.leave_one_run_out:
        report('training runs, each left out',
               leave_one_run_out(zoo, partial(tqdm, desc='runs')))


def report(title, found):
    print(f'{len(found.runs)} {title}: {", ".join(found.runs)}\n')
    for m, (measure, factor, digits) in enumerate(MEASURES):
        rows = [[method, *factor * found.errors(method)[:, m]]
                for method in found.values]
        print(table([measure, *after()], rows, digits))
    errors = 100 * abs(found.values[FORECAST] - found.real).mean(axis=1)
    rows = [[label, *row] for label, row in zip(after(), errors)]
    print(table([f'{FORECAST}: MAE, points', *found.exams], rows, '.1f'))
    rows = [['hold the real accuracy, %', *100 * found.coverage],
            ['width, points', *100 * found.width]]
    print(table(['90 % intervals', *after()], rows, '.0f'))


def after():
    """Per cent of the training after which forecasts are made."""
    return [f'{CHECKPOINTS[cut - 1]} %' for cut in CUTS]


def table(header, rows, digits):
    return tabulate(rows, header, tablefmt='pipe', floatfmt=digits) + '\n'


def main(argv=None):
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
