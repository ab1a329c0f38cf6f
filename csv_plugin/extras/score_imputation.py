"""Score imputation: scores of a model on some benchmarks predict its others.

The accuracies `y` of a model have the normal distribution of the training
models, `N(mean, totals)`, and that of errors of held-out models around the
predictions from losses, `N(p, errors)`. The product of both is conditioned on
the known scores. Both covariances are shrunk toward one correlation for all
pairs (Ledoit and Wolf, "Honey, I shrunk the sample covariance matrix", Journal
of Portfolio Management 30(4), 2004), as if some more models had it.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.intervals import at_least_noise, inverse, item_variance
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience.base import grouped_folds
from csv_plugin.report.notes import first

#: Imagined models whose errors, and whose accuracies, all correlate alike.
#: Chosen on models of two collections that no result is reported on.
ERROR_MODELS, TOTAL_MODELS = 200, 3
#: Benchmarks with fewer held-out models are left out.
LEAST_MODELS = 5
#: Least standard deviation of accuracies.
LEAST_DEVIATION = 1e-3
#: Steps of expectation maximisation where scores are missing.
_STEPS = 8
#: Models that the pooled widening counts as, beside those of a benchmark.
_POOLED_MODELS = 10


@dataclass(frozen=True, eq=False)
class ScoreImputation:
    """Distributions of accuracies on B benchmarks, with losses and without.

    Mean accuracies of the training models, `(B,)`, and their covariance
    `totals`, `(B, B)`; the covariance of observed minus predicted accuracies
    of held-out models, `(B, B)`; and the size of these errors in standard
    deviations by the covariances, `widening`, `(B,)`.
    """
    benchmarks: tuple[str, ...]
    mean: NDArray[np.float64]
    totals: NDArray[np.float64]
    errors: NDArray[np.float64]
    widening: NDArray[np.float64]

    def complete(self, predicted: NDArray, known: NDArray,
                 noise: NDArray) -> tuple[NDArray, NDArray]:
        """Predict one model from its predictions and known scores.

        Accuracies from its losses, known ones (NaN where not known) and their
        `sampling_noise` are `(B,)` each. Returns accuracies, the known ones as
        they are; and the size of errors relative to those of predictions from
        losses alone, at most 1, 0 where known; `(B,)` both.
        """
        of_totals, of_errors = map(np.linalg.inv, (self.totals, self.errors))
        covariance = np.linalg.inv(of_totals + of_errors)
        mean = covariance @ (of_totals @ self.mean + of_errors @ predicted)
        unknown = np.isnan(known)
        seen = np.ix_(~unknown, ~unknown)
        across = covariance[np.ix_(~unknown, unknown)]
        slopes = np.linalg.solve(covariance[seen] + np.diag(noise[~unknown]),
                                 across)
        values, narrowing = known.copy(), np.zeros(len(known))
        values[unknown] = np.clip(
            mean[unknown] + (known - mean)[~unknown] @ slopes, 0, 1)
        left = covariance[np.ix_(unknown, unknown)] - across.T @ slopes
        share = np.diag(left) / np.diag(self.errors)[unknown]
        narrowing[unknown] = np.minimum(
            np.sqrt(share) * self.widening[unknown], 1)
        return values, narrowing


@lru_cache(maxsize=1)
def learn_imputation(predictor: Predictor) -> Optional[ScoreImputation]:
    """Learn from the scores that a predictor was fitted to.

    None if its file contains none, or not two benchmarks have enough held-out
    models.
    """
    scores = predictor.training_scores
    if scores is None:
        return None
    errors = scores.observed - scores.held_out
    enough = np.sum(~np.isnan(errors), axis=0) >= LEAST_MODELS
    if enough.sum() < 2:
        return None
    names = tuple(np.array(predictor.names, dtype=object)[enough])
    rows = ~np.isnan(errors[:, enough]).all(axis=1)
    accuracies, held_out = (
        np.where(np.isnan(errors), np.nan, part)[np.ix_(rows, enough)]
        for part in (scores.observed, scores.held_out))
    families = np.array(scores.families)[rows]
    return _learn(names, accuracies, held_out,
                  _widening(names, accuracies, held_out, families))


def _learn(names: tuple[str, ...], accuracies: NDArray, held_out: NDArray,
           widening: NDArray) -> ScoreImputation:
    mean, totals = _moments(accuracies, TOTAL_MODELS)
    _, errors = _moments(accuracies - held_out, ERROR_MODELS, centre=False)
    # What was filled in may lie outside of 0..1, and so may a mean of it.
    return ScoreImputation(names, np.clip(mean, 0, 1), totals, errors,
                           widening)


def _moments(values: NDArray,
             imagined: float,
             centre: bool = True) -> tuple[NDArray, NDArray]:
    """Mean `(B,)` and shrunk covariance `(B, B)` of rows with gaps, by EM.

    Values are `(n, B)`, NaN where missing. Without `centre` the mean is 0.
    """
    missing = np.isnan(values)
    n, width = values.shape
    count = np.maximum(np.sum(~missing, axis=0), 1)
    mean = np.nansum(values, axis=0) / count * centre
    covariance = np.diag(
        np.nansum((values - mean)**2, axis=0) / count + LEAST_DEVIATION**2)
    patterns, pattern = np.unique(missing, axis=0, return_inverse=True)
    for _ in range(_STEPS if missing.any() else 1):
        filled = np.where(missing, mean, values) - mean
        spread = np.zeros((width, width))
        for i, gap in enumerate(patterns):
            if gap.any():
                rows = np.flatnonzero(pattern.ravel() == i)
                slopes = np.linalg.solve(covariance[np.ix_(~gap, ~gap)],
                                         covariance[np.ix_(~gap, gap)])
                filled[np.ix_(rows, gap)] = filled[np.ix_(rows, ~gap)] @ slopes
                spread[np.ix_(gap, gap)] += len(rows) * (
                    covariance[np.ix_(gap, gap)] -
                    covariance[np.ix_(gap, ~gap)] @ slopes)
        if centre:
            shift = filled.mean(axis=0)
            mean, filled = mean + shift, filled - shift
        covariance = _shrunk((filled.T @ filled + spread) / n,
                             imagined / (imagined + n))
    return mean, covariance


def _shrunk(covariance: NDArray, share: float) -> NDArray:
    """A covariance, a share of it with the mean correlation for all pairs."""
    n = len(covariance)
    deviation = np.sqrt(np.diag(covariance))
    scale = np.outer(deviation, deviation)
    correlation = np.divide(covariance, scale, out=np.eye(n), where=scale > 0)
    same = (correlation.sum() - np.trace(correlation)) / (n * (n - 1))
    # Below 0 it might not be a correlation of n variables.
    target = np.full((n, n), np.clip(same, 0, .99))
    mixed = (1 - share) * correlation + share * target
    np.fill_diagonal(mixed, 1)
    deviation = np.maximum(deviation, LEAST_DEVIATION)
    return mixed * np.outer(deviation, deviation)


def _widening(names: tuple[str, ...], accuracies: NDArray, held_out: NDArray,
              families: NDArray) -> NDArray:
    """As in `ScoreImputation`: each score from all others, families held out.

    Ones where families share no benchmark.
    """
    squares = np.full(accuracies.shape, np.nan)
    fold = grouped_folds(list(families), 5, 0)
    ones = np.ones(len(names))
    for held in range(fold.max() + 1):
        others = fold != held
        # A variance takes two.
        learned = np.sum(~np.isnan(accuracies[others]), axis=0) > 1
        part = _learn(names, accuracies[others], held_out[others], ones)
        for row in np.flatnonzero(~others):
            seen = learned & ~np.isnan(accuracies[row])
            squares[row, seen] = _squares(part, held_out[row], accuracies[row],
                                          seen)
    count = np.sum(~np.isnan(squares), axis=0)
    if not count.any():
        return ones
    pooled = np.nanmean(squares)
    total = np.nansum(squares, axis=0) + _POOLED_MODELS * pooled
    return np.sqrt(total / (count + _POOLED_MODELS))


def _squares(part: ScoreImputation, held_out: NDArray, accuracy: NDArray,
             seen: NDArray) -> NDArray:
    """Squared errors of the seen scores of a model, each from all others.

    In units of their variances.
    """
    of_totals, of_errors = (
        np.linalg.inv(matrix[np.ix_(seen, seen)])
        for matrix in (part.totals, part.errors))
    precision = of_totals + of_errors
    pull = of_totals @ part.mean[seen] + of_errors @ held_out[seen]
    # The mean of one score, given the others, lies where its row is 0.
    error = precision @ accuracy[seen] - pull
    return np.asarray(error**2 / np.diag(precision))


def sampling_noise(accuracy: NDArray, n_items: NDArray,
                   n_fitted: NDArray) -> NDArray:
    """Return the variance of accuracies beyond that of the training models.

    It is binomial, `(..., B)`, NaN where an accuracy is. Without a known
    number of items, 0, `n_items` are as many as those of the training models,
    and `n_fitted` infinitely many; both `(B,)`.
    """
    fewer = inverse(n_items) - np.where(n_items > 0, inverse(n_fitted), 0)
    return item_variance(accuracy, n_items) * np.maximum(fewer, 0)


def with_known_scores(predictor: Predictor, predictions: Predictions,
                      known: AccuracyTable) -> Predictions:
    """Let known scores of models change the predictions of their others.

    Predictions of known scores, and of models without any, stay as they are.
    So do all if the predictor was fitted to too few models.

    Args:
        predictor (Predictor): What predicted.
        predictions (Predictions): Of this predictor alone, from losses.
        known (AccuracyTable): Scores; other models and benchmarks are
            ignored.

    Returns:
        Predictions: The same models and benchmarks; `with_scores` marks
        what changed.

    Raises:
        InputError: Predictions of a benchmark are missing.
    """
    imputation = learn_imputation(predictor)
    if imputation is None:
        return predictions
    absent = set(imputation.benchmarks) - set(predictions.benchmarks)
    if absent:
        raise InputError(
            'predictions', 'those of all benchmarks that the '
            'predictor learned', f'none on {min(absent)!r}',
            'Select benchmarks afterwards.')
    table = known.spread(predictions.models, imputation.benchmarks)
    n_items = np.array(
        [predictor.benchmark(name).n_items for name in imputation.benchmarks])
    noise = sampling_noise(table.values, table.n_items, n_items)
    place = np.array(
        [predictions.benchmarks.index(name) for name in imputation.benchmarks])
    values, low, high = (
        part.copy()
        for part in (predictions.values, predictions.low, predictions.high))
    helped = np.zeros(values.shape, bool)
    for row in np.flatnonzero(~np.isnan(table.values).all(axis=1)):
        cells = row, place, 0
        after, narrowing = imputation.complete(values[cells],
                                               table.values[row], noise[row])
        lower, upper = _narrowed(values[cells], low[cells], high[cells], after,
                                 narrowing)
        lower, upper = at_least_noise(lower, after, upper, n_items,
                                      predictions.level)
        gaps = np.isnan(table.values[row])
        cells = row, place[gaps], 0
        values[cells], helped[cells] = after[gaps], True
        low[cells], high[cells] = lower[gaps], upper[gaps]
    return replace(
        predictions, values=values, low=low, high=high, with_scores=helped)


def _narrowed(before: NDArray, low: NDArray, high: NDArray, after: NDArray,
              narrowing: NDArray) -> tuple[NDArray, NDArray]:
    """Intervals of other predictions, as much narrower; all `(B,)`.

    Where one was cut off at 0 or 1, that side is no shorter than the other.
    """
    below, above = before - low, high - before
    longer = np.maximum(below, above)
    below = np.where(low > 0, below, longer) * narrowing
    above = np.where(high < 1, above, longer) * narrowing
    # An interval that leaves nothing out has no width to narrow.
    informative = (low > 0) | (high < 1)
    return (np.where(informative, np.clip(after - below, 0, 1),
                     0), np.where(informative, np.clip(after + above, 0, 1),
                                  1))


def unused_notes(where: str, known: AccuracyTable, predictor: Predictor,
                 models: Sequence[str]) -> Iterator[str]:
    """Yield notes on known scores that changed no prediction.

    `where` is the file of the scores, and `models` have losses.
    """
    imputation = learn_imputation(predictor)
    learned = imputation.benchmarks if imputation is not None else ()
    has_scores = ~np.isnan(known.values).all(axis=1)
    parts = (
        ('of {}, of which there are no losses, were not used',
         [m for m in np.array(known.models, object)[has_scores]
          if m not in models]),
        ('on {}, which are not among those of the predictor, were not used',
         [b for b in known.benchmarks if b not in predictor.names]),
        ('on {} changed no prediction, as the predictor was fitted to too few '
         'models there to learn how they go with others',
         [b for b in known.benchmarks
          if b in predictor.names and b not in learned]),
    )  # yapf: disable
    for words, names in parts:
        if names:
            yield f'{where}: scores {words.format(first(names))}'
