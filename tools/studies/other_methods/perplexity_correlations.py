"""The estimator of perplexity correlations, as weights of the losses.

Source: Thrush, Potts and Hashimoto, "Improving Pretraining Data Using
Perplexity Correlations", ICLR 2025, arXiv 2409.05816. Their estimator ranks
the units by the rank correlation of a unit's losses with the errors on a
benchmark; their linear projection makes of the ranks the weights that sum to
1, lie between 0 and a bound, and go to the units of the highest ranks first.
They choose data by it; here the weights make a capability score. The bound is
the setting that is chosen.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from csv_plugin.core.salience.base import SalienceFit, Task
from tools.studies.other_methods.cross_validation import (Candidates,
                                                          cross_validate)

#: Units that are ranked at a time: more do not fit into the cache.
COLUMNS = 500


@dataclass(frozen=True)
class PerplexityCorrelations:
    """A solver: the mean loss of the units that go with accuracy most."""
    name: str = 'perplexity-correlations'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        n_units = task.values.shape[1]
        # All units, a half of them, and so on, down to one.
        shares = 0.5**np.arange(1 + int(np.log2(n_units)))

        def candidates(part: Task) -> Candidates:
            """Fits with each number of units."""
            estimate = rank_estimate(part.values, 1 - part.accuracy)
            return Candidates.of_one_score_each(
                part,
                np.stack(
                    [linear_projection(estimate, share) for share in shares]))

        settings = [f'units: {share * n_units:.0f}' for share in shares]
        return cross_validate(self.name, task, masks, settings, candidates)


def rank_estimate(losses: NDArray, errors: NDArray) -> NDArray:
    """Mean of `sign(y_g - y_k) (F(x_g) - F(x_k))` over pairs of models.

    `F` is the empirical distribution of a unit's losses, so ranks alone
    count. The sum over pairs is one over the models, as the signs of a model
    add up to its rank.

    Args:
        losses (NDArray): Of n models on K units, `(n, K)`.
        errors (NDArray): On the benchmark, `(n,)`.

    Returns:
        NDArray: High where the loss goes with the error, `(K,)`.
    """
    n = len(errors)
    signs = 2 * rankdata(errors) - n - 1
    sums = [
        signs @ rankdata(losses[:, k:k + COLUMNS], axis=0)
        for k in range(0, losses.shape[1], COLUMNS)
    ]
    return 2 * np.concatenate(sums) / (n * n * (n - 1))


def linear_projection(estimate: NDArray, share: float) -> NDArray:
    """The weights that sum to 1 and agree most with an estimate.

    Args:
        estimate (NDArray): Of K units, `(K,)`.

    Returns:
        NDArray: Shape `(K,)`.

    >>> linear_projection(np.array([0.1, 0.9, 0.5, 0.3]), 0.375).round(2)
    array([0.  , 0.67, 0.33, 0.  ])
    """
    bound = 1 / max(1, share * len(estimate))
    order = np.argsort(-estimate, kind='stable')
    left = 1 - bound * np.arange(len(estimate))
    weights = np.empty(len(estimate))
    weights[order] = np.clip(left, 0, bound)
    return weights
