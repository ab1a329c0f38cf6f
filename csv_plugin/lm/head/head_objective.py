"""What Algorithm 2 minimises: Eq. 5 with alpha and beta eliminated (Eq. 4)."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.regression import fit_line
from csv_plugin.core.scaling_law import PROBLEMS, diagnose, scaling_law
from csv_plugin.lm.head.scoring_head import (ScoringHead, losses_per_character,
                                             weighted_losses)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Heads and the scaling laws fitted to their capability scores.

    Args:
        head (ScoringHead): Of B benchmarks.
        preactivations (Tensor): Of all tokens, shape `(T, B)`.
        scores (NDArray): Capability scores (Eq. 1), shape `(M, B)`.
        lines (NDArray): Intercept and slope in standardised scores, the
            next step's first guess. Shape `(B, 2)`.
        alpha (NDArray): Slopes, per nat per character. Shape `(B,)`.
        beta (NDArray): Scores half-way up, nats per character. `(B,)`.
        predicted (NDArray): Accuracies (Eq. 2), shape `(M, B)`.
    """
    head: ScoringHead
    preactivations: Tensor
    scores: NDArray[np.float64]
    lines: NDArray[np.float64]
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    predicted: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeadObjective:
    """Eq. 5 as a function of the heads alone.

    Args:
        states (Tensor): Hidden states, shape `(T, H)`.
        losses (Tensor): Divided by N_c, shape `(M, T)`, float64.
        accuracy (NDArray): NaN where not run, shape `(M, B)`.
        floor (NDArray): Chance, as fixed lower ends of Eq. 2. `(B,)`.
        train (NDArray): Models that are fitted to, bool, `(M,)`.
        validation (NDArray): Models that choose the step, bool, `(M,)`.
    """
    states: Tensor
    losses: Tensor
    accuracy: NDArray[np.float64]
    floor: NDArray[np.float64]
    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]

    @classmethod
    def of(cls, states: Tensor, table: LossTable, accuracies: AccuracyTable,
           train: Sequence[str], validation: Sequence[str]) -> 'HeadObjective':
        """The objective on the models of these names.

        Args and errors as in `training.train_heads`.
        """
        models = list(dict.fromkeys([*train, *validation]))
        observed = accuracies.select(models)
        unknown = [model for model in models if model not in table.models]
        if unknown:
            raise InputError('losses', 'losses of every model',
                             f'none of {unknown[0]!r}',
                             'Collect its losses or leave it out.')
        losses = losses_per_character(table, states)
        losses = losses[[table.models.index(model) for model in models]]
        objective = cls(states, losses, observed.values, observed.chance,
                        np.isin(models, train), np.isin(models, validation))
        for benchmark, name in enumerate(accuracies.benchmarks):
            objective._check(benchmark, name)
        return objective

    def _check(self, benchmark: int, name: str) -> None:
        """Refuse a benchmark from which nothing can be learned."""
        mean_loss = self.losses.sum(dim=1).cpu().numpy()
        accuracy, known = self.accuracy[:, benchmark], self.known[:, benchmark]
        rows = known & self.train
        problems = diagnose(mean_loss[rows], accuracy[rows],
                            float(self.floor[benchmark]))
        reasons = [PROBLEMS[problem] for problem in problems]
        if not np.any(known & self.validation):
            reasons.append('no validation model with a score')
        if reasons:
            raise InputError(f'benchmark {name!r}', 'accuracies to learn from',
                             ', '.join(reasons), 'Leave it out.')

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where a benchmark was run, shape `(M, B)`."""
        return ~np.isnan(self.accuracy)

    def take(self, benchmarks: NDArray[np.int64]) -> 'HeadObjective':
        """The objectives of some benchmarks, by index."""
        return replace(
            self,
            accuracy=self.accuracy[:, benchmarks],
            floor=self.floor[benchmarks])

    def evaluate(self, head: ScoringHead,
                 lines: Optional[NDArray[np.float64]]) -> Evaluation:
        """Eq. 3, Eq. 1 and Eq. 4, in this order.

        Args:
            head (ScoringHead): Of the same benchmarks.
            lines (Optional[NDArray]): `Evaluation.lines` of a head nearby.
        """
        z = head.preactivations(self.states)
        scores = weighted_losses(self.losses, head.activate(z))
        found = np.empty((len(self.floor), 2))
        alpha, beta = np.empty(len(self.floor)), np.empty(len(self.floor))
        for b, floor in enumerate(self.floor):
            rows = self.train & self.known[:, b]
            guess = None if lines is None else lines[b]
            found[b], (alpha[b], beta[b]) = fit_line(scores[rows, b],
                                                     self.accuracy[rows, b],
                                                     floor, guess)
        predicted = scaling_law(scores, alpha, beta, self.floor)
        return Evaluation(head, z, scores, found, alpha, beta, predicted)

    def gradient(self, here: Evaluation) -> tuple[Tensor, Tensor]:
        """Of the sum of squares over the train models, in theta and bias.

        Returns:
            tuple[Tensor, Tensor]: Shapes `(H, B)` and `(B,)`.
        """
        residual = here.predicted - self.accuracy
        p = expit(here.alpha * (here.scores - here.beta))
        by_score = 2 * residual * (1 - self.floor) * p * (1 - p) * here.alpha
        used = self.train[:, None] & self.known
        by_score = torch.from_numpy(np.where(used, by_score, 0))
        by_weight = self.losses.t() @ by_score.to(self.losses.device)
        return here.head.gradient(self.states, here.preactivations, by_weight)

    def errors(self, here: Evaluation) -> NDArray[np.float64]:
        """Mean squared errors on train and validation models, `(2, B)`."""
        squares = (here.predicted - self.accuracy)**2
        return np.stack([
            np.nanmean(squares[rows], axis=0)
            for rows in (self.train, self.validation)
        ])
