"""Predict accuracies of language models from their losses.

A `Predictor` contains a fitted model of accuracies and the data that it was
fitted to. It turns losses of any kind (feature columns, losses on target
tokens, dumps) into feature columns, `(M, K)`, and feature columns into
predictions. It also computes the weight of each column or token.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Optional, Union

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable, check_accuracies
from csv_plugin.core.arrays import Floats, Integers
from csv_plugin.core.conventions import (InputError, PublicNames, check_choice,
                                         check_type, check_unique,
                                         families_of_models)
from csv_plugin.core.curve_model import CurveModel
from csv_plugin.core.failed_scoring import check_means
from csv_plugin.core.features import (Columns, FeatureTable, TokenColumns,
                                      distinct_rows)
from csv_plugin.core.formatting import short_repr, shortened
from csv_plugin.core.joint import Joint
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.measurement_units import measurement_factors
from csv_plugin.core.model_losses import (DumpInfo, TokenLossDump,
                                          mixed_engine_notes)
from csv_plugin.core.observed import Observed
from csv_plugin.core.predictions import PREDICTED, Missing, Predictions
from csv_plugin.core.run_names import run_of
from csv_plugin.core.standardised import UnitLosses

if TYPE_CHECKING:
    from csv_plugin.core.accuracy_model import AccuracyModel

#: Input of a prediction: feature columns, losses on the target tokens, or a
#: mapping from the name of each model to its dump, whose tokens may be any.
Losses = Union[FeatureTable, LossTable, Mapping[str, TokenLossDump]]

#: Coverage of intervals, and probability of ranges of ranks, unless another is
#: given.
LEVEL = 0.9
#: Reasons why a fitted model is not predicted from other families.
NOT_RUN = Missing('the benchmark was not run')
NO_OTHER_FAMILY = Missing(
    'no model of another family was run on the benchmark')


@dataclass(frozen=True, eq=False)
class Units:
    """Say what the K feature columns are.

    Units are the feature columns that the mean loss is the mean of, such as
    texts. `columns` are the indices of the U units among the K columns,
    `(U,)`. `sources` are the names of the sources of the units, `(U,)`, ''
    where there is none. `answers` maps the name of a benchmark to the indices
    of the columns that are used for this benchmark alone: the tokens of right
    answers in the benchmark's own texts. In a predictor by the method `paper`,
    this is a single column, the capability score of the benchmark
    (`lm.head.paper_head`).
    """
    columns: Integers
    sources: NDArray[np.str_]
    answers: Mapping[str, Integers]

    @classmethod
    def of(cls, columns: Columns) -> 'Units':
        """Take all columns of the mean loss as units, without answers."""
        indices = np.flatnonzero(columns.uniform)
        no_sources = np.full(len(indices), '')
        return cls(indices, no_sources, answers={})

    @property
    def tokens(self) -> Integers:
        """Sorted indices of all columns of `answers`."""
        no_tokens = np.zeros(0, np.int64)
        tokens = np.concatenate([no_tokens, *self.answers.values()])
        return np.unique(tokens)

    def without_twins(self, values: NDArray) -> 'Units':
        """Return these units without copies of other units.

        Of several units with the same values, only one is kept. `values` are
        the feature columns of M models, `(M, K)`. The units that are kept get
        an order that depends only on their values.
        """
        of_units = values[:, self.columns].T
        kept, _ = distinct_rows(of_units)
        sources = self.sources[kept]
        return replace(self, columns=self.columns[kept], sources=sources)

    def losses(self, values: NDArray, benchmarks: Sequence[str]) -> UnitLosses:
        """Return the losses on units and on tokens of answers.

        `values` are the feature columns of M models, `(M, K)`.
        """
        answers = {}
        for b, name in enumerate(benchmarks):
            if name in self.answers:
                tokens = self.answers[name]
                answers[b] = values[:, tokens]
        return UnitLosses(values, self.columns, self.sources, answers)


@dataclass(frozen=True, eq=False)
class Fit:
    """Data of a fit to n models on B benchmarks.

    `models` and `benchmarks` are their names. `main` are the main benchmarks,
    which count in means over benchmarks. `losses` are the feature columns of
    the models, `(n, K)`, which `units` describes, and `observed` are their
    accuracies.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    main: tuple[str, ...]
    losses: Floats
    observed: Observed
    units: Units


@dataclass(frozen=True)
class BenchmarkFit:
    """Summary of the fit of one benchmark.

    `chance` is the accuracy of random guessing, a fraction; `n_items` is 0 if
    unknown. `fit_models` are the fitted models with an accuracy on this
    benchmark. `main` is True if the benchmark counts in means over benchmarks.
    `at_chance` is True if no accuracy exceeds chance by more than the noise of
    items, or all are 1, so that nothing can be predicted yet. `error`
    is the root mean squared error of the predictions `Predictor.left_out`, a
    fraction; it is NaN if the models are of a single family. `expected_error`
    is the median of the standard deviations that were predicted for these
    errors, multiplied by the factor that stretches the intervals. `notes` are
    remarks for users, each of which ends in a period.
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
    """A fitted predictor of the accuracies of models from their losses.

    `columns` describes the K feature columns and the texts. `model` is the
    model of accuracies, and `fit` the data that it was fitted to. `benchmarks`
    are summaries of the fit. `versions` maps the names of packages to their
    versions at training. `mean_losses` are the smallest and the largest mean
    loss of the training models.

    Token losses are mapped onto the T tokens `targets`. Then `matrix`,
    `(T, K)`, turns them into feature columns: column k of a model is the sum
    over tokens t of loss[t] x matrix[t, k]. Both are None if the predictor was
    fitted to tables of losses.

    Raises:
        InputError: There is no benchmark, or a benchmark occurs twice.
    """
    columns: Columns
    fit: Fit
    model: Union['AccuracyModel', CurveModel]
    benchmarks: tuple[BenchmarkFit, ...]
    versions: Mapping[str, str]
    mean_losses: Floats
    targets: Optional[TargetTokens] = None
    matrix: Optional['scipy.sparse.csc_array'] = None

    def __post_init__(self) -> None:
        if not self.benchmarks:
            raise InputError('predictor', 'a benchmark or more', 'none',
                             'Give accuracies on a benchmark.')
        check_unique('benchmarks of a predictor', self.names)

    def __repr__(self) -> str:
        n_benchmarks = len(self.names)
        n_models = len(self.fit_models)
        names = shortened(', '.join(self.names), 50)
        return (f'Predictor({n_benchmarks} benchmarks: {names};\n'
                f'  fitted to {n_models} models;\n'
                f'  {self.columns})')

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the benchmarks."""
        return tuple(summary.benchmark for summary in self.benchmarks)

    @property
    def main(self) -> tuple[str, ...]:
        """Names of the benchmarks that count in means over benchmarks."""
        return tuple(summary.benchmark for summary in self.benchmarks
                     if summary.main)

    @property
    def fit_models(self) -> tuple[str, ...]:
        """Names of the n fitted models."""
        return self.fit.models

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the n fitted models."""
        return tuple(self.fit.observed.families)

    @property
    def observed(self) -> Floats:
        """Accuracies of the fitted models, `(n, B)`, NaN if unknown."""
        return self.fit.observed.accuracies

    @property
    def left_out(self) -> Floats:
        """Accuracies that check the fit, predicted for its n models, `(n, B)`.

        If `leaves_families_out`, each model is predicted from models of other
        families.
        """
        return self.model.left_out.accuracies

    @property
    def leaves_families_out(self) -> bool:
        """True if each fitted model is checked by a fit without its family.

        Predictors by the method `paper`, and no others, are curves of
        capability scores, and are checked without such fits. Their `left_out`
        are predictions of the validation models by the trained heads. On a
        benchmark where no validation model was run, they are predictions of
        all fitted models.
        """
        has_scores = bool(self.fit.units.answers)
        return not (isinstance(self.model, CurveModel) and has_scores)

    @property
    def outliers(self) -> dict[str, float]:
        """Root mean squared errors of the fitted models that are outliers.

        The keys are the names of the models. Errors are divided by the
        expected standard deviations. Outliers usually count less in the fit
        (see `AccuracyModel.outliers`).
        """
        models = self.fit_models
        errors = self.model.model_errors
        found = {}
        for m in np.flatnonzero(self.model.outliers):
            found[models[m]] = float(errors[m])
        return found

    def benchmark(self, name: str) -> BenchmarkFit:
        """Return the summary of the fit of one benchmark.

        Raises an `InputError` if there is no such benchmark.
        """
        check_choice('benchmark of the predictor', name, self.names,
                     'Train a predictor on its accuracies.')
        b = self.names.index(name)
        return self.benchmarks[b]

    def with_tokens(self, targets: TargetTokens,
                    source: TokenColumns) -> 'Predictor':
        """Return the same predictor, able to predict from token losses.

        `targets` are the tokens, and `source` has the matrix that turns losses
        on them into feature columns. Raises an `InputError` if these feature
        columns differ from the columns that the predictor was fitted to.
        """
        source.columns.check_same(self.columns)
        return replace(self, targets=targets, matrix=source.matrix)

    def noted(self, infos: Mapping[str, DumpInfo]) -> 'Predictor':
        """Return a copy with notes on training losses that are not comparable.

        `infos` maps each training model to the description in its dump, which
        names the engine and the number format that its losses were computed
        with.
        """
        notes = mixed_engine_notes(infos)
        benchmarks = []
        for summary in self.benchmarks:
            all_notes = *summary.notes, *notes
            benchmarks.append(replace(summary, notes=all_notes))
        return replace(self, benchmarks=tuple(benchmarks))

    # ---- weights

    def slopes(self, benchmark: str) -> Floats:
        """Return derivatives of the exponent of a benchmark, `(K,)`.

        They are with respect to the loss of each column, at typical losses:
        the medians over the fitted models. They are 0 for columns without
        effect on this benchmark. Raises an `InputError` if there is no such
        benchmark.

        The exponent of a `CurveModel` is linear in the losses. The exponent of
        an `AccuracyModel` is a mean of the exponents of its members, weighted
        by their shares.
        """
        # This raises an error for an unknown benchmark.
        self.benchmark(benchmark)
        b = self.names.index(benchmark)
        model = self.model
        if isinstance(model, CurveModel):
            alpha = model.curves.alpha[b]
            return alpha * self._score_weights(benchmark)
        units = self.fit.units
        typical = np.median(self.fit.losses, axis=0)
        one_row = typical[None]
        losses = units.losses(one_row, self.names)
        found = np.zeros_like(typical)
        shares = model.shares[:, b]
        for share, member in zip(shares, model.members):
            by_unit, by_token = member.slopes(losses, b)
            found[units.columns] += share * by_unit
            if len(by_token):
                tokens = units.answers[benchmark]
                found[tokens] += share * by_token
        return found

    def _score_weights(self, benchmark: str) -> Floats:
        """Return the coefficients of columns in a capability score, `(K,)`.

        Without a column for the score of the benchmark, the score is the mean
        loss.
        """
        uniform = self.columns.uniform
        answers = self.fit.units.answers
        if benchmark not in answers:
            return uniform
        found = np.zeros(len(uniform))
        column = answers[benchmark]
        found[column] = 1
        return found

    def weights(self, benchmark: str) -> Floats:
        """Return the salience weight of every column, `(K,)`.

        It is minus the slope of the column (`slopes`), divided by the share of
        the column in the mean loss, and scaled to a mean of 1, or of -1 if
        accuracies rise with losses. With equal weights, accuracies depend on
        the mean loss alone. The weight is NaN for columns that are not in the
        mean loss, such as tokens of answers. Raises an `InputError` if there
        is no such benchmark.
        """
        slopes = self.slopes(benchmark)
        return _weights(slopes, self.columns.uniform)

    def token_weights(self, benchmark: str) -> Floats:
        """Return the salience weight of every target token, `(T,)`.

        Weights are computed as in `weights`. The weight is NaN for tokens that
        are not part of the mean loss. Raises an `InputError` if there is no
        such benchmark, or if the predictor was fitted to tables of losses.
        """
        _, source = self._tokens()
        # Slopes, and coefficients in the mean loss, of each token.
        slopes = source.matrix @ self.slopes(benchmark)
        uniform = source.matrix @ self.columns.uniform
        return _weights(slopes, uniform)

    # ---- losses

    def loss_table(self, dumps: Mapping[str, TokenLossDump]) -> LossTable:
        """Map losses of models onto the target tokens (Algorithm 1).

        `dumps` maps the name of each model to its dump. A target token counts
        as scored if the model scored all of its bytes.

        Raises:
            InputError: The predictor was fitted to tables, there is no dump,
                `dumps` does not map models to dumps, or a dump is not on the
                same texts.
        """
        remedy = 'Read dumps with read_dumps(paths, texts).'
        check_type('losses', dumps, Mapping, '{model: dump}', remedy)
        targets, _ = self._tokens()
        texts = {}
        for model, dump in dumps.items():
            check_type(f'losses of {model!r}', dump, TokenLossDump,
                       'a TokenLossDump', remedy)
            fingerprint = dump.info.fingerprint
            self.columns.check_texts(fingerprint, f'losses of {model!r}')
            texts[model] = dump.texts
        return targets.table(texts)

    def features(self, losses: Losses) -> FeatureTable:
        """Return the feature columns of models, `(M, K)`.

        `losses` may be dumps, losses in nats on the target tokens of this
        predictor, or features with the columns of this predictor. If features
        are from tables, their columns may be in any order, and beside others.
        Features that are made from token losses must be made with
        `columns.scored` of this predictor. Every model must have scored all
        target tokens that were used in the training.

        Raises:
            InputError: The predictor was fitted to tables; the texts or the
                tokens are not the same as in the training; a column is
                missing; a token that was used in the training is not scored;
                or a mean loss is refused by `failed_scoring.check_means`.
        """
        features = self._columns_of(losses)
        # Features that are not losses may be negative; they are not checked.
        smallest, largest = self.mean_losses.tolist()
        if smallest > 0:
            check_means('losses', features.models, features.mean_loss,
                        smallest, largest)
        return features

    def _columns_of(self, losses: Losses) -> FeatureTable:
        """Return the feature columns of models, without a check of losses."""
        check_type(
            'losses', losses, (FeatureTable, LossTable, Mapping),
            'a table of losses or {model: dump}',
            'Make a table with FeatureTable.of_losses(...), or read dumps '
            'with read_dumps(paths, texts).')
        if isinstance(losses, FeatureTable):
            return losses.in_columns(self.columns)
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

        `families` has the family of each model: errors of models of one family
        are correlated. By default, the checkpoints of a run, which have names
        such as `run@1000`, are a family (see `run_names.run_of`), and every
        other model is a family by itself.

        Raises:
            InputError: `families` is no mapping, or a model has no family.
        """
        models = features.models
        if families is None:
            of_models = [run_of(model) for model in models]
        else:
            of_models = families_of_models(families, models)
        if isinstance(self.model, CurveModel):
            columns = [self._score_weights(name) for name in self.names]
            weights = np.stack(columns, axis=1)
            scores = features.values @ weights
            return self.model.joint(scores, of_models)
        losses = self.fit.units.losses(features.values, self.names)
        return self.model.joint(losses, of_models)

    def predict(self,
                losses: Losses,
                level: float = LEVEL,
                families: Optional[Mapping[str, str]] = None,
                known: Optional[AccuracyTable] = None) -> Predictions:
        """Predict the accuracies of all models on all benchmarks.

        Losses are as in `features`, and families as in `joint`. `level`, in
        (0, 1), is the coverage of the intervals. `known` are observed
        accuracies of some of these models on some of the benchmarks; entries
        for other models or benchmarks are ignored. They change the predictions
        of all models of the same families, which get the flag `with_scores`.
        Predictions of the known accuracies themselves get the flag `in_sample`
        instead. The table has one method and no observed accuracies.

        Raises:
            InputError: As in `features` and `joint`, `known` is no table of
                accuracies, or the level is not in (0, 1).
        """
        table, _ = self.predict_jointly(losses, level, families, known)
        return table

    def predict_jointly(
            self,
            losses: Losses,
            level: float = LEVEL,
            families: Optional[Mapping[str, str]] = None,
            known: Optional[AccuracyTable] = None
    ) -> tuple[Predictions, Joint]:
        """Return predictions, and the joint distribution of the accuracies.

        The predictions are computed from the joint distribution. Arguments and
        errors are as in `predict`.
        """
        if known is not None:
            check_accuracies('known', known)
        features = self.features(losses)
        models = features.models
        joint = self.joint(features, families)
        if known is not None:
            of_models = known.reindexed(models, self.names)
            observed = of_models.values
            is_far = joint.is_surprising(observed)
            # Predictions, before they are conditioned, that a known accuracy
            # contradicts.
            contradicted = np.where(is_far, joint.accuracies, np.nan)
            joint = joint.given(observed)
        table = self.predictions(joint, models, level)
        factors = self.measurement_factors(features)[:, None, None]
        # Models that seem to be in another unit count as extrapolated.
        extrapolated = table.extrapolated | (factors != 1)
        table = replace(
            table, measurement_factor=factors, extrapolated=extrapolated)
        if known is None:
            return table, joint
        seen = ~np.isnan(observed)
        has_known = seen.any(axis=1)
        numbers = joint.models_by_form[0].families
        in_family = np.isin(numbers, numbers[has_known])
        changed = in_family[:, None] & ~seen
        table = replace(
            table,
            with_scores=changed[:, :, None],
            contradicted=contradicted[:, :, None],
            # A known accuracy is no prediction that could lie far off.
            extrapolated=table.extrapolated & ~seen[:, :, None],
            in_sample=table.in_sample | seen[:, :, None])
        return table, joint

    def measurement_factors(self, features: FeatureTable) -> Floats:
        """Return how many times too large the losses of models seem, `(M,)`.

        See the module `measurement_units`. Losses that were computed from
        dumps are always in nats, so their factors are 1.
        """
        _, factors = self._all_measurement_factors(features.values)
        return factors

    @property
    def training_measurement_factors(self) -> Floats:
        """The same factors of the training models, `(N,)`.

        Each training model is compared with those of other families.
        """
        no_others = self.fit.losses[:0]
        factors, _ = self._all_measurement_factors(no_others)
        return factors

    def _all_measurement_factors(self,
                                 losses: NDArray) -> tuple[Floats, Floats]:
        """Return the factors of the training models and of other models.

        `losses`, `(M, K)`, are the feature columns of the other models.
        """
        fitted = self.fit.losses
        if self.targets is not None:
            return np.ones(len(fitted)), np.ones(len(losses))
        return measurement_factors(fitted, self.families, losses,
                                   self.fit.units.columns,
                                   self.model.settings.least)

    def predict_left_out(self) -> Predictions:
        """Predict every fitted accuracy from models of other families.

        Where the model, or all models of other families, were not run on the
        benchmark, there is a reason in place of a prediction. The predictor
        must be one that `leaves_families_out`.
        """
        models = self.fit_models
        families = np.array(self.families)
        was_run = ~np.isnan(self.observed)
        joint = self.model.left_out_joint()
        mean = joint.mean.copy()
        for b, rows in enumerate(was_run.T):
            of_benchmark = np.unique(families[rows])
            if len(of_benchmark) == 1:
                mean[:, b] = np.nan
        joint = replace(joint, mean=mean)
        table = self.predictions(joint, models, LEVEL)
        missing = {}
        is_missing = np.isnan(table.values)
        for m, b, _ in np.argwhere(is_missing):
            benchmark = self.names[b]
            cell = models[m], benchmark, PREDICTED
            missing[cell] = NO_OTHER_FAMILY if was_run[m, b] else NOT_RUN
        nowhere = np.array(False)
        return replace(table, in_sample=nowhere, missing=missing)

    def predictions(self, joint: Joint, models: Sequence[str],
                    level: float) -> Predictions:
        """Return the predictions of models from a joint distribution.

        `level` is as in `predict`.
        """
        if not 0 < level < 1:
            raise InputError('level of intervals', 'a number in (0, 1)',
                             f'{level!r}', 'Give 0.9 for 90 % intervals.')
        # A prediction is extrapolated if the standard deviation of its
        # exponent exceeds the usual deviation by this factor, a convention.
        # The usual deviation is the median over fitted models that are
        # predicted from other families. A `CurveModel` has one deviation for
        # all models, so it never extrapolates.
        far = 1.5
        low, high = joint.intervals(level)
        usual_deviations = self.model.usual_deviations
        is_far = joint.deviation > far * usual_deviations
        in_sample = np.zeros_like(is_far)
        at_chance = np.zeros_like(is_far)
        chance: dict[str, float] = {}
        outside_means = []
        for b, summary in enumerate(self.benchmarks):
            in_sample[:, b] = np.isin(models, summary.fit_models)
            at_chance[:, b] = summary.at_chance
            chance[summary.benchmark] = summary.chance
            if not summary.main:
                outside_means.append(summary.benchmark)
        # The last axis is for methods; there is one method.
        return Predictions(
            models=tuple(models),
            benchmarks=self.names,
            methods=(PREDICTED, ),
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

        `where` is how the error calls the predictor.
        """
        self._tokens(where)

    def _tokens(self,
                where: str = 'predictor') -> tuple[TargetTokens, TokenColumns]:
        """Return the target tokens, and how they become feature columns.

        Raises an `InputError`, which calls the predictor `where`, if the
        predictor was fitted to tables.
        """
        if (self.targets is None or self.matrix is None
                or self.columns.scored is None):
            raise InputError(
                where, 'one that was fitted to token losses',
                'one that was fitted to tables of losses',
                'Give predict, compare and triage a table of losses, or train '
                'a predictor on token losses.')
        return self.targets, TokenColumns(self.columns, self.matrix)


def check_predictor(given: object) -> None:
    """Raise an `InputError` if an argument is no `Predictor`."""
    check_type('predictor', given, Predictor, 'a Predictor',
               'Load it from its file with load(path).')


def _weights(slopes: NDArray, uniform: NDArray) -> Floats:
    """Return salience weights from slopes, `(K,)`.

    `uniform`, `(K,)`, has the coefficient of each column in the mean loss. A
    weight is proportional to -slope / uniform, and NaN where `uniform` is 0.
    The mean of the weights, weighted by `uniform`, is 1, or -1 if accuracies
    rise with losses. So a positive weight always means that accuracies fall as
    the loss rises.
    """
    counted = uniform != 0
    slopes = slopes[counted]
    shares = uniform[counted]
    total = abs(slopes.sum())
    total /= uniform.sum()
    if total:
        slopes /= total
    weights = np.full(len(uniform), np.nan)
    weights[counted] = -slopes / shares
    return weights
