"""The paper's training (Algorithm 2) as a predictor."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import (Columns, FeatureTable, TokenColumns,
                                      counted_losses)
from csv_plugin.core.fitting import Fitted, fit_predictor, learn_intervals
from csv_plugin.core.held_out_errors import FoldPredictions
from csv_plugin.core.intervals import BACKTEST_SHARES, Intervals, worse_models
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Constant, SalienceFit, Task, fold_masks
from csv_plugin.core.salience.base import SharedFeatures, held_out_mse
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import diagnose
from csv_plugin.core.training import Training
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import TrainedHeads, train_heads
from csv_plugin.lm.head.state_columns import StateColumns

#: Name of the solver in predictors.
NAME = 'paper'
#: Predictions of a benchmark by heads of the worse models, by mask.
Backtests = dict[int, FoldPredictions]


@dataclass(frozen=True, eq=False)
class PaperHead:
    """The predictor of Algorithm 2, and its heads on standardised states.

    Its columns are the loss and the capability scores (Eq. 1) of the heads and
    of their repetitions.
    """
    predictor: Predictor
    heads: TrainedHeads


def train_paper_head(training: Training,
                     states: Tensor,
                     validation: Sequence[str],
                     settings: HeadSettings = HeadSettings(),
                     progress: Progress = iter) -> PaperHead:
    """Algorithm 2 on the models of a training.

    States of a scoring LM at the target tokens, `(T, H)`, are standardised
    first, so that one learning rate serves all directions. The training is
    repeated without each fold of families for the intervals, and on the worse
    models alone for the back-tests. A benchmark from which nothing can be
    learned is predicted by its mean accuracy. Models of `validation` choose
    the step; the others are fitted to.
    """
    table = training.losses
    scale = StateColumns.of(states, table).scale
    states = states.to(torch.float32, copy=True)
    states.sub_(torch.from_numpy(scale.mean).float()).div_(
        torch.from_numpy(scale.spread).float())
    accuracies = training.accuracies.select(table.models)
    families = np.array([training.families[model] for model in table.models])
    loss = counted_losses(table)[0].sum(axis=1)
    worse = worse_models(loss)
    # All models, those of the back-tests, and those of each fold.
    masks = np.vstack([
        np.ones((1, len(families)), dtype=bool), worse,
        fold_masks(families, training.seed, n_repeats=1)
    ])
    chosen = np.isin(table.models, list(validation))
    heads = [
        _train(states, table, loss, accuracies, mask & ~chosen, mask & chosen,
               settings, progress) for mask in masks
    ]
    whole = heads[0]
    if not whole:
        raise InputError(
            "the paper's head", 'a benchmark to learn from', 'none',
            "Use the method 'auto', whose notes give the reason.")
    source = _columns(table, states, heads)
    features = source.features(table)
    baseline = fit_predictor(features, accuracies, list(families), Constant(),
                             training.seed)
    fitted, backtests = {}, {}
    for name in whole.benchmarks:
        fitted[name], backtests[name] = _fit_of_heads(
            baseline.benchmark(name), heads, features, accuracies.column(name),
            families, masks, _notes(whole, name, settings))

    intervals = learn_intervals(fitted, [{
        name: parts[i]
        for name, parts in backtests.items() if i in parts
    } for i in range(1, 1 + len(BACKTEST_SHARES))])
    # The errors of the baseline are not those of the head.
    predictor = replace(
        baseline,
        benchmarks=tuple(
            _with_head(part, fitted[part.benchmark], intervals[part.benchmark]
                       ) if part.benchmark in fitted else part
            for part in baseline.benchmarks),
        training_scores=None)
    return PaperHead(predictor.with_tokens(training.targets, source), whole)


def _train(states: Tensor, table: LossTable, loss: NDArray,
           accuracies: AccuracyTable, train: NDArray, validation: NDArray,
           settings: HeadSettings,
           progress: Progress) -> Optional[TrainedHeads]:
    """Heads of the benchmarks that show a curve; None if none of them does.

    `train` and `validation` are masks of the models.
    """
    learnable = []
    for b, name in enumerate(accuracies.benchmarks):
        accuracy = accuracies.values[:, b]
        scored = ~np.isnan(accuracy)
        rows = train & scored
        if (validation & scored).any() and not diagnose(
                loss[rows], accuracy[rows], float(accuracies.chance[b])):
            learnable.append(name)
    if not learnable:
        return None
    models = np.array(table.models, dtype=object)
    return train_heads(states, table, accuracies.select(benchmarks=learnable),
                       list(models[train]), list(models[validation]),
                       settings, progress)  # yapf: disable


def _columns(table: LossTable, states: Tensor,
             heads: Sequence[Optional[TrainedHeads]]) -> TokenColumns:
    """The loss, then the capability scores of all heads, per character."""
    parts, units = [np.ones((len(states), 1))], ['loss']
    for repetition, trained in enumerate(heads):
        if trained:
            parts.append(trained.head.weights(states).double().numpy())
            units += [_unit(name, repetition) for name in trained.benchmarks]
    matrix = np.hstack(parts) / table.n_chars.sum()
    matrix[~table.scored] = 0
    columns = Columns(
        tuple(units), np.append(1., np.zeros(len(units) - 1)),
        table.fingerprint, table.scored)
    return TokenColumns(columns, csc_array(matrix))


def _unit(benchmark: str, repetition: int) -> str:
    return f'{benchmark}: head {repetition}'


def _fit_of_heads(mean: BenchmarkPredictor,
                  heads: Sequence[Optional[TrainedHeads]],
                  features: FeatureTable, accuracy: NDArray, families: NDArray,
                  masks: NDArray,
                  notes: tuple[str, ...]) -> tuple[Fitted, Backtests]:
    """The fit of a benchmark, and its back-tests."""
    name, rows = mean.benchmark, ~np.isnan(accuracy)
    shared = SharedFeatures(features.values, features.columns.uniform)
    task = Task(
        shared.select(rows), accuracy[rows], mean.chance, families[rows])
    masks = masks[:, rows]
    models = [
        _model(name, i, trained, features.columns.units, task.select(mask))
        for i, (trained, mask) in enumerate(zip(heads, masks))
    ]
    # Folds that hold out no accuracy, or all of them, say nothing; the first
    # masks are no folds.
    first_fold = 1 + len(BACKTEST_SHARES)
    used = masks.any(axis=1) & ~masks.all(axis=1)
    used[:first_fold] = False
    folds = SalienceModel.stack(models)[used]
    error = held_out_mse(
        folds.predict(task.values), task.accuracy, masks[used])
    fit = SalienceFit(NAME, models[0], folds, masks[used], 0., float(error),
                      notes)
    backtests = {
        i:
        FoldPredictions.of(models[i][None], masks[i][None], task.values,
                           task.accuracy, task.families, task.features.rows)
        for i, trained in enumerate(heads[:first_fold])
        if i and trained is not None and name in trained.benchmarks
    }
    return Fitted(task, fit), backtests


def _with_head(mean: BenchmarkPredictor, fitted: Fitted,
               intervals: Intervals) -> BenchmarkPredictor:
    fit = fitted.fit
    return replace(
        mean,
        solver=fit.solver,
        penalty=fit.penalty,
        cv_mse=fit.cv_mse,
        model=fit.model,
        intervals=intervals,
        families=fitted.families,
        notes=fit.notes)


def _notes(heads: TrainedHeads, name: str,
           settings: HeadSettings) -> tuple[str, ...]:
    b = heads.benchmarks.index(name)
    step = heads.best_step[b]
    notes = [f'the validation models chose step {step}']
    if step == settings.n_steps:
        notes.append('still better at the last step: train for more steps')
    return tuple(notes)


def _model(name: str, repetition: int, heads: Optional[TrainedHeads],
           units: Sequence[str], task: Task) -> SalienceModel:
    """A head and its curve, or the mean accuracy where there is none."""
    if heads is None or name not in heads.benchmarks:
        return Constant().fit(task, np.zeros((0, len(task.accuracy)),
                                             bool)).model
    b = heads.benchmarks.index(name)
    column = units.index(_unit(name, repetition))
    return SalienceModel(np.eye(len(units))[column], heads.curve[b])
