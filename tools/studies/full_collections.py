"""Errors and intervals on the full collections: what the default is judged by.

    OMP_NUM_THREADS=1 python -m tools.studies.full_collections \\
        --out outputs/full

Every protocol fits the default and the mean loss to some models of a
collection and predicts others, with all fitted models, all loss columns and
all main benchmarks, and without random draws. Protocols that leave families
out fit several times, each time without one of at most eight groups of
families; their cells count together. The table has a row for each protocol:

    MSE        mean squared errors in 1e-3, geometric mean over the benchmarks
    ratio      MSE of the default over that of the mean loss: smaller is
               better
    MAE        mean absolute error in points, of the mean loss in brackets
    coverage   share of the 90 % intervals that hold the observed accuracy
    width      mean width of the intervals in points
    log score  in nats a cell (as in `yard`), less that of the mean loss:
               larger is better

The last row has geometric means of ratios and means of the others. `--out`
keeps the figures in one CSV file a method; protocols that are there are not
run again. `--shared` has collections that are no part of the project,
`--public` those of tools/studies/public_tables.py.
"""
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

import csv_plugin as cp
from tools.studies.common import dealt, parser_of
from tools.studies.real_models import RealModels
from tools.studies.trials import (METHODS, Figures, Models, Trial, collection,
                                  column, run)

#: Splits of `read_models`, which calls `val` `validation` too.
TRAINING = ('train', 'validation')
HEADER = ('protocol', 'MSE', 'MSE of mean loss', 'ratio', 'MAE (mean loss)',
          'coverage (mean loss)', 'width (mean loss)',
          'log score, less mean loss')


def protocol(name: str, models: Models,
             fits: Sequence[tuple[NDArray, NDArray]]) -> Trial:
    """A protocol, in which all benchmarks count."""
    return Trial('full', name, models, fits, np.arange(len(models.chance)))


def by_split(name: str, models: Models, fitted: Sequence[str],
             predicted: str) -> Trial:
    """Predict the models of a split from those of others."""
    for split in (*fitted, predicted):
        if split not in models.splits:
            raise cp.InputError(name, f'models of the split {split!r}',
                                f'those of {sorted(set(models.splits))}',
                                'Name splits of its models.csv.')
    pair = np.isin(models.splits, fitted), models.splits == predicted
    return protocol(name, models, [pair])


def families_out(name: str, models: Models) -> Trial:
    """Predict all models, each from other families, in groups of families."""
    return groups_out(name, models, dealt(models.families))


def groups_out(name: str, models: Models, group: NDArray) -> Trial:
    """Predict each group from the others; the group '' is only fitted to."""
    fits = []
    for one in np.unique(group):
        if one != '':
            fits.append((group != one, group == one))
    return protocol(name, models, fits)


def protocols(shared: Path, public: Path) -> Iterator[Trial]:
    """All protocols; those that take longest come last."""

    def read(name: str) -> Models:
        return collection(name, shared, public)

    yield by_split('public models, split', read('public models'), TRAINING,
                   'test')
    yield families_out('public models, families out', read('public models'))
    yield by_split('dclm, 7B', read('dclm'), TRAINING, 'test')
    # Models of 1.4B with five times the tokens, from all with fewer.
    yield by_split('dclm, over', read('dclm'), ['train'], 'validation')
    for name in ('dclm', 'bigscience', 'bits per character'):
        yield families_out(f'{name}, families out', read(name))
    yield by_split('ladder, split', read('ladder'), TRAINING, 'test')
    for name in ('mixtures', 'overtrained'):
        yield by_split(f'{name}, split', read(name), ['train'], 'test')
    real = RealModels.read()
    yield families_out('real models, families out',
                       real.models(real.losses, real.families))
    yield groups_out('real models, degradations out',
                     real.models(real.losses, real.kinds),
                     np.array(real.kinds))
    yield by_split('gemstones, split', read('gemstones'), TRAINING, 'test')
    yield by_split('demonstration, split', read('demonstration'), TRAINING,
                   'test')
    yield families_out('demonstration, series out', read('demonstration'))


def table(ours: Sequence[Figures], theirs: Sequence[Figures]) -> str:
    """A row for each protocol in Markdown, and one for all."""
    rows = []
    for a, b in zip(ours, theirs):
        ratio = np.exp(a.log_error - b.log_error)
        rows.append([
            a.trial, f'{1e3 * np.exp(a.log_error):.2f}',
            f'{1e3 * np.exp(b.log_error):.2f}', f'{ratio:.2f}',
            f'{a.mae:.1f} ({b.mae:.1f})',
            f'{a.coverage:.0%} ({b.coverage:.0%})',
            f'{a.width:.1f} ({b.width:.1f})', f'{a.score - b.score:+.2f}'
        ])
    errors = column(ours, 'log_error') - column(theirs, 'log_error')
    scores = column(ours, 'score') - column(theirs, 'score')
    coverage = (f'{column(ours, "coverage").mean():.0%} '
                f'({column(theirs, "coverage").mean():.0%})')
    rows.append([
        f'all {len(rows)}', '', '', f'{np.exp(errors.mean()):.2f}', '',
        coverage, '', f'{scores.mean():+.2f}'
    ])
    return tabulate(rows, HEADER, 'pipe', disable_numparse=True)


def judge(trials: Sequence[Trial], out: Path) -> None:
    """Run both methods on protocols, keep their figures, print the table."""
    found = [run(trials, name, out / f'full_{name}.csv') for name in METHODS]
    print(table(*found))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--shared', type=Path, default='../shared/real')
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument('--out', type=Path, default='outputs/full')
    args = parser.parse_args()
    judge(list(protocols(args.shared, args.public)), args.out)


if __name__ == '__main__':
    main()
