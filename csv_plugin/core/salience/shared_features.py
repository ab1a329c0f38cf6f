"""Losses that many benchmarks are fitted to, and what is made of them."""
from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

#: So many parts are remembered: the models of a benchmark and those of its
#: three back-tests, which most often are those of the next benchmark as well.
MOST_PARTS = 4

Made = TypeVar('Made')


class SharedFeatures:
    """Feature columns of n models, and what is made of them once for all.

    Args:
        values (NDArray): Feature columns, `(n, K)`.
        uniform (NDArray): Coefficients of the all-token loss, `(K,)`.
    """

    def __init__(self, values: NDArray, uniform: NDArray) -> None:
        self.uniform = uniform
        self._table, self._rows = values, np.arange(len(values))
        self._parts = lru_cache(MOST_PARTS)(self._part)
        self._made: dict[Callable[..., Any], Any] = {}

    def __repr__(self) -> str:
        return 'SharedFeatures({} models x {} columns)'.format(*self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Models and columns."""
        return len(self._rows), len(self.uniform)

    @property
    def values(self) -> NDArray:
        """Shape `(n, K)`; of some of the models, copied whenever asked."""
        whole = np.array_equal(self._rows, np.arange(len(self._table)))
        return self._table if whole else self._table[self._rows]

    @property
    def mean_loss(self) -> NDArray:
        """The all-token loss, `(n,)`."""
        return self.once(_mean_loss)

    def select(self, rows: NDArray) -> 'SharedFeatures':
        """Of some of the models, by indices or by a mask.

        The last few parts are remembered, with what was made of them.
        """
        return self._parts(self._rows[rows].tobytes())

    def _part(self, rows: bytes) -> 'SharedFeatures':
        part = copy(self)
        part._rows = np.frombuffer(rows, dtype=self._rows.dtype)
        part._made = {}
        return part

    def once(self, make: Callable[['SharedFeatures'], Made]) -> Made:
        """What a function makes of these features; it is called but once."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


def _mean_loss(features: SharedFeatures) -> NDArray:
    return features.values @ features.uniform
