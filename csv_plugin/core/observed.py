"""Accuracies that the model of accuracies is fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln

#: Fewest models for a fit, of the whole model or of one curve.
LEAST_MODELS = 3
#: Items of a benchmark, where no number of items is known.
USUAL_ITEMS = 1000


@dataclass(frozen=True, eq=False)
class Observed:
    """Accuracies of M fitted models on B benchmarks.

    `accuracies` are `(M, B)` in 0..1, NaN where there is none; every benchmark
    and every model has one. `families` has M names. `chance` and `n_items` are
    `(B,)`, 0 items if unknown.
    """
    accuracies: NDArray[np.float64]
    families: Sequence[str]
    chance: NDArray[np.float64]
    n_items: NDArray[np.int64]

    @cached_property
    def at_chance(self) -> NDArray[np.bool_]:
        """True for benchmarks whose models are all at chance, `(B,)`."""
        found = np.zeros(len(self.chance), bool)
        for b, column in enumerate(self.accuracies.T):
            known = column[~np.isnan(column)]
            found[b] = at_chance(known, float(self.chance[b]),
                                 int(self.n_items[b]))
        return found

    @cached_property
    def teaching(self) -> NDArray[np.bool_]:
        """True for benchmarks that hyper-parameters are learned from, `(B,)`.

        Benchmarks at chance are left out, unless all are at chance. Of equal
        benchmarks only the first counts. So neither noise nor a benchmark that
        is given twice changes what is learned for the others.
        """
        values = np.nan_to_num(self.accuracies, nan=-1)
        cells = np.vstack([values, self.chance, self.n_items])
        _, first = np.unique(cells, axis=1, return_index=True)
        alone = np.isin(np.arange(cells.shape[1]), first)
        found = alone & ~self.at_chance
        return found if found.any() else alone


def at_chance(accuracy: NDArray, chance: float, n_items: int) -> bool:
    """Return True if the noise of items explains what exceeds chance.

    The statistic of the test is the sum over n models of squared differences
    from chance, over their variance. A difference below chance counts as 0,
    and half of the models lie there if all guess. So the statistic is
    distributed as a mixture of chi-square distributions, of 0 to n degrees of
    freedom with binomial weights.

    Args:
        accuracy (NDArray): Fractions, `(n,)`.
        chance (float): Accuracy of guessing, a fraction.
        n_items (int): Number of items, 0 if unknown.
    """
    # Level of the test whether the models are better than chance.
    test_level = 0.01
    # Of a single item, no chance level in between would be left.
    n, n_items = len(accuracy), max(n_items or USUAL_ITEMS, 2)
    share = np.clip(chance, 1 / n_items, 1 - 1 / n_items)
    above = np.maximum(accuracy - chance, 0)
    squares = (above**2).sum() * n_items / (share * (1 - share))
    degrees = np.arange(1, n + 1)
    log_ways = gammaln(n + 1) - gammaln(degrees + 1)
    log_ways -= gammaln(n - degrees + 1)
    weight = np.exp(log_ways - n * np.log(2))
    likely = weight @ chdtrc(degrees, squares)
    return bool(likely >= test_level or squares == 0)


def filled_items(n_items: NDArray) -> NDArray[np.float64]:
    """Return numbers of items, `(B,)`, with the median where it is 0."""
    known = n_items[n_items > 0]
    usual = np.median(known) if len(known) else USUAL_ITEMS
    return np.where(n_items > 0, n_items, usual)
