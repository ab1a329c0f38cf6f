"""How well each method predicts zoo models that it was not fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core import metrics
from csv_plugin.core.blocks import join_blocks
from csv_plugin.core.features import (FeatureTable, TokenColumns,
                                      answer_groups, group_columns)
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import (Auto, Constant, Solver, Task, Uniform,
                                      fold_masks)
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.core.training import Training
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.files import FilePath
from csv_plugin.lm.feature_blocks import feature_blocks
from csv_plugin.lm.head.algorithm2 import train_heads
from csv_plugin.lm.head.head_settings import HeadSettings
from csv_plugin.lm.scoring_lm import (load_scoring_lm, target_tokens,
                                      token_states)
from csv_plugin.lm.states.state_columns import StateScale

#: These settings predict the validation models best, of SGD at 1e-3 (the
#: paper's), 1 and 100 and Adam at 1e-3, 3e-3, 1e-2, 3e-2 and 1e-1.
HEAD = HeadSettings(optimiser='sgd', learning_rate=1.)
#: The series of the studies that fit dozens of times, for speed.
FIRST_SERIES = ('a', 'b', 'c', 'd')
TRAIN, VALIDATION, TEST = 'train', 'validation', 'test'
BASELINE = 'all-token loss'


@dataclass(frozen=True, eq=False)
class ZooStudy:
    """The zoo's losses in the tokens of the scoring LM.

    Args:
        collection (Collection): Losses and accuracies of the zoo's models.
        targets (TargetTokens): Tokens of its texts.
        states (Tensor): Hidden states of the scoring LM at them, `(T, H)`.
    """
    collection: Collection
    targets: TargetTokens
    states: Tensor

    @classmethod
    def load(cls, collection: FilePath, scoring_lm: FilePath,
             tokenizer: FilePath) -> 'ZooStudy':
        """Read a collection and let a scoring LM read its texts.

        Args:
            collection (FilePath): Folder that `read_collection` reads.
            scoring_lm (FilePath): A causal LM in the format of transformers.
            tokenizer (FilePath): Its tokenizer.

        Raises:
            InputError: As in `read_collection` and `hidden_states`.
        """
        zoo = read_collection(collection)
        loaded = load_scoring_lm(scoring_lm, tokenizer)
        return cls(zoo, target_tokens(loaded[1], zoo.texts),
                   token_states(*loaded, zoo.texts))

    def of_series(self, series: Sequence[str]) -> 'ZooStudy':
        """The study on the models of some series, without their twins.

        Args:
            series (Sequence[str]): Names, such as 'a'.
        """
        models = [
            model for model in self.collection.info
            if model.partition('-')[0] in series
        ]
        return replace(self, collection=self.collection.select(models))

    def sampled(self, share: float, seed: int) -> 'ZooStudy':
        """The study on a random share of the texts of each source."""
        rng = Random(seed)
        by_source: dict[str, list[Text]] = {}
        for text in self.collection.texts:
            by_source.setdefault(text.source, []).append(text)
        chosen = {
            text.text_id
            for texts in by_source.values()
            for text in rng.sample(texts, round(share * len(texts)))
        }
        kept = [text_id in chosen for text_id in self.targets.text_ids]
        part = TextSet(
            tuple(text for text in self.collection.texts
                  if text.text_id in chosen))
        all_spans = self.targets.spans
        spans = [spans for spans, keep in zip(all_spans, kept) if keep]
        tokens = np.repeat(kept, [len(spans) for spans in all_spans])
        return ZooStudy(
            self.collection.select_texts(part), TargetTokens.of(part, spans),
            self.states[torch.from_numpy(tokens)])

    @cached_property
    def table(self) -> LossTable:
        """Losses of all M models on the target tokens."""
        losses = self.collection.losses
        return self.targets.table(
            {model: losses[model].texts
             for model in losses})

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
        blocks = feature_blocks(self.table, self.collection.texts,
                                self.targets, self.states)
        source, candidates = join_blocks(blocks)
        methods: dict[str, Solver] = {
            'constant': Constant(),
            BASELINE: Uniform(),
            **{
                candidate.name: candidate
                for candidate in candidates
            }, 'auto': Auto(candidates)
        }
        features = source.features(self.table)
        fitted = self.collection.models_in(TRAIN, VALIDATION)
        predictions = {
            name: self._predict(features, solver, fitted)
            for name, solver in methods.items()
        }
        return predictions | {
            'label-token loss': self._label_token_loss(fitted),
            "the paper's head": self._head(),
        }

    def _predict(self, features: FeatureTable, solver: Solver,
                 fitted: Sequence[str]) -> NDArray:
        """Accuracies that a solver predicts for all models, `(M, B)`."""
        predicted = np.empty(self.collection.accuracies.values.shape)
        for b in range(predicted.shape[1]):
            fit = solver.fit(*self._task(features, fitted, b))
            predicted[:, b] = fit.model.predict(features.values)
        return predicted

    def _task(self, features: FeatureTable, fitted: Sequence[str],
              b: int) -> tuple[Task, NDArray]:
        """Exam b of the models to fit to, and the masks of its folds."""
        accuracies = self.collection.accuracies
        family_of = self.collection.families
        families = np.array([family_of[model] for model in fitted])
        task = Task(
            features.select(fitted).values, features.columns.uniform,
            accuracies.select(fitted).values[:, b],
            float(accuracies.chance[b]), families)
        return task, fold_masks(families, seed=0)

    def test_models(self) -> dict[str, NDArray[np.bool_]]:
        """Two kinds of test models, masks of shape `(M,)`.

        Returns:
            dict[str, NDArray]: 'unseen series', models of series without a
            fitted model; and 'larger sizes', all other test models.
        """
        info = self.collection.info
        fitted = self.collection.models_in(TRAIN, VALIDATION)
        families = {info[model].family for model in fitted}
        unseen = np.array(
            [row.family not in families for row in info.values()])
        test = np.array([row.split == TEST for row in info.values()])
        return {'unseen series': unseen & test, 'larger sizes': test & ~unseen}

    def errors(self) -> dict[str, dict[str, NDArray]]:
        """Test MSE of every exam, `(B,)`, by method and `test_models`."""
        real = self.collection.accuracies.values
        kinds = self.test_models()
        return {
            method: {
                kind:
                np.array([
                    metrics.mse(real[rows, b], predicted[rows, b])
                    for b in range(real.shape[1])
                ])
                for kind, rows in kinds.items()
            }
            for method, predicted in self.predictions().items()
        }

    def left_out(self, series: str) -> dict[str, NDArray]:
        """Squared errors on a series of which no model takes part in a fit.

        Args:
            series (str): A family of the zoo; all other models are fitted.

        Returns:
            dict[str, NDArray]: By what they are, shape `(B,)`: test errors of
            the all-token loss, the label-token loss and `auto`, then the
            errors that `auto` states and the one that it chooses by.
        """
        fitted = [
            model for model, row in self.collection.info.items()
            if row.family != series
        ]
        blocks = feature_blocks(self.table, self.collection.texts,
                                self.targets, self.states)
        source, candidates = join_blocks(blocks)
        auto, features = Auto(candidates), source.features(self.table)
        predicted = np.empty(self.collection.accuracies.values.shape)
        stated, least = np.empty((2, predicted.shape[1]))
        for b in range(len(stated)):
            task, masks = self._task(features, fitted, b)
            fit = auto.fit(task, masks)
            predicted[:, b] = fit.model.predict(features.values)
            least[b] = fit.cv_mse
            stated[b] = metrics.mse(task.accuracy, auto.held_out(task, masks))
        rows = np.array(
            [row.family == series for row in self.collection.info.values()])
        real = self.collection.accuracies.values[rows]
        tested = {
            BASELINE: self._predict(features, Uniform(), fitted),
            'label-token loss': self._label_token_loss(fitted),
            'auto': predicted,
        }
        return {
            **{
                name: np.mean((values[rows] - real)**2, axis=0)
                for name, values in tested.items()
            }, 'stated': stated,
            'chosen by': least
        }

    def _label_token_loss(self, fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted from the answers of each exam's own texts."""
        groups = group_columns(
            self.table,
            answer_groups(self.collection.texts.texts, self.targets.spans))
        return np.stack([
            self._predict(
                _only(groups, f'{name}/answer').features(self.table),
                Uniform(), fitted)[:, b]
            for b, name in enumerate(self.collection.accuracies.benchmarks)
        ],
                        axis=1)

    def _head(self) -> NDArray:
        """Accuracies that the paper's head predicts, `(M, B)`."""
        raw = self.states.double().numpy()
        # Standardised, so that one learning rate serves all directions.
        states = torch.from_numpy(StateScale.of(raw).apply(raw))
        heads = train_heads(states, self.table, self.collection.accuracies,
                            self.collection.models_in(TRAIN),
                            self.collection.models_in(VALIDATION), HEAD)
        return heads.predict(states, self.table)


def _only(source: TokenColumns, unit: str) -> TokenColumns:
    """One of the columns, whose coefficient 1 is uniform salience."""
    k = source.columns.units.index(unit)
    columns = replace(source.columns, units=(unit, ), uniform=np.ones(1))
    return TokenColumns(columns, source.matrix[:, [k]])
