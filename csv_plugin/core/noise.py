"""A difference of two models, and the noise that it has by origin.

Token losses of two models on the same texts rise and fall together, so their
difference has far less noise than either mean. Its standard error is from a
bootstrap of whole texts, drawn within their sources with one text fewer than
there are (Rao and Wu, JASA 83, 1988).

On each side, half widths that single origins of noise would give are added in
squares (Banerjee, Sankhya 22, 1960).
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.joint import Sum

BETTER, WORSE = 'better', 'worse'
SAME, UNCLEAR = 'no difference', 'cannot tell'

#: Kinds of differences. Of the first, negative ones are better.
LOSS = 'loss'
PREDICTED, OBSERVED, COMBINED = 'predicted', 'observed', 'combined'
#: Origins of noise.
TEXTS, ITEMS, RUNS, PREDICTOR = 'texts', 'items', 'runs', 'predictor'


class Noise(NamedTuple):
    """Standard errors of a difference, below and above it.

    `freedom` are the degrees of freedom of Student's t.
    """
    down: float
    up: float
    freedom: float = np.inf

    @classmethod
    def even(cls, error: float, freedom: float = np.inf) -> 'Noise':
        """Return noise that is the same below and above."""
        return cls(error, error, freedom)

    @classmethod
    def of_sum(cls, found: Sum, level: float, freedom: float) -> 'Noise':
        """Return the noise of a predicted sum, from its interval."""
        quantile = stdtrit(freedom, (1 + level) / 2)
        return cls((found.value - found.low) / quantile,
                   (found.high - found.value) / quantile, freedom)

    @property
    def error(self) -> float:
        """Root mean square of both standard errors."""
        return float(np.hypot(self.down, self.up) / np.sqrt(2))

    def times(self, factor: float) -> 'Noise':
        """Return the noise of a positive multiple of the difference."""
        return Noise(factor * self.down, factor * self.up, self.freedom)


@dataclass(frozen=True)
class Difference:
    """A difference of model B minus model A, with its noise.

    The kind is 'loss' in the unit of the losses, where lower is better; or
    'predicted', 'observed' or 'combined', in fractions. The benchmark is empty
    for the mean loss. `noises` add up to the error, by origin: 'texts',
    'items', 'runs', 'predictor'. `level` is that of the interval, and `margin`
    the smallest difference that matters. `by_items` is the smallest difference
    that the benchmark's own items would show, as `detectable`, where their
    number is known.
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
        """True if lower is better."""
        return self.kind == LOSS

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors by their origin."""
        return {origin: noise.error for origin, noise in self.noises.items()}

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.linalg.norm([*self.errors.values()]))

    @property
    def low(self) -> float:
        """Lower end of the interval; -1 or more for accuracies."""
        low = self.value - self._reach('down', (1 + self.level) / 2)
        return low if self.of_losses else max(low, -1.)

    @property
    def high(self) -> float:
        """Upper end of the interval; 1 or less for accuracies."""
        high = self.value + self._reach('up', (1 + self.level) / 2)
        return high if self.of_losses else min(high, 1.)

    @property
    def _inner(self) -> str:
        """The side of the noise on which 0 lies."""
        return 'down' if self.value > 0 else 'up'

    def _reach(self, side: str, probability: float) -> float:
        """Quantile of all noise on a side, for a probability of 1/2 or more.
        """
        square = 0.
        for noise in self.noises.values():
            if noise.error:
                quantile = stdtrit(noise.freedom, probability)
                square += (getattr(noise, side) * quantile)**2
        return float(np.sqrt(square))

    @property
    def detectable(self) -> Optional[float]:
        """Smallest difference that is found with a probability of 80 %.

        None if accuracies, which differ by 1 at most, cannot differ as much.
        """
        size = self.size_to_detect
        return None if size > 1 and not self.of_losses else size

    @property
    def size_to_detect(self) -> float:
        """As `detectable`, also where accuracies cannot differ as much."""
        # Probability with which the smallest detectable difference is found.
        power = 0.8
        of_interval = self._reach(self._inner, (1 + self.level) / 2)
        return of_interval + self._reach(self._inner, power)

    @property
    def probability(self) -> float:
        """Probability that B is better.

        It is the p such that the p-quantile of the noise just reaches from the
        value to 0.
        """
        from scipy.optimize import bisect

        gain = -self.value if self.of_losses else self.value
        # Without any noise, the sign is certain.
        if not self.error:
            return float(np.heaviside(gain, 0.5))
        # Probabilities are not stated more exactly.
        most_probable = 1 - 1e-12
        side = self._inner
        least = self._reach(side, 0.5)
        most = self._reach(side, most_probable)
        size = np.clip(abs(gain), least, most)
        likelier = bisect(lambda p: self._reach(side, p) - size, 0.5,
                          most_probable)
        return likelier if gain >= 0 else 1 - likelier

    @property
    def verdict(self) -> str:
        """Better or worse if the interval leaves 0 out, same in the margin."""
        low, high = self.low, self.high
        if self.of_losses:
            low, high = -high, -low
        if low > 0:
            return BETTER
        if high < 0:
            return WORSE
        return SAME if max(-low, high) < self.margin else UNCLEAR

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; those of accuracies are fractions."""
        names = ('kind', 'benchmark', 'value', 'error', 'low', 'high',
                 'probability', 'margin', 'detectable', 'by_items', 'errors',
                 'verdict')
        return {name: getattr(self, name) for name in names}


def combine(predicted: Difference, observed: Difference) -> Difference:
    """Return the mean of two differences, weighted by their precision.

    The noise of runs is the same in both, so it has no part in the weights.
    """
    own = {
        PREDICTOR: predicted.noises[PREDICTOR],
        ITEMS: observed.noises[ITEMS]
    }
    errors = np.array([noise.error for noise in own.values()])
    precisions = errors**-2.0
    weights = precisions / precisions.sum()
    noises = {**own, **predicted.noises}
    for weight, (origin, noise) in zip(weights.tolist(), own.items()):
        noises[origin] = noise.times(weight)
    value = float(weights @ [predicted.value, observed.value])
    return replace(predicted, kind=COMBINED, value=value, noises=noises)


def text_noise(contributions: NDArray, shares: NDArray,
               sources: Sequence[str]) -> Noise:
    """Return the noise of a mean that comes from the choice of texts.

    Contributions `(S,)` are the parts of S texts in the difference, which is
    their sum; shares `(S,)` are those of the texts in the whole, with sum 1.
    The sources of the texts are the strata.
    """
    order, first, sizes = _strata(sources)
    freedom = len(order) - len(sizes)
    if not freedom:
        raise InputError(
            'texts of a comparison', 'two or more', '1',
            'Give losses by text or by item, or runs of one '
            'recipe with other seeds.')
    columns = np.column_stack([contributions, shares])[order]
    begins, counts = np.repeat([first, sizes], sizes - 1, axis=1)
    scale = np.repeat(sizes / (sizes - 1), sizes)
    rng = np.random.default_rng(0)
    # Resamples of a bootstrap.
    n_resamples = 1000
    sums = np.empty((n_resamples, 2))
    for resample in range(n_resamples):
        drawn = begins + (rng.random(freedom) * counts).astype(int)
        times = np.bincount(drawn, minlength=len(order))
        sums[resample] = scale * times @ columns
    means = sums[:, 0] / sums[:, 1]
    return Noise.even(float(means.std(ddof=1)), freedom)


def _strata(sources: Sequence[str]) -> tuple[NDArray, NDArray, NDArray]:
    """Texts in the order of strata; their beginnings and sizes, `(H,)`.

    Sources of a single text are one stratum; a last single text joins the
    largest one.
    """
    _, member, sizes = np.unique(
        np.asarray(sources), return_inverse=True, return_counts=True)
    member[sizes[member] == 1] = len(sizes)
    sizes = np.bincount(member)
    if sizes[-1] == 1:
        member[member == len(sizes) - 1] = np.argmax(sizes)
    order = np.argsort(member, kind='stable')
    _, first, sizes = np.unique(
        member[order], return_index=True, return_counts=True)
    return order, first, sizes


def run_noise(recipes: Sequence[ArrayLike],
              n_runs: tuple[int, int] = (1, 1)) -> Noise:  # yapf: disable
    """Return the noise of runs in a difference of means of two recipes.

    Args:
        recipes (Sequence[ArrayLike]): Values of the runs of each recipe; a
            recipe with a single run tells nothing. Runs of all recipes are
            taken to scatter alike.
        n_runs (tuple[int, int]): Number of runs in the means of A and of B.

    The mean of k runs has the tails of Student's t with an excess kurtosis
    that is 1/k of a single run's. It is 6 / (d - 4) with d degrees of freedom,
    so d is 4 + k (d_1 - 4), with d_1 for a single run. A variance that is
    known with d degrees of freedom has the relative variance 2/d. Those of the
    tails and of the estimate add up, so 1/freedom = 1/known + 1/tails.
    """
    known, squares = 0, 0.
    for values in recipes:
        n_values = np.size(values)
        if n_values > 1:
            known += n_values - 1
            variance = float(np.var(np.asarray(values, np.float64)))
            squares += n_values * variance
    if not known:
        raise InputError('runs of the same recipe', 'two or more', '1',
                         'Give runs that differ in their seed alone.')
    # Degrees of freedom of a single run's deviation from its recipe: a few
    # runs end far from the others.
    freedom_of_run = 5
    tails = 4 + min(n_runs) * (freedom_of_run - 4)
    freedom = 1 / (1 / known + 1 / tails)
    share = 1 / n_runs[0] + 1 / n_runs[1]
    return Noise.even(float(np.sqrt(share * squares / known)), freedom)


def items_noise(accuracies: tuple[float, float], n_items: int,
                n_runs: tuple[int, int]) -> Noise:
    """Return the binomial noise of a difference of two accuracies.

    Answers to the items are not paired. `n_runs` models answer them for A and
    for B.
    """
    variance = 0.
    for share, n in zip(accuracies, n_runs):
        variance += share * (1 - share) / (n_items * n)
    return Noise.even(float(np.sqrt(variance)))
