"""The observed accuracies that the model of accuracies is fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln

from csv_plugin.core.arrays import Booleans, Floats, Integers

#: Smallest number of language models that the statistical model of accuracies,
#: or the curve of one benchmark, is fitted to. Two models would determine
#: level and slope, and leave no error to learn from.
LEAST_MODELS = 3
#: Assumed number of items of each benchmark if the number of items is known
#: for no benchmark. Most benchmarks have some hundred to some thousand items.
USUAL_ITEMS = 1000


@dataclass(frozen=True, eq=False)
class Observed:
    """Accuracies of M fitted models on B benchmarks.

    `accuracies`, `(M, B)`, are in 0..1, NaN where there is none. Every
    benchmark and every model has at least one accuracy. `families` has the
    name of each model's family. `chance`, `(B,)`, is the accuracy of guessing,
    a fraction. `n_items`, `(B,)`, is the number of items, 0 if unknown.
    """
    accuracies: Floats
    families: Sequence[str]
    chance: Floats
    n_items: Integers

    @cached_property
    def at_chance(self) -> Booleans:
        """Mask of the benchmarks on which all models may guess, `(B,)`."""
        found = []
        benchmarks = zip(self.accuracies.T, self.chance, self.n_items)
        for column, chance, n_items in benchmarks:
            is_missing = np.isnan(column)
            known = column[~is_missing]
            may_guess = at_chance(known, float(chance), int(n_items))
            found.append(may_guess)
        return np.array(found, bool)

    @cached_property
    def solved(self) -> Booleans:
        """Mask of the benchmarks on which all accuracies are 1, `(B,)`."""
        # A missing accuracy, NaN, is not below 1.
        is_below_1 = self.accuracies < 1
        return ~is_below_1.any(axis=0)

    @property
    def unpredictable(self) -> Booleans:
        """Mask of the benchmarks that show nothing about models, `(B,)`.

        All models may guess there, or all accuracies are 1.
        """
        return self.at_chance | self.solved

    @cached_property
    def learned_from(self) -> Booleans:
        """Mask of the benchmarks to learn hyper-parameters from, `(B,)`.

        The hyper-parameters are the ones that all benchmarks share
        (core.posterior). Benchmarks at chance, and benchmarks on which all
        accuracies are 1, are left out. If no benchmark is left, the benchmarks
        on which all accuracies are 1 are used, and if there is no such
        benchmark, benchmarks at chance are used. Of several equal benchmarks,
        only the first is used. So neither a benchmark with nothing but noise,
        nor a benchmark that all models solve, nor a copy of a benchmark,
        changes what is learned for the other benchmarks.
        """
        values = np.nan_to_num(self.accuracies, nan=-1)
        columns = np.vstack([values, self.chance, self.n_items])
        _, firsts = np.unique(columns, axis=1, return_index=True)
        is_first = np.zeros(len(self.chance), bool)
        is_first[firsts] = True
        above_chance = is_first & ~self.at_chance
        unsolved = above_chance & ~self.solved
        if unsolved.any():
            return unsolved
        if above_chance.any():
            return above_chance
        return is_first


def at_chance(accuracy: NDArray, chance: float, n_items: int) -> bool:
    """Return True if n models on a benchmark may all be guessing.

    The hypothesis that all models guess is tested against the hypothesis that
    some are better. The statistic is the sum over models of the squared
    difference between accuracy and chance, divided by its variance. An
    accuracy below chance counts as a difference of 0; this happens to half of
    the models if all guess. So the distribution of the statistic is a mixture
    of chi-square distributions with 0 to n degrees of freedom, with binomial
    weights (chi-bar-square; Self and Liang, JASA 82(398), 1987).

    Args:
        accuracy (NDArray): Fractions, `(n,)`.
        chance (float): Accuracy of guessing, a fraction.
        n_items (int): Number of items, 0 if unknown.
    """
    # Significance level of the test.
    test_level = 0.01
    # Two items at least: the chance level is clipped to 1 / n_items and
    # 1 - 1 / n_items.
    n_items = max(n_items or USUAL_ITEMS, 2)
    least = 1 / n_items
    share = np.clip(chance, least, 1 - least)
    variance_of_item = share * (1 - share)
    above = np.maximum(accuracy - chance, 0)
    squares = above**2
    statistic = squares.sum() * n_items / variance_of_item
    n_models = len(accuracy)
    # With 0 degrees of freedom, the statistic is 0.
    degrees = np.arange(1, n_models + 1)
    # Binomial weights: the number of ways to choose as many of the models,
    # divided by the number of ways to choose any of the models.
    log_weight = gammaln(n_models + 1) - gammaln(degrees + 1)
    log_weight -= gammaln(n_models - degrees + 1)
    log_weight -= n_models * np.log(2)
    weight = np.exp(log_weight)
    # The probability of this statistic or a larger one if all models guess.
    p_values = chdtrc(degrees, statistic)
    p_value = weight @ p_values
    return bool(p_value >= test_level or statistic == 0)


def filled_items(n_items: NDArray) -> Floats:
    """Return numbers of items, `(B,)`, with a usual number in place of 0.

    It is the median of the known numbers, or `USUAL_ITEMS` if none is known.
    """
    is_known = n_items > 0
    usual = float(USUAL_ITEMS)
    if is_known.any():
        known = n_items[is_known]
        usual = float(np.median(known))
    return np.where(is_known, n_items, usual)
