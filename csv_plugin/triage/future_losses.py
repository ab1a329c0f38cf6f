"""Carry the errors of forecast losses over to predicted accuracies.

A forecast consists of the expected logarithm of the loss on every unit, and of
the errors of similar forecasts that could be checked. Such an error is a
vector over all units. Each error is added to the expected logarithms, which
gives possible losses, and the exponents of Eq. 2 are predicted at these
possible losses. The mean products of the changes of a model's exponents are a
covariance matrix between benchmarks. It is added to the covariance of the
joint distribution. The factor of Student's t, which stretches the tails of the
joint distribution, then applies to the sum of both covariances.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.joint import Joint
from csv_plugin.core.predictor import Predictor

#: A split of models into two groups: the indices of the models in each.
Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class LossForecast:
    """Forecast losses of one model on K units.

    Attributes:
        logs: Expected logarithms of losses, `(K,)`.
        errors: Errors of n similar forecasts, in logarithms of losses,
            `(n, K)`.
        common_share: Share of the error variance that all models have in
            common, so that it does not change their order.
    """
    logs: Floats
    errors: Floats
    common_share: float = 0.0


def with_loss_errors(joint: Joint, predictor: Predictor, table: FeatureTable,
                     forecasts: Sequence[Optional[LossForecast]]) -> Joint:
    """Return the joint distribution of models whose losses are uncertain.

    `table` has the expected losses of M models, and `joint` is the joint
    distribution of accuracies at these losses. `forecasts` has an entry for
    each model: the forecast of its losses, or None if its losses are known.
    """
    if all(forecast is None for forecast in forecasts):
        return joint
    n_models, n_benchmarks = joint.mean.shape
    covariance = np.zeros((n_models, n_benchmarks, n_benchmarks))
    common_shares = np.zeros(n_models)
    for m, forecast in enumerate(forecasts):
        if forecast is None:
            continue
        losses = table.values[[m]]
        changes = _changes(predictor, table, losses, forecast.errors)
        products = changes.T @ changes  # (B, B)
        covariance[m] = products / len(changes)
        common_shares[m] = forecast.common_share
    return joint.with_errors(covariance, common_shares)


def _changes(predictor: Predictor, table: FeatureTable, losses: NDArray,
             errors: NDArray) -> Floats:
    """Return the changes of a model's exponents by n errors, `(n, B)`.

    `losses`, `(1, K)`, are the expected losses of the model in the columns of
    the table. `errors`, `(n, K)`, are added to their logarithms.
    """
    expected = _exponents(predictor, table, losses)
    logs = log_losses(predictor, losses)
    possible_losses = losses_of(predictor, logs + errors)
    possible = _exponents(predictor, table, possible_losses)
    return possible - expected


def _exponents(predictor: Predictor, table: FeatureTable,
               losses: NDArray) -> Floats:
    """Return the expected exponents, `(n, B)`, at losses `(n, K)`."""
    numbers = range(len(losses))
    names = tuple(map(str, numbers))
    models = FeatureTable(names, table.columns, losses)
    joint = predictor.joint(models)
    return joint.mean


def log_losses(predictor: Predictor, losses: NDArray) -> Floats:
    """Return logarithms of losses, `(M, K)`, in which runs are forecast.

    The lower bound of the losses on a unit is `settings.least` times the
    median loss of the training models. For columns that are single tokens,
    whose losses may be almost 0, the result is log(loss + `settings.knee`).
    """
    settings = predictor.model.settings
    token_columns = predictor.fit.units.tokens
    # The least lower bound, for columns whose median is 0: 0 has no logarithm.
    tiny = 1e-150
    medians = np.median(predictor.fit.losses, axis=0)
    least = np.maximum(settings.least * medians, tiny)
    counted_losses = np.maximum(losses, least)
    logs = np.log(counted_losses)
    token_losses = losses[:, token_columns]
    token_losses += settings.knee
    logs[:, token_columns] = np.log(token_losses)
    return logs


def losses_of(predictor: Predictor, logs: NDArray) -> Floats:
    """Return the losses, `(M, K)`, that `log_losses` turns into `logs`.

    A loss that `log_losses` raised to its lower bound becomes this bound.
    """
    settings = predictor.model.settings
    token_columns = predictor.fit.units.tokens
    losses = np.exp(logs)
    token_losses = losses[:, token_columns]
    token_losses -= settings.knee
    losses[:, token_columns] = np.maximum(token_losses, 0)
    return losses


def worse_and_better(quality: NDArray) -> Iterator[Split]:
    """Yield three splits of M models into worse and better models.

    In the three splits, the worse models are the worst half, two thirds and
    five sixths of all models by `quality`, `(M,)`; high values are good.
    """
    shares = (1 / 2, 2 / 3, 5 / 6)
    worst_first = np.argsort(quality, kind='stable')
    n_models = len(worst_first)
    for share in shares:
        n_worse = round(n_models * share)
        worse = worst_first[:n_worse]
        better = worst_first[n_worse:]
        yield worse, better
