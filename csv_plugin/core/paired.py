"""Answers of two models to the same items of a benchmark."""
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike

from csv_plugin.core.conventions import InputError
from csv_plugin.core.noise import Noise, text_noise


@dataclass(frozen=True)
class PairedAnswers:
    """Answers of models A and B to the same items of a benchmark.

    Accuracies are fractions. `only` sums what each model scores above the
    other: of right and wrong answers, the number that it alone has right.
    `p_value` is that of the
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
        is_grade = (0 <= pair) & (pair <= 1)
        if not is_grade.all():
            raise InputError(f'answers on {benchmark!r}', 'grades in 0..1',
                             f'{pair[~is_grade][0]:g}',
                             'Leave unanswered items out.')
        n_items = pair.shape[1]
        gains = pair[1] - pair[0]
        only_a = float(np.maximum(-gains, 0).sum())
        only_b = float(np.maximum(gains, 0).sum())
        only = only_a, only_b
        p_value = None
        if np.isin(pair, (0, 1)).all():
            p_value = _mcnemar(round(only_a), round(only_b))
            noise = Noise.even(_wald_error(n_items, only_a, only_b))
        elif n_items == 1:
            raise InputError(f'answers on {benchmark!r}',
                             'grades of two items or more', 'one item',
                             'Give more answers.')
        else:
            shares = np.full(n_items, 1 / n_items)
            found = text_noise(gains / n_items, shares, [''] * n_items)
            # Equal grades have no noise to draw from.
            least = _wald_error(n_items, 0, 0)
            noise = Noise.even(max(found.error, least), found.freedom)
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
    # The table has four cells.
    n = n_items + 2
    only_a += 0.5
    only_b += 0.5
    variance = only_a + only_b - (only_b - only_a)**2 / n
    return float(np.sqrt(variance) / n)
