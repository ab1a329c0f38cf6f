"""Curves whose exponents are sums of a few scores, nothing of it shrunk."""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.scaling_law import Regressions


def fit_lines(
    scores: NDArray,
    accuracy: NDArray,
    floors: NDArray,
    guess: Optional[tuple[NDArray,
                          NDArray]] = None) -> tuple[NDArray, NDArray]:
    """Exponents of Eq. 2 as sums of p scores, with each of F floors.

    Args:
        scores (NDArray): Of n models, `(n, p)`; those that do not differ
            get the slope 0.
        accuracy (NDArray): Of the models, fractions, `(n,)`.
        floors (NDArray): Fractions, `(F,)`.
        guess (Optional[tuple]): Where to start: slopes of the first scores,
            and offsets.

    Returns:
        tuple[NDArray, NDArray]: Slopes `(F, p)` and offsets `(F,)`.
    """
    centre, spread = scores.mean(axis=0), scores.std(axis=0)
    inverse = np.divide(
        1, spread, where=spread > 1e-12 * np.abs(centre),
        out=np.zeros_like(spread))  # yapf: disable
    ones = np.ones((len(scores), 1))
    design = np.hstack([ones, (scores - centre) * inverse])
    lines = Regressions(
        design,
        accuracy,
        np.ones((len(floors), len(scores))),
        floors,
        n_free=design.shape[1])
    start = lines.start()
    if guess is not None:
        slopes, offsets = guess
        k = slopes.shape[1]
        start[:, 0] = offsets + slopes @ centre[:k]
        start[:, 1:k + 1] = slopes * spread[:k]
    solution = lines.solve(0.0, start, tolerance=1e-7)
    slopes = solution[:, 1:] * inverse
    return slopes, solution[:, 0] - slopes @ centre
