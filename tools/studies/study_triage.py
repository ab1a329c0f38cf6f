"""Forecasts of runs from their first checkpoints, beside simpler ones.

The tables of docs/appendix/forecasts.md on the zoo, from losses and accuracies
in the package:

    python -m tools.studies.study_triage

and those on tables as docs/formats.md describes them, such as those of real
runs beside the repository:

    python -m tools.studies.study_triage --after 3 6 11 23 \\
        --tables ../shared/real/gemstones

Why intervals held too few: series d and h of the zoo, from losses of whole
texts as tables have them (--texts) or of tokens, with every run a family of
its own (--by-run) or with its series as the family:

    python -m tools.studies.study_triage --series --texts --by-run
"""
import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

import csv_plugin as cp
from csv_plugin.cli.arguments import exit_code
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
from tools.studies.options import parser_of, tables_in
from tools.studies.resampling import mean_with_interval
from tools.demo_maker.building import UNSEEN_FAMILIES
from tools.demo_maker.recipes import MODELS, recipe_of

FORECAST, KNOWN = 'forecast', 'forecast, with the scores so far'
OBSERVED, GAIN, NOW = ('score observed now',
                       'score observed now, plus the median gain',
                       'predicted from losses now')
METHODS = (OBSERVED, GAIN, NOW, FORECAST, KNOWN)
#: A checkpoint stands for parts of the training as near as this.
NEAR = 0.005
#: Runs of the zoo of which nothing is learned: a series with a mixture of its
#: own, and the largest size.
HELD_OUT = tuple(
    run for run in MODELS
    if recipe_of(run)[0].family in UNSEEN_FAMILIES or run.endswith('-l'))


@dataclass(frozen=True, eq=False)
class Runs:
    """Finished runs, with their checkpoints.

    Args:
        past (Mapping[str, Checkpoint]): Checkpoints that are fitted to.
        new (Mapping[str, Checkpoint]): Those of the runs to forecast.
        accuracies (AccuracyTable): Of all of them.
        features (FeatureTable): Losses of all of them.
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

    def scores(self, part: str) -> dict[str, tuple[NDArray, NDArray]]:
        """Shares of the training `(n,)` and accuracies `(n, B)` by run.

        Of the part 'past' or 'new'.
        """
        points = getattr(self, part)
        values = self.accuracies.select(list(points)).values
        return {
            run: (done / done[-1], values[rows])
            for run, (rows,
                      done) in rows_by_run(list(points.values())).items()
        }


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Final accuracies of R runs on B benchmarks, real and forecast.

    Args:
        real (NDArray): Of the finished runs, fractions, `(R, B)`.
        ends (Mapping[str, NDArray]): By method, the forecasts and the lower
            and upper ends of their intervals, NaN without, after each of C
            parts of the training, `(C, 3, R, B)`.
    """
    runs: tuple[str, ...]
    benchmarks: tuple[str, ...]
    real: NDArray[np.float64]
    ends: Mapping[str, NDArray[np.float64]]

    def errors(self, method: str) -> NDArray:
        """Absolute errors, fractions, `(C, R, B)`."""
        return np.abs(self.ends[method][:, 0] - self.real)

    def in_order(self, method: str) -> NDArray:
        """Share of pairs of runs in order, mean over benchmarks, `(C,)`."""
        return np.array([[
            _share_in_order(self.real[:, b], values[:, b])
            for b in range(len(self.benchmarks))
        ] for values in self.ends[method][:, 0]]).mean(axis=1)

    def coverage(self, method: str) -> NDArray:
        """Share of real accuracies inside their intervals, `(C, R)`."""
        _, low, high = np.moveaxis(self.ends[method], 1, 0)
        return ((low <= self.real) & (self.real <= high)).mean(axis=2)

    def width(self, method: str) -> NDArray:
        """Mean width of the intervals, a fraction, `(C,)`; NaN without."""
        _, low, high = np.moveaxis(self.ends[method], 1, 0)
        return (high - low).mean(axis=(1, 2))


def _share_in_order(real: NDArray, predicted: NDArray) -> float:
    """Share of pairs with different real accuracies that are in order.

    Equal predictions count one half.
    """
    i, j = np.triu_indices(len(real), k=1)
    orders = [np.sign(part[i] - part[j]) for part in (real, predicted)]
    agreement = np.prod(orders, axis=0)[orders[0] != 0]
    return float((1 + agreement).mean() / 2) if agreement.size else np.nan


def forecast_runs(runs: Runs, after: Sequence[float]) -> Forecasts:
    """Forecast the new runs by all methods, after shares of the training."""
    real = {run: values[-1] for run, (_, values) in runs.scores('new').items()}
    parts = [_after(runs, share, tuple(real)) for share in after]
    ends = {name: np.array([part[name] for part in parts]) for name in METHODS}
    return Forecasts(
        tuple(real), runs.predictor.names, np.array([*real.values()]), ends)


def _after(runs: Runs, share: float,
           names: Sequence[str]) -> dict[str, NDArray]:
    """Forecasts and ends of intervals of R runs, `(3, R, B)`, by method."""
    chosen = runs.until(share)
    last = {point.run: name for name, point in chosen.items()}
    now = runs.predictor.predict(
        runs.features.select([last[run] for run in names]))
    observed = runs.accuracies.select([last[run] for run in names]).values
    gains = []
    for shares, values in runs.scores('past').values():
        # Linear in the log of the training.
        then = [
            np.interp(np.log(share), np.log(shares), column)
            for column in values.T
        ]
        gains.append(values[-1] - then)
    gained = np.clip(observed + np.median(gains, axis=0), 0, 1)
    found = {
        OBSERVED: _alone(observed),
        GAIN: _alone(gained),
        NOW: _alone(now.values[:, :, 0]),
    }
    known = runs.accuracies.select(list(chosen))
    for method, scores in ((FORECAST, None), (KNOWN, known)):
        triage = judge(
            runs.predictor, runs.features, chosen, runs.past, known=scores)
        table = triage.forecasts.select(names)
        found[method] = np.array([table.values, table.low,
                                  table.high])[:, :, :, 0]
    return found


def _alone(values: NDArray) -> NDArray[np.float64]:
    """Forecasts without ends of intervals."""
    none = np.full_like(values, np.nan)
    return np.array([values, none, none])


def of_tables(tables: ModelTables, checkpoints: Mapping[str, Checkpoint],
              fit: Sequence[str], predict: Sequence[str]) -> Runs:
    """Learn from some checkpoints of tables, as `salience triage` does."""
    past = {name: checkpoints[name] for name in fit}
    accuracies = tables.accuracies.select([*fit, *predict],
                                          tables.accuracies.main)
    predictor = fit_predictor(tables.features, accuracies.select(fit),
                              families_of(past, tables.families))
    return Runs(past, {name: checkpoints[name]
                       for name in predict},
                accuracies.select(benchmarks=predictor.names), tables.features,
                predictor)


def of_zoo(series: bool = False,
           texts: bool = False,
           by_run: bool = False) -> Runs:
    """Learn from runs of the zoo; `HELD_OUT`, or two series, are forecast."""
    zoo = cp.read_collection(shipped.COLLECTION)
    points = describe_checkpoints(list(zoo.info))
    held_out = [
        run for run in HELD_OUT
        if not series or recipe_of(run)[0].family in UNSEEN_FAMILIES
    ]
    new = {name: at for name, at in points.items() if at.run in held_out}
    splits = ('train', 'validation', 'test') if series else ('train',
                                                             'validation')
    past = {
        name: points[name]
        for name in models_in(splits, tuple(zoo.info), zoo.info)
        if name not in new
    }
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


def report(forecasts: Forecasts, after: Sequence[str]) -> None:
    """Print errors, order and intervals of all methods."""
    errors, order, intervals = {}, {}, {}
    for method in METHODS:
        errors[method] = [
            _with_interval(by_run)
            for by_run in forecasts.errors(method).mean(axis=2)
        ]
        order[method] = [
            f'{share:.2f}' for share in forecasts.in_order(method)
        ]
        widths = forecasts.width(method)
        if not np.isnan(widths).any():
            coverage = forecasts.coverage(method).mean(axis=1)
            intervals[method] = [
                f'{100 * hold:.0f} ({100 * width:.1f})'
                for hold, width in zip(coverage, widths)
            ]
    print(_table('MAE, points', after, errors))
    print(_table('pairs in order', after, order))
    print(
        _table('90 % intervals: hold the end, % (width, points)', after,
               intervals))


def _with_interval(by_run: NDArray) -> str:
    """A mean over runs in percent, and its interval if they are drawn."""
    mean, low, high = mean_with_interval(100 * by_run)
    return f'{mean:.2f} ({low:.2f} - {high:.2f})'


def _table(title: str, after: Sequence[str], rows: dict[str, Any]) -> str:
    return tabulate([[name, *cells]
                     for name, cells in rows.items()], [title, *after],
                    tablefmt='pipe',
                    disable_numparse=True) + '\n'


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--tables',
        type=Path,
        metavar='DIR',
        help='folder with losses.csv or losses.safetensors, scores.csv,\n'
        'benchmarks.csv, and models.csv with the run and step of\n'
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
        metavar='PERCENT',
        help='parts of the training (default 10 20 35 50 100)')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    if args.tables:
        tables = tables_in(args.tables)
        runs = of_tables(tables, read_checkpoints(args.tables / 'models.csv'),
                         tables.models_to_fit(args.fit, args.predict),
                         tables.models_in(*args.predict))
    else:
        runs = of_zoo(args.series, args.texts, args.by_run)
    forecasts = forecast_runs(runs, [number / 100 for number in args.after])
    print(f'{len(forecasts.runs)} runs: {", ".join(forecasts.runs)}\n')
    report(forecasts, [f'{number:g} %' for number in args.after])


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
