"""Accuracies of larger models from their sizes alone.

    OMP_NUM_THREADS=1 python -m tools.studies.sizes_study outputs/ladder \\
        outputs/mixtures outputs/overtrained ../shared/real/dclm

Each folder has `losses.csv`, `scores.csv`, `models.csv` with sizes and tokens,
and `benchmarks.csv` (docs/formats.md). The test split is predicted from the
others, or from the splits of --fit. Where models are checkpoints, only the
last ones are predicted, and the laws are fitted to these. Columns:

    losses  the default of the package, with the observed losses of the
            models that are predicted
    sizes   the same, with losses that follow from sizes and tokens, as
            `salience triage --params --tokens` has them
    direct  the baseline, with the logarithm of the compute (parameters times
            tokens) in place of the mean loss

Prints a table in Markdown: mean absolute errors in points over the main
benchmarks, coverage of 90 % intervals and their widths.
"""
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tabulate import tabulate

from csv_plugin.cli.options import SPLITS, add_shared
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.triage.checkpoints import last_checkpoints
from csv_plugin.triage.judging import judge_sizes
from csv_plugin.triage.sizes import NEW, log_compute
from tools.studies.common import parser_of, tables_in

HEADER = ('collection', 'fitted', 'predicted', 'compute', 'losses', 'sizes',
          'direct')


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
    fitted_families = {row.family for row in models.values()}
    targets = {}
    for model in predict:
        row = tables.info[model]
        if row.family not in fitted_families:
            row = replace(row, family=NEW)
        targets[model] = row
    families = [tables.families[model] for model in fitted.models]
    predictor = fit_predictor(tables.features, fitted, families)
    times = np.exp(
        log_compute([*targets.values()]) -
        log_compute([*models.values()]).max())
    triage = judge_sizes(predictor, tables.features, models, targets)
    observed = accuracies.select(predict)
    return [
        str(len(last)),
        str(len(predict)), f'{min(times):.2g}-{max(times):.2g}',
        cell(observed, predictor.predict(tables.features.select(predict))),
        cell(observed, triage.forecasts.select(predict)),
        cell(observed, direct(tables, accuracies.select(last), predict))
    ]


def direct(tables: ModelTables, accuracies: AccuracyTable,
           predict: Sequence[str]) -> Predictions:
    """Predictions from log compute alone, which counts as a loss."""
    names = (*accuracies.models, *predict)
    compute = log_compute([tables.info[name] for name in names])
    features = FeatureTable(names, Columns(('compute', ), np.ones(1), 'sizes'),
                            -compute[:, None])
    families = [tables.families[model] for model in accuracies.models]
    predictor = fit_mean_loss_predictor(features, accuracies, families)
    return predictor.predict(features.select(predict))


def cell(accuracies: AccuracyTable, found: Predictions) -> str:
    """Mean absolute error, coverage and width of the intervals."""
    observed = accuracies.select(benchmarks=found.benchmarks).values
    known = ~np.isnan(observed)
    observed = observed[known]
    values, low, high = (
        cube[:, :, 0][known] for cube in (found.values, found.low, found.high))
    inside = (low <= observed) & (observed <= high)
    return (f'{100 * np.abs(values - observed).mean():.2f}, '
            f'{inside.mean():.0%} ({100 * (high - low).mean():.0f})')


if __name__ == '__main__':
    main()
