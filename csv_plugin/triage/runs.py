"""Pretraining runs, with the losses of their checkpoints."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import short_count, short_repr
from csv_plugin.core.predictor import Predictor
from csv_plugin.triage.checkpoints import (Checkpoint, known_budgets,
                                           rows_by_run)
from csv_plugin.triage.future_losses import log_losses

#: Sources of the budgets of runs.
OPTION, TABLE = '--budget', 'column budget'
MEDIAN = 'median of the earlier runs'


@dataclass(frozen=True, eq=False)
class Run:
    """One pretraining run with n checkpoints, the earliest first.

    `tokens`, `(n,)`, are the training tokens of each checkpoint, or the steps
    if no tokens are known. `budget` is the number of tokens (or steps) at the
    end of the run, NaN if unknown, and `budget_source` says where this number
    comes from, such as '--budget'. `states`, `(n, 1 + K)`, are the states of
    the checkpoints. A state is the mean exponent, followed by the logarithms
    of the K losses, as in `future_losses.log_losses`. The mean exponent is the
    mean over all benchmarks of the exponents that the predictor expects;
    higher is better.

    Raises:
        InputError: Two checkpoints have the same tokens, or the last one lies
            beyond the budget.
    """
    name: str
    checkpoints: tuple[str, ...]
    tokens: Floats
    budget: float
    states: Floats
    budget_source: str = ''

    def __post_init__(self) -> None:
        increases = np.diff(self.tokens)
        if not (increases > 0).all():
            raise InputError(f'run {self.name!r}',
                             'one checkpoint at each number of tokens',
                             f'{self.tokens.tolist()}',
                             'Give each number of training tokens once.')
        check_budget(self.name, float(self.tokens[-1]), self.budget)

    __repr__ = short_repr

    @property
    def shares(self) -> Floats:
        """Shares of the budget that checkpoints have reached, `(n,)`.

        They are in (0, 1], or NaN if the budget is unknown.
        """
        return self.tokens / self.budget

    @property
    def finished(self) -> bool:
        """True if the last checkpoint has reached the budget."""
        return bool(self.shares[-1] == 1)

    def covers(self, share: float) -> bool:
        """Return True if `state_at` knows the state at a share of the budget.
        """
        # The first checkpoint also stands for shares that are smaller by up to
        # this factor.
        slack = 1.2
        return bool(self.shares[0] <= slack * share)

    def state_at(self, share: float) -> Floats:
        """Return the state at a share of the budget, `(1 + K,)`.

        Between two checkpoints, states are interpolated linearly in the
        logarithm of the share. Before the first checkpoint, the result is the
        state of the first checkpoint.
        """
        last = len(self.shares) - 1
        indices = np.arange(last + 1)
        logs = np.log(self.shares)
        # The position among the checkpoints: an index with a fraction.
        position = np.interp(np.log(share), logs, indices)
        before = int(position)
        after = min(before + 1, last)
        weight = position - before
        of_before = (1 - weight) * self.states[before]
        of_after = weight * self.states[after]
        return of_before + of_after


def check_budget(run: str, tokens: float, budget: float) -> None:
    """Raise an `InputError` if a run has a checkpoint beyond its budget.

    `tokens` are the tokens (or steps) of the last checkpoint of the run. The
    budget may be NaN.
    """
    if budget < tokens:
        raise InputError(
            f'run {run!r}', f'a budget of at least {tokens:g}, the tokens (or '
            'steps) of the last checkpoint', f'{budget:g}',
            'Correct --budget, or the column budget of --checkpoints or '
            '--models: the tokens (or steps) at the end of the run. '
            'Without a budget, a run ends where the earlier runs do.')


def check_finished(run: str, tokens: float, budget: float) -> None:
    """Raise an `InputError` if an earlier run is not finished.

    `tokens` are as in `check_budget`.
    """
    if tokens < budget:
        raise InputError(f'history, run {run!r}', 'a finished run',
                         f'a last checkpoint at {tokens:.6g} of {budget:.6g}',
                         'Leave unfinished runs out of the history.')


def amount_of_training(number: float, measure: str) -> str:
    """Return a number of tokens to three digits, or all digits of steps.

    `measure` is 'tokens' or 'steps'.

    >>> amount_of_training(5.34774e9, 'tokens'), amount_of_training(16279,
    ...                                                             'steps')
    ('5.35B', '16279')
    """
    if measure == 'tokens':
        return short_count(number)
    return f'{number:.15g}'


def runs_of(predictor: Predictor,
            features: FeatureTable,
            checkpoints: Mapping[str, Checkpoint],
            budget: float = math.nan,
            source: str = '',
            are_finished: bool = False) -> list[Run]:
    """Return the runs of some checkpoints, sorted by name.

    `features` has at least these checkpoints. A run without a budget in
    `checkpoints` gets `budget`, which is NaN if unknown, with `source` as its
    `budget_source`. If the runs `are_finished`, such a run ends at its last
    checkpoint instead. Checkpoints at 0 tokens are left out.

    Raises:
        InputError: As in `Run`, `unit_of_training` and `known_budgets`.
    """
    names = tuple(checkpoints)
    table = features.select(names)
    exponents = predictor.joint(table).mean  # (models, benchmarks)
    mean_exponents = exponents.mean(axis=1)
    logs = log_losses(predictor, table.values)
    states = np.column_stack([mean_exponents, logs])
    points: Sequence[Checkpoint] = list(checkpoints.values())
    budgets = known_budgets(points)
    runs = []
    for name, (rows, tokens) in rows_by_run(points).items():
        end = float(tokens[-1]) if are_finished else budget
        own_names = tuple(names[row] for row in rows)
        own_budget = float(budgets.get(name, end))
        own_source = TABLE if name in budgets else source
        run = Run(
            name=name,
            checkpoints=own_names,
            tokens=tokens,
            budget=own_budget,
            states=states[rows],
            budget_source=own_source)
        runs.append(run)
    return runs
