"""Accuracies of larger models from their sizes alone, by several laws.

    OMP_NUM_THREADS=1 python -m tools.studies.sizes_study outputs/ladder \\
        outputs/mixtures outputs/overtrained ../shared/real/dclm

Each folder has `losses.csv`, `scores.csv`, `models.csv` with sizes and tokens,
and `benchmarks.csv` (docs/formats.md). The test split is predicted from the
others, or from the splits of --fit. Where models are checkpoints, only the
last ones are predicted, and all laws are fitted to these. The laws are

* sizes: that of `salience forecast --params --tokens`;
* direct: accuracy as a sigmoid of log compute (parameters times tokens);
* two steps: task loss from size and tokens, then a sigmoid of it (Bhagia et
  al., arXiv 2412.04403), where columns of losses are called as benchmarks.

Prints a table in Markdown: mean absolute errors in points over the main
benchmarks, coverage of 90 % intervals and their widths. `losses` is the
predictor with the real losses of the models that are predicted.
"""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tabulate import tabulate

from csv_plugin.cli.options import SPLITS, add_shared
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Averaged, Solver, Uniform
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.checkpoints import last_checkpoints
from csv_plugin.triage.size_laws import (NEW, amounts_of, forecast_sizes,
                                         log_compute)
from tools.studies.options import parser_of, tables_in
from tools.studies.other_methods.ladder import Ladder, ladder_features

HEADER = ('collection', 'fitted', 'predicted', 'compute', 'losses', 'sizes',
          'direct', 'task losses: sizes', 'two steps')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folders', type=Path, nargs='+')
    add_shared(parser, *SPLITS)
    args = parser.parse_args()
    rows = []
    for folder in args.folders:
        tables = tables_in(folder)
        fit = tables.models_to_fit(args.fit, args.predict)
        predict = last_checkpoints(tables.models_in(*args.predict))
        rows.append([folder.name, *judged(tables, fit, predict)])
    print(tabulate(rows, HEADER, tablefmt='pipe', disable_numparse=True))


def judged(tables: ModelTables, fit: Sequence[str],
           predict: Sequence[str]) -> list[str]:
    """The cells of a collection behind its name."""
    last = last_checkpoints(fit)
    accuracies = tables.accuracies.select(benchmarks=tables.accuracies.main)
    fitted = accuracies.select(fit)
    accuracies = accuracies.select(benchmarks=fitted.benchmarks_run)
    models = {model: tables.info[model] for model in last}
    targets = _targets(tables, predict, models)
    predictor = fitted_to(tables, tables.features, accuracies.select(fit),
                          Averaged())
    times = np.exp(
        log_compute([*targets.values()]) -
        log_compute([*models.values()]).max())
    by_sizes = forecast_sizes(predictor, tables.features, models, targets)
    real = accuracies.select(predict)
    own = [
        name for name in accuracies.benchmarks
        if name in tables.features.columns.units
    ]
    at_ends = accuracies.select(last)
    cells = [
        cell(real, predictor.predict(tables.features.select(predict))),
        cell(real, by_sizes),
        cell(real, direct(tables, at_ends, predict))
    ]
    if own:
        steps = two_steps(tables, at_ends.select(benchmarks=own), predict)
        cells += [
            cell(real, by_sizes.select(benchmarks=own)),
            cell(real, *steps)
        ]
    return [
        str(len(last)),
        str(len(predict)), f'{min(times):.2g}-{max(times):.2g}', *cells
    ]


def _targets(tables: ModelTables, predict: Sequence[str],
             models: Mapping[str, ModelInfo]) -> dict[str, ModelInfo]:
    """What is known of the predicted; families without models are `NEW`."""
    families = {row.family for row in models.values()}
    return {
        model:
        replace(row, family=row.family if row.family in families else NEW)
        for model in predict
        for row in [tables.info[model]]
    }


def fitted_to(tables: ModelTables, features: FeatureTable,
              accuracies: AccuracyTable, solver: Solver) -> Predictor:
    """The predictor of a solver."""
    families = [tables.families[model] for model in accuracies.models]
    return fit_predictor(features, accuracies, families, solver)


def direct(tables: ModelTables, accuracies: AccuracyTable,
           predict: Sequence[str]) -> Predictions:
    """Predictions from log compute alone, which counts as a loss."""
    names = (*accuracies.models, *predict)
    compute = log_compute([tables.info[name] for name in names])
    features = FeatureTable(names, Columns(('compute', ), np.ones(1), 'sizes'),
                            -compute[:, None])
    predictor = fitted_to(tables, features, accuracies,
                          Uniform(learn_floor=True))
    return predictor.predict(features.select(predict))


def two_steps(tables: ModelTables, accuracies: AccuracyTable,
              predict: Sequence[str]) -> list[Predictions]:
    """Predictions on each benchmark by a task loss that follows from sizes."""
    names = (*accuracies.models, *predict)
    amounts = amounts_of([tables.info[name] for name in names])
    losses = tables.features.select(names)
    parts = []
    for name in accuracies.benchmarks:
        column = losses.columns.units.index(name)
        features = ladder_features(names, *amounts.T, losses.values[:, column])
        predictor = fitted_to(tables, features,
                              accuracies.select(benchmarks=[name]), Ladder())
        parts.append(predictor.predict(features.select(predict)))
    return parts


def cell(real: AccuracyTable, *parts: Predictions) -> str:
    """Mean absolute error, coverage and width of the intervals.

    Parts are predictions of the same models on different benchmarks.
    """
    names = [name for part in parts for name in part.benchmarks]
    observed = real.select(benchmarks=names).values
    known = ~np.isnan(observed)
    values, low, high = (
        np.concatenate([getattr(part, name)[:, :, 0] for part in parts],
                       axis=1)[known] for name in ('values', 'low', 'high'))
    observed = observed[known]
    inside = (low <= observed) & (observed <= high)
    return (f'{100 * np.abs(values - observed).mean():.2f}, '
            f'{inside.mean():.0%} ({100 * (high - low).mean():.0f})')


if __name__ == '__main__':
    main()
