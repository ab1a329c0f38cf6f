"""Algorithm 2: scoring heads, learned together with the scaling law.

Every step computes the weights (Eq. 3), fits alpha and beta anew to the
capability scores (Eq. 4) and takes one gradient step on theta (Eq. 5). As
alpha and beta are optimal whenever the gradient is taken, the gradient with
both held fixed *is* that of the objective from which they are eliminated
(envelope theorem): the loop is gradient descent on `min_{alpha, beta} sum_m
(A_m - Ahat_m)^2` as a function of theta alone.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import Progress
from csv_plugin.core.losses import LossTable
from csv_plugin.core.scaling_law import Curve
from csv_plugin.lm.head.head_objective import Evaluation, HeadObjective
from csv_plugin.lm.head.head_settings import OPTIMISERS, HeadSettings
from csv_plugin.lm.head.scoring_head import ScoringHead


@dataclass(frozen=True, eq=False)
class TrainedHeads:
    """Heads of B benchmarks at their best steps, with their scaling laws.

    Args:
        benchmarks (tuple[str, ...]): B names.
        head (ScoringHead): Eq. 3.
        curve (Curve): Of B benchmarks, scores in nats per character.
        best_step (NDArray): Gradient steps before the best validation
            error, int, `(B,)`; 0 is uniform weights.
        train_mse (NDArray): After 0, 1, ... steps, NaN once a benchmark has
            stopped. Shape `(steps + 1, B)`.
        validation_mse (NDArray): Likewise.
    """
    benchmarks: tuple[str, ...]
    head: ScoringHead
    curve: Curve
    best_step: NDArray[np.int64]
    train_mse: NDArray[np.float64]
    validation_mse: NDArray[np.float64]

    def predict(self, states: Tensor, table: LossTable) -> NDArray[np.float64]:
        """Accuracies of M models from their losses, shape `(M, B)`.

        Args and errors as in `ScoringHead.capability_scores`.
        """
        scores = self.head.capability_scores(states, table)
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
        """Keep what is better, of an evaluation of running benchmarks."""
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

    Each benchmark keeps the parameters with its lowest validation error;
    the result is the same as if it were trained alone. Scored: the tokens
    that every model of the table scored. A benchmark leaves out the models
    without an accuracy on it.

    Args:
        states (Tensor): Hidden states of the scoring LM at the tokens of
            the table, any floating type; may be mapped from a file
            (`state_cache.open_states`). Shape `(T, H)`.
        table (LossTable): Losses of the models.
        accuracies (AccuracyTable): Accuracies of the models.
        train (Sequence[str]): Models to fit to.
        validation (Sequence[str]): Models to choose the step by; the train
            models themselves to train to convergence.
        settings (HeadSettings): How to train.
        progress (Progress): Wraps the steps, as `tqdm.tqdm` does.

    Raises:
        InputError: If a model is unknown, there is not one state per token,
            or a benchmark has no accuracy of a validation model or nothing
            to learn from (see `scaling_law.PROBLEMS`).
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
