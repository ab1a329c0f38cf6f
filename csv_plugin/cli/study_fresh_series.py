"""Train a series of models that nobody has seen, and predict it.

    python tools/study_fresh_series.py --number 7 --out outputs/fresh

The number draws a tokenizer, a mixture of texts, the texts and the weights;
no such series is in the zoo. Models are trained, OpenCompass evaluates them
and records their token losses, and the predictors that ship with the package
are held against their accuracies: the error that each states of itself beside
the one it makes. What is done already is not done again.
"""
import argparse
import sys
from collections.abc import Sequence
from typing import Optional

from tabulate import tabulate

from csv_plugin.cli.arguments import add_jobs, add_out, check_folder, exit_code
from csv_plugin.cli.running_opencompass import (check_opencompass,
                                                run_opencompass)
from csv_plugin.demo import shipped
from csv_plugin.demo.recipes import SIZES, TrainingRecipe, fresh_series
from csv_plugin.demo.studies.fresh_series_study import (FreshErrors,
                                                        read_fresh_series)
from csv_plugin.demo.zoo_training import train_models
from csv_plugin.io.files import write_text
from csv_plugin.io.predictors import load_predictor

_CONFIG = """\
'''Accuracies and token losses of a fresh series.'''
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


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--number',
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
    add_out(parser, 'the models and their evaluation')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    series = fresh_series(args.number)
    names = tuple(f'{series.name}-{size}' for size in args.sizes)
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
    runs = sorted(work_dir.glob('2*'))
    fresh = read_fresh_series(runs, names)
    kind, size = series.tokenizer.kind, series.tokenizer.vocab_size
    shares = ', '.join(f'{name} {100 * share:.0f} %'
                       for name, share in series.shares.items())
    print(
        f'\nSeries {series.name}: {kind} tokenizer of {size} entries at most; '
        f'{shares}.')
    for name, path in (('auto', shipped.PREDICTOR), ('all-token loss',
                                                     shipped.BASELINE)):
        print(f'\n{name}\n')
        print(table(fresh.errors(load_predictor(path))))


def table(errors: FreshErrors) -> str:
    """A row per exam in Markdown; the last row has means."""
    rows = [[name, *row]
            for name, row in zip((*errors.exams, 'mean'), errors.rows())]
    header = [
        'exam', 'MSE stated', 'MSE', 'ratio', 'MAE, points', 'hold', 'width'
    ]
    return tabulate(
        rows,
        header,
        tablefmt='pipe',
        floatfmt=('', '.2f', '.2f', '.2f', '.1f', '.2f', '.1f'))


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
