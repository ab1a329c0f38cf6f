"""Join contributions of several groups to one collection.

    salience merge example-lab.zip other-lab.zip \\
        --texts texts.jsonl --out outputs/merged
    salience train --collection outputs/merged --split family-size \\
        --scoring-lm my-model --out outputs/predictor

The order of the files does not matter. What two of them give has to be equal;
givers.csv in the collection says who gave what, under which licence.
"""
import argparse
from functools import partial

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_out, add_several, add_texts,
                                      check_folder, print_end)
from csv_plugin.core.escaping import one_line
from csv_plugin.extras.sharing.merging import merge_contributions
from csv_plugin.io.text_sets import read_texts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_several(parser, 'contributions', 'FILE',
                'files of `salience contribute` (required)')
    add_texts(parser)
    add_out(parser, 'the collection, a new one')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    gifts = merge_contributions(args.contributions, read_texts(args.texts),
                                args.out, partial(tqdm, desc='contributions'))
    for giver, licence in sorted({gift[2:] for gift in gifts}):
        given = [gift[1] for gift in gifts if gift[2:] == (giver, licence)]
        print(
            one_line(f'{giver}: losses of {given.count("")} models, '
                     f'{len(given) - given.count("")} accuracies, under '
                     f'{licence}'))
    print_end([args.out], 'salience', 'train', '--collection', args.out,
              '--scoring-lm', 'MODEL', '--out', 'outputs/predictor')
