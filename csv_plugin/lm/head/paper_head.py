"""The paper's training (Algorithm 2) as a predictor."""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
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
from csv_plugin.core.fitting import (Fitted, fit_predictor, fold_predictions,
                                     learn_intervals)
from csv_plugin.core.held_out_errors import FoldPredictions
from csv_plugin.core.intervals import BACKTEST_SHARES, Intervals, worse_models
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import Predictor
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
#: Masks of models that are trained on: all, those of the back-tests, and then
#: those of each fold.
FIRST_FOLD = 1 + len(BACKTEST_SHARES)


def train_paper_head(training: Training,
                     states: Tensor,
                     validation: Sequence[str],
                     settings: HeadSettings = HeadSettings(),
                     progress: Progress = iter) -> Predictor:
    """The predictor of Algorithm 2 on the models of a training.

    States of a scoring LM at the target tokens, `(T, H)`, are standardised
    first, so that one learning rate serves all directions. The training is
    repeated without each fold of families for the intervals, and on the worse
    models alone for the back-tests. A benchmark from which nothing can be
    learned is predicted by its mean accuracy. Models of `validation` choose
    the step; the others are fitted to.

    Columns are the loss and the capability scores (Eq. 1) of the heads and of
    their repetitions.
    """
    table = training.losses
    scale = StateColumns.of(states, table).scale
    states = states.to(torch.float32, copy=True)
    states.sub_(torch.from_numpy(scale.mean).float()).div_(
        torch.from_numpy(scale.spread).float())
    accuracies = training.accuracies.select(table.models)
    families = np.array([training.families[model] for model in table.models])
    loss = counted_losses(table).sum(axis=1)
    masks = np.vstack([
        np.ones((1, len(families)), dtype=bool),
        worse_models(loss),
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
    mean = fit_predictor(features, accuracies, list(families), Constant(),
                         training.seed)
    notes = {
        name: _notes(step, settings)
        for name, step in zip(whole.benchmarks, whole.best_step)
    }
    predictor = _with_heads(mean, heads, features, accuracies, families, masks,
                            notes)
    return predictor.with_tokens(training.targets, source)


def _with_heads(mean: Predictor, heads: Sequence[Optional[TrainedHeads]],
                features: FeatureTable, accuracies: AccuracyTable,
                families: NDArray, masks: NDArray,
                notes: Mapping[str, tuple[str, ...]]) -> Predictor:
    """A predictor by mean accuracies, with heads of the benchmarks in `notes`.

    There are heads for each row of `masks`, bool, `(R, M)`.
    """
    shared = SharedFeatures(features.values, features.columns.uniform)
    fitted: dict[str, Fitted] = {}
    backtests: list[dict[str, FoldPredictions]] = [{} for _ in BACKTEST_SHARES]
    for name, of_head in notes.items():
        accuracy = accuracies.column(name)
        rows = ~np.isnan(accuracy)
        masks_of_task = masks[:, rows]
        task = Task(
            shared.select(rows), accuracy[rows],
            mean.benchmark(name).chance, families[rows])
        models = [
            _model(name, i, trained, features.columns.units, task.select(mask))
            for i, (trained, mask) in enumerate(zip(heads, masks_of_task))
        ]
        fitted[name] = Fitted(task, _fit(models, task, masks_of_task, of_head))
        for i, found in enumerate(backtests, 1):
            trained = heads[i]
            if trained and name in trained.benchmarks:
                found[name] = fold_predictions(
                    task, models[i].curve[None],
                    models[i].scores(task.values)[None],
                    masks_of_task[i:i + 1])
    return _with_fits(mean, fitted, learn_intervals(fitted, backtests))


def _with_fits(mean: Predictor, fitted: Mapping[str, Fitted],
               intervals: Mapping[str, Intervals]) -> Predictor:
    """The predictor by mean accuracies, with other fits of some benchmarks."""
    parts = {
        name:
        replace(
            mean.benchmark(name),
            solver=NAME,
            penalty=part.fit.penalty,
            cv_mse=part.fit.cv_mse,
            model=part.fit.model,
            intervals=intervals[name],
            typical_error=part.typical_error,
            notes=part.fit.notes)
        for name, part in fitted.items()
    }
    return replace(
        mean,
        benchmarks=tuple(
            parts.get(part.benchmark, part) for part in mean.benchmarks),
        # Those of the mean accuracies are not those of the heads.
        training_scores=None)


def _train(states: Tensor, table: LossTable, loss: NDArray,
           accuracies: AccuracyTable, train: NDArray, validation: NDArray,
           settings: HeadSettings,
           progress: Progress) -> Optional[TrainedHeads]:
    """Heads of the benchmarks that show a curve; None if none of them does.

    `train` and `validation` are masks of the models, and `loss` is their
    summed loss in nats, `(M,)` each.
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
    return train_heads(states, table, accuracies.select(benchmarks=learnable),
                       list(compress(table.models, train)),
                       list(compress(table.models, validation)), settings,
                       progress)


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


def _model(name: str, repetition: int, heads: Optional[TrainedHeads],
           units: Sequence[str], task: Task) -> SalienceModel:
    """A head and its curve, or the mean accuracy where there is none."""
    if heads is None or name not in heads.benchmarks:
        return Constant().fit(task, np.zeros((0, len(task.accuracy)),
                                             bool)).model
    b = heads.benchmarks.index(name)
    column = units.index(_unit(name, repetition))
    return SalienceModel(np.eye(len(units))[column], heads.curve[b])


def _fit(models: Sequence[SalienceModel], task: Task, masks: NDArray,
         notes: tuple[str, ...]) -> SalienceFit:
    """The fit of a benchmark, whose model is the first."""
    # Folds that hold out no accuracy, or all of them, say nothing.
    used = masks.any(axis=1) & ~masks.all(axis=1)
    used[:FIRST_FOLD] = False
    folds = SalienceModel.stack(models)[used]
    error = held_out_mse(
        folds.predict(task.values), task.accuracy, masks[used])
    return SalienceFit(NAME, models[0], folds, masks[used], 0., float(error),
                       notes)


def _notes(best_step: int, settings: HeadSettings) -> tuple[str, ...]:
    notes = [f'the validation models chose step {best_step}']
    if best_step == settings.n_steps:
        notes.append('still better at the last step: train for more steps')
    return tuple(notes)
