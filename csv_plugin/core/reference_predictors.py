"""Reference predictors, which may contradict the prediction of a benchmark.

The learned score and a reference, such as the mean loss, are compared by the
exponents of their curves (`SalienceModel.exponents`). Far below the threshold
of a benchmark exponents grow without bounds, so differences count in units of
1 plus the size of the reference's exponent. Differences on held-out families
show which are usual.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from csv_plugin.core.salience_model import SalienceModel, side
from csv_plugin.core.scaling_law import CHANCE_MARGIN

MEAN_LOSS = 'mean loss'
LABEL_TOKEN_LOSS = 'label-token loss'

#: Correlations within this distance of 1 count as perfect.
ROUNDING = 1e-9
#: Quantile of held-out disagreements above which one is unusual.
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ReferencePredictor:
    """Reference predictor: another measure of losses, and its curve.

    Its model has coefficients `(K,)`. Disagreements above `limit` are unusual.
    Training models have scores from `score_low` to `score_high`.
    """
    name: str
    model: SalienceModel
    limit: float
    score_low: float
    score_high: float

    def __repr__(self) -> str:
        return f'ReferencePredictor({self.name}, limit {self.limit:.3g})'

    def disagreements(self, values: NDArray, exponents: NDArray,
                      predicted: NDArray, beyond: NDArray) -> NDArray:
        """Return predictions that contradict the learned ones, `(M,)`.

        They do where exponents disagree beyond the limit and accuracies by
        more than `CHANCE_MARGIN`; else they are NaN. Models that both scores
        put above, or below, all training models do not count: there, curves
        may diverge by any amount. Features are `(M, K)`, `beyond` is
        `beyond_all` by the learned score.
        """
        scores = self.model.scores(values)
        reference = self.model.curve.accuracies(scores)
        unusual = disagreement(exponents,
                               self.model.curve.exponents(scores)) > self.limit
        apart = np.abs(reference - predicted) > CHANCE_MARGIN
        own = beyond_all(self.model, scores, self.score_low, self.score_high)
        outside = (own == beyond) & (own != 0)
        return np.where(unusual & apart & ~outside, reference, np.nan)


def beyond_all(model: SalienceModel, scores: NDArray, low: float,
               high: float) -> NDArray:
    """Return 1 for models better than all training models, -1 for worse.

    0 for scores from `low` to `high`, those of the training models.
    """
    return np.sign(model.curve.alpha) * side(scores, low, high)


def disagreement(exponents: NDArray, reference: NDArray) -> NDArray:
    """Return relative differences from the exponents of a reference."""
    return np.abs(exponents - reference) / (1 + np.abs(reference))


def equivalent(learned: NDArray, score: NDArray) -> bool:
    """Return True if two scores `(M,)` are linear functions of each other."""
    first, second = learned - learned.mean(), score - score.mean()
    sizes = np.sqrt((first @ first) * (second @ second))
    return bool(np.abs(first @ second) > (1 - ROUNDING) * sizes)


def usual_limit(learned: NDArray, reference: NDArray,
                n_families: int) -> float:
    """Return the limit of a reference: root mean square disagreement times t.

    Exponents of both scores, `(n,)`, are by fits without the model, or NaN.
    """
    quantile = stdtrit(n_families - 1, (1 + LEVEL) / 2)
    usual = disagreement(learned, reference)
    return float(quantile) * float(np.sqrt(np.nanmean(usual**2)))


def widened(low: NDArray, predicted: NDArray, high: NDArray,
            references: NDArray) -> tuple[NDArray, NDArray]:
    """Return ends of intervals, widened to the predictions of references.

    They contain the interval moved to each of the predictions of W references,
    `(W, M)`, which are NaN where they agree.
    """
    moved = np.where(np.isnan(references), 0, references - predicted)
    return (np.clip(low + np.minimum(moved, 0).min(axis=0, initial=0), 0, 1),
            np.clip(high + np.maximum(moved, 0).max(axis=0, initial=0), 0, 1))
