"""CPU time and memory of fits, and how they grow.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_growth [--help]

Losses and accuracies are made up: families of twelve models, a common skill
and five special ones, noise in every loss and every accuracy. With `--tables`,
they are also read from losses.csv or losses.safetensors, scores.csv,
models.csv and benchmarks.csv of folders, and the models of their train and
validation splits are fitted to. A row is a fit of the model of accuracies to
all benchmarks. Memory is what it adds to the process at its peak. Each fit has
a process of its own, as what earlier ones leave behind changes its memory; a
small fit comes first, so that imports do not count.
"""
import itertools
import multiprocessing
from pathlib import Path

import numpy as np
from scipy.special import expit

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from tests.bench.common import make_parser, measure
from tools.studies.common import tables_in

FAMILY_SIZE, N_SPECIAL = 12, 5


def made_up(n_models, n_units, n_benchmarks, seed=0):
    """Features, accuracies and families."""
    rng = np.random.default_rng(seed)
    family = np.arange(n_models) // FAMILY_SIZE
    skill = 0.6 * rng.normal(size=n_models)
    special = 0.15 * (
        rng.normal(size=(n_models, N_SPECIAL)) +
        rng.normal(size=(family[-1] + 1, N_SPECIAL))[family])
    relative = 0.5 * special @ np.abs(rng.normal(size=(N_SPECIAL, n_units)))
    relative += 0.025 * rng.normal(size=(n_models, n_units))
    losses = (
        rng.uniform(1, 3, n_units) * np.exp(relative - 0.25 * skill[:, None]))
    exponents = (-1 + 1.8 * skill[:, None] -
                 special @ rng.normal(size=(N_SPECIAL, n_benchmarks)) * 2)
    accuracy = 0.25 + 0.75 * expit(exponents)
    accuracy += 0.01 * rng.normal(size=accuracy.shape)
    models = tuple(f'model {i}' for i in range(n_models))
    benchmarks = tuple(f'benchmark {b}' for b in range(n_benchmarks))
    units = tuple(f'unit {k}' for k in range(n_units))
    columns = Columns(units, np.full(n_units, 1 / n_units), 'made up', None)
    return (FeatureTable(models, columns, losses),
            AccuracyTable(models, benchmarks, np.clip(accuracy, 0, 1),
                          np.full(n_benchmarks, 0.25),
                          np.full(n_benchmarks,
                                  1000)), [f'family {f}' for f in family])


def read(folder):
    """The same of the fitted models in tables."""
    tables = tables_in(folder)
    fit = tables.models_in('train', 'validation')
    return (tables.features,
            tables.accuracies.select(fit, tables.accuracies.main),
            [tables.families[model] for model in fit])


def main():
    parser = make_parser(__doc__, benchmarks=9)
    parser.add_argument(
        '--models', type=int, nargs='*', default=[60, 250, 1000])
    parser.add_argument('--units', type=int, nargs='+', default=[200, 2000])
    parser.add_argument(
        '--tables', type=Path, nargs='+', default=[], metavar='FOLDER')
    args = parser.parse_args()
    header = ['models', 'units', 'benchmarks', 'CPU s', 'MB']
    print(row(header), row('---:' for _ in header), sep='\n')
    spawn = multiprocessing.get_context('spawn')
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        for n_models, n_units in itertools.product(args.models, args.units):
            sizes = n_models, n_units, args.benchmarks
            print(pool.apply(fit, (made_up, *sizes)), flush=True)
        for folder in args.tables:
            print(pool.apply(fit, (read, folder)), flush=True)


def fit(make, *arguments):
    """The row of one fit to the tables that `make` returns."""
    fit_predictor(*made_up(24, 10, 2))
    features, accuracies, families = make(*arguments)
    _, seconds, memory = measure(fit_predictor, features, accuracies, families)
    return row([
        len(families),
        len(features.columns.units),
        len(accuracies.benchmarks), f'{seconds:.1f}', f'{memory:.0f}'
    ])


def row(cells):
    """Of a Markdown table."""
    return f'| {" | ".join(map(str, cells))} |'


if __name__ == '__main__':
    main()
