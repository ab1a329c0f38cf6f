"""Algorithm 2: scoring heads, learned together with the scaling law.

Every step computes the weights (Eq. 3), fits alpha and beta anew to the
capability scores (Eq. 4) and takes one gradient step on theta (Eq. 5). As
alpha and beta are optimal whenever the gradient is taken, this is gradient
descent on `min_{alpha, beta} sum_m (A_m - Ahat_m)^2` in theta alone (envelope
theorem).
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.progress import Progress
from csv_plugin.core.scaling_law import Curve, fit_curve
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.scoring_head import (ScoringHead, losses_per_character,
                                             weighted_losses)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Heads and the scaling laws fitted to their capability scores.

    Preactivations are `(T, B)`, scores (Eq. 1, nats per character) and
    predicted accuracies `(M, B)`. `lines` are intercept and slope in
    standardised scores, the next step's first guess, `(B, 2)`.
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

    def select(self, benchmarks: NDArray) -> 'HeadObjective':
        """The objectives of the benchmarks of an index or a mask."""
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
        scores = weighted_losses(self.losses, functional.softplus(z))
        curves = []
        fitted = []
        for b, floor in enumerate(self.floor):
            rows = self.train & self.was_run[:, b]
            start = None if lines is None else lines[b]
            curve, line = fit_curve(scores[rows, b], self.accuracy[rows, b],
                                    floor, start)
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
        of_train = np.nanmean(squares[self.train], axis=0)
        of_validation = np.nanmean(squares[self.validation], axis=0)
        return np.stack([of_train, of_validation])


#: Is given a step, the indices of the benchmarks that have not stopped, and
#: the heads of these at this step.
Observer = Callable[[int, NDArray[np.int64], Evaluation], None]


class Recorder:
    """An `Observer` that keeps scores of M models and curves of B benchmarks.

    Losses are divided by N_c, `(M, T)`, and may be those of models that take
    no part in the training. What is kept is as in `TrainingSteps`.
    """

    def __init__(self, losses: Tensor, n_steps: int, floor: NDArray) -> None:
        n_models = len(losses)
        n_benchmarks = len(floor)
        # Step 0 is before the first gradient.
        n_kept = n_steps + 1
        self.losses = losses
        self.floor = floor
        self.n_kept = 0
        self.scores = np.full((n_kept, n_models, n_benchmarks), np.nan)
        self.alpha = np.full((n_kept, n_benchmarks), np.nan)
        self.beta = np.full((n_kept, n_benchmarks), np.nan)

    def __call__(self, step: int, running: NDArray[np.int64],
                 evaluation: Evaluation) -> None:
        weights = functional.softplus(evaluation.preactivations)
        self.scores[step][:, running] = weighted_losses(self.losses, weights)
        self.alpha[step, running] = evaluation.curve.alpha
        self.beta[step, running] = evaluation.curve.beta
        self.n_kept = step + 1

    @property
    def curve(self) -> Curve:
        """Eq. 2 at every step that was made, `(S, B)`."""
        alpha = self.alpha[:self.n_kept]
        beta = self.beta[:self.n_kept]
        return Curve(alpha, beta, np.broadcast_to(self.floor, alpha.shape))


@dataclass(frozen=True, eq=False)
class TrainedHeads:
    """Heads of B benchmarks at their best steps, with their scaling laws.

    Curves are of scores in nats per character. `best_step`, `(B,)`, is 0 for
    uniform weights.
    """
    benchmarks: tuple[str, ...]
    head: ScoringHead
    curve: Curve
    best_step: NDArray[np.int64]

    def predict(self, states: Tensor, table: LossTable) -> NDArray[np.float64]:
        """Accuracies of M models from losses on the same tokens, `(M, B)`."""
        scores = weighted_losses(
            losses_per_character(table, states), self.head.weights(states))
        return self.curve.accuracies(scores.T).T


def train_heads(states: Tensor,
                table: LossTable,
                accuracies: AccuracyTable,
                train: Sequence[str],
                validation: Sequence[str],
                settings: HeadSettings = HeadSettings(),
                progress: Progress = iter,
                observe: Optional[Observer] = None) -> TrainedHeads:
    """Algorithm 2 for all benchmarks at once; nothing in it is random.

    Each benchmark keeps the parameters with its lowest validation error, as if
    it were trained alone, and leaves out models without an accuracy. Only
    tokens that every model of the table scored count.

    States at the tokens of the table, `(T, H)`, have any floating type. From
    all benchmarks something can be learned (`scaling_law.diagnose`). Models of
    `validation` choose the step. `observe` is called at every step.
    """
    objective = HeadObjective.of(states, table, accuracies, train, validation)
    head = ScoringHead.uniform(states.shape[1], len(objective.floor),
                               states.device)
    # Benchmarks that have not stopped; all else is of these alone.
    running = np.arange(len(objective.floor))
    best = head.select(running)
    floor = objective.floor
    alpha = np.zeros(len(running))
    beta = np.zeros(len(running))
    error = np.full(len(running), np.inf)
    best_step = np.zeros_like(running)
    lines = None
    for step in progress(range(settings.n_steps + 1)):
        evaluation = objective.evaluate(head, lines)
        if observe is not None:
            observe(step, running, evaluation)
        validation_error = objective.errors(evaluation)[1]
        better = validation_error < error[running]
        chosen = running[better]
        error[chosen] = validation_error[better]
        best_step[chosen] = step
        alpha[chosen] = evaluation.curve.alpha[better]
        beta[chosen] = evaluation.curve.beta[better]
        best.theta[:, chosen] = head.theta[:, better]
        best.bias[chosen] = head.bias[better]
        going = step - best_step[running] < settings.patience
        if not going.any():
            break
        by_theta, by_bias = objective.gradient(evaluation)
        head.theta.sub_(by_theta, alpha=settings.learning_rate)
        head.bias.sub_(by_bias, alpha=settings.learning_rate)
        head = head.select(going)
        objective = objective.select(going)
        running = running[going]
        lines = evaluation.lines[going]
    return TrainedHeads(accuracies.benchmarks, best, Curve(alpha, beta, floor),
                        best_step)
