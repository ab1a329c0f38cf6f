"""Errors by number of units, chosen from the models fitted to or at random.

The table of docs/appendix/real_runs.md, from tables as docs/formats.md
describes them:

    T=../shared/real/gemstones
    python -m tools.studies.study_units --losses $T/losses.safetensors \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv
"""
import sys
from collections.abc import Sequence
from random import Random

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.options import SPLITS, TABLES, add_shared
from csv_plugin.core import metrics
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.study import geometric_mean
from csv_plugin.io.model_tables import ModelTables
from tools.studies.choosing_units import choose_units
from tools.studies.options import add_number, parser_of, tables_of, with_units

#: Numbers of units.
NUMBERS = (25, 50, 100, 200, 550)


def measured(tables: ModelTables, fit: Sequence[str],
             predict: Sequence[str]) -> tuple[float, float, float]:
    """MSE, geometric mean over main benchmarks; coverage and width."""
    observed = tables.accuracies.select(benchmarks=tables.accuracies.main)
    predictor = fit_predictor(tables.features, observed.select(fit),
                              [tables.families[model] for model in fit],
                              SOLVERS[DEFAULT_SOLVER])
    predicted = predictor.predict(tables.features.select(predict))
    real = observed.select(predict).values
    low, high = predicted.low[:, :, 0], predicted.high[:, :, 0]
    return (geometric_mean(
        map(metrics.mse, real.T, predicted.values[:, :, 0].T)),
            metrics.coverage(real.ravel(), low.ravel(), high.ravel()),
            metrics.mean_width(low.ravel(), high.ravel()))


def row(tables: ModelTables, fit: Sequence[str], predict: Sequence[str],
        number: int, n_draws: int) -> list[str]:
    """Errors with units that are chosen and drawn."""
    units = choose_units(tables.features,
                         tables.accuracies.select(fit, tables.accuracies.main),
                         tables.families, number)
    best = with_units(tables, units)
    chosen, coverage, width = measured(best, fit, predict)
    units = tables.features.columns.units
    drawn = [
        with_units(tables,
                   Random(seed).sample(units, number))
        for seed in range(n_draws)
    ]
    return [
        f'{number:,}',
        cell([chosen]),
        cell([measured(part, fit, predict)[0] for part in drawn]),
        f'{coverage:.2f} ({100 * width:.1f})'
    ]


def cell(errors: Sequence[float]) -> str:
    """In 1e-3: of several the median (and quantiles)."""
    low, middle, high = 1000 * np.quantile(errors, [0.1, 0.5, 0.9])
    if len(errors) == 1:
        return f'{middle:.3f}'
    return f'{middle:.3f} ({low:.3f}-{high:.3f})'


def run(argv: Sequence[str] | None) -> None:
    parser = parser_of(__doc__)
    add_shared(parser, *TABLES, *SPLITS)
    add_number(parser, '--units', NUMBERS, 'how many units')
    add_number(parser, '--draws', 10, 'random draws of each number of units')
    args = parser.parse_args(argv)
    tables = tables_of(args)
    models = (tables.models_to_fit(args.fit, args.predict),
              tables.models_in(*args.predict))
    rows = [
        row(tables, *models, number, args.draws)
        for number in tqdm(args.units, desc='numbers')
    ]
    every = len(tables.features.columns.units)
    rows.append([f'all {every:,}', cell([measured(tables, *models)[0]])])
    print(
        tabulate(
            rows, ('units', 'chosen', 'random', 'chosen: hold (width)'),
            'pipe',
            disable_numparse=True,
            colalign=['right'] * 4))


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(run, argv)


if __name__ == '__main__':
    sys.exit(main())
