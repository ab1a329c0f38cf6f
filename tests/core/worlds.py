"""Synthetic worlds: model families whose latent skill moves every loss."""
import math
from dataclasses import dataclass

import numpy as np

from csv_plugin.core.salience import Task

#: Capability scores of the certified curves.
SCORES = np.array([
    0.71, 0.84, 0.95, 1.06, 1.10, 1.17, 1.21, 1.28, 1.33, 1.42, 1.55, 1.63,
    1.80, 1.94
])


def accuracies(alpha, beta, floor, scores=SCORES):
    return np.array([
        floor + (1 - floor) / (1 + math.exp(-alpha * (s - beta)))
        for s in scores
    ])


@dataclass(frozen=True, eq=False)
class World:
    """A benchmark whose accuracies follow a curve exactly, but for noise."""
    task: Task
    score: np.ndarray
    truth: np.ndarray

    def split(self, held_out):
        """Tasks without and with the models of some families only."""
        test = np.isin(self.task.families, held_out)
        return self.task.select(~test), self.task.select(test)


def make_world(n=24,
               n_families=4,
               salience=(1, 1, 1, 1),
               alpha=-2.0,
               chance=0.25,
               floor=None,
               noise=0.0,
               seed=0):
    """n models in families; `alpha` is per standard deviation of score.

    Every column falls with skill at its own rate; `salience` says how much
    each of the K columns counts in the true capability score.
    """
    rng = np.random.default_rng(seed)
    n_columns = len(salience)
    families = np.array([f'family {i % n_families}' for i in range(n)])
    skill = rng.normal(size=n)
    values = (2 - 0.3 * skill[:, None] * rng.uniform(0.5, 1.5, n_columns) +
              0.2 * rng.normal(size=(n, n_columns)))
    score = values @ np.array(salience) / np.abs(salience).sum()
    floor = chance if floor is None else floor
    z = (score - score.mean()) / score.std()
    truth = floor + (1 - floor) / (1 + np.exp(-alpha * (z + 0.3)))
    accuracy = np.clip(truth + noise * rng.normal(size=n), 0, 1)
    uniform = np.full(n_columns, 1 / n_columns)
    return World(
        Task.of(values, uniform, accuracy, chance, families), score, truth)


def contradictory_task():
    """Two families that teach opposite lessons about every column.

    Whatever departs from uniform weights on one family does harm on the
    other one, so cross-validation must show no gain.
    """
    loss = np.tile(np.linspace(1.5, 2.5, 6), 4)
    twist = np.tile(np.repeat([-0.2, 0.2], 6), 2)
    sign = np.repeat([-1, 1], 12)
    accuracy = 1 / (1 + np.exp(3 * (loss + sign * twist - 2)))
    return Task.of(
        np.stack([loss + twist, loss - twist], axis=1), np.array([0.5, 0.5]),
        accuracy, 0.0, np.repeat(['a', 'b'], 12))


def phi_task(task, n_directions=5, seed=0):
    """The task with features as of a scoring LM.

    The mean loss is the first column and the only one of the uniform
    coefficients; the others are directions of hidden states.
    """
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(task.values.shape[1], n_directions))
    values = np.hstack([(task.values @ task.uniform)[:, None],
                        task.values @ mixing])
    return task.on(values, np.eye(n_directions + 1)[0])


def mse(predicted, observed):
    return float(np.mean((predicted - observed)**2))
