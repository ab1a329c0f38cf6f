"""Pretraining runs whose losses and accuracies are drawn from known laws."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor

#: Steps in percent of the budget, units, and chance levels of benchmarks.
STEPS, N_UNITS, FLOORS = (10, 20, 35, 60, 100), 6, np.array([.25, 0, .5])


@dataclass(frozen=True)
class World:
    """Checkpoints `run@step` of earlier runs `old0` and of new ones `new0`.

    `observed` have noise of 400 items; `accuracies` have none; both are of all
    checkpoints, in the order of the features, `(M, 3)`.
    """
    features: FeatureTable
    accuracies: NDArray[np.float64]
    observed: NDArray[np.float64]

    def names(self, kind: str, steps: Sequence[int] = STEPS) -> list[str]:
        """Checkpoints of earlier or of new runs, at some of the steps."""
        return [
            name for name in self.features.models
            if name.startswith(kind) and int(name.split('@')[1]) in steps
        ]

    def table(self, models: Sequence[str]) -> AccuracyTable:
        """Observed accuracies of some models."""
        rows = [self.features.models.index(name) for name in models]
        return AccuracyTable(
            tuple(models), ('easy', 'hard', 'two'), self.observed[rows],
            FLOORS, np.full(3, 400))

    def true(self, models: Sequence[str]) -> NDArray[np.float64]:
        """Accuracies of some models without noise, `(m, 3)`."""
        rows = [self.features.models.index(name) for name in models]
        return self.accuracies[rows]

    def predictor(self) -> Predictor:
        """A predictor that is fitted to the earlier runs, each a family."""
        fitted = self.names('old')
        return fit_predictor(self.features, self.table(fitted),
                             [name.split('@')[0] for name in fitted])


def world(seed: int, n_old: int = 8, n_new: int = 6) -> World:
    """Draw runs: qualities, rates of learning, units and deviations."""
    rng = np.random.default_rng(seed)
    runs = [f'old{i}' for i in range(n_old)]
    runs += [f'new{i}' for i in range(n_new)]
    limits, falls = rng.uniform(.6, 1.6, (2, N_UNITS))
    weights = rng.dirichlet(np.full(N_UNITS, 3.), len(FLOORS))
    losses, exponents = [], []
    for _ in runs:
        quality = np.exp(.15 * rng.normal())
        own = np.exp(.05 * rng.normal(size=N_UNITS))
        rate = .25 * np.exp(.2 * rng.normal())
        away = .15 * rng.normal(size=len(FLOORS))
        for step in STEPS:
            fall = falls * own * quality * (step / 100)**-rate
            loss = (limits + fall) * np.exp(.004 * rng.normal(size=N_UNITS))
            losses.append(loss)
            relative = np.log(loss / (limits + falls))
            exponents.append([1, -.5, -.8] - 6 * weights @ relative + away)
    models = tuple(f'{run}@{step}' for run in runs for step in STEPS)
    accuracies = accuracy_of(np.array(exponents), FLOORS)
    observed = rng.binomial(400, accuracies) / 400
    features = FeatureTable.of_losses(models, list('abcdef'), losses)
    return World(features, accuracies, observed)
