"""Train series of models that nobody has seen, and predict them.

    python -m tools.studies.study_fresh_series --numbers 7 --out outputs/fresh

A number draws a tokenizer, a mixture of texts, the texts and the weights; no
such series is in the zoo. Models are trained, OpenCompass evaluates them and
records their token losses, and the predictors that ship with the package are
held against their accuracies: the error that each states of itself beside the
one it makes. What is done already is not done again.
"""
import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.cli.arguments import check_folder, exit_code
from csv_plugin.cli.options import add_shared
from csv_plugin.cli.run_demo import check_opencompass, run_opencompass
from csv_plugin.core.conventions import check_unique
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import geometric_mean
from csv_plugin.demo import shipped
from csv_plugin.io.files import write_text
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import read_run_dump
from tools.demo_maker import world
from tools.studies.options import add_jobs, parser_of
from tools.studies.resampling import error_ratio
from tools.demo_maker import building
from tools.demo_maker.recipes import (CHECKPOINTS, SIZES, Series,
                                       TrainingRecipe, fresh_series)
from tools.demo_maker.training import train_models
from tools.studies.zoo_study import BASELINE, OURS, reported

_CONFIG = """\
'''Accuracies and token losses of fresh series.'''
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.tidewell_zoo import zoo_models

models = zoo_models({zoo!r}, {models!r})
datasets = [*tidewell_exams_datasets, *salience_texts_datasets]
del zoo_models
"""


@dataclass(frozen=True, eq=False)
class FreshSeries:
    """Losses and accuracies of models that no predictor has seen.

    Args:
        accuracies (NDArray): Their accuracies, fractions, `(M, B)`, in the
            order of `world.KINDS`.
    """
    dumps: Mapping[str, TokenLossDump]
    accuracies: NDArray[np.float64]

    @property
    def series(self) -> tuple[str, ...]:
        """The series of each model, such as 'z7'. Length M."""
        return tuple(name.split('-')[0] for name in self.dumps)

    def select(self, series: str) -> 'FreshSeries':
        """The models of one series."""
        rows = [m for m, name in enumerate(self.series) if name == series]
        names = list(self.dumps)
        return FreshSeries({names[m]: self.dumps[names[m]]
                            for m in rows}, self.accuracies[rows])

    def predictions(self, predictor: Predictor) -> Predictions:
        """Predictions of a predictor of the exams, in the same order."""
        return predictor.predict(self.dumps).select(benchmarks=world.KINDS)

    def squares(self, predictor: Predictor) -> NDArray[np.float64]:
        """Squared errors of a predictor, `(M, B)`."""
        values = self.predictions(predictor).values[:, :, 0]
        return np.square(values - self.accuracies)

    def errors(self, predictor: Predictor) -> NDArray[np.float64]:
        """A row per exam and one of means, `(B + 1, 7)`.

        The columns are the MSE in 1e-3 of families left out that the predictor
        reports, the square of the median error that it expects, and the MSE
        found; how many times the first the last is, MAE in points, coverage,
        and width in points. The means of the first four are geometric.
        """
        predictions = self.predictions(predictor)
        values, low, high = (
            getattr(predictions, part)[:, :, 0]
            for part in ('values', 'low', 'high'))
        real = self.accuracies
        stated = reported(predictor, world.KINDS)
        found = ((values - real)**2).mean(axis=0)
        rows = np.stack([
            1e3 * stated['reported'], 1e3 * stated['expected'], 1e3 * found,
            found / stated['reported'],
            100 * np.abs(values - real).mean(axis=0),
            ((low <= real) & (real <= high)).mean(axis=0),
            100 * (high - low).mean(axis=0)
        ], axis=1)  # yapf: disable
        return np.vstack([
            rows,
            [*map(geometric_mean, rows[:, :4].T), *rows[:, 4:].mean(axis=0)]
        ])


def read_fresh_series(runs: Sequence[Path],
                      names: Sequence[str]) -> FreshSeries:
    """What OpenCompass recorded of models."""
    checkpoints = [
        building.abbr(name, percent) for name in names
        for percent in CHECKPOINTS
    ]
    fingerprint = world.validation_texts().fingerprint
    dumps = {
        name:
        read_run_dump(
            building.last_run(runs, f'predictions/{name}'), name, fingerprint)
        for name in checkpoints
    }
    return FreshSeries(
        dumps,
        np.array(
            [[building.accuracy(runs, name, kind) for kind in world.KINDS]
             for name in checkpoints]))


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--numbers',
        nargs='+',
        type=int,
        choices=range(10**6),
        required=True,
        metavar='N',
        help='which fresh series, 0 to 999999 (required)')
    parser.add_argument(
        '--sizes',
        nargs='+',
        choices=SIZES,
        default=['s', 'm'],
        metavar='SIZE',
        help=f'which of {" ".join(SIZES)} (default s m)')
    add_jobs(parser)
    add_shared(parser, '--out')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    check_unique('--numbers', list(map(str, args.numbers)))
    series = [fresh_series(number) for number in args.numbers]
    names = tuple(f'{one.name}-{size}' for one in series
                  for size in args.sizes)
    check_folder(args.out)
    check_opencompass(args.out)
    zoo, work_dir = args.out / 'zoo', args.out / 'collect'
    train_models(zoo, names, TrainingRecipe(), jobs=args.jobs)
    config = args.out / 'collect.py'
    write_text(
        config,
        _CONFIG.format(
            zoo=str(zoo), models=[name.split('-') for name in names]))
    # What was interrupted goes on.
    resume = ('-r', 'latest') if any(work_dir.glob('2*')) else ()
    run_opencompass(config, work_dir, *resume)
    fresh = read_fresh_series(sorted(work_dir.glob('2*')), names)
    print('\n' + '\n'.join(map(described, series)))
    predictors = {
        OURS: load_predictor(shipped.PREDICTOR),
        BASELINE: load_predictor(shipped.BASELINE)
    }
    for name, predictor in predictors.items():
        print(f'\n{name}\n\n{table(fresh.errors(predictor))}')
    print(f'\n{by_series(fresh, *predictors.values())}')


def described(series: Series) -> str:
    """The tokenizer and the mixture of a series, one sentence."""
    kind, size = series.tokenizer.kind, series.tokenizer.vocab_size
    shares = ', '.join(f'{name} {100 * share:.0f} %'
                       for name, share in series.shares.items())
    return (f'Series {series.name}: {kind} tokenizer of {size} entries at '
            f'most; {shares}.')


def by_series(fresh: FreshSeries, ours: Predictor, baseline: Predictor) -> str:
    """Two tables of errors by series, and how they compare, in Markdown."""
    names = list(dict.fromkeys(fresh.series))
    rows = [[name, *_row(fresh.select(name), ours, baseline)]
            for name in names]
    rows.append(['all', *_row(fresh, ours, baseline)])
    header = [
        'series', f'MSE, {OURS}', f'MSE, {BASELINE}', 'MAE, points',
        f'MAE, {BASELINE}', 'hold', 'width'
    ]
    ratio = error_ratio(
        fresh.squares(ours), fresh.squares(baseline), fresh.series)
    ratios = '{:.2f}'.format(ratio[0])
    if len(names) > 1:
        ratios += ' ({:.2f} to {:.2f}, drawing series)'.format(*ratio[1:])
    return '\n\n'.join([
        tabulate(
            rows,
            header,
            tablefmt='pipe',
            floatfmt=('', '.2f', '.2f', '.1f', '.1f', '.2f', '.1f')),
        f'{OURS} has {ratios} times the error of the {BASELINE}.'
    ])


def _row(fresh: FreshSeries, ours: Predictor,
         baseline: Predictor) -> list[float]:
    first, second = (
        fresh.errors(predictor)[-1] for predictor in (ours, baseline))
    return [first[2], second[2], first[4], second[4], *first[5:]]


def table(errors: NDArray) -> str:
    """A row per exam in Markdown; the last row has means."""
    rows = [[name, *row] for name, row in zip((*world.KINDS, 'mean'), errors)]
    header = [
        'exam', 'MSE, reported', 'expected', 'MSE', 'ratio', 'MAE, points',
        'hold', 'width'
    ]
    return tabulate(
        rows,
        header,
        tablefmt='pipe',
        floatfmt=('', *['.2f'] * 4, '.1f', '.2f', '.1f'))


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
