"""Mean accuracies over benchmarks, and ranks of models by these means.

Intervals, ranges of ranks, and probabilities that a model is the best are
computed from the joint distribution of the accuracies (core.joint).
"""
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import indices_of
from csv_plugin.core.arrays import Booleans, Floats
from csv_plugin.core.joint import DRAWS, Joint
from csv_plugin.core.predictions import Miss, Predictions, farthest_first

#: Label in tables of the mean absolute difference between predicted and
#: observed means of held-out models.
MEAN_ERROR = 'mean abs. error'


class NamedJoint(NamedTuple):
    """A joint distribution with the names of its models and benchmarks.

    `models` names the rows of `joint`, and `benchmarks` its columns.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    joint: Joint

    def renamed(self, names: Mapping[str, str]) -> 'NamedJoint':
        """Return the distribution of some models, under new names.

        `names` maps each new name to the old name. Models without a new name
        are left out, and unknown old names are ignored.
        """
        kept = []
        rows = []
        for new, old in names.items():
            if old in self.models:
                kept.append(new)
                rows.append(self.models.index(old))
        joint = self.joint.take(np.array(rows, int))
        return NamedJoint(tuple(kept), self.benchmarks, joint)


class RankRanges(NamedTuple):
    """Ranges of ranks of M models or runs; rank 1 is the best.

    `first` and `last` are the best and the worst rank in the range of likely
    ranks. `best` is the probability of rank 1. Each array is `(M,)`, NaN where
    unknown.
    """
    first: Floats
    last: Floats
    best: Floats

    @classmethod
    def unknown(cls, n_models: int) -> 'RankRanges':
        """Return ranges that are NaN for all models."""
        return cls(*np.full((3, n_models), np.nan))


class MeanView(NamedTuple):
    """What a joint distribution says about the mean accuracies of M models.

    `low` and `high`, `(M,)`, are the limits of the intervals of the means,
    fractions, NaN where unknown. `ranks` are ranks by these means.
    """
    low: Floats
    high: Floats
    ranks: RankRanges


@dataclass(frozen=True, eq=False)
class Overall:
    """Mean accuracies of M models over the same benchmarks.

    `observed`, `(M,)`, are the means of observed accuracies, and `values`,
    `(M, P)`, are the means of accuracies that P methods predict, as fractions.
    A mean is NaN if the model lacks an accuracy on one of the benchmarks.
    `in_sample`, `(M, P)`, is True for a predicted mean if the model is a
    training model of the method on at least one of the benchmarks, and
    `was_known`, `(M, P)`, if all of its accuracies were known, so that there
    was nothing to predict. `views` has a `MeanView` for each method whose
    joint distribution is known.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    methods: tuple[str, ...]
    observed: Floats
    values: Floats
    in_sample: Booleans
    was_known: Booleans
    views: Mapping[str, MeanView]

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        joints: Mapping[str, NamedJoint] = MappingProxyType({})
    ) -> 'Overall':
        """Return means over the benchmarks that the first method predicts.

        Benchmarks outside of means (`Predictions.outside_means`) and
        benchmarks that are not predictable yet are left out. A model has no
        observed mean if it did not run one of the benchmarks. So benchmarks
        that few models ran are left out, if this makes (number of models with
        a mean) x (number of benchmarks) larger. Methods without any mean are
        left out. `joints` has the joint distribution of each method for which
        it is known.
        """
        not_yet = predictions.not_yet
        names = [name for name in predictions.main if name not in not_yet]
        predictions = predictions.select(benchmarks=names)
        of_means = _benchmarks_of_means(predictions)
        benchmarks = compress(predictions.benchmarks, of_means)
        observed = _means(predictions.observed[:, of_means])
        values = _means(predictions.values[:, of_means])
        has_mean = ~np.isnan(values)
        cells_fitted = predictions.in_sample[:, of_means]
        in_sample = cells_fitted.any(axis=1) & has_mean
        # A known accuracy is its own prediction, with no error.
        cells_known = predictions.expected_error[:, of_means] == 0
        was_known = cells_known.all(axis=1)
        # Methods with a mean.
        kept = has_mean.any(axis=0)
        methods = compress(predictions.methods, kept)
        overall = cls(
            models=predictions.models,
            benchmarks=tuple(benchmarks),
            methods=tuple(methods),
            observed=observed,
            values=values[:, kept],
            in_sample=in_sample[:, kept],
            was_known=was_known[:, kept],
            views={})
        views = {}
        for method in overall.methods:
            if method in joints:
                joint = joints[method]
                view = overall._view(method, joint, predictions.level)
                views[method] = view
        return replace(overall, views=views)

    def _view(self, method: str, named: NamedJoint, level: float) -> MeanView:
        """Return what a method's joint distribution says about the means.

        Ranks are among all models with a mean by the method. `level` is the
        probability that an interval holds the mean, and that a range of ranks
        holds the rank.
        """
        p = self.methods.index(method)
        has_mean = ~np.isnan(self.values[:, p])
        # Indices of the benchmarks, and of the models with a mean, in the
        # joint distribution.
        columns = np.array(indices_of(self.benchmarks, named.benchmarks))
        rows = np.array(indices_of(self.models, named.models))[has_mean]
        _, low, high = named.joint.means(columns, level)
        ranks = RankRanges.unknown(len(rows))
        if len(rows) > 1:
            joint = named.joint.take(rows)
            draws = joint.draws(_number_of_draws(len(rows)))
            drawn_means = draws[:, :, columns].mean(axis=2)
            ranks = rank_ranges(drawn_means, level)
        # Models without a mean get NaN.
        known = np.array([low[rows], high[rows], *ranks])
        found = np.full((len(known), len(has_mean)), np.nan)
        found[:, has_mean] = known
        low, high, *all_ranks = found
        return MeanView(low, high, RankRanges(*all_ranks))

    @property
    def has_means(self) -> bool:
        """True if the means are over more than one benchmark.

        Otherwise reports show no means, as the mean over one benchmark is the
        accuracy on it.
        """
        return len(self.benchmarks) > 1

    @property
    def has_ranks(self) -> bool:
        """True if there are ranks, by observed or by predicted means."""
        ranks = [self.observed_ranks()]
        if self.methods:
            ranks.extend(self.predicted_ranks().T)
        return bool(np.isfinite(ranks).any())

    def observed_ranks(self) -> Floats:
        """Return the ranks among the models with an observed mean, `(M,)`.

        Models without a rank have NaN.
        """
        return column_ranks(self.observed)

    def predicted_ranks(self) -> Floats:
        """Return the ranks by predicted means, `(M, P)`.

        The ranks of a method are among the models with a mean by this method.
        Models without a rank have NaN.
        """
        return column_ranks(self.values)

    def best_first(self) -> list[int]:
        """Return the indices of the models, the largest mean first.

        Models are sorted by their mean by the first method, or by their
        observed mean if they lack it. Models without any mean come last.
        """
        means = self.observed
        if self.methods:
            predicted = self.values[:, 0]
            lacks_mean = np.isnan(predicted)
            means = np.where(lacks_mean, self.observed, predicted)
        largest_first = np.argsort(-means, kind='stable')
        return largest_first.tolist()

    def differences(self) -> Floats:
        """Return predicted minus observed means, `(M, P)`.

        A difference is NaN if one of the two means is missing, and if all
        accuracies of the model were known.
        """
        differences = self.values - self.observed[:, None]
        return np.where(self.was_known, np.nan, differences)

    def mean_differences(self) -> list[float]:
        """Return the mean absolute error of each method's means.

        It is taken over models that are not training models of the method.
        """
        errors = []
        for p, predicted in enumerate(self.values.T):
            observed = self._held_out(p)
            error = metrics.mae(observed, predicted)
            errors.append(error)
        return errors

    def agreement(self, method: str) -> tuple[float, int]:
        """Return Spearman's rank correlation, and the number of models.

        The correlation is between observed means and the method's means, over
        the held-out models that have both. It is NaN if they are too few.
        """
        # The smallest number of models whose correlation is shown.
        least = 5
        p = self.methods.index(method)
        observed = self._held_out(p)
        predicted = self.values[:, p]
        has_both = np.isfinite(observed + predicted)
        n_models = int(has_both.sum())
        if n_models < least:
            return float('nan'), n_models
        return metrics.spearman(observed, predicted), n_models

    def _held_out(self, p: int) -> Floats:
        """Return observed means, `(M,)`; NaN for training models of method p.

        `p` is the index of the method.
        """
        is_training = self.in_sample[:, p]
        return np.where(is_training, np.nan, self.observed)


def mean_misses(overall: Overall, predictions: Predictions,
                method: str) -> list[Miss]:
    """Return observed means outside of intervals, the farthest first.

    Training models of the method are left out, and so are models that answered
    fewer items than the intervals of `predictions` assume. The benchmark of
    each `Miss` is a text such as 'mean of 5'. The result is empty if there are
    no means or no intervals.
    """
    view = overall.views.get(method)
    if view is None or not overall.has_means:
        return []
    p = overall.methods.index(method)
    more_noise = predictions.more_noise.max(axis=(1, 2), initial=0)
    found = []
    for m, observed in enumerate(overall._held_out(p)):
        value = float(overall.values[m, p])
        is_unknown = math.isnan(observed) or math.isnan(view.low[m])
        if is_unknown or more_noise[m] > 0:
            continue
        low = float(view.low[m])
        high = float(view.high[m])
        if low <= observed <= high:
            continue
        found.append(
            Miss(overall.models[m], f'mean of {len(overall.benchmarks)}',
                 float(observed), value, low, high))
    return farthest_first(found)


def _number_of_draws(n_models: int) -> int:
    """Return how many draws the ranks of so many models are taken from.

    It is `DRAWS`, or fewer for many models, so that a thousand models take
    seconds.
    """
    # The largest number of ranks to draw, for all models together, and the
    # smallest number of draws.
    most_ranks = 400_000
    least_draws = 500
    n_draws = min(DRAWS, most_ranks // n_models)
    return max(n_draws, least_draws)


def rank_ranges(draws: NDArray, level: float) -> RankRanges:
    """Return the ranges of ranks of M models, from n draws, `(n, M)`.

    A draw has one accuracy, or one mean accuracy, for each model. Ranges of
    ranks hold the rank with the probability `level`. For a single model, which
    has no rank, all values are NaN.
    """
    n_models = draws.shape[1]
    if n_models < 2:
        return RankRanges.unknown(n_models)
    best_first = np.argsort(-draws, axis=1)
    # The inverse permutation has the position of each model in this order.
    drawn_ranks = 1 + np.argsort(best_first, axis=1)
    tail = (1 - level) / 2
    probabilities = [tail, 1 - tail]
    first, last = np.quantile(
        drawn_ranks, probabilities, axis=0, method='inverted_cdf')
    is_best = drawn_ranks == 1
    best = is_best.mean(axis=0)
    return RankRanges(first, last, best)


def _benchmarks_of_means(predictions: Predictions) -> Booleans:
    """Return the mask of the benchmarks that means are taken over, `(B,)`.

    The benchmarks to choose from are the benchmarks that the first method
    predicts, or all benchmarks if it predicts none. For each number `least`,
    one candidate is the set of all these benchmarks that at least `least`
    models ran. The candidate with the largest (number of models that ran all
    of its benchmarks) x (number of its benchmarks) is chosen. If several
    candidates have the same product, the candidate with most benchmarks is
    chosen.
    """
    by_first_method = predictions.values[:, :, 0]
    has_prediction = ~np.isnan(by_first_method)
    is_predicted = has_prediction.any(axis=0)
    if not is_predicted.any():
        is_predicted[:] = True
    was_run = ~np.isnan(predictions.observed)
    if not was_run.any():
        return is_predicted
    # If no model ran a predicted benchmark, all benchmarks that were run are
    # chosen from.
    if was_run[:, is_predicted].any():
        was_run &= is_predicted
    n_models = was_run.sum(axis=0)
    chosen = is_predicted
    most = -1
    numbers = np.unique(n_models)
    for least in numbers[numbers > 0]:
        candidate = n_models >= least
        of_candidate = was_run[:, candidate]
        is_complete = of_candidate.all(axis=1)
        n_counted = is_complete.sum() * candidate.sum()
        if n_counted > most:
            chosen = candidate
            most = n_counted
    return chosen


def _means(accuracies: Floats) -> Floats:
    """Return means over the second axis; NaN if it has the length 0."""
    n_benchmarks = accuracies.shape[1] or np.nan
    means = accuracies.sum(axis=1)
    means /= n_benchmarks
    # Rounded, as sums of the same accuracies in another order differ in the
    # last digit.
    return np.round(means, 12)


def column_ranks(values: ArrayLike) -> Floats:
    """Return the ranks of values within each column, 1 for the largest.

    NaN stays NaN. Equal values share the best rank of the group. The only
    value of a column has no rank, so it becomes NaN. A one-dimensional array
    counts as one column.
    """
    columns = np.asarray(values, np.float64)
    ranks = np.apply_along_axis(metrics.best_ranks, 0, columns)
    n_values = np.isfinite(columns).sum(axis=0)
    return np.where(n_values > 1, ranks, np.nan)
