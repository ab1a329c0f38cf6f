"""How well each method predicts models of the zoo that it has not seen."""
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csv_plugin.core import metrics
from csv_plugin.core.blocks import Columns, join_blocks
from csv_plugin.core.features import TokenColumns, answer_groups, group_columns
from csv_plugin.core.salience import (Auto, Constant, Solver, Task, Uniform,
                                      fold_masks)
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.tables import FilePath
from csv_plugin.lm.feature_blocks import (feature_blocks, load_scoring_lm,
                                          target_tokens, token_states)
from csv_plugin.lm.head.algorithm2 import HeadSettings, train_heads
from csv_plugin.lm.states.hidden_states import StateScale

#: Of SGD at 1e-3 (the paper's), 1 and 100 and Adam at 1e-3, 3e-3, 1e-2, 3e-2
#: and 1e-1, this one predicts the validation models best.
HEAD = HeadSettings(optimiser='sgd', learning_rate=1.)
TRAIN, VALIDATION, TEST = 'train', 'validation', 'test'
BASELINE = 'all-token loss'


@dataclass(frozen=True, eq=False)
class ZooStudy:
    """The zoo's losses in the tokens of the scoring LM.

    Args:
        collection (Collection): Losses and scores of the zoo's models.
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
        found = read_collection(collection)
        model, made = load_scoring_lm(scoring_lm, tokenizer)
        return cls(found, target_tokens(made, found.texts),
                   token_states(model, made, found.texts))

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
        texts = TextSet(
            tuple(t for t in self.collection.texts if t.text_id in chosen))
        spans = [s for s, keep in zip(self.targets.spans, kept) if keep]
        tokens = np.repeat(kept, [len(s) for s in self.targets.spans])
        return ZooStudy(
            self.collection.on(texts), TargetTokens.of(texts, spans),
            self.states[torch.from_numpy(tokens)])

    def predictions(self) -> dict[str, NDArray]:
        """Predicted accuracies of all models, `(M, B)`, by method.

        All methods see the losses and scores of the train and validation
        models only. The paper's head fits the train models and stops where
        the validation models are predicted best; the others fit both.
        """
        table = self.targets.table(self.collection.losses)
        blocks = feature_blocks(table, self.collection.texts, self.targets,
                                self.states)
        columns, candidates = join_blocks(blocks)
        methods: dict[str, Solver] = {
            'constant': Constant(),
            BASELINE: Uniform(),
            **{
                candidate.name: candidate
                for candidate in candidates
            }, 'auto': Auto(candidates)
        }
        found = {
            name: self._predict(columns, solver)
            for name, solver in methods.items()
        }
        return found | {
            'label-token loss': self._label_token_loss(),
            "the paper's head": self._head(),
        }

    def _predict(self, columns: Columns, solver: Solver) -> NDArray:
        fitted = self.collection.models_in(TRAIN, VALIDATION)
        scores = self.collection.accuracies
        features = columns.features(self.targets.table(self.collection.losses))
        families = np.array([self.collection.families[m] for m in fitted])
        masks = fold_masks(families, seed=0)
        found = np.empty(scores.values.shape)
        for b, chance in enumerate(scores.chance):
            task = Task(
                features.select(fitted).values, columns.uniform,
                scores.select(fitted).values[:, b], float(chance), families)
            fit = solver.fit(task, masks)
            found[:, b] = fit.model.predict(features.values)
        return found

    def test_models(self) -> dict[str, NDArray[np.bool_]]:
        """Masks `(M,)`: 'unseen series' are of series without a fitted model,
        'larger sizes' the other test models."""
        info = self.collection.info
        fitted = self.collection.models_in(TRAIN, VALIDATION)
        known = {info[model].family for model in fitted}
        unseen = np.array([info[m].family not in known for m in info])
        test = np.array([info[m].split == TEST for m in info])
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

    def _label_token_loss(self) -> NDArray:
        """Each exam from the answers of the texts of its own kind."""
        table = self.targets.table(self.collection.losses)
        names = self.collection.accuracies.benchmarks
        groups = group_columns(
            table,
            answer_groups(self.collection.texts.texts, self.targets.spans))
        return np.stack([
            self._predict(_only(groups, f'{name}/answer'), Uniform())[:, b]
            for b, name in enumerate(names)
        ],
                        axis=1)

    def _head(self) -> NDArray:
        table = self.targets.table(self.collection.losses)
        raw = self.states.double().numpy()
        states = torch.from_numpy(StateScale.of(raw).apply(raw))
        # Standardised, so that one learning rate serves all directions.
        heads = train_heads(states, table, self.collection.accuracies,
                            self.collection.models_in(TRAIN),
                            self.collection.models_in(VALIDATION), HEAD)
        return heads.predict(states, table)


def _only(columns: TokenColumns, unit: str) -> TokenColumns:
    """One column, whose own uniform salience it is."""
    k = columns.units.index(unit)
    return replace(
        columns,
        units=(unit, ),
        matrix=columns.matrix[:, [k]],
        uniform=np.ones(1))
