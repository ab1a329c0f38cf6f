"""Algorithm 2: learn scoring heads together with the scaling law.

Every step computes the weights (Eq. 3), fits alpha and beta anew to the
capability scores (Eq. 4) and takes one gradient step on theta (Eq. 5). As
alpha and beta are optimal whenever the gradient is taken, the training is
gradient descent with respect to theta alone on the objective
`min_{alpha, beta} sum_m (A_m - Ahat_m)^2` (envelope theorem).
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.arrays import Booleans, Floats, Integers
from csv_plugin.core.losses import LossTable
from csv_plugin.core.progress import Progress
from csv_plugin.core.scaling_law import Curve, fit_curve
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.scoring_head import (ScoringHead, losses_per_character,
                                             weighted_losses, weights_of)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Heads, and the scaling laws that were fitted to their capability scores.

    There are M models, T tokens and B benchmarks. `preactivations` are
    `(T, B)`. `scores` (Eq. 1, nats per character) and `predicted`, the
    predicted accuracies, are `(M, B)`. `starts`, `(B, 2)`, are the intercept
    and the slope of each fit in standardised scores, at which the fit of the
    next step starts.
    """
    head: ScoringHead
    preactivations: Tensor
    scores: Floats
    starts: Floats
    curve: Curve
    predicted: Floats


@dataclass(frozen=True, eq=False)
class HeadObjective:
    """The objective of Eq. 5, as a function of the heads alone.

    `states` are `(T, H)`. `losses`, `(M, T)` in float64, are divided by N_c,
    the number of characters. `accuracy`, `(M, B)`, is NaN where a model was
    not run. `floor`, `(B,)`, is the accuracy by chance, the fixed lower limit
    of Eq. 2. The masks `train` and `validation`, `(M,)`, say to which models
    the heads are fitted, and which models choose the step.
    """
    states: Tensor
    losses: Tensor
    accuracy: Floats
    floor: Floats
    train: Booleans
    validation: Booleans

    @classmethod
    def of(cls, states: Tensor, table: LossTable, accuracies: AccuracyTable,
           train: Sequence[str], validation: Sequence[str]) -> 'HeadObjective':
        """Return the objective; the arguments are as in `train_heads`."""
        models = list(dict.fromkeys([*train, *validation]))
        rows = [table.models.index(model) for model in models]
        losses = losses_per_character(table, table.scored, states)
        observed = accuracies.select(models)
        return cls(
            states,
            losses[rows],
            observed.values,
            observed.chance,
            train=np.isin(models, train),
            validation=np.isin(models, validation))

    @property
    def was_run(self) -> Booleans:
        """Whether each model was run on each benchmark, bool, `(M, B)`."""
        return ~np.isnan(self.accuracy)

    def select(self, benchmarks: NDArray) -> 'HeadObjective':
        """Return the objective of benchmarks, given by indices or a mask."""
        return replace(
            self,
            accuracy=self.accuracy[:, benchmarks],
            floor=self.floor[benchmarks])

    def evaluate(self, head: ScoringHead,
                 starts: Optional[Floats]) -> Evaluation:
        """Compute Eq. 3, Eq. 1 and Eq. 4, in this order.

        The fits of Eq. 4 begin at `starts`, which are the `Evaluation.starts`
        of similar heads, or None if there is no guess.
        """
        preactivations = head.preactivations(self.states)
        weights = weights_of(preactivations)
        scores = weighted_losses(self.losses, weights)
        curves = []
        next_starts = []
        used = self.train[:, None] & self.was_run
        for b, floor in enumerate(self.floor):
            rows = used[:, b]
            start = None if starts is None else starts[b]
            own_scores = scores[rows, b]
            accuracies = self.accuracy[rows, b]
            curve, next_start = fit_curve(own_scores, accuracies, floor, start)
            curves.append(curve)
            next_starts.append(next_start)
        curve = Curve.stack(curves)
        predicted = curve.accuracies(scores.T)  # (B, M)
        return Evaluation(
            head=head,
            preactivations=preactivations,
            scores=scores,
            starts=np.array(next_starts),
            curve=curve,
            predicted=predicted.T)

    def gradient(self, evaluation: Evaluation) -> tuple[Tensor, Tensor]:
        """Return the gradient of the sum of training models' squared errors.

        The first array is the gradient with respect to theta, `(H, B)`, the
        second with respect to the bias, `(B,)`. With the score s_m of model m
        (Eq. 1), its loss L_mt on token t per character, and the slope of the
        curve with respect to its exponent alpha (s_m - beta), the derivative
        with respect to the weight of token t is

            sum over m of  2 (Ahat_m - A_m) slope_m alpha L_mt

        Alpha and beta are optimal, so their changes count for nothing.
        """
        curve = evaluation.curve
        residual = evaluation.predicted - self.accuracy
        slopes = curve.slopes(evaluation.scores.T)  # (B, M)
        by_score = 2 * residual * slopes.T * curve.alpha
        used = self.train[:, None] & self.was_run
        by_score = np.where(used, by_score, 0)
        on_device = torch.from_numpy(by_score).to(self.losses.device)
        by_weight = self.losses.t() @ on_device  # (T, B)
        return evaluation.head.gradient(self.states, evaluation.preactivations,
                                        by_weight)

    def errors(self, evaluation: Evaluation) -> Floats:
        """Return mean squared errors, `(2, B)`.

        The first row is for the training models, the second for the validation
        models.
        """
        differences = evaluation.predicted - self.accuracy
        squares = differences**2
        of_train = np.nanmean(squares[self.train], axis=0)
        of_validation = np.nanmean(squares[self.validation], axis=0)
        return np.stack([of_train, of_validation])


#: A function that is called with the step, the indices of the benchmarks that
#: have not stopped, and the heads of these benchmarks at this step.
Observer = Callable[[int, Integers, Evaluation], None]


class Recorder:
    """An `Observer` that keeps scores of M models and curves of B benchmarks.

    `losses`, `(M, T)`, are divided by N_c, the number of characters. The
    models may include models that are not used for the training. For the
    attributes, see `TrainingSteps`; here, `alpha` and `beta` of the curves are
    separate arrays.
    """

    def __init__(self, losses: Tensor, n_steps: int, floor: NDArray) -> None:
        n_models = len(losses)
        n_benchmarks = len(floor)
        # Step 0 comes before the first gradient step.
        n_kept = n_steps + 1
        shape = n_kept, n_benchmarks
        self.losses = losses
        self.floor = floor
        self.n_kept = 0
        self.scores = np.full((n_kept, n_models, n_benchmarks), np.nan)
        self.alpha = np.full(shape, np.nan)
        self.beta = np.full(shape, np.nan)

    def __call__(self, step: int, running: Integers,
                 evaluation: Evaluation) -> None:
        weights = weights_of(evaluation.preactivations)
        scores = weighted_losses(self.losses, weights)
        self.scores[step][:, running] = scores
        self.alpha[step, running] = evaluation.curve.alpha
        self.beta[step, running] = evaluation.curve.beta
        self.n_kept = step + 1

    @property
    def curve(self) -> Curve:
        """The curves of Eq. 2 at each of the S steps made so far, `(S, B)`."""
        alpha = self.alpha[:self.n_kept]
        beta = self.beta[:self.n_kept]
        floor = np.broadcast_to(self.floor, alpha.shape)
        return Curve(alpha, beta, floor)


@dataclass(frozen=True, eq=False)
class TrainedHeads:
    """Heads of B benchmarks at their best steps, with their scaling laws.

    The curves map capability scores in nats per character to accuracies.
    `best_step`, `(B,)`, is 0 where uniform weights were best.
    """
    benchmarks: tuple[str, ...]
    head: ScoringHead
    curve: Curve
    best_step: Integers

    def predict(self, states: Tensor, table: LossTable) -> Floats:
        """Return predicted accuracies of the M models of a table, `(M, B)`.

        `states` are at the tokens of the table.
        """
        losses = losses_per_character(table, table.scored, states)
        weights = self.head.weights(states)
        scores = weighted_losses(losses, weights)
        accuracies = self.curve.accuracies(scores.T)  # (B, M)
        return accuracies.T


def train_heads(states: Tensor,
                table: LossTable,
                accuracies: AccuracyTable,
                train: Sequence[str],
                validation: Sequence[str],
                settings: HeadSettings = HeadSettings(),
                progress: Progress = iter,
                observe: Optional[Observer] = None) -> TrainedHeads:
    """Train heads of all benchmarks at once by Algorithm 2.

    The result is the same as if each benchmark were trained alone, and nothing
    is random. Each benchmark keeps the parameters of the step with its lowest
    validation error, and leaves out models without an accuracy. Tokens count
    only if every model of the table scored them.

    `states`, `(T, H)`, are the hidden states at the tokens of the table, of
    any floating type. The heads are fitted to the models of `train`; the
    models of `validation` choose the step. `scaling_law.diagnose` must find no
    problem with any benchmark. `observe` is called at every step.
    """
    objective = HeadObjective.of(states, table, accuracies, train, validation)
    floor = objective.floor
    n_benchmarks = len(floor)
    hidden_size = states.shape[1]
    head = ScoringHead.uniform(hidden_size, n_benchmarks, states.device)
    # Indices of the benchmarks that have not stopped. `head`, `objective` and
    # `starts` are restricted to these benchmarks.
    running = np.arange(n_benchmarks)
    # The best heads so far, their curves and validation errors.
    best = head.select(running)
    alpha = np.zeros(n_benchmarks)
    beta = np.zeros(n_benchmarks)
    error = np.full(n_benchmarks, np.inf)
    best_step = np.zeros_like(running)
    starts = None
    for step in progress(range(settings.n_steps + 1)):
        evaluation = objective.evaluate(head, starts)
        if observe is not None:
            observe(step, running, evaluation)
        _, validation_error = objective.errors(evaluation)
        better = validation_error < error[running]
        improved = running[better]
        error[improved] = validation_error[better]
        best_step[improved] = step
        alpha[improved] = evaluation.curve.alpha[better]
        beta[improved] = evaluation.curve.beta[better]
        best.theta[:, improved] = head.theta[:, better]
        best.bias[improved] = head.bias[better]
        steps_since_best = step - best_step[running]
        going = steps_since_best < settings.patience
        if not going.any():
            break
        by_theta, by_bias = objective.gradient(evaluation)
        head.theta.sub_(by_theta, alpha=settings.learning_rate)
        head.bias.sub_(by_bias, alpha=settings.learning_rate)
        head = head.select(going)
        objective = objective.select(going)
        running = running[going]
        starts = evaluation.starts[going]
    curve = Curve(alpha, beta, floor)
    return TrainedHeads(accuracies.benchmarks, best, curve, best_step)
