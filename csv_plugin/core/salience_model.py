"""Salience weights and curve of a benchmark."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.scaling_law import Curve

#: Losses below this share of the typical one have the logarithm of this.
LEAST_RATIO = 1e-3
#: Losses over smaller typical ones could be too large for float64.
LEAST_TYPICAL = 1e-150
#: Slope of flat curves, such that beta, the offset over the slope, is finite.
LEAST_SLOPE = 1e-50
#: Largest distance, and least standard deviation of scores.
MOST, TINY = 1e6, 1e-150


@dataclass(frozen=True, eq=False)
class LogTerms:
    """Logarithmic terms of capability scores.

    A loss `x` counts as `typical (1 + log(x / typical))`, which equals `x` and
    has its slope where the loss is typical. Coefficients are `(..., K)`,
    typical losses `(K,)`, `LEAST_TYPICAL` or more.
    """
    coefficients: NDArray
    typical: NDArray

    def scores(self, values: NDArray) -> NDArray:
        """Return the terms of feature columns `(M, K)`, shape `(..., M)`."""
        lowest = values.min(initial=0)
        if lowest < 0:
            raise InputError('losses',
                             '0 or more, as their logarithms were fitted to',
                             f'{lowest}',
                             'Change the sign of log-likelihoods.')
        logs = relative_logs(values, self.typical)
        logs += 1
        return (self.coefficients * self.typical) @ logs.T


def relative_logs(values: NDArray, typical: NDArray) -> NDArray:
    """Return logarithms of losses over typical ones.

    Ratios below `LEAST_RATIO` count as this.
    """
    logs = values / typical
    np.maximum(logs, LEAST_RATIO, out=logs)
    return np.log(logs, out=logs)


@dataclass(frozen=True, eq=False)
class SalienceModel:
    """Salience weights `(..., K)` and a curve `(...)`, or stacks of them.

    `logs` of the same shape are logarithmic terms; None where the score is a
    weighted sum of the columns alone.
    """
    coefficients: NDArray
    curve: Curve
    logs: Optional[LogTerms] = None

    @property
    def typical_coefficients(self) -> NDArray:
        """Score per unit of each column at typical losses, `(..., K)`."""
        if self.logs is None:
            return self.coefficients
        return self.coefficients + self.logs.coefficients

    def scores(self, values: NDArray) -> NDArray:
        """Return capability scores (Eq. 1), salience-weighted sums of losses.

        The division by the characters of the raw texts is part of the
        coefficients or of the columns (see `features.Columns.uniform`). The
        score is a loss: lower is better. Columns are `(M, K)`, scores `(...,
        M)`, in nats per character where columns are made from tokens, else in
        the unit of the columns.
        """
        scores = self.coefficients @ values.T
        return scores if self.logs is None else (scores +
                                                 self.logs.scores(values))

    def exponents(self, values: NDArray) -> NDArray:
        """Return exponents of the curve, `(..., M)`: higher is better."""
        return self.curve.exponents(self.scores(values))

    def predict(self, values: NDArray) -> NDArray:
        """Return accuracies, fractions, `(..., M)`."""
        return self.curve.accuracies(self.scores(values))

    def slopes(self, values: NDArray) -> NDArray:
        """Return accuracy per unit of exponent, `(..., M)`."""
        return self.curve.slopes(self.scores(values))

    def __getitem__(self, index: Any) -> 'SalienceModel':
        logs = self.logs and LogTerms(self.logs.coefficients[index],
                                      self.logs.typical)
        return SalienceModel(self.coefficients[index], self.curve[index], logs)

    @classmethod
    def stack(cls, models: Sequence['SalienceModel']) -> 'SalienceModel':
        """Stack models of one shape along a new leading axis.

        All have logarithmic terms, with the same typical losses, or none.
        """
        logs = [model.logs for model in models if model.logs is not None]
        return cls(
            np.stack([model.coefficients for model in models]),
            Curve.stack([model.curve for model in models]),
            LogTerms(
                np.stack([part.coefficients for part in logs]),
                logs[0].typical) if logs else None)

    def on_columns(self, taken: NDArray, places: NDArray,
                   width: int) -> 'SalienceModel':
        """Return a model with the same scores from `width` other columns.

        Columns `taken`, indices or a mask, move to `places`; the others must
        have the coefficient 0.
        """

        def placed(values: NDArray, otherwise: float) -> NDArray:
            """Values of the new columns, `(..., width)`."""
            new = np.full((*values.shape[:-1], width), otherwise)
            new[..., places] = values[..., taken]
            return new

        logs = self.logs and LogTerms(
            placed(self.logs.coefficients, 0.0), placed(
                self.logs.typical, 1.0))
        return SalienceModel(placed(self.coefficients, 0.0), self.curve, logs)

    @classmethod
    def from_linear(cls,
                    gradient: NDArray,
                    offset: NDArray,
                    floor: ArrayLike,
                    uniform: NDArray,
                    logs: Optional[LogTerms] = None) -> 'SalienceModel':
        """Make the model of accuracies `f + (1 - f) expit(offset + x . g)`.

        The gradient `g`, `(..., K)`, is divided into coefficients and slope
        such that the average absolute weight is 1 and the mean loss counts
        positively. So `alpha` is negative unless accuracy rises with the loss.
        Offset and floor `f` are `(...)`. Logarithmic terms of the exponent are
        divided the same way.

        >>> model = SalienceModel.from_linear(
        ...     np.array([4., -2.]), np.array(0.), .25, np.array([.5, -.5]))
        >>> model.coefficients * 3, float(model.curve.alpha)
        (array([ 2., -1.]), 6.0)
        """
        typical = gradient if logs is None else gradient + logs.coefficients
        scale = np.abs(typical).sum(axis=-1) / np.abs(uniform).sum()
        scale = np.maximum(scale, LEAST_SLOPE)
        alpha = np.where(typical @ uniform > 0, scale, -scale)
        return cls(
            gradient / alpha[..., None],
            Curve(alpha, -offset / alpha, np.broadcast_to(floor, alpha.shape)),
            logs and replace(
                logs, coefficients=logs.coefficients / alpha[..., None]))

    @classmethod
    def constant(cls, accuracy: NDArray, uniform: NDArray) -> 'SalienceModel':
        """Make models that predict one accuracy each, fractions, `(...)`.

        Their score is the mean loss, with coefficients `uniform`.
        """
        shape = (*np.shape(accuracy), len(uniform))
        return cls(np.broadcast_to(uniform, shape), Curve.constant(accuracy))


def scores_of(models: Sequence[SalienceModel],
              values: NDArray) -> list[NDArray]:
    """Return scores of several models by columns `(M, K)`, `(M,)` each.

    Models in a row with the same array of typical losses share logarithms.
    """
    groups = groupby(models,
                     lambda model: id(model.logs and model.logs.typical))
    return [
        score for _, group in groups
        for score in SalienceModel.stack([*group]).scores(values)
    ]


def outside(score: NDArray, low: ArrayLike, high: ArrayLike,
            spread: ArrayLike) -> NDArray[np.float64]:
    """Return how many spreads scores lie outside a range; shapes broadcast."""
    away = np.maximum(np.maximum(low - score, score - high), 0)
    # The last bits of a score depend on the models beside it.
    away = np.where(away > 1e-9 * (np.asarray(high) - low), away, 0)
    return np.minimum(away / np.maximum(spread, TINY), MOST)
