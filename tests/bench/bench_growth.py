"""CPU time of a fit, and how it grows with models and units.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_growth

Losses and accuracies are made up: families of twelve models, a common skill
and five special ones, noise in every loss and every accuracy. With `--tables`,
they are read from losses.csv or losses.safetensors, scores.csv, models.csv and
benchmarks.csv of a folder, and the models of its train and validation splits
are fitted to. All benchmarks are fitted with cross-validation, back-test and
intervals. RidgeCV is scikit-learn's, fitted to all models and in five folds of
families.
"""
import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import SOLVERS
from tools.studies.options import parser_of, tables_in

FAMILY_SIZE, N_SPECIAL = 12, 5
REFERENCE = 'RidgeCV'


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
    parser = parser_of(__doc__)
    parser.add_argument('--models', type=int, nargs='+',
                        default=[60, 120, 250, 500, 1000],
                        help='numbers of models, each with the first number '
                        'of units')  # yapf: disable
    parser.add_argument('--units', type=int, nargs='+', default=[2000, 34412],
                        help='numbers of units, each with the last number of '
                        'models')  # yapf: disable
    parser.add_argument('--benchmarks', type=int, default=9)
    parser.add_argument('--tables', type=Path)
    parser.add_argument('--solvers', nargs='+',
                        choices=[REFERENCE, *sorted(SOLVERS)],
                        default=[REFERENCE, 'averaged'],
                        help='the first is what others are compared '
                        'to')  # yapf: disable
    args = parser.parse_args()
    sizes = [(n, args.units[0]) for n in args.models]
    sizes += [(args.models[-1], k) for k in args.units[1:]]
    worlds = [read(args.tables)] if args.tables else (made_up(
        *size, args.benchmarks) for size in sizes)
    first, *others = args.solvers
    header = ['models', 'units', 'benchmarks', f'{first}, CPU s']
    for name in others:
        header += [f'{name}, CPU s', 'ratio']
    print(row(header), row('---:' for _ in header), sep='\n')
    for world in worlds:
        features, accuracies, families = world
        least = cpu_seconds(world, first)
        cells = [
            len(families),
            len(features.columns.units),
            len(accuracies.benchmarks), f'{least:.1f}'
        ]
        for name in others:
            seconds = cpu_seconds(world, name)
            cells += [f'{seconds:.1f}', f'{seconds / least:.2f}']
        print(row(cells), flush=True)


def row(cells):
    """Of a Markdown table."""
    return f'| {" | ".join(map(str, cells))} |'


def ridge_cv(features, accuracies, families):
    """Fit RidgeCV to the models with all accuracies, in folds and to all."""
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GroupKFold
    rows = ~np.isnan(accuracies.values).any(axis=1)
    values = features.select(accuracies.models).values[rows]
    values = (values - values.mean(axis=0)) / np.maximum(
        values.std(axis=0), 1e-12)
    accuracy, groups = accuracies.values[rows], np.array(families)[rows]
    model = RidgeCV(np.logspace(0, 6, 13), alpha_per_target=True)
    for fit, held_out in GroupKFold(5).split(values, accuracy, groups):
        model.fit(values[fit], accuracy[fit]).predict(values[held_out])
    model.fit(values, accuracy)


def cpu_seconds(world, name):
    """What a fit of all benchmarks takes."""
    start = time.process_time()
    if name == REFERENCE:
        ridge_cv(*world)
    else:
        fit_predictor(*world, SOLVERS[name])
    return time.process_time() - start


if __name__ == '__main__':
    main()
