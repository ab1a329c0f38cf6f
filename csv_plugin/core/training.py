"""From losses and observed accuracies to predictors of token losses."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.blocks import GROUPS, Block, LossColumns, join_blocks
from csv_plugin.core.condensing import condensed
from csv_plugin.core.conventions import Progress
from csv_plugin.core.features import TokenColumns, answer_groups, group_columns
from csv_plugin.core.fitting import Watch, fit_predictor
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Constant, Solver, Uniform
from csv_plugin.core.salience.on_columns import OnColumns
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import TextSet


@dataclass(frozen=True, eq=False)
class Training:
    """What the predictors of all methods are fitted to.

    Args:
        losses (LossTable): Of the models to fit to, on the target tokens.
        texts (TextSet): The validation set.
        accuracies (AccuracyTable): Of the same models and perhaps others.
        families (Mapping[str, str]): Family of each of them, and perhaps of
            other models.
        targets (TargetTokens): Tokens that get the weights.
        seed (int): Of the cross-validation folds.
    """
    losses: LossTable
    texts: TextSet
    accuracies: AccuracyTable
    families: Mapping[str, str]
    targets: TargetTokens
    seed: int = 0

    def __repr__(self) -> str:
        return f'Training({self.losses}, {self.accuracies})'

    def fit(self,
            blocks: Sequence[Block],
            progress: Progress = iter,
            watch: Optional[Watch] = None) -> Predictor:
        """Let `Auto` choose among blocks of feature columns.

        Args:
            blocks (Sequence[Block]): Made of the losses.
            progress (Progress): Wraps the benchmarks.
            watch (Optional[Watch]): As in `fit_predictor`.

        Raises:
            InputError: The losses are not those of the tokens' texts.
        """
        source = join_blocks(blocks)
        solvers = {
            name: source.auto(name)
            for name in self.accuracies.benchmarks
        }
        predictor = self._fit(source, solvers, progress, watch)
        return condensed(predictor, self.targets, source)

    def baselines(self) -> dict[str, Predictor]:
        """The predictors that every other one is compared with, by name."""
        predictors = {
            'uniform': self.all_token_loss(),
            'constant': self.constant(),
        }
        if label := self.label_token_loss():
            predictors['label-token'] = label
        return predictors

    def all_token_loss(self) -> Predictor:
        """The baseline with the weight 1 for every token."""
        return self._of_tokens(self._one_column(), Uniform())

    def constant(self) -> Predictor:
        """The baseline that predicts the mean accuracy."""
        return self._of_tokens(self._one_column(), Constant())

    def label_token_loss(self) -> Optional[Predictor]:
        """The baseline of a benchmark's own answers.

        Benchmarks that no source with answers is named after are left out;
        None if no benchmark is left.
        """
        source = group_columns(
            self.losses, answer_groups(self.texts.texts, self.targets.spans))
        units = source.columns.units
        parts = [
            self._of_tokens(
                source,
                OnColumns('label-token loss', Uniform(),
                          np.array([units.index(f'{name}/answer')]),
                          np.ones(1)),
                accuracies=self.accuracies.select(benchmarks=(name, )))
            for name in self.accuracies.benchmarks if f'{name}/answer' in units
        ]
        if not parts:
            return None
        return replace(
            parts[0], benchmarks=tuple(part.benchmarks[0] for part in parts))

    def _one_column(self) -> TokenColumns:
        return group_columns(self.losses,
                             ['all tokens'] * self.targets.n_tokens)

    def _of_tokens(self,
                   source: TokenColumns,
                   solver: Solver,
                   accuracies: Optional[AccuracyTable] = None) -> Predictor:
        predictor = self._fit(source, solver, accuracies=accuracies)
        return predictor.with_tokens(self.targets, source)

    def _fit(self,
             source: LossColumns,
             solver: Union[Solver, Mapping[str, Solver]],
             progress: Progress = iter,
             watch: Optional[Watch] = None,
             accuracies: Optional[AccuracyTable] = None) -> Predictor:
        accuracies = self.accuracies if accuracies is None else accuracies
        models = self.losses.models
        predictor = fit_predictor(
            source.features(self.losses), accuracies.select(models),
            [self.families[model] for model in models], solver, self.seed,
            progress, watch, _labels(source.columns.units, accuracies))
        return replace(predictor, licences=self.texts.licences)


def _labels(units: Sequence[str], accuracies: AccuracyTable) -> dict[str, int]:
    """The column of each benchmark's label-token loss, where there is one."""
    places = {
        unit.removeprefix(f'{GROUPS}: '): k
        for k, unit in enumerate(units)
    }
    return {
        name: places[f'{name}/answer']
        for name in accuracies.benchmarks if f'{name}/answer' in places
    }
