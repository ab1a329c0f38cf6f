"""Compare methods, by this package and by others, on tables of your own.

Example (tables as docs/formats.md describes them; units that are items of a
benchmark are named after it, such as arcc/main/0):

    python -m tools.studies.compare_methods --losses losses.csv \\
        --scores scores.csv --models models.csv --benchmarks benchmarks.csv \\
        --own-units arc_challenge=arcc --doubles piqa=core_piqa \\
        --fit train val --predict test --out outputs/methods
"""
import argparse
import shlex
import sys
import textwrap
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Optional

import numpy as np
from tqdm import tqdm

from csv_plugin.cli.arguments import (add_json, add_out, check_folder,
                                      check_splits, exit_code, print_json)
from csv_plugin.cli.table_arguments import (add_fit_and_predict, add_folds,
                                            add_tables, models_of)
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import counted
from csv_plugin.core.salience import DEFAULT_SOLVER
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from tools.studies.comparison_tables import (benchmarks_table, methods_table,
                                             plain_values, write_comparison)
from tools.studies.options import two_names
from tools.studies.other_methods.all_methods import (METHODS, Evidence,
                                                     own_units)
from tools.studies.other_methods.comparison import Fold, compare, family_folds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_fit_and_predict(parser)
    add_folds(parser)
    parser.add_argument(
        '--methods',
        nargs='+',
        choices=METHODS,
        default=[*METHODS],
        metavar='METHOD',
        help=textwrap.fill(
            f'some of {", ".join(METHODS)} (default: all); the solver '
            f'{DEFAULT_SOLVER} always takes part',
            width=55,
            break_on_hyphens=False))
    parser.add_argument(
        '--own-units',
        nargs='+',
        type=two_names,
        default=[],
        metavar='BENCHMARK=PREFIX',
        help='what the names of units that are its own items begin\n'
        'with, up to a slash (default: its name)')
    parser.add_argument(
        '--doubles',
        nargs='+',
        type=two_names,
        default=[],
        metavar='BENCHMARK=BENCHMARK',
        help='benchmarks that are nearly the same, so that neither\n'
        'may tell of the other (default: none)')
    add_out(parser, 'the tables')
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    folds = _folds(args, tables)
    # Models of other splits tell nothing, not even what fills a hole.
    chosen = {*chain.from_iterable(fold.fit + fold.predict for fold in folds)}
    tables = tables.select(
        tuple(m for m in tables.features.models if m in chosen))
    compared = _compared(args, tables, folds)
    warnings = [
        f'{name}: left out, as no model to fit to was run there.'
        for name in tables.accuracies.main if name not in compared
    ]
    for line in () if args.json else warnings:
        print(f'warning: {one_line(line)}', flush=True)
    evidence = _evidence(tables, compared, args.own_units, args.doubles)
    methods = list(dict.fromkeys([DEFAULT_SOLVER, *args.methods]))
    comparison = compare(evidence, tables.families, methods, folds, args.seed,
                         partial(tqdm, desc='fits'))
    predicted = len(comparison.families)
    title = (f'{predicted} models, each predicted from other families'
             if args.leave_family_out else
             f'{counted(predicted, "model")} predicted from '
             f'{len(folds[0].fit)}')
    args.out.mkdir(parents=True, exist_ok=True)
    write_comparison(args.out, comparison, title, args.command)
    if args.json:
        print_json({
            'title': title,
            'warnings': warnings,
            'methods': plain_values(comparison)
        })
        return
    print(
        title,
        methods_table(comparison),
        'MSE by benchmark, in 1e-3:',
        benchmarks_table(comparison),
        f'Written to {args.out}: comparison.md, methods.csv, benchmarks.csv',
        sep='\n\n')


def _folds(args: argparse.Namespace, tables: ModelTables) -> list[Fold]:
    """The protocol that the options ask for.

    Raises:
        InputError: A split has no model, or is both fitted to and
            predicted.
    """
    fit, predict = models_of(args, tables)
    if args.leave_family_out:
        models = [m for m in tables.features.models if m in {*fit, *predict}]
        return family_folds(models, tables.families, args.seed)
    check_splits(args, 'Take it out of one, or use --leave-family-out.')
    return [Fold(fit, predict)]


def _compared(args: argparse.Namespace, tables: ModelTables,
              folds: Sequence[Fold]) -> list[str]:
    """The main benchmarks with a score to fit to in every fold.

    Raises:
        InputError: There is none.
    """
    run = [tables.accuracies.select(fold.fit).benchmarks_run for fold in folds]
    names = [
        name for name in tables.accuracies.main
        if all(name in some for some in run)
    ]
    if not names:
        raise InputError(args.scores,
                         'a score of a model to fit to on a main benchmark',
                         'none', 'Give scores, or name other splits.')
    return names


def _evidence(tables: ModelTables, compared: Sequence[str],
              prefixes: Sequence[tuple[str, str]],
              doubles: Sequence[tuple[str, str]]) -> Evidence:
    """What the tables tell of the benchmarks that methods are compared on.

    Raises:
        InputError: An option names a benchmark that the tables lack, or a
            benchmark has two prefixes.
    """
    known = tables.accuracies.benchmarks
    first_parts = dict(prefixes)
    check_unique('benchmarks of --own-units', [name for name, _ in prefixes])
    for name in (*first_parts, *chain.from_iterable(doubles)):
        if name not in known:
            raise InputError('--own-units and --doubles',
                             f'benchmarks of {", ".join(known)}'[:300],
                             repr(name), 'Correct the name.')
    models, units = tables.features.models, tables.features.columns.units
    info = [tables.info[model] for model in models]
    return Evidence(tables.features,
                    tables.accuracies.select(benchmarks=compared),
                    np.array([details.params_b for details in info]),
                    np.array([details.tokens for details in info]),
                    own_units(units, compared, first_parts),
                    [frozenset(pair) for pair in doubles])


def main(argv: Optional[Sequence[str]] = None) -> int:
    words = sys.argv[1:] if argv is None else argv

    def parse_and_run() -> None:
        parser = argparse.ArgumentParser(
            description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
        add_arguments(parser)
        args = parser.parse_args(words)
        args.command = shlex.join(
            ['python', '-m', 'tools.studies.compare_methods', *words])
        run(args)

    return exit_code(parse_and_run)


if __name__ == '__main__':
    sys.exit(main())
