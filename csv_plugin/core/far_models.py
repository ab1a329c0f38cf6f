"""Name the models that are far from the training models."""
from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from csv_plugin.core.formatting import all_or_first_names, grouped, labelled
from csv_plugin.core.measurement_units import measurement_notes

if TYPE_CHECKING:
    from csv_plugin.core.predictions import Predictions


def far_notes(predictions: 'Predictions') -> Iterator[str]:
    """Yield notes that name the models far from the training models.

    A model is far if more than half of its predictions are extrapolated, or if
    its losses seem to be measured in another unit. Predictions of training
    models do not count. Methods with the same far models share a line.
    """
    has_value = np.isfinite(predictions.values)
    predicted = has_value & ~predictions.in_sample
    # Models in another unit have a note of their own.
    has_other_unit = predictions.measurement_factor != 1
    yield from measurement_notes(predictions.models,
                                 predictions.model_measurement_factors)
    extrapolated = predictions.extrapolated & predicted & ~has_other_unit
    n_far = extrapolated.sum(axis=1)  # (models, methods)
    n_predicted = predicted.sum(axis=1)
    mostly_far = n_far > n_predicted / 2
    pairs = []
    for method, far in zip(predictions.methods, mostly_far.T):
        models = tuple(compress(predictions.models, far))
        if models:
            pairs.append((models, method))
    for models, methods in grouped(pairs).items():
        named_models = all_or_first_names(models, predictions.models, 'models')
        note = (
            'far from the training models (>) on most benchmarks, so expect '
            f'larger errors: {named_models}. Fit to models that are more '
            'similar to these models, and check that all losses have the same '
            'unit.')
        yield labelled(methods, predictions.methods, note)
