"""Checkpoints that leave the trajectory of their run.

A wrong upload or a broken save stands off from its neighbours. Every
checkpoint is predicted from those next to it, linearly in the log of the
tokens: from one on each side or, at an end, from the next two. What is left
over is judged by the median size of all such residuals, so that a few bad
checkpoints do not hide each other.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.triage.trajectories import RunTrajectory

#: Robust standard deviations of the log of the mean loss, and of the median
#: benchmark's exponent (a capability that emerges is one benchmark, a broken
#: checkpoint is all). On the 112 sound checkpoints of the demonstration the
#: largest are 5.5 and 2.9.
MOST_LOSS, MOST_SCORE = 6.0, 4.0
#: Deviations are not taken to be smaller than this: of the log of the mean
#: loss (1 %), of an exponent.
LEAST_LOSS, LEAST_SCORE = 0.01, 0.1
#: Runs of fewer checkpoints are not judged.
LEAST_CHECKPOINTS = 4


@dataclass(frozen=True)
class OffTrajectory:
    """A checkpoint that does not fit the ones next to it.

    Args:
        checkpoint (str): Its name.
        run (str): The run.
        loss_ratio (float): Its mean loss over the one that its neighbours
            lead to expect.
        loss_deviations (float): How far off the log of that is, in robust
            standard deviations.
        score_deviations (float): How far off the capability scores are,
            median of the benchmarks; negative if worse than expected.
        same_as (str): Another checkpoint of the run with the very same
            losses; empty if there is none.
    """
    checkpoint: str
    run: str
    loss_ratio: float
    loss_deviations: float
    score_deviations: float
    same_as: str

    def __str__(self) -> str:
        if self.same_as:
            return f'{self.checkpoint}: the same losses as {self.same_as}'
        return (f'{self.checkpoint}: mean loss {self.loss_ratio - 1:+.0%} off '
                f'its neighbours ({abs(self.loss_deviations):.1f} deviations),'
                f' capability scores {self.score_deviations:+.1f} deviations')


def screen(
    runs: Sequence[RunTrajectory], history: Sequence[RunTrajectory] = ()
) -> list[OffTrajectory]:
    """Checkpoints that leave their trajectories, in the order of the runs.

    Args:
        runs (Sequence[RunTrajectory]): Runs to judge.
        history (Sequence[RunTrajectory]): Earlier runs, which only add to
            what is known of the usual residuals.
    """
    judged = [run for run in runs if len(run.tokens) >= LEAST_CHECKPOINTS]
    if not judged:
        return [found for run in runs for found in _repeated(run)]
    enough = [
        run for run in (*judged, *history)
        if len(run.tokens) >= LEAST_CHECKPOINTS
    ]
    sizes = np.concatenate(
        [np.abs(_residuals(run.tokens, _quantities(run))) for run in enough])
    least = np.array([LEAST_LOSS] + [LEAST_SCORE] * (sizes.shape[1] - 1))
    scale = np.maximum(1.4826 * np.median(sizes, axis=0), least)
    found = []
    for run in runs:
        repeated = _repeated(run)
        found += repeated
        if len(run.tokens) >= LEAST_CHECKPOINTS:
            found += _off(run, scale, {one.checkpoint for one in repeated})
    return found


def _quantities(run: RunTrajectory) -> NDArray:
    """Log of the mean loss, then the exponents: `(n, 1 + B)`."""
    return np.column_stack([np.log(run.mean_loss), run.exponents])


def _residuals(tokens: NDArray, values: NDArray) -> NDArray:
    """Leave-one-out residuals, of equal variance if noise is white.

    Args:
        tokens (NDArray): Rising, shape `(n,)`, three or more.
        values (NDArray): Shape `(n, q)`.
    """
    place, last = np.log(tokens), len(tokens) - 1
    found = np.empty_like(values)
    for i in range(len(tokens)):
        one, two = {
            0: (1, 2),
            last: (last - 2, last - 1)
        }.get(i, (i - 1, i + 1))
        weight = (place[i] - place[one]) / (place[two] - place[one])
        expected = (1 - weight) * values[one] + weight * values[two]
        found[i] = (values[i] - expected) / np.sqrt(1 + (1 - weight)**2 +
                                                    weight**2)
    return found


def _off(run: RunTrajectory, scale: NDArray,
         known: set[str]) -> list[OffTrajectory]:
    """Take out what fits worst until the rest fits."""
    values = _quantities(run)
    kept = [i for i, name in enumerate(run.checkpoints) if name not in known]
    found = []
    while len(kept) >= LEAST_CHECKPOINTS:
        if _excess(run.tokens, values, scale, kept).max() <= 1:
            break
        # A bad one spoils its neighbours: the worst is the one without
        # which the rest fits best.
        worst = min(
            kept,
            key=lambda i: _excess(run.tokens, values, scale,
                                  [k for k in kept if k != i]).max())
        place = kept.index(worst)
        off = _residuals(run.tokens[kept], values[kept])[place] / scale
        kept.remove(worst)
        expected = np.exp(
            np.interp(
                np.log(run.tokens[worst]), np.log(run.tokens[kept]),
                values[kept, 0]))
        found.append(
            OffTrajectory(run.checkpoints[worst], run.run,
                          float(run.mean_loss[worst] / expected),
                          float(off[0]), float(np.median(off[1:])), ''))
    return sorted(found, key=lambda one: run.checkpoints.index(one.checkpoint))


def _excess(tokens: NDArray, values: NDArray, scale: NDArray,
            kept: Sequence[int]) -> NDArray:
    """How far each kept checkpoint is beyond what is allowed; 1 is not."""
    rows = list(kept)
    off = _residuals(tokens[rows], values[rows]) / scale
    return np.maximum(
        np.abs(off[:, 0]) / MOST_LOSS,
        np.abs(np.median(off[:, 1:], axis=1)) / MOST_SCORE)


def _repeated(run: RunTrajectory) -> list[OffTrajectory]:
    """Checkpoints that are an earlier one once more."""
    first: dict[float, str] = {}
    found = []
    for name, loss in zip(run.checkpoints, run.mean_loss):
        earlier = first.setdefault(float(loss), name)
        if earlier != name:
            found.append(OffTrajectory(name, run.run, 1.0, 0.0, 0.0, earlier))
    return found
