"""Errors on families left out, by number of models and of their families.

The table of docs/appendix/public_models.md, from tables as docs/formats.md
describes them:

    T=../shared/real
    python -m tools.studies.study_models --losses $T/losses.csv \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv --out outputs/models_study
"""
import argparse
import sys
from collections.abc import Sequence
from dataclasses import astuple, fields
from functools import partial
from typing import Optional

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_out, check_folder, exit_code,
                                      whole_number)
from csv_plugin.cli.table_arguments import add_tables
from csv_plugin.extras.pictures import save
from csv_plugin.io.model_tables import read_model_tables
from csv_plugin.io.tables import write_csv
from tools.studies.errors_by_models import ModelsStudyRow, models_picture
from tools.studies.models_study import draws, models_study, table


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_tables(parser)
    parser.add_argument(
        '--draws',
        type=partial(whole_number, least=1),
        default=10,
        metavar='N',
        help='draws of the models, each with families of its own to\n'
        'predict (default 10)')
    add_out(parser, 'models.csv, models.svg and models.png')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    families = {
        model: tables.families[model]
        for model in tables.features.models
    }
    drawn = draws(families, range(args.draws))
    rows = models_study(tables, drawn, partial(tqdm, desc='draws'))
    args.out.mkdir(parents=True, exist_ok=True)
    header = [field.name for field in fields(ModelsStudyRow)]
    write_csv(args.out / 'models.csv', header, map(astuple, rows))
    for suffix in ('svg', 'png'):
        save(models_picture(rows), args.out / f'models.{suffix}')
    print(table(rows))


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
