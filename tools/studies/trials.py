"""Trials: models to fit to, models to predict, and the figures of a method."""
import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import t as student
from tqdm import tqdm

import csv_plugin as cp
from csv_plugin.core.features import Columns, text_columns
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.predictor import Predictor, Units
from csv_plugin.core.settings import Settings
from csv_plugin.demo import shipped
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.lm.methods import answers_by_source
from tools.studies.common import LEVEL, bits_per_character, tables_in

#: Degrees of freedom of the density that an interval stands for, for all
#: methods alike: heavy tails, as errors of families left out have.
DEGREES = 4
#: Least half width in the log score: a fifth of a point.
LEAST_HALF = 0.002


@dataclass(frozen=True, eq=False)
class Models:
    """Losses and accuracies of M models on K columns and B benchmarks.

    `losses` are `(M, K)` in any unit, `accuracies` `(M, B)` in 0..1 or NaN;
    `families` and `splits` have M names; `chance` and `n_items` are `(B,)`, 0
    items if unknown. `sources` has K names, '' for columns that are no texts.
    `answers` has the losses of T tokens of a benchmark's own answers, `(M, T)`
    for each of B benchmarks, T = 0 for those without, or is empty. `shares`
    are what columns count in the mean loss, `(K,)`; equal ones by default.
    """
    losses: NDArray
    accuracies: NDArray
    families: NDArray
    splits: NDArray
    chance: NDArray
    n_items: NDArray
    sources: NDArray
    answers: tuple[NDArray, ...] = ()
    shares: Optional[NDArray] = None

    @property
    def quality(self) -> NDArray:
        """Minus the mean logarithm of the losses: higher is better. `(M,)`"""
        return -np.log(np.maximum(self.losses, 1e-6)).mean(axis=1)

    def take(self, rows: NDArray) -> 'Models':
        """Some of the models."""
        return replace(
            self,
            losses=self.losses[rows],
            accuracies=self.accuracies[rows],
            families=self.families[rows],
            splits=self.splits[rows],
            answers=tuple(part[rows] for part in self.answers))

    def columns(self, places: NDArray) -> 'Models':
        """Some of the loss columns, which count alike."""
        return replace(
            self,
            losses=self.losses[:, places],
            sources=self.sources[places],
            shares=None)

    def features(self, prefix: str) -> cp.FeatureTable:
        """Losses and then answers as the package takes them."""
        values = np.concatenate([self.losses, *self.answers], axis=1)
        n_losses = self.losses.shape[1]
        uniform = np.zeros(values.shape[1])
        uniform[:n_losses] = 1 / n_losses
        if self.shares is not None:
            uniform[:n_losses] = self.shares
        units = tuple(f'u{k}' for k in range(len(uniform)))
        names = tuple(f'{prefix} {m}' for m in range(len(values)))
        return cp.FeatureTable(names, Columns(units, uniform, 'study'), values)

    def units(self) -> Units:
        """Which columns of `features` are units, and which answers."""
        answers, first = {}, self.losses.shape[1]
        for b, part in enumerate(self.answers):
            end = first + part.shape[1]
            if end > first:
                answers[str(b)] = np.arange(first, end)
            first = end
        return Units(np.arange(self.losses.shape[1]), self.sources, answers)


# ---- collections


@lru_cache(maxsize=None)
def collection(name: str, shared: Path, public: Path) -> Models:
    """Read a collection of tables by name, or the demonstration."""
    if name == 'demonstration':
        return demonstration()
    if name == 'bits per character':
        return of_tables(bits_per_character())
    if name == 'public models':
        return of_tables(tables_in(shared))
    folder = shared / name
    return of_tables(tables_in(folder if folder.exists() else public / name))


def of_tables(tables: ModelTables) -> Models:
    """The models of tables, with the main benchmarks alone."""
    rows = [tables.info[model] for model in tables.accuracies.models]
    accuracies = tables.accuracies.select(benchmarks=tables.accuracies.main)
    losses = tables.features.values
    return Models(losses, accuracies.values,
                  np.array([row.family for row in rows]),
                  np.array([row.split for row in rows]), accuracies.chance,
                  accuracies.n_items, np.full(losses.shape[1], ''))


def demonstration() -> Models:
    """Texts and own answers of the demonstration."""
    whole = cp.read_collection(shipped.COLLECTION)
    targets = whole.losses.tokens_of(next(iter(whole.losses)))
    table = targets.table({
        name: dump.texts
        for name, dump in whole.losses.items()
    })
    answers = answers_by_source(table, whole.texts, targets)
    none = np.zeros(targets.n_tokens, bool)
    features = text_columns(table).features(table)
    accuracies = whole.accuracies.select(table.models)
    rows = [whole.info[name] for name in table.models]
    return Models(
        features.values, accuracies.values,
        np.array([row.family for row in rows]),
        np.array([row.split for row in rows]), accuracies.chance,
        accuracies.n_items, np.array([text.source for text in whole.texts]),
        tuple(table.losses[:, answers.get(name, none)]
              for name in accuracies.benchmarks), features.columns.uniform)


# ---- methods


class Forecast(NamedTuple):
    """Predicted accuracies and ends of 90 % intervals, `(M, B)` each."""
    values: NDArray
    low: NDArray
    high: NDArray


#: From models to fit to and models to predict to a forecast.
Method = Callable[[Models, Models], Forecast]


def salience(fitted: Models,
             predicted: Models,
             settings: Settings = Settings()) -> Forecast:
    """The default of the package."""
    return _predicted(
        partial(fit_predictor, settings=settings), fitted, predicted)


def mean_loss(fitted: Models, predicted: Models) -> Forecast:
    """The baseline of the package: the mean loss with a learned floor."""
    return _predicted(fit_mean_loss_predictor, replace(fitted, answers=()),
                      replace(predicted, answers=()))


def _predicted(fit: Callable[..., Predictor], fitted: Models,
               predicted: Models) -> Forecast:
    """Forecast by a fit; NaN on benchmarks without any fitted accuracy."""
    features = fitted.features('fitted')
    benchmarks = [str(b) for b in range(len(fitted.chance))]
    accuracies = cp.AccuracyTable(features.models, benchmarks,
                                  fitted.accuracies, fitted.chance,
                                  fitted.n_items)
    predictor = fit(features, accuracies, [str(f) for f in fitted.families],
                    fitted.units())
    found = predictor.predict(predicted.features('new'), LEVEL)
    places = [int(name) for name in found.benchmarks]
    forecast = np.full((3, *predicted.accuracies.shape), np.nan)
    for part, cube in zip(forecast, (found.values, found.low, found.high)):
        part[:, places] = cube[:, :, 0]
    return Forecast(*forecast)


METHODS: dict[str, Method] = {'salience': salience, 'mean-loss': mean_loss}

# ---- figures


@dataclass(frozen=True, eq=False)
class Trial:
    """One or several fits to models of a collection, and models to predict.

    `fits` has a pair for each fit: indices or masks of the models to fit to,
    and of those to predict. `judged` are places of the benchmarks that count.
    """
    group: str
    name: str
    models: Models
    fits: Sequence[tuple[NDArray, NDArray]]
    judged: NDArray

    def forecast(self, method: Method) -> Forecast:
        """Predictions of all fits, one after the other."""
        parts = [
            method(self.models.take(fitted), self.models.take(predicted))
            for fitted, predicted in self.fits
        ]
        return Forecast(*(np.concatenate(part)[:, self.judged]
                          for part in zip(*parts)))

    def observed(self) -> NDArray:
        """Accuracies of the models that are predicted, in this order."""
        rows = [
            self.models.accuracies[predicted] for _, predicted in self.fits
        ]
        return np.concatenate(rows)[:, self.judged]


def log_scores(observed: NDArray, forecast: Forecast) -> NDArray:
    """Log density in nats of observed accuracies, `(M, B)`.

    A prediction and its 90 % interval stand for a Student distribution with
    two halves of unlike widths, whose quantiles are the ends. A fifth of a
    point is the least half width.
    """
    above = observed > forecast.values
    up = np.maximum(forecast.high - forecast.values, LEAST_HALF)
    down = np.maximum(forecast.values - forecast.low, LEAST_HALF)
    quantile = stdtrit(DEGREES, (1 + LEVEL) / 2)
    scale = np.where(above, up, down) / quantile
    density = student.logpdf((observed - forecast.values) / scale, DEGREES)
    return density + np.log(2 * quantile / (up + down))


class Figures(NamedTuple):
    """Figures of a method in one trial.

    `log_error` is the mean over the benchmarks of the logarithm of the mean
    squared error, of fractions. The mean absolute error and the mean width of
    the intervals are in points, the log score is in nats a cell.
    """
    group: str
    trial: str
    method: str
    cells: int
    log_error: float
    mae: float
    score: float
    coverage: float
    width: float
    seconds: float


def column(rows: Sequence[Figures], name: str) -> NDArray:
    """One of the figures of N trials, `(N,)`."""
    return np.array([getattr(row, name) for row in rows])


def figures(trial: Trial, method: str) -> Figures:
    """Run a method on a trial."""
    start = time.process_time()
    forecast = trial.forecast(METHODS[method])
    seconds = time.process_time() - start
    observed = trial.observed()
    known = ~np.isnan(observed)
    errors = forecast.values - observed
    log_errors = np.log(np.nanmean(errors**2, axis=0))
    inside = (forecast.low <= observed) & (observed <= forecast.high)
    return Figures(trial.group, trial.name, method, int(known.sum()),
                   float(log_errors.mean()),
                   100 * float(np.abs(errors)[known].mean()),
                   float(log_scores(observed, forecast)[known].mean()),
                   float(inside[known].mean()), 100 * float(
                       (forecast.high - forecast.low)[known].mean()),
                   round(seconds, 2))


def run(trials: Sequence[Trial], method: str, path: Path) -> list[Figures]:
    """Run a method on trials; figures that a CSV file keeps are read."""
    kept = {(row.group, row.trial): row for row in _read(path)}
    for trial in tqdm(trials, desc=path.stem):
        if (trial.group, trial.name) not in kept:
            kept[trial.group, trial.name] = figures(trial, method)
            _write(path, list(kept.values()))
    return [kept[trial.group, trial.name] for trial in trials]


def _read(path: Path) -> list[Figures]:
    if not path.exists():
        return []
    rows = []
    with path.open(newline='') as file:
        _, *lines = csv.reader(file)
    for group, trial, method, cells, *numbers in lines:
        rows.append(
            Figures(group, trial, method, int(cells), *map(float, numbers)))
    return rows


def _write(path: Path, rows: Sequence[Figures]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(Figures._fields)
        for row in rows:
            writer.writerow([*row[:4], *(f'{value:.8g}' for value in row[4:])])
