"""Accuracies that the model of accuracies is fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln

#: A benchmark is at chance if its models exceed chance by no more than the
#: noise of its items explains, at this level of a test.
AT_CHANCE_LEVEL = 0.01
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
        """Benchmarks of which all models are at chance, `(B,)`."""
        return np.array([
            at_chance(column[~np.isnan(column)], float(chance),
                      int(n_items)) for column, chance, n_items in zip(
                          self.accuracies.T, self.chance, self.n_items)
        ])

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Benchmarks that say something of all others, `(B,)`.

        Not those at chance, unless all are, and of benchmarks that are the
        same, the first. So neither a benchmark that is given twice nor one of
        noise changes what is learned of all together.
        """
        values = np.nan_to_num(self.accuracies, nan=-1)
        cells = np.vstack([values, self.chance, self.n_items])
        _, first = np.unique(cells, axis=1, return_index=True)
        alone = np.isin(np.arange(cells.shape[1]), first)
        found = alone & ~self.at_chance
        return found if found.any() else alone


def at_chance(accuracy: NDArray, chance: float, n_items: int) -> bool:
    """Return True if accuracies exceed chance by the noise of items alone.

    A test of the sum of squares of what they exceed it by, `(n,)`, over its
    deviation. Each of the models lies below chance half of the time, and then
    counts as nothing, so the sum has one of the distributions of chi-square
    with 0 to n degrees of freedom.
    """
    n, n_items = len(accuracy), n_items or USUAL_ITEMS
    share = np.clip(chance, 1 / n_items, 1 - 1 / n_items)
    above = np.maximum(accuracy - chance, 0)
    squares = (above**2).sum() * n_items / (share * (1 - share))
    degrees = np.arange(1, n + 1)
    weight = np.exp(
        gammaln(n + 1) - gammaln(degrees + 1) - gammaln(n - degrees + 1) -
        n * np.log(2))
    likely = weight @ chdtrc(degrees, squares)
    return bool(likely >= AT_CHANCE_LEVEL or squares == 0)


def filled_items(n_items: NDArray) -> NDArray[np.float64]:
    """Return numbers of items, `(B,)`, with the median where it is 0."""
    known = n_items[n_items > 0]
    usual = np.median(known) if len(known) else USUAL_ITEMS
    return np.where(n_items > 0, n_items, usual)
