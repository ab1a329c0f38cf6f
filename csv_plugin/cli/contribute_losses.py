"""Pack losses and accuracies of models into one file for others.

    salience contribute outputs/mine/2* --texts texts.jsonl \\
        --models models.csv --tasks mmlu gsm8k \\
        --giver 'Example Lab' --licence 'CC BY 4.0' --out example-lab.zip

The file holds token losses, accuracies, families, how the losses were made,
and checksums. It does not hold the texts. `salience merge` joins such files.
"""
import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from csv_plugin.cli.arguments import add_required, print_end
from csv_plugin.cli.table_arguments import (add_sources, check_sources,
                                            collect_sources)
from csv_plugin.core.escaping import one_line
from csv_plugin.core.input_error import InputError
from csv_plugin.extras.sharing.contributions import write_contribution
from csv_plugin.io.files import check_target
from csv_plugin.io.tables import read_models
from csv_plugin.io.text_sets import TEXTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_sources(parser, 'runs')
    add_required(parser, '--giver', 'NAME',
                 'who gives the losses and accuracies')
    add_required(parser, '--licence', 'NAME',
                 "licence of the contribution, such as 'CC BY 4.0'")
    add_required(parser, '--out', 'FILE',
                 'the file to write, such as mine.zip', Path)


def run(args: argparse.Namespace) -> None:
    check_target(args.out)
    check_sources(args)
    with _collection(args) as folder:
        given = write_contribution(args.out, folder, args.giver, args.licence,
                                   partial(tqdm, desc='dumps'))
    accuracies = given.accuracies.values
    print(f'{len(given.losses)} models on {len(given.texts)} texts '
          f'{given.texts.fingerprint[:12]}, '
          f'{(accuracies == accuracies).sum()} accuracies. Given by '
          f'{one_line(args.giver)} under {one_line(args.licence)}.')
    print_end([args.out], 'salience', 'merge', args.out, '--texts', args.texts
              or args.collection / TEXTS, '--out', 'outputs/merged')


@contextmanager
def _collection(args: argparse.Namespace) -> Iterator[Path]:
    """The collection that is named, or one of what the options name."""
    if args.collection:
        yield args.collection
        return
    if not args.models:
        raise InputError('--models', 'a table of models and families', 'none',
                         'Name the table.')
    with TemporaryDirectory(prefix='csv_plugin.') as folder:
        collection, benchmarks = collect_sources(args,
                                                 read_models(args.models))
        collection.write(folder, benchmarks)
        yield Path(folder)
