"""Accuracies from losses, and from losses and scores on other benchmarks.

The table of docs/score_imputation.md, from tables as docs/formats.md describes
them:

    T=../shared/real
    python -m tools.studies.study_score_imputation --losses $T/losses.csv \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv \\
        --doubles piqa=core_piqa arc_easy=core_arc_easy \\
        lambada_openai_invppl=core_lambada

Every model is predicted by a fit to other families, on one benchmark at a
time: from its losses, and from its losses and its scores on the other
benchmarks.
"""
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gmean
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.options import TABLES, add_shared
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.io.model_tables import ModelTables
from tools.studies.full_collections import dealt
from tools.studies.options import parser_of, tables_of, two_names
from tools.studies.resampling import error_ratio

HEADER = ('benchmark', 'MSE, losses', 'MSE, both', 'coverage, losses',
          'coverage, both', 'width, losses', 'width, both')


class Found(NamedTuple):
    """Predictions of M models on B benchmarks, from losses and from both.

    Real accuracies are `(M, B)`, NaN where unknown; values and ends of the
    90 % intervals `(2, M, B)`.
    """
    real: NDArray[np.float64]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def squares(self) -> NDArray[np.float64]:
        """Squared errors, `(2, M, B)`."""
        return (self.values - self.real)**2

    @property
    def coverage(self) -> NDArray[np.float64]:
        """Share of real accuracies in their intervals, `(2, B)`."""
        inside = (self.low <= self.real) & (self.real <= self.high)
        return inside.sum(axis=1) / (~np.isnan(self.real)).sum(axis=0)


def hidden_benchmarks(
        benchmarks: Sequence[str],
        doubles: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
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


def predict_all(tables: ModelTables, doubles: Sequence[tuple[str,
                                                             str]]) -> Found:
    """Predict every model from other families, with and without scores."""
    names = np.array(tables.features.models, object)
    families = np.array([tables.families[model] for model in names])
    accuracies = tables.accuracies.select(list(names))
    hidden = hidden_benchmarks(accuracies.benchmarks, doubles)
    main = accuracies.main
    found = np.full((3, 2, len(names), len(main)), np.nan)
    part_of_model = dealt(families)
    for part in tqdm(np.unique(part_of_model), desc='fits'):
        out = part_of_model == part
        predictor = fit_predictor(tables.features,
                                  accuracies.select(list(names[~out])),
                                  families[~out])
        new = tables.features.select(list(names[out]))
        known = accuracies.select(list(names[out]))
        alone = predictor.predict(new)
        for b, name in enumerate(main):
            told = [other not in hidden[name] for other in known.benchmarks]
            others = replace(
                known, values=np.where(told, known.values, np.nan))
            both = predictor.predict(new, known=others)
            for way, table in enumerate((alone, both)):
                cell = table.select(benchmarks=[name])
                found[:, way, out, b] = [
                    cube[:, 0, 0]
                    for cube in (cell.values, cell.low, cell.high)
                ]
    return Found(accuracies.select(benchmarks=main).values, *found)


def table(found: Found, benchmarks: Sequence[str],
          families: Sequence[str]) -> str:
    """The study as Markdown, and what it says in one line."""
    errors = 1e3 * np.nanmean(found.squares, axis=1)
    widths = 100 * (found.high - found.low).mean(axis=1)
    numbers = np.concatenate([errors, found.coverage, widths])
    rows = [[name, *numbers[:, b]] for b, name in enumerate(benchmarks)]
    rows.append(['mean', *gmean(errors, axis=1), *numbers[2:].mean(axis=1)])
    alone, both = found.squares
    ratio, low, high = error_ratio(both, alone, families)
    printed = tabulate(
        rows,
        HEADER,
        tablefmt='pipe',
        floatfmt=('', *['.3f'] * 2, *['.2f'] * 2, *['.1f'] * 2))
    return (f'{printed}\n\nErrors are mean squares in thousandths, their mean '
            f'is geometric.\nThe error from both is {ratio:.3f} of that from '
            f'losses alone\n(90 % interval over families {low:.3f} to '
            f'{high:.3f}).')


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
    args = parser.parse_args(argv)
    tables = tables_of(args)
    families = [tables.families[model] for model in tables.features.models]
    found = predict_all(tables, args.doubles)
    print(table(found, tables.accuracies.main, families))


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(run, argv)


if __name__ == '__main__':
    sys.exit(main())
