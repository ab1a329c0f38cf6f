"""Algorithm 2: scoring heads, learned together with the scaling law.

Every step computes the weights (Eq. 3), fits alpha and beta anew to the
capability scores (Eq. 4) and takes one gradient step on theta (Eq. 5). As
alpha and beta are optimal whenever the gradient is taken, this is gradient
descent on `min_{alpha, beta} sum_m (A_m - Ahat_m)^2` in theta alone (envelope
theorem).
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.progress import Progress
from csv_plugin.core.scaling_law import Curve, fit_curve
from csv_plugin.lm.head import OPTIMISERS, HeadSettings
from csv_plugin.lm.head.scoring_head import (ScoringHead, losses_per_character,
                                             weighted_losses)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Heads and the scaling laws fitted to their capability scores.

    Preactivations are `(T, B)`, scores (Eq. 1) and predicted accuracies `(M,
    B)`. `lines` are intercept and slope in standardised scores, the next
    step's first guess, `(B, 2)`. Curves are of scores in nats per character.
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

    States are `(T, H)`; losses are divided by N_c, `(M, T)`, float64;
    accuracies are NaN where not run, `(M, B)`. `floor` is chance, the fixed
    lower ends of Eq. 2, `(B,)`. `train` and `validation` are masks of the
    models that are fitted to and that choose the step, `(M,)`.
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
        """The objective on models by name; arguments as in `train_heads`."""
        models = list(dict.fromkeys([*train, *validation]))
        observed = accuracies.select(models)
        losses = losses_per_character(table, states)
        losses = losses[[table.models.index(model) for model in models]]
        return cls(states, losses, observed.values, observed.chance,
                   np.isin(models, train), np.isin(models, validation))

    @property
    def was_run(self) -> NDArray[np.bool_]:
        """Models that were run on each benchmark, bool, `(M, B)`."""
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

        The fit of Eq. 4 starts at `lines`, `Evaluation.lines` of similar
        heads.
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

        It is taken in theta, `(H, B)`, and in the bias, `(B,)`.
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


@dataclass(frozen=True, eq=False)
class TrainedHeads:
    """Heads of B benchmarks at their best steps, with their scaling laws.

    Curves are of scores in nats per character. `best_step`, `(B,)`, is 0 for
    uniform weights. The errors are those after 0, 1, ... gradient steps, NaN
    once a benchmark has stopped, `(steps + 1, B)`.
    """
    benchmarks: tuple[str, ...]
    head: ScoringHead
    curve: Curve
    best_step: NDArray[np.int64]
    train_mse: NDArray[np.float64]
    validation_mse: NDArray[np.float64]

    def predict(self, states: Tensor, table: LossTable) -> NDArray[np.float64]:
        """Accuracies of M models from losses on the same tokens, `(M, B)`."""
        scores = weighted_losses(
            losses_per_character(table, states), self.head.weights(states))
        return self.curve.accuracies(scores.T).T


class _Best:
    """The best parameters of every benchmark so far, and the errors."""

    def __init__(self, objective: HeadObjective, head: ScoringHead,
                 n_steps: int) -> None:
        n = len(objective.floor)
        self.floor, self.head = objective.floor, head
        self.alpha, self.beta = np.zeros(n), np.zeros(n)
        self.step, self.error = np.zeros(n, np.int64), np.full(n, np.inf)
        # Made at once: arrays kept step by step would fragment the memory.
        self.curve = np.full((2, n_steps + 1, n), np.nan)
        self.last_step = 0

    def update(self, step: int, running: NDArray[np.int64],
               evaluation: Evaluation, errors: NDArray[np.float64]) -> None:
        """Keep the parameters of the running benchmarks that improved."""
        self.curve[:, step, running] = errors
        self.last_step = step
        better = np.flatnonzero(errors[1] < self.error[running])
        chosen = running[better]
        self.error[chosen], self.step[chosen] = errors[1, better], step
        self.alpha[chosen] = evaluation.curve.alpha[better]
        self.beta[chosen] = evaluation.curve.beta[better]
        self.head.theta[:, chosen] = evaluation.head.theta[:, better]
        self.head.bias[chosen] = evaluation.head.bias[better]

    def result(self, benchmarks: tuple[str, ...]) -> TrainedHeads:
        train_mse, validation_mse = self.curve[:, :self.last_step + 1]
        return TrainedHeads(benchmarks, self.head,
                            Curve(self.alpha, self.beta, self.floor),
                            self.step, train_mse, validation_mse)


def train_heads(states: Tensor,
                table: LossTable,
                accuracies: AccuracyTable,
                train: Sequence[str],
                validation: Sequence[str],
                settings: HeadSettings = HeadSettings(),
                progress: Progress = iter) -> TrainedHeads:
    """Algorithm 2 for all benchmarks at once; nothing in it is random.

    Each benchmark keeps the parameters with its lowest validation error, as if
    it were trained alone, and leaves out models without an accuracy. Only
    tokens that every model of the table scored count.

    States at the tokens of the table, `(T, H)`, have any floating type and may
    be mapped from a file. From all benchmarks something can be learned
    (`scaling_law.diagnose`). To train to convergence, the models of
    `validation`, which choose the step, are those of `train`.
    """
    whole = HeadObjective.of(states, table, accuracies, train, validation)
    head = ScoringHead.uniform(states.shape[1], len(whole.floor),
                               settings.activation, states.device)
    running = np.arange(len(whole.floor))
    best = _Best(whole, head.select(running), settings.n_steps)
    optimiser = getattr(
        torch.optim, OPTIMISERS[settings.optimiser])([head.theta, head.bias],
                                                     lr=settings.learning_rate)
    lines = None
    for step in progress(range(settings.n_steps + 1)):
        objective = whole.select(running)
        evaluation = objective.evaluate(head.select(running), lines)
        best.update(step, running, evaluation, objective.errors(evaluation))
        going = step - best.step[running] < settings.patience
        if step == settings.n_steps or not going.any():
            break
        # The zero gradient of a stopped benchmark moves no other one.
        for part, gradient in zip((head.theta, head.bias),
                                  objective.gradient(evaluation)):
            part.grad = torch.zeros_like(part)
            part.grad[..., running] = gradient
        optimiser.step()
        running, lines = running[going], evaluation.lines[going]
    return best.result(accuracies.benchmarks)
