"""What known scores add to losses: errors on families left out.

The table of docs/score_imputation.md, from tables as docs/formats.md describes
them:

    T=../shared/real
    python -m tools.studies.study_score_imputation --losses $T/losses.csv \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv \\
        --doubles piqa=core_piqa arc_easy=core_arc_easy \\
        lambada_openai_invppl=core_lambada

Every model is predicted by a predictor that was fitted to other families, on
one benchmark at a time: from its losses, from its scores on the other
benchmarks, and from both.
"""
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gmean
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.options import TABLES, add_shared
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import Ridge
from csv_plugin.core.salience.base import grouped_folds
from csv_plugin.extras.score_imputation import (learn_imputation,
                                                with_known_scores)
from csv_plugin.io.model_tables import ModelTables
from tools.studies.options import add_number, parser_of, tables_of, two_names

METHODS = ('losses', 'scores', 'both')
#: Parts that families are dealt to; each is predicted from the others.
FOLDS = 8
#: Draws of families with replacement, for intervals of the means.
RESAMPLES = 2000

#: Pairs of benchmarks that measure nearly the same.
Doubles = Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class ScoreImputationStudy:
    """Errors of M models on B benchmarks, for each of S deals of families.

    Args:
        families (NDArray): Family of each model, `(M,)`.
        squares (NDArray): Squared errors by `METHODS`, NaN where there is no
            real score. Shape `(3, S, M, B)`.
        covered (NDArray): Whether the interval from losses, and that from
            both, holds the real score: 0, 1 or NaN. Shape `(2, S, M, B)`.
        widths (NDArray): Of these intervals, fractions, `(2, S, M, B)`.
    """
    benchmarks: tuple[str, ...]
    families: NDArray
    squares: NDArray[np.float64]
    covered: NDArray[np.float64]
    widths: NDArray[np.float64]

    def errors(self) -> NDArray[np.float64]:
        """Mean squared errors by method and benchmark, `(3, B)`."""
        return self._means(np.ones(len(self.families)))

    def gain(self) -> float:
        """Error of both by the smaller one of losses and scores alone.

        Of geometric means over the benchmarks.
        """
        return float(_gain(self.errors()))

    def interval(self) -> tuple[float, float]:
        """90 % interval of the gain, by families drawn anew."""
        rng = np.random.default_rng(0)
        names, family = np.unique(self.families, return_inverse=True)
        times = rng.multinomial(
            len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
        gains = _gain(self._means(times[:, family.ravel()]))
        low, high = np.nanquantile(gains, [.05, .95])
        return float(low), float(high)

    def _means(self, times: NDArray) -> NDArray[np.float64]:
        """Mean squares `(3, ..., B)` if models count `times`, `(..., M)`."""
        total = times @ np.nansum(self.squares, axis=1)[:, None]
        count = times @ np.sum(~np.isnan(self.squares), axis=1)[:, None]
        means = np.divide(
            total, count, where=count > 0, out=np.full(total.shape, np.nan))
        return means.reshape(3, *times.shape[:-1], -1)

    def rows(self) -> list[list[object]]:
        """One row per benchmark, and one of their means; see `HEADER`."""
        table = [
            1000 * self.errors(),
            np.nanmean(self.covered, axis=(1, 2)),
            100 * np.nanmean(self.widths, axis=(1, 2))
        ]
        means = [gmean(table[0], axis=1), *(t.mean(axis=1) for t in table[1:])]
        found = [[name, *np.concatenate([part[:, b] for part in table])]
                 for b, name in enumerate(self.benchmarks)]
        return [*found, ['mean', *np.concatenate(means)]]


HEADER = ('benchmark', *(f'mse_{name}' for name in METHODS), 'inside_losses',
          'inside_both', 'width_losses', 'width_both')


def _gain(errors: NDArray) -> NDArray[np.float64]:
    """Of errors by method and benchmark, `(3, ..., B)`: shape `(...)`."""
    losses, scores, both = np.exp(np.nanmean(np.log(errors), axis=-1))
    return np.asarray(both / np.minimum(losses, scores))


def hidden_benchmarks(benchmarks: Sequence[str],
                      doubles: Doubles) -> dict[str, set[str]]:
    """What is not told when a benchmark is predicted: itself, its doubles.

    >>> hidden_benchmarks(('a', 'b'), [('a', 'b')])['b'] == {'a', 'b'}
    True
    """
    hidden = {name: {name} for name in benchmarks}
    for pair in doubles:
        for name, double in (pair, pair[::-1]):
            if name not in hidden:
                raise InputError('doubles', 'names of benchmarks', repr(name),
                                 'Correct the name.')
            hidden[name].add(double)
    return hidden


def score_imputation_study(tables: ModelTables, doubles: Doubles,
                           n_deals: int) -> ScoreImputationStudy:
    """Predict every model from other families, with and without scores."""
    models = tables.features.models
    groups = np.array([tables.families[model] for model in models])
    hidden = hidden_benchmarks(tables.accuracies.benchmarks, doubles)
    main = tables.accuracies.main
    cubes = np.full((7, n_deals, len(models), len(main)), np.nan)
    folds = [grouped_folds(groups, FOLDS, seed) for seed in range(n_deals)]
    fits = [(s, held) for s, fold in enumerate(folds)
            for held in range(fold.max() + 1)]
    names = np.array(models, dtype=object)
    for s, held in tqdm(fits, desc='fits'):
        rows = folds[s] == held
        predictor = fit_predictor(tables.features,
                                  tables.accuracies.select(names[~rows]),
                                  groups[~rows], Ridge(), s)
        new = tables.select(tuple(names[rows]))
        for b, name in enumerate(main):
            cubes[:, s, rows, b] = _measures(predictor, new, name,
                                             hidden[name])
    return ScoreImputationStudy(main, groups, cubes[:3], cubes[3:5], cubes[5:])


def _measures(predictor: Predictor, new: ModelTables, name: str,
              hidden: set[str]) -> NDArray:
    """Squared errors, coverage and widths of new models, `(7, M)`."""
    real = new.accuracies.column(name)
    told = [b not in hidden for b in new.accuracies.benchmarks]
    known = replace(
        new.accuracies, values=np.where(told, new.accuracies.values, np.nan))
    alone = predictor.predict(new.features)
    tables = [
        part.select(benchmarks=[name])
        for part in (alone, with_known_scores(predictor, alone, known))
    ]
    squares = [(table.values[:, 0, 0] - real)**2 for table in tables]
    from_scores = (_from_scores(predictor, known, name) - real)**2
    ends = [(table.low[:, 0, 0], table.high[:, 0, 0]) for table in tables]
    covered = [
        np.where(np.isnan(real), np.nan, (low <= real) & (real <= high))
        for low, high in ends
    ]
    widths = [high - low for low, high in ends]
    return np.stack([squares[0], from_scores, squares[1], *covered, *widths])


def _from_scores(predictor: Predictor, known: AccuracyTable,
                 name: str) -> NDArray:
    """Accuracies on one benchmark without losses, `(M,)`."""
    imputation = learn_imputation(predictor)
    if imputation is None or name not in imputation.benchmarks:
        return np.full(len(known.models), np.nan)
    scores = known.select(benchmarks=imputation.benchmarks).values
    place = imputation.benchmarks.index(name)
    found = []
    for row in scores:
        seen = ~np.isnan(row) & (np.arange(len(row)) != place)
        slopes = np.linalg.solve(imputation.totals[np.ix_(seen, seen)],
                                 row[seen] - imputation.mean[seen])
        value = imputation.mean[place] + imputation.totals[place,
                                                           seen] @ slopes
        found.append(np.clip(value, 0, 1))
    return np.array(found)


def table(study: ScoreImputationStudy) -> str:
    """The study as Markdown, and what it says in one line."""
    low, high = study.interval()
    rows = tabulate(
        study.rows(),
        HEADER,
        tablefmt='pipe',
        floatfmt=('', *['.3f'] * 3, *['.2f'] * 2, *['.1f'] * 2))
    return (f'{rows}\n\nErrors are mean squares in thousandths, their mean is '
            f'geometric.\nThe error from both is {study.gain():.3f} of the '
            f'smaller one of losses and scores alone\n(90 % interval over '
            f'families {low:.3f} to {high:.3f}).')


def run(argv: Sequence[str] | None) -> None:
    parser = parser_of(__doc__)
    add_shared(parser, *TABLES)
    parser.add_argument(
        '--doubles',
        nargs='+',
        default=[],
        type=two_names,
        metavar='A=B',
        help='benchmarks that measure nearly the same: scores on one are\n'
        'hidden when the other is predicted (default: none)')
    add_number(parser, '--seeds', 3, 'deals of the families to folds')
    args = parser.parse_args(argv)
    print(
        table(
            score_imputation_study(tables_of(args), args.doubles, args.seeds)))


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(run, argv)


if __name__ == '__main__':
    sys.exit(main())
