"""Methods side by side on the same models, each judged alike."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from time import process_time
from typing import Any

import numpy as np

from csv_plugin.core import metrics
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience.base import grouped_folds
from tools.studies.other_methods.all_methods import METHODS, Evidence
from tools.studies.resampling import error_ratio

#: Of the intervals of predictions.
LEVEL = 0.9


@dataclass(frozen=True)
class Fold:
    """Models to fit to, and models to predict from that fit."""
    fit: tuple[str, ...]
    predict: tuple[str, ...]


def family_folds(models: Sequence[str],
                 families: Mapping[str, str],
                 seed: int = 0,
                 n_folds: int = 8) -> list[Fold]:
    """Folds that predict every model once, from other families."""
    folds = grouped_folds([families[model] for model in models], n_folds, seed)
    names = np.array(models, dtype=object)
    return [
        Fold(tuple(names[folds != fold]), tuple(names[folds == fold]))
        for fold in range(folds.max() + 1)
    ]


@dataclass(frozen=True)
class Errors:
    """Of a method on one benchmark, or means over several.

    Args:
        mse (float): Mean squared error; over benchmarks, its geometric mean.
        mae (float): Mean absolute error.
        coverage (float): Share of intervals that hold the real accuracy.
        width (float): Mean width of the intervals.
    """
    mse: float
    mae: float
    coverage: float
    width: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """What several methods predicted of the same models.

    Args:
        predictions (Predictions): Beside the real accuracies; the method
            that others are compared with first.
        families (tuple[str, ...]): Of the M models, in their order.
        seconds (Mapping[str, float]): CPU time of fits and predictions, by
            method.
    """
    predictions: Predictions
    families: tuple[str, ...]
    seconds: Mapping[str, float]

    def errors(self, method: str) -> dict[str, Errors]:
        """By benchmark; NaN where the method says nothing."""
        table = self.predictions.select(methods=[method])
        return {
            benchmark: _errors(table, b)
            for b, benchmark in enumerate(table.benchmarks)
        }

    def mean_errors(self, method: str) -> Errors:
        """Means over the benchmarks; NaN if the method lacks one of them."""
        errors = list(self.errors(method).values())
        return Errors(
            float(np.exp(np.mean(np.log([part.mse for part in errors])))),
            float(np.mean([part.mae for part in errors])),
            float(np.mean([part.coverage for part in errors])),
            float(np.mean([part.width for part in errors])))

    def ratio(self, method: str) -> tuple[float, float, float]:
        """MSE of a method over that of the first method.

        Geometric mean over the benchmarks, and both ends of its 90 %
        interval: families are drawn, as many as there are, with repetition.
        A single family has no interval: NaN.

        Args:
            method (str): One of the methods; all is NaN if it says nothing
                about one of the benchmarks.
        """
        known = np.where(np.isnan(self.predictions.real), np.nan, 1)
        squares, reference = (
            known * self.predictions.difference(name)**2
            for name in (method, self.predictions.methods[0]))
        return error_ratio(squares, reference, self.families)


def _errors(table: Predictions, b: int) -> Errors:
    """Of the only method of a table, on its benchmark b."""
    real = table.real[:, b]
    values, low, high = (
        part[:, b, 0] for part in (table.values, table.low, table.high))
    return Errors(
        metrics.mse(real, values), metrics.mae(real, values),
        metrics.coverage(real, low, high), metrics.mean_width(low, high))


def compare(evidence: Evidence,
            families: Mapping[str, str],
            methods: Sequence[str],
            folds: Sequence[Fold],
            seed: int = 0,
            progress: Progress = iter) -> Comparison:
    """Fit methods to the same models, and predict the same others."""
    models = tuple(model for fold in folds for model in fold.predict)
    observed = evidence.accuracies.select(models)
    shape = len(models), len(observed.benchmarks), len(methods)
    cubes: dict[str, Any] = {
        part: np.full(shape, np.nan)
        for part in ('values', 'low', 'high')
    }
    cubes['extrapolated'] = np.zeros(shape, dtype=bool)
    seconds = dict.fromkeys(methods, 0.0)
    row = {model: m for m, model in enumerate(models)}
    place = {name: b for b, name in enumerate(observed.benchmarks)}
    fits = list(product(folds, enumerate(methods)))
    for fold, (p, method) in progress(fits):
        start = process_time()
        predicted = _predict(evidence, families, fold, method, seed)
        seconds[method] += process_time() - start
        rows = [row[model] for model in fold.predict]
        for table in predicted:
            columns = [place[name] for name in table.benchmarks]
            for part, cube in cubes.items():
                cube[np.ix_(rows, columns, [p])] = getattr(table, part)
    predictions = Predictions(
        models,
        observed.benchmarks,
        tuple(methods),
        in_sample=np.zeros(shape, dtype=bool),
        real=observed.values,
        level=LEVEL,
        chance=dict(zip(observed.benchmarks, observed.chance.tolist())),
        **cubes)
    return Comparison(predictions, tuple(families[model] for model in models),
                      seconds)


def _predict(evidence: Evidence, families: Mapping[str, str], fold: Fold,
             method: str, seed: int) -> list[Predictions]:
    """Of one method, on the benchmarks about which it says something.

    Benchmarks that are fitted to the same features are fitted together, as a
    solver may learn from all of them.
    """
    parts = {
        benchmark: part
        for benchmark in evidence.accuracies.benchmarks
        if (part := METHODS[method].part(evidence, benchmark))
    }
    predictions = []
    for _, group in groupby(parts, lambda name: [*map(id, parts[name])]):
        benchmarks = list(group)
        features, solver = parts[benchmarks[0]]
        predictor = fit_predictor(
            features, evidence.accuracies.select(fold.fit, benchmarks),
            [families[model] for model in fold.fit], solver, seed)
        predictions.append(
            predictor.predict(features.select(fold.predict), LEVEL))
    return predictions
