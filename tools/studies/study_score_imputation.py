"""What known scores add to losses: errors on families left out.

The table of docs/score_imputation.md, from tables as docs/formats.md describes
them:

    T=../shared/real
    python -m tools.studies.study_score_imputation --losses $T/losses.csv \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv --out outputs/score_imputation \\
        --doubles piqa=core_piqa arc_easy=core_arc_easy \\
        lambada_openai_invppl=core_lambada
"""
import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Optional

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_out, check_folder, exit_code,
                                      whole_number)
from csv_plugin.cli.table_arguments import add_tables
from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import SOLVERS
from csv_plugin.io.model_tables import read_model_tables
from csv_plugin.io.tables import split_name, write_csv
from tools.studies.options import two_names
from tools.studies.score_imputation_study import (HEADER,
                                                  score_imputation_study,
                                                  table)


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_tables(parser)
    parser.add_argument(
        '--splits',
        nargs='+',
        type=split_name,
        metavar='SPLIT',
        help='splits whose models count (default: all)')
    parser.add_argument(
        '--doubles',
        nargs='+',
        default=[],
        type=two_names,
        metavar='A=B',
        help='benchmarks that measure nearly the same: scores on one\n'
        'are not told when the other is predicted\n'
        '(default: none)')
    parser.add_argument(
        '--solver',
        choices=sorted(SOLVERS),
        default='ridge',
        help='how salience weights are learned (default ridge)')
    parser.add_argument(
        '--seeds',
        type=partial(whole_number, least=1),
        default=3,
        metavar='N',
        help='deals of the families to folds (default 3)')
    add_out(parser, 'score_imputation.csv')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    if args.splits:
        tables = tables.select(tables.models_in(*args.splits))
    if len({tables.families[model] for model in tables.features.models}) < 3:
        raise InputError('models', 'models of three families or more', 'fewer',
                         'Name more models.')
    study = score_imputation_study(tables, args.doubles, SOLVERS[args.solver],
                                   range(args.seeds),
                                   partial(tqdm, desc='fits'))
    args.out.mkdir(parents=True, exist_ok=True)
    write_csv(args.out / 'score_imputation.csv', HEADER, study.rows())
    print(table(study))


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
