"""Which of two models is better: decisions from losses, and the right ones.

    OMP_NUM_THREADS=1 python -m tools.studies.decisions_study \\
        ../shared/real ../shared/real/dclm ../shared/real/gemstones \\
        --bits --zoo

prints tables in Markdown. The folders contain losses, scores, models and
benchmarks as docs/formats.md describes them. Families are dealt to folds, and
each fold is predicted by a fit to the others. Compared are all pairs of models
in a fold: of one family and of two families, on each main benchmark and by
their mean; of checkpoints (with a `step`), only those at one step if they are
of two families. Right is what agrees with the sign of the observed difference.

Decisions of the package at 95 % are `ours`, by predicted accuracies, and for
the mean `or loss`, as `salience compare` decides by default: by the loss where
predictions cannot tell and point the same way. Beside them are:

* apart: the intervals of the two predictions at 95 % do not overlap;
* loss: always the model with the lower mean loss;
* half, all: the paired test of the accuracies themselves, on half of the items
  and on all. Answers to items are not known here, so the noise is simulated:
  an accuracy has `OWN_SHARE` of the binomial variance, and is drawn about the
  observed one.

With more losses than `UNITS` per benchmark, so many are drawn at random.
`--bits` adds the package's table of bits per character, `--zoo` the models of
the demonstration.
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import compare
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.joint import Sum
from csv_plugin.core.noise import BETTER, WORSE
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.lm.methods import fit
from tools.studies.common import (bits_per_character, dealt, parser_of,
                                  tables_in)

#: Level of the intervals that decide, the default of `salience compare`, and
#: number of parts that the series of the demonstration are left out in.
DECISION_LEVEL, ZOO_FOLDS = 0.95, 4
#: A decision at this level has this probability, or more, to be right.
SURE = (1 + DECISION_LEVEL) / 2
#: Share of the binomial variance of an accuracy that is a model's own, as
#: measured on neighbouring checkpoints (docs/appendix/real_runs.md).
OWN_SHARE = 0.25
#: Losses of a benchmark, where there are more: half of the items of scores.
UNITS = 500
#: Bins of the calibration, and fewest pairs that a row or a bin needs.
BINS, LEAST_PAIRS = 10, 50
RULES = ('ours', 'or loss', 'apart', 'loss', 'half', 'all')
HEADER = ('models', 'families', 'on', 'pairs', *RULES)
#: Of all pairs on each benchmark, and in brackets by the mean.
SUMMARY = ('families left out', 'pairs', *RULES, 'largest gap')


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of models on benchmarks or their mean, fractions, `(N,)` each.

    `variance` is that of the answer to an item, summed over both models, over
    the number of items; NaN if that is not known. `gap` is the mean loss of A
    minus that of B. `by_loss` is True for means on which the loss decides
    where predictions cannot tell.
    """
    is_mean: NDArray[np.bool_]
    within: NDArray[np.bool_]
    predicted: NDArray
    observed: NDArray
    probability: NDArray
    apart: NDArray[np.bool_]
    gap: NDArray
    variance: NDArray
    by_loss: NDArray[np.bool_]

    def where(self, rows: NDArray[np.bool_]) -> 'Pairs':
        return Pairs(*(getattr(self, part.name)[rows]
                       for part in fields(self)))

    @classmethod
    def join(cls, parts: Sequence['Pairs']) -> 'Pairs':
        columns = []
        for part in fields(cls):
            columns.append(
                np.concatenate([getattr(one, part.name) for one in parts]))
        return cls(*columns)


class Fold(NamedTuple):
    """A predictor, and losses of the models that it was not fitted to."""
    predictor: Predictor
    held_out: FeatureTable


def folds(tables: ModelTables) -> Iterator[Fold]:
    """Fits to all groups of families of a collection but one."""
    names = np.array(tables.features.models, object)
    families = np.array([tables.families[name] for name in names], object)
    accuracies = tables.accuracies.select(list(names))
    group = dealt(families)
    for k in tqdm(np.unique(group), desc='folds'):
        fitted = list(names[group != k])
        predictor = fit_predictor(tables.features, accuracies.select(fitted),
                                  families[group != k])
        yield Fold(predictor, tables.features.select(list(names[group == k])))


def zoo_folds() -> Iterator[tuple[Fold, AccuracyTable, dict[str, str]]]:
    """Fits to all series of the demonstration's models but two.

    Also the accuracies and the families of all models.
    """
    whole = read_collection(shipped.COLLECTION)
    names = np.array([*whole.losses], object)
    # Two series a fold, such that pairs of two families are there.
    group = dealt([whole.families[name] for name in names], ZOO_FOLDS, None)
    for k in tqdm(np.unique(group), desc='folds of the demonstration'):
        fitted, held_out = list(names[group != k]), list(names[group == k])
        predictor = fit(
            whole.losses.select(fitted), whole.accuracies.select(fitted),
            whole.families)
        losses = {name: whole.losses[name] for name in held_out}
        yield Fold(predictor,
                   predictor.features(losses)), whole.accuracies, dict(
                       whole.families)


def sums_of(predictor: Predictor, models: FeatureTable, families: Mapping[str,
                                                                          str],
            i: NDArray, j: NDArray) -> list[list[Sum]]:
    """Predicted accuracies of models j minus those of i, by pair.

    On each benchmark and, of several, their mean.
    """
    joint = predictor.joint(models, families)
    # Covariances are computed once, not by pair.
    deviation = np.sqrt(joint.variance).T
    covariances = joint.model_correlations * deviation[:, :, None]
    covariances *= deviation[:, None]
    joint = replace(joint, changed_covariances=covariances)
    is_main = np.isin(predictor.names, predictor.main)
    shares = with_mean(np.eye(len(is_main))[:, is_main]).T
    found = []
    for rows in zip(i, j):
        pair = joint.take(np.array(rows))
        found.append([
            pair.sum(np.stack([-share, share]), DECISION_LEVEL)
            for share in shares
        ])
    return found


def pairs_of(fold: Fold, accuracies: AccuracyTable,
             families: Mapping[str, str]) -> Pairs:
    """Pairs of the held-out models."""
    predictor, held_out = fold
    names = held_out.models
    group = np.array([families[name] for name in names])
    step = np.array([name.partition('@')[2] for name in names])
    i, j = np.triu_indices(len(group), 1)
    kept = (group[i] == group[j]) | (step[i] == step[j])
    i, j = i[kept], j[kept]
    single = predictor.predict(held_out, DECISION_LEVEL)
    single = single.select(benchmarks=predictor.main)
    low, high = with_mean(single.low[:, :, 0]), with_mean(single.high[:, :, 0])
    observed = accuracies.reindexed(names, predictor.main).values
    variance = _variances(predictor, observed)
    observed = with_mean(observed)
    sums = sums_of(predictor, held_out,
                   {name: families[name]
                    for name in names}, i, j)
    verdicts = []
    for pair in zip(i, j):
        a, b = (held_out.select([names[row]]) for row in pair)
        verdicts.append(compare(a, b, level=DECISION_LEVEL).verdict)
    loss = held_out.values @ predictor.columns.uniform
    parts = []
    for b in range(observed.shape[1]):
        value = np.array([row[b].value for row in sums])
        above = np.array([row[b].positive for row in sums])
        is_mean = b == len(predictor.main)
        same_way = np.array(verdicts) == np.where(value > 0, BETTER, WORSE)
        parts.append(
            Pairs(
                np.full(len(i), is_mean), group[i] == group[j], value,
                observed[j, b] - observed[i, b], above,
                (low[i, b] > high[j, b]) | (low[j, b] > high[i, b]),
                loss[i] - loss[j], variance[i, b] + variance[j, b],
                is_mean & same_way))
    joined = Pairs.join(parts)
    return joined.where(~np.isnan(joined.observed))


def _variances(predictor: Predictor, observed: NDArray) -> NDArray[np.float64]:
    """Variances of accuracies and of their mean by binomial noise of items.

    NaN where the number of items is not known.
    """
    n_items = np.array(
        [part.n_items for part in predictor.benchmarks if part.main])
    items = np.where(n_items > 0, n_items, np.nan)
    variance = observed * (1 - observed) / items
    of_mean = variance.mean(axis=1, keepdims=True) / len(items)
    return np.append(variance, of_mean, axis=1)


def with_mean(values: NDArray) -> NDArray[np.float64]:
    """Values `(n, B)` and their mean as a last column, if B is above 1."""
    if values.shape[1] < 2:
        return values
    return np.append(values, values.mean(axis=1, keepdims=True), axis=1)


def right_signs(decided: NDArray, observed: NDArray) -> NDArray[np.float64]:
    """1 where signs agree, 0.5 for equal accuracies."""
    return np.where(observed == 0, 0.5, np.sign(decided) == np.sign(observed))


def decisions(pairs: Pairs) -> dict[str, tuple[NDArray, NDArray]]:
    """By rule, which pairs are decided, and which decisions are right."""
    rng = np.random.default_rng(0)
    sure = np.maximum(pairs.probability, 1 - pairs.probability) >= SURE
    rules = {
        'ours': (sure, pairs.predicted),
        'or loss': (sure | pairs.by_loss, pairs.predicted),
        'apart': (pairs.apart, pairs.predicted),
        'loss': (np.ones_like(sure), pairs.gap),
    }
    if not pairs.is_mean.any():
        del rules['or loss']
    if not np.isnan(pairs.variance).any():
        for name, share in (('all', 1), ('half', .5)):
            deviation = np.sqrt(OWN_SHARE * pairs.variance / share)
            noise = rng.normal(size=len(pairs.observed))
            drawn = pairs.observed + deviation * noise
            rules[name] = np.abs(drawn) > norm.ppf(SURE) * deviation, drawn
    return {
        name: (decided, right_signs(sign, pairs.observed))
        for name, (decided, sign) in rules.items()
    }


def cells(pairs: Pairs) -> list[str]:
    """Per cent that each rule decides, and in brackets of right ones."""
    found = decisions(pairs)
    row = []
    for rule in RULES:
        if rule not in found:
            row.append('-')
            continue
        decided, right = found[rule]
        share = 100 * right[decided].mean() if decided.any() else np.nan
        if rule == 'loss':
            row.append(f'{share:.0f}')
        else:
            row.append(f'{100 * decided.mean():.0f} ({share:.1f})')
    return row


def decision_rows(name: str, pairs: Pairs) -> Iterator[list[str]]:
    """Rows of the table of decisions."""
    for is_mean in (False, True):
        for within in (True, False):
            some = pairs.where((pairs.is_mean == is_mean)
                               & (pairs.within == within))
            if len(some.observed) >= LEAST_PAIRS:
                yield [
                    name, 'one' if within else 'two',
                    'mean' if is_mean else 'each', f'{len(some.observed):,}',
                    *cells(some)
                ]


def summary_row(name: str, pairs: Pairs) -> list[str]:
    """All pairs on each benchmark and, behind a slash, by the mean."""
    each, mean = pairs.where(~pairs.is_mean), pairs.where(pairs.is_mean)
    both = zip(cells(each), cells(mean))
    return [
        name, f'{len(each.observed):,} / {len(mean.observed):,}',
        *(f'{of_each} / {of_mean}' for of_each, of_mean in both),
        f'{largest_gap(pairs):.2f}'
    ]


def largest_gap(pairs: Pairs) -> float:
    """Largest gap of a bin's mean probability from the share that is right.

    Of the model that is likelier to be better, whatever the order.
    """
    sign = np.sign(pairs.probability - 0.5)
    likelier = np.maximum(pairs.probability, 1 - pairs.probability)
    right = np.where(sign == 0, 0.5, right_signs(sign, pairs.observed))
    bins = np.minimum((likelier * BINS).astype(int), BINS - 1)
    gaps = []
    for k in range(BINS // 2, BINS):
        inside = bins == k
        if inside.sum() >= LEAST_PAIRS:
            gaps.append(abs(likelier[inside].mean() - right[inside].mean()))
    return max(gaps)


def of_tables(tables: ModelTables) -> Pairs:
    """Pairs of a collection of tables, families left out."""
    features = tables.features
    places = drawn_units(features.columns.units)
    losses = FeatureTable.of_losses(
        features.models, [features.columns.units[k] for k in places],
        features.values[:, places])
    tables = replace(tables, features=losses)
    return Pairs.join([
        pairs_of(fold, tables.accuracies, tables.families)
        for fold in folds(tables)
    ])


def drawn_units(units: Sequence[str]) -> NDArray[np.int64]:
    """Places of at most `UNITS` per task, which stands before the first /."""
    rng = np.random.default_rng(0)
    tasks = np.array([unit.partition('/')[0] for unit in units])
    chosen = np.zeros(len(units), bool)
    for task in np.unique(tasks):
        rows = np.flatnonzero(tasks == task)
        chosen[rng.permutation(rows)[:UNITS]] = True
    return np.flatnonzero(chosen)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folders', nargs='*', type=Path, metavar='FOLDER')
    parser.add_argument('--bits', action='store_true')
    parser.add_argument('--zoo', action='store_true')
    args = parser.parse_args()
    found = {
        folder.name: of_tables(tables_in(folder))
        for folder in args.folders
    }
    if args.bits:
        found['bits per character'] = of_tables(bits_per_character())
    if args.zoo:
        found['demonstration'] = Pairs.join(
            [pairs_of(*fold) for fold in zoo_folds()])
    rows = [summary_row(*item) for item in found.items()]
    print(tabulate(rows, SUMMARY, 'pipe', disable_numparse=True), '\n')
    rows = []
    for name, pairs in found.items():
        rows += decision_rows(name, pairs)
    print(tabulate(rows, HEADER, 'pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
