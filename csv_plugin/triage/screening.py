"""Checkpoints that leave the trajectory of their run, such as broken saves.

Every checkpoint is predicted from its two neighbours, linearly in the log of
the tokens; at an end of the run, from the two nearest checkpoints. Residuals
are divided by their median size, so a few bad checkpoints do not hide each
other.
"""
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.triage.trajectories import RunTrajectory

#: Most robust standard deviations of the log of the mean loss, and of the
#: median benchmark's exponent: a capability that emerges moves one benchmark,
#: a broken checkpoint moves all. On the 112 checkpoints of series a to d of
#: the demonstration the largest are 5.5 and 2.9.
MOST_LOSS, MOST_SCORE = 6.0, 4.0
#: Smaller standard deviations are replaced by these: of the log of the mean
#: loss (1 %), and of an exponent.
LEAST_LOSS, LEAST_SCORE = 0.01, 0.1
#: Runs of fewer checkpoints are not screened.
LEAST_CHECKPOINTS = 4


@dataclass(frozen=True)
class OffTrajectory:
    """A checkpoint that does not fit its neighbours.

    `loss_ratio` is its mean loss over that expected from the neighbours,
    `loss_deviations` the log of this ratio in robust standard deviations.
    `score_deviations` are capability scores minus the expected ones, median of
    the benchmarks. `same_as` is another checkpoint of the run with exactly the
    same losses, or empty.
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
    """Find checkpoints that leave their trajectories, in the order of runs.

    The usual size of residuals comes from the runs and the history.
    """
    scale = _usual_size([*runs, *history])
    off = []
    for run in runs:
        repeated = _repeated(run)
        off += repeated
        off += _unfitting(run, scale, {copy.checkpoint for copy in repeated})
    return off


def _quantities(run: RunTrajectory) -> NDArray:
    """Log of the mean loss, then the exponents: `(n, 1 + B)`."""
    return np.column_stack([np.log(run.mean_loss), run.exponents])


def _usual_size(runs: Sequence[RunTrajectory]) -> NDArray:
    """Robust standard deviations of the residuals of all runs, `(1 + B,)`."""
    sizes = [
        np.abs(_residuals(run.tokens, _quantities(run))) for run in runs
        if len(run.tokens) >= LEAST_CHECKPOINTS
    ]
    n_benchmarks = runs[0].exponents.shape[1]
    least = np.array([LEAST_LOSS] + [LEAST_SCORE] * n_benchmarks)
    if not sizes:
        return least
    return np.maximum(1.4826 * np.median(np.concatenate(sizes), axis=0), least)


def _expected(tokens: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """Values of n checkpoints expected from their neighbours, `(n, q)`.

    With the weights of the later neighbours, `(n, 1)`; those of the earlier
    ones are 1 minus these.
    """
    place, n = np.log(tokens)[:, None], len(tokens)
    near = np.array([1, *range(n - 2), n - 3])
    far = np.array([2, *range(2, n), n - 2])
    weight = (place - place[near]) / (place[far] - place[near])
    return (1 - weight) * values[near] + weight * values[far], weight


def _residuals(tokens: NDArray, values: NDArray) -> NDArray:
    """Leave-one-out residuals, of equal variance if noise is white."""
    expected, weight = _expected(tokens, values)
    return (values - expected) / np.sqrt(1 + (1 - weight)**2 + weight**2)


def _unfitting(run: RunTrajectory, scale: NDArray,
               repeated: Collection[str]) -> list[OffTrajectory]:
    """Take out the checkpoint that fits worst until the rest fits."""
    values = _quantities(run)

    def excess(rows: list[int]) -> float:
        """Largest residual of the given checkpoints over the limit."""
        deviations = _residuals(run.tokens[rows], values[rows]) / scale
        return max(
            np.abs(deviations[:, 0]).max() / MOST_LOSS,
            np.abs(np.median(deviations[:, 1:], axis=1)).max() / MOST_SCORE)

    kept = [
        i for i, name in enumerate(run.checkpoints) if name not in repeated
    ]
    off = {}
    while len(kept) >= LEAST_CHECKPOINTS and excess(kept) > 1:
        # A bad checkpoint spoils the residuals of its neighbours: the worst
        # is the checkpoint without which the rest fits best.
        worst = min(kept, key=lambda i: excess([k for k in kept if k != i]))
        row = kept.index(worst)
        tokens, known = run.tokens[kept], values[kept]
        deviations = _residuals(tokens, known)[row] / scale
        expected, _ = _expected(tokens, known)
        off[worst] = OffTrajectory(
            run.checkpoints[worst], run.run,
            float(np.exp(known[row, 0] - expected[row, 0])),
            float(deviations[0]), float(np.median(deviations[1:])), '')
        kept.remove(worst)
    return [off[i] for i in sorted(off)]


def _repeated(run: RunTrajectory) -> list[OffTrajectory]:
    """Checkpoints with the losses of an earlier checkpoint of the run."""
    first: dict[float, str] = {}
    off = []
    for name, loss in zip(run.checkpoints, run.mean_loss):
        earlier = first.setdefault(float(loss), name)
        if earlier != name:
            off.append(OffTrajectory(name, run.run, 1.0, 0.0, 0.0, earlier))
    return off
