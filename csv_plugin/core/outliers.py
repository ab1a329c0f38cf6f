"""Models whose real accuracy is far from the prediction."""
import math
from dataclasses import dataclass
from typing import Optional

import numpy as np

from csv_plugin.core.predictions import Predictions


@dataclass(frozen=True)
class Outlier:
    """A model's accuracy on a benchmark that its losses do not explain.

    Args:
        model (str): Its name.
        benchmark (str): The benchmark on which it stands out.
        observed (float): Real accuracy, a fraction.
        predicted (float): Predicted accuracy, a fraction.
        low (float): Lower end of the interval.
        high (float): Upper end.
        distance (float): Observed minus predicted, in halves of the
            interval on that side; positive above. Infinite if that half
            has no width.
    """
    model: str
    benchmark: str
    observed: float
    predicted: float
    low: float
    high: float
    distance: float


def outliers(predictions: Predictions,
             method: Optional[str] = None,
             limit: float = 1.0) -> list[Outlier]:
    """Accuracies beyond a limit, the farthest from its prediction first.

    Models whose accuracy was fitted on do not count, as their prediction
    has seen it.

    Args:
        predictions (Predictions): Beside the real accuracies.
        method (Optional[str]): Whose predictions, by default the first.
        limit (float): Accuracies farther away than this are listed, 1 = the
            end of the interval.

    Raises:
        InputError: There are no predictions of the method.
    """
    method = predictions.methods[0] if method is None else method
    table = predictions.select(methods=[method])
    far = [
        _outlier(table, int(m), int(b))
        for m, b in np.argwhere(table.held_out(method))
    ]
    return sorted(
        (outlier for outlier in far if abs(outlier.distance) > limit),
        key=lambda outlier: -abs(outlier.distance))


def _outlier(table: Predictions, m: int, b: int) -> Outlier:
    """Model m on benchmark b, of a table of a single method."""
    observed = float(table.real[m, b])
    predicted, low, high = (
        float(part[m, b, 0]) for part in (table.values, table.low, table.high))
    difference = observed - predicted
    half = high - predicted if difference > 0 else predicted - low
    if half > 0 or math.isnan(half):
        distance = difference / half
    else:
        distance = math.copysign(math.inf, difference) if difference else 0.0
    return Outlier(table.models[m], table.benchmarks[b], observed, predicted,
                   low, high, distance)
