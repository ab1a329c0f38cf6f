"""CPU time of fitting all benchmarks of a study, intervals included.

    OMP_NUM_THREADS=1 python tests/bench/bench_solvers.py [TABLES_DIR]

TABLES_DIR holds losses.csv, scores.csv, models.csv and benchmarks.csv; the
models that are not for test are fitted on. Without it, the simulated
laboratory is taken. One BLAS thread makes CPU time mean the same everywhere.
"""
import sys
import time
from pathlib import Path

from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import SOLVERS
from csv_plugin.demo.simulation import simulate
from csv_plugin.io.model_tables import read_model_tables


def load(arguments):
    """Features, main accuracies and families of the fitted models."""
    if not arguments:
        laboratory = simulate()
        split = dict(zip(laboratory.features.models, laboratory.splits))
        fit = tuple(m for m in split if split[m] != 'test')
        family = dict(zip(laboratory.features.models, laboratory.families))
        features, accuracies = laboratory.features, laboratory.accuracies
    else:
        folder = Path(arguments[0])
        tables = read_model_tables(*(folder / f'{name}.csv'
                                     for name in ('losses', 'scores', 'models',
                                                  'benchmarks')))
        fit = tables.models_in(('train', 'validation'))
        family, features = tables.families, tables.features
        accuracies = tables.accuracies.select_benchmarks(tables.main)
    return features, accuracies.select(fit), [family[model] for model in fit]


def main(arguments):
    features, accuracies, families = load(arguments)
    print(f'{len(families)} models, {len(features.units)} columns, '
          f'{len(accuracies.benchmarks)} benchmarks')
    seconds = {}
    for name in ('ridge', 'uniform', 'nonnegative', 'auto'):
        start = time.process_time()
        fit_predictor(features, accuracies, families, SOLVERS[name], '')
        seconds[name] = time.process_time() - start
        print(
            f'{name:12} {seconds[name]:7.2f} CPU s, '
            f'{seconds[name] / seconds["ridge"]:6.2f} x ridge',
            flush=True)


if __name__ == '__main__':
    main(sys.argv[1:])
