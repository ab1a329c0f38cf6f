"""Compare methods, by this package and by others, on tables of your own.

Example (tables as docs/formats.md describes them; units that are items of a
benchmark are named after it, such as arcc/main/0):

    python -m tools.studies.compare_methods --losses losses.csv \\
        --scores scores.csv --models models.csv --benchmarks benchmarks.csv \\
        --own-units arc_challenge=arcc --doubles piqa=core_piqa \\
        --fit train val --predict test --out outputs/methods
"""
import argparse
import math
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import check_folder, exit_code
from csv_plugin.cli.options import (SPLITS, TABLES, add_shared, check_splits,
                                    models_of)
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import markdown, one_line
from csv_plugin.core.formatting import counted
from csv_plugin.core.salience import DEFAULT_SOLVER
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import write_csv
from tools.studies.options import parser_of, tables_of, two_names
from tools.studies.other_methods.all_methods import (METHODS, Evidence,
                                                     own_units)
from tools.studies.other_methods.comparison import (Comparison, Errors, Fold,
                                                    compare, family_folds)

_LEGEND = """\
MSE in 1e-3 (squared fractions), geometric mean over {n_benchmarks} benchmarks,
and as a share of that of {first}: in brackets the 90 % interval of the share
if {n_families} families of predicted models are drawn again and again (none
for one family). MAE and the width of the {level:.0%} intervals are in points
of accuracy, coverage is the share of intervals that hold the real accuracy,
plain means over the benchmarks. Seconds of one processor for all fits and
predictions. Methods that look at anything but losses answer another question:
`own losses` are those of a benchmark's own items, `size, tokens` are known
before a model is trained, `other scores` once most benchmarks have been run.
"""


def methods_table(comparison: Comparison) -> str:
    """One row for each method, the least MSE first, as a Markdown table."""
    first = comparison.predictions.methods[0]
    rows = [[
        method, METHODS[method].looks_at,
        _digits(1e3 * row['mse'], 3), '1' if method == first else _share(row),
        _digits(100 * row['mae'], 2),
        _digits(row['coverage'], 2),
        _digits(100 * row['width'], 1),
        _digits(row['seconds'], 0)
    ] for method, row in sorted(
        _summaries(comparison).items(),
        key=lambda item: (math.isnan(item[1]['mse']), item[1]['mse']))]
    header = [
        'method', 'looks at', 'MSE', f'of {first}', 'MAE', 'coverage', 'width',
        'seconds'
    ]
    return _table(rows, header, n_words=2)


def benchmarks_table(comparison: Comparison) -> str:
    """MSE in 1e-3 of each method by benchmark, as a Markdown table."""
    methods = comparison.predictions.methods
    by_method = [comparison.errors(method) for method in methods]
    rows = [[
        markdown(benchmark), *(_digits(1e3 * errors[benchmark].mse, 2)
                               for errors in by_method)
    ] for benchmark in comparison.predictions.benchmarks]
    return _table(rows, ['benchmark', *methods], n_words=1)


def _table(rows: list[list[str]], header: list[str], n_words: int) -> str:
    align = ['left'] * n_words + ['right'] * (len(header) - n_words)
    return tabulate(rows, header, tablefmt='pipe', colalign=align,
                    disable_numparse=True)  # yapf: disable


def _digits(value: float, digits: int) -> str:
    return '-' if math.isnan(value) else f'{value:.{digits}f}'


def _share(row: Mapping[str, float]) -> str:
    """The share with its interval, if any, such as '1.20 (1.05 - 1.43)'."""
    share = _digits(row['ratio'], 2)
    if math.isnan(row['ratio_low']):
        return share
    return f'{share} ({row["ratio_low"]:.2f} - {row["ratio_high"]:.2f})'


def _summaries(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Means of errors, the share and the seconds, by method."""
    return {
        method: {
            **asdict(comparison.mean_errors(method)),
            **dict(
                zip(('ratio', 'ratio_low', 'ratio_high'),
                    comparison.ratio(method))), 'seconds':
            comparison.seconds[method]
        }
        for method in comparison.predictions.methods
    }


def write_comparison(folder: Path, comparison: Comparison) -> None:
    """Write `methods.csv` and `benchmarks.csv`."""
    summaries = _summaries(comparison)
    methods = comparison.predictions.methods
    write_csv(folder / 'methods.csv',
              ('method', 'looks_at', *summaries[methods[0]]),
              ((method, METHODS[method].looks_at, *summaries[method].values())
               for method in methods))
    write_csv(folder / 'benchmarks.csv',
              ('method', 'benchmark', *Errors.__dataclass_fields__),
              ((method, benchmark, *asdict(errors).values())
               for method in methods
               for benchmark, errors in comparison.errors(method).items()))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, *TABLES, *SPLITS, '--leave-family-out', '--seed')
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
    add_shared(parser, '--out')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    tables = tables_of(args)
    folds = _folds(args, tables)
    # Models of other splits tell nothing, not even what fills a hole.
    chosen = {*chain.from_iterable(fold.fit + fold.predict for fold in folds)}
    tables = tables.select(
        tuple(m for m in tables.features.models if m in chosen))
    compared = _compared(args, tables, folds)
    for name in tables.accuracies.main:
        if name not in compared:
            print(f'warning: {one_line(name)}: left out, as no model to fit '
                  'to was run there.')
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
    write_comparison(args.out, comparison)
    legend = _LEGEND.format(
        n_benchmarks=len(compared),
        first=methods[0],
        n_families=len(set(comparison.families)),
        level=comparison.predictions.level)
    print(
        title,
        methods_table(comparison),
        legend.strip(),
        'MSE by benchmark, in 1e-3:',
        benchmarks_table(comparison),
        sep='\n\n')


def _folds(args: argparse.Namespace, tables: ModelTables) -> list[Fold]:
    """The protocol that the options ask for."""
    fit, predict = models_of(args, tables)
    if args.leave_family_out:
        models = [m for m in tables.features.models if m in {*fit, *predict}]
        return family_folds(models, tables.families, args.seed)
    check_splits(args, 'Take it out of one, or use --leave-family-out.')
    return [Fold(fit, predict)]


def _compared(args: argparse.Namespace, tables: ModelTables,
              folds: Sequence[Fold]) -> list[str]:
    """The main benchmarks with a score to fit to in every fold."""
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
    """What the tables tell of the benchmarks that methods are compared on."""
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


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    add_arguments(parser)
    return exit_code(lambda: run(parser.parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
