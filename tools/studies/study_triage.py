"""Forecasts of runs from their first checkpoints, by several forecasters.

The tables of docs/appendix/intervals_and_forecasts.md on the zoo, from losses
and accuracies in the package (two minutes for the held-out runs, ten for the
others):

    python -m tools.studies.study_triage
    python -m tools.studies.study_triage --leave-run-out

and those on tables as docs/formats.md describes them, such as those of real
runs beside the repository:

    python -m tools.studies.study_triage --after 3 6 11 23 \\
        --tables ../shared/real/gemstones
"""
import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.options import SPLITS, add_shared
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.demo import shipped
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.lm.methods import feature_sets
from csv_plugin.triage import forecasting
from csv_plugin.triage.checkpoints import (Checkpoint, read_checkpoints,
                                           rows_by_run)
from csv_plugin.triage.forecasting import Forecaster
from csv_plugin.triage.ranking import curve_floors, expect
from csv_plugin.triage.trajectories import RunTrajectory, clipped_exponents
from tools.studies.options import parser_of, tables_in
from tools.studies.resampling import mean_with_interval
from tools.studies.zoo.building import UNSEEN_FAMILIES
from tools.studies.zoo.recipes import MODELS, recipe_of
from tools.studies.zoo_study import TRAIN, VALIDATION, ZooStudy

FORECAST, MEDIAN = 'forecast', 'median gain of exponents'
MEAN_LOSS = 'mean loss, forecast alike'
OBSERVED, GAIN, NOW = ('score observed now',
                       'score observed now, plus the median gain',
                       'predicted from losses now')
#: A checkpoint stands for parts of the training as near as this.
NEAR = 0.005
#: Runs of the zoo of which nothing is learned: a series with a mixture of its
#: own, and the largest size.
HELD_OUT = tuple(
    run for run in MODELS
    if recipe_of(run)[0].family in UNSEEN_FAMILIES or run.endswith('-l'))
#: Runs of the zoo by which forecasts were chosen, each from the others.
TRAINING = tuple(f'{series}-{size}' for series in 'abc'
                 for size in ('xs', 's', 'm'))


class StudyRun(NamedTuple):
    """A finished run at its n checkpoints.

    Args:
        scores (NDArray): Observed accuracies, `(n, B)`.
    """
    trajectory: RunTrajectory
    by_mean_loss: RunTrajectory
    scores: NDArray[np.float64]

    def until(self, share: float) -> 'StudyRun':
        """The run as it was after a share of its training."""
        n = int(np.sum(self.trajectory.shares <= share + NEAR))
        return StudyRun(
            _first(self.trajectory, n), _first(self.by_mean_loss, n),
            self.scores[:n])

    def gains(self, share: float) -> list[NDArray]:
        """Gain of scores from a part of the training to the end, `(B,)`.

        None where the first checkpoint is later.
        """
        if not self.trajectory.covers(share):
            return []
        # Linear in the log of the training.
        places = np.log(self.trajectory.shares)
        then = [
            np.interp(np.log(share), places, column)
            for column in self.scores.T
        ]
        return [self.scores[-1] - then]


def _first(run: RunTrajectory, n: int) -> RunTrajectory:
    """The run after n checkpoints, with the same budget."""
    return RunTrajectory(run.run, run.checkpoints[:n], run.tokens[:n],
                         run.budget, run.exponents[:n], run.mean_loss[:n])


def _share_in_order(real: NDArray, predicted: NDArray) -> float:
    """Share of pairs with different real accuracies that are in order.

    Equal predictions count one half; NaN are left out.
    """
    known = ~np.isnan(real + predicted)
    i, j = np.triu_indices(known.sum(), k=1)
    orders = [np.sign(part[known][i] - part[known][j])
              for part in (real, predicted)]  # yapf: disable
    agreement = np.prod(orders, axis=0)[orders[0] != 0]
    return float((1 + agreement).mean() / 2) if agreement.size else np.nan


@dataclass(frozen=True, eq=False)
class Case:
    """What is learned, and what is forecast by it, from these features."""
    benchmarks: Sequence[str]
    features: FeatureTable
    predictor: Predictor
    by_mean_loss: Predictor
    past: Sequence[StudyRun]
    new: Sequence[StudyRun]


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

    @classmethod
    def concatenate(cls, parts: Sequence['Forecasts']) -> 'Forecasts':
        """The runs of all parts, of the same benchmarks and methods."""

        def join(arrays: Iterable[NDArray]) -> NDArray:
            return np.concatenate(list(arrays), axis=-2)

        return cls(
            tuple(run for part in parts for run in part.runs),
            parts[0].benchmarks, join(part.real for part in parts), {
                method: join(part.ends[method] for part in parts)
                for method in parts[0].ends
            })

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


def forecast_case(case: Case, after: Sequence[float]) -> Forecasts:
    """Forecast all runs of a case by all methods."""
    methods = _methods(case)
    return Forecasts(
        tuple(run.trajectory.run for run in case.new), tuple(case.benchmarks),
        np.array([run.scores[-1] for run in case.new]), {
            name:
            np.array([[method(run.until(share)) for run in case.new]
                      for share in after]).swapaxes(1, 2)
            for name, method in methods.items()
        })


def _alone(values: NDArray) -> Sequence[NDArray]:
    """Forecasts without ends of intervals."""
    return values, np.full_like(values, np.nan), np.full_like(values, np.nan)


def _methods(case: Case) -> dict[str, Callable[[StudyRun], Sequence[NDArray]]]:
    """From a run so far to forecasts, lower and upper ends, each `(B,)`."""
    past = [run.trajectory for run in case.past]
    by_mean_loss = [run.by_mean_loss for run in case.past]

    def of_exponents(history: Sequence[RunTrajectory], predictor: Predictor,
                     run: RunTrajectory) -> Sequence[NDArray]:
        n = len(predictor.benchmarks)
        expected = expect(
            Forecaster(history).forecast(run), predictor, range(n))
        # The last one is the mean.
        return expected.values[:n], expected.low[:n], expected.high[:n]

    def by_median(run: StudyRun) -> Sequence[NDArray]:
        # No regression, as of few runs.
        with patch.object(forecasting, 'LEAST_RUNS', math.inf):
            return of_exponents(past, case.predictor, run.trajectory)

    def with_gain(run: StudyRun) -> Sequence[NDArray]:
        share = run.trajectory.shares[-1]
        gains = [gain for other in case.past for gain in other.gains(share)]
        return _alone(np.clip(run.scores[-1] + np.median(gains, axis=0), 0, 1))

    floors = curve_floors(case.predictor)
    return {
        OBSERVED:
        lambda run: _alone(run.scores[-1]),
        GAIN:
        with_gain,
        NOW:
        lambda run: _alone(accuracy_at(run.trajectory.exponents[-1], floors)),
        MEAN_LOSS:
        lambda run: of_exponents(by_mean_loss, case.by_mean_loss, run.
                                 by_mean_loss),
        MEDIAN:
        by_median,
        FORECAST:
        lambda run: of_exponents(past, case.predictor, run.trajectory),
    }


def _case(features: Mapping[Predictor, FeatureTable], fitted: Sequence[str],
          accuracies: AccuracyTable, checkpoints: Mapping[str,
                                                          Checkpoint]) -> Case:
    """Runs of checkpoints that are fitted to, and of others."""
    predictor, by_mean_loss = features
    names = accuracies.models
    tables = [table.select(names) for table in features.values()]
    exponents = [
        clipped_exponents(one, table) for one, table in zip(features, tables)
    ]
    runs: tuple[list[StudyRun], list[StudyRun]] = ([], [])
    for run, (rows, done) in rows_by_run([checkpoints[name]
                                          for name in names]).items():
        of_run = [names[row] for row in rows]
        both = [
            RunTrajectory(run, tuple(of_run), done, float(done[-1]),
                          part[rows], tables[0].mean_loss[rows])
            for part in exponents
        ]
        runs[of_run[0] not in fitted].append(
            StudyRun(*both, accuracies.values[rows]))
    return Case(accuracies.benchmarks, tables[0], predictor, by_mean_loss,
                *runs)


def table_case(tables: ModelTables, checkpoints: Mapping[str, Checkpoint],
               fit: Sequence[str], predict: Sequence[str]) -> Case:
    """Learn from some checkpoints of tables, and forecast the runs of others.
    """
    accuracies = tables.accuracies.select(benchmarks=tables.accuracies.main)
    runs = [checkpoints[model].run for model in fit]
    known = accuracies.select(fit)
    predictors = [
        fit_predictor(tables.features, known, runs, SOLVERS[solver])
        for solver in (DEFAULT_SOLVER, 'mean-loss')
    ]
    features = dict.fromkeys(predictors, tables.features)
    return _case(features, fit, accuracies.select([*fit, *predict]),
                 checkpoints)


def zoo_case(zoo: ZooStudy, runs: Sequence[str],
             held_out: Sequence[str]) -> Case:
    """Learn from runs of the zoo, and forecast others."""
    run_of = {name: _checkpoint(name) for name in zoo.collection.info}
    fitted = [
        model for model in zoo.models_in(TRAIN, VALIDATION)
        if run_of[model].run not in held_out
    ]
    training = zoo.training(fitted)
    blocks = feature_sets(training.losses, training.texts, training.targets,
                          zoo.states)
    predictors = (training.fit(blocks), training.mean_loss())
    new = [name for name in run_of if run_of[name].run in runs]
    names = [*fitted, *new]
    return _case(
        {one: one.features(zoo.table.select(names))
         for one in predictors}, fitted,
        zoo.collection.accuracies.select(names), run_of)


def _checkpoint(name: str) -> Checkpoint:
    run, _, percent = name.partition('@')
    return Checkpoint(run, int(percent))


def leave_one_out(runs: Sequence[str],
                  after: Sequence[float],
                  case: Callable[[str], Case],
                  progress: Progress = iter) -> Forecasts:
    """Forecasts of runs, each in a case of its own."""
    return Forecasts.concatenate(
        [forecast_case(case(run), after) for run in progress(runs)])


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
    parser.add_argument(
        '--leave-run-out',
        action='store_true',
        help='forecast each run fitted to from the others (default: no)')
    parser.add_argument(
        '--after',
        nargs='+',
        type=float,
        default=[10, 20, 35, 50, 100],
        metavar='PERCENT',
        help='parts of the training (default 10 20 35 50 100)')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    after = [number / 100 for number in args.after]
    forecasts = (of_tables if args.tables else of_zoo)(args, after)
    print(f'{len(forecasts.runs)} runs: {", ".join(forecasts.runs)}\n')
    report(forecasts, [f'{number:g} %' for number in args.after])


def of_tables(args: argparse.Namespace, after: Sequence[float]) -> Forecasts:
    """Forecasts of the runs of a folder of tables."""
    folder = args.tables
    tables = tables_in(folder)
    checkpoints = read_checkpoints(folder / 'models.csv')
    fit = tables.models_to_fit(args.fit, args.predict)
    if not args.leave_run_out:
        case = table_case(tables, checkpoints, fit,
                          tables.models_in(*args.predict))
        return forecast_case(case, after)

    def left_out(run: str) -> Any:
        rest, of_run = ([
            model for model in fit if (checkpoints[model].run == run) == inside
        ] for inside in (False, True))
        return table_case(tables, checkpoints, rest, of_run)

    runs = list(dict.fromkeys(checkpoints[model].run for model in fit))
    return leave_one_out(runs, after, left_out, partial(tqdm, desc='runs'))


def of_zoo(args: argparse.Namespace, after: Sequence[float]) -> Forecasts:
    """Forecasts of the runs of the zoo."""
    zoo = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                        shipped.SCORING_TOKENIZER)
    if not args.leave_run_out:
        return forecast_case(zoo_case(zoo, HELD_OUT, HELD_OUT), after)
    others = [name for name in MODELS if name not in TRAINING]
    return leave_one_out(TRAINING, after,
                         lambda name: zoo_case(zoo, (name, ), (name, *others)),
                         partial(tqdm, desc='runs'))


def report(forecasts: Forecasts, after: Sequence[str]) -> None:
    """Print errors, order and intervals of all methods."""
    ends = forecasts.ends
    print(
        _table(
            'MAE, points', after, {
                method: map(_with_interval,
                            forecasts.errors(method).mean(axis=2))
                for method in ends
            }))
    print(
        _table(
            'pairs in order', after, {
                method:
                [f'{share:.2f}' for share in forecasts.in_order(method)]
                for method in ends
            }))
    print(
        _table(
            '90 % intervals: hold the end, % (width, points)', after, {
                method: [
                    f'{100 * hold:.0f} ({100 * width:.1f})'
                    for hold, width in zip(
                        forecasts.coverage(method).mean(
                            axis=1), forecasts.width(method))
                ]
                for method in ends
                if not np.isnan(forecasts.width(method)).any()
            }))
    by_benchmark = 100 * forecasts.errors(FORECAST).mean(axis=1)
    print(
        _table(
            f'{FORECAST}: MAE, points', after, {
                name: [f'{error:.1f}' for error in by_benchmark[:, b]]
                for b, name in enumerate(forecasts.benchmarks)
            }))


def _with_interval(by_run: NDArray) -> str:
    """A mean over runs in percent, and its interval if they are drawn."""
    mean, low, high = mean_with_interval(100 * by_run)
    return f'{mean:.2f} ({low:.2f} - {high:.2f})'


def _table(title: str, after: Sequence[str], rows: dict[str, Any]) -> str:
    return tabulate([[name, *cells]
                     for name, cells in rows.items()], [title, *after],
                    tablefmt='pipe',
                    disable_numparse=True) + '\n'


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
