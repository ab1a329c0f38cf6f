"""Draw a validation set from OpenCompass datasets.

The paper's 550 texts:

    python tools/build_validation_set.py --out outputs/texts

Others, by source or by the name of a dataset config:

    python tools/build_validation_set.py --out outputs/texts \\
        --sample gsm8k=50 --sample ARC_c_ppl_a450bd=200

or from a YAML file (docs/validation_sets.md). OpenCompass looks for the data
in $COMPASS_DATA_CACHE and in ~/.cache/opencompass; nothing is downloaded.
"""
import argparse
import sys
from functools import partial
from pathlib import Path

from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import check_folder, exit_code
from csv_plugin.oc.validation_set.assembly import (MANIFEST, TEXTS,
                                                   build_validation_set,
                                                   write_validation_set)
from csv_plugin.oc.validation_set.text_recipes import (PAPER, read_recipe,
                                                       recipe_of_samples)


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--out',
        required=True,
        metavar='DIR',
        type=Path,
        help=f'folder for {TEXTS} and {MANIFEST}')
    recipe = parser.add_mutually_exclusive_group()
    recipe.add_argument(
        '--recipe', metavar='FILE', help='YAML list of sources')
    recipe.add_argument(
        '--sample',
        action='append',
        metavar='NAME=COUNT',
        help='source or dataset config, and how many texts;\n'
        'may be given several times')
    parser.add_argument(
        '--seed', type=int, default=0, help='of the draw (default 0)')
    parser.add_argument(
        '--skip-missing',
        action='store_true',
        help='go on without sources that cannot be loaded')
    return parser.parse_args(argv)


def run(args):
    check_folder(args.out)
    recipe = PAPER
    if args.recipe:
        recipe = read_recipe(args.recipe)
    elif args.sample:
        recipe = recipe_of_samples(args.sample)
    built = build_validation_set(recipe, args.seed, args.skip_missing,
                                 partial(tqdm, desc='load'))
    write_validation_set(args.out, built)
    print(describe(built.manifest), end='\n\n')
    print(f'Written to {args.out}: {TEXTS}, {MANIFEST}')


def describe(manifest):
    columns = ('name', 'dataset', 'n_texts', 'n_subtasks', 'licence')
    rows = [[source[column] for column in columns]
            for source in manifest['sources']]
    lines = [tabulate(rows, headers=columns), '']
    for source in manifest['sources']:
        if source['n_unanswered']:
            lines.append(f'{source["name"]}: {source["n_unanswered"]} items '
                         'without an answer were left out')
        for reason, ids in source['passed_over'].items():
            lines.append(f'{source["name"]}: {len(ids)} passed over: {reason}')
    for name, reason in manifest['skipped'].items():
        lines.append(f'{name}: skipped: {reason}')
    lines.append(f'{manifest["n_texts"]} texts, fingerprint '
                 f'{manifest["fingerprint"]}')
    return '\n'.join(lines)


def main(argv=None):
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
