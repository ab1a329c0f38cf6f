"""Whether losses are in the unit of those that a predictor was fitted to.

Bits in the place of nats make all losses 1.44 times as large. That of a good
model is no larger then than that of a weak one in nats, so the size alone does
not tell. The shares of the mean loss that fall on the units of text do: no
unit of losses changes them, and they differ between good models and weak ones.
A ridge from these shares to the logarithm of the mean loss says how large the
losses of a model should be.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.splits import grouped_folds

#: Smaller ratios are not told of. Bits in the place of nats give 1.44; of the
#: real models of docs/results.md, families left out err by 1.16 at most.
LEAST_RATIO = 1.25
#: Fewer families do not say how well shares tell the mean loss.
LEAST_FAMILIES = 3
#: Penalty of the ridge, in mean eigenvalues; a hundredth of it, and ten times
#: as much, do as well.
_PENALTY = 0.1
_FOLDS = 8


@dataclass(frozen=True, eq=False)
class LossUnit:
    """How large losses are, by their shares of the mean loss.

    Args:
        coefficients (NDArray): Of the loss of each column, in mean losses of
            the same model. Shape `(K,)`.
        intercept (float): Added to give the logarithm of the mean loss.
        limit (float): Ratios of mean losses to those expected are unusual
            above it, and below its inverse.

    Raises:
        InputError: The limit is below 1.
    """
    coefficients: NDArray[np.float64]
    intercept: float
    limit: float

    def __post_init__(self) -> None:
        if not self.limit >= 1:
            raise InputError('limit of the unit of losses', '1 or more',
                             f'{self.limit}', 'Fit the predictor again.')

    def __repr__(self) -> str:
        return f'LossUnit({len(self.coefficients)} columns)'

    def unusual_ratio(self, values: NDArray,
                      uniform: NDArray) -> Optional[float]:
        """The ratio of mean losses to those expected, if it is unusual.

        Args:
            values (NDArray): Losses of M models, `(M, K)`.
            uniform (NDArray): Coefficients of the mean loss, `(K,)`.

        Returns:
            Optional[float]: The median over the models; None if it is usual,
            or no model has a positive mean loss.
        """
        mean = values @ uniform
        sound = mean > 0
        if not sound.any():
            return None
        expected = self.intercept + (
            values[sound] / mean[sound, None] @ self.coefficients)
        excess = np.median(np.log(mean[sound]) - expected)
        return float(np.exp(excess)) if abs(excess) > np.log(
            self.limit) else None


def learn_loss_unit(values: NDArray, uniform: NDArray,
                    families: Sequence[str]) -> Optional[LossUnit]:
    """Learn from the losses of the models that are fitted on.

    Args:
        values (NDArray): Losses, `(n, K)`.
        uniform (NDArray): Coefficients of the mean loss, `(K,)`.
        families (Sequence[str]): Family of each model.

    Returns:
        Optional[LossUnit]: Its limit is the largest error on families that
        were held out, or `LEAST_RATIO`. None of fewer than `LEAST_FAMILIES`
        families, or where a mean loss is not positive.
    """
    mean = values @ uniform
    if len(set(families)) < LEAST_FAMILIES or not (mean > 0).all():
        return None
    shares, size = values / mean[:, None], np.log(mean)
    gram = shares @ shares.T
    fold = grouped_folds(list(families), _FOLDS, 0)
    largest = np.log(LEAST_RATIO)
    for held in range(fold.max() + 1):
        rows, others = np.flatnonzero(fold != held), fold == held
        weights = _weights(gram[np.ix_(rows, rows)], size[rows])
        said = gram[:, rows] @ weights
        errors = size - size[rows].mean() - (said - said[rows].mean())
        largest = max(largest, np.abs(errors[others]).max())
    coefficients = shares.T @ _weights(gram, size)
    intercept = size.mean() - (shares @ coefficients).mean()
    return LossUnit(coefficients, float(intercept), float(np.exp(largest)))


def _weights(gram: NDArray, size: NDArray) -> NDArray:
    """Of the rows in the coefficients of a ridge on centred rows, `(n,)`."""
    n = len(gram)
    centred = gram - gram.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    penalty = _PENALTY * np.trace(centred) / n
    # Nothing but rounding is left where all rows are alike.
    if penalty <= 1e-12 * np.trace(gram) / n:
        return np.zeros(n)
    weights = np.linalg.solve(centred + penalty * np.eye(n),
                              size - size.mean())
    return np.asarray(weights - weights.mean())
