"""Capability scores and losses along pretraining runs."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.predictor import Predictor

#: At lower exponents the accuracy is within a quarter of a point of its
#: floor, where Eq. 2 says nothing about the capability score: lower exponents
#: are replaced by this one.
LEAST_EXPONENT = -6.0
#: A run is also looked up before its first checkpoint, by at most this factor.
SLACK = 1.2


@dataclass(frozen=True, eq=False)
class RunTrajectory:
    """One pretraining run at n checkpoints, the earliest first.

    `tokens`, `(n,)`, are training tokens in any unit, or steps; `budget` is
    their number at the end, NaN if unknown. `exponents`, `(n, B)`, are those
    of Eq. 2, `alpha (C - beta)`: higher is better. `mean_loss`, `(n,)`, is in
    nats per character.
    """
    run: str
    checkpoints: tuple[str, ...]
    tokens: NDArray[np.float64]
    budget: float
    exponents: NDArray[np.float64]
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
        """Return True if the run has exponents at a share of its budget."""
        return bool(self.shares[0] <= SLACK * share)

    def at(self, share: float) -> NDArray[np.float64]:
        """Return exponents at a share, linear in its log, `(B,)`."""
        places = np.log(self.shares)
        return np.array([
            np.interp(np.log(share), places, column)
            for column in self.exponents.T
        ])


def clipped_exponents(predictor: Predictor,
                      features: FeatureTable) -> NDArray[np.float64]:
    """Return exponents of Eq. 2, `LEAST_EXPONENT` or higher, `(M, B)`."""
    values = predictor.features(features).values
    exponents = [
        benchmark.model.exponents(values) for benchmark in predictor.benchmarks
    ]
    return np.maximum(np.stack(exponents, axis=1), LEAST_EXPONENT)
