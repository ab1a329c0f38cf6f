"""How well each method predicts zoo models that it was not fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.losses import LossTable, TargetTokens, TextLosses
from csv_plugin.core.model_losses import ModelLosses, TokenLossDump
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.model_tables import read_loss_features
from csv_plugin.io.tables import models_in
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import train_heads
from csv_plugin.lm.head.state_scale import StateScale
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.loading import load_scoring_lm
from csv_plugin.lm.methods import answers_by_source, token_columns
from csv_plugin.lm.tokens.tokenization import target_tokens

#: This learning rate predicts the validation models best, of 1e-3 (the
#: paper's), 1 and 100.
HEAD = HeadSettings(learning_rate=1.)
#: The series of the studies that fit dozens of times, for speed.
FIRST_SERIES = ('a', 'b', 'c', 'd')
TRAIN, VALIDATION, TEST = 'train', 'validation', 'test'
SALIENCE, BASELINE, LABEL = 'salience', 'mean loss', 'label-token loss'
TEXTS = 'salience, texts alone'
PAPER = "the paper's head"
LABEL_OF_ITEMS = "label-token loss of the exams' items"


@dataclass(frozen=True, eq=False)
class ZooStudy:
    """The zoo's losses in the tokens of the scoring LM.

    `targets` are the T tokens of its texts, `states` hidden states of the
    scoring LM at them, `(T, H)`.
    """
    collection: Collection
    targets: TargetTokens
    states: Tensor

    @classmethod
    def load(cls) -> 'ZooStudy':
        """Read what ships, and let its scoring LM read the texts."""
        zoo = read_collection(shipped.COLLECTION)
        loaded = load_scoring_lm(shipped.SCORING_LM, shipped.SCORING_TOKENIZER)
        return cls(zoo, target_tokens(loaded[1], zoo.texts),
                   hidden_states(*loaded, zoo.texts.texts))

    def of_series(self, series: Sequence[str]) -> 'ZooStudy':
        """The study on the models of some series."""
        whole = self.collection
        models = [
            model for model in whole.info if model.partition('-')[0] in series
        ]
        part = replace(
            whole,
            losses=whole.losses.select(models),
            accuracies=whole.accuracies.select(models),
            info={model: whole.info[model]
                  for model in models})
        return replace(self, collection=part)

    def of_texts(self, texts: Sequence[Text]) -> 'ZooStudy':
        """The study on some of its texts, which keep their order."""
        part = TextSet(tuple(texts))
        is_kept = np.isin(self.targets.text_ids, part.ids)
        spans = self.targets.spans
        tokens = np.repeat(is_kept, [len(of_text) for of_text in spans])
        rows = np.flatnonzero(is_kept)
        dumps = {}
        for model, dump in self.collection.losses.items():
            info = replace(dump.info, fingerprint=part.fingerprint)
            losses = TextLosses.of(dump.texts).select(list(rows))
            dumps[model] = TokenLossDump(info, losses)
        return ZooStudy(
            replace(self.collection, losses=ModelLosses(part, dumps)),
            TargetTokens.of(part, [spans[row] for row in rows]),
            self.states[torch.from_numpy(tokens)])

    @property
    def exams(self) -> tuple[str, ...]:
        """Names of the B exams."""
        return self.collection.accuracies.benchmarks

    @property
    def observed(self) -> NDArray[np.float64]:
        """Accuracies of all M models, `(M, B)`."""
        return self.collection.accuracies.values

    @cached_property
    def table(self) -> LossTable:
        """Losses of all M models on the target tokens."""
        losses = self.collection.losses
        return self.targets.table(
            {model: losses[model].texts
             for model in losses})

    @cached_property
    def standardised(self) -> Tensor:
        """Standardised states, so that one rate serves all directions."""
        scored = self.table.scored
        return StateScale.of(self.states, scored).apply(self.states).double()

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """The models of some splits, in the order of the accuracies."""
        return models_in(splits, self.collection.accuracies.models,
                         self.collection.info)

    def test_models(self) -> dict[str, NDArray[np.bool_]]:
        """Two kinds of test models, masks of shape `(M,)`."""
        info = self.collection.info
        fitted = self.models_in(TRAIN, VALIDATION)
        families = {info[model].family for model in fitted}
        unseen = np.array(
            [row.family not in families for row in info.values()])
        test = np.array([row.split == TEST for row in info.values()])
        return {'unseen series': unseen & test, 'larger sizes': test & ~unseen}

    def fit(self,
            fitted: Sequence[str],
            baseline: bool = False,
            answers: bool = True) -> Predictor:
        """The default of the package, or its baseline, on some models.

        Without `answers` exams have no answers of their own.
        """
        whole = self.collection
        source, units = token_columns(self.table, whole.texts, self.targets,
                                      self.exams)
        features = source.features(self.table)
        if not answers:
            units = replace(units, answers={})
        known = whole.accuracies.select(fitted)
        families = [whole.families[model] for model in fitted]
        if baseline:
            found = fit_mean_loss_predictor(features, known, families)
        else:
            found = fit_predictor(features, known, families, units)
        return found.with_tokens(self.targets, source)

    def predicted(self, predictor: Predictor) -> NDArray[np.float64]:
        """What a predictor of the B exams says of all models, `(M, B)`."""
        found = predictor.predict(self.table).select(benchmarks=self.exams)
        return found.values[:, :, 0]

    def by_method(self, method: str, fitted: Sequence[str]) -> NDArray:
        """Accuracies that a method predicts of all models, `(M, B)`.

        The paper's head fits the train models and stops where the validation
        models are predicted best; other methods fit those of `fitted`.
        """
        if method == 'constant':
            mean = self.collection.accuracies.select(fitted).values.mean(
                axis=0)
            return np.tile(mean, (len(self.observed), 1))
        if method == PAPER:
            heads = train_heads(self.standardised, self.table,
                                self.collection.accuracies,
                                self.models_in(TRAIN),
                                self.models_in(VALIDATION), HEAD)
            return heads.predict(self.standardised, self.table)
        if method == LABEL:
            masks = answers_by_source(self.table, self.collection.texts,
                                      self.targets)
            losses = [
                self.table.losses[:, masks[exam]].mean(axis=1)
                for exam in self.exams
            ]
            return self._by_one_loss(losses, fitted)
        if method == LABEL_OF_ITEMS:
            table = read_loss_features(shipped.LABEL_LOSSES).select(
                self.table.models)
            places = [table.columns.units.index(exam) for exam in self.exams]
            return self._by_one_loss(table.values[:, places].T, fitted)
        return self.predicted(
            self.fit(
                fitted, baseline=method == BASELINE, answers=method != TEXTS))

    def _by_one_loss(self, losses: Sequence[NDArray] | NDArray,
                     fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted by a loss of each exam's own, `(M, B)`.

        Losses are `(M,)` each. The curve is that of the mean loss.
        """
        whole = self.collection
        families = [whole.families[model] for model in fitted]
        predicted = []
        for loss, exam in zip(losses, self.exams):
            features = FeatureTable.of_losses(self.table.models, ['loss'],
                                              loss[:, None])
            known = whole.accuracies.select(fitted, [exam])
            predictor = fit_mean_loss_predictor(features, known, families)
            predicted.append(predictor.predict(features).values[:, 0, 0])
        return np.stack(predicted, axis=1)


def reported(predictor: Predictor,
             benchmarks: Sequence[str]) -> dict[str, NDArray]:
    """Mean squared errors that a predictor states of itself, `(B,)` each."""
    parts = [predictor.benchmark(name) for name in benchmarks]
    return {
        'reported': np.array([part.error for part in parts])**2,
        'expected': np.array([part.expected_error for part in parts])**2,
    }
