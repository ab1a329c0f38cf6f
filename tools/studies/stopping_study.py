"""Sets of pretraining runs: which are stopped, and what that saves.

    OMP_NUM_THREADS=1 python -m tools.studies.stopping_study \\
        --tables ../shared/real/gemstones --after 3 6 11 23 --size 3
    OMP_NUM_THREADS=1 python -m tools.studies.stopping_study --size 4 8

The first deals all runs of tables to three folds, and forecasts each fold from
the two others. The second has the held-out runs of the demonstration. Sets are
all of so many runs of a fold, or `MOST` drawn ones. At each part of the
training, runs are judged by `salience triage`, and those with the verdict
"stop" are left out from then on. Beside it is successive halving, which stops
the worse half by the accuracy observed now.
"""
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.options import whole_number
from csv_plugin.triage.checkpoints import read_checkpoints
from csv_plugin.triage.judging import judge
from csv_plugin.triage.result import STOP, Triage
from tools.studies.common import parser_of, tables_in
from tools.studies.study_triage import NEAR, Runs, of_tables, of_zoo

#: Parts that runs are left out in, and most sets of runs that are judged.
FOLDS, MOST = 3, 50
HEADER = ('runs in a set', 'rule', 'sets', 'best run stopped, %',
          'points lost', 'compute saved, %')

#: From names of runs and a share of the training to those that are stopped.
Rule = Callable[[Sequence[str], float], set[str]]


def folds_of(folder: Path) -> Iterator[Runs]:
    """Folds of all runs of tables, each to be forecast from the others."""
    tables = tables_in(folder)
    points = read_checkpoints(folder / 'models.csv')
    models = tables.features.models
    names = sorted({points[model].run for model in models})
    dealt = np.random.default_rng(0).permutation(len(names)) % FOLDS
    fold = dict(zip(names, dealt))
    for k in tqdm(range(FOLDS), desc='fits'):
        past = [model for model in models if fold[points[model].run] != k]
        new = [model for model in models if fold[points[model].run] == k]
        yield of_tables(tables, points, past, new)


def rules(runs: Runs) -> dict[str, Rule]:
    """The rule of the package, and halving by observed accuracies."""
    accuracies = runs.observed(runs.new)

    @lru_cache(maxsize=None)
    def judged(share: float) -> Triage:
        return judge(runs.predictor, runs.features, runs.until(share),
                     runs.past)

    def by_triage(names: Sequence[str], share: float) -> set[str]:
        triage = judged(share).among(names)
        pairs = zip(triage.ends, triage.verdicts)
        return {end.name for end, verdict in pairs if verdict == STOP}

    def halving(names: Sequence[str], share: float) -> set[str]:
        means = {}
        for name in names:
            shares, values = accuracies[name]
            means[name] = float(values[shares <= share + NEAR][-1].mean())
        best_first = sorted(names, key=lambda name: -means[name])
        return {*best_first[(len(names) + 1) // 2:]}

    return {'triage': by_triage, 'halving by accuracy': halving}


def outcome(names: Sequence[str], ends: dict[str, float],
            after: Sequence[float], rule: Rule) -> list[float]:
    """Whether the best run was stopped, points lost, and compute saved."""
    left, saved = list(names), 0.
    for share in after:
        if len(left) > 1:
            stopped = rule(left, share)
            saved += (1 - share) * len(stopped)
            left = [name for name in left if name not in stopped]
    lost = max(ends[n] for n in names) - max(ends[n] for n in left)
    return [float(lost > 0), lost, saved / len(names)]


def outcomes(runs: Runs, after: Sequence[float],
             size: int) -> Iterator[tuple[str, list[float]]]:
    """Rules and outcomes of sets of so many runs."""
    ends = {name: float(values.mean()) for name, values in runs.ends().items()}
    sets = [*combinations(ends, size)]
    if len(sets) > MOST:
        drawn = np.random.default_rng(0).choice(len(sets), MOST, replace=False)
        sets = [sets[i] for i in drawn]
    for label, rule in rules(runs).items():
        for names in tqdm(sets, desc=label):
            yield label, outcome(names, ends, after, rule)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--tables', type=Path, metavar='DIR')
    parser.add_argument(
        '--after',
        nargs='+',
        type=float,
        default=[10, 20, 35, 50],
        metavar='PERCENT')
    parser.add_argument('--size', type=whole_number, nargs='+', default=[4])
    args = parser.parse_args()
    after = [number / 100 for number in args.after]
    cases = [*folds_of(args.tables)] if args.tables else [of_zoo()]
    rows = []
    for size in args.size:
        found: dict[str, list[list[float]]] = {}
        for runs in cases:
            for label, one in outcomes(runs, after, size):
                found.setdefault(label, []).append(one)
        for label, of_sets in found.items():
            stopped, lost, saved = 100 * np.mean(of_sets, axis=0)
            rows.append([
                size, label,
                len(of_sets), f'{stopped:.0f}', f'{lost:.2f}', f'{saved:.0f}'
            ])
    print(tabulate(rows, HEADER, 'pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
