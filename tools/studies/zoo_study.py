"""How well each method predicts zoo models that it was not fitted to."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

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
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.files import FilePath
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
OURS, BASELINE, LABEL = 'salience', 'mean loss', 'label-token loss'
TEXTS = 'salience, texts alone'
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

    def of_texts(self, texts: Sequence[Text]) -> 'ZooStudy':
        """The study on some of its texts, which keep their order."""
        part = TextSet(tuple(texts))
        is_kept = np.isin(self.targets.text_ids, part.ids)
        spans = self.targets.spans
        tokens = np.repeat(is_kept, [len(of_text) for of_text in spans])
        rows = np.flatnonzero(is_kept)
        dumps = {
            model:
            TokenLossDump(
                replace(dump.info, fingerprint=part.fingerprint),
                TextLosses.of(dump.texts).select(list(rows)))
            for model, dump in self.collection.losses.items()
        }
        return replace(
            self,
            collection=replace(
                self.collection, losses=ModelLosses(part, dumps)),
            targets=TargetTokens.of(part, [spans[row] for row in rows]),
            states=self.states[torch.from_numpy(tokens)])

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

    def fit(self,
            fitted: Sequence[str],
            baseline: bool = False,
            answers: bool = True) -> Predictor:
        """The default of the package, or its baseline, on some models.

        Without `answers` exams have no answers of their own.
        """
        whole = self.collection
        source, units = token_columns(self.table, whole.texts, self.targets,
                                      whole.accuracies.benchmarks)
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

    def predictions(self) -> dict[str, NDArray]:
        """Predicted accuracies of all models, `(M, B)`, by method.

        All methods see the losses and accuracies of the train and
        validation models only. The paper's head fits the train models and
        stops where the validation models are predicted best; the other
        methods fit both.
        """
        fitted = self.models_in(TRAIN, VALIDATION)
        whole = self.collection.accuracies
        mean = np.nanmean(whole.select(fitted).values, axis=0)
        found = {
            'constant': np.tile(mean, (len(whole.models), 1)),
            BASELINE: self.predicted(self.fit(fitted, baseline=True)),
            LABEL: self.label_token_loss(fitted),
            "the paper's head": self.by_head(),
            TEXTS: self.predicted(self.fit(fitted, answers=False)),
            OURS: self.predicted(self.fit(fitted)),
        }
        if self.label_losses is not None:
            losses = self.label_losses.select(self.table.models)
            names = losses.columns.units
            columns = [losses.values[:, names.index(exam)]
                       for exam in whole.benchmarks]  # yapf: disable
            found[LABEL_OF_ITEMS] = self.by_one_loss(columns, fitted)
        return found

    def predicted(self, predictor: Predictor) -> NDArray[np.float64]:
        """What a predictor of the B exams says of all models, `(M, B)`."""
        return predictor.predict(self.table).select(
            benchmarks=self.collection.accuracies.benchmarks).values[:, :, 0]

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

    def left_out(self, series: str) -> dict[str, NDArray]:
        """Errors on a series of which no model takes part in a fit.

        Mean squared errors of the B exams by what they are, `(B,)`: those of
        three methods, found on the series; 'reported', that of the fitted
        families, each left out in closed form; and 'expected', the median of
        what is expected of them.
        """
        info = self.collection.info
        fitted = [model for model in info if info[model].family != series]
        rows = np.array([row.family == series for row in info.values()])
        ours = self.fit(fitted)
        predicted = {
            BASELINE: self.predicted(self.fit(fitted, baseline=True)),
            LABEL: self.label_token_loss(fitted),
            OURS: self.predicted(ours),
        }
        real = self.collection.accuracies.values
        mse = {
            name: np.mean((values - real)[rows]**2, axis=0)
            for name, values in predicted.items()
        }
        return mse | reported(ours, self.collection.accuracies.benchmarks)

    def label_token_loss(self, fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted from the answers of each exam's own texts."""
        masks = answers_by_source(self.table, self.collection.texts,
                                  self.targets)
        columns = [
            self.table.losses[:, masks[exam]].mean(axis=1)
            for exam in self.collection.accuracies.benchmarks
        ]
        return self.by_one_loss(columns, fitted)

    def by_one_loss(self, losses: Sequence[NDArray],
                    fitted: Sequence[str]) -> NDArray:
        """Accuracies predicted by a loss of each exam's own, `(M, B)`.

        Losses are `(M,)` each. The curve is that of the mean loss.
        """
        whole = self.collection
        families = [whole.families[model] for model in fitted]
        predicted = []
        for loss, exam in zip(losses, whole.accuracies.benchmarks):
            features = FeatureTable.of_losses(self.table.models, ['loss'],
                                              loss[:, None])
            known = whole.accuracies.select(fitted, [exam])
            predictor = fit_mean_loss_predictor(features, known, families)
            predicted.append(predictor.predict(features).values[:, 0, 0])
        return np.stack(predicted, axis=1)

    def by_head(self) -> NDArray:
        """Accuracies that the paper's head predicts, `(M, B)`."""
        heads = train_heads(self.standardised, self.table,
                            self.collection.accuracies, self.models_in(TRAIN),
                            self.models_in(VALIDATION), HEAD)
        return heads.predict(self.standardised, self.table)


def reported(predictor: Predictor,
             benchmarks: Sequence[str]) -> dict[str, NDArray]:
    """Mean squared errors that a predictor states of itself, `(B,)` each."""
    parts = [predictor.benchmark(name) for name in benchmarks]
    return {
        'reported': np.array([part.error for part in parts])**2,
        'expected': np.array([part.expected_error for part in parts])**2,
    }
