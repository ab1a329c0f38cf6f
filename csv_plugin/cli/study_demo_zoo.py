"""Errors of all methods on zoo models that none of them has seen.

The table of docs/results.md, from losses and accuracies in the package:

    python tools/study_demo_zoo.py --seeds 5

The errors are those with all texts; their spread is that of the seeds, each of
which draws another 80 % of the texts. How true the errors are that `auto`
states, on series of which no model was fitted to:

    python tools/study_demo_zoo.py --leave-series-out
"""
import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.core.study import geometric_mean
from csv_plugin.demo import shipped
from csv_plugin.demo.studies.zoo_study import BASELINE, ZooStudy

#: Share of the texts that a seed draws.
SHARE = 0.8
#: Test MSE of each exam, `(B,)`, by method and kind of test models.
Errors = Mapping[str, Mapping[str, NDArray]]


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--collection',
        default=shipped.COLLECTION,
        metavar='DIR',
        help='folder of dumps, scores and texts (default: that of the\n'
        'package)')
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
        '--seeds',
        type=int,
        default=5,
        metavar='N',
        help='number of draws of 80 %% of the texts (default 5)')
    parser.add_argument(
        '--leave-series-out',
        action='store_true',
        help='fit to all other series for each, and compare the errors\n'
        'with those that were stated (default: no)')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    whole = ZooStudy.load(args.collection, args.scoring_lm, args.tokenizer)
    if args.leave_series_out:
        print(series_left_out(whole))
        return
    studies = [whole, *(whole.sampled(SHARE, i) for i in range(args.seeds))]
    errors = [study.errors() for study in tqdm(studies, desc='studies')]
    print(table(errors))
    counts = ', '.join(f'{mask.sum()} {kind}'
                       for kind, mask in whole.test_models().items())
    print(f'\nMSE x 1e-3, geometric mean over the exams; {counts}.\n')
    print(by_exam(whole, errors[0]))


def table(errors: Sequence[Errors]) -> str:
    """A row per method in Markdown, the worst method first.

    Args:
        errors (Sequence[Errors]): With all texts, then of each seed.
    """
    kinds = list(errors[0][BASELINE])
    means = {
        method: np.array([[1e3 * geometric_mean(part[method][kind])
                           for kind in kinds] for part in errors])
        for method in errors[0]
    }  # yapf: disable
    rows = [[
        method, *(cell for k in range(len(kinds))
                  for cell in (f'{values[0, k]:.2f}', _spread(values[1:, k]),
                               f'{values[0, k] / means[BASELINE][0, k]:.2f}'))
    ] for method, values in sorted(
        means.items(), key=lambda item: -item[1][0].sum())]
    header = [
        'method',
        *(cell for kind in kinds for cell in (kind, 'spread', 'of all-token'))
    ]
    return tabulate(rows, header, tablefmt='pipe', disable_numparse=True)


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


def _spread(values: NDArray) -> str:
    """Smallest and largest error of the seeds."""
    return f'{values.min():.2f} - {values.max():.2f}' if len(values) else '-'


def by_exam(study: ZooStudy, errors: Errors) -> str:
    """Errors x 1e-3 of every exam with all texts, in Markdown."""
    kinds = list(errors[BASELINE])
    rows = [[method, kind, *(1e3 * errors[method][kind])] for method in errors
            for kind in kinds]
    header = ['method', 'test models', *study.collection.accuracies.benchmarks]
    return tabulate(rows, header, tablefmt='pipe', floatfmt='.2f')


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
