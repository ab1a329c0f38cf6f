"""Losses that lie ahead, and the errors of accuracies that follow.

A forecast is a logarithm of the loss on every unit, and errors of forecasts of
the same kind whose end is known. An error is a vector over all units. Each
error is added to the logarithms that are forecast, and the exponents of Eq. 2
are predicted at these possible losses. The mean square of the changes of
exponents becomes a further covariance of the joint distribution. The factor of
Student's t, which stretches its tails, then applies to the sum of both errors.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.joint import Joint
from csv_plugin.core.predictor import Predictor

#: Level of all intervals and ranges of ranks.
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class LossForecast:
    """Losses of one model on K units that lie ahead.

    Attributes:
        logs: Expected logarithms of losses, `(K,)`.
        errors: Errors of n forecasts of the same kind, in logarithms of
            losses, `(n, K)`.
        common: Share of the variance of errors that moves all models
            together, so that it does not change their order.
    """
    logs: NDArray[np.float64]
    errors: NDArray[np.float64]
    common: float = 0.0


def with_loss_errors(joint: Joint, predictor: Predictor, table: FeatureTable,
                     forecasts: Sequence[Optional[LossForecast]]) -> Joint:
    """Return the joint distribution of models whose losses are uncertain.

    `joint` is that of the losses of the table, of M models. Each has its
    forecast, or None if its losses are known.
    """
    if all(forecast is None for forecast in forecasts):
        return joint
    n_models, n_benchmarks = joint.mean.shape
    covariance = np.zeros((n_models, n_benchmarks, n_benchmarks))
    common = np.zeros(n_models)
    for m, forecast in enumerate(forecasts):
        if forecast is not None:
            losses = table.values[m:m + 1]
            changes = _changes(predictor, table, losses, forecast.errors)
            covariance[m] = changes.T @ changes / len(changes)
            common[m] = forecast.common
    return joint.with_errors(covariance, common)


def _changes(predictor: Predictor, table: FeatureTable, losses: NDArray,
             errors: NDArray) -> NDArray[np.float64]:
    """What n errors of the losses of a model do to its exponents, `(n, B)`.

    `losses` are `(1, K)` in the columns of the table; `errors`, `(n, K)`, are
    of their logarithms.
    """
    logs = log_losses(predictor, losses)
    possible = losses_of(predictor, logs + errors)
    exponents = _exponents(predictor, table, possible)
    return exponents - _exponents(predictor, table, losses)


def _exponents(predictor: Predictor, table: FeatureTable,
               losses: NDArray) -> NDArray[np.float64]:
    """Expected exponents, `(n, B)`, of n models with losses `(n, K)`."""
    names = tuple(str(row) for row in range(len(losses)))
    models = FeatureTable(names, table.columns, losses)
    return predictor.joint(models).mean


def log_losses(predictor: Predictor, losses: NDArray) -> NDArray[np.float64]:
    """Return logarithms of losses `(M, K)`, as the predictor sees losses.

    A loss below `settings.least` times the median of the training models on
    this unit counts as that. Columns of single tokens, whose losses may be
    almost 0, give log(loss + `settings.knee`) instead.
    """
    settings = predictor.model.settings
    token_columns = predictor.fit.units.tokens
    # Smallest loss of which there is a logarithm.
    tiny = 1e-150
    least = settings.least * np.median(predictor.fit.losses, axis=0)
    logs = np.log(np.maximum(losses, np.maximum(least, tiny)))
    logs[:, token_columns] = np.log(losses[:, token_columns] + settings.knee)
    return logs


def losses_of(predictor: Predictor, logs: NDArray) -> NDArray[np.float64]:
    """Return losses `(M, K)`: the inverse of `log_losses`.

    Losses that `log_losses` raised to the least one stay there.
    """
    settings = predictor.model.settings
    token_columns = predictor.fit.units.tokens
    losses = np.exp(logs)
    above_knee = losses[:, token_columns] - settings.knee
    losses[:, token_columns] = np.maximum(above_knee, 0)
    return losses


def worse_and_better(
        quality: NDArray
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield rows of the worst 1/2, 2/3 and 5/6 of models, and of the rest.

    `quality` orders them, `(M,)`; high is good.
    """
    shares = (1 / 2, 2 / 3, 5 / 6)
    worst_first = np.argsort(quality, kind='stable')
    for share in shares:
        n_worse = round(len(worst_first) * share)
        yield worst_first[:n_worse], worst_first[n_worse:]
