"""From losses and observed accuracies to predictors of token losses."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array, hstack

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.blocks import GROUPS, Block, JoinedColumns, LossColumns
from csv_plugin.core.conventions import Progress
from csv_plugin.core.features import (Columns, TokenColumns, answer_groups,
                                      group_columns)
from csv_plugin.core.fitting import Watch, fit_predictor
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.salience import Constant, Solver, Uniform
from csv_plugin.core.salience.choice import OnColumns
from csv_plugin.core.salience_model import SalienceModel
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
        source = JoinedColumns(blocks)
        solvers = {
            name: source.auto(name)
            for name in self.accuracies.benchmarks
        }
        predictor = self._fit(source, solvers, progress, watch)
        return on_tokens(predictor, self.targets, source)

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


def on_tokens(predictor: Predictor, targets: TargetTokens,
              source: LossColumns) -> Predictor:
    """A predictor of token losses with no more columns than it needs.

    Directions of hidden states are thousands of columns, each with a number
    per token. What predicts are a benchmark's 1 + F capability scores, of the
    fit to all models and of its F fold models, which are sums of the columns.
    They take the place of all columns that have no part in the all-token
    loss.

    Args:
        predictor (Predictor): Fitted to features of these columns.
        targets (TargetTokens): The tokens that losses are mapped onto.
        source (LossColumns): What the features were made by.

    Raises:
        InputError: The columns or the tokens are not those of the training.
    """
    wide = predictor.columns
    source.columns.check_same(wide)
    kept = np.flatnonzero(wide.uniform)
    units = [wide.units[k] for k in kept]
    sums = [eye_array(len(wide.units), format='csc')[:, kept]]
    places = {}
    for part in predictor.benchmarks:
        coefficients = np.vstack(
            [part.model.coefficients, part.intervals.folds.coefficients])
        if np.delete(coefficients, kept, axis=1).any():
            places[part.benchmark] = len(units)
            units += [
                f'{part.benchmark}: score {i}'
                for i in range(len(coefficients))
            ]
            sums.append(csc_array(coefficients.T))
    uniform = np.zeros(len(units))
    uniform[:len(kept)] = wide.uniform[kept]
    columns = Columns(tuple(units), uniform, wide.fingerprint, wide.scored)
    matrix = csc_array(source.combine(hstack(sums, format='csc')))
    narrow = replace(
        predictor,
        columns=columns,
        benchmarks=tuple(
            _narrowed(part, kept, places.get(part.benchmark), len(units))
            for part in predictor.benchmarks))
    return narrow.with_tokens(targets, TokenColumns(columns, matrix))


def _narrowed(part: BenchmarkPredictor, kept: NDArray, place: Optional[int],
              width: int) -> BenchmarkPredictor:
    """The part on the new columns: kept ones, or its scores from `place`."""

    def narrow(model: SalienceModel) -> SalienceModel:
        """The model on the columns that are kept, the first of the new."""
        return model.on_columns(kept, np.arange(len(kept)), width)

    model, folds = part.model, part.intervals.folds
    if place is None:
        model, folds = narrow(model), narrow(folds)
    else:
        scores = np.eye(1 + len(folds.coefficients), width, place)
        model = replace(model, coefficients=scores[0])
        folds = replace(folds, coefficients=scores[1:])
    # Witnesses use columns of the all-token loss only, which are kept.
    return replace(
        part,
        model=model,
        intervals=replace(part.intervals, folds=folds),
        witnesses=tuple(
            replace(witness, model=narrow(witness.model))
            for witness in part.witnesses))


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
