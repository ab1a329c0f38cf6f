"""Errors of the default solver beyond the training models, by collection.

    OMP_NUM_THREADS=1 python -m tools.studies.points_beyond FOLDER ...

reads the tables of each folder. Predicted are the models of the split `test`,
by all others and by the split `train` alone; the fifth of the others with the
most compute, by those with less than a tenth of it, where sizes and tokens are
known; and others by models of other families. Prints MSE in 1e-3, geometric
means over the main benchmarks.
"""
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tabulate import tabulate

from csv_plugin.core import metrics
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.study import geometric_mean
from csv_plugin.io.model_tables import ModelTables
from tools.studies.options import parser_of, tables_in
from tools.studies.other_methods.comparison import Fold, family_folds

#: Share of the models that is predicted, and how many times more compute than
#: those fitted to they have.
PREDICTED, FACTOR = 0.2, 10


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folders', nargs='+', type=Path)
    rows = [[folder.name, name, 1e3 * error_of(tables, folds)]
            for folder in parser.parse_args().folders
            for tables in [tables_in(folder)]
            for name, folds in protocols(tables)]
    header = ['collection', 'predicted', 'MSE']
    print(tabulate(rows, header, tablefmt='pipe', floatfmt='.3f'))


def protocols(tables: ModelTables) -> Iterator[tuple[str, list[Fold]]]:
    """Name and folds of each protocol."""
    models = tuple(tables.features.models)
    split = {name: tables.info[name].split for name in models}
    test = tuple(name for name in models if split[name] == 'test')
    others = tuple(name for name in models if split[name] != 'test')
    train = tuple(name for name in models if split[name] == 'train')
    if test:
        yield 'test', [Fold(others, test)]
    if test and len(train) < len(others):
        yield 'test, by train', [Fold(train, test)]
    compute = np.array([
        tables.info[name].params_b * tables.info[name].tokens
        for name in others
    ])
    largest = compute > np.quantile(compute, 1 - PREDICTED)
    if largest.any():  # none with unknown sizes
        smaller = compute < compute[largest].min() / FACTOR
        names = np.array(others, dtype=object)
        yield 'ten times the compute', [
            Fold(tuple(names[smaller]), tuple(names[largest]))
        ]
    yield 'families left out', family_folds(others, tables.families)


def error_of(tables: ModelTables, folds: list[Fold]) -> float:
    """MSE, a geometric mean over the main benchmarks."""
    predicted = []
    for fold in folds:
        predictor = fit_predictor(tables.features,
                                  tables.accuracies.select(fold.fit),
                                  [tables.families[name] for name in fold.fit],
                                  SOLVERS[DEFAULT_SOLVER])
        values = tables.features.select(fold.predict).values
        predicted += list(
            np.array([
                part.model.predict(values) for part in predictor.benchmarks
            ]).T)
    observed = tables.accuracies.select(
        [name for fold in folds for name in fold.predict])
    columns = dict(zip(observed.benchmarks, np.transpose(predicted)))
    return geometric_mean(
        metrics.mse(observed.column(name), columns[name])
        for name in observed.main)


if __name__ == '__main__':
    main()
