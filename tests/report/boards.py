"""Leaderboards for tests, whose cells can be changed before they are built."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Union

import numpy as np

from csv_plugin.core.predictions import (OBSERVED, Missing, Prediction,
                                         Predictions)
from csv_plugin.report.leaderboards import Leaderboard

NO_DUMP = Missing('no dump')
CUBES = ('low', 'high', 'extrapolated', 'in_sample')


@dataclass
class Cells:
    """Parts of a leaderboard.

    `observed` has a fraction or a `Missing` by model and benchmark,
    `predicted` a `Prediction` or a `Missing` by label, model and benchmark.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    labels: tuple[str, ...]
    observed: dict[tuple[str, str], Union[float, Missing]]
    predicted: dict[tuple[str, str, str], Union[Prediction, Missing]]
    folders: dict[str, str]
    remarks: Sequence[str] = ()

    def only(self, benchmark: str) -> 'Cells':
        return replace(self, benchmarks=(benchmark, ))

    def board(self) -> Leaderboard:
        names = self.models, self.benchmarks, self.labels
        shape = tuple(map(len, names))
        numbers = np.zeros((len(CUBES) + 1, *shape))
        numbers[:3] = np.nan
        observed, missing, level = np.full(shape[:2], np.nan), {}, np.nan
        for (m, model), (b, benchmark) in product(*map(enumerate, names[:2])):
            accuracy = self.observed[model, benchmark]
            if isinstance(accuracy, Missing):
                missing[model, benchmark, OBSERVED] = accuracy
            else:
                observed[m, b] = accuracy
            for p, label in enumerate(self.labels):
                cell = self.predicted[label, model, benchmark]
                if isinstance(cell, Missing):
                    missing[model, benchmark, label] = cell
                else:
                    level = cell.level
                    numbers[:, m, b, p] = [
                        cell.value, *(getattr(cell, name) for name in CUBES)
                    ]
        parts = dict(zip(CUBES, numbers[1:]))
        for name in CUBES[2:]:
            parts[name] = parts[name].astype(bool)
        chance = dict.fromkeys(self.benchmarks, 0.25)
        return Leaderboard.of(
            Predictions(*names, values=numbers[0], observed=observed,
                        level=level, missing=missing, chance=chance, **parts),
            self.folders, self.remarks)  # yapf: disable


def predict(value: float = 0.4,
            below: float = 0.1,
            above: float = 0.1,
            **marks: bool) -> Prediction:
    """A prediction with an interval around its value."""
    marks = dict(extrapolated=False, in_sample=False) | marks
    return Prediction(value, value - below, value + above, 0.9, **marks)


def make_cells(
    models: Sequence[str],
    benchmarks: Sequence[str],
    labels: Sequence[str],
    observed: Sequence[float] = (),
    prediction: Prediction = predict()
) -> Cells:
    """Cells with the same prediction everywhere.

    The observed accuracy of each model on every benchmark is 0.5 by default.
    """
    accuracies = observed or [0.5] * len(models)
    return Cells(
        tuple(models), tuple(benchmarks), tuple(labels), {
            (model, benchmark): accuracy
            for model, accuracy in zip(models, accuracies)
            for benchmark in benchmarks
        }, dict.fromkeys(product(labels, models, benchmarks), prediction),
        {model: model
         for model in models})
