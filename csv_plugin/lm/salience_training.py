"""From a collection and a scoring LM to predictors that travel alone."""
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.blocks import join_blocks
from csv_plugin.core.condensing import condensed
from csv_plugin.core.features import TokenColumns, answer_groups, group_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Auto, Constant, Solver, Uniform
from csv_plugin.core.salience.columns import OnColumns
from csv_plugin.core.scores import AccuracyTable
from csv_plugin.core.targets import TargetTokens
from csv_plugin.io.collections import Collection
from csv_plugin.lm.feature_blocks import feature_blocks


@dataclass(frozen=True, eq=False)
class Training:
    """Predictors of several methods, fitted to the same models.

    Args:
        collection (Collection): Losses and scores.
        targets (TargetTokens): Tokens that get the weights.
        models (tuple[str, ...]): Models to fit to.
        states (Optional[NDArray]): Hidden states of a scoring LM at the
            tokens, `(T, H)`.
        seed (int): Of the cross-validation folds.
    """
    collection: Collection
    targets: TargetTokens
    models: tuple[str, ...]
    states: Optional[NDArray] = None
    seed: int = 0

    def auto(self, progress: Progress = iter) -> Predictor:
        """The default method: `Auto` among all feature blocks.

        Args:
            progress (Progress): Wraps the benchmarks.

        Raises:
            InputError: If the losses are not those of the tokens' texts.
        """
        blocks = feature_blocks(self._table(), self.collection.texts,
                                self.targets, self.states)
        columns, candidates = join_blocks(blocks)
        return condensed(self._fit(columns, Auto(candidates), progress))

    def all_token_loss(self) -> Predictor:
        """The baseline with the weight 1 for every token."""
        return self._fit(self._one_column(), Uniform())

    def constant(self) -> Predictor:
        """The baseline that predicts the mean accuracy."""
        return self._fit(self._one_column(), Constant())

    def label_token_loss(self) -> Optional[Predictor]:
        """The baseline of a benchmark's own answers.

        Benchmarks that no source with answers is named after are left out;
        None if there is no other.
        """
        columns = group_columns(
            self._table(),
            answer_groups(self.collection.texts.texts, self.targets.spans))
        parts = [
            self._fit(
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

    def _table(self) -> LossTable:
        return self.targets.table(self.collection.losses_of(self.models))

    def _one_column(self) -> TokenColumns:
        return group_columns(self._table(),
                             ['all tokens'] * self.targets.n_tokens)

    def _fit(self,
             columns: TokenColumns,
             solver: Solver,
             progress: Progress = iter,
             accuracies: Optional[AccuracyTable] = None) -> Predictor:
        known = accuracies or self.collection.accuracies
        families = [self.collection.families[model] for model in self.models]
        predictor = fit_predictor(
            columns.features(self._table()), known.select(self.models),
            families, solver, self.targets.fingerprint, self.seed, progress)
        return predictor.with_tokens(self.targets, columns)
