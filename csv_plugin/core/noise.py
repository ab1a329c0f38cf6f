"""The difference of two models, with the noise from each origin.

Losses of two models on the same texts rise and fall together, so the
difference of their mean losses has far less noise than either mean. Its
standard error is estimated by a bootstrap of whole texts. Texts are drawn
within their source, one text fewer than the source has (Rao and Wu, JASA 83,
1988).

The half width of an interval on one side is the square root of the sum of the
squared half widths that each origin of noise would give alone (Banerjee,
Sankhya 22, 1960).
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.joint import Sum

#: Verdicts about model B, compared with model A.
BETTER, WORSE = 'better', 'worse'
SAME, UNCLEAR = 'no difference', 'cannot tell'

#: Kinds of differences. A negative difference of losses is better; for the
#: other kinds, a positive difference is better.
LOSS = 'loss'
PREDICTED, OBSERVED, COMBINED = 'predicted', 'observed', 'combined'
#: Origins of noise.
TEXTS, ITEMS, RUNS, PREDICTOR = 'texts', 'items', 'runs', 'predictor'


class Noise(NamedTuple):
    """Noise of a difference from one origin.

    `down` and `up` are standard errors below and above the difference.
    `freedom` is the number of degrees of freedom of Student's t distribution;
    with infinity, the noise is normal.
    """
    down: float
    up: float
    freedom: float = np.inf

    @classmethod
    def even(cls, error: float, freedom: float = np.inf) -> 'Noise':
        """Return noise with the same standard error below and above."""
        return cls(error, error, freedom)

    @classmethod
    def of_sum(cls, found: Sum, level: float, freedom: float) -> 'Noise':
        """Return the noise of a predicted sum, from its interval.

        `level` is the probability that the interval holds the sum.
        """
        probability = (1 + level) / 2
        quantile = stdtrit(freedom, probability)
        down = found.value - found.low
        up = found.high - found.value
        return cls(down / quantile, up / quantile, freedom)

    @property
    def error(self) -> float:
        """Root mean square of both standard errors."""
        length = np.hypot(self.down, self.up)
        mean = length / np.sqrt(2)
        return float(mean)

    def times(self, factor: float) -> 'Noise':
        """Return the noise of the difference times a positive factor."""
        down = factor * self.down
        up = factor * self.up
        return Noise(down, up, self.freedom)


@dataclass(frozen=True)
class Difference:
    """The value of model B minus the value of model A, with its noise.

    Args:
        kind (str): 'loss' for mean losses, of which lower ones are better.
            Otherwise 'predicted', 'observed' or 'combined', for accuracies as
            fractions.
        benchmark (str): Empty for the mean loss.
        value (float): The difference.
        noises (Mapping[str, Noise]): Noise by its origin: 'texts', 'items',
            'runs' or 'predictor'.
        level (float): Probability that the interval holds the difference.
        margin (float): Smallest difference that matters.
        by_items (float): The `detectable` difference of an evaluation on the
            benchmark's items: the smallest difference that it would find with
            a probability of 80 %. None if the number of items is unknown.
    """
    kind: str
    benchmark: str
    value: float
    noises: Mapping[str, Noise]
    level: float
    margin: float
    by_items: Optional[float] = None

    @property
    def of_losses(self) -> bool:
        """True for a difference of losses, where lower is better."""
        return self.kind == LOSS

    @property
    def errors(self) -> dict[str, float]:
        """Standard error from each origin of noise."""
        found = {}
        for origin, noise in self.noises.items():
            found[origin] = noise.error
        return found

    @property
    def error(self) -> float:
        """Standard error from all origins of noise together."""
        errors = [*self.errors.values()]
        return float(np.linalg.norm(errors))

    @property
    def low(self) -> float:
        """Lower limit of the interval; -1 or more for accuracies."""
        low = self.value - self._half_width('down')
        if self.of_losses:
            return low
        return max(low, -1.)

    @property
    def high(self) -> float:
        """Upper limit of the interval; 1 or less for accuracies."""
        high = self.value + self._half_width('up')
        if self.of_losses:
            return high
        return min(high, 1.)

    def _half_width(self, side: str) -> float:
        """Return the half width of the interval on a side, 'down' or 'up'.
        """
        probability = (1 + self.level) / 2
        return self._reach(side, probability)

    @property
    def _inner(self) -> str:
        """The side of the value on which 0 lies, 'down' or 'up'."""
        return 'down' if self.value > 0 else 'up'

    def _reach(self, side: str, probability: float) -> float:
        """Return a quantile of the noise from all origins together.

        `side` is 'down' or 'up', and `probability` is 1/2 or more.
        """
        square = 0.
        for noise in self.noises.values():
            if noise.error:
                error = noise.down if side == 'down' else noise.up
                quantile = stdtrit(noise.freedom, probability)
                reach = error * quantile
                square += reach**2
        return float(np.sqrt(square))

    @property
    def detectable(self) -> Optional[float]:
        """Smallest difference that is found with a probability of 80 %.

        A difference is found if its interval does not contain 0. The value is
        None if it would be above 1 for accuracies, which differ by at most 1.
        """
        size = self.size_to_detect
        if size > 1 and not self.of_losses:
            return None
        return size

    @property
    def size_to_detect(self) -> float:
        """As `detectable`, but it may be above 1 for accuracies, too."""
        # The probability with which a difference of this size is found.
        power = 0.8
        side = self._inner
        half_width = self._half_width(side)
        return half_width + self._reach(side, power)

    @property
    def probability(self) -> float:
        """Probability that model B is better than model A.

        If B looks better, this is the p for which the p-quantile of the noise
        equals the size of the difference. If B looks worse, it is 1 - p.
        """
        from scipy.optimize import bisect

        gain = self.value
        if self.of_losses:
            gain = -gain
        # Without any noise, the sign is certain.
        if not self.error:
            return float(np.heaviside(gain, 0.5))
        # The largest probability that is returned.
        most_probable = 1 - 1e-12
        side = self._inner
        least = self._reach(side, 0.5)
        most = self._reach(side, most_probable)
        size = np.clip(abs(gain), least, most)

        def beyond(probability: float) -> float:
            """Return by how much the quantile of the noise exceeds the size.
            """
            return self._reach(side, probability) - size

        likelier = bisect(beyond, 0.5, most_probable)
        if gain < 0:
            return 1 - likelier
        return likelier

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that A and B are equally good.

        It is below 1 - level if and only if the interval does not contain 0,
        so it agrees with the verdict.
        """
        return 2 * min(self.probability, 1 - self.probability)

    @property
    def verdict(self) -> str:
        """What the interval says about model B.

        It is `BETTER` or `WORSE` if the interval does not contain 0. Otherwise
        it is `SAME` if the whole interval is closer to 0 than the margin, and
        `UNCLEAR` if not.
        """
        low, high = self.low, self.high
        if self.of_losses:
            low, high = -high, -low
        if low > 0:
            return BETTER
        if high < 0:
            return WORSE
        largest = max(-low, high)
        return SAME if largest < self.margin else UNCLEAR

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and properties as plain values, by name."""
        names = ('kind', 'benchmark', 'value', 'error', 'low', 'high',
                 'probability', 'margin', 'detectable', 'by_items', 'errors',
                 'verdict')
        return {name: getattr(self, name) for name in names}


def combine(predicted: Difference, observed: Difference) -> Difference:
    """Return the mean of two differences, weighted by their precision.

    The precision is 1 / error^2, where the error is the predictor's for the
    predicted difference, and the items' for the observed difference. The noise
    of runs is the same in both, so it does not enter the weights.
    """
    of_predictor = predicted.noises[PREDICTOR]
    of_items = observed.noises[ITEMS]
    errors = np.array([of_predictor.error, of_items.error])
    precisions = errors**-2.0
    weights = precisions / precisions.sum()
    predicted_weight, observed_weight = weights.tolist()
    noises = {
        PREDICTOR: of_predictor.times(predicted_weight),
        ITEMS: of_items.times(observed_weight)
    }
    if RUNS in predicted.noises:
        noises[RUNS] = predicted.noises[RUNS]
    values = [predicted.value, observed.value]
    value = float(weights @ values)
    return replace(predicted, kind=COMBINED, value=value, noises=noises)


def text_noise(contributions: NDArray, shares: NDArray,
               sources: Sequence[str]) -> Noise:
    """Return the noise of a difference that comes from the choice of texts.

    Args:
        contributions (NDArray): What each of the S texts adds to the
            difference, which is their sum. `(S,)`.
        shares (NDArray): Weights of the texts in the mean losses, with the
            sum 1. `(S,)`.
        sources (Sequence[str]): Source of each text. Texts are drawn within
            their source.

    Raises:
        InputError: There is only one text.
    """
    order, first, sizes = _strata(sources)
    # Of each stratum, one text fewer is drawn than it has, so that each text
    # that is drawn counts more.
    n_drawn = sizes - 1
    n_texts = len(order)
    n_drawn_of_all = n_drawn.sum()
    if not n_drawn_of_all:
        raise InputError(
            'texts of a comparison', 'two or more', '1',
            'Give losses on two or more texts or items, or two or more runs '
            'of the same recipe that differ only in their seed.')
    factors = sizes / n_drawn
    scale = np.repeat(factors, sizes)
    # For each text that is drawn, the position of the first text of its
    # stratum, and the number of texts of the stratum.
    begins = np.repeat(first, n_drawn)
    counts = np.repeat(sizes, n_drawn)
    # `(S, 2)`. The sums over all texts are the difference, and 1.
    columns = np.column_stack([contributions, shares])
    columns = columns[order]
    rng = np.random.default_rng(0)
    # Number of bootstrap resamples.
    n_resamples = 1000
    sums = np.empty((n_resamples, 2))
    for resample in range(n_resamples):
        positions = rng.random(n_drawn_of_all) * counts
        drawn = begins + positions.astype(int)
        times = np.bincount(drawn, minlength=n_texts)
        sums[resample] = scale * times @ columns
    # The shares of the texts of a resample do not add up to 1, if texts differ
    # in length. Divided by their sum, a difference of means over characters
    # is one again.
    differences, total_shares = sums.T
    means = differences / total_shares
    error = float(means.std(ddof=1))
    # One degree of freedom is lost for the mean of each stratum.
    freedom = n_texts - len(sizes)
    return Noise.even(error, freedom)


def _strata(sources: Sequence[str]) -> tuple[NDArray, NDArray, NDArray]:
    """Return the strata, within which the bootstrap draws texts.

    The three arrays are the indices of the S texts in the order of the H
    strata, `(S,)`, the position of each stratum's first text in this order,
    `(H,)`, and the number of texts of each stratum, `(H,)`. Each source is a
    stratum, but all sources with a single text form one stratum together. If
    there is only one such source, its text joins the largest stratum.
    """
    _, stratum, sizes = np.unique(
        sources, return_inverse=True, return_counts=True)
    is_single = sizes[stratum] == 1
    stratum[is_single] = len(sizes)
    if is_single.sum() == 1:
        stratum[is_single] = np.argmax(sizes)
    order = np.argsort(stratum, kind='stable')
    ordered = stratum[order]
    _, first, sizes = np.unique(ordered, return_index=True, return_counts=True)
    return order, first, sizes


def run_noise(recipes: Sequence[ArrayLike],
              n_runs: tuple[int, int] = (1, 1)) -> Noise:  # yapf: disable
    """Return the noise of a difference that comes from the choice of runs.

    The difference is the mean of the runs of B minus the mean of the runs of
    A. Runs of the same recipe differ only in their seed.

    Args:
        recipes (Sequence[ArrayLike]): Values of the runs of each recipe. A
            recipe with a single run is ignored. The variance of runs is taken
            to be the same for all recipes.
        n_runs (tuple[int, int]): Number of runs in the means of A and of B.

    The deviation of a single run from its recipe is taken to be distributed as
    Student's t with d_1 degrees of freedom. The excess kurtosis of Student's t
    with d degrees of freedom is 6 / (d - 4), and the excess kurtosis of the
    mean of k runs is 1/k of a single run's. So the mean of k runs has
    d = 4 + k (d_1 - 4). The code calls d_1 `freedom_of_run` and d `tails`. If
    A and B have different numbers of runs, k is the smaller one, as the mean
    of fewer runs has heavier tails. The variance of runs is
    itself estimated, with `known` degrees of freedom. A variance with d
    degrees of freedom has the relative variance 2/d, and the two relative
    variances add up, so 1/freedom = 1/known + 1/tails.
    """
    known = 0
    squares = 0.
    for values in recipes:
        of_runs = np.asarray(values, np.float64)
        n_values = of_runs.size
        if n_values > 1:
            known += n_values - 1
            squares += n_values * float(of_runs.var())
    if not known:
        raise InputError(
            'runs of the same recipe', 'two or more', '1',
            'Give two or more runs of the same recipe that '
            'differ only in their seed.')
    # Degrees of freedom of a single run's deviation from its recipe. They are
    # few because some runs end far from the other runs.
    freedom_of_run = 5
    tails = 4 + min(n_runs) * (freedom_of_run - 4)
    inverse = 1 / known + 1 / tails
    freedom = 1 / inverse
    # The variance of a difference of means, divided by the variance of a
    # single run.
    n_a, n_b = n_runs
    share = 1 / n_a + 1 / n_b
    variance = share * squares / known
    error = float(np.sqrt(variance))
    return Noise.even(error, freedom)


def items_noise(accuracies: tuple[float, float], n_items: int,
                n_runs: tuple[int, int]) -> Noise:
    """Return the binomial noise of a difference of two accuracies.

    Args:
        accuracies (tuple[float, float]): Accuracies of A and of B, fractions.
        n_items (int): Number of items of the benchmark.
        n_runs (tuple[int, int]): Number of runs over which the accuracy of A
            and of B is a mean. Each run answers all items.

    The answers of A and of B are taken to be independent. An accuracy of 0 or
    1 counts as half an item above 0 or below 1: it is not free of noise.
    """
    half = 0.5 / n_items
    variance = 0.
    for accuracy, n in zip(accuracies, n_runs):
        share = min(max(accuracy, half), 1 - half)
        variance += share * (1 - share) / (n_items * n)
    error = float(np.sqrt(variance))
    return Noise.even(error)


def noise_of_sum(noises: Sequence[Noise], weights: ArrayLike) -> Noise:
    """Return the noise of a weighted sum of independent differences.

    `weights` has a number for each of the noises. The result is even: the
    standard error of each noise counts, not its two half widths. The degrees
    of freedom are computed by the formula of Satterthwaite (Biometrics
    Bulletin 2(6), 1946).
    """
    errors = [noise.error for noise in noises]
    freedoms = [noise.freedom for noise in noises]
    variances = np.multiply(weights, errors)**2
    variance = float(variances.sum())
    uncertainties = variances**2 / freedoms
    uncertainty = float(uncertainties.sum())
    freedom = np.inf
    if uncertainty:
        freedom = variance**2 / uncertainty
    error = float(np.sqrt(variance))
    return Noise.even(error, freedom)
