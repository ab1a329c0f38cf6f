"""Predicted accuracies, with what must be known to read them."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Prediction:
    """One predicted accuracy.

    Args:
        value (float): A fraction in 0..1.
        low (float): Lower end of the interval, a fraction.
        high (float): Upper end, a fraction.
        level (float): Share of such intervals that should hold the
            observed accuracy.
        extrapolated (bool): Whether the capability score lies outside
            those fitted on.
        in_sample (bool): Whether the model's observed accuracy was fitted
            on, so that the prediction proves nothing.
    """
    value: float
    low: float
    high: float
    level: float
    extrapolated: bool
    in_sample: bool


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Predicted accuracies of M models on B benchmarks.

    Args:
        models (tuple[str, ...]): M names.
        benchmarks (tuple[str, ...]): B names.
        values (NDArray): Fractions, shape `(M, B)`; so are `low`, `high`.
        low (NDArray): Lower ends of the intervals.
        high (NDArray): Upper ends of the intervals.
        extrapolated (NDArray): Shape `(M, B)`, see `Prediction`.
        in_sample (NDArray): Shape `(M, B)`, see `Prediction`.
        level (float): Level of the intervals.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    values: NDArray
    low: NDArray
    high: NDArray
    extrapolated: NDArray
    in_sample: NDArray
    level: float

    _ARRAYS: ClassVar = ('values', 'low', 'high', 'extrapolated', 'in_sample')

    def at(self, model: str, benchmark: str) -> Prediction:
        """The prediction of one model on one benchmark.

        Raises:
            ValueError: If the table has no such model or benchmark.
        """
        cell = self.models.index(model), self.benchmarks.index(benchmark)
        return Prediction(
            float(self.values[cell]), float(self.low[cell]),
            float(self.high[cell]), self.level, bool(self.extrapolated[cell]),
            bool(self.in_sample[cell]))

    def select(self, models: Sequence[str]) -> 'PredictionTable':
        """The rows of some models, in their order.

        Raises:
            ValueError: If the table has no such model.
        """
        rows = [self.models.index(model) for model in models]
        return replace(
            self, models=tuple(models),
            **{part: getattr(self, part)[rows]
               for part in self._ARRAYS})  # yapf: disable

    def on(self, benchmarks: Sequence[str]) -> 'PredictionTable':
        """The columns of some benchmarks, NaN for those it does not know."""
        shape = len(self.models), len(benchmarks)
        parts: dict[str, Any] = {
            part:
            np.zeros(shape, bool)
            if getattr(self, part).dtype == bool else np.full(shape, np.nan)
            for part in self._ARRAYS
        }
        for column, benchmark in enumerate(benchmarks):
            if benchmark in self.benchmarks:
                known = self.benchmarks.index(benchmark)
                for part, array in parts.items():
                    array[:, column] = getattr(self, part)[:, known]
        return replace(self, benchmarks=tuple(benchmarks), **parts)

    @classmethod
    def concatenate(cls,
                    tables: Sequence['PredictionTable']) -> 'PredictionTable':
        """One table of the models of all; benchmarks and level agree."""
        return replace(
            tables[0], models=sum((table.models for table in tables), ()),
            **{part: np.concatenate([getattr(t, part) for t in tables])
               for part in cls._ARRAYS})  # yapf: disable
