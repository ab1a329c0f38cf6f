"""Which of two models is better: decisions from losses, and the right ones.

    OMP_NUM_THREADS=1 python -m tools.studies.decisions_study \\
        ../shared/real ../shared/real/dclm ../shared/real/gemstones --zoo

prints tables in Markdown. The folders contain losses, scores, models and
benchmarks as docs/formats.md describes them. Families are dealt to folds, and
each fold is predicted by a fit to the others. Compared are all pairs of models
in a fold: of one family and of two families, on each main benchmark and by
their mean; of checkpoints (with a `step`), only those at one step if they are
of two families. Right is what agrees with the sign of the measured difference.

Beside the decisions of the package at 95 % (`core.differences`) are:

* intervals: those of the two predictions at 95 % do not overlap;
* mean loss: always the model with the lower one;
* mean loss, margin: only if they differ by more than a margin, the least by
  which 97.5 % of the pairs of training models are in the right order;
* items: the paired test of the accuracies themselves, on all items and on half
  of them. Answers to items are not known here, so the noise is simulated: an
  accuracy has `OWN_SHARE` of the binomial variance, and is drawn about the
  measured one.

With more losses than `UNITS` per benchmark, so many are drawn at random.
`--zoo` adds the models of the package and their second seeds: runs of one
recipe that are not better or worse.
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import binomtest, norm
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import MARGIN
from csv_plugin.core.differences import AccuracyDifferences, predict_jointly
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.intervals import OWN_SHARE, inverse, item_variance
from csv_plugin.core.paired import (BETTER, PREDICTED, PREDICTOR, RUNS, WORSE,
                                    Difference, Noise, run_noise)
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.salience.base import grouped_folds
from csv_plugin.core.training import Training, loss_feature_sets
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import load_predictor
from tools.studies.options import parser_of, tables_in, with_units

LEVEL, FOLDS = 0.95, 5
#: A decision at `LEVEL` has this probability, or more, to be right.
SURE = (1 + LEVEL) / 2
#: Losses of a benchmark, where there are more: half of the items of scores.
UNITS = 500
#: Bins of the calibration, and fewest pairs of one that counts.
BINS, LEAST_PAIRS = 10, 50
DECISIONS = ('models', 'pairs', 'on', 'n', 'rule', 'decided %', 'right %',
             'decided and right %')
CALIBRATION = 'models', 'probability', 'pairs', 'mean', 'right'
WITHIN, BETWEEN = 'of one family', 'of two families'


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of models on benchmarks or their mean, fractions, `(N,)` each.

    `variance` is that of the answer to an item, summed over both models, over
    the number of items; NaN if that is not known. `gap` is the mean loss of A
    minus that of B, `margin` the least one that decides.
    """
    is_mean: NDArray[np.bool_]
    within: NDArray[np.bool_]
    difference: NDArray
    real: NDArray
    probability: NDArray
    apart: NDArray[np.bool_]
    gap: NDArray
    margin: NDArray
    variance: NDArray

    def where(self, rows: NDArray[np.bool_]) -> 'Pairs':
        return Pairs(*(getattr(self, part.name)[rows]
                       for part in fields(self)))

    @classmethod
    def join(cls, parts: Sequence['Pairs']) -> 'Pairs':
        return cls(
            *(np.concatenate([getattr(part, name.name) for part in parts])
              for name in fields(cls)))


class Fold(NamedTuple):
    """A predictor, and the losses and families of models on both sides."""
    predictor: Predictor
    fitted: FeatureTable
    held_out: FeatureTable


def folds(features: FeatureTable, accuracies: AccuracyTable,
          families: Mapping[str, str]) -> Iterator[Fold]:
    """Fits to all folds of families but one."""
    names = np.array(features.models, object)
    fold = grouped_folds([families[name] for name in names], FOLDS, 0)
    for k in tqdm(range(fold.max() + 1), desc='folds'):
        fitted, held_out = (
            features.select(list(names[rows]))
            for rows in (fold != k, fold == k))
        groups = [families[name] for name in fitted.models]
        yield Fold(
            fit_predictor(fitted, accuracies.select(fitted.models), groups,
                          SOLVERS[DEFAULT_SOLVER]), fitted, held_out)


def margins(predictor: Predictor, loss: NDArray) -> NDArray[np.float64]:
    """Least gaps of mean losses that put training pairs in order.

    One per benchmark and one for the mean; infinite where none does.
    """
    scores = predictor.training_scores
    assert scores is not None
    first, second = np.triu_indices(len(loss), 1)
    gaps = loss[first] - loss[second]
    found = []
    for real in with_mean(scores.observed).T:
        rises = real[second] - real[first]
        known = ~np.isnan(rises)
        sizes, right = np.abs(gaps[known]), right_signs(
            gaps[known], rises[known])
        order = np.argsort(-sizes, kind='stable')
        share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
        enough = np.flatnonzero(share >= SURE)
        found.append(sizes[order][enough[-1]] if len(enough) else np.inf)
    return np.array(found)


def pairs_of(fold: Fold, accuracies: AccuracyTable,
             families: Mapping[str, str]) -> Pairs:
    """Pairs of the held-out models."""
    predictor, fitted, held_out = fold
    group = np.array([families[name] for name in held_out.models])
    step = np.array([name.partition('@')[2] for name in held_out.models])
    uniform = predictor.columns.uniform
    single = predictor.predict(held_out, LEVEL)
    low, high, real = (
        with_mean(part)
        for part in (single.low[:, :, 0], single.high[:, :, 0],
                     accuracies.select(held_out.models).values))
    n_items = np.array([part.n_items for part in predictor.benchmarks])
    # Items of unknown number make the noise unknown.
    variance = item_variance(real[:, :len(n_items)], n_items) * np.where(
        n_items > 0, inverse(n_items), np.nan)
    variance = np.append(
        variance, variance.mean(axis=1, keepdims=True) / len(n_items), axis=1)
    i, j = np.triu_indices(len(group), 1)
    kept = (group[i] == group[j]) | (step[i] == step[j])
    i, j = i[kept], j[kept]
    found = predict_jointly(predictor, held_out, list(group)).differences(i, j)
    above = stdtr(found.freedom, found.difference / found.deviation)
    loss = held_out.values @ uniform
    limits = margins(predictor, fitted.values @ uniform)
    parts = [
        Pairs(
            np.full(len(i), b == len(n_items)), group[i] == group[j],
            found.difference[b], real[j, b] - real[i, b], above[b],
            (low[i, b] > high[j, b]) | (low[j, b] > high[i, b]),
            loss[i] - loss[j], np.full(len(i), limits[b]),
            variance[i, b] + variance[j, b]) for b in range(real.shape[1])
    ]
    joined = Pairs.join(parts)
    return joined.where(~np.isnan(joined.real))


def with_mean(values: NDArray) -> NDArray[np.float64]:
    """Values `(n, B)` and their mean as a last column, if B is above 1."""
    if values.shape[1] < 2:
        return values
    return np.append(values, values.mean(axis=1, keepdims=True), axis=1)


def right_signs(decided: NDArray, real: NDArray) -> NDArray[np.float64]:
    """1 where signs agree, 0.5 for equal accuracies."""
    return np.where(real == 0, 0.5, np.sign(decided) == np.sign(real))


def decisions(pairs: Pairs) -> dict[str, tuple[NDArray, NDArray]]:
    """By rule, which pairs are decided, and numbers with the signs."""
    rng = np.random.default_rng(0)
    sure = np.maximum(pairs.probability, 1 - pairs.probability) >= SURE
    rules = {
        'differences': (sure, pairs.difference),
        'intervals': (pairs.apart, pairs.difference),
        'mean loss': (np.ones_like(sure), pairs.gap),
        'mean loss, margin': (np.abs(pairs.gap) >= pairs.margin, pairs.gap),
    }
    for name, share in (('all items', 1), ('half of the items', .5)):
        deviation = np.sqrt(OWN_SHARE * pairs.variance / share)
        drawn = pairs.real + deviation * rng.normal(size=len(pairs.real))
        rules[name] = np.abs(drawn) > norm.ppf(SURE) * deviation, drawn
    if np.isnan(pairs.variance).any():
        del rules['all items'], rules['half of the items']
    return rules


def decision_rows(name: str, pairs: Pairs) -> Iterator[list[Any]]:
    """Rows of the table of decisions."""
    for is_mean in (False, True):
        for within in (True, False):
            some = pairs.where((pairs.is_mean == is_mean)
                               & (pairs.within == within))
            if len(some.real) < LEAST_PAIRS:
                continue
            for rule, (decided, sign) in decisions(some).items():
                right = right_signs(sign, some.real)[decided]
                yield [
                    name, WITHIN if within else BETWEEN,
                    'mean' if is_mean else 'each',
                    len(decided), rule, 100 * decided.mean(),
                    100 * right.mean() if len(right) else np.nan,
                    100 * right.sum() / len(decided)
                ]


def calibration(name: str, pairs: Pairs) -> tuple[list[list[Any]], float]:
    """Rows of probabilities and shares that are right, and the largest gap.

    Of the model that is likelier to be better, whatever the order.
    """
    sign = np.sign(pairs.probability - 0.5)
    likelier = np.maximum(pairs.probability, 1 - pairs.probability)
    right = np.where(sign == 0, 0.5, right_signs(sign, pairs.real))
    bins = np.minimum((likelier * BINS).astype(int), BINS - 1)
    rows = [[
        name, f'{k / BINS:.1f} - {(k + 1) / BINS:.1f}',
        int((bins == k).sum()), likelier[bins == k].mean(),
        right[bins == k].mean()
    ] for k in range(BINS // 2, BINS) if (bins == k).sum() >= LEAST_PAIRS]
    return rows, max(abs(row[3] - row[4]) for row in rows)


def seed_rows(fold: Fold, series: str) -> list[tuple[NDArray, NDArray]]:
    """Decisions on twins of a series, without and with noise of runs.

    The noise is that between the other series' twins of the same size and
    checkpoint.
    """
    found = []
    ends = {name.partition('@')[2] for name in fold.fitted.models}
    for size, at in product('ms', sorted(ends)):
        other = 'c' if series == 'a' else 'a'
        twins = fold.held_out.select(
            [f'{twin}-{size}@{at}' for twin in (series, f'{series}2')])
        joint = predict_jointly(fold.predictor, twins, ['same', 'same'])
        shift = joint.differences(0, 1)
        runs = fold.fitted.select(
            [f'{twin}-{size}@{at}' for twin in (other, f'{other}2')])
        values = with_mean(fold.predictor.predict(runs).values[:, :, 0])
        noises = [{
            PREDICTOR: Noise(error, freedom),
            RUNS: run_noise(column)
        } for error, freedom, column in zip(shift.deviation, shift.freedom,
                                            values.T)]
        alone = [{PREDICTOR: noise[PREDICTOR]} for noise in noises]
        found.append((told_apart(shift, alone), told_apart(shift, noises)))
    return found


def told_apart(shift: AccuracyDifferences,
               noises: Sequence[Mapping[str, Noise]]) -> NDArray[np.bool_]:
    """Whether two models are told apart, `(K,)`."""
    verdicts = [
        Difference(PREDICTED, '', value, noise, LEVEL, MARGIN).verdict
        for value, noise in zip(shift.difference.tolist(), noises)
    ]
    return np.isin(verdicts, (BETTER, WORSE))


def zoo() -> tuple[Pairs, list[tuple[NDArray, NDArray]]]:
    """Pairs of the package's models, series left out, and of second seeds."""
    whole = read_collection(shipped.COLLECTION)
    targets = load_predictor(shipped.PREDICTOR).targets
    assert targets is not None
    table = targets.table(
        {name: whole.losses[name].texts
         for name in whole.losses})
    names = np.array(table.models, object)
    # Two series a fold, such that pairs of two families are there.
    fold = grouped_folds([whole.families[name] for name in names], 4, 0)
    pairs, seeds = [], []
    for k in tqdm(range(fold.max() + 1), desc='folds'):
        fitted, held_out = (
            table.select(list(names[rows])) for rows in (fold != k, fold == k))
        training = Training(fitted, whole.texts, whole.accuracies,
                            whole.families, targets)
        predictor = training.fit(
            loss_feature_sets(fitted, whole.texts, targets))
        one = Fold(predictor, *map(predictor.features, (fitted, held_out)))
        pairs.append(pairs_of(one, whole.accuracies, whole.families))
        for series in 'ac':
            if f'{series}2-m@100' in held_out.models:
                seeds += seed_rows(one, series)
    return Pairs.join(pairs), seeds


def of_folder(folder: Path) -> Pairs:
    """Pairs of a collection of tables, families left out."""
    tables = tables_in(folder)
    tables = with_units(tables, drawn_units(tables.features.columns.units))
    accuracies = tables.accuracies.select(benchmarks=tables.accuracies.main)
    return Pairs.join([
        pairs_of(fold, accuracies, tables.families)
        for fold in folds(tables.features, accuracies, tables.families)
    ])


def drawn_units(units: Sequence[str]) -> list[str]:
    """At most `UNITS` per task, which is what stands before the first /."""
    rng = np.random.default_rng(0)
    tasks = np.array([unit.partition('/')[0] for unit in units])
    chosen = np.zeros(len(units), bool)
    for task in np.unique(tasks):
        rows = np.flatnonzero(tasks == task)
        chosen[rng.permutation(rows)[:UNITS]] = True
    return list(np.array(units, object)[chosen])


def seed_table(seeds: Sequence[tuple[NDArray, NDArray]]) -> str:
    """Shares of twins that are told apart, on each exam and by the mean."""
    rows = []
    for label, of_recipes in (('as models', 0), ('as recipes', 1)):
        told = np.array([pair[of_recipes] for pair in seeds])
        for name, part in (('each', told[:, :-1]), ('mean', told[:, -1])):
            test = binomtest(int(part.sum()), part.size)
            low, high = test.proportion_ci(.9, 'wilson')
            rows.append([
                label, name, part.size,
                int(part.sum()), f'{100 * low:.1f} - {100 * high:.1f}'
            ])
    return tabulate(
        rows, ['second seeds', 'on', 'pairs', 'told apart', '90 %, percent'],
        'pipe')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folders', nargs='*', type=Path, metavar='FOLDER')
    parser.add_argument('--zoo', action='store_true', help='the demonstration')
    args = parser.parse_args()
    found = {folder.name: of_folder(folder) for folder in args.folders}
    if args.zoo:
        found['zoo'], seeds = zoo()
        print(f'{seed_table(seeds)}\n')
    rows = [row for item in found.items() for row in decision_rows(*item)]
    print(tabulate(rows, DECISIONS, 'pipe', floatfmt='.1f'))
    for name, pairs in found.items():
        rows, gap = calibration(name, pairs)
        print(f'\nLargest gap {gap:.3f}\n')
        print(tabulate(rows, CALIBRATION, 'pipe', floatfmt='.3f'))


if __name__ == '__main__':
    main()
