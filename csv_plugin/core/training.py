"""Training of predictors on token losses, with a choice of columns."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Protocol, Union

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import (Columns, FeatureTable, TokenColumns,
                                      answer_groups, answer_mask,
                                      group_columns, text_columns)
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import (Auto, Constant, MeanLoss, NonNegative,
                                      OnColumns, Ridge, Solver, Uniform)
from csv_plugin.core.texts import TextSet

#: The feature set of the label-token losses.
GROUPS = 'groups'


class LossColumns(Protocol):
    """K feature columns that are sums of T token losses."""

    @property
    def columns(self) -> Columns:
        """Names and origin of the columns."""

    def features(self, table: LossTable) -> FeatureTable:
        """Values of M models, `(M, K)`; see `TokenColumns.features`."""

    def combine(
            self, coefficients: 'scipy.sparse.csc_array'
    ) -> 'scipy.sparse.csc_array':
        """Weighted sums of the columns, `(K, n)`, per token, `(T, n)`."""


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """Feature columns that are fitted together.

    `answers_of` is the source of the texts if all columns are of its answers.
    """
    name: str
    source: LossColumns
    solvers: tuple[Solver, ...]
    answers_of: Optional[str] = None

    @property
    def units(self) -> tuple[str, ...]:
        """Names of its columns."""
        return self.source.columns.units


@dataclass(frozen=True, eq=False)
class JoinedColumns:
    """Columns of several feature sets side by side.

    The first one gives the mean loss. They have different names and
    the same counted tokens.
    """
    feature_sets: Sequence[FeatureSet]

    @property
    def columns(self) -> Columns:
        """Columns named after their sets: 'groups: sums/answer'."""
        units = tuple(f'{part.name}: {unit}' for part in self.feature_sets
                      for unit in part.units)
        first = self.feature_sets[0].source.columns
        uniform = np.append(first.uniform,
                            np.zeros(len(units) - len(first.uniform)))
        return Columns(units, uniform, first.fingerprint, first.scored)

    @property
    def places(self) -> list[NDArray[np.int64]]:
        """Places of the columns of each set."""
        ends = np.cumsum([len(part.units) for part in self.feature_sets])
        return np.split(np.arange(ends[-1]), ends[:-1])

    def solvers(self, benchmark: str) -> tuple[OnColumns, ...]:
        """Return candidate solvers of a benchmark, such as 'groups ridge'.

        If a source of texts is named after the benchmark, answers of other
        sources are left out.
        """
        has_own = any(part.answers_of == benchmark
                      for part in self.feature_sets)
        return tuple(
            OnColumns(f'{part.name} {solver.name}', solver, places,
                      part.source.columns.uniform)
            for part, places in zip(self.feature_sets, self.places)
            if not has_own or part.answers_of in (None, benchmark)
            for solver in part.solvers)

    def auto(self, benchmark: str) -> Auto:
        """Return the choice among the candidates of a benchmark.

        Its own answers are kept unless another candidate is better by a test.
        """
        own = (f'{part.name} {part.solvers[0].name}'
               for part in self.feature_sets if part.answers_of == benchmark)
        return Auto(self.solvers(benchmark), next(own, None))

    def features(self, table: LossTable) -> FeatureTable:
        """See `LossColumns.features`."""
        values = np.hstack(
            [part.source.features(table).values for part in self.feature_sets])
        return FeatureTable(table.models, self.columns, values)

    def combine(
            self, coefficients: 'scipy.sparse.csc_array'
    ) -> 'scipy.sparse.csc_array':
        """See `LossColumns.combine`."""
        return sum(
            part.source.combine(coefficients[places])
            for part, places in zip(self.feature_sets, self.places))


def loss_feature_sets(table: LossTable, texts: TextSet,
                      targets: TargetTokens) -> list[FeatureSet]:
    """Return sets of mean losses per source and answer, and per text."""
    groups = group_columns(table, answer_groups(texts.texts, targets.spans))
    return [
        FeatureSet(GROUPS, groups, (NonNegative(), Ridge())),
        FeatureSet('texts', text_columns(table), (Ridge(), ))
    ]


def answers_by_source(table: LossTable, texts: TextSet,
                      targets: TargetTokens) -> dict[str, NDArray[np.bool_]]:
    """Return masks of scored answer tokens by source, `(T,)`, sorted.

    Sources without answers are left out.
    """
    sources = np.repeat([text.source for text in texts],
                        [len(spans) for spans in targets.spans])
    answers = answer_mask(texts, targets.spans) & table.scored
    return {
        str(source): answers & (sources == source)
        for source in np.unique(sources[answers])
    }


def answer_feature_set(source: str, columns: LossColumns) -> FeatureSet:
    """Return the set of one source's answers, shrunk to their mean loss."""
    return FeatureSet(f'answers of {source}', columns, (Ridge(), ), source)


@dataclass(frozen=True, eq=False)
class Training:
    """Training data of all methods.

    Losses of the training models are on the target tokens, which get the
    weights. Accuracies and families may contain more models.
    """
    losses: LossTable
    texts: TextSet
    accuracies: AccuracyTable
    families: Mapping[str, str]
    targets: TargetTokens
    seed: int = 0

    def fit(self,
            feature_sets: Sequence[FeatureSet],
            progress: Progress = iter) -> Predictor:
        """Fit a predictor; `Auto` chooses among sets of feature columns.

        `progress` wraps the benchmarks.
        """
        source = JoinedColumns(feature_sets)
        solvers = {
            name: source.auto(name)
            for name in self.accuracies.benchmarks
        }
        predictor = self._fit(source, solvers, progress)
        return on_tokens(predictor, self.targets, source)

    def baselines(self) -> dict[str, Predictor]:
        """Return the baselines by name."""
        predictors = {
            MeanLoss.name: self.mean_loss(),
            Constant.name: self.mean_loss(Constant()),
        }
        if label := self.label_token_loss():
            predictors['label-token'] = label
        return predictors

    def mean_loss(self, solver: Solver = MeanLoss()) -> Predictor:
        """Fit to the mean loss of all tokens; by default the baseline."""
        source = group_columns(self.losses,
                               ['all tokens'] * self.targets.n_tokens)
        return self._fit(source, solver).with_tokens(self.targets, source)

    def label_token_loss(self) -> Optional[Predictor]:
        """Fit the baseline of the loss on a benchmark's own answers.

        Benchmarks without a source of answers of their name are left out; None
        if no benchmark is left.
        """
        source = group_columns(
            self.losses, answer_groups(self.texts.texts, self.targets.spans))
        units = source.columns.units
        parts = [
            self._fit(
                source,
                OnColumns('label-token loss', Uniform(),
                          np.array([units.index(f'{name}/answer')]),
                          np.ones(1)),
                accuracies=self.accuracies.select(benchmarks=(name, )))
            for name in self.accuracies.benchmarks if f'{name}/answer' in units
        ]
        if not parts:
            return None
        joined = replace(
            parts[0], benchmarks=tuple(part.benchmarks[0] for part in parts))
        return joined.with_tokens(self.targets, source)

    def _fit(self,
             source: LossColumns,
             solver: Union[Solver, Mapping[str, Solver]],
             progress: Progress = iter,
             accuracies: Optional[AccuracyTable] = None) -> Predictor:
        accuracies = self.accuracies if accuracies is None else accuracies
        models = self.losses.models
        return fit_predictor(
            source.features(self.losses), accuracies.select(models),
            [self.families[model] for model in models], solver, self.seed,
            progress)


def on_tokens(predictor: Predictor, targets: TargetTokens,
              source: LossColumns) -> Predictor:
    """Return a predictor of token losses with only the columns it needs.

    Directions of hidden states are thousands of columns, each with a number
    per token. The 1 + F capability scores of each benchmark (fit to all
    models, then its folds) replace them. Columns of the mean loss are
    kept.
    """
    wide = predictor.columns
    source.columns.check_same(wide)
    kept = np.flatnonzero(wide.uniform)
    units = [wide.units[k] for k in kept]
    sums = [scipy.sparse.eye_array(len(wide.units), format='csc')[:, kept]]
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
            sums.append(scipy.sparse.csc_array(coefficients.T))
    uniform = np.zeros(len(units))
    uniform[:len(kept)] = wide.uniform[kept]
    columns = Columns(tuple(units), uniform, wide.fingerprint, wide.scored)
    matrix = scipy.sparse.csc_array(
        source.combine(scipy.sparse.hstack(sums, format='csc')))
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
    model, folds = part.model, part.intervals.folds
    if place is None:
        model, folds = (
            each.on_columns(kept, np.arange(len(kept)), width)
            for each in (model, folds))
    else:
        scores = np.eye(1 + len(folds.coefficients), width, place)
        model = replace(model, coefficients=scores[0])
        folds = replace(folds, coefficients=scores[1:])
    return replace(
        part, model=model, intervals=replace(part.intervals, folds=folds))
