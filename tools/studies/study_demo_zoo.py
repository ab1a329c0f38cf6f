"""Errors of all methods on zoo models that none of them has seen.

The tables of docs/appendix/zoo.md, from losses and accuracies in the package:

    python -m tools.studies.study_demo_zoo

The last one has errors that the predictor of the package states beside those
that it makes: `reported` are mean squared errors of families left out in
closed form, `expected` the squares of median errors that it expects.

In brackets stand 90 % intervals, for which the runs that are predicted are
drawn again and again. How true the stated errors are, on series of which no
model was fitted to:

    python -m tools.studies.study_demo_zoo --leave-series-out

The label-token loss of the exams' own items, as the paper has it, beside that
of the texts, on the series for which it is known:

    python -m tools.studies.study_demo_zoo --items
"""
import argparse
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import geometric_mean
from csv_plugin.demo import shipped
from csv_plugin.io.predictors import load_predictor
from tools.studies.options import parser_of
from tools.studies.resampling import error_ratio
from tools.demo_maker.building import LABELLED
from tools.studies.zoo_study import BASELINE, LABEL, ZooStudy, reported


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--scoring-lm',
        default=shipped.SCORING_LM,
        metavar='DIR',
        help='folder of the LM whose hidden states are used\n'
        '(default: a model of the package)')
    parser.add_argument(
        '--tokenizer',
        default=shipped.SCORING_TOKENIZER,
        metavar='DIR',
        help='its tokenizer (default: that of the package)')
    parser.add_argument(
        '--items',
        action='store_true',
        help='compare with label-token losses of the items of exams, on\n'
        'the series that have them (default: no)')
    parser.add_argument(
        '--leave-series-out',
        action='store_true',
        help='fit to all other series for each, and compare the errors\n'
        'with those that the fit reports (default: no)')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    whole = ZooStudy.load(shipped.COLLECTION, args.scoring_lm, args.tokenizer,
                          shipped.LABEL_LOSSES if args.items else None)
    if args.items:
        whole = whole.of_series(LABELLED)
    if args.leave_series_out:
        print(series_left_out(whole))
        return
    squares = whole.squared_errors()
    print(table(whole, squares))
    counts = ', '.join(f'{mask.sum()} {kind}'
                       for kind, mask in kinds_of(whole).items())
    print(f'\nMSE x 1e-3, geometric mean over the exams; {counts}.\n')
    print(by_exam(whole, squares))
    if not args.items:
        predictor = load_predictor(shipped.PREDICTOR)
        print(f'\n{stated_errors(whole, predictor)}')


def table(study: ZooStudy, squares: Mapping[str, NDArray]) -> str:
    """A row per method in Markdown, the worst method first.

    Args:
        squares (Mapping[str, NDArray]): Squared errors by method, `(M, B)`.
    """
    kinds, runs = kinds_of(study), np.array(study.runs())

    def row(part: NDArray) -> list[str]:
        cells = []
        for mask in kinds.values():
            error = 1e3 * geometric_mean(part[mask].mean(axis=0))
            cells += [
                f'{error:.2f}',
                _ratio(part, squares[BASELINE], mask, runs)
            ]
        return [*cells, _ratio(part, squares[LABEL], mask, runs)]

    worst_first = sorted(
        squares,
        key=lambda name: -geometric_mean(squares[name][kinds['both']].mean(
            axis=0)))
    header = [
        'method', *(cell for kind in kinds for cell in (kind, 'of mean loss')),
        'of label-token'
    ]
    return tabulate([[name, *row(squares[name])] for name in worst_first],
                    header,
                    tablefmt='pipe',
                    disable_numparse=True)


def kinds_of(study: ZooStudy) -> dict[str, NDArray]:
    """Kinds of test models, and both together: masks of shape `(M,)`."""
    kinds = study.test_models()
    return {**kinds, 'both': np.any(list(kinds.values()), axis=0)}


def _ratio(squares: NDArray, reference: NDArray, mask: NDArray,
           runs: NDArray) -> str:
    """How many times the error is that of a reference, and its interval."""
    if squares is reference:
        return '1'
    ratio, low, high = error_ratio(squares[mask], reference[mask], runs[mask])
    return f'{ratio:.2f} ({low:.2f} - {high:.2f})'


def series_left_out(study: ZooStudy) -> str:
    """A row of errors x 1e-3 per series and exam, in Markdown.

    The last rows have geometric means and plain means over the others.
    """
    series = sorted({*study.collection.families.values()})
    exams = study.collection.accuracies.benchmarks
    found = {
        name: study.left_out(name)
        for name in tqdm(series, desc='series')
    }
    kinds = list(found[series[0]])
    errors = 1e3 * np.array([[row[kind] for kind in kinds]
                             for row in found.values()])
    rows = [[name, exam, *errors[s, :, b]] for s, name in enumerate(series)
            for b, exam in enumerate(exams)]
    of_cells = errors.transpose(1, 0, 2).reshape(len(kinds), -1)
    rows += [['geometric mean', '', *map(geometric_mean, of_cells)],
             ['mean', '', *of_cells.mean(axis=1)]]
    return tabulate(
        rows, ['left out', 'exam', *kinds], tablefmt='pipe', floatfmt='.2f')


def stated_errors(study: ZooStudy, predictor: Predictor) -> str:
    """Errors x 1e-3 that a predictor states and makes, by exam.

    The last row has means over the exams.
    """
    accuracies = study.collection.accuracies
    squares = (study.predicted(predictor) - accuracies.values)**2
    columns = reported(predictor, accuracies.benchmarks) | {
        kind: squares[mask].mean(axis=0)
        for kind, mask in study.test_models().items()
    }
    errors = 1e3 * np.array(list(columns.values()))
    rows = [
        *zip(accuracies.benchmarks, *errors), ('mean', *errors.mean(axis=1))
    ]
    return tabulate(rows, ['exam', *columns], tablefmt='pipe', floatfmt='.2f')


def by_exam(study: ZooStudy, squares: Mapping[str, NDArray]) -> str:
    """Errors x 1e-3 of every exam, in Markdown."""
    rows = [[method, kind, *(1e3 * part[mask].mean(axis=0))]
            for method, part in squares.items()
            for kind, mask in kinds_of(study).items()]
    header = ['method', 'test models', *study.collection.accuracies.benchmarks]
    return tabulate(rows, header, tablefmt='pipe', floatfmt='.2f')


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
