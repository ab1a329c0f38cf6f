"""Predicts accuracies of models from their losses.

A `Predictor` holds the model of accuracies and the data that it was fitted to.
It turns losses of any kind (columns, target tokens, dumps) into feature
columns, `(M, K)`, and these into predictions. It also says how much each
column or token counts.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Optional, Union

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import (InputError, PublicNames, check_choice,
                                         check_unique)
from csv_plugin.core.curve_model import CurveModel
from csv_plugin.core.failed_scoring import check_means
from csv_plugin.core.features import (Columns, FeatureTable, TokenColumns,
                                      equal_rows)
from csv_plugin.core.formatting import short_repr, shortened
from csv_plugin.core.joint import Joint
from csv_plugin.core.kernels import UnitLosses
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump, mixed_engines
from csv_plugin.core.observed import Observed
from csv_plugin.core.predictions import PREDICTED, Missing, Predictions
from csv_plugin.core.runs import run_of

if TYPE_CHECKING:
    from csv_plugin.core.accuracy_model import AccuracyModel

#: Input of a prediction: feature columns, losses on the target tokens, or the
#: dumps of models on any tokens, by model.
Losses = Union[FeatureTable, LossTable, Mapping[str, TokenLossDump]]

#: Why a fitted model is not predicted without its family.
NOT_RUN = Missing('the benchmark was not run')
NO_OTHER_FAMILY = Missing(
    'no model of another family was run on the benchmark')


@dataclass(frozen=True, eq=False)
class Units:
    """Which of the K feature columns are units, and which tokens of answers.

    Units are the columns of the mean loss, such as texts. `columns` are their
    indices, `(U,)`, and `sources` the names of their sources, `(U,)`, '' where
    there is none. `answers` are indices of columns that are tokens of the
    right answers in a benchmark's own texts, by the name of the benchmark. Of
    a predictor by the method `paper`, each of them has a single column: that
    of the benchmark's capability score (`lm.head.paper_head`).
    """
    columns: NDArray[np.int64]
    sources: NDArray[np.str_]
    answers: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, columns: Columns) -> 'Units':
        """All columns of the mean loss, without sources and answers."""
        places = np.flatnonzero(columns.uniform)
        return cls(places, np.full(len(places), ''), {})

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Indices of the columns of tokens of all answers, sorted."""
        places = [np.zeros(0, np.int64), *self.answers.values()]
        return np.unique(np.concatenate(places))

    def without_twins(self, values: NDArray) -> 'Units':
        """Keep only the first of units with the same values `(M, K)`.

        Units are put into an order that depends on their values alone.
        """
        order, first = equal_rows(values[:, self.columns].T)
        first = order[first[order] == order]
        return replace(
            self, columns=self.columns[first], sources=self.sources[first])

    def losses(self, values: NDArray, benchmarks: Sequence[str]) -> UnitLosses:
        """Return the losses of feature columns `(M, K)` by kind."""
        answers = {}
        for b, name in enumerate(benchmarks):
            if name in self.answers:
                answers[b] = values[:, self.answers[name]]
        return UnitLosses(values, self.columns, self.sources, answers)


@dataclass(frozen=True, eq=False)
class Fit:
    """Data of a fit: n models on B benchmarks, which are named.

    `main` are the benchmarks that means are over. `losses` are feature
    columns, `(n, K)`.
    """
    names: tuple[str, ...]
    benchmarks: tuple[str, ...]
    main: tuple[str, ...]
    losses: NDArray[np.float64]
    observed: Observed
    units: Units


@dataclass(frozen=True)
class BenchmarkFit:
    """Summary of the fit of one benchmark.

    `chance` is the accuracy of random guessing, a fraction; `n_items` is 0 if
    unknown. `fit_models` are the fitted models with an accuracy on it. `main`
    is False if means leave the benchmark out. With `at_chance`, noise of items
    explains all accuracies above chance, so nothing can be predicted yet.
    `error` is the root mean squared error of fitted models without their
    family, a fraction, and `expected_error` the median of the standard
    deviations that were predicted for these errors. `notes` are remarks for
    users, each of which ends in a period.
    """
    benchmark: str
    chance: float
    n_items: int
    fit_models: tuple[str, ...]
    main: bool
    at_chance: bool
    error: float
    expected_error: float
    notes: tuple[str, ...] = ()

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Predictor(PublicNames):
    """Predicts the accuracies of models from their losses.

    `columns` are the K feature columns, and the texts. `model` is the model of
    accuracies, and `fit` what it was fitted to. `versions` are those of
    packages at training. Losses are mapped onto the T tokens `targets`; None
    if it was fitted to tables. `matrix`, `(T, K)`, makes columns of token
    losses: column k of a model is the sum over tokens t of
    loss[t] x matrix[t, k].
    `mean_losses` are the least and the greatest of the training models.

    Raises:
        InputError: There is no benchmark, or one twice.
    """
    columns: Columns
    fit: Fit
    model: Union['AccuracyModel', CurveModel]
    benchmarks: tuple[BenchmarkFit, ...]
    versions: Mapping[str, str]
    mean_losses: NDArray[np.float64]
    targets: Optional[TargetTokens] = None
    matrix: Optional['scipy.sparse.csc_array'] = None

    def __post_init__(self) -> None:
        if not self.benchmarks:
            raise InputError('predictor', 'a benchmark or more', 'none',
                             'Give accuracies on a benchmark.')
        check_unique('benchmarks of a predictor', self.names)

    def __repr__(self) -> str:
        names = shortened(', '.join(self.names), 50)
        return (f'Predictor({len(self.names)} benchmarks: {names};\n'
                f'  fitted to {len(self.fit_models)} models;\n'
                f'  {self.columns})')

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the benchmarks."""
        return tuple(part.benchmark for part in self.benchmarks)

    @property
    def main(self) -> tuple[str, ...]:
        """Benchmarks that means are over."""
        return tuple(part.benchmark for part in self.benchmarks if part.main)

    @property
    def fit_models(self) -> tuple[str, ...]:
        """Names of the n fitted models."""
        return self.fit.names

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the n fitted models."""
        return tuple(self.fit.observed.families)

    @property
    def observed(self) -> NDArray[np.float64]:
        """Accuracies of the fitted models, `(n, B)`; NaN where none."""
        return self.fit.observed.accuracies

    @property
    def left_out(self) -> NDArray[np.float64]:
        """Accuracies of the fitted models without their family, `(n, B)`."""
        return self.model.left_out.accuracies

    @property
    def outliers(self) -> dict[str, float]:
        """Root mean squared errors of fitted models that lie far off, by name.

        Errors are in expected deviations. These models count less in the fit.
        """
        errors = self.model.model_errors
        found = {}
        for m in np.flatnonzero(self.model.outliers):
            found[self.fit_models[m]] = float(errors[m])
        return found

    def benchmark(self, name: str) -> BenchmarkFit:
        """Return the summary of one benchmark's fit, or an `InputError`."""
        check_choice('benchmark of the predictor', name, self.names,
                     'Train a predictor on its accuracies.')
        return self.benchmarks[self.names.index(name)]

    def with_tokens(self, targets: TargetTokens,
                    source: TokenColumns) -> 'Predictor':
        """Return the same predictor, able to predict from token losses.

        Its columns are sums of losses on these tokens. An `InputError` if they
        are not those of the training.
        """
        source.columns.check_same(self.columns)
        return replace(self, targets=targets, matrix=source.matrix)

    def noted(self, infos: Mapping[str, DumpInfo]) -> 'Predictor':
        """Add notes if the training models were scored differently.

        `infos` describe their losses, by model.
        """
        notes = mixed_engines(infos)
        benchmarks = []
        for part in self.benchmarks:
            benchmarks.append(replace(part, notes=(*part.notes, *notes)))
        return replace(self, benchmarks=tuple(benchmarks))

    # ---- weights

    def slopes(self, benchmark: str) -> NDArray[np.float64]:
        """Return how the exponent changes by each column's loss, `(K,)`.

        At typical losses, the medians of the fitted models. 0 for columns that
        do not count on the benchmark. An `InputError` if there is no such
        benchmark.
        """
        self.benchmark(benchmark)
        b, model = self.names.index(benchmark), self.model
        if isinstance(model, CurveModel):
            alpha = float(model.curves.alpha[b])
            return alpha * self._score_weights(benchmark)
        typical = np.median(self.fit.losses, axis=0)[None]
        losses = self.fit.units.losses(typical, self.names)
        found = np.zeros(len(self.columns.units))
        for share, member in zip(model.shares[:, b], model.members):
            by_unit, by_token = member.slopes(losses, b)
            found[self.fit.units.columns] += share * by_unit
            if len(by_token):
                found[self.fit.units.answers[benchmark]] += share * by_token
        return found

    def _score_weights(self, benchmark: str) -> NDArray[np.float64]:
        """Coefficients of the score of a curve, `(K,)`."""
        units = self.fit.units
        if benchmark in units.answers:
            found = np.zeros(len(self.columns.units))
            found[units.answers[benchmark]] = 1
            return found
        return self.columns.uniform

    def weights(self, benchmark: str) -> NDArray[np.float64]:
        """Return the salience weight of every column, `(K,)`; uniform is 1.

        Its share of the slope on all columns of the mean loss, at typical
        losses, over its share of the mean loss. NaN for columns that are not
        part of the mean loss, such as tokens of answers. An `InputError` if
        there is no such benchmark.
        """
        return _weights(self.slopes(benchmark), self.columns.uniform)

    def token_weights(self, benchmark: str) -> NDArray[np.float64]:
        """Return the salience weight of every token, `(T,)`; uniform is 1.

        NaN for tokens that the training did not count. An `InputError` if
        there is no such benchmark, or the predictor was fitted to tables.
        """
        matrix = self._tokens()[1].matrix
        return _weights(matrix @ self.slopes(benchmark),
                        matrix @ self.columns.uniform)

    # ---- losses

    def loss_table(self, dumps: Mapping[str, TokenLossDump]) -> LossTable:
        """Return losses of models on the predictor's own tokens (Algorithm 1).

        Scored: the target tokens all of whose bytes the model scored.

        Raises:
            InputError: The predictor was fitted to tables, there is no dump or
                no name for it, or a dump is not on the same texts.
        """
        if not isinstance(dumps, Mapping):
            raise InputError('losses', 'features, a loss table or dumps by '
                             'model', f'a {type(dumps).__name__}',
                             'Give dumps as {name: dump}.')  # yapf: disable
        targets, _ = self._tokens()
        texts = {}
        for model, dump in dumps.items():
            self.columns.check_texts(dump.info.fingerprint,
                                     f'losses of {model!r}')
            texts[model] = dump.texts
        return targets.table(texts)

    def features(self, losses: Losses) -> FeatureTable:
        """Return the feature columns of models, `(M, K)`.

        Losses are features with the same columns, built with `columns.scored`
        of this predictor if from tokens; losses in nats on its target tokens;
        or dumps. Scored: the target tokens that the training counted; every
        model must have scored all of them.

        Raises:
            InputError: The predictor was fitted to tables; the texts, the
                columns or the tokens are not those of the training; a token
                that the training counted is unscored; or a mean loss is as in
                `failed_scoring.check_means`.
        """
        features = self._columns_of(losses)
        # Features other than losses may be negative.
        if self.mean_losses[0] > 0:
            check_means('losses', features.models, features.mean_loss,
                        *self.mean_losses.tolist())
        return features

    def _columns_of(self, losses: Losses) -> FeatureTable:
        if isinstance(losses, FeatureTable):
            losses.columns.check_same(self.columns)
            return losses
        targets, columns = self._tokens()
        if isinstance(losses, LossTable):
            self.columns.check_texts(losses.fingerprint)
            targets.check_table(losses)
        else:
            losses = self.loss_table(losses)
        return columns.features(losses)

    # ---- predictions

    def joint(self,
              features: FeatureTable,
              families: Optional[Mapping[str, str]] = None) -> Joint:
        """Return the joint distribution of accuracies, `(M, B)`.

        `families` has the family of each model: models of one family deviate
        together. By default the checkpoints of a run are a family, by their
        names such as `run@1000` (`runs.run_of`), and any other model has one
        of its own.

        Raises:
            InputError: A model has no family.
        """
        if families is None:
            families = {model: run_of(model) for model in features.models}
        for model in features.models:
            check_choice('model of families', model, families,
                         'Name the family of every model.')
        of_models = [families[model] for model in features.models]
        if isinstance(self.model, CurveModel):
            weights = [self._score_weights(name) for name in self.names]
            scores = features.values @ np.stack(weights, axis=1)
            return self.model.joint(scores, of_models)
        losses = self.fit.units.losses(features.values, self.names)
        return self.model.joint(losses, of_models)

    def predict(self,
                losses: Losses,
                level: float = 0.9,
                families: Optional[Mapping[str, str]] = None,
                known: Optional[AccuracyTable] = None) -> Predictions:
        """Predict the accuracies of all models on all benchmarks.

        Losses are as in `features`, the level of the intervals is in (0, 1).
        Families are as in `joint`. `known` are observed accuracies of some of
        these models on some of the benchmarks; other names do not count. They
        change the predictions of all models of the same families, which are
        marked as made with them (`with_scores`); those of the same cells are
        marked as in the sample. The table has one method, and no observed
        accuracies.

        Raises:
            InputError: As in `features` and `joint`, or the level is not in
                (0, 1).
        """
        table, _ = self.predict_jointly(losses, level, families, known)
        return table

    def predict_jointly(
            self,
            losses: Losses,
            level: float = 0.9,
            families: Optional[Mapping[str, str]] = None,
            known: Optional[AccuracyTable] = None
    ) -> tuple[Predictions, Joint]:
        """Return predictions, and the joint distribution they are a view of.

        Arguments and errors are as in `predict`.
        """
        features = self.features(losses)
        joint = self.joint(features, families)
        if known is None:
            return self.predictions(joint, features.models, level), joint
        observed = known.reindexed(features.models, self.names).values
        joint = joint.given(observed)
        table = self.predictions(joint, features.models, level)
        seen = ~np.isnan(observed)
        numbers = joint.model_rows[0].families
        changed = np.isin(numbers, numbers[seen.any(axis=1)])[:, None] & ~seen
        return replace(
            table,
            with_scores=changed[:, :, None],
            in_sample=table.in_sample | seen[:, :, None]), joint

    def predict_left_out(self, level: float = 0.9) -> Predictions:
        """Predict the fitted models from models of other families.

        That is for every accuracy that was fitted to. There is no
        prediction, but a reason, where a model or all other families have no
        accuracy on a benchmark.
        """
        families = np.array(self.families)
        known = ~np.isnan(self.observed)
        # Benchmarks that models of a single family were run on.
        alone = np.zeros(len(self.names), bool)
        for b, rows in enumerate(known.T):
            alone[b] = len(set(families[rows])) == 1
        joint = self.model.left_out_joint()
        joint = replace(joint, mean=np.where(alone, np.nan, joint.mean))
        table = self.predictions(joint, self.fit_models, level)
        missing = {}
        for m, b in np.argwhere(np.isnan(table.values[:, :, 0])):
            cell = self.fit_models[m], self.names[b], PREDICTED
            missing[cell] = NO_OTHER_FAMILY if known[m, b] else NOT_RUN
        return replace(table, in_sample=np.array(False), missing=missing)

    def predictions(self, joint: Joint, models: Sequence[str],
                    level: float) -> Predictions:
        """Return the table of a joint distribution; see `predict`."""
        if not 0 < level < 1:
            raise InputError('level of intervals', 'a number in (0, 1)',
                             f'{level!r}', 'Give 0.9 for 90 % intervals.')
        # A prediction is extrapolated if its exponent's deviation is more than
        # this multiple of that of fitted models without their family: a
        # convention.
        far = 1.5
        low, high = joint.intervals(level)
        is_far = np.sqrt(joint.variance) > far * self.model.usual_deviations
        in_sample, at_chance = np.zeros((2, *joint.mean.shape), bool)
        chance: dict[str, float] = {}
        outside_means = []
        for b, part in enumerate(self.benchmarks):
            in_sample[:, b] = np.isin(models, part.fit_models)
            at_chance[:, b] = part.at_chance
            chance[part.benchmark] = part.chance
            if not part.main:
                outside_means.append(part.benchmark)
        # The last axis is that of the methods, of which there is one.
        return Predictions(
            tuple(models),
            self.names, (PREDICTED, ),
            values=joint.accuracies[:, :, None],
            low=low[:, :, None],
            high=high[:, :, None],
            extrapolated=is_far[:, :, None],
            in_sample=in_sample[:, :, None],
            at_chance=at_chance[:, :, None],
            expected_error=joint.expected_errors[:, :, None],
            observed=np.array(np.nan),
            level=level,
            chance=chance,
            outside_means=tuple(outside_means))

    def check_tokens(self, where: str = 'predictor') -> None:
        """Raise an `InputError` if the predictor was fitted to tables.

        The error calls it `where`.
        """
        self._tokens(where)

    def _tokens(self,
                where: str = 'predictor') -> tuple[TargetTokens, TokenColumns]:
        if (self.targets is None or self.matrix is None
                or self.columns.scored is None):
            raise InputError(
                where, 'one that was fitted to token losses',
                'one that was fitted to tables of losses',
                'Give predict, compare and triage a table of losses, or train '
                'one on token losses.')
        return self.targets, TokenColumns(self.columns, self.matrix)


def _weights(slopes: NDArray, uniform: NDArray) -> NDArray[np.float64]:
    """Slopes over those of the mean loss, which are `uniform`, `(K,)` each.

    The mean of the result, weighted by `uniform`, is 1, or -1 where accuracies
    rise with losses, so that a positive weight always means that accuracies
    fall as the loss rises. NaN where `uniform` is 0.
    """
    counted = uniform != 0
    total = abs(slopes[counted].sum()) / uniform.sum()
    return np.divide(
        -slopes / (total or 1),
        uniform,
        where=counted,
        out=np.full(len(uniform), np.nan))
