"""Pretraining runs as the predictor of their accuracies sees them."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictor import Predictor

#: Below it the accuracy is its floor (to a quarter of a point) and the fit of
#: Eq. 2 knows nothing of the score: all that is lower is taken for this.
LEAST_EXPONENT = -6.0
#: How much earlier than its first checkpoint a run may be looked up.
_SLACK = 1.2


@dataclass(frozen=True, eq=False)
class RunTrajectory:
    """One pretraining run at n checkpoints, the earliest first.

    Args:
        run (str): Its name.
        checkpoints (tuple[str, ...]): Names of the checkpoints. Length n.
        tokens (NDArray): Training tokens at each, positive and rising, in
            any unit, or steps. Shape `(n,)`.
        budget (float): Tokens at the end of the training, same unit.
        exponents (NDArray): Exponents of Eq. 2, `alpha (C - beta)`: the
            capability scores in the unit of the curve, higher is better.
            Shape `(n, B)`.
        mean_loss (NDArray): All-token loss, nats per character. `(n,)`.

    Raises:
        InputError: There is no checkpoint, the tokens are not such numbers,
            a score or loss is not finite, or the budget is smaller than the
            tokens.
    """
    run: str
    checkpoints: tuple[str, ...]
    tokens: NDArray
    budget: float
    exponents: NDArray
    mean_loss: NDArray

    def __post_init__(self) -> None:
        where = f'run {self.run!r}'
        if not (len(self.tokens) and np.isfinite(self.tokens).all() and
                (np.diff(self.tokens, prepend=0) > 0).all()):
            raise InputError(
                where, 'checkpoints with positive numbers of tokens, rising',
                f'{np.asarray(self.tokens).tolist()}',
                'Give every checkpoint the tokens it was trained on, once.')
        finite = np.isfinite(self.exponents).all(1) & np.isfinite(
            self.mean_loss)
        for bad in np.flatnonzero(~finite):
            raise InputError(f'{where}, {self.checkpoints[bad]!r}',
                             'finite losses', 'a score that is not',
                             'Score the checkpoint again, or leave it out.')
        if not self.budget >= self.tokens[-1]:
            raise InputError(
                where, f'a budget of {self.tokens[-1]:g} or more, where its '
                'last checkpoint is', f'{self.budget:g}',
                'Give the tokens at the end of the training.')

    @property
    def shares(self) -> NDArray:
        """Share of the budget at each checkpoint, in (0, 1]. `(n,)`."""
        return self.tokens / self.budget

    def first(self, n: int) -> 'RunTrajectory':
        """The run as it was after n checkpoints, with the same budget."""
        return RunTrajectory(self.run, self.checkpoints[:n], self.tokens[:n],
                             self.budget, self.exponents[:n],
                             self.mean_loss[:n])

    def covers(self, shares: NDArray) -> NDArray[np.bool_]:
        """Which shares do not lie before the first checkpoint. `(k,)`."""
        return shares * _SLACK >= self.shares[0]

    def at(self, shares: NDArray) -> NDArray:
        """Exponents at shares of the budget, linear in the log. `(k, B)`."""
        known, wanted = np.log(self.shares), np.log(shares)
        return np.stack(
            [np.interp(wanted, known, column) for column in self.exponents.T],
            axis=1)


def exponents(predictor: Predictor, features: FeatureTable) -> NDArray:
    """Exponents of Eq. 2 for every model and benchmark, `(M, B)`.

    Args:
        predictor (Predictor): Eq. 1 and Eq. 2 of its benchmarks.
        features (FeatureTable): Columns of M models, which it was fitted on.

    Returns:
        NDArray: `alpha (C - beta)`, not below `LEAST_EXPONENT`.
    """
    models = [known.model for known in predictor.benchmarks]
    found = [
        model.alpha * (model.score(features.values) - model.beta)
        for model in models
    ]
    return np.maximum(np.stack(found, axis=1), LEAST_EXPONENT)
