"""Parts of the page: differences, heat maps, pictures, training models."""
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np

from csv_plugin.core.predictions import Missing, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.heat_maps import HeatMap, full_weight, strongest_maps

#: Texts that are shown of each benchmark.
N_TEXTS = 3
#: Steps of colour between no weight and full weight.
N_LEVELS = 8


@dataclass(frozen=True)
class MethodErrors:
    """Errors of one predictor on held-out models.

    Mean absolute differences over all cells and by benchmark, fractions, NaN
    if no model was held out; and how many of the intervals of held-out models
    contain the real accuracy.
    """
    label: str
    overall: float
    by_benchmark: Mapping[str, float]
    n_inside: int
    n_cells: int


@dataclass(frozen=True, eq=False)
class HeatSection:
    """Texts with the salience weights of one benchmark.

    Weights of the size `full` are shown in full colour. `rising` is true where
    the predicted accuracy rises with the weighted loss; usually it falls.
    """
    benchmark: str
    full: float
    rising: bool
    maps: list[HeatMap]

    def level(self, weight: float) -> str:
        """Style class of a weight: p1..p8, n1..n8; '' for 0 and NaN."""
        if math.isnan(weight) or weight == 0:
            return ''
        level = math.ceil(N_LEVELS * min(abs(weight) / self.full, 1))
        return f'{"p" if weight > 0 else "n"}{level}'


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, its heading, and how to read it."""
    title: str
    caption: str
    svg: str


@dataclass(frozen=True, eq=False)
class PredictorFile:
    """A predictor, its file and what to call it."""
    label: str
    path: str
    predictor: Predictor


def method_errors(predictions: Predictions, label: str) -> MethodErrors:
    """Return the differences of one of the methods from real accuracies."""
    held_out = predictions.held_out(label)
    sizes = np.abs(predictions.difference(label))[held_out]
    by_benchmark = predictions.mean_difference(label).tolist()
    return MethodErrors(label,
                        float(sizes.mean()) if len(sizes) else math.nan,
                        dict(zip(predictions.benchmarks, by_benchmark)),
                        int(predictions.covered(label).sum()), len(sizes))


def heat_sections(
        predictor: Predictor,
        texts: Optional[TextSet]) -> Union[list[HeatSection], Missing]:
    """Return heat maps of every benchmark, or why there are none.

    Raises:
        InputError: The texts are not those of the predictor.
    """
    if texts is None:
        return Missing('A predictor holds no texts: give the validation set '
                       'with --texts to see its weights.')
    return [
        HeatSection(part.benchmark,
                    full_weight(predictor.token_weights(part.benchmark)),
                    bool(part.model.curve.alpha > 0),
                    strongest_maps(predictor, part.benchmark, texts, N_TEXTS))
        for part in predictor.benchmarks
    ]


def fitted_on(
    predictor: Predictor,
    families: Mapping[str,
                      str]) -> list[tuple[list[str], dict[str, list[str]]]]:
    """Return training models by family, benchmarks of the same in one entry.

    The family of models without a known one is ''.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for part in predictor.benchmarks:
        alike.setdefault(part.fit_models, []).append(part.benchmark)
    groups = []
    for models, benchmarks in alike.items():
        by_family: dict[str, list[str]] = {}
        for model in models:
            by_family.setdefault(families.get(model, ''), []).append(model)
        groups.append((benchmarks, by_family))
    return groups
