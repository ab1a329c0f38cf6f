"""Noise of scores by the items that they are of.

A score is a share of right answers, so it has the noise of as many draws as
there are items (binomial). But all models answer the same items, and most of
them the same ones rightly: only a part of this noise is a model's own.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

#: Right and wrong answers in equal parts, which are added to those that a
#: score is made of before its noise is told: two right answers out of two are
#: no score without noise (Agresti and Coull, The American Statistician 52(2),
#: 1998).
_IMAGINED_ITEMS = 4
#: How much of the binomial variance is a model's own. By that much, scores of
#: neighbouring checkpoints of pretraining runs scatter about their trend
#: (docs/results.md, "Noise of items").
OWN_SHARE = 0.25


def item_variance(accuracy: NDArray,
                  n_items: ArrayLike) -> NDArray[np.float64]:
    """Variance of the answer to one item, above 0 even for none right.

    Args:
        accuracy (NDArray): Fractions, NaN where not known, any shape.
        n_items (ArrayLike): Number of items that they are from, 0 where not
            known. Broadcasts against them.

    >>> item_variance(np.array([0.5, 1.0]), np.array([100, 2]))
    array([0.25      , 0.22222222])
    """
    n_items = np.asarray(n_items)
    share = (accuracy * n_items + _IMAGINED_ITEMS / 2) / (
        n_items + _IMAGINED_ITEMS)
    return np.asarray(share * (1 - share))


def sampling_noise(accuracy: NDArray, n_items: NDArray,
                   n_fitted: NDArray) -> NDArray:
    """Binomial variance of accuracies beyond that of the models fitted on.

    Args:
        accuracy (NDArray): Fractions, NaN where not known. Shape `(..., B)`.
        n_items (NDArray): Number of items that they are from, 0 where not
            known: taken to be as many as those of the models fitted on.
            Shape `(B,)`.
        n_fitted (NDArray): Number of items of the models fitted on, 0 where
            not known: taken to be without end. Shape `(B,)`.

    Returns:
        NDArray: Shape `(..., B)`, NaN where the accuracy is not known.
    """
    fewer = _inverse(n_items) - np.where(n_items > 0, _inverse(n_fitted), 0)
    return item_variance(accuracy, n_items) * np.maximum(fewer, 0)


def at_least_noise(low: NDArray, predicted: NDArray, high: NDArray,
                   n_items: ArrayLike,
                   level: float) -> tuple[NDArray, NDArray]:
    """Intervals that are no narrower than the noise of a model's own.

    Args:
        low (NDArray): Lower ends, fractions in any shape.
        predicted (NDArray): In the same shape.
        high (NDArray): Upper ends, likewise.
        n_items (ArrayLike): Of the benchmark, as in `item_variance`; where it
            is not known, intervals are as they were.
        level (float): Of the intervals, in (0, 1).

    Returns:
        tuple[NDArray, NDArray]: Both ends, in 0..1.

    >>> low, high = at_least_noise(np.array([.5, .25]), np.array([.5, .5]),
    ...                            np.array([.5, .75]), np.array([625]), .9545)
    >>> low.round(3), high.round(3)
    (array([0.48, 0.25]), array([0.52, 0.75]))
    """
    variance = item_variance(predicted, n_items) * _inverse(n_items)
    # Near a level of 1, (1 + level) / 2 would round to it.
    half = norm.isf((1 - level) / 2) * np.sqrt(OWN_SHARE * variance)
    return (np.minimum(low, np.maximum(predicted - half, 0)),
            np.maximum(high, np.minimum(predicted + half, 1)))


def _inverse(n_items: ArrayLike) -> NDArray[np.float64]:
    """1 / n, and 0 where n is 0, for not known."""
    n_items = np.asarray(n_items)
    return np.divide(
        1, n_items, where=n_items > 0, out=np.zeros(n_items.shape))
