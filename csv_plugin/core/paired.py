"""Answers of two models to the same items of a benchmark."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from csv_plugin.core.conventions import InputError
from csv_plugin.core.noise import Noise, text_noise


@dataclass(frozen=True)
class PairedAnswers:
    """Answers of models A and B to the same items of a benchmark.

    `accuracies` are the accuracies of A and of B as fractions. `only` has two
    numbers, for A and for B: the sum over items of how much the model's grade
    exceeds the other model's grade. For right and wrong answers, this is the
    number of items that only this model answers correctly. `noise` is the
    noise of the difference of the accuracies that comes from the items.
    """
    benchmark: str
    n_items: int
    accuracies: tuple[float, float]
    only: tuple[float, float]
    noise: Noise

    @classmethod
    def of(cls, benchmark: str, a: ArrayLike, b: ArrayLike) -> 'PairedAnswers':
        """Compare the answers of A and B to the same n items, `(n,)` each.

        An answer is 1 if it is right and 0 if it is wrong. It may also be a
        grade between 0 and 1. Then the noise is estimated by a bootstrap.

        Raises:
            InputError: An answer is not in 0..1, or there is only one item
                and its answers are graded.
        """
        pair = np.array([a, b], np.float64)
        is_grade = (0 <= pair) & (pair <= 1)
        if not is_grade.all():
            raise InputError(
                f'answers on {benchmark!r}', 'grades in 0..1',
                f'{pair[~is_grade][0]:g}',
                'Leave out items without an answer, and divide '
                'grades by the highest possible grade.')
        n_items = pair.shape[1]
        answers_of_a, answers_of_b = pair
        gains = answers_of_b - answers_of_a
        gains_of_a = np.maximum(-gains, 0)
        gains_of_b = np.maximum(gains, 0)
        only_a = float(gains_of_a.sum())
        only_b = float(gains_of_b.sum())
        is_right_or_wrong = np.isin(pair, (0, 1))
        if is_right_or_wrong.all():
            error = _wald_error(n_items, only_a, only_b)
            # As for graded answers, so that one item decides nothing.
            freedom = max(n_items - 1, 1)
            noise = Noise.even(error, freedom)
        elif n_items == 1:
            raise InputError(f'answers on {benchmark!r}',
                             'grades of two items or more', 'one item',
                             'Give the answers to more items.')
        else:
            shares = np.full(n_items, 1 / n_items)
            found = text_noise(gains / n_items, shares, [''] * n_items)
            # The bootstrap finds no noise if all gains are equal.
            least = _wald_error(n_items, 0, 0)
            error = max(found.error, least)
            noise = Noise.even(error, found.freedom)
        of_a, of_b = pair.mean(axis=1).tolist()
        only = only_a, only_b
        return cls(
            benchmark,
            n_items,
            accuracies=(of_a, of_b),
            only=only,
            noise=noise)

    @property
    def value(self) -> float:
        """Accuracy of B minus accuracy of A."""
        return self.accuracies[1] - self.accuracies[0]


def _wald_error(n_items: int, only_a: float, only_b: float) -> float:
    """Return the standard error of the difference of paired accuracies.

    `only_a` and `only_b` are as in `PairedAnswers.only`. Half an item is added
    to each cell of the table of right and wrong answers of A and B (Agresti
    and Min, Statistics in Medicine 24(5), 2005).
    """
    # The table has four cells, so two items are added.
    n = n_items + 2
    only_a += 0.5
    only_b += 0.5
    difference = only_b - only_a
    variance = only_a + only_b - difference**2 / n
    return float(np.sqrt(variance) / n)
