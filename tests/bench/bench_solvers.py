"""CPU time of fitting all benchmarks of a study, intervals included.

    OMP_NUM_THREADS=1 python tests/bench/bench_solvers.py TABLES_DIR

TABLES_DIR holds losses.csv, scores.csv, models.csv and benchmarks.csv; the
models of the train and validation splits are fitted to. With one BLAS thread,
CPU times of different machines can be compared.
"""
import sys
import time
from pathlib import Path

from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import SOLVERS
from csv_plugin.io.model_tables import read_model_tables


def load(folder):
    """Features, main accuracies and families of the fitted models."""
    tables = read_model_tables(*(folder / f'{name}.csv'
                                 for name in ('losses', 'scores', 'models',
                                              'benchmarks')))
    fit = tables.models_in('train', 'validation')
    accuracies = tables.accuracies.select(fit, tables.main)
    return tables.features, accuracies, [
        tables.families[model] for model in fit
    ]


def main(folder):
    features, accuracies, families = load(folder)
    print(f'{len(families)} models, {len(features.columns.units)} columns, '
          f'{len(accuracies.benchmarks)} benchmarks')
    seconds = {}
    for name in ('ridge', 'averaged', 'uniform', 'nonnegative', 'auto'):
        start = time.process_time()
        fit_predictor(features, accuracies, families, SOLVERS[name])
        seconds[name] = time.process_time() - start
        print(
            f'{name:12} {seconds[name]:7.2f} CPU s, '
            f'{seconds[name] / seconds["ridge"]:6.2f} x ridge',
            flush=True)


if __name__ == '__main__':
    main(Path(sys.argv[1]))
