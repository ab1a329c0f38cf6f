"""Other predictions of a benchmark, which its learned score may contradict.

The learned score and a witness, such as the mean loss, are compared by the
exponents of their curves (`SalienceModel.exponents`). Accuracies would not do:
far below the threshold of a benchmark all of them are at the floor, whatever
the losses. Exponents grow without bounds there, and their difference with
them, so it counts in units of 1 plus the size of the witness's exponent.

How much models of other families disagreed, when their family was held out
from both fits, says how much is usual.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from csv_plugin.core.salience_model import SalienceModel, side
from csv_plugin.core.scaling_law import CHANCE_MARGIN

MEAN_LOSS = 'mean loss'
LABEL_TOKEN_LOSS = 'label-token loss'

#: Correlations that lack no more to 1 are 1.
ROUNDING = 1e-9
#: Share of disagreements that are usual.
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Witness:
    """What another measure of the losses says of a benchmark.

    Args:
        name (str): Of the measure.
        model (SalienceModel): Its coefficients, of shape `(K,)`, and the curve
            fitted to it.
        limit (float): Larger disagreements are unusual, in the unit of
            `disagreement`.
        score_low (float): Lowest value of the measure among the models fitted
            on.
        score_high (float): The highest.
    """
    name: str
    model: SalienceModel
    limit: float
    score_low: float
    score_high: float

    def __repr__(self) -> str:
        return f'Witness({self.name}, limit {self.limit:.3g})'

    def contradictions(self, values: NDArray, exponents: NDArray,
                       predicted: NDArray, beyond: NDArray) -> NDArray:
        """What the witness predicts, where it contradicts a prediction.

        It does where the exponents disagree beyond the limit and the
        accuracies by more than `CHANCE_MARGIN`. Not where both call a model
        better than all that were fitted on, or worse: how far curves may part
        there is not known.

        Args:
            values (NDArray): Feature columns, `(M, K)`.
            exponents (NDArray): Of the learned score, `(M,)`.
            predicted (NDArray): Accuracies that these give, `(M,)`.
            beyond (NDArray): `beyond_all` by the learned score, `(M,)`.

        Returns:
            NDArray: Accuracies, NaN where there is no contradiction, `(M,)`.
        """
        scores = self.model.scores(values)
        said = self.model.curve.accuracies(scores)
        unusual = disagreement(exponents,
                               self.model.curve.exponents(scores)) > self.limit
        apart = np.abs(said - predicted) > CHANCE_MARGIN
        own = beyond_all(self.model, scores, self.score_low, self.score_high)
        alike = (own == beyond) & (own != 0)
        return np.where(unusual & apart & ~alike, said, np.nan)


def beyond_all(model: SalienceModel, scores: NDArray, low: float,
               high: float) -> NDArray:
    """Models better (1) or worse (-1) than all fitted on, others 0, `(M,)`.

    Args:
        model (SalienceModel): Of one benchmark.
        scores (NDArray): Its scores of the models, `(M,)`.
        low (float): Lowest score of the models fitted on.
        high (float): The highest.
    """
    return np.sign(model.curve.alpha) * side(scores, low, high)


def disagreement(exponents: NDArray, witnessed: NDArray) -> NDArray:
    """Size of the difference of exponents, beside that of a witness.

    Args:
        exponents (NDArray): Of the learned score, any shape.
        witnessed (NDArray): Of the witness, in the same shape.

    >>> disagreement(np.array([-3., -9., 1.]), np.array([-1., -3., 0.]))
    array([1. , 1.5, 1. ])
    """
    return np.abs(exponents - witnessed) / (1 + np.abs(witnessed))


def tells_alike(learned: NDArray, score: NDArray) -> bool:
    """Whether two scores of M models are one, in whatever unit; `(M,)`."""
    one, other = learned - learned.mean(), score - score.mean()
    sizes = np.sqrt((one @ one) * (other @ other))
    return bool(np.abs(one @ other) > (1 - ROUNDING) * sizes)


def usual_limit(learned: NDArray, witnessed: NDArray,
                n_families: int) -> float:
    """The limit of a witness, from models that both fits did not see.

    The root mean square of their disagreements, times the quantile of
    Student's t distribution of their families.

    Args:
        learned (NDArray): Exponents of the learned score, by fits that have
            not seen the model; NaN where there is none. `(n,)`.
        witnessed (NDArray): Those of the witness, `(n,)`.
        n_families (int): Families of the n models.
    """
    quantile = t.ppf((1 + LEVEL) / 2, n_families - 1)
    usual = disagreement(learned, witnessed)
    return float(quantile) * float(np.sqrt(np.nanmean(usual**2)))


def widened(low: NDArray, predicted: NDArray, high: NDArray,
            said: NDArray) -> tuple[NDArray, NDArray]:
    """Intervals that reach around what witnesses say, too.

    They hold the same interval again, moved to each of these predictions.

    Args:
        low (NDArray): Lower ends, `(M,)`.
        predicted (NDArray): `(M,)`.
        high (NDArray): Upper ends, `(M,)`.
        said (NDArray): Of W witnesses, NaN where they say nothing, `(W, M)`.

    Returns:
        tuple[NDArray, NDArray]: Both ends, in 0..1.

    >>> widened(np.array([.25]), np.array([.5]), np.array([.625]),
    ...         np.array([[.75]]))
    (array([0.25]), array([0.875]))
    """
    moved = np.where(np.isnan(said), 0, said - predicted)
    return (np.clip(low + np.minimum(moved, 0).min(axis=0, initial=0), 0, 1),
            np.clip(high + np.maximum(moved, 0).max(axis=0, initial=0), 0, 1))
