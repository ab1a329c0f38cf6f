"""Forecasts of the final accuracies of zoo runs, and how good they are."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.conventions import Progress
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.lm.methods import train_auto
from csv_plugin.triage.forecasting import Forecaster
from csv_plugin.triage.judging import LEVEL
from csv_plugin.triage.ranking import curve_floors, expect
from csv_plugin.triage.trajectories import RunTrajectory, clipped_exponents
from tools.studies.zoo.building import UNSEEN_FAMILIES, abbr
from tools.studies.zoo.recipes import CHECKPOINTS, MODELS, recipe_of
from tools.studies.zoo_study import TRAIN, VALIDATION, ZooStudy

#: Numbers of checkpoints after which forecasts are made: at 10, 20, 35 and
#: 50 % of the training, and at its end, where a forecast is the prediction.
CUTS = (1, 2, 3, 4, 7)
FORECAST = 'forecast'
GAIN = 'observed, plus the gain of the earlier runs'
#: Runs of which neither the predictor nor the forecaster sees a checkpoint: a
#: series with a mixture of its own, and the largest size.
HELD_OUT = tuple(
    run for run in MODELS
    if recipe_of(run)[0].family in UNSEEN_FAMILIES or run.endswith('-l'))
#: Runs whose forecasts, each from the others, were judged for choices.
TRAINING = tuple(f'{series}-{size}' for series in 'abc'
                 for size in ('xs', 's', 'm'))


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Final accuracies of R runs on B exams, real and forecast.

    Args:
        runs (tuple[str, ...]): R names.
        exams (tuple[str, ...]): B names.
        real (NDArray): Of the finished runs, fractions, `(R, B)`.
        values (dict[str, NDArray]): By method, after each of the C `CUTS`,
            fractions, `(C, R, B)`.
        low (NDArray): Lower ends of the intervals of `FORECAST`, as above.
        high (NDArray): Upper ends.
    """
    runs: tuple[str, ...]
    exams: tuple[str, ...]
    real: NDArray[np.float64]
    values: dict[str, NDArray[np.float64]]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __repr__(self) -> str:
        return (f'Forecasts({len(self.runs)} runs on {len(self.exams)} exams '
                f'by {len(self.values)} methods)')

    @classmethod
    def concatenate(cls, parts: Sequence['Forecasts']) -> 'Forecasts':
        """The runs of all parts, which have the same exams and methods."""

        def join(arrays: Iterable[NDArray]) -> NDArray:
            return np.concatenate(list(arrays), axis=-2)

        return cls(
            tuple(run for part in parts for run in part.runs), parts[0].exams,
            join(part.real for part in parts), {
                method: join(part.values[method] for part in parts)
                for method in parts[0].values
            }, join(part.low for part in parts),
            join(part.high for part in parts))

    def errors(self, method: str) -> NDArray:
        """Errors of a method after each of the C `CUTS`.

        Args:
            method (str): A key of `values`.

        Returns:
            NDArray: MSE, and share of pairs of runs in the right order,
            means over the exams; `(C, 2)`.
        """
        measures = (metrics.mse, metrics.pairwise_accuracy)
        return np.array([[
            np.mean([
                measure(self.real[:, b], cut[:, b])
                for b in range(self.real.shape[1])
            ]) for measure in measures
        ] for cut in self.values[method]])

    def errors_by_run(self, method: str) -> NDArray:
        """Mean absolute errors of a method over the exams, `(C, R)`."""
        return np.abs(self.values[method] - self.real).mean(axis=2)

    @property
    def coverage(self) -> NDArray:
        """Share of real accuracies inside their intervals, `(C, R)`."""
        inside = (self.low <= self.real) & (self.real <= self.high)
        return inside.mean(axis=2)

    @property
    def width(self) -> NDArray:
        """Mean width of the intervals, a fraction, `(C,)`."""
        return (self.high - self.low).mean(axis=(1, 2))


def forecast_runs(zoo: ZooStudy, runs: Sequence[str],
                  held_out: Sequence[str]) -> Forecasts:
    """Forecast runs by a predictor and a history that know nothing of them.

    Args:
        zoo (ZooStudy): Losses and accuracies.
        runs (Sequence[str]): R runs to forecast, all held out.
        held_out (Sequence[str]): The predictor is fitted to the train and
            validation models of all other runs, which are the history too.
    """
    fitted = tuple(
        model for model in zoo.collection.models_in(TRAIN, VALIDATION)
        if _run_of(model) not in held_out)
    history = tuple(dict.fromkeys(map(_run_of, fitted)))
    training = zoo.training(fitted)
    predictor = train_auto(training, zoo.states).predictor
    exams = zoo.collection.accuracies.benchmarks
    forecasts, low, high, now = _forecasts(zoo, predictor, runs, history)
    mean_loss = _forecasts(zoo, training.all_token_loss(), runs, history)[0]
    observed = np.array([_accuracies(zoo, run) for run in runs])
    past = np.array([_accuracies(zoo, run) for run in history])
    so_far = observed[:, [cut - 1 for cut in CUTS]].swapaxes(0, 1)
    gains = np.median([past[:, -1] - past[:, cut - 1] for cut in CUTS], axis=1)
    mean_of_history = np.broadcast_to(past[:, -1].mean(axis=0),
                                      (len(CUTS), len(runs), len(exams)))
    values = {
        'mean final accuracy of the earlier runs': mean_of_history,
        'mean loss, forecast alike': mean_loss,
        'last observed accuracy': so_far,
        'predicted accuracy now': now,
        GAIN: np.clip(so_far + gains[:, None], 0, 1),
        FORECAST: forecasts,
    }
    return Forecasts(tuple(runs), exams, observed[:, -1], values, low, high)


def hold_out(zoo: ZooStudy) -> Forecasts:
    """Forecasts of `HELD_OUT`, on which nothing was chosen."""
    return forecast_runs(zoo, HELD_OUT, HELD_OUT)


def leave_one_run_out(zoo: ZooStudy, progress: Progress = iter) -> Forecasts:
    """Forecasts of each of `TRAINING` from the rest of them.

    The choices that forecasting needs were made by these.

    Args:
        zoo (ZooStudy): Losses and accuracies.
        progress (Progress): Wraps the runs, each with a predictor of its own.
    """
    others = [run for run in MODELS if run not in TRAINING]
    return Forecasts.concatenate([
        forecast_runs(zoo, (run, ), (run, *others))
        for run in progress(TRAINING)
    ])


def _forecasts(zoo: ZooStudy, predictor: Predictor, runs: Sequence[str],
               history: Sequence[str]) -> tuple[NDArray, ...]:
    """Forecasts after each of the `CUTS`.

    Returns:
        tuple[NDArray, ...]: The forecasts, lower and upper ends of their
        intervals, and the accuracies predicted at the cut; each `(C, R, B)`.
    """
    forecaster = Forecaster(
        [_trajectory(zoo, predictor, run) for run in history])
    floors = curve_floors(predictor)
    whole = [_trajectory(zoo, predictor, run) for run in runs]
    parts = []
    for cut in CUTS:
        for young in (run.truncated(cut) for run in whole):
            expected = expect(forecaster.forecast(young), predictor, LEVEL)
            parts.append((expected.values, expected.low, expected.high,
                          accuracy_at(young.exponents[-1], floors)))
    shape = len(CUTS), len(runs), len(floors)
    return tuple(np.array(part).reshape(shape) for part in zip(*parts))


def _trajectory(zoo: ZooStudy, predictor: Predictor,
                run: str) -> RunTrajectory:
    names = _checkpoints(run)
    features = predictor.features(zoo.table.select(names))
    return RunTrajectory(run, names, np.array(CHECKPOINTS, float), 100.,
                         clipped_exponents(predictor, features),
                         features.mean_loss)


def _accuracies(zoo: ZooStudy, run: str) -> NDArray:
    """Real accuracies of a run at its n checkpoints, `(n, B)`."""
    return zoo.collection.accuracies.select(_checkpoints(run)).values


def _checkpoints(run: str) -> tuple[str, ...]:
    return tuple(abbr(run, percent) for percent in CHECKPOINTS)


def _run_of(model: str) -> str:
    return model.partition('@')[0]
