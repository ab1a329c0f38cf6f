"""Forecasts of runs from their first checkpoints, beside simpler ones.

The tables of docs/appendix/forecasts.md on the zoo, from losses and accuracies
in the package:

    python -m tools.studies.study_triage

and those on tables as docs/formats.md describes them, such as those of runs
beside the repository:

    python -m tools.studies.study_triage --after 3 6 11 23 \\
        --tables ../shared/real/gemstones

Series d and h of the zoo, from losses of whole texts as tables have them
(--texts) or of tokens, with every run a family of its own (--by-run) or with
its series as the family:

    python -m tools.studies.study_triage --series --texts --by-run
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

import csv_plugin as cp
from csv_plugin.cli.options import SPLITS, add_flag, add_shared
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable, text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import models_in
from csv_plugin.triage.checkpoints import (Checkpoint, describe_checkpoints,
                                           families_of, read_checkpoints,
                                           rows_by_run)
from csv_plugin.triage.judging import judge
from tools.demo_maker.building import UNSEEN_FAMILIES
from tools.demo_maker.recipes import recipe_of
from tools.studies.common import mean_with_interval, parser_of, tables_in

FORECAST, KNOWN = 'forecast', 'forecast, with the accuracies so far'
OBSERVED, GAIN, NOW = ('accuracy observed now',
                       'accuracy observed now, plus the median gain',
                       'predicted from losses now')
METHODS = (OBSERVED, GAIN, NOW, FORECAST, KNOWN)
#: A checkpoint stands for parts of the training as near as this.
NEAR = 0.005


@dataclass(frozen=True, eq=False)
class Runs:
    """Finished runs, with their checkpoints.

    `past` are checkpoints that are fitted to, `new` those of the runs to
    forecast; `accuracies` and `features`, which are losses, are of both.
    """
    past: Mapping[str, Checkpoint]
    new: Mapping[str, Checkpoint]
    accuracies: AccuracyTable
    features: FeatureTable
    predictor: Predictor

    def until(self, share: float) -> dict[str, Checkpoint]:
        """Checkpoints of the new runs after a share of their training."""
        names, points = list(self.new), list(self.new.values())
        found = {}
        for rows, done in rows_by_run(points).values():
            shares = done / done[-1]
            for row in rows[shares <= share + NEAR]:
                found[names[row]] = replace(points[row], budget=done[-1])
        return found

    def observed(
        self,
        points: Mapping[str,
                        Checkpoint]) -> dict[str, tuple[NDArray, NDArray]]:
        """Shares of the training `(n,)` and accuracies `(n, B)` by run.

        Of the `past` or the `new` ones.
        """
        values = self.accuracies.select(list(points)).values
        found = {}
        for run, (rows, done) in rows_by_run(list(points.values())).items():
            found[run] = done / done[-1], values[rows]
        return found

    def ends(self) -> dict[str, NDArray[np.float64]]:
        """Final accuracies of the new runs, `(B,)` each."""
        return {
            run: values[-1]
            for run, (_, values) in self.observed(self.new).items()
        }


def forecasts(runs: Runs, share: float) -> dict[str, NDArray[np.float64]]:
    """Final accuracies forecast after a share of the training, by method.

    Forecasts of R runs on B benchmarks and the lower and upper ends of their
    90 % intervals, NaN without, `(3, R, B)`.
    """
    names = list(runs.ends())
    chosen = runs.until(share)
    last = {point.run: name for name, point in chosen.items()}
    places = [last[run] for run in names]
    now = runs.predictor.predict(runs.features.select(places))
    observed = runs.accuracies.select(places).values
    gains = []
    for shares, values in runs.observed(runs.past).values():
        # Linear in the log of the training.
        then = [
            np.interp(np.log(share), np.log(shares), column)
            for column in values.T
        ]
        gains.append(values[-1] - then)
    gained = np.clip(observed + np.median(gains, axis=0), 0, 1)
    none = np.full_like(observed, np.nan)
    found = {
        OBSERVED: np.array([observed, none, none]),
        GAIN: np.array([gained, none, none]),
        NOW: np.array([now.values[:, :, 0], none, none]),
    }
    known = runs.accuracies.select(list(chosen))
    for method, table in ((FORECAST, None), (KNOWN, known)):
        triage = judge(
            runs.predictor, runs.features, chosen, runs.past, known=table)
        ends = triage.forecasts.select(names)
        found[method] = np.array([ends.values, ends.low, ends.high])[..., 0]
    return found


def share_in_order(observed: NDArray, predicted: NDArray) -> float:
    """Share of pairs of R runs in the order of their ends, `(R, B)` both.

    Equal predictions count one half; a mean over benchmarks.
    """
    i, j = np.triu_indices(len(observed), k=1)
    shares = []
    for truth, found in zip(observed.T, predicted.T):
        order = np.sign(truth[i] - truth[j])
        agreement = (order * np.sign(found[i] - found[j]))[order != 0]
        shares.append((1 + agreement).mean() / 2)
    return float(np.mean(shares))


def of_tables(tables: ModelTables, checkpoints: Mapping[str, Checkpoint],
              fit: Sequence[str], predict: Sequence[str]) -> Runs:
    """Learn from some checkpoints of tables, as `salience triage` does."""
    past = {name: checkpoints[name] for name in fit}
    new = {name: checkpoints[name] for name in predict}
    accuracies = tables.accuracies.select([*fit, *predict],
                                          tables.accuracies.main)
    predictor = fit_predictor(tables.features, accuracies.select(fit),
                              families_of(past, tables.families))
    return Runs(past, new, accuracies.select(benchmarks=predictor.names),
                tables.features, predictor)


def of_zoo(series: bool = False,
           texts: bool = False,
           by_run: bool = False) -> Runs:
    """Learn from runs of the zoo.

    Those of two series are forecast, and without `series` those of the largest
    size, too. Losses are of tokens or of `texts`; families are series or, with
    `by_run`, runs.
    """
    zoo = cp.read_collection(shipped.COLLECTION)
    points = describe_checkpoints(list(zoo.info))
    new = {}
    for name, point in points.items():
        of_unseen = recipe_of(point.run)[0].family in UNSEEN_FAMILIES
        if of_unseen or (not series and point.run.endswith('-l')):
            new[name] = point
    splits = ['train', 'validation']
    if series:
        splits.append('test')
    fitted = models_in(splits, tuple(zoo.info), zoo.info)
    past = {name: points[name] for name in fitted if name not in new}
    families = dict(zoo.families)
    if by_run:
        families = {name: point.run for name, point in points.items()}
    losses: Any = zoo.losses
    if texts:
        targets = losses.tokens_of(next(iter(losses)))
        table = targets.table({name: losses[name].texts for name in losses})
        losses = text_columns(table).features(table)
    predictor = cp.fit(losses, zoo.accuracies.select([*past]), families)
    return Runs(past, new, zoo.accuracies.select(benchmarks=predictor.names),
                predictor.features(losses), predictor)


def report(runs: Runs, after: Sequence[float]) -> None:
    """Print errors, order and intervals of all methods, after percent."""
    observed = np.array([*runs.ends().values()])
    print(f'{len(observed)} runs: {", ".join(runs.ends())}\n')
    parts = [forecasts(runs, percent / 100) for percent in after]
    errors, orders, intervals = [], [], []
    for method in METHODS:
        errors.append([method])
        orders.append([method])
        if method in (FORECAST, KNOWN):
            intervals.append([method])
        for part in parts:
            values, low, high = part[method]
            by_run = 100 * np.abs(values - observed).mean(axis=1)
            mean, least, most = mean_with_interval(by_run)
            errors[-1].append(f'{mean:.2f} ({least:.1f} - {most:.1f})')
            orders[-1].append(f'{share_in_order(observed, values):.2f}')
            if method in (FORECAST, KNOWN):
                inside = (low <= observed) & (observed <= high)
                width = 100 * (high - low).mean()
                intervals[-1].append(f'{100 * inside.mean():.0f} '
                                     f'({width:.1f})')
    for title, rows in (('MAE, points', errors), ('pairs in order', orders),
                        ('90 % intervals: hold the end, % (width, points)',
                         intervals)):
        header = [title, *(f'{percent:g} %' for percent in after)]
        print(tabulate(rows, header, 'pipe', disable_numparse=True), '\n')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--tables',
        type=Path,
        metavar='DIR',
        help='folder of tables, whose models.csv has the run and step of\n'
        'each model (default: the zoo)')
    add_shared(parser, *SPLITS)
    add_flag(parser, '--series', 'forecast series d and h of the zoo')
    add_flag(parser, '--texts', 'of the zoo, losses of whole texts')
    add_flag(parser, '--by-run', 'of the zoo, every run is a family')
    parser.add_argument(
        '--after',
        nargs='+',
        type=float,
        default=[10, 20, 35, 50, 100],
        metavar='PERCENT')
    args = parser.parse_args()
    if args.tables:
        tables = tables_in(args.tables)
        runs = of_tables(tables, read_checkpoints(args.tables / 'models.csv'),
                         tables.models_to_fit(args.fit, args.predict),
                         tables.models_in(*args.predict))
    else:
        runs = of_zoo(args.series, args.texts, args.by_run)
    report(runs, args.after)


if __name__ == '__main__':
    main()
