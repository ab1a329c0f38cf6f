"""List predictors: those of the package, of a folder, or of the hub.

    salience predictors
    salience predictors outputs --cards
    salience predictors outputs/study/predictor.safetensors --cards
    salience predictors hub:example-lab/predictors --out shelf
    salience predictors outputs/predictor --upload example-lab/predictors

A card says what a predictor was fitted to, its range, its errors by family,
the licence of its texts and its versions. It is made from the file alone.
"""
import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tabulate import tabulate

from csv_plugin.cli.arguments import add_json, check_folder, print_json
from csv_plugin.core.conventions import InputError, shortened
from csv_plugin.core.escaping import one_line
from csv_plugin.core.predictor import Predictor
from csv_plugin.extras.sharing.predictor_cards import (fitted_models,
                                                       methods_of,
                                                       predictor_card,
                                                       units_of)
from csv_plugin.io.files import write_text
from csv_plugin.io.shelf import (HUB, shelf_folder, shelved_predictors,
                                 upload_shelf)

#: Most characters of a cell.
_WIDTH = 40
#: What the hub shows of a repository; the cards follow.
_README = """---
library_name: csv_plugin
tags:
- benchmark-prediction
---

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'place',
        nargs='?',
        metavar='PLACE',
        help='a folder, a file that ends in .safetensors, or a\n'
        f'repository of the hub such as {HUB}owner/name or\n'
        f'{HUB}owner/name@revision, which is downloaded\n'
        '(default: the package)')
    parser.add_argument(
        '--cards',
        action='store_true',
        help='print the cards (default: a table)')
    add_json(parser)
    parser.add_argument(
        '--out',
        type=Path,
        metavar='DIR',
        help='folder to write predictors and cards to, as they are\n'
        'uploaded (default: none)')
    parser.add_argument(
        '--upload',
        metavar='OWNER/NAME',
        help='repository of the hub to upload predictors and cards\n'
        'to (default: none)')


def run(args: argparse.Namespace) -> None:
    if args.out:
        check_folder(args.out)
    with shelf_folder(args.place) as (folder, file):
        if args.out and args.out.resolve() == folder.resolve():
            raise InputError('--out', 'another folder than that of PLACE',
                             str(args.out), 'Choose another folder.')
        shelf = shelved_predictors(folder, file)
        sound = {
            name: predictor
            for name, predictor in shelf.items()
            if isinstance(predictor, Predictor)
        }
        for error in shelf.values():
            if isinstance(error, InputError):
                print(f'warning: {error}', file=sys.stderr)
        if not sound:
            raise InputError(args.place or 'the package', 'predictors', 'none',
                             'Name a folder that a training wrote.')
        if args.out:
            _write(folder, args.out, sound)
        if args.upload:
            with TemporaryDirectory(prefix='csv_plugin.') as temporary:
                _write(folder, Path(temporary), sound)
                upload_shelf(temporary, args.upload)
    _show(args, sound)


def _write(source: Path, target: Path, shelf: Mapping[str, Predictor]) -> None:
    """Copies of predictors, a card of each, and all cards in README.md."""
    cards = []
    for name, predictor in shelf.items():
        path = target / f'{name}.safetensors'
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / f'{name}.safetensors', path)
        cards.append(predictor_card(name, predictor))
        write_text(path.with_suffix('.md'), cards[-1])
    write_text(target / 'README.md', _README + '\n'.join(cards))


def _show(args: argparse.Namespace, shelf: Mapping[str, Predictor]) -> None:
    rows = [{
        'name': name,
        'benchmarks': list(predictor.names),
        'method': methods_of(predictor),
        'from': units_of(predictor),
        'models': len(fitted_models(predictor)),
        'version': predictor.versions.get('csv_plugin', '')
    } for name, predictor in shelf.items()]
    if args.json:
        print_json(rows)
    elif args.cards:
        print('\n'.join(
            predictor_card(name, predictor)
            for name, predictor in shelf.items()))
    else:
        table = [[_cell(value) for value in row.values()] for row in rows]
        print(tabulate(table, [*rows[0]], disable_numparse=True))


def _cell(value: object) -> str:
    text = ', '.join(value) if isinstance(value, list) else str(value)
    return one_line(shortened(text, _WIDTH))
