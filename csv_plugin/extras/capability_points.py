"""Capability scores and accuracies of models beside the fitted curve."""
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.input_error import InputError
from csv_plugin.core.predictor import Losses, Predictor
from csv_plugin.core.scaling_law import Curve


@dataclass(frozen=True, eq=False)
class CapabilityPoints:
    """M models on one benchmark.

    Args:
        benchmark (str): Its name.
        models (tuple[str, ...]): M names.
        families (tuple[str, ...]): Family of each.
        scores (NDArray): Capability scores, `(M,)`.
        accuracies (NDArray): Fractions, NaN where not run, `(M,)`.
        fitted (NDArray): Training models, bool, `(M,)`.
        fitted_range (tuple[float, float]): Lowest and highest score of all
            training models, not only of these; `(inf, -inf)` of none.
        curve (Curve): Scaling law of the benchmark (Eq. 2).
        chance (float): Accuracy at random guessing, a fraction.
        unit (str): Of the scores.
    """
    benchmark: str
    models: tuple[str, ...]
    families: tuple[str, ...]
    scores: NDArray
    accuracies: NDArray
    fitted: NDArray[np.bool_]
    fitted_range: tuple[float, float]
    curve: Curve
    chance: float
    unit: str

    __repr__ = short_repr

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """Models with a score and an accuracy, `(M,)`."""
        return np.isfinite(self.scores) & np.isfinite(self.accuracies)


def capability_points(predictor: Predictor, losses: Losses,
                      observed: AccuracyTable,
                      families: Mapping[str, str]) -> list[CapabilityPoints]:
    """Return what `capability_picture` draws, by benchmark of both tables.

    Args:
        predictor (Predictor): Its salience vectors and curves are used.
        losses (Losses): Of M models, as in `Predictor.predict`.
        observed (AccuracyTable): Of these models, in any order.
        families (Mapping[str, str]): Family of each model.

    Raises:
        InputError: As in `Predictor.features`, a model has no accuracies or
            no family, or there is no common benchmark.
    """
    features = predictor.features(losses)
    for model in features.models:
        if model not in families:
            raise InputError('families', 'the family of every model',
                             f'none of {model!r}', 'Name its family.')
    table = observed.select(features.models)
    common = [name for name in predictor.names if name in table.benchmarks]
    if not common:
        raise InputError('capability_points',
                         'accuracies on a benchmark of the predictor',
                         f'only {list(table.benchmarks)}',
                         'Give accuracies on its benchmarks.')
    unit = ('unit of the losses'
            if features.columns.scored is None else 'nats per character')
    points = []
    for name in common:
        part = predictor.benchmark(name)
        points.append(
            CapabilityPoints(
                name, features.models,
                tuple(families[model] for model in features.models),
                part.model.scores(features.values), table.column(name),
                np.isin(features.models, part.fit_models),
                (part.intervals.score_low, part.intervals.score_high),
                part.model.curve, part.chance, unit))
    return points
