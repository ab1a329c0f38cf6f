"""How far beyond the fitted models predictions and their intervals hold.

    OMP_NUM_THREADS=1 python -m tools.studies.larger_models FOLDER \\
        --splits train validation

reads `losses.csv`, `scores.csv`, `models.csv` with sizes and tokens, and
`benchmarks.csv` (docs/formats.md) of a folder. The fifth of the models with
the most compute (parameters times tokens) is predicted, by fits to all others
and to those with less than a third, a tenth and so on of the least compute
among these. Where models are checkpoints, others of the same run may be among
those fitted to. Prints a table in Markdown.
"""
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tabulate import tabulate

from csv_plugin.core.salience import Averaged, Uniform
from csv_plugin.core.split_studies import split_study
from csv_plugin.core.study import geometric_mean
from csv_plugin.io.model_tables import ModelTables
from tools.studies.options import parser_of, tables_in

#: Share of the models that is predicted.
PREDICTED = 0.2
#: How many times less compute than those predicted the fitted models have.
FACTORS = (1, 3, 10, 30, 100)
#: Fewer models are not fitted to.
LEAST_MODELS = 20


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folder', type=Path)
    parser.add_argument('--splits', nargs='+', default=['train'])
    args = parser.parse_args()
    tables = tables_in(args.folder)
    largest, smaller = divided(
        compute_of(tables, tables.models_in(*args.splits)))
    rows = [[factor, *judged(tables, fitted, largest)]
            for factor, fitted in smaller.items()
            if len(fitted) >= LEAST_MODELS]
    print(
        tabulate(
            rows, [
                'times less compute', 'fitted', 'predicted', 'MSE averaged',
                'MSE uniform', 'MAE', 'coverage', 'width'
            ],
            tablefmt='pipe',
            floatfmt=('g', 'g', 'g', '.2f', '.2f', '.1f', '.2f', '.1f')))


def compute_of(tables: ModelTables,
               models: Sequence[str]) -> Mapping[str, float]:
    """Parameters times tokens by model, which must both be known."""
    amounts = {}
    for name in models:
        info = tables.info[name]
        amounts[name] = info.params_b * info.tokens
        if math.isnan(amounts[name]):
            raise SystemExit(f'{name}: params_b and tokens are not known')
    return amounts


def divided(
        compute: Mapping[str,
                         float]) -> tuple[list[str], dict[int, list[str]]]:
    """The models to predict, and those to fit to by factor."""
    bound = np.quantile(list(compute.values()), 1 - PREDICTED)
    largest = [name for name, amount in compute.items() if amount > bound]
    least = min(compute[name] for name in largest)
    return largest, {
        factor:
        [name for name, amount in compute.items() if amount < least / factor]
        for factor in FACTORS
    }


def judged(tables: ModelTables, fitted: Sequence[str],
           predicted: Sequence[str]) -> list[float]:
    """Numbers of models, errors in 1e-3 and in points, and intervals."""
    used = tables.select((*fitted, *predicted))
    study = split_study(used.features, used.accuracies, used.families, fitted,
                        Averaged())
    errors, of_uniform = (
        list(study.errors(name).values())
        for name in (Averaged.name, Uniform.name))
    return [
        len(fitted),
        len(predicted), *(1e3 * geometric_mean(part.mse for part in of_method)
                          for of_method in (errors, of_uniform)),
        100 * float(np.mean([part.mae for part in errors])),
        float(np.mean([part.coverage for part in errors])),
        100 * float(np.mean([part.width for part in errors]))
    ]


if __name__ == '__main__':
    main()
