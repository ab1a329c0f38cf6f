"""Means over benchmarks, and ranks of models by these means.

Intervals, ranges of ranks and probabilities to be best are views of the joint
distribution of the accuracies (core.joint).
"""
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import places
from csv_plugin.core.joint import DRAWS, Joint
from csv_plugin.core.predictions import Predictions

#: What tables call mean absolute differences on held-out models.
MEAN_ERROR = 'mean abs. error'


class NamedJoint(NamedTuple):
    """The joint distribution of the accuracies of models on benchmarks.

    Names are in the order of its rows and columns.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    joint: Joint

    def renamed(self, names: Mapping[str, str]) -> 'NamedJoint':
        """Return the models among `names`, which has old names by new ones."""
        kept, rows = [], []
        for new, old in names.items():
            if old in self.models:
                kept.append(new)
                rows.append(self.models.index(old))
        joint = self.joint.take(np.array(rows, int))
        return NamedJoint(tuple(kept), self.benchmarks, joint)


class MeanView(NamedTuple):
    """What a joint distribution says about the means of M models.

    Ends of intervals, `low` and `high`, are fractions. Ranks in an interval go
    from `first` to `last`; `best` is the probability of the largest mean.
    `(M,)` each, NaN where unknown.
    """
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    best: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Overall:
    """Means of M models over the same benchmarks, observed and by P methods.

    A model without a number on one of the benchmarks has no mean (NaN). Means
    are fractions, observed `(M,)` and predicted `(M, P)`. `in_sample`, `(M,
    P)`, marks means of training models of one of the benchmarks. `views` are
    of the methods whose joint distribution is known.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    methods: tuple[str, ...]
    observed: NDArray[np.float64]
    values: NDArray[np.float64]
    in_sample: NDArray[np.bool_]
    views: Mapping[str, MeanView]

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        joints: Mapping[str, NamedJoint] = MappingProxyType({})
    ) -> 'Overall':
        """Make means over main benchmarks that the first method predicts.

        Benchmarks that are not predictable yet are left out. A model lacks a
        mean if it lacks one benchmark. So benchmarks that few models ran are
        dropped where that makes (models with a mean) x (benchmarks) larger.
        Methods without any mean are dropped. `joints` are those of the
        methods, where known.
        """
        names = []
        for name in predictions.main:
            if name not in predictions.not_yet:
                names.append(name)
        predictions = predictions.select(benchmarks=names)
        chosen = _chosen(predictions)
        values = _means(predictions.values[:, chosen])
        has_mean = ~np.isnan(values)
        kept = has_mean.any(axis=0)
        is_fitted = predictions.in_sample[:, chosen].any(axis=1)
        overall = cls(
            predictions.models,
            tuple(compress(predictions.benchmarks, chosen)),
            tuple(compress(predictions.methods, kept)),
            _means(predictions.observed[:, chosen]),
            values[:, kept],
            in_sample=(is_fitted & has_mean)[:, kept],
            views={})
        views = {}
        for method in overall.methods:
            if method in joints:
                views[method] = overall._view(method, joints[method],
                                              predictions.level)
        return replace(overall, views=views)

    def _view(self, method: str, named: NamedJoint, level: float) -> MeanView:
        """The view of a method; ranks are those of `ranked` models."""
        p = self.methods.index(method)
        has_mean = ~np.isnan(self.values[:, p])
        columns = np.array(places(self.benchmarks, named.benchmarks))
        rows = np.array(places(self.models, named.models))
        view = MeanView(*np.full((5, len(rows)), np.nan))
        _, low, high = named.joint.means(columns, level)
        view.low[has_mean] = low[rows[has_mean]]
        view.high[has_mean] = high[rows[has_mean]]
        ranked = has_mean & self.ranked
        if ranked.any():
            # Most ranks that are drawn for all models together, and fewest
            # draws, so that a thousand models take seconds.
            most_ranks, least_draws = 400_000, 500
            n_draws = min(DRAWS, most_ranks // ranked.sum())
            joint = named.joint.take(rows[ranked])
            draws = joint.draws(max(n_draws, least_draws))
            means = draws[:, :, columns].mean(axis=2)
            order = order_of(means, level)
            view.first[ranked] = order.first
            view.last[ranked] = order.last
            view.best[ranked] = order.best
        return view

    @property
    def has_means(self) -> bool:
        """True if the means are over several benchmarks.

        Nothing is shown of the mean of a single one: it is its accuracy.
        """
        return len(self.benchmarks) > 1

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """Models with an observed mean, if any, and one by the first method.

        A lone model has no rank.
        """
        found = np.full(len(self.observed), True)
        if not np.isnan(self.observed).all():
            found = ~np.isnan(self.observed)
            if self.methods:
                found &= ~np.isnan(self.values[:, 0])
        return found & (found.sum() > 1)

    def observed_ranks(self) -> NDArray[np.float64]:
        """Return ranks of `ranked` models by the observed means, `(M,)`."""
        return ranks(np.where(self.ranked, self.observed, np.nan))

    def predicted_ranks(self) -> NDArray[np.float64]:
        """Return ranks of `ranked` models by the predicted means, `(M, P)`."""
        return ranks(np.where(self.ranked[:, None], self.values, np.nan))

    def order(self) -> list[int]:
        """Return the places of the models, the largest mean first.

        A model without a mean by the first method has the place of its
        observed mean. Models without any mean are last.
        """
        means = self.observed
        if self.methods:
            predicted = self.values[:, 0]
            means = np.where(np.isnan(predicted), self.observed, predicted)
        return np.argsort(-means, kind='stable').tolist()

    def differences(self) -> NDArray[np.float64]:
        """Return predicted minus observed means, `(M, P)`; NaN if missing."""
        return self.values - self.observed[:, None]

    def mean_differences(self) -> list[float]:
        """Return mean absolute differences on held-out models by method."""
        errors = []
        for p, predicted in enumerate(self.values.T):
            errors.append(metrics.mae(self._held_out(p), predicted))
        return errors

    def agreement(self, method: str, least: int = 5) -> tuple[float, int]:
        """Return Spearman's rank correlation and the number of its models.

        These are held-out models with both means; the correlation is NaN with
        fewer than `least`.
        """
        p = self.methods.index(method)
        observed, predicted = self._held_out(p), self.values[:, p]
        n_models = int(np.isfinite(observed + predicted).sum())
        if n_models < least:
            return float('nan'), n_models
        return metrics.spearman(observed, predicted), n_models

    def _held_out(self, p: int) -> NDArray[np.float64]:
        """Observed means, NaN for training models of method p."""
        return np.where(self.in_sample[:, p], np.nan, self.observed)


class Order(NamedTuple):
    """Ranks of M models or runs, 1 for the best.

    Ranks from `first` to `last` are possible, and `best` is the probability to
    be the best one. `(M,)` each.
    """
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    best: NDArray[np.float64]


def order_of(draws: NDArray, level: float) -> Order:
    """Return the order by draws `(n, M)` of accuracies or of their means.

    Ranges of ranks hold the rank with the probability `level`. All is NaN for
    a single model, which has no rank.
    """
    n_models = draws.shape[1]
    if n_models < 2:
        return Order(*np.full((3, n_models), np.nan))
    best_first = np.argsort(-draws, axis=1)
    # Sorting the models of this order finds the place of each in it.
    drawn_ranks = 1 + np.argsort(best_first, axis=1)
    tail = (1 - level) / 2
    first, last = np.quantile(
        drawn_ranks, [tail, 1 - tail], axis=0, method='inverted_cdf')
    best = (drawn_ranks == 1).mean(axis=0)
    return Order(first, last, best)


def _chosen(predictions: Predictions) -> NDArray[np.bool_]:
    """Mask of the benchmarks that means are over, `(B,)`.

    A benchmark counts if the first method predicts it, or all do if it
    predicts none. Of these, candidates are the benchmarks that at least
    `least` models ran, for each such number. The candidate with the largest
    (models that ran all of it) x (benchmarks) wins; of equal ones, that of
    most benchmarks.
    """
    is_predicted = ~np.isnan(predictions.values[:, :, 0]).all(axis=0)
    if not is_predicted.any():
        is_predicted = ~is_predicted
    was_run = ~np.isnan(predictions.observed)
    if not was_run.any():
        return is_predicted
    # Without a run of any predicted benchmark, all that were run count.
    if was_run[:, is_predicted].any():
        was_run &= is_predicted
    n_models = was_run.sum(axis=0)
    chosen, most = is_predicted, -1
    for least in np.unique(n_models[n_models > 0]):
        candidate = n_models >= least
        n_complete = was_run[:, candidate].all(axis=1).sum()
        n_counted = n_complete * candidate.sum()
        if n_counted > most:
            chosen, most = candidate, n_counted
    return chosen


def _means(accuracies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over the second axis; NaN over none."""
    # Sums of the same accuracies in another order differ in the last digit.
    n = accuracies.shape[1] or np.nan
    return np.asarray(accuracies.sum(axis=1) / n).round(12)


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Return ranks of columns, 1 for the largest; NaN stays NaN.

    Equal values share the better rank.
    """
    columns = np.asarray(values, np.float64)
    return np.apply_along_axis(metrics.best_ranks, 0, columns)
