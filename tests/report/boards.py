"""Leaderboards for tests, whose cells can be changed before they are built."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Union

import numpy as np

from csv_plugin.core.predictions import REAL, Missing, Prediction, Predictions
from csv_plugin.report.leaderboards import Leaderboard

NO_DUMP = Missing('no dump')


@dataclass
class Cells:
    """What a leaderboard is made of.

    Args:
        models (tuple[str, ...]): M names.
        benchmarks (tuple[str, ...]): B names.
        labels (tuple[str, ...]): Labels of the predictors.
        real (dict): A fraction or a `Missing`, by model and benchmark.
        predicted (dict): A `Prediction` or a `Missing`, by label, model and
            benchmark.
        folders (dict[str, str]): Folder by model.
        remarks (Sequence[str]): Notes at the end.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    labels: tuple[str, ...]
    real: dict[tuple[str, str], Union[float, Missing]]
    predicted: dict[tuple[str, str, str], Union[Prediction, Missing]]
    folders: dict[str, str]
    remarks: Sequence[str] = ()

    def only(self, benchmark: str) -> 'Cells':
        """The same cells on a single benchmark."""
        return replace(self, benchmarks=(benchmark, ))

    def board(self) -> Leaderboard:
        """The leaderboard of the cells as they are now."""
        shape = len(self.models), len(self.benchmarks), len(self.labels)
        nothing = Prediction(np.nan, np.nan, np.nan, np.nan, False, False)
        missing = {(*place, REAL): cell
                   for place, cell in self.real.items()
                   if isinstance(cell, Missing) and place[1] in self.benchmarks
                   }  # yapf: disable
        missing |= {(model, benchmark, label): cell
                    for (label, model, benchmark), cell
                    in self.predicted.items()
                    if isinstance(cell, Missing)
                    and benchmark in self.benchmarks}  # yapf: disable
        cells = [
            self.predicted[label, model,
                           benchmark] for model, benchmark, label in product(
                               self.models, self.benchmarks, self.labels)
        ]
        cells = [
            nothing if isinstance(cell, Missing) else cell for cell in cells
        ]
        real = [self.real[place]
                for place in product(self.models, self.benchmarks)
                ]  # yapf: disable
        levels = [cell.level for cell in cells if cell is not nothing]

        def cube(name: str, kind: type) -> np.ndarray:
            values = [getattr(cell, name) for cell in cells]
            return np.array(values, kind).reshape(shape)

        return Leaderboard.of(
            Predictions(
                self.models,
                self.benchmarks,
                self.labels,
                values=cube('value', float),
                low=cube('low', float),
                high=cube('high', float),
                extrapolated=cube('extrapolated', bool),
                in_sample=cube('in_sample', bool),
                alarm=cube('alarm', bool),
                real=np.array([
                    np.nan if isinstance(cell, Missing) else cell
                    for cell in real
                ], float).reshape(shape[:2]),
                level=levels[0] if levels else np.nan,
                missing=missing,
                chance=dict.fromkeys(self.benchmarks, 0.25)), self.folders,
            self.remarks)


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
    real: Sequence[float] = (),
    prediction: Prediction = predict()
) -> Cells:
    """Cells with the same prediction everywhere.

    Args:
        models (Sequence[str]): Names.
        benchmarks (Sequence[str]): Names.
        labels (Sequence[str]): Labels of the predictors.
        real (Sequence[float]): Real accuracy of each model on every
            benchmark, by default 0.5.
        prediction (Prediction): Of every cell.
    """
    accuracies = real or [0.5] * len(models)
    return Cells(
        tuple(models), tuple(benchmarks), tuple(labels), {
            (model, benchmark): accuracy
            for model, accuracy in zip(models, accuracies)
            for benchmark in benchmarks
        }, dict.fromkeys(product(labels, models, benchmarks), prediction),
        {model: model
         for model in models})
