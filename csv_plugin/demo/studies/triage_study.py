"""How well the final accuracies of zoo runs are forecast from their start."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.conventions import Progress
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.demo.building import abbr
from csv_plugin.demo.recipes import CHECKPOINTS, MODELS
from csv_plugin.demo.studies.zoo_study import TRAIN, VALIDATION, ZooStudy
from csv_plugin.lm.salience_training import Training
from csv_plugin.triage.forecasting import Forecaster
from csv_plugin.triage.judging import LEVEL
from csv_plugin.triage.ranking import expect
from csv_plugin.triage.trajectories import RunTrajectory, exponents

#: Forecasts are made after this many checkpoints: 10, 20, 35 and 50 %, and
#: at the end, where a forecast is what the predictor says.
CUTS = (1, 2, 3, 4, 7)
FORECAST = 'forecast'
#: Neither the predictor nor the forecasts know any checkpoint of these runs:
#: a series with a mixture of its own, and the largest size.
HELD_OUT = tuple(run for run in MODELS if run[0] == 'd' or run.endswith('-l'))


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Final accuracies of R runs on B exams, real and forecast.

    Args:
        runs (tuple[str, ...]): R names.
        exams (tuple[str, ...]): B names.
        real (NDArray): Of the finished runs, fractions, `(R, B)`.
        values (dict[str, NDArray]): By method, after each of the `CUTS`,
            `(C, R, B)`.
        low (NDArray): Lower ends of the intervals of `FORECAST`.
        high (NDArray): Upper ends.
    """
    runs: tuple[str, ...]
    exams: tuple[str, ...]
    real: NDArray
    values: dict[str, NDArray]
    low: NDArray
    high: NDArray

    @classmethod
    def concatenate(cls, parts: Sequence['Forecasts']) -> 'Forecasts':
        """The runs of all parts."""

        def join(pick: Callable[['Forecasts'], NDArray]) -> NDArray:
            return np.concatenate([pick(part) for part in parts], axis=-2)

        return cls(
            sum((part.runs for part in parts), ()), parts[0].exams,
            join(lambda part: part.real), {
                method: join(lambda part, m=method: part.values[m])
                for method in parts[0].values
            }, join(lambda part: part.low), join(lambda part: part.high))

    def errors(self, method: str) -> NDArray:
        """MAE, MSE, and share of pairs of runs in the right order, `(C, 3)`.

        Means over the exams.
        """
        measures = (metrics.mae, metrics.mse, metrics.pairwise_accuracy)
        return np.array([[
            np.mean([
                measure(self.real[:, b], cut[:, b])
                for b in range(self.real.shape[1])
            ]) for measure in measures
        ] for cut in self.values[method]])

    @property
    def coverage(self) -> NDArray:
        """Share of real accuracies inside their interval, `(C,)`."""
        inside = (self.low <= self.real) & (self.real <= self.high)
        return inside.mean(axis=(1, 2))

    @property
    def width(self) -> NDArray:
        """Mean width of the intervals, a fraction, `(C,)`."""
        return (self.high - self.low).mean(axis=(1, 2))


def forecast_runs(zoo: ZooStudy, runs: Sequence[str],
                  without: Sequence[str]) -> Forecasts:
    """Forecast runs by what is learned from other runs of the zoo.

    Args:
        zoo (ZooStudy): Losses and scores.
        runs (Sequence[str]): R runs to forecast.
        without (Sequence[str]): These, and others that nothing is learned
            from. The predictor is fitted to the train and validation models
            of the rest, which is the history as well.
    """
    fitted = tuple(
        model for model in zoo.collection.models_in(TRAIN, VALIDATION)
        if _run_of(model) not in without)
    history = tuple(dict.fromkeys(map(_run_of, fitted)))
    training = Training(zoo.collection, zoo.targets, fitted, zoo.states)
    predictor = training.auto()
    exams = zoo.collection.accuracies.benchmarks
    forecasts, low, high, now = _forecasts(zoo, predictor, runs, history)
    mean_loss = _forecasts(zoo, training.all_token_loss(), runs, history)[0]
    observed = np.array([_scores(zoo, run) for run in runs])
    past = np.array([_scores(zoo, run) for run in history])
    seen = observed[:, [cut - 1 for cut in CUTS]].swapaxes(0, 1)
    gains = np.median([past[:, -1] - past[:, cut - 1] for cut in CUTS], axis=1)
    everywhere = np.broadcast_to(past[:, -1].mean(axis=0),
                                 (len(CUTS), len(runs), len(exams)))
    values = {
        'mean final accuracy of the earlier runs':
        everywhere,
        'mean loss, forecast alike':
        mean_loss,
        'last observed accuracy':
        seen,
        'predicted accuracy now':
        now,
        'observed, plus the gain of the earlier runs':
        np.clip(seen + gains[:, None], 0, 1),
        FORECAST:
        forecasts,
    }
    return Forecasts(tuple(runs), exams, observed[:, -1], values, low, high)


def hold_out(zoo: ZooStudy) -> Forecasts:
    """Forecasts of `HELD_OUT`, none of which anything was chosen on."""
    return forecast_runs(zoo, HELD_OUT, HELD_OUT)


def leave_one_run_out(zoo: ZooStudy, progress: Progress = iter) -> Forecasts:
    """Each other run from the rest; what choices were judged by.

    Args:
        zoo (ZooStudy): Losses and scores.
        progress (Progress): Wraps the runs, each with a predictor of its own.
    """
    others = [run for run in MODELS if run not in HELD_OUT]
    return Forecasts.concatenate([
        forecast_runs(zoo, (run, ), (run, *HELD_OUT))
        for run in progress(others)
    ])


def _forecasts(zoo: ZooStudy, predictor: Predictor, runs: Sequence[str],
               history: Sequence[str]) -> tuple[NDArray, ...]:
    """Forecasts, their intervals, and what is predicted now. `(C, R, B)`."""
    forecaster = Forecaster([_trajectory(zoo, predictor, r) for r in history])
    floors = np.array([known.model.floor for known in predictor.benchmarks])
    whole = [_trajectory(zoo, predictor, run) for run in runs]
    cells = []
    for cut in CUTS:
        for young in (run.first(cut) for run in whole):
            found = expect(forecaster.forecast(young), predictor, LEVEL)
            cells.append((found.values, found.low, found.high,
                          accuracy_at(young.exponents[-1], floors)))
    shape = len(CUTS), len(runs), len(floors)
    return tuple(np.array(part).reshape(shape) for part in zip(*cells))


def _trajectory(zoo: ZooStudy, predictor: Predictor,
                run: str) -> RunTrajectory:
    names = _names(run)
    features = predictor.features(
        zoo.collection.losses_of(names), zoo.targets.fingerprint)
    return RunTrajectory(run, names, np.array(CHECKPOINTS, float), 100.,
                         exponents(predictor, features),
                         features.values @ features.uniform)


def _scores(zoo: ZooStudy, run: str) -> NDArray:
    """Real accuracies of a run, `(n, B)`."""
    return zoo.collection.accuracies.select(_names(run)).values


def _names(run: str) -> tuple[str, ...]:
    return tuple(abbr(run, percent) for percent in CHECKPOINTS)


def _run_of(model: str) -> str:
    return model.partition('@')[0]
