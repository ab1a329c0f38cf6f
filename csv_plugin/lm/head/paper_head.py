"""Make a predictor by the paper's training (Algorithm 2)."""
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple, Optional

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.curve_model import CurveModel, Curves
from csv_plugin.core.features import (Columns, TokenColumns, counted_losses,
                                      counted_tokens)
from csv_plugin.core.fitting import predictor_of
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.observed import Observed
from csv_plugin.core.predictor import Fit, Predictor, Units
from csv_plugin.core.progress import Progress
from csv_plugin.core.scaling_law import PROBLEMS, diagnose
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import Recorder, TrainedHeads, train_heads
from csv_plugin.lm.head.scoring_head import losses_per_character
from csv_plugin.lm.head.state_scale import StateScale
from csv_plugin.lm.head.training_steps import (TEST, TRAINING, VALIDATION,
                                               TrainingSteps)

#: Notes on the fit, by benchmark.
Notes = dict[str, tuple[str, ...]]


class PaperTraining(NamedTuple):
    """The predictor of Algorithm 2, and a record of its training steps."""
    predictor: Predictor
    steps: TrainingSteps


def train_paper_head(table: LossTable,
                     targets: TargetTokens,
                     states: Tensor,
                     accuracies: AccuracyTable,
                     families: Sequence[str],
                     validation: Sequence[str],
                     settings: HeadSettings = HeadSettings(),
                     progress: Progress = iter,
                     watched: Optional[LossTable] = None) -> PaperTraining:
    """Train by Algorithm 2 on the models of a table of losses.

    `states` of a scoring LM at the target tokens, `(T, H)`, are standardised
    first, so that one learning rate suits all directions. The models of
    `validation` choose the step; the heads are fitted to the other models.
    Expected errors and intervals are computed from the validation models. For
    a benchmark on which no validation model was run, they are computed from
    all models. A benchmark from which nothing can be learned is predicted by
    its mean accuracy, with a note.

    The columns of the predictor are the loss per character, followed by the
    capability score of each benchmark (Eq. 1). `families` has the family of
    each model of `table`. `accuracies` contains the models of `table` and of
    `watched`. The errors of the `watched` models are recorded at every step
    and do not influence the training.

    Raises:
        InputError: There is no benchmark to learn from, or a watched model
            has no loss on a token that all models of `table` scored.
    """
    all_accuracies = accuracies
    accuracies = accuracies.select(table.models)
    is_validation = np.isin(table.models, list(validation))
    problems = _problems(table, accuracies, is_validation)
    learned = []
    reasons = []
    notes: Notes = {}
    for name, problem in problems.items():
        if problem:
            reasons.append(f'{name}: {problem}')
            notes[name] = (f'predicted by the mean accuracy: {problem}', )
        else:
            learned.append(name)
    if not learned:
        raise InputError(
            "the paper's head", 'a benchmark to learn from',
            '; '.join(reasons), "Add models or accuracies, or use the method "
            "'salience'.")
    scale = StateScale.of(states, counted_tokens(table))
    states = scale.apply(states)
    train = list(compress(table.models, ~is_validation))
    models = table.models
    losses = losses_per_character(table, table.scored, states)
    if watched is not None:
        models = (*models, *watched.models)
        of_watched = losses_per_character(watched, table.scored, states)
        losses = torch.cat([losses, of_watched])
    of_learned = accuracies.select(benchmarks=learned)
    recorder = Recorder(losses, settings.n_steps, of_learned.chance)
    heads = train_heads(states, table, of_learned, train, list(validation),
                        settings, progress, recorder)
    for name, step in zip(heads.benchmarks, heads.best_step):
        notes[name] = _notes(int(step), settings)
    source = _columns(table, states, heads)
    predictor = _predictor(table, source, heads, accuracies, families,
                           is_validation, notes)
    predictor = predictor.with_tokens(targets, source)
    observed = all_accuracies.select(models, learned)
    steps = TrainingSteps(
        benchmarks=heads.benchmarks,
        models=models,
        splits=_splits(models, train, validation),
        accuracies=observed.values,
        scores=recorder.scores[:recorder.n_kept],
        curve=recorder.curve,
        best_step=heads.best_step)
    return PaperTraining(predictor, steps)


def _predictor(table: LossTable, source: TokenColumns, heads: TrainedHeads,
               accuracies: AccuracyTable, families: Sequence[str],
               is_validation: NDArray, notes: Notes) -> Predictor:
    """Return the predictor of trained heads, still without its tokens.

    `source` computes the columns from token losses. `is_validation`, `(M,)`,
    is a mask of the models of the table; `notes` are by benchmark.
    """
    features = source.features(table)
    # Column 0 is the loss, followed by one column per benchmark with a head.
    columns = []
    answers = {}
    for name in accuracies.benchmarks:
        column = 0
        if name in heads.benchmarks:
            column = 1 + heads.benchmarks.index(name)
            answers[name] = np.array([column])
        columns.append(column)
    scores = features.values[:, columns]
    curves = _curves(accuracies, heads, ~is_validation)
    # The curves are checked on the validation models, and on all models where
    # no validation model was run on the benchmark.
    exponents = curves.exponents(scores)
    checked_accuracies = accuracy_of(exponents, curves.floor)
    was_run = ~np.isnan(accuracies.values)
    was_validated = was_run & is_validation[:, None]
    has_validated = was_validated.any(axis=0)
    is_checked = np.where(has_validated, was_validated, was_run)
    checked_accuracies[~is_checked] = np.nan
    observed = Observed(accuracies.values, tuple(families), accuracies.chance,
                        accuracies.n_items)
    # Column 0 is the only unit, and its source has no name.
    units = Units(
        columns=np.zeros(1, int), sources=np.array(['']), answers=answers)
    fit = Fit(
        models=table.models,
        benchmarks=accuracies.benchmarks,
        main=accuracies.main,
        losses=features.values,
        observed=observed,
        units=units)
    model = CurveModel(curves, checked_accuracies, observed)
    return predictor_of(features.columns, fit, model, notes)


def _splits(models: Sequence[str], train: Sequence[str],
            validation: Sequence[str]) -> NDArray:
    """Return the split of each model, one of `SPLITS`, `(M,)`."""
    splits = np.full(len(models), TEST, object)
    splits[np.isin(models, train)] = TRAINING
    splits[np.isin(models, validation)] = VALIDATION
    return splits


def _problems(table: LossTable, accuracies: AccuracyTable,
              is_validation: NDArray) -> Mapping[str, Optional[str]]:
    """Return, for each benchmark, the reason why no head can be learned.

    The reason is None if a head can be learned. `is_validation`, `(M,)`, is a
    mask of the models; all other models are trained on.
    """
    loss = counted_losses(table).sum(axis=1)
    found: dict[str, Optional[str]] = {}
    for b, name in enumerate(accuracies.benchmarks):
        accuracy = accuracies.values[:, b]
        was_run = ~np.isnan(accuracy)
        rows = was_run & ~is_validation
        chance = float(accuracies.chance[b])
        problems = diagnose(loss[rows], accuracy[rows], chance)
        validated = was_run & is_validation
        found[name] = None
        if problems:
            reasons = [PROBLEMS[problem] for problem in problems]
            found[name] = '; '.join(reasons)
        elif not validated.any():
            found[name] = 'no validation model has an accuracy'
    return found


def _curves(accuracies: AccuracyTable, heads: TrainedHeads,
            train: NDArray) -> Curves:
    """Return the curves of all benchmarks, flat where there is no head."""
    n_benchmarks = len(accuracies.benchmarks)
    alpha = np.zeros(n_benchmarks)
    beta = np.zeros(n_benchmarks)
    floor = np.zeros(n_benchmarks)
    for b, name in enumerate(accuracies.benchmarks):
        if name in heads.benchmarks:
            index = heads.benchmarks.index(name)
            curve = heads.curve[index]
            alpha[b] = curve.alpha
            beta[b] = curve.beta
            floor[b] = curve.floor
        else:
            known = accuracies.values[train, b]
            known = known[~np.isnan(known)]
            mean = accuracies.chance[b]
            if len(known):
                mean = known.mean()
            # At the exponent 0, a curve is half-way between its floor and 1.
            # The floor is chosen so that this value is the mean.
            floor[b] = 2 * mean - 1
    return Curves(alpha, beta, floor)


def _columns(table: LossTable, states: Tensor,
             heads: TrainedHeads) -> TokenColumns:
    """Return the columns: the loss, then the score of each head.

    Loss and scores are in nats per character.
    """
    weights = heads.head.weights(states)
    of_scores = weights.double().numpy()
    of_loss = np.ones((len(states), 1))
    matrix = np.hstack([of_loss, of_scores])  # (T, columns)
    matrix /= table.n_chars.sum()
    matrix[~table.scored] = 0
    units = ['loss']
    for name in heads.benchmarks:
        units.append(f'score of {name}')
    uniform = np.zeros(len(units))
    uniform[0] = 1
    columns = Columns(tuple(units), uniform, table.fingerprint, table.scored)
    return TokenColumns(columns, scipy.sparse.csc_array(matrix))


def _notes(best_step: int, settings: HeadSettings) -> tuple[str, ...]:
    """Return the notes of a benchmark about the step that was chosen."""
    notes = [f'the validation models chose step {best_step}.']
    if best_step == settings.n_steps:
        notes.append('still better at the last step: train for more steps.')
    return tuple(notes)
