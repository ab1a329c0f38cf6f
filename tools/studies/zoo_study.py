"""How well each method predicts zoo models that it was not fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core import metrics
from csv_plugin.core.features import FeatureTable, answer_groups, group_columns
from csv_plugin.core.fitting import Fitted
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import (Auto, Constant, MeanLoss, Solver, Task,
                                      Uniform, fold_masks)
from csv_plugin.core.salience.choice import OnColumns
from csv_plugin.core.training import JoinedColumns, Training
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import read_loss_features
from csv_plugin.io.tables import models_in
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import train_heads
from csv_plugin.lm.head.state_columns import StateScale
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.loading import load_scoring_lm
from csv_plugin.lm.methods import feature_sets
from csv_plugin.lm.tokens.tokenization import target_tokens

#: This learning rate predicts the validation models best, of 1e-3 (the
#: paper's), 1 and 100.
HEAD = HeadSettings(learning_rate=1.)
#: The series of the studies that fit dozens of times, for speed.
FIRST_SERIES = ('a', 'b', 'c', 'd')
TRAIN, VALIDATION, TEST = 'train', 'validation', 'test'
BASELINE, LABEL = 'mean loss', 'label-token loss'
LABEL_OF_ITEMS = "label-token loss of the exams' items"


def only(collection: Collection, models: Sequence[str]) -> Collection:
    """Return some models of a collection, in the given order."""
    return replace(
        collection,
        losses=collection.losses.select(models),
        accuracies=collection.accuracies.select(models),
        info={model: collection.info[model]
              for model in models})


@dataclass(frozen=True, eq=False)
class ZooStudy:
    """The zoo's losses in the tokens of the scoring LM.

    Args:
        collection (Collection): Losses and accuracies of the zoo's models.
        targets (TargetTokens): Tokens of its texts.
        states (Tensor): Hidden states of the scoring LM at them, `(T, H)`.
        label_losses (Optional[FeatureTable]): Of the right answers of each
            exam's own items, a column per exam; see `building`.
    """
    collection: Collection
    targets: TargetTokens
    states: Tensor
    label_losses: Optional[FeatureTable] = None

    @classmethod
    def load(cls,
             collection: FilePath,
             scoring_lm: FilePath,
             tokenizer: FilePath,
             label_losses: Optional[FilePath] = None) -> 'ZooStudy':
        """Read a collection and let a scoring LM read its texts."""
        zoo = read_collection(collection)
        loaded = load_scoring_lm(scoring_lm, tokenizer)
        return cls(
            zoo, target_tokens(loaded[1], zoo.texts),
            hidden_states(*loaded, zoo.texts.texts),
            None if label_losses is None else read_loss_features(label_losses))

    def of_series(self, series: Sequence[str]) -> 'ZooStudy':
        """The study on the models of some series."""
        models = [
            model for model in self.collection.info
            if model.partition('-')[0] in series
        ]
        return replace(self, collection=only(self.collection, models))

    @cached_property
    def table(self) -> LossTable:
        """Losses of all M models on the target tokens."""
        losses = self.collection.losses
        return self.targets.table(
            {model: losses[model].texts
             for model in losses})

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """The models of some splits, in the order of the accuracies."""
        return models_in(splits, self.collection.accuracies.models,
                         self.collection.info)

    def training(self, models: Sequence[str]) -> Training:
        """The training of predictors on the given models."""
        return Training(
            self.table.select(models), self.collection.texts,
            self.collection.accuracies, self.collection.families, self.targets)

    def predictions(self) -> dict[str, NDArray]:
        """Predicted accuracies of all models, `(M, B)`, by method.

        All methods see the losses and accuracies of the train and
        validation models only. The paper's head fits the train models and
        stops where the validation models are predicted best; the other
        methods fit both.
        """
        blocks = feature_sets(self.table, self.collection.texts, self.targets,
                              self.states)
        source = JoinedColumns(blocks)
        features = source.features(self.table)
        exams = self.collection.accuracies.benchmarks
        offered = [source.solvers(exam) for exam in exams]
        methods: dict[str, Sequence[Solver]] = {
            'constant': [Constant()] * len(exams),
            BASELINE: [MeanLoss()] * len(exams),
            **{
                _name(solvers): solvers
                for solvers in zip(*offered)
            }, 'auto': list(map(source.auto, exams))
        }
        fitted = self.models_in(TRAIN, VALIDATION)
        predictions = {
            name: self._predict(features, solvers, fitted)
            for name, solvers in methods.items()
        }
        if self.label_losses is not None:
            predictions[LABEL_OF_ITEMS] = self._label_loss_of_items(
                self.label_losses, fitted)
        return predictions | {
            LABEL: self._label_token_loss(fitted),
            "the paper's head": self._head(),
        }

    def _predict(self, features: FeatureTable, solvers: Sequence[Solver],
                 fitted: Sequence[str]) -> NDArray:
        """Accuracies that B solvers predict for all models, `(M, B)`."""
        predicted = np.empty(self.collection.accuracies.values.shape)
        for b, solver in enumerate(solvers):
            fit = solver.fit(*self._task(features, fitted, b))
            predicted[:, b] = fit.model.predict(features.values)
        return predicted

    def _task(self, features: FeatureTable, fitted: Sequence[str],
              b: int) -> tuple[Task, NDArray]:
        """Exam b of the models to fit to, and the masks of its folds."""
        accuracies = self.collection.accuracies
        family_of = self.collection.families
        families = np.array([family_of[model] for model in fitted])
        task = Task.of(
            features.select(fitted).values, features.columns.uniform,
            accuracies.select(fitted).values[:, b],
            float(accuracies.chance[b]), families)
        return task, fold_masks(families, seed=0)

    def test_models(self) -> dict[str, NDArray[np.bool_]]:
        """Two kinds of test models, masks of shape `(M,)`."""
        info = self.collection.info
        fitted = self.models_in(TRAIN, VALIDATION)
        families = {info[model].family for model in fitted}
        unseen = np.array(
            [row.family not in families for row in info.values()])
        test = np.array([row.split == TEST for row in info.values()])
        return {'unseen series': unseen & test, 'larger sizes': test & ~unseen}

    def runs(self) -> list[str]:
        """The run of each of the M models, such as 'a-xs'."""
        return [model.partition('@')[0] for model in self.collection.info]

    def squared_errors(self) -> dict[str, NDArray]:
        """Squared errors of all models, `(M, B)`, by method."""
        real = self.collection.accuracies.values
        return {
            method: (predicted - real)**2
            for method, predicted in self.predictions().items()
        }

    def predicted(self, predictor: Predictor) -> NDArray[np.float64]:
        """What a predictor of the B exams says of all models, `(M, B)`."""
        return predictor.predict(self.table).select(
            benchmarks=self.collection.accuracies.benchmarks).values[:, :, 0]

    def left_out(self, series: str) -> dict[str, NDArray]:
        """Errors on a series of which no model takes part in a fit.

        Mean squared errors of the B exams by what they are, `(B,)`. Those of
        the mean loss, the label-token loss and `auto` are found on the
        series. 'cross-validated' is the error that `auto` expects, 'of the
        typical series' the one that half of the fitted series stay below, and
        'chosen by' is the cross-validated error of what it chose.
        """
        fitted = [
            model for model, row in self.collection.info.items()
            if row.family != series
        ]
        blocks = feature_sets(self.table, self.collection.texts, self.targets,
                              self.states)
        source = JoinedColumns(blocks)
        features = source.features(self.table)
        exams = self.collection.accuracies.benchmarks
        real = self.collection.accuracies.values
        rows = np.array(
            [row.family == series for row in self.collection.info.values()])
        predicted = np.empty(real.shape)
        expected: dict[str, list[float]] = {}
        for b, exam in enumerate(exams):
            task, masks = self._task(features, fitted, b)
            fit = _fit_with_nested(source.auto(exam), task, masks)
            predicted[:, b] = fit.fit.model.predict(features.values)
            for name, error in _expected(fit).items():
                expected.setdefault(name, []).append(error)
        tested = {
            BASELINE: self._predict(features, [MeanLoss()] * len(exams),
                                    fitted),
            LABEL: self._label_token_loss(fitted),
            'auto': predicted,
        }
        mse = {
            name: np.mean((values - real)[rows]**2, axis=0)
            for name, values in tested.items()
        }
        return mse | {
            name: np.array(errors)
            for name, errors in expected.items()
        }

    def _label_token_loss(self, fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted from the answers of each exam's own texts."""
        groups = group_columns(
            self.table,
            answer_groups(self.collection.texts.texts, self.targets.spans))
        return self._by_one_column(
            groups.features(self.table), '{}/answer', fitted)

    def _label_loss_of_items(self, losses: FeatureTable,
                             fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted from the right answers of each exam's items."""
        return self._by_one_column(
            losses.select(self.table.models), '{}', fitted)

    def _by_one_column(self, features: FeatureTable, unit: str,
                       fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted from a loss of each exam's own, `(M, B)`."""
        units = features.columns.units
        return self._predict(features, [
            OnColumns(exam, Uniform(),
                      np.array([units.index(unit.format(exam))]), np.ones(1))
            for exam in self.collection.accuracies.benchmarks
        ], fitted)

    def _head(self) -> NDArray:
        """Accuracies that the paper's head predicts, `(M, B)`."""
        raw = self.states.double().numpy()
        # Standardised, so that one learning rate serves all directions.
        states = torch.from_numpy(
            StateScale.of_moments(raw.mean(axis=0),
                                  (raw**2).mean(axis=0)).apply(raw))
        heads = train_heads(states, self.table, self.collection.accuracies,
                            self.models_in(TRAIN), self.models_in(VALIDATION),
                            HEAD)
        return heads.predict(states, self.table)


def _fit_with_nested(auto: Auto, task: Task, masks: NDArray) -> Fitted:
    """The choice of `auto`, with predictions of families it has not seen."""
    return Fitted(
        task,
        replace(auto.fit(task, masks), held_out=auto.held_out(task, masks)))


def _expected(fit: Fitted) -> dict[str, float]:
    """Mean squared errors of `left_out` that are not found on the series."""
    return {
        'cross-validated': metrics.mse(fit.task.accuracy, fit.held_out),
        'of the typical series': fit.typical_error**2,
        'chosen by': fit.fit.cv_mse
    }


def _name(solvers: Sequence[OnColumns]) -> str:
    """What the solvers of all exams are called together."""
    names = {solver.name for solver in solvers}
    return names.pop() if len(names) == 1 else "the exam's own answers"
