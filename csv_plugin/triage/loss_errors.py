"""What accuracies are off by where losses are extrapolated.

Losses that lie ahead are logarithms with errors like those of a back-test:
vectors over all units, so that what units have in common stays together. Each
error, and its opposite, is one more place that the losses may be at. What the
exponents of Eq. 2 move by from place to place widens their joint distribution.
"""
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.joint import Joint
from csv_plugin.core.predictor import Predictor

#: Level of all intervals and ranges of ranks.
LEVEL = 0.9
#: Smaller losses count as this share of the typical one.
LEAST_RATIO = 0.05
#: Better models are forecast from these shares of all models, the worst.
WORSE = (1 / 2, 2 / 3, 5 / 6)
#: Smallest typical loss.
TINY = 1e-150


def typical_losses(losses: NDArray) -> NDArray[np.float64]:
    """Return medians over models of losses `(M, K)`; they are not 0."""
    return np.maximum(np.median(losses, axis=0), TINY)


def log_losses(losses: NDArray, typical: NDArray) -> NDArray[np.float64]:
    """Return logarithms of losses `(M, K)` over typical ones, `(K,)`."""
    return np.log(np.maximum(losses / typical, LEAST_RATIO))


def worse_and_better(
    quality: NDArray
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield rows of the worst 1/2, 2/3 and 5/6 of models, and of the rest.

    `quality` orders them, `(M,)`; high is good.
    """
    order = np.argsort(quality, kind='stable')
    for share in WORSE:
        n_worse = round(len(order) * share)
        yield order[:n_worse], order[n_worse:]


def with_loss_errors(joint: Joint, predictor: Predictor, table: FeatureTable,
                     errors: Sequence[NDArray],
                     freedom: Sequence[int]) -> Joint:
    """Return the joint distribution of models whose losses are uncertain.

    `joint` is that of the losses of the table, of M models. For each of them,
    `errors` are of logarithms of losses, `(n, K)`, perhaps none, with so many
    degrees of freedom: at `LEVEL`, intervals are as wide as by Student's t.
    """
    n_benchmarks = len(predictor.names)
    covariance = np.zeros((len(table.models), n_benchmarks, n_benchmarks))
    for m, (errors_of, degrees) in enumerate(zip(errors, freedom)):
        if not errors_of.any():
            continue
        values = table.values[m] * np.exp(np.vstack([errors_of, -errors_of]))
        moves = _exponents(predictor, table, values) - joint.mean[m]
        scale = (
            stdtrit(degrees, (1 + LEVEL) / 2) /
            joint.model.tails.quantile(LEVEL))
        covariance[m] = scale**2 * moves.T @ moves / len(moves)
    return joint.with_errors(covariance)


def _exponents(predictor: Predictor, table: FeatureTable,
               values: NDArray) -> NDArray[np.float64]:
    """Exponents of n models with losses `(n, K)`, `(n, B)`."""
    names = tuple(map(str, range(len(values))))
    return predictor.joint(FeatureTable(names, table.columns, values)).mean
