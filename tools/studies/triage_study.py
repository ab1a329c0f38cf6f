"""Forecasts of the final accuracies of runs, by several forecasters.

All learn from the same finished runs, and know the others up to a part of
their training. The forecast of `csv_plugin.triage` is compared with two that
it had before: the median gain of exponents alone, and gains of accuracies
regressed on how good runs are, which observed scores may enter too.
"""
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import (DEFAULT_SOLVER, SOLVERS, SalienceFit,
                                      Task, held_out_predictions)
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.lm.methods import feature_sets
from csv_plugin.triage import forecasting
from csv_plugin.triage.checkpoints import Checkpoint, rows_by_run
from csv_plugin.triage.forecasting import Forecaster
from csv_plugin.triage.judging import LEVEL
from csv_plugin.triage.ranking import curve_floors, expect
from csv_plugin.triage.trajectories import RunTrajectory, clipped_exponents
from tools.studies.accuracy_forecasts import (Ends, Levels, PastRun,
                                              forecast_end)
from tools.studies.zoo.building import UNSEEN_FAMILIES
from tools.studies.zoo.recipes import MODELS, recipe_of
from tools.studies.zoo_study import TRAIN, VALIDATION, ZooStudy

FORECAST, MEDIAN = 'forecast', 'median gain of exponents'
LOSSES, BOTH = ('regressed gain of accuracies, from losses',
                'the same, from losses and scores')
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
        trajectory (RunTrajectory): By the predictor.
        by_mean_loss (RunTrajectory): By a predictor from the mean loss.
        predicted (NDArray): Accuracies by fits to other runs, `(n, B)`.
        scores (NDArray): Observed accuracies, `(n, B)`.
    """
    trajectory: RunTrajectory
    by_mean_loss: RunTrajectory
    predicted: NDArray[np.float64]
    scores: NDArray[np.float64]

    def until(self, share: float) -> 'StudyRun':
        """The run as it was after a share of its training."""
        n = int(np.sum(self.trajectory.shares <= share + NEAR))
        return StudyRun(
            self.trajectory.truncated(n), self.by_mean_loss.truncated(n),
            self.predicted[:n], self.scores[:n])

    def levels(self, *tables: NDArray) -> tuple[Levels, ...]:
        """Some of its tables by shares of the training."""
        return tuple(Levels(self.trajectory.shares, table) for table in tables)


@dataclass(frozen=True, eq=False)
class Case:
    """What is learned, and what is forecast by it.

    Args:
        benchmarks (Sequence[str]): B names.
        n_items (NDArray): Of each, `(B,)`.
        predictor (Predictor): Fitted to the earlier runs.
        by_mean_loss (Predictor): The same, from the mean loss.
        past (Sequence[StudyRun]): The earlier runs.
        new (Sequence[StudyRun]): The R runs to forecast.
    """
    benchmarks: Sequence[str]
    n_items: NDArray
    predictor: Predictor
    by_mean_loss: Predictor
    past: Sequence[StudyRun]
    new: Sequence[StudyRun]


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Final accuracies of R runs on B benchmarks, real and forecast.

    Args:
        runs (tuple[str, ...]): R names.
        benchmarks (tuple[str, ...]): B names.
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
            metrics.pairwise_accuracy(self.real[:, b], values[:, b])
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
    """Forecast all runs of a case by all methods.

    Args:
        case (Case): What is known.
        after (Sequence[float]): C parts of the training, at or before which
            all runs have a checkpoint.
    """
    methods = _methods(case)
    return Forecasts(
        tuple(run.trajectory.run for run in case.new), tuple(case.benchmarks),
        np.array([run.scores[-1] for run in case.new]), {
            name:
            np.array([[method(run.until(share)) for run in case.new]
                      for share in after]).swapaxes(1, 2)
            for name, method in methods.items()
        })


def _methods(case: Case) -> dict[str, Callable[[StudyRun], Sequence[NDArray]]]:
    """From a run so far to forecasts, lower and upper ends, each `(B,)`."""
    past = [run.trajectory for run in case.past]
    by_mean_loss = [run.by_mean_loss for run in case.past]

    def of_exponents(history: Sequence[RunTrajectory], predictor: Predictor,
                     run: RunTrajectory) -> Sequence[NDArray]:
        expected = expect(Forecaster(history).forecast(run), predictor, LEVEL)
        return expected.values, expected.low, expected.high

    def by_median(run: StudyRun) -> Sequence[NDArray]:
        # No regression, as of few runs.
        with patch.object(forecasting, 'LEAST_RUNS', math.inf):
            return of_exponents(past, case.predictor, run.trajectory)

    def of_accuracies(with_scores: bool) -> Callable[[StudyRun], Ends]:

        def sources(run: StudyRun) -> tuple[Levels, ...]:
            scores = (run.scores, ) if with_scores else ()
            return run.levels(run.predicted, *scores)

        history = [PastRun(sources(run), run.scores[-1]) for run in case.past]
        return lambda run: forecast_end(
            sources(run), history, LEVEL, case.n_items)

    def alone(values: NDArray) -> Sequence[NDArray]:
        return values, np.full_like(values,
                                    np.nan), np.full_like(values, np.nan)

    def with_gain(run: StudyRun) -> Sequence[NDArray]:
        share = run.trajectory.shares[-1]
        gains = [
            other.scores[-1] - levels.at(share) for other in case.past
            for levels in other.levels(other.scores) if levels.covers(share)
        ]
        return alone(np.clip(run.scores[-1] + np.median(gains, axis=0), 0, 1))

    floors = curve_floors(case.predictor)
    return {
        OBSERVED:
        lambda run: alone(run.scores[-1]),
        GAIN:
        with_gain,
        NOW:
        lambda run: alone(accuracy_at(run.trajectory.exponents[-1], floors)),
        MEAN_LOSS:
        lambda run: of_exponents(by_mean_loss, case.by_mean_loss, run.
                                 by_mean_loss),
        MEDIAN:
        by_median,
        LOSSES:
        of_accuracies(False),
        BOTH:
        of_accuracies(True),
        FORECAST:
        lambda run: of_exponents(past, case.predictor, run.trajectory),
    }


class _HeldOut:
    """What fits to other runs say of the checkpoints fitted to, `(M, B)`."""

    def __init__(self, accuracies: AccuracyTable) -> None:
        self.accuracies = accuracies
        self.predicted = np.full(accuracies.values.shape, np.nan)

    def __call__(self, benchmark: str, task: Task, fit: SalienceFit) -> None:
        b = self.accuracies.benchmarks.index(benchmark)
        known = ~np.isnan(self.accuracies.values[:, b])
        self.predicted[known, b] = held_out_predictions(task, fit)


def _case(features: Mapping[Predictor, FeatureTable], held_out: _HeldOut,
          accuracies: AccuracyTable, checkpoints: Mapping[str,
                                                          Checkpoint]) -> Case:
    """Runs of checkpoints that are fitted to, and of others.

    Args:
        features (Mapping[Predictor, FeatureTable]): The columns of the
            predictor and of that by the mean loss, of all checkpoints.
        held_out (_HeldOut): Was told of the fits.
        accuracies (AccuracyTable): Observed on all checkpoints, those fitted
            to first, in the order of `held_out`.
        checkpoints (Mapping[str, Checkpoint]): By name.
    """
    predictor, by_mean_loss = features
    names, fitted = accuracies.models, held_out.accuracies.models
    tables = [table.select(names) for table in features.values()]
    exponents = [
        clipped_exponents(one, table) for one, table in zip(features, tables)
    ]
    new = predictor.predict(tables[0].select(names[len(fitted):])).select(
        benchmarks=accuracies.benchmarks).values[:, :, 0]
    predicted = np.vstack([held_out.predicted, new])
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
            StudyRun(*both, predicted[rows], accuracies.values[rows]))
    return Case(accuracies.benchmarks, accuracies.n_items, predictor,
                by_mean_loss, *runs)


def table_case(tables: ModelTables, checkpoints: Mapping[str, Checkpoint],
               fit: Sequence[str], predict: Sequence[str]) -> Case:
    """Learn from some checkpoints of tables, and forecast the runs of others.

    Args:
        tables (ModelTables): Losses and accuracies.
        checkpoints (Mapping[str, Checkpoint]): Run and step, by model.
        fit (Sequence[str]): Those of finished runs, which no fold divides.
        predict (Sequence[str]): Those of the runs to forecast.
    """
    accuracies = tables.accuracies.select(benchmarks=tables.accuracies.main)
    held_out = _HeldOut(accuracies.select(fit))
    runs = [checkpoints[model].run for model in fit]
    features = {
        fit_predictor(
            tables.features,
            held_out.accuracies,
            runs,
            SOLVERS[solver],
            watch=watch):
        tables.features
        for solver, watch in ((DEFAULT_SOLVER, held_out), ('uniform', None))
    }
    return _case(features, held_out, accuracies.select([*fit, *predict]),
                 checkpoints)


def zoo_case(zoo: ZooStudy, runs: Sequence[str],
             held_out: Sequence[str]) -> Case:
    """Learn from runs of the zoo, and forecast others.

    Args:
        zoo (ZooStudy): Losses and accuracies.
        runs (Sequence[str]): R runs to forecast, all held out.
        held_out (Sequence[str]): The predictor is fitted to the train and
            validation models of all other runs.
    """
    run_of = {name: _checkpoint(name) for name in zoo.collection.info}
    fitted = [
        model for model in zoo.collection.models_in(TRAIN, VALIDATION)
        if run_of[model].run not in held_out
    ]
    training = zoo.training(fitted)
    watch = _HeldOut(zoo.collection.accuracies.select(fitted))
    blocks = feature_sets(training.losses, training.texts, training.targets,
                          zoo.states)
    predictors = (training.fit(blocks, iter, watch), training.all_token_loss())
    new = [name for name in run_of if run_of[name].run in runs]
    names = [*fitted, *new]
    return _case(
        {one: one.features(zoo.table.select(names))
         for one in predictors}, watch,
        zoo.collection.accuracies.select(names), run_of)


def _checkpoint(name: str) -> Checkpoint:
    run, _, percent = name.partition('@')
    return Checkpoint(run, int(percent))


def leave_one_out(runs: Sequence[str],
                  after: Sequence[float],
                  case: Callable[[str], Case],
                  progress: Progress = iter) -> Forecasts:
    """Forecasts of runs, each in a case of its own.

    Args:
        runs (Sequence[str]): Names.
        after (Sequence[float]): As in `forecast_case`.
        case (Callable[[str], Case]): From a run to the case that forecasts it.
        progress (Progress): Wraps the runs.
    """
    return Forecasts.concatenate(
        [forecast_case(case(run), after) for run in progress(runs)])
