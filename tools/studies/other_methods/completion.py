"""Completion of the matrix of scores, models x benchmarks, at rank two.

Source: the matrix of scores is nearly of low rank (Ruan et al., NeurIPS 2024,
arXiv 2405.10938; Burnell et al., "Revealing the structure of language model
capabilities", arXiv 2306.10062), so a score follows from the other scores of
the model. No losses are looked at. What is added to the squares of a model's
factors is the setting that is chosen, and the curve makes up for what is not
linear.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.salience.base import SalienceFit, Task
from tools.studies.other_methods.cross_validation import (Candidates,
                                                          cross_validate)

RANK = 2
#: Added to the squares of factors, relative to those of the first one.
PENALTIES = 1e-3, 1e-2, 1e-1, 1.0, 10.0
#: The holes of a matrix are filled again and again, at most so often.
MAX_STEPS = 200


def score_features(models: Sequence[str], benchmarks: Sequence[str],
                   scores: NDArray) -> FeatureTable:
    """Scores on other benchmarks, with their holes filled.

    Args:
        scores (NDArray): NaN where a model was not run, `(M, K)`; no
            benchmark without a score.
    """
    n = len(benchmarks)
    columns = Columns(tuple(benchmarks), np.full(n, -1 / n), 'scores')
    return FeatureTable(tuple(models), columns, filled(scores))


def filled(scores: NDArray) -> NDArray:
    """A matrix whose holes (NaN) are filled at rank two.

    Holes are set to the means of their columns and then to the values of the
    best matrix of rank two around these means, until they stay.

    Args:
        scores (NDArray): Shape `(M, K)`; every column has a number.
    """
    holes = np.isnan(scores)
    full = np.where(holes, np.nanmean(scores, axis=0), scores)
    for _ in range(MAX_STEPS if holes.any() else 0):
        means = full.mean(axis=0)
        left, sizes, right = np.linalg.svd(full - means, full_matrices=False)
        low = means + (left[:, :RANK] * sizes[:RANK]) @ right[:RANK]
        moved = np.abs(low - full)[holes].max()
        full = np.where(holes, low, full)
        if moved < 1e-8:
            break
    return full


@dataclass(frozen=True)
class Completion:
    """A solver for `score_features`."""
    name: str = 'completion'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        settings = [
            f'penalty of factors: {penalty:g}' for penalty in PENALTIES
        ]
        return cross_validate(self.name, task, masks, settings, _candidates)


def _candidates(task: Task) -> Candidates:
    return Candidates.of_one_score_each(
        task,
        np.stack([
            completion_weights(task.values, task.accuracy, penalty)
            for penalty in PENALTIES
        ]))


def completion_weights(others: NDArray, target: NDArray,
                       penalty: float) -> NDArray:
    """What a model's other scores add to its completed score.

    Args:
        others (NDArray): Scores of n models, `(n, K)`.
        target (NDArray): Their scores on the benchmark to predict, `(n,)`.

    Returns:
        NDArray: Coefficients of scores less their means, `(K,)`.
    """
    matrix = np.hstack([others, target[:, None]])
    centred = matrix - matrix.mean(axis=0)
    spread = centred.std(axis=0)
    # Benchmarks on which all models score alike tell nothing.
    inverse = np.divide(1, spread, where=spread > 1e-9,
                        out=np.zeros_like(spread))  # yapf: disable
    _, sizes, axes = np.linalg.svd(centred * inverse, full_matrices=False)
    # A model is a point in the plane of the first two directions, and points
    # far from the mean in units of the first are unlikely.
    factors = axes[:RANK] * sizes[:RANK, None] / np.sqrt(len(target))
    known = factors[:, :-1]
    if not known.any():
        return np.zeros(others.shape[1])
    inner = known @ known.T + penalty * (known[0] @ known[0]) * np.eye(
        len(factors))
    weights = np.linalg.solve(inner, known).T @ factors[:, -1]
    return weights * inverse[:-1] * spread[-1]
