"""Define the record of the steps of Algorithm 2 (the paper's Fig. 6)."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats, Integers
from csv_plugin.core.scaling_law import Curve

#: Kinds of models: the heads are fitted to training models, validation models
#: choose the step, and the errors of test models are only recorded.
TRAINING, VALIDATION, TEST = SPLITS = 'training', 'validation', 'test'


@dataclass(frozen=True, eq=False)
class TrainingSteps:
    """Capability scores and curves of B benchmarks at each of S steps.

    Step 0 has uniform weights. After the training of a benchmark has stopped,
    its values are NaN.

    Args:
        benchmarks (tuple[str, ...]): Names of the B benchmarks with a head.
        models (tuple[str, ...]): Names of all M models.
        splits (NDArray): One of `SPLITS` for each model, `(M,)`.
        accuracies (NDArray): Observed accuracies as fractions, `(M, B)`; NaN
            where a model was not run.
        scores (NDArray): Capability scores (Eq. 1) in nats per character,
            `(S, M, B)`.
        curve (Curve): Curves (Eq. 2) fitted to the training models, `(S, B)`.
        best_step (NDArray): The step that the validation models chose for each
            benchmark, `(B,)`.
    """
    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    splits: NDArray
    accuracies: Floats
    scores: Floats
    curve: Curve
    best_step: Integers

    def predicted(self) -> Floats:
        """Return predicted accuracies as fractions, `(S, M, B)`."""
        scores = self.scores.swapaxes(1, 2)  # (S, B, M)
        accuracies = self.curve.accuracies(scores)
        return accuracies.swapaxes(1, 2)

    def mse(self, split: str) -> Floats:
        """Return the mean squared error on the models of a split, `(S, B)`.

        It is NaN where none of these models has an accuracy.
        """
        of_split = self.splits == split
        differences = self.predicted() - self.accuracies
        squares = differences[:, of_split]**2
        was_run = ~np.isnan(self.accuracies[of_split])
        n_models = was_run.sum(axis=0)
        squares = np.where(was_run, squares, 0)
        total = squares.sum(axis=1)
        mean = total / np.maximum(n_models, 1)
        return np.where(n_models, mean, np.nan)
