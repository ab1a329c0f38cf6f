"""Reference predictors, which may contradict the prediction of a benchmark.

The learned score and a reference, such as the mean loss, are compared by the
exponents of their curves (`SalienceModel.exponents`): far below the threshold
of a benchmark all accuracies are at the floor, whatever the losses. Exponents
grow without bounds there, so differences count in units of 1 plus the size of
the reference's exponent. Differences on held-out families say which are usual.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from csv_plugin.core.salience_model import SalienceModel, side
from csv_plugin.core.scaling_law import CHANCE_MARGIN

MEAN_LOSS = 'mean loss'
LABEL_TOKEN_LOSS = 'label-token loss'

#: Correlations within this distance of 1 count as perfect.
ROUNDING = 1e-9
#: Quantile of held-out disagreements above which one is unusual.
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Witness:
    """A reference predictor: another measure of losses, and its curve.

    Args:
        name (str): Name of the measure.
        model (SalienceModel): Its coefficients `(K,)` and curve.
        limit (float): Larger disagreements are unusual; see `disagreement`.
        score_low (float): Lowest value of the measure in the training models.
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
        """Its predictions where they contradict others, else NaN, `(M,)`.

        They do where exponents disagree beyond the limit and accuracies by
        more than `CHANCE_MARGIN`; but not where both scores put a model above
        all training models, or below: there, curves may part by any amount.

        Args:
            values (NDArray): Feature columns, `(M, K)`.
            exponents (NDArray): Of the learned score, `(M,)`.
            predicted (NDArray): Accuracies at these exponents, `(M,)`.
            beyond (NDArray): `beyond_all` by the learned score, `(M,)`.
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
    """1 for models better than all training models, -1 for worse, else 0.

    Training models have scores from `low` to `high`.
    """
    return np.sign(model.curve.alpha) * side(scores, low, high)


def disagreement(exponents: NDArray, witnessed: NDArray) -> NDArray:
    """Relative difference of exponents and those of a reference."""
    return np.abs(exponents - witnessed) / (1 + np.abs(witnessed))


def tells_alike(learned: NDArray, score: NDArray) -> bool:
    """True if two scores `(M,)` are linear functions of each other."""
    one, other = learned - learned.mean(), score - score.mean()
    sizes = np.sqrt((one @ one) * (other @ other))
    return bool(np.abs(one @ other) > (1 - ROUNDING) * sizes)


def usual_limit(learned: NDArray, witnessed: NDArray,
                n_families: int) -> float:
    """The limit of a reference: root mean square disagreement times a t.

    Exponents of both scores, `(n,)`, are by fits that have not seen a model,
    or NaN.
    """
    quantile = t.ppf((1 + LEVEL) / 2, n_families - 1)
    usual = disagreement(learned, witnessed)
    return float(quantile) * float(np.sqrt(np.nanmean(usual**2)))


def widened(low: NDArray, predicted: NDArray, high: NDArray,
            said: NDArray) -> tuple[NDArray, NDArray]:
    """Both ends of intervals, widened to the predictions of references.

    They contain the same interval again, moved to each of the predictions of
    W references, `(W, M)`, which are NaN where they agree.
    """
    moved = np.where(np.isnan(said), 0, said - predicted)
    return (np.clip(low + np.minimum(moved, 0).min(axis=0, initial=0), 0, 1),
            np.clip(high + np.maximum(moved, 0).max(axis=0, initial=0), 0, 1))
