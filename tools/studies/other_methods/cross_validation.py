"""The choice of a method's settings, and the curve, the same for all of them.

Every method makes scores that are sums of features with coefficients, as
salience does. The curve is Eq. 2 for all of them, its floor is one of
`floor_candidates`, and floor and settings are those with the least error on
held-out families.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.salience.base import (SalienceFit, Task, floor_candidates,
                                           held_out_mse)
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Regressions, accuracy_at


@dataclass(frozen=True, eq=False)
class Candidates:
    """Fits to the same models with S settings and F floors.

    Exponents of the curve are sums of P scores.

    Args:
        directions (NDArray): Coefficients of each score, `(P, K)`.
        slopes (NDArray): What scores add to exponents, `(S, F, P)`.
        offsets (NDArray): Exponents where all scores are 0, `(S, F)`.
    """
    directions: NDArray
    slopes: NDArray
    offsets: NDArray

    @classmethod
    def of_one_score_each(cls, task: Task,
                          directions: NDArray) -> 'Candidates':
        """Every setting has a score of its own, `(S, K)`."""
        scores = task.values @ directions.T
        n = len(directions)
        floors = floor_candidates(task.chance)
        lines = [
            fit_lines(scores[:, [i]], task.accuracy, floors) for i in range(n)
        ]
        slopes = np.stack(
            [line * np.eye(n)[i] for i, (line, _) in enumerate(lines)])
        return cls(directions, slopes, np.stack([line[1] for line in lines]))


def cross_validate(name: str, task: Task, masks: NDArray,
                   settings: Sequence[str],
                   fit: Callable[[Task], Candidates]) -> SalienceFit:
    """Fit with every setting, keep the best on held-out families."""
    floors = floor_candidates(task.chance)
    rows = [*masks, np.ones(len(task.accuracy), dtype=bool)]
    parts = [task.select(row) for row in rows]
    # Where nothing can be learned, the mean accuracy is predicted.
    fits = [None if part.problems else fit(part) for part in parts]
    predicted = np.empty((len(settings), len(floors), len(rows), len(rows[0])))
    for row, (part, candidates) in enumerate(zip(parts, fits)):
        predicted[:, :,
                  row] = part.accuracy.mean() if candidates is None else (
                      _predict(candidates, task.values, floors))
    errors = np.array(
        [[held_out_mse(by_fold, task.accuracy, masks) for by_fold in by_floor]
         for by_floor in predicted[:, :, :-1]])
    setting, floor = (
        int(i) for i in np.unravel_index(np.argmin(errors), errors.shape))
    models = SalienceModel.stack([
        SalienceModel.constant(part.accuracy.mean(), task.uniform)
        if candidates is None else SalienceModel.from_linear(
            candidates.slopes[setting, floor] @ candidates.directions,
            candidates.offsets[setting, floor], floors[floor], task.uniform)
        for part, candidates in zip(parts, fits)
    ])
    note = f'{settings[setting]}, chosen by the error on held-out families'
    return SalienceFit(name, models[-1], models[:-1], masks, 0.0,
                       float(errors[setting, floor]),
                       (note, ) if len(masks) and len(settings) > 1 else ())


def _predict(candidates: Candidates, values: NDArray,
             floors: NDArray) -> NDArray:
    """Accuracies of models with all settings and floors, `(S, F, M)`."""
    exponents = candidates.slopes @ (candidates.directions @ values.T)
    return accuracy_at(exponents + candidates.offsets[:, :, None],
                       floors[:, None])


def fit_lines(scores: NDArray, accuracy: NDArray,
              floors: NDArray) -> tuple[NDArray, NDArray]:
    """Fit exponents of Eq. 2 as weighted sums of p scores, with F floors.

    Scores are `(n, p)`, accuracies `(n,)`. Constant scores get the slope 0.
    Returns slopes `(F, p)` and offsets `(F,)`.
    """
    centre, spread = scores.mean(axis=0), scores.std(axis=0)
    inverse = np.divide(
        1, spread, where=spread > 1e-12 * np.abs(centre),
        out=np.zeros_like(spread))  # yapf: disable
    ones = np.ones((len(scores), 1))
    design = np.hstack([ones, (scores - centre) * inverse])
    lines = Regressions(design, accuracy, np.ones((len(floors), len(scores))),
                        floors)
    solution = lines.solve(lines.start(), tolerance=1e-4)
    slopes = solution[:, 1:] * inverse
    return slopes, solution[:, 0] - slopes @ centre
