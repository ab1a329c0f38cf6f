"""Tournaments of pretraining runs: what is stopped, and what that costs.

    OMP_NUM_THREADS=1 python -m tools.studies.stopping_study \\
        --tables ../shared/real/gemstones --after 3 6 11 23 --size 3
    OMP_NUM_THREADS=1 python -m tools.studies.stopping_study --size 4 8

The first deals all runs of tables to folds, and forecasts each fold from the
others (`UNITS` losses per benchmark, as in decisions_study). The second has
the held-out runs of the demonstration. Tournaments are all sets of so many
runs of a fold, or `MOST` drawn ones. At each part of the training, runs are
judged by `salience triage`, and those with the verdict "stop" are left out
from then on. Beside it is successive halving, which stops the worse half by
the score observed now, or by the mean loss.
"""
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.options import whole_number
from csv_plugin.demo import shipped
from csv_plugin.triage.checkpoints import Checkpoint, read_checkpoints
from csv_plugin.triage.judging import OVERALL, judge
from csv_plugin.triage.ranking import STOP
from tools.studies.decisions_study import drawn_units
from tools.studies.options import parser_of, tables_in, with_units
from tools.studies.study_triage import (HELD_OUT, Case, StudyRun, table_case,
                                        zoo_case)
from tools.studies.zoo_study import ZooStudy

FOLDS, MOST = 3, 50
HEADER = ('rule', 'tournaments', 'best run stopped, %', 'points lost',
          'compute saved, %')

#: From runs so far to which of them are stopped.
Rule = Callable[[Sequence[StudyRun]], NDArray[np.bool_]]


class Outcome(NamedTuple):
    """One tournament: fractions, but for the first."""
    best_stopped: bool
    lost: float
    saved: float


def table_cases(folder: Path) -> Iterator[Case]:
    """Folds of all runs of tables, each to be forecast from the others."""
    tables = tables_in(folder)
    tables = with_units(tables, drawn_units(tables.features.columns.units))
    places = read_checkpoints(folder / 'models.csv')
    models = tables.features.models
    runs = sorted({places[model].run for model in models})
    fold = dict(
        zip(runs,
            np.random.default_rng(0).permutation(len(runs)) % FOLDS))
    for k in tqdm(range(FOLDS), desc='folds'):
        fit, predict = ([
            model for model in models if (fold[places[model].run] == k) == new
        ] for new in (False, True))
        yield table_case(tables, places, fit, predict)


def checkpoints(runs: Sequence[StudyRun]) -> dict[str, Checkpoint]:
    """Places of the checkpoints of runs that end at their own budgets."""
    return {
        name: Checkpoint(run.run, done, budget=run.budget)
        for run, *_ in runs
        for name, done in zip(run.checkpoints, run.tokens.tolist())
    }


def rules(case: Case) -> dict[str, Rule]:
    """The rule of the package, and halving."""

    def by_triage(runs: Sequence[StudyRun]) -> NDArray[np.bool_]:
        ranking = judge(case.predictor, case.features, checkpoints(runs),
                        checkpoints(case.past)).rankings[OVERALL]
        verdicts = dict(zip(ranking.runs, ranking.verdicts))
        return np.array([verdicts[run.trajectory.run] == STOP for run in runs])

    def halving(value: Callable[[StudyRun], float]) -> Rule:
        return lambda runs: np.argsort(
            np.argsort([-value(run) for run in runs])) >= (len(runs) + 1) // 2

    return {
        'triage':
        by_triage,
        'halving by observed scores':
        halving(lambda run: float(run.scores[-1].mean())),
        'halving by mean loss':
        halving(lambda run: -float(run.trajectory.mean_loss[-1]))
    }


def tournament(runs: Sequence[StudyRun], after: Sequence[float],
               rule: Rule) -> Outcome:
    """Stop runs by a rule after each part of the training."""
    ends = np.array([run.scores[-1].mean() for run in runs])
    left, saved = np.arange(len(runs)), 0.0
    for share in after:
        if len(left) > 1:
            stopped = rule([runs[i].until(share) for i in left])
            saved += (1 - share) * stopped.sum()
            left = left[~stopped]
    lost = float(ends.max() - ends[left].max())
    return Outcome(lost > 0, lost, saved / len(runs))


def of_case(case: Case, after: Sequence[float],
            size: int) -> dict[str, list[Outcome]]:
    """Tournaments of so many runs, by rule."""
    sets = [*combinations(case.new, size)]
    if len(sets) > MOST:
        drawn = np.random.default_rng(0).choice(len(sets), MOST, replace=False)
        sets = [sets[i] for i in drawn]
    return {
        name: [tournament(runs, after, rule)
               for runs in tqdm(sets, desc=name)]
        for name, rule in rules(case).items()
    }  # yapf: disable


def rows(found: Sequence[dict[str, list[Outcome]]]) -> Iterator[list[str]]:
    """Rows of the table from all cases."""
    for rule in found[0]:
        outcomes = [one for case in found for one in case[rule]]
        best, lost, saved = 100 * np.mean(outcomes, axis=0)
        yield [
            rule,
            str(len(outcomes)), f'{best:.0f}', f'{lost:.2f}', f'{saved:.0f}'
        ]


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
    if args.tables:
        cases = [*table_cases(args.tables)]
    else:
        zoo = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                            shipped.SCORING_TOKENIZER)
        cases = [zoo_case(zoo, HELD_OUT, HELD_OUT)]
    for size in args.size:
        found = [of_case(case, after, size) for case in cases]
        print(f'{size} runs\n\n{tabulate(rows(found), HEADER, "pipe")}\n')


if __name__ == '__main__':
    main()
