"""Levels and losses along pretraining runs."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import short_repr

#: A run is also looked up before its first checkpoint, by at most this factor.
SLACK = 1.2


@dataclass(frozen=True, eq=False)
class RunTrajectory:
    """One pretraining run at n checkpoints, the earliest first.

    `tokens`, `(n,)`, are training tokens in any unit, or steps; `budget` is
    their number at the end, NaN if unknown. `states`, `(n, 1 + K)`, are the
    levels of the checkpoints, the mean exponent over benchmarks (high is
    good), and logarithms of losses; see `loss_errors.log_losses`. `mean_loss`
    is `(n,)`.
    """
    run: str
    checkpoints: tuple[str, ...]
    tokens: NDArray[np.float64]
    budget: float
    states: NDArray[np.float64]
    mean_loss: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not (np.diff(self.tokens) > 0).all():
            raise InputError(f'run {self.run!r}',
                             'one checkpoint at each number of tokens',
                             f'{self.tokens.tolist()}',
                             'Give each number of training tokens once.')
        if self.budget < self.tokens[-1]:
            raise InputError(
                f'run {self.run!r}',
                f'a budget of {self.tokens[-1]:g} or more, where its last '
                'checkpoint is', f'{self.budget:g}',
                'Give its end in the same unit, as budget in --checkpoints.')

    __repr__ = short_repr

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of the budget at each checkpoint, in (0, 1] or NaN, `(n,)`."""
        return self.tokens / self.budget

    @property
    def finished(self) -> bool:
        """True if the last checkpoint is at the budget."""
        return bool(self.shares[-1] == 1)

    def covers(self, share: float) -> bool:
        """Return True if the run has a state at a share of its budget."""
        return bool(self.shares[0] <= SLACK * share)

    def at(self, share: float) -> NDArray[np.float64]:
        """Return the state at a share, linear in its log, `(1 + K,)`.

        Before the first checkpoint, it is that of the first.
        """
        place = np.interp(
            np.log(share), np.log(self.shares), np.arange(len(self.shares)))
        before = int(place)
        after = min(before + 1, len(self.shares) - 1)
        part = place - before
        return (1 - part) * self.states[before] + part * self.states[after]
