"""Differences of two models on the same texts or items, and their noise.

Token losses of two models on the same texts rise and fall together, so their
difference has far less noise than either mean. Its standard error is from a
bootstrap of whole texts, drawn within their sources with one text fewer than
there are, which is unbiased in small strata (Rao and Wu, Journal of the
American Statistical Association 83(401), 1988).
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from csv_plugin.core.input_error import InputError

BETTER, WORSE = 'better', 'worse'
SAME, UNCLEAR = 'no difference', 'cannot tell'

#: Kinds of differences. Of the first two, negative ones are better.
LOSS, SCORE = 'loss', 'score'
PREDICTED, OBSERVED, COMBINED = 'predicted', 'observed', 'combined'
#: Origins of noise.
TEXTS, ITEMS, RUNS, PREDICTOR = 'texts', 'items', 'runs', 'predictor'

#: Resamples of a bootstrap.
N_RESAMPLES = 1000
#: Most texts that are drawn at a time, over all resamples.
_DRAWS = 2**20
#: Probability with which the smallest detectable difference is found.
POWER = 0.8


class Noise(NamedTuple):
    """A standard error of a difference, and its degrees of freedom."""
    error: float
    freedom: float = np.inf


@dataclass(frozen=True)
class Difference:
    """A difference of model B minus model A, with its interval.

    Args:
        kind (str): 'loss' or 'score' in the unit of the losses, where lower
            is better; 'predicted', 'observed' or 'combined' in fractions.
        benchmark (str): Such as 'mmlu', or 'mean'; empty for the mean loss.
        value (float): The difference.
        error (float): Its standard error.
        low (float): Lower end of its interval.
        high (float): Upper end.
        probability (float): That B is better.
        margin (float): Smallest difference that matters.
        detectable (float): Smallest difference that is found with probability
            `POWER`.
        errors (Mapping[str, float]): Standard errors by their origin:
            'texts', 'items', 'runs', 'predictor'.
    """
    kind: str
    benchmark: str
    value: float
    error: float
    low: float
    high: float
    probability: float
    margin: float
    detectable: float
    errors: Mapping[str, float]

    @property
    def of_losses(self) -> bool:
        """True if lower is better."""
        return self.kind in (LOSS, SCORE)

    @property
    def verdict(self) -> str:
        """'better' or 'worse' where the interval leaves 0 out.

        'no difference' where it lies within the margin, else 'cannot tell'.
        """
        low, high = self.low, self.high
        if self.of_losses:
            low, high = -high, -low
        if low > 0:
            return BETTER
        if high < 0:
            return WORSE
        return SAME if -self.margin < low and high < self.margin else UNCLEAR

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; those of accuracies are fractions."""
        return {**vars(self), 'errors': dict(self.errors),
                'verdict': self.verdict}  # yapf: disable


def judged(kind: str, benchmark: str, value: float, noises: Mapping[str,
                                                                    Noise],
           level: float, margin: float) -> Difference:
    """Return a difference whose interval has noise of some origins."""
    error, freedom = total_noise(noises.values())
    half = error * float(stdtrit(freedom, (1 + level) / 2))
    low, high = value - half, value + half
    gain = value
    if kind in (LOSS, SCORE):
        gain = -value
    else:
        low, high = max(low, -1), min(high, 1)
    # Without any noise, the sign is certain.
    probability = stdtr(freedom, gain /
                        error) if error else (1 + np.sign(gain)) / 2
    return Difference(kind, benchmark, value, error, low, high,
                      float(probability), margin,
                      half + error * float(stdtrit(freedom, POWER)), {
                          origin: noise.error
                          for origin, noise in noises.items()
                      })


def total_noise(noises: Iterable[Noise]) -> Noise:
    """Return the sum of independent noise, freedom after Welch (1947)."""
    errors, freedom = np.array([*noises]).T
    total = float(np.sqrt(np.square(errors).sum()))
    lost = float((errors**4 / freedom).sum())
    return Noise(total, total**4 / lost if lost else np.inf)


def text_noise(contributions: NDArray,
               shares: NDArray,
               sources: Sequence[str],
               seed: int = 0) -> list[Noise]:
    """Return the noise of Q means that comes from the choice of texts.

    Args:
        contributions (NDArray): Parts of S texts in differences, which are
            their sums, `(S, Q)`.
        shares (NDArray): Shares of the texts in the whole, with sum 1,
            `(S,)`.
        sources (Sequence[str]): Source of each text, the strata.
        seed (int): Of the resamples.

    Returns:
        list[Noise]: One for each of the Q.

    Raises:
        InputError: There is a single text.
    """
    order, first, sizes = _strata(sources)
    freedom = len(order) - len(sizes)
    if not freedom:
        raise InputError('texts of a comparison', 'two or more', '1',
                         'Give losses by text or by item.')
    columns = np.column_stack([contributions, shares])[order]
    begins, counts = (
        np.repeat(numbers, sizes - 1) for numbers in (first, sizes))
    scale = np.repeat(sizes / (sizes - 1), sizes)
    rng = np.random.default_rng(seed)
    parts = []
    most = max(_DRAWS // len(order), 1)
    for first_drawn in range(0, N_RESAMPLES, most):
        n = min(most, N_RESAMPLES - first_drawn)
        drawn = begins + (rng.random((n, freedom)) * counts).astype(int)
        drawn += len(order) * np.arange(n)[:, None]
        times = np.bincount(drawn.ravel(), minlength=n * len(order))
        parts.append(scale * times.reshape(n, -1) @ columns)
    sums = np.concatenate(parts)
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

    Raises:
        InputError: There are fewer than two.
    """
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        raise InputError('runs of the same recipe', 'two or more',
                         str(len(values)),
                         'Give runs that differ in their seed alone.')
    return Noise(float(np.sqrt(2) * values.std(ddof=1)), len(values) - 1)


@dataclass(frozen=True)
class PairedAnswers:
    """Answers of two models to the same items of a benchmark.

    Args:
        benchmark (str): Its name.
        n_items (int): Items that both answered.
        accuracies (tuple[float, float]): Of A and B, fractions.
        only (tuple[float, float]): Sum of what A, and B, has above the other:
            the items that one alone answers rightly.
        p_value (Optional[float]): Exact test of McNemar; None for graded
            answers.
        noise (Noise): Of the difference of the accuracies, from the items.
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
        n_items = pair.shape[1]
        gain = pair[1] - pair[0]
        only = (float(np.maximum(-gain,
                                 0).sum()), float(np.maximum(gain, 0).sum()))
        p_value = None
        if np.isin(pair, (0, 1)).all():
            p_value = _mcnemar(round(only[0]), round(only[1]))
            noise = Noise(_wald_error(n_items, *only))
        else:
            noise, = text_noise(gain[:, None] / n_items,
                                np.full(n_items, 1 / n_items), [''] * n_items)
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


def combine(predicted: Difference, observed: Difference,
            level: float) -> Difference:
    """Return the mean of two differences, weighted by their precision."""
    weights = np.array([predicted.error, observed.error])**-2.0
    value = weights @ [predicted.value, observed.value] / weights.sum()
    both = {'both': Noise(float(weights.sum()**-0.5))}
    return judged(COMBINED, predicted.benchmark, float(value), both, level,
                  predicted.margin)
