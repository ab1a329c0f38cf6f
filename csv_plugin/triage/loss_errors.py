"""What accuracies are off by where losses are extrapolated.

Losses that lie ahead are logarithms with errors like those of a back-test:
vectors over all units, so that what units have in common stays together. Each
error is one more place that the losses may be at. What the exponents of Eq. 2
move by to there widens their joint distribution.
"""
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.joint import Joint
from csv_plugin.core.predictor import Predictor

#: Level of all intervals and ranges of ranks.
LEVEL = 0.9
#: Better models are forecast from these shares of all models, the worst.
WORSE = (1 / 2, 2 / 3, 5 / 6)
#: Smallest loss of which there is a logarithm.
TINY = 1e-150


def log_losses(predictor: Predictor, losses: NDArray) -> NDArray[np.float64]:
    """Return logarithms of losses `(M, K)`.

    Losses that are too small to matter to the predictor, next to the typical
    ones of the fitted models, count as the smallest that do.
    """
    typical = np.median(predictor.fit.losses, axis=0)
    least = np.maximum(predictor.model.settings.least * typical, TINY)
    return np.log(np.maximum(losses, least))


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


class LossErrors(NamedTuple):
    """Errors of the logarithms of the losses of one model.

    `errors` are `(n, K)`, perhaps none, with so many degrees of freedom: at
    `LEVEL`, intervals are as wide as by Student's t. The share `common` of
    their variance is that of all models that are forecast, which does not
    change their order.
    """
    errors: NDArray[np.float64]
    freedom: int
    common: float = 0.0


def with_loss_errors(joint: Joint, predictor: Predictor, table: FeatureTable,
                     errors: Sequence[LossErrors]) -> Joint:
    """Return the joint distribution of models whose losses are uncertain.

    `joint` is that of the losses of the table, of M models; each has its
    errors.
    """
    n_models, n_benchmarks = joint.mean.shape
    covariance = np.zeros((n_models, n_benchmarks, n_benchmarks))
    for m, part in enumerate(errors):
        if not part.errors.any():
            continue
        values = table.values[m] * np.exp(part.errors)
        moves = _exponents(predictor, table, values) - joint.mean[m]
        scale = (
            stdtrit(part.freedom,
                    (1 + LEVEL) / 2) / joint.model.tails.quantile(LEVEL))
        covariance[m] = scale**2 * moves.T @ moves / len(moves)
    return joint.with_errors(covariance,
                             np.array([part.common for part in errors]))


def _exponents(predictor: Predictor, table: FeatureTable,
               values: NDArray) -> NDArray[np.float64]:
    """Exponents of n models with losses `(n, K)`, `(n, B)`."""
    names = tuple(map(str, range(len(values))))
    return predictor.joint(FeatureTable(names, table.columns, values)).mean
