"""Which of two models is better: decisions from losses, and the right ones.

    OMP_NUM_THREADS=1 python -m tools.studies.decisions_study \\
        ../shared/real ../shared/real/dclm ../shared/real/gemstones \\
        --bits --zoo

prints tables in Markdown. The folders contain losses, scores, models and
benchmarks as docs/formats.md describes them. Families are dealt to folds, and
each fold is predicted by a fit to the others. Compared are all pairs of models
in a fold: of one family and of two families, on each main benchmark and by
their mean; of checkpoints (with a `step`), only those at one step if they are
of two families. Right is what agrees with the sign of the measured difference.

Decisions of the package at 95 % are `differences`, by predicted accuracies,
and for the mean `compare`, as the package decides by default: by the loss
where predictions cannot tell and point the same way. Beside them are:

* intervals: those of the two predictions at 95 % do not overlap;
* mean loss: always the model with the lower one;
* mean loss, margin: only if they differ by more than a margin, the least by
  which 97.5 % of the pairs of training models are in the right order;
* items: the paired test of the accuracies themselves, on all items and on half
  of them. Answers to items are not known here, so the noise is simulated: an
  accuracy has `OWN_SHARE` of the binomial variance, and is drawn about the
  measured one.

With more losses than `UNITS` per benchmark, so many are drawn at random.
`--bits` adds the package's table of bits per character. `--zoo` adds the
models of the package and their second seeds: runs of one recipe that are not
better or worse.
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import MARGIN, compare
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.joint import Sum
from csv_plugin.core.noise import (BETTER, PREDICTED, PREDICTOR, RUNS, WORSE,
                                   Difference, Noise, run_noise)
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.lm.methods import fit
from tools.studies.full_collections import BITS
from tools.studies.full_collections import dealt as groups_of
from tools.studies.options import TABLES, parser_of, tables_in, with_units

LEVEL, ZOO_FOLDS = 0.95, 4
#: A decision at `LEVEL` has this probability, or more, to be right.
SURE = (1 + LEVEL) / 2
#: Share of the binomial variance of an accuracy that is a model's own, as
#: measured on neighbouring checkpoints (docs/appendix/real_runs.md).
OWN_SHARE = 0.25
#: Losses of a benchmark, where there are more: half of the items of scores.
UNITS = 500
#: Bins of the calibration, and fewest pairs of one that counts.
BINS, LEAST_PAIRS = 10, 50
DECISIONS = ('models', 'pairs', 'on', 'n', 'rule', 'decided %', 'right %',
             'decided and right %')
#: Columns of `summary_row`, and rules with the share that is right.
SUMMARY = ('families left out', 'pairs', 'decided %', 'right %',
           'mean or loss decides %', 'right %', 'lower loss is right %',
           'intervals apart %', 'by half of the items %', 'largest gap')
WITH_RIGHT = 'differences', 'compare'
CALIBRATION = 'models', 'probability', 'pairs', 'mean', 'right'
WITHIN, BETWEEN = 'of one family', 'of two families'


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of models on benchmarks or their mean, fractions, `(N,)` each.

    `variance` is that of the answer to an item, summed over both models, over
    the number of items; NaN if that is not known. `gap` is the mean loss of A
    minus that of B, `margin` the least one that decides. `by_loss` is True
    for means on which the loss decides where predictions cannot tell.
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
    by_loss: NDArray[np.bool_]

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


def dealt(families: Sequence[str], n_folds: int) -> NDArray[np.int64]:
    """Fold of each model, `(n,)`; no family is divided.

    The largest family goes first, into the fold with the fewest models.
    """
    _, member, sizes = np.unique(
        families, return_inverse=True, return_counts=True)
    fold_of_family = np.empty(len(sizes), int)
    fold_sizes = np.zeros(n_folds, int)
    for family in np.argsort(-sizes, kind='stable'):
        fold = fold_sizes.argmin()
        fold_of_family[family] = fold
        fold_sizes[fold] += sizes[family]
    return fold_of_family[member]


def folds(features: FeatureTable, accuracies: AccuracyTable,
          families: Mapping[str, str]) -> Iterator[Fold]:
    """Fits to all folds of families but one."""
    names = np.array(features.models, object)
    fold = groups_of(np.array([families[name] for name in names]))
    for k in tqdm(np.unique(fold), desc='folds'):
        fitted, held_out = (
            features.select(list(names[rows]))
            for rows in (fold != k, fold == k))
        groups = [families[name] for name in fitted.models]
        yield Fold(
            fit_predictor(fitted, accuracies.select(fitted.models), groups),
            fitted, held_out)


def sums_of(predictor: Predictor, models: FeatureTable,
            families: Sequence[str], i: NDArray,
            j: NDArray) -> list[list[Sum]]:
    """Predicted accuracies of models j minus those of i, by pair.

    On each benchmark and, of several, their mean.
    """
    joint = predictor.joint(models, dict(zip(models.models, families)))
    # Covariances are computed once, not by pair.
    deviation = np.sqrt(joint.variance).T
    joint = replace(
        joint,
        within=joint.correlations * deviation[:, :, None] * deviation[:, None],
        shared=joint.between)
    is_main = np.isin(predictor.names, predictor.main)
    shares = with_mean(np.eye(len(is_main))[:, is_main]).T
    return [[pair.sum(np.stack([-share, share]), LEVEL) for share in shares]
            for pair in (joint.take(np.array(rows)) for rows in zip(i, j))]


def margins(predictor: Predictor, loss: NDArray) -> NDArray[np.float64]:
    """Least gaps of mean losses that put training pairs in order.

    One per benchmark and one for the mean; infinite where none does.
    """
    first, second = np.triu_indices(len(loss), 1)
    gaps = loss[first] - loss[second]
    found = []
    is_main = np.isin(predictor.names, predictor.main)
    for real in with_mean(predictor.observed[:, is_main]).T:
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
    predictor, _, held_out = fold
    group = np.array([families[name] for name in held_out.models])
    step = np.array([name.partition('@')[2] for name in held_out.models])
    uniform = predictor.columns.uniform
    single = predictor.predict(held_out, LEVEL)
    single = single.select(benchmarks=predictor.main)
    low, high, real = (
        with_mean(part) for part in (
            single.low[:, :, 0], single.high[:, :, 0],
            accuracies.reindexed(held_out.models, predictor.main).values))
    n_items = np.array(
        [part.n_items for part in predictor.benchmarks if part.main])
    # Items of unknown number make the noise unknown.
    items = np.where(n_items > 0, n_items, np.nan)
    right = real[:, :len(items)]
    variance = right * (1 - right) / items
    variance = np.append(
        variance, variance.mean(axis=1, keepdims=True) / len(items), axis=1)
    i, j = np.triu_indices(len(group), 1)
    kept = (group[i] == group[j]) | (step[i] == step[j])
    i, j = i[kept], j[kept]
    by_loss = np.array([
        compare(
            *(held_out.select([held_out.models[row]]) for row in pair),
            level=LEVEL).verdict for pair in zip(i, j)
    ])
    found = sums_of(predictor, held_out, list(group), i, j)
    difference, above = (
        np.array([[getattr(part, name) for part in row]
                  for row in found]).reshape(len(i), real.shape[1])
        for name in ('value', 'positive'))
    loss = held_out.values @ uniform
    limits = margins(predictor, predictor.fit.losses @ uniform)
    parts = [
        Pairs(
            np.full(len(i), b == len(n_items)), group[i] == group[j],
            difference[:, b], real[j, b] - real[i, b], above[:, b],
            (low[i, b] > high[j, b]) | (low[j, b] > high[i, b]),
            loss[i] - loss[j], np.full(len(i), limits[b]),
            variance[i, b] + variance[j, b], (b == len(n_items)) &
            (by_loss == np.where(difference[:, b] > 0, BETTER, WORSE)))
        for b in range(real.shape[1])
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
        'compare': (sure | pairs.by_loss, pairs.difference),
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


def summary_row(name: str, pairs: Pairs) -> list[str]:
    """Return what docs/results.md shows of a collection.

    Numbers are of all pairs on each benchmark and, in brackets, by the mean.
    """
    parts = [
        pairs.where(pairs.is_mean == is_mean) for is_mean in (False, True)
    ]
    found = [decisions(part) for part in parts]
    row = [name, _both('{:,}', [len(part.real) for part in parts])]
    for rule in ('differences', 'compare', 'mean loss', 'intervals',
                 'half of the items'):
        if rule not in found[0]:
            row += ['-'] * (2 if rule in WITH_RIGHT else 1)
            continue
        shares, right = [], []
        for part, rules in zip(parts, found):
            decided, sign = rules[rule]
            shares.append(100 * decided.mean())
            right.append(100 * right_signs(sign, part.real)[decided].mean())
        if rule == 'compare':
            row += [f'{shares[1]:.0f}', f'{right[1]:.1f}']
        elif rule == 'mean loss':
            row.append(_both('{:.0f}', right))
        else:
            row.append(_both('{:.0f}', shares))
            if rule in WITH_RIGHT:
                row.append(_both('{:.1f}', right))
    return [*row, f'{calibration(name, pairs)[1]:.2f}']


def _both(form: str, values: Sequence[float]) -> str:
    each, mean = (form.format(value) for value in values)
    return f'{each} ({mean})'


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
        pair = np.array([0]), np.array([1])
        shifts, = sums_of(fold.predictor, twins, ['same', 'same'], *pair)
        runs = fold.fitted.select(
            [f'{twin}-{size}@{at}' for twin in (other, f'{other}2')])
        values = with_mean(fold.predictor.predict(runs).values[:, :, 0])
        degrees = fold.predictor.model.tails.degrees
        alone, of_runs = [], []
        for shift, column in zip(shifts, values.T):
            noises = {PREDICTOR: Noise.of_sum(shift, LEVEL, degrees)}
            alone.append(told_apart(shift.value, noises))
            noises[RUNS] = run_noise([column])
            of_runs.append(told_apart(shift.value, noises))
        found.append((np.array(alone), np.array(of_runs)))
    return found


def told_apart(value: float, noises: Mapping[str, Noise]) -> bool:
    """Whether two models are told apart."""
    found = Difference(PREDICTED, '', value, noises, LEVEL, MARGIN)
    return found.verdict in (BETTER, WORSE)


def zoo_folds() -> Iterator[tuple[Fold, AccuracyTable, dict[str, str]]]:
    """Fits to all series of the package's models but two.

    Also the accuracies and the families of all models.
    """
    whole = read_collection(shipped.COLLECTION)
    names = np.array([*whole.losses], object)
    # Two series a fold, such that pairs of two families are there.
    fold = dealt([whole.families[name] for name in names], ZOO_FOLDS)
    for k in tqdm(np.unique(fold), desc='folds of the demonstration'):
        sides = [list(names[rows]) for rows in (fold != k, fold == k)]
        predictor = fit(
            whole.losses.select(sides[0]), whole.accuracies.select(sides[0]),
            whole.families)
        one = Fold(
            predictor,
            *(predictor.features({name: whole.losses[name]
                                  for name in side}) for side in sides))
        yield one, whole.accuracies, whole.families


def zoo() -> tuple[Pairs, list[tuple[NDArray, NDArray]]]:
    """Pairs of the package's models, series left out, and of second seeds."""
    pairs, seeds = [], []
    for one, accuracies, families in zoo_folds():
        pairs.append(pairs_of(one, accuracies, families))
        for series in 'ac':
            if f'{series}2-m@100' in one.held_out.models:
                seeds += seed_rows(one, series)
    return Pairs.join(pairs), seeds


def of_tables(tables: ModelTables) -> Pairs:
    """Pairs of a collection of tables, families left out."""
    tables = with_units(tables, drawn_units(tables.features.columns.units))
    return Pairs.join([
        pairs_of(fold, tables.accuracies, tables.families)
        for fold in folds(tables.features, tables.accuracies, tables.families)
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
    parser.add_argument(
        '--bits', action='store_true', help='bits per character')
    parser.add_argument('--zoo', action='store_true', help='the demonstration')
    args = parser.parse_args()
    found = {
        folder.name: of_tables(tables_in(folder))
        for folder in args.folders
    }
    if args.bits:
        found['bits per character'] = of_tables(
            read_model_tables(*(f'{BITS}{name}.csv' for name in TABLES)))
    if args.zoo:
        found['zoo'], seeds = zoo()
        print(f'{seed_table(seeds)}\n')
    rows = [summary_row(*item) for item in found.items()]
    print(tabulate(rows, SUMMARY, 'pipe', disable_numparse=True), '\n')
    rows = [row for item in found.items() for row in decision_rows(*item)]
    print(tabulate(rows, DECISIONS, 'pipe', floatfmt='.1f'))
    for name, pairs in found.items():
        rows, gap = calibration(name, pairs)
        print(f'\nLargest gap {gap:.3f}\n')
        print(tabulate(rows, CALIBRATION, 'pipe', floatfmt='.3f'))


if __name__ == '__main__':
    main()
