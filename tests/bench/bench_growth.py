"""CPU time of fits, and how it grows.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_growth [--help]

Losses and accuracies are made up: families of twelve models, a common skill
and five special ones, noise in every loss and every accuracy. With `--tables`,
they are also read from losses.csv or losses.safetensors, scores.csv,
models.csv and benchmarks.csv of folders, and the models of their train and
validation splits are fitted to. All benchmarks are fitted with
cross-validation, back-test and intervals. RidgeCV is scikit-learn's, fitted to
all models and in five folds of families; `as often` as `averaged` fits: with
its folds and back-tests, on losses and on their logarithms.
"""
import time
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.linear_model import RidgeCV

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.intervals import worse_models
from csv_plugin.core.salience import SOLVERS, fold_masks
from tests.bench.common import make_parser
from tools.studies.options import tables_in

FAMILY_SIZE, N_SPECIAL = 12, 5
REFERENCE, OFTEN = 'RidgeCV', 'RidgeCV as often'


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
    parser = make_parser(__doc__, units=2000, benchmarks=9)
    parser.add_argument(
        '--models', type=int, nargs='*', default=[60, 250, 1000])
    parser.add_argument(
        '--tables', type=Path, nargs='+', default=[], metavar='FOLDER')
    parser.add_argument(
        '--solvers',
        nargs='+',
        choices=[REFERENCE, OFTEN, *sorted(SOLVERS)],
        default=[REFERENCE, OFTEN, 'averaged'],
        help='the first is what others are compared to')
    fits(parser.parse_args())


def fits(args):
    """A row for each number of models, and for each folder."""
    first, *others = args.solvers
    header = ['models', 'units', 'benchmarks', f'{first}, CPU s']
    for name in others:
        header += [f'{name}, CPU s', 'ratio']
    print(row(header), row('---:' for _ in header), sep='\n')
    worlds = [(made_up, n, args.units, args.benchmarks) for n in args.models]
    worlds += [(read, folder) for folder in args.tables]
    for make, *settings in worlds:
        world = make(*settings)
        features, accuracies, families = world
        least = cpu_seconds(world, first)
        cells = [
            len(families),
            len(features.columns.units),
            len(accuracies.benchmarks), f'{least:.2f}'
        ]
        for name in others:
            seconds = cpu_seconds(world, name)
            cells += [f'{seconds:.1f}', f'{seconds / least:.1f}']
        print(row(cells), flush=True)


def row(cells):
    """Of a Markdown table."""
    return f'| {" | ".join(map(str, cells))} |'


def ridge_cv(features, accuracies, families, often=False):
    """Fit RidgeCV to the models with all accuracies, in folds and to all."""
    rows = ~np.isnan(accuracies.values).any(axis=1)
    losses = features.select(accuracies.models).values[rows]
    accuracy, groups = accuracies.values[rows], np.array(families)[rows]
    if not often:
        fit_in_folds(losses, accuracy, fold_masks(groups, 0, n_repeats=1))
        return
    for values in (losses, np.log(losses)):
        fit_in_folds(values, accuracy, fold_masks(groups, 0))
        for worse in worse_models(losses.mean(axis=1)):
            masks = fold_masks(groups[worse], 0, n_repeats=1)
            fit_in_folds(values[worse], accuracy[worse], masks)


def fit_in_folds(values, accuracy, masks):
    """Fit to all models, and without each fold, which is predicted."""
    values = (values - values.mean(axis=0)) / np.maximum(
        values.std(axis=0), 1e-12)
    model = RidgeCV(np.logspace(0, 6, 13), alpha_per_target=True)
    for fit in masks:
        model.fit(values[fit], accuracy[fit]).predict(values[~fit])
    model.fit(values, accuracy)


def cpu_seconds(world, name):
    """What a fit of all benchmarks takes."""
    start = time.process_time()
    if name in (REFERENCE, OFTEN):
        ridge_cv(*world, often=name == OFTEN)
    else:
        fit_predictor(*world, SOLVERS[name])
    return time.process_time() - start


if __name__ == '__main__':
    main()
