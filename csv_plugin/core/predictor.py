"""Predicted accuracies from losses: a dot product and a curve."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable, TokenColumns
from csv_plugin.core.intervals import Intervals
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.core.salience import SalienceModel
from csv_plugin.core.targets import TargetTokens


@dataclass(frozen=True, eq=False)
class BenchmarkPredictor:
    """All that the prediction of one benchmark needs.

    Args:
        benchmark (str): Its name.
        chance (float): Accuracy at random guessing.
        n_items (int): Number of items, 0 = unknown.
        fit_models (tuple[str, ...]): Models whose accuracy was fitted on.
        solver (str): The solver that made it, 'constant' if none could.
        penalty (float): Shrinkage toward uniform, infinite for uniform.
        cv_mse (float): Mean squared error on held-out families; NaN if
            nothing could be held out.
        model (SalienceModel): Eq. 1 and Eq. 2.
        intervals (Intervals): See `intervals`.
        notes (tuple[str, ...]): What a user should know.
    """
    benchmark: str
    chance: float
    n_items: int
    fit_models: tuple[str, ...]
    solver: str
    penalty: float
    cv_mse: float
    model: SalienceModel
    intervals: Intervals
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Predicts the accuracies of models from their losses.

    Args:
        units (tuple[str, ...]): Names of the K feature columns.
        uniform (NDArray): Coefficients of the all-token loss, `(K,)`.
        fingerprint (str): Of the validation set the losses belong to.
        benchmarks (tuple[BenchmarkPredictor, ...]): One per benchmark.
        versions (Mapping[str, str]): Package versions at training.
        scored (Optional[NDArray]): Tokens that the features count, bool,
            `(T,)`; None where they were not made from tokens.
        targets (Optional[TargetTokens]): The T tokens.
        matrix (Optional[csc_array]): What a nat of a token adds to each
            column, `(T, K)`; see `TokenColumns`.

    Raises:
        InputError: If there is no benchmark, or the parts about tokens do
            not fit each other.
    """
    units: tuple[str, ...]
    uniform: NDArray
    fingerprint: str
    benchmarks: tuple[BenchmarkPredictor, ...]
    versions: Mapping[str, str]
    scored: Optional[NDArray] = None
    targets: Optional[TargetTokens] = None
    matrix: Optional[csc_array] = None

    def __post_init__(self) -> None:
        if not self.benchmarks:
            raise InputError('predictor', 'a benchmark or more', 'none',
                             'Give accuracies on a benchmark.')
        if self.targets is not None:
            n_tokens = len(self._columns().scored)
            if (self.targets.n_tokens,
                    self.targets.fingerprint) != (n_tokens, self.fingerprint):
                raise InputError(
                    'predictor', f'{n_tokens} target tokens of the texts '
                    f'{self.fingerprint}', f'{self.targets.n_tokens} of '
                    f'{self.targets.fingerprint}',
                    'Use the tokens that the features were made of.')

    def _columns(self) -> TokenColumns:
        if self.matrix is None or self.scored is None:
            raise InputError(
                'predictor', 'feature columns that were made from tokens',
                'columns of a table',
                'Give features to predict(), or train on token losses.')
        return TokenColumns(self.units, self.matrix, self.uniform, self.scored)

    def with_tokens(self, targets: TargetTokens,
                    columns: TokenColumns) -> 'Predictor':
        """The same predictor, able to `predict_losses`.

        Args:
            targets (TargetTokens): The tokens that losses are mapped onto.
            columns (TokenColumns): What the features were made by.

        Raises:
            InputError: If they are not those of the training.
        """
        self._check_units(columns.units)
        self._check_scored(columns.scored)
        return replace(self, targets=targets, matrix=columns.matrix)

    def token_weights(self, benchmark: str) -> NDArray:
        """Salience weight of every token, `(T,)`; uniform is 1 (Eq. 1).

        NaN for tokens that the training did not count.

        Raises:
            InputError: If the predictor does not know the benchmark, or was
                not made from tokens.
        """
        matrix = self._columns().matrix
        weights = matrix @ self._known(benchmark).model.coefficients
        per_nat = matrix @ self.uniform
        counted = per_nat != 0
        return np.divide(
            weights, per_nat, where=counted, out=np.full(len(counted), np.nan))

    def features(self, losses: Mapping[str, Sequence[TokenLosses]],
                 fingerprint: str) -> FeatureTable:
        """The columns of models from their token losses, `(M, K)`.

        Scored: the target tokens that the training counted, all of which
        every model must have.

        Args:
            losses (Mapping): Each model's losses in nats on the texts, such
                as those of its dump, in any order.
            fingerprint (str): Of the validation set they come from.

        Raises:
            InputError: If the predictor was not made from tokens, the
                fingerprint or a text is another, a text is missing, or a
                token that the training counted is unscored.
        """
        self._check_fingerprint(fingerprint)
        columns = self._columns()
        if self.targets is None:
            raise InputError('predictor', 'the tokens of the training', 'none',
                             'Give it tokens by with_tokens().')
        return columns.features(self.targets.table(losses))

    def predict_losses(self,
                       losses: Mapping[str, Sequence[TokenLosses]],
                       fingerprint: str,
                       level: float = 0.9) -> PredictionTable:
        """Predict models from their token losses, whatever their tokens.

        Args and errors as in `features` and `predict`.
        """
        return self.predict(
            self.features(losses, fingerprint), fingerprint, level)

    def weights(self, benchmark: str) -> NDArray:
        """Salience weight of every unit, shape `(K,)`; uniform is 1.

        NaN for columns that have no part in the all-token loss, such as
        directions of a scoring LM.

        Raises:
            InputError: If the predictor does not know the benchmark.
        """
        used = np.where(self.uniform == 0, np.nan, self.uniform)
        return self._known(benchmark).model.coefficients / used

    def _known(self, benchmark: str) -> BenchmarkPredictor:
        for known in self.benchmarks:
            if known.benchmark == benchmark:
                return known
        raise InputError(
            'predictor', 'one of the benchmarks '
            f'{[known.benchmark for known in self.benchmarks]}',
            repr(benchmark), 'Train a predictor on its accuracies.')

    def predict(self,
                features: FeatureTable,
                fingerprint: str,
                level: float = 0.9) -> PredictionTable:
        """Predict the accuracies of all models on all benchmarks.

        Args:
            features (FeatureTable): The columns that were fitted on, built
                with `scored` of this predictor if made from tokens.
            fingerprint (str): Of the validation set they come from.
            level (float): Level of the intervals, in (0, 1).

        Raises:
            InputError: If the fingerprint, the columns or the tokens that
                they count are not those of the training, or the level is
                not in (0, 1).
        """
        self._check(features, fingerprint)
        cells = [
            _predict_one(known, features, level) for known in self.benchmarks
        ]
        parts = (np.stack(part, axis=1) for part in zip(*cells))
        return PredictionTable(
            features.models,
            tuple(b.benchmark for b in self.benchmarks),
            level=level,
            **dict(zip(PredictionTable._ARRAYS, parts)))

    def _check(self, features: FeatureTable, fingerprint: str) -> None:
        self._check_fingerprint(fingerprint)
        self._check_units(features.units)
        self._check_scored(features.scored)

    def _check_fingerprint(self, fingerprint: str) -> None:
        if fingerprint != self.fingerprint:
            raise InputError(
                'predictor',
                f'losses on the validation set {self.fingerprint}',
                f'the validation set {fingerprint}',
                'Collect losses on the texts of the training, or train anew.')

    def _check_units(self, units: tuple[str, ...]) -> None:
        if units != self.units:
            theirs, ours = next(
                pair for pair in zip_longest(units, self.units)
                if pair[0] != pair[1])
            raise InputError(
                'predictor', f'the {len(self.units)} feature columns of the '
                'training, in their order', f'{len(units)} columns, '
                f'{theirs!r} in the place of {ours!r}',
                'Build the features as they were built for the training.')

    def _check_scored(self, scored: Optional[NDArray]) -> None:
        if not _same_tokens(scored, self.scored):
            raise InputError(
                'predictor', 'features of the tokens that the training '
                f'counted, {_count(self.scored)}', f'{_count(scored)}, or '
                'others', 'Build the features with scored=predictor.scored.')


def _same_tokens(one: Optional[NDArray], other: Optional[NDArray]) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _count(scored: Optional[NDArray]) -> str:
    return 'none' if scored is None else str(np.count_nonzero(scored))


def _predict_one(known: BenchmarkPredictor, features: FeatureTable,
                 level: float) -> tuple[NDArray, ...]:
    """Columns of a `PredictionTable`, each of shape `(M,)`."""
    model, intervals = known.model, known.intervals
    low, high = intervals.bounds(model, features.values, level)
    return (model.predict(features.values), low, high,
            intervals.extrapolated(model.score(features.values)),
            np.isin(features.models, known.fit_models))
