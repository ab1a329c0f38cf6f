"""The errors that a predictor states, held against fresh series."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import geometric_mean
from csv_plugin.io.runs.run_dumps import read_run_dump
from tools.studies import world
from tools.studies.expected_and_found import ExpectedAndFound, both_kinds
from tools.studies.zoo import building
from tools.studies.zoo.recipes import CHECKPOINTS


@dataclass(frozen=True, eq=False)
class FreshErrors:
    """Errors on M models of which none was fitted to, by exam.

    Args:
        exams (tuple[str, ...]): B names.
        expected (NDArray): Mean squared error that the predictor expects for
            families it was not fitted to, `(B,)`.
        typical (NDArray): The one that half of these families stay below,
            `(B,)`.
        mse (NDArray): Mean squared error on the models, `(B,)`.
        mae (NDArray): Mean absolute error, a fraction, `(B,)`.
        coverage (NDArray): Share of 90 % intervals that hold the real
            accuracy, `(B,)`.
        width (NDArray): Their mean width, a fraction, `(B,)`.
        disagrees (NDArray): Share of predictions that other losses contradict,
            `(B,)`.
    """
    exams: tuple[str, ...]
    expected: NDArray[np.float64]
    typical: NDArray[np.float64]
    mse: NDArray[np.float64]
    mae: NDArray[np.float64]
    coverage: NDArray[np.float64]
    width: NDArray[np.float64]
    disagrees: NDArray[np.float64]

    def rows(self) -> NDArray[np.float64]:
        """A row per exam and one of means, `(B + 1, 8)`.

        The columns are the three MSE in 1e-3 and how many times the expected
        one the last is, MAE in points, coverage, width in points, and flags.
        The means of the first four are geometric.
        """
        squares = 1e3 * np.stack([self.expected, self.typical, self.mse])
        rest = [
            100 * self.mae, self.coverage, 100 * self.width, self.disagrees
        ]
        rows = np.stack([*squares, squares[2] / squares[0], *rest], axis=1)
        means = [
            *map(geometric_mean, rows[:, :4].T), *rows[:, 4:].mean(axis=0)
        ]
        return np.vstack([rows, means])


@dataclass(frozen=True, eq=False)
class FreshSeries:
    """Losses and accuracies of models that no predictor has seen.

    Args:
        dumps (Mapping[str, TokenLossDump]): Losses of M checkpoints, by name,
            such as 'z7-s@10'.
        accuracies (NDArray): Their accuracies, fractions, `(M, B)`, in the
            order of `world.KINDS`.
    """
    dumps: Mapping[str, TokenLossDump]
    accuracies: NDArray[np.float64]

    @property
    def series(self) -> tuple[str, ...]:
        """The series of each model, such as 'z7'. Length M."""
        return tuple(name.split('-')[0] for name in self.dumps)

    def select(self, series: str) -> 'FreshSeries':
        """The models of one series."""
        rows = [m for m, name in enumerate(self.series) if name == series]
        names = list(self.dumps)
        return FreshSeries({names[m]: self.dumps[names[m]]
                            for m in rows}, self.accuracies[rows])

    def predictions(self, predictor: Predictor) -> Predictions:
        """What a predictor of the exams says of the models, in their order."""
        return predictor.predict(self.dumps).select(benchmarks=world.KINDS)

    def squares(self, predictor: Predictor) -> NDArray[np.float64]:
        """Squared errors of a predictor, `(M, B)`."""
        values = self.predictions(predictor).values[:, :, 0]
        return np.square(values - self.accuracies)

    def errors(self, predictor: Predictor) -> FreshErrors:
        """Hold a predictor of the exams against the models.

        Args:
            predictor (Predictor): With a benchmark for each exam.
        """
        predictions = self.predictions(predictor)
        values, low, high = (
            getattr(predictions, part)[:, :, 0]
            for part in ('values', 'low', 'high'))
        real = self.accuracies
        errors = values - real
        parts = [predictor.benchmark(kind) for kind in world.KINDS]
        return FreshErrors(
            exams=tuple(world.KINDS),
            expected=np.array([part.cv_mse for part in parts]),
            typical=np.array([part.typical_error**2 for part in parts]),
            mse=(errors**2).mean(axis=0),
            mae=np.abs(errors).mean(axis=0),
            coverage=((low <= real) & (real <= high)).mean(axis=0),
            width=(high - low).mean(axis=0),
            disagrees=predictions.disagrees[:, :, 0].mean(axis=0))

    def expected_and_found(self,
                           predictor: Predictor) -> list[ExpectedAndFound]:
        """Errors of a predictor by kind, beside those it states, by series."""
        values = self.predictions(predictor).values[:, :, 0]
        squares = np.square(values - self.accuracies)
        groups = {
            name: np.array(self.series) == name
            for name in dict.fromkeys(self.series)
        }
        return [
            part for b, exam in enumerate(world.KINDS)
            for part in both_kinds(exam,
                                   predictor.benchmark(exam).errors_by_reach,
                                   values[:, b], squares[:, b], groups)
        ]


def read_fresh_series(runs: Sequence[Path],
                      names: Sequence[str]) -> FreshSeries:
    """What OpenCompass recorded of models.

    Args:
        runs (Sequence[Path]): Its time-stamped folders, in order of time.
        names (Sequence[str]): The models, such as 'z7-s', each with all its
            checkpoints.

    Raises:
        InputError: An accuracy or a dump is in none of the runs.
    """
    checkpoints = [
        building.abbr(name, percent) for name in names
        for percent in CHECKPOINTS
    ]
    fingerprint = world.validation_texts().fingerprint
    dumps = {
        name:
        read_run_dump(
            building.last_run(runs, f'predictions/{name}'), name, fingerprint)
        for name in checkpoints
    }
    return FreshSeries(
        dumps,
        np.array(
            [[building.accuracy(runs, name, kind) for kind in world.KINDS]
             for name in checkpoints]))
