"""Pretraining runs: what is known of each at its checkpoints."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.predictor import Predictor
from csv_plugin.triage.checkpoints import (Checkpoint, known_budgets,
                                           rows_by_run)
from csv_plugin.triage.future_losses import log_losses


@dataclass(frozen=True, eq=False)
class Run:
    """One pretraining run at n checkpoints, the earliest first.

    `tokens`, `(n,)`, are training tokens, or steps where no tokens are known.
    `budget` is their number at the end, NaN if unknown. A state is the mean
    exponent of a checkpoint, and then the logarithms of its K losses as in
    `future_losses.log_losses`; `states` are `(n, 1 + K)`. The mean exponent is
    that over all benchmarks, as the predictor expects it; higher is better.
    `mean_loss`, `(n,)`, shows which checkpoints have identical losses.

    Raises:
        InputError: Two checkpoints have the same tokens, or the last one lies
            beyond the budget.
    """
    name: str
    checkpoints: tuple[str, ...]
    tokens: NDArray[np.float64]
    budget: float
    states: NDArray[np.float64]
    mean_loss: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not (np.diff(self.tokens) > 0).all():
            raise InputError(f'run {self.name!r}',
                             'one checkpoint at each number of tokens',
                             f'{self.tokens.tolist()}',
                             'Give each number of training tokens once.')
        if self.budget < self.tokens[-1]:
            raise InputError(
                f'run {self.name!r}',
                f'a budget of {self.tokens[-1]:g} or more, where its last '
                'checkpoint is', f'{self.budget:g}',
                'By default runs end where earlier ones do. Say in their own '
                'unit where they end: by --budget, or as budget in '
                '--checkpoints.')

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
        # A run is also looked up before its first checkpoint, by at most this
        # factor.
        slack = 1.2
        return bool(self.shares[0] <= slack * share)

    def at(self, share: float) -> NDArray[np.float64]:
        """Return the state at a share of the budget, `(1 + K,)`.

        States are linear in the logarithm of the share between checkpoints.
        Before the first checkpoint, the state is that of the first.
        """
        last = len(self.shares) - 1
        # A fractional index of checkpoints.
        place = np.interp(
            np.log(share), np.log(self.shares), np.arange(last + 1))
        before = int(place)
        after = min(before + 1, last)
        part = place - before
        return (1 - part) * self.states[before] + part * self.states[after]


def runs_of(predictor: Predictor,
            features: FeatureTable,
            checkpoints: Mapping[str, Checkpoint],
            budget: float = math.nan,
            are_finished: bool = False) -> list[Run]:
    """Return the runs of some checkpoints, sorted by name.

    Features contain the checkpoints. Runs without a budget of their own get
    the given one, NaN if it is unknown; if they `are_finished`, they end at
    their last checkpoints. Checkpoints at 0 tokens are left out.

    Raises:
        InputError: As in `Run`, `choose_measure` and `known_budgets`.
    """
    names = tuple(checkpoints)
    table = features.select(names)
    mean_exponents = predictor.joint(table).mean.mean(axis=1)
    logs = log_losses(predictor, table.values)
    states = np.column_stack([mean_exponents, logs])
    points: Sequence[Checkpoint] = list(checkpoints.values())
    budgets = known_budgets(points)
    runs = []
    for name, (rows, tokens) in rows_by_run(points).items():
        end = float(tokens[-1]) if are_finished else budget
        own_names = tuple(names[row] for row in rows)
        own_budget = float(budgets.get(name, end))
        runs.append(
            Run(name, own_names, tokens, own_budget, states[rows],
                table.mean_loss[rows]))
    return runs
