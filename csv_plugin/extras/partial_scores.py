"""What a model's known scores tell about its scores on other benchmarks.

Two things are known of the accuracies `y` of a model, and each is a normal
distribution over the benchmarks: they scatter around the mean accuracies of
the models fitted on as those models do, `y ~ N(mean, totals)`, and around the
predictions `p` from the losses as held-out models do, `y ~ N(p, errors)`. The
product of both is a normal distribution too. Given the scores that are known,
the others have a conditional mean and covariance in it. The covariances hold
the sampling noise of the scores fitted on; a known score from fewer items has
more of it.

The covariances are shrunk, as there are few models for many benchmarks: toward
one correlation for all pairs, as Ledoit and Wolf do ("Honey, I shrunk the
sample covariance matrix", Journal of Portfolio Management 30(4), 2004), here
by a number of imagined models that have it.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, short_repr
from csv_plugin.core.intervals import at_least_noise, inverse, item_variance
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.splits import grouped_folds
from csv_plugin.report.notes import first

#: Imagined models whose errors all correlate alike. Chosen, as the next, on
#: models of two public collections that no result is reported on.
ERROR_MODELS = 200
#: Imagined models whose accuracies all correlate alike.
TOTAL_MODELS = 3
#: Benchmarks with fewer held-out models tell nothing and are told nothing.
LEAST_MODELS = 5
#: Standard deviations of accuracies are not taken to be smaller than this.
LEAST_DEVIATION = 1e-3
#: Of the estimates with missing scores.
_STEPS = 8
#: Models that the pooled widening counts as, beside those of a benchmark.
_POOLED_MODELS = 10
#: How many lines say what to run next, and the least part of the variance of
#: predictions that it takes off.
_NEXT, _LEAST_GAIN = 5, 0.05


@dataclass(frozen=True, eq=False)
class PartialScores:
    """How accuracies on benchmarks go together, with losses and without.

    Args:
        benchmarks (tuple[str, ...]): B names, unique.
        mean (NDArray): Mean accuracies of the models fitted on, `(B,)`.
        totals (NDArray): Covariance of their accuracies, `(B, B)`.
        errors (NDArray): Covariance of observed minus predicted accuracies
            of held-out models, `(B, B)`.
        widening (NDArray): Size of the errors of held-out models, relative
            to the standard deviations that the covariances give, `(B,)`.
    """
    benchmarks: tuple[str, ...]
    mean: NDArray[np.float64]
    totals: NDArray[np.float64]
    errors: NDArray[np.float64]
    widening: NDArray[np.float64]

    __repr__ = short_repr

    @cached_property
    def _precisions(self) -> tuple[NDArray, NDArray]:
        """Inverses of both covariances, `(B, B)` each."""
        return np.linalg.inv(self.totals), np.linalg.inv(self.errors)

    def _posterior(self, predicted: NDArray, known: NDArray,
                   noise: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and covariance of the U scores that are not known.

        Args as in `complete`.

        Returns:
            tuple[NDArray, NDArray]: Shapes `(U,)` and `(U, U)`.
        """
        of_totals, of_errors = self._precisions
        covariance = np.linalg.inv(of_totals + of_errors)
        mean = covariance @ (of_totals @ self.mean + of_errors @ predicted)
        unknown = np.isnan(known)
        seen = np.ix_(~unknown, ~unknown)
        across = covariance[np.ix_(~unknown, unknown)]
        slopes = np.linalg.solve(covariance[seen] + np.diag(noise[~unknown]),
                                 across)
        return (mean[unknown] + (known - mean)[~unknown] @ slopes,
                covariance[np.ix_(unknown, unknown)] - across.T @ slopes)

    def complete(self, predicted: NDArray, known: NDArray,
                 noise: NDArray) -> tuple[NDArray, NDArray]:
        """Accuracies of one model from its predictions and known scores.

        Args:
            predicted (NDArray): Accuracies from its losses, `(B,)`.
            known (NDArray): Its known accuracies, NaN where not known, one
                at least. `(B,)`.
            noise (NDArray): By how much the sampling variance of each known
                accuracy exceeds that of the models fitted on, as
                `sampling_noise` tells. `(B,)`.

        Returns:
            tuple[NDArray, NDArray]: Accuracies, `(B,)`: fractions, the known
            ones as they are. And how wide errors are beside those of
            predictions from losses alone, at most 1: `(B,)`, 0 where known.
        """
        unknown = np.isnan(known)
        mean, covariance = self._posterior(predicted, known, noise)
        values, narrowing = known.copy(), np.zeros(len(known))
        values[unknown] = np.clip(mean, 0, 1)
        share = np.diag(covariance) / np.diag(self.errors)[unknown]
        narrowing[unknown] = np.minimum(
            np.sqrt(share) * self.widening[unknown], 1)
        return values, narrowing

    def gains(self, known: NDArray) -> NDArray:
        """What a run of each benchmark would tell about the others.

        All scores, the known ones too, are taken to be from as many items as
        those of the models fitted on.

        Args:
            known (NDArray): Whether the score of a model on each benchmark
                is known, bool, `(B,)`.

        Returns:
            NDArray: By how much the predictive variances of the benchmarks
            that are then still unknown would shrink, as a share of them, on
            average, `(B,)`; NaN of benchmarks that are known.
        """
        scores = np.where(known, self.mean, np.nan)
        _, covariance = self._posterior(self.mean, scores,
                                        np.zeros(len(known)))
        variance = np.diag(covariance)
        told = covariance**2 / np.outer(variance, variance)
        np.fill_diagonal(told, 0)
        gains = np.full(len(known), np.nan)
        gains[~known] = told.sum(axis=1) / max(len(told) - 1, 1)
        return gains


def learn_partial_scores(predictor: Predictor) -> Optional[PartialScores]:
    """Learn how accuracies go together from what a predictor was fitted to.

    Returns:
        Optional[PartialScores]: Of the benchmarks with enough held-out
        models; None if there are not two, or the predictor keeps no scores.
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
           widening: NDArray) -> PartialScores:
    mean, totals = _moments(accuracies, TOTAL_MODELS)
    _, errors = _moments(accuracies - held_out, ERROR_MODELS, centre=False)
    # What was filled in may lie outside of 0..1, and so may a mean of it.
    return PartialScores(names, np.clip(mean, 0, 1), totals, errors, widening)


def _moments(values: NDArray,
             imagined: float,
             centre: bool = True) -> tuple[NDArray, NDArray]:
    """Mean and shrunk covariance of n rows, `(B,)` and `(B, B)`.

    Missing values are filled by their conditional means in turn with the
    estimates (EM).

    Args:
        values (NDArray): NaN where missing, `(n, B)`.
        imagined (float): Imagined models with one correlation.
        centre (bool): Whether the mean is estimated, or is 0.
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
    """As in `PartialScores`: each score from all others, families held out.

    Ones where families share no benchmark. There are two or more families,
    as there are held-out predictions.
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


def _squares(part: PartialScores, held_out: NDArray, accuracy: NDArray,
             seen: NDArray) -> NDArray:
    """Squared errors of one model, in variances, each from all others.

    Args:
        part (PartialScores): Learned from other models.
        held_out (NDArray): Accuracies from its losses, `(B,)`.
        accuracy (NDArray): Its accuracies, `(B,)`.
        seen (NDArray): Which of them there are: S of them. Bool, `(B,)`.

    Returns:
        NDArray: Shape `(S,)`.
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
    """Binomial variance of accuracies beyond that of the models fitted on.

    Args:
        accuracy (NDArray): Fractions, NaN where not known. Shape `(..., B)`.
        n_items (NDArray): Number of items that they are from, 0 where not
            known: taken to be as many as those of the models fitted on.
            Shape `(B,)`.
        n_fitted (NDArray): Number of items of the models fitted on, 0 where
            not known: taken to be without end. Shape `(B,)`.

    Returns:
        NDArray: Shape `(..., B)`, NaN where the accuracy is not known.
    """
    fewer = inverse(n_items) - np.where(n_items > 0, inverse(n_fitted), 0)
    return item_variance(accuracy, n_items) * np.maximum(fewer, 0)


def with_known_scores(predictor: Predictor, predictions: Predictions,
                      known: AccuracyTable) -> Predictions:
    """Let known scores of models change the predictions of their others.

    Predictions of scores that are known, and of models of which none is, stay
    as they are; so do all if the predictor was fitted to too few models to
    learn how its benchmarks go together.

    Args:
        predictor (Predictor): What predicted.
        predictions (Predictions): Of this predictor alone, from losses.
        known (AccuracyTable): Scores of some of the models, and perhaps of
            others, on some of the benchmarks, and perhaps on others.

    Raises:
        InputError: The known scores are no table.
    """
    if not isinstance(known, AccuracyTable):
        raise InputError('known scores', 'an AccuracyTable',
                         f'a {type(known).__name__}',
                         'Make one of them (docs/api.md).')
    partial = learn_partial_scores(predictor)
    if partial is None:
        return predictions
    table = known.spread(predictions.models, partial.benchmarks)
    n_items = np.array(
        [predictor.benchmark(name).n_items for name in partial.benchmarks])
    values, low, high, helped = _completed(partial, predictions, table,
                                           n_items)
    # What known scores have helped to say is no longer what the losses alone
    # said, which witnesses contradict.
    alarm = predictions.alarm & ~helped[:, :, None]
    return replace(
        predictions,
        values=values[:, :, None],
        low=low[:, :, None],
        high=high[:, :, None],
        with_scores=helped[:, :, None],
        alarm=alarm,
        contradictions={
            cell: said
            for cell, said in predictions.contradictions.items()
            if alarm[predictions.models.index(cell[0]),
                     predictions.benchmarks.index(cell[1]), 0]
        })


def _completed(
    partial: PartialScores, predictions: Predictions, table: AccuracyTable,
    n_items: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray]:  # yapf: disable
    """Predictions and ends of intervals, and where known scores helped.

    Args:
        partial (PartialScores): Of b benchmarks.
        predictions (Predictions): Of M models on B benchmarks.
        table (AccuracyTable): What is known of the models, `(M, b)`.
        n_items (NDArray): Items of the fitted accuracies, `(b,)`.

    Returns:
        tuple: Fractions, both ends, and bool, each `(M, B)`.
    """
    place = np.array(
        [predictions.benchmarks.index(name) for name in partial.benchmarks])
    noise = sampling_noise(table.values, table.n_items, n_items)
    values, low, high = (
        part[:, :, 0].copy()
        for part in (predictions.values, predictions.low, predictions.high))
    helped = np.zeros(values.shape, bool)
    for row in np.flatnonzero(~np.isnan(table.values).all(axis=1)):
        gaps = np.isnan(table.values[row])
        before = values[row, place]
        after, narrowing = partial.complete(before, table.values[row],
                                            noise[row])
        lower, upper = _narrowed(before, low[row, place], high[row, place],
                                 after, narrowing)
        lower, upper = at_least_noise(lower, after, upper, n_items,
                                      predictions.level)
        cells = row, place[gaps]
        values[cells], helped[cells] = after[gaps], True
        low[cells], high[cells] = lower[gaps], upper[gaps]
    return values, low, high, helped


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
    says = (low > 0) | (high < 1)
    return (np.where(says, np.clip(after - below, 0, 1),
                     0), np.where(says, np.clip(after + above, 0, 1), 1))


def next_benchmarks(predictor: Predictor,
                    known: AccuracyTable) -> dict[str, dict[str, float]]:
    """What a run of each benchmark would tell about the others.

    Args:
        predictor (Predictor): Predicts them.
        known (AccuracyTable): Scores of models, NaN where not known.

    Returns:
        dict: By model and benchmark without a known score, the one that
        tells most first: by which share the predictive variances of the
        benchmarks that are then still unknown would shrink, on average.
        Without benchmarks if the predictor was fitted to too few models.
    """
    partial = learn_partial_scores(predictor)
    if partial is None:
        return {model: {} for model in known.models}
    found = {}
    table = known.spread(known.models, partial.benchmarks)
    for model, row in zip(known.models, table.values):
        gains = dict(zip(partial.benchmarks, partial.gains(~np.isnan(row))))
        unknown = [name for name in gains if not np.isnan(gains[name])]
        found[model] = {
            name: float(gains[name])
            for name in sorted(unknown, key=lambda name: -gains[name])
        }
    return found


def next_notes(predictor: Predictor, known: AccuracyTable) -> list[str]:
    """Which benchmark would help most to run next, models alike in a line.

    The `_NEXT` lines that help most, none of less than `_LEAST_GAIN`; one
    more counts the models that are left out.

    Args:
        predictor (Predictor): Predicts the others.
        known (AccuracyTable): Scores of models, NaN where not known. Models
            with none, or all but one, are left out.
    """
    alike: dict[tuple[float, str], list[str]] = {}
    by_model = next_benchmarks(predictor, known)
    for model, row in zip(known.models, known.values):
        gains = by_model[model]
        if len(gains) > 1 and not np.isnan(row).all():
            benchmark, gain = next(iter(gains.items()))
            alike.setdefault((-round(gain, 2), benchmark), []).append(model)
    best = sorted(alike)
    named = [key for key in best[:_NEXT] if -key[0] >= _LEAST_GAIN]
    lines = [
        f'to run next on {first(alike[key])}: '
        f'{key[1]}, which tells most about the scores still missing (it takes '
        f'{-key[0]:.0%} off the variance of their predictions, on average)'
        for key in named
    ]
    others = best[len(named):]
    if others:
        n_models = sum(len(alike[key]) for key in others)
        lines.append(f'to run next on {n_models} {"more " * bool(named)}'
                     f'model{"s" * (n_models > 1)}: left out, as no benchmark '
                     f'takes more than {-others[0][0]:.0%} off')
    return lines


def unused_notes(where: str, known: AccuracyTable, predictor: Predictor,
                 models: Sequence[str]) -> Iterator[str]:
    """Which known scores changed no prediction, and why.

    Args:
        where (str): The file of the scores.
        known (AccuracyTable): All that is in it.
        predictor (Predictor): Predicts the others.
        models (Sequence[str]): Models with losses.
    """
    has_scores = ~np.isnan(known.values).all(axis=1)
    without = [m for m in np.array(known.models, object)[has_scores]
               if m not in models]  # yapf: disable
    if without:
        yield (f'{where}: scores of {first(without)}, of which there are no '
               'losses, were not used')
    strange = [b for b in known.benchmarks if b not in predictor.names]
    if strange:
        yield (f'{where}: scores on {first(strange)}, which the predictor '
               'does not know, were not used')
    partial = learn_partial_scores(predictor)
    learned = partial.benchmarks if partial is not None else ()
    mute = [b for b in known.benchmarks if b not in (*strange, *learned)]
    if mute:
        yield (f'{where}: scores on {first(mute)} changed no prediction, as '
               'the predictor was fitted to too few models there to learn '
               'how they go with others')
