"""From a collection and a scoring LM to predictors that travel alone."""
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

import numpy as np
from torch import Tensor

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.blocks import Columns, join_blocks
from csv_plugin.core.condensing import condensed
from csv_plugin.core.features import TokenColumns, answer_groups, group_columns
from csv_plugin.core.fitting import Watch, fit_predictor
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Auto, Constant, Solver, Uniform
from csv_plugin.core.salience.on_columns import OnColumns
from csv_plugin.core.targets import TargetTokens
from csv_plugin.io.collection import Collection
from csv_plugin.lm.feature_blocks import feature_blocks


@dataclass(frozen=True, eq=False)
class Training:
    """Predictors of several methods, fitted to the same models.

    Args:
        collection (Collection): Losses and scores.
        targets (TargetTokens): Tokens that get the weights.
        models (tuple[str, ...]): Models to fit to.
        states (Optional[Tensor]): Hidden states of a scoring LM at the
            tokens, `(T, H)`.
        seed (int): Of the cross-validation folds.
    """
    collection: Collection
    targets: TargetTokens
    models: tuple[str, ...]
    states: Optional[Tensor] = None
    seed: int = 0

    def auto(self,
             progress: Progress = iter,
             watch: Optional[Watch] = None) -> Predictor:
        """The default method: `Auto` among all feature blocks.

        Args:
            progress (Progress): Wraps the benchmarks.
            watch (Optional[Watch]): As in `fit_predictor`.

        Raises:
            InputError: If the losses are not those of the tokens' texts.
        """
        blocks = feature_blocks(self.table, self.collection.texts,
                                self.targets, self.states)
        columns, candidates = join_blocks(blocks)
        predictor = self._fit(columns, Auto(candidates), progress, watch)
        return condensed(predictor, self.targets, columns)

    def baselines(self) -> dict[str, Predictor]:
        """The predictors that every other one is compared with, by name."""
        found = {
            'uniform': self.all_token_loss(),
            'constant': self.constant(),
        }
        if label := self.label_token_loss():
            found['label-token'] = label
        return found

    def all_token_loss(self) -> Predictor:
        """The baseline with the weight 1 for every token."""
        return self._of_tokens(self._one_column(), Uniform())

    def constant(self) -> Predictor:
        """The baseline that predicts the mean accuracy."""
        return self._of_tokens(self._one_column(), Constant())

    def label_token_loss(self) -> Optional[Predictor]:
        """The baseline of a benchmark's own answers.

        Benchmarks that no source with answers is named after are left out;
        None if there is no other.
        """
        columns = group_columns(
            self.table,
            answer_groups(self.collection.texts.texts, self.targets.spans))
        parts = [
            self._of_tokens(
                columns,
                OnColumns('label-token loss', Uniform(),
                          np.array([columns.units.index(f'{name}/answer')]),
                          np.ones(1)),
                accuracies=self.collection.accuracies.select_benchmarks(
                    (name, )))
            for name in self.collection.accuracies.benchmarks
            if f'{name}/answer' in columns.units
        ]
        if not parts:
            return None
        known = tuple(part.benchmarks[0] for part in parts)
        return replace(parts[0], benchmarks=known)

    @cached_property
    def table(self) -> LossTable:
        """Losses of the models on the target tokens, `(M, T)`."""
        return self.targets.table(self.collection.losses_of(self.models))

    def _one_column(self) -> TokenColumns:
        return group_columns(self.table,
                             ['all tokens'] * self.targets.n_tokens)

    def _of_tokens(self,
                   columns: TokenColumns,
                   solver: Solver,
                   accuracies: Optional[AccuracyTable] = None) -> Predictor:
        predictor = self._fit(columns, solver, accuracies=accuracies)
        return predictor.with_tokens(self.targets, columns)

    def _fit(self,
             columns: Columns,
             solver: Solver,
             progress: Progress = iter,
             watch: Optional[Watch] = None,
             accuracies: Optional[AccuracyTable] = None) -> Predictor:
        known = accuracies or self.collection.accuracies
        families = [self.collection.families[model] for model in self.models]
        return fit_predictor(
            columns.features(self.table), known.select(self.models), families,
            solver, self.targets.fingerprint, self.seed, progress, watch)
