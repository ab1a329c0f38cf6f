"""Errors by number of units, chosen from the models fitted to or at random.

The table of docs/appendix/real_runs.md, from tables as docs/formats.md
describes them:

    T=../shared/real/gemstones
    python -m tools.studies.study_units --losses $T/losses.safetensors \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv --out outputs/units_study
"""
import argparse
import sys
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import add_out, check_folder, exit_code
from csv_plugin.cli.table_arguments import add_fit_and_predict, add_tables
from csv_plugin.core import metrics
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.study import geometric_mean
from csv_plugin.extras.choosing_units import choose_columns
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import write_csv
from tools.studies.options import add_number, parser_of, tables_of

#: Numbers of units.
NUMBERS = (25, 50, 100, 200, 550)
CHOSEN, RANDOM, ALL = 'chosen', 'random', 'all'


class UnitsStudyRow(NamedTuple):
    """The error with some of the units.

    Args:
        units (str): 'chosen', 'random' or 'all'.
        n_units (int): How many.
        seed (int): Of the draw, or of the choice.
        mse (float): Mean squared error, geometric mean over benchmarks.
        coverage (float): Share of 90 % intervals that hold the accuracy.
        width (float): Their mean width, a fraction.
    """
    units: str
    n_units: int
    seed: int
    mse: float
    coverage: float
    width: float


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    add_tables(parser)
    add_fit_and_predict(parser)
    add_number(parser, '--units', NUMBERS, 'how many units')
    add_number(parser, '--draws', 10, 'random draws of each number of units')
    add_out(parser, 'units.csv')
    return parser.parse_args(argv)


def units_study(tables: ModelTables, fit: Sequence[str],
                predict: Sequence[str], numbers: Sequence[int],
                n_draws: int) -> Iterator[UnitsStudyRow]:
    """Errors on some models of fits to others, with ever more units."""
    every = tables.features.columns.units
    for number in numbers:
        chosen = choose_columns(tables, fit, number)
        yield UnitsStudyRow(CHOSEN, number, 0, *_errors(chosen, fit, predict))
        for seed in range(n_draws):
            drawn = Random(seed).sample(every, number)
            yield UnitsStudyRow(
                RANDOM, number, seed,
                *_errors(tables.select_units(drawn), fit, predict))
    yield UnitsStudyRow(ALL, len(every), 0, *_errors(tables, fit, predict))


def _errors(tables: ModelTables, fit: Sequence[str],
            predict: Sequence[str]) -> tuple[float, float, float]:
    """The error, and coverage and width of the intervals."""
    predictor = fit_predictor(
        tables.features, tables.accuracies.select(fit, tables.accuracies.main),
        [tables.families[model] for model in fit], SOLVERS[DEFAULT_SOLVER])
    predicted = predictor.predict(tables.features.select(predict))
    real = tables.accuracies.select(predict, tables.accuracies.main).values
    low, high = predicted.low.ravel(), predicted.high.ravel()
    mse = geometric_mean(
        metrics.mse(real[:, b], predicted.values[:, b, 0])
        for b in range(len(tables.accuracies.main)))
    coverage = metrics.coverage(real.ravel(), low, high)
    return mse, coverage, metrics.mean_width(low, high)


def table(rows: Sequence[UnitsStudyRow]) -> str:
    """Errors x 1,000 in Markdown: of draws the median (and quantiles)."""
    errors: dict[int, dict[str, list[float]]] = {}
    for row in rows:
        errors.setdefault(row.n_units, {}).setdefault(row.units,
                                                      []).append(row.mse)
    lines = [[f'{number:,}', *(_cell(by_kind.get(kind, []))
                               for kind in (CHOSEN, RANDOM))]
             for number, by_kind in errors.items()
             if ALL not in by_kind]  # yapf: disable
    lines += [[f'all {number:,}', _cell(by_kind[ALL]), '']
              for number, by_kind in errors.items() if ALL in by_kind]
    return tabulate(
        lines, ('units', CHOSEN, RANDOM),
        tablefmt='pipe',
        disable_numparse=True,
        colalign=['right'] * 3)


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ''
    low, middle, high = 1000 * np.quantile(values, [0.1, 0.5, 0.9])
    if len(values) == 1:
        return f'{middle:.3f}'
    return f'{middle:.3f} ({low:.3f}-{high:.3f})'


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    tables = tables_of(args)
    fit, predict = tables.models_to_fit(
        args.fit, args.predict), tables.models_in(*args.predict)
    numbers = tuple(dict.fromkeys(args.units))
    rows = list(
        tqdm(
            units_study(tables, fit, predict, numbers, args.draws),
            desc='fits',
            total=len(numbers) * (1 + args.draws) + 1))
    args.out.mkdir(parents=True, exist_ok=True)
    write_csv(args.out / 'units.csv', UnitsStudyRow._fields, rows)
    print(table(rows))


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
