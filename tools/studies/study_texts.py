"""Errors on the zoo of the package by number of texts and of their sources.

The table of docs/appendix/zoo.md:

    python -m tools.studies.study_texts --out outputs/texts_study

Left, texts of all sources; right, 50 texts of 1 to 5 sources. Geometric means
over the exams and the draws.
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
from csv_plugin.demo import shipped
from csv_plugin.extras.pictures import save
from csv_plugin.io.tables import write_csv
from tools.studies.errors_by_texts import TextsStudyRow, texts_picture
from tools.studies.texts_study import draws, table, texts_study
from tools.studies.zoo_study import FIRST_SERIES, ZooStudy

#: Numbers of texts of all sources.
NUMBERS = (10, 25, 50, 100, 250)
#: Number of texts of 1 to 5 sources: as many as each source has.
FIXED = 50


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--texts',
        nargs='+',
        type=partial(whole_number, least=1),
        default=NUMBERS,
        metavar='N',
        help='how many texts of all sources, from 5 to 250\n'
        f'(default {" ".join(map(str, NUMBERS))})')
    parser.add_argument(
        '--draws',
        type=partial(whole_number, least=1),
        default=10,
        metavar='N',
        help='draws of each number of texts (default 10)')
    add_out(parser, 'texts.csv, texts.svg and texts.png')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER).of_series(FIRST_SERIES)
    numbers = tuple(dict.fromkeys(args.texts))
    drawn = draws(study.collection.texts, numbers, FIXED, range(args.draws))
    rows = texts_study(study, drawn, partial(tqdm, desc='draws'))
    args.out.mkdir(parents=True, exist_ok=True)
    header = [field.name for field in fields(TextsStudyRow)]
    write_csv(args.out / 'texts.csv', header, map(astuple, rows))
    for suffix in ('svg', 'png'):
        save(texts_picture(rows), args.out / f'texts.{suffix}')
    print(table(rows))


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
