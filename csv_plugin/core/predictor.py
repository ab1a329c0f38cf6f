"""Predicted accuracies from losses: a dot product and a curve."""
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Optional, Union

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError, check_choice, check_unique
from csv_plugin.core.failed_scoring import check_means
from csv_plugin.core.features import Columns, FeatureTable, TokenColumns
from csv_plugin.core.formatting import number, percent, short_repr, shortened
from csv_plugin.core.intervals import FAR, Intervals, at_least_noise
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump, mixed_engines
from csv_plugin.core.predictions import PREDICTED, Predictions
from csv_plugin.core.salience_model import SalienceModel

#: Input of a prediction: feature columns, losses on the target tokens, or the
#: dumps of models on any tokens, by model.
Losses = Union[FeatureTable, LossTable, Mapping[str, TokenLossDump]]


@dataclass(frozen=True, eq=False)
class BenchmarkPredictor:
    """Predictor of one benchmark, and its training.

    `chance` is the accuracy of random guessing, a fraction; `n_items` is 0 if
    unknown. `fit_models` are the training models. `solver` is 'constant' for
    the mean accuracy. `penalty` is the shrinkage toward uniform, infinite for
    uniform weights. `cv_mse` is the mean squared error on held-out families,
    or NaN. `model` contains the salience weights and the curve; `intervals`
    gives the prediction intervals. `notes` are remarks on the fit for users.
    `typical_error` is the median over families of their root mean squared
    errors, predicted by the others; NaN with fewer than three. `main` is False
    if means leave the benchmark out.
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
    typical_error: float
    main: bool

    __repr__ = short_repr

    @property
    def is_mean(self) -> bool:
        """True if it predicts the mean accuracy, whatever the losses."""
        return self.solver == 'constant'

    @property
    def error_cells(self) -> tuple[str, ...]:
        """Cross-validated and expected errors in columns of `ERROR_HEADER`.

        '-' where there is no error.
        """
        error = np.sqrt(self.cv_mse)
        growth = self.intervals.growth(self.intervals.further)
        further = np.full(3, np.nan) if self.at_chance else error * growth
        return tuple(
            number(percent(value))
            for value in (error, self.typical_error, *further.tolist()))

    @property
    def at_chance(self) -> bool:
        """True if all training models are at chance: not predictable yet."""
        return bool(self.intervals.rise)

    def emerged(self, distance: NDArray) -> NDArray[np.float64]:
        """Return what accuracies may rise to at distances `(M,)`.

        0 for a benchmark that is not at chance; see `Intervals.emerged`.
        """
        if not self.at_chance:
            return np.zeros_like(distance)
        return self.intervals.emerged(self.chance, distance)

    def predict(self, values: NDArray, distance: NDArray,
                level: float) -> dict[str, NDArray]:
        """Return predictions of M models from features `(M, K)`.

        Distances `(M,)` are those of `Predictor.distances`. `values`, `low`,
        `high`, `extrapolated`, `at_chance` and `expected_error` as in
        `Predictions`, `(M,)` each.
        """
        predicted = self.model.predict(values)
        away = np.zeros_like(distance) if self.at_chance else distance
        low, high = self.intervals.bounds(self.model, values, away, level)
        low, high = at_least_noise(low, predicted, high, self.n_items, level)
        return dict(
            values=predicted,
            low=low,
            high=np.maximum(high, self.emerged(distance)),
            extrapolated=((self.intervals.growth(distance) > FAR)
                          | self.intervals.beyond(values)),
            at_chance=np.full(len(values), self.at_chance),
            expected_error=self.intervals.expected_errors(
                self.model.slopes(values), distance))


@dataclass(frozen=True, eq=False)
class TrainingScores:
    """Scores of the n training models, and their held-out predictions.

    Fractions, `(n, B)`, NaN where missing; predictions are by fits without the
    model.
    """
    families: tuple[str, ...]
    observed: NDArray[np.float64]
    held_out: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Predicts the accuracies of models from their losses.

    `columns` are the K feature columns, and the texts. `versions` are those of
    packages at training. Losses are mapped onto the T tokens `targets`; None
    if it was fitted to tables. `matrix`, `(T, K)`, is the share of a token's
    nats in each column; see `TokenColumns`. `mean_losses` are the least and
    the greatest of the training models.

    Raises:
        InputError: There is no benchmark, or one twice.
    """
    columns: Columns
    benchmarks: tuple[BenchmarkPredictor, ...]
    versions: Mapping[str, str]
    targets: Optional[TargetTokens] = None
    matrix: Optional['scipy.sparse.csc_array'] = None
    training_scores: Optional[TrainingScores] = None
    mean_losses: Optional[NDArray[np.float64]] = None

    def __post_init__(self) -> None:
        if not self.benchmarks:
            raise InputError('predictor', 'a benchmark or more', 'none',
                             'Give accuracies on a benchmark.')
        check_unique('benchmarks of a predictor', self.names)

    def __repr__(self) -> str:
        names = shortened(', '.join(self.names), 50)
        fitted = set[str]().union(*(part.fit_models
                                    for part in self.benchmarks))
        return (f'Predictor({len(self.names)} benchmarks: {names};\n'
                f'  fitted to {len(fitted)} models;\n'
                f'  {self.columns})')

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the benchmarks."""
        return tuple(part.benchmark for part in self.benchmarks)

    @property
    def main(self) -> tuple[str, ...]:
        """Benchmarks that means are over."""
        return tuple(part.benchmark for part in self.benchmarks if part.main)

    def benchmark(self, name: str) -> BenchmarkPredictor:
        """Return the predictor of one benchmark, or raise an `InputError`."""
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
        benchmarks = [
            part if part.is_mean else replace(
                part, notes=(*part.notes, *notes)) for part in self.benchmarks
        ]
        return replace(self, benchmarks=tuple(benchmarks))

    def weights(self, benchmark: str) -> NDArray[np.float64]:
        """Return the salience weight of every column, `(K,)`; uniform is 1.

        For logarithmic scores, the slope at typical losses. NaN for columns
        that are not part of the mean loss, such as directions of a
        scoring LM. An `InputError` if there is no such benchmark.
        """
        uniform = self.columns.uniform
        used = np.where(uniform == 0, np.nan, uniform)
        return self.benchmark(benchmark).model.typical_coefficients / used

    def token_weights(self, benchmark: str) -> NDArray[np.float64]:
        """Return the salience weight of every token, `(T,)`; uniform is 1.

        NaN for tokens that the training did not count. An `InputError` if
        there is no such benchmark, or the predictor was fitted to tables.
        """
        matrix = self._tokens()[1].matrix
        weights = matrix @ self.benchmark(benchmark).model.typical_coefficients
        per_nat = matrix @ self.columns.uniform
        counted = per_nat != 0
        return np.divide(
            weights, per_nat, where=counted, out=np.full(len(counted), np.nan))

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
        for model, dump in dumps.items():
            self.columns.check_texts(dump.info.fingerprint,
                                     f'losses of {model!r}')
        return targets.table({
            model: dump.texts
            for model, dump in dumps.items()
        })

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
        if self.mean_losses is not None and self.mean_losses[0] > 0:
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

    def distances(self, scores: NDArray) -> NDArray[np.float64]:
        """Return how far models lie from the training models, `(M,)`.

        Mean over the benchmarks of the distance of their capability scores,
        `(B, M)`, from those of the training models, in standard deviations of
        these.
        """
        distances = [
            part.intervals.distance(row)
            for part, row in zip(self.benchmarks, scores)
        ]
        learned = [not part.is_mean for part in self.benchmarks]
        counted = learned if any(learned) else None
        return np.average(distances, axis=0, weights=counted)

    def predict(self, losses: Losses, level: float = 0.9) -> Predictions:
        """Predict the accuracies of all models on all benchmarks.

        Losses are as in `features`, the level of the intervals is in (0, 1).
        There is one method, without real accuracies.

        Raises:
            InputError: As in `features`, or the level is not in (0, 1).
        """
        features = self.features(losses)
        distances = self.distances(
            np.array([
                part.model.scores(features.values) for part in self.benchmarks
            ]))
        parts = [
            dict(
                part.predict(features.values, distances, level),
                in_sample=np.isin(features.models, part.fit_models))
            for part in self.benchmarks
        ]
        cubes: dict[str, Any] = {
            name: np.stack([part[name] for part in parts], axis=1)[:, :, None]
            for name in parts[0]
        }
        return Predictions(
            features.models,
            self.names, (PREDICTED, ),
            real=np.array(np.nan),
            level=level,
            chance={part.benchmark: part.chance
                    for part in self.benchmarks},
            outside_means=tuple(part.benchmark for part in self.benchmarks
                                if not part.main),
            **cubes)

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
                'Give predict and compare a table of losses, use forecast for '
                'triage, or train one on token losses.')
        return self.targets, TokenColumns(self.columns, self.matrix)
