"""Differences of two models on the same texts or items, and their noise.

Token losses of two models on the same texts rise and fall together, so their
difference has far less noise than either mean. Its standard error is from a
bootstrap of whole texts, drawn within their sources with one text fewer than
there are (Rao and Wu, JASA 83, 1988).

The half-length of an interval is the root of the sum of the squared ones from
each origin of noise (Banerjee, Sankhya 22, 1960).
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.conventions import InputError

BETTER, WORSE = 'better', 'worse'
SAME, UNCLEAR = 'no difference', 'cannot tell'

#: Kinds of differences. Of the first two, negative ones are better.
LOSS, SCORE = 'loss', 'score'
PREDICTED, OBSERVED, COMBINED = 'predicted', 'observed', 'combined'
#: Origins of noise.
TEXTS, ITEMS, RUNS, PREDICTOR = 'texts', 'items', 'runs', 'predictor'

#: Resamples of a bootstrap.
N_RESAMPLES = 1000
#: Probability with which the smallest detectable difference is found.
POWER = 0.8
#: Probabilities are not stated more exactly.
MOST_PROBABLE = 1 - 1e-12
#: Most degrees of freedom of errors of single models or runs. Of three to
#: eight, five are the most likely on families left out of four collections
#: (docs/appendix/measurements.md).
MOST_FREEDOM = 5


class Noise(NamedTuple):
    """A standard error of a difference, and its degrees of freedom."""
    error: float
    freedom: float = np.inf


@dataclass(frozen=True)
class Difference:
    """A difference of model B minus model A, with its noise.

    The kind is 'loss' or 'score' in the unit of the losses, where lower is
    better; or 'predicted', 'observed' or 'combined', in fractions. The
    benchmark is empty for the mean loss. `noises` add up to the error, by
    origin: 'texts', 'items', 'runs', 'predictor'. `level` is that of the
    interval, and `margin` the smallest difference that matters.
    """
    kind: str
    benchmark: str
    value: float
    noises: Mapping[str, Noise]
    level: float
    margin: float

    @property
    def of_losses(self) -> bool:
        """True if lower is better."""
        return self.kind in (LOSS, SCORE)

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
        low = self.value - self._half_length
        return low if self.of_losses else max(low, -1.)

    @property
    def high(self) -> float:
        """Upper end of the interval; 1 or less for accuracies."""
        high = self.value + self._half_length
        return high if self.of_losses else min(high, 1.)

    @property
    def _half_length(self) -> float:
        return self._quantile((1 + self.level) / 2)

    def _quantile(self, probability: float) -> float:
        """Of all noise, with a probability of 1/2 or more."""
        return float(
            np.linalg.norm([
                noise.error * scipy.special.stdtrit(noise.freedom, probability)
                for noise in self.noises.values() if noise.error
            ]))

    @property
    def detectable(self) -> Optional[float]:
        """Smallest difference that is found with probability `POWER`.

        None if accuracies, which differ by 1 at most, cannot differ as much.
        """
        size = self.size_to_detect
        return None if size > 1 and not self.of_losses else size

    @property
    def size_to_detect(self) -> float:
        """As `detectable`, also where accuracies cannot differ as much."""
        return self._half_length + self._quantile(POWER)

    @property
    def probability(self) -> float:
        """Probability that B is better."""
        from scipy.optimize import bisect

        gain = -self.value if self.of_losses else self.value
        # Without any noise, the sign is certain.
        if not self.error:
            return float(np.heaviside(gain, 0.5))
        # The interval of this level ends at 0, but for rounding errors.
        ends = 0.5, MOST_PROBABLE
        least, most = map(self._quantile, ends)
        size = np.clip(abs(gain), least, most)
        likelier = bisect(lambda p: self._quantile(p) - size, *ends)
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
                 'probability', 'margin', 'detectable', 'errors', 'verdict')
        return {name: getattr(self, name) for name in names}


def text_noise(contributions: NDArray, shares: NDArray,
               sources: Sequence[str]) -> list[Noise]:
    """Return the noise of Q means that comes from the choice of texts.

    Contributions `(S, Q)` are the parts of S texts in differences, which are
    their sums; shares `(S,)` are those of the texts in the whole, with sum 1.
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
    sums = np.empty((N_RESAMPLES, columns.shape[1]))
    for row in sums:
        drawn = begins + (rng.random(freedom) * counts).astype(int)
        row[:] = scale * np.bincount(drawn, minlength=len(order)) @ columns
    means = sums[:, :-1] / sums[:, -1:]
    return [Noise(float(error), freedom) for error in means.std(0, ddof=1)]


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


def run_noise(values: ArrayLike) -> Noise:
    """Return the noise of a difference of two runs, from n runs of one recipe.

    A few runs end far from the others, so single runs have `MOST_FREEDOM`
    degrees of freedom; relative variances of these and of the n - 1 add up.
    """
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        raise InputError('runs of the same recipe', 'two or more',
                         str(len(values)),
                         'Give runs that differ in their seed alone.')
    freedom = 1 / (1 / (len(values) - 1) + 1 / MOST_FREEDOM)
    return Noise(float(np.sqrt(2) * values.std(ddof=1)), freedom)


@dataclass(frozen=True)
class PairedAnswers:
    """Answers of models A and B to the same items of a benchmark.

    Accuracies are fractions. `only` is the sum of what each has above the
    other: the items that it alone answers rightly. `p_value` is that of the
    exact test of McNemar, None for graded answers. `noise`, from the items, is
    that of the difference of the accuracies.
    """
    benchmark: str
    n_items: int
    accuracies: tuple[float, float]
    only: tuple[float, float]
    p_value: Optional[float]
    noise: Noise

    @classmethod
    def of(cls, benchmark: str, a: ArrayLike, b: ArrayLike) -> 'PairedAnswers':
        """Pair answers of A and B, 1 for right and 0 for wrong, `(n,)`.

        Grades between 0 and 1 have no test, and noise from the bootstrap.
        """
        pair = np.array([a, b], np.float64)
        wrong = pair[~((0 <= pair) & (pair <= 1))]
        if wrong.size:
            raise InputError(f'answers on {benchmark!r}', 'grades in 0..1',
                             f'{wrong[0]:g}', 'Leave unanswered items out.')
        n_items = pair.shape[1]
        gain = pair[1] - pair[0]
        only = (float(np.maximum(-gain, 0).sum()),
                float(np.maximum(gain, 0).sum()))  # yapf: disable
        p_value = None
        if np.isin(pair, (0, 1)).all():
            p_value = _mcnemar(round(only[0]), round(only[1]))
            noise = Noise(_wald_error(n_items, *only))
        elif n_items == 1:
            raise InputError(f'answers on {benchmark!r}',
                             'grades of two items or more', 'one item',
                             'Give more answers.')
        else:
            found, = text_noise(gain[:, None] / n_items,
                                np.full(n_items, 1 / n_items), [''] * n_items)
            # Equal grades have no noise to draw from.
            noise = found._replace(
                error=max(found.error, _wald_error(n_items, 0, 0)))
        accuracies = float(pair[0].mean()), float(pair[1].mean())
        return cls(benchmark, n_items, accuracies, only, p_value, noise)

    @property
    def value(self) -> float:
        """Accuracy of B minus that of A."""
        return self.accuracies[1] - self.accuracies[0]


def _mcnemar(only_a: int, only_b: int) -> float:
    """Probability that equal models differ so much on so many items."""
    from scipy.stats import binomtest
    n = only_a + only_b
    return float(binomtest(only_b, n).pvalue) if n else 1.0


def _wald_error(n_items: int, only_a: float, only_b: float) -> float:
    """Standard error of a paired difference, with half an item more a cell.

    Agresti and Min, Statistics in Medicine 24(5), 2005.
    """
    n, only_a, only_b = n_items + 2, only_a + 0.5, only_b + 0.5
    return float(np.sqrt(only_a + only_b - (only_b - only_a)**2 / n) / n)


def combine(predicted: Difference, observed: Difference) -> Difference:
    """Return the mean of two differences, weighted by their precision.

    The noise of runs is the same in both, so it has no part in the weights.
    """
    own = {
        PREDICTOR: predicted.noises[PREDICTOR],
        ITEMS: observed.noises[ITEMS]
    }
    weights = np.array([noise.error for noise in own.values()])**-2.0
    weights /= weights.sum()
    noises = {**own, **predicted.noises}
    for weight, (origin, noise) in zip(weights.tolist(), own.items()):
        noises[origin] = noise._replace(error=weight * noise.error)
    value = float(weights @ [predicted.value, observed.value])
    return replace(predicted, kind=COMBINED, value=value, noises=noises)
