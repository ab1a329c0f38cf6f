"""What Algorithm 2 minimises: Eq. 5 with alpha and beta eliminated (Eq. 4)."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.scaling_law import PROBLEMS, Curve, diagnose, fit_curve
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
        curve (Curve): Of B benchmarks, scores in nats per character.
        predicted (NDArray): Accuracies, fractions, shape `(M, B)`.
    """
    head: ScoringHead
    preactivations: Tensor
    scores: NDArray[np.float64]
    lines: NDArray[np.float64]
    curve: Curve
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

        Args and errors as in `algorithm2.train_heads`.
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
        accuracy = self.accuracy[:, benchmark]
        was_run = self.was_run[:, benchmark]
        rows = was_run & self.train
        problems = diagnose(mean_loss[rows], accuracy[rows],
                            float(self.floor[benchmark]))
        reasons = [PROBLEMS[problem] for problem in problems]
        if not np.any(was_run & self.validation):
            reasons.append('no validation model with an accuracy')
        if reasons:
            raise InputError(f'benchmark {name!r}', 'accuracies to learn from',
                             ', '.join(reasons), 'Leave it out.')

    @property
    def was_run(self) -> NDArray[np.bool_]:
        """Which models were run on which benchmark, shape `(M, B)`."""
        return ~np.isnan(self.accuracy)

    def select(self, benchmarks: NDArray[np.int64]) -> 'HeadObjective':
        """The objectives of the benchmarks with the given indices."""
        return replace(
            self,
            accuracy=self.accuracy[:, benchmarks],
            floor=self.floor[benchmarks])

    def evaluate(self, head: ScoringHead,
                 lines: Optional[NDArray[np.float64]]) -> Evaluation:
        """Eq. 3, Eq. 1 and Eq. 4, in this order.

        Args:
            head (ScoringHead): Of the same benchmarks.
            lines (Optional[NDArray]): `Evaluation.lines` of similar heads,
                where the fit of Eq. 4 starts.
        """
        z = head.preactivations(self.states)
        scores = weighted_losses(self.losses, head.activate(z))
        curves, fitted = [], []
        for b, floor in enumerate(self.floor):
            rows = self.train & self.was_run[:, b]
            curve, line = fit_curve(scores[rows, b], self.accuracy[rows, b],
                                    floor, None if lines is None else lines[b])
            curves.append(curve)
            fitted.append(line)
        curve = Curve.stack(curves)
        predicted = curve.accuracies(scores.T).T
        return Evaluation(head, z, scores, np.array(fitted), curve, predicted)

    def gradient(self, evaluation: Evaluation) -> tuple[Tensor, Tensor]:
        """Gradient of the sum of squares over the train models.

        Args:
            evaluation (Evaluation): The heads at which it is taken.

        Returns:
            tuple[Tensor, Tensor]: In theta and in the bias, `(H, B)` and
            `(B,)`.
        """
        residual = evaluation.predicted - self.accuracy
        slope = evaluation.curve.slopes(evaluation.scores.T).T
        by_score = 2 * residual * slope * evaluation.curve.alpha
        used = self.train[:, None] & self.was_run
        by_score = torch.from_numpy(np.where(used, by_score, 0))
        by_weight = self.losses.t() @ by_score.to(self.losses.device)
        return evaluation.head.gradient(self.states, evaluation.preactivations,
                                        by_weight)

    def errors(self, evaluation: Evaluation) -> NDArray[np.float64]:
        """Mean squared errors on train and validation models, `(2, B)`."""
        squares = (evaluation.predicted - self.accuracy)**2
        return np.stack([
            np.nanmean(squares[rows], axis=0)
            for rows in (self.train, self.validation)
        ])
