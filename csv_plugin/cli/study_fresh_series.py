"""Train a series of models that nobody has seen, and predict it.

    python tools/study_fresh_series.py --number 7 --out outputs/fresh

The number draws a tokenizer, a mixture of texts, the texts and the weights;
no such series is in the zoo. Models are trained, OpenCompass evaluates them
and records their token losses, and the predictors that ship with the package
are held against their accuracies: the error that each states of itself beside
the one it makes. What is done already is not done again.
"""
import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Optional

from tabulate import tabulate

from csv_plugin.cli import train_demo_zoo
from csv_plugin.cli.arguments import add_out, exit_code, whole_number
from csv_plugin.demo import shipped
from csv_plugin.demo.recipes import SIZES, fresh_series
from csv_plugin.demo.studies.fresh_series_study import (FreshErrors,
                                                        read_fresh_series)
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
work_dir = {work_dir!r}
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
    parser.add_argument(
        '--jobs',
        type=partial(whole_number, least=1),
        default=1,
        metavar='N',
        help='models trained at once, one thread each (default 1)')
    add_out(parser, 'the models and their evaluation')
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    series = fresh_series(args.number)
    names = tuple(f'{series.name}-{size}' for size in args.sizes)
    zoo = args.out / 'zoo'
    train_demo_zoo.run(
        train_demo_zoo.parse_args(
            ['--models', *names, '--jobs',
             str(args.jobs), '--out',
             str(zoo)]))
    runs = evaluate(args.out, zoo, names)
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


def evaluate(out: Path, zoo: Path, names: Sequence[str]) -> list[Path]:
    """Let OpenCompass evaluate models, and go on where it was interrupted.

    Args:
        out (Path): Folder for the config and the run.
        zoo (Path): Folder of the trained models.
        names (Sequence[str]): The models.

    Returns:
        list[Path]: Time-stamped folders, in order of time.

    Raises:
        SystemExit: If OpenCompass ends with an error.
    """
    config, work_dir = out / 'collect.py', out / 'collect'
    write_text(
        config,
        _CONFIG.format(
            zoo=str(zoo),
            models=[name.split('-') for name in names],
            work_dir=str(work_dir)))
    command = [sys.executable, '-m', 'opencompass.cli.main', str(config)]
    if any(work_dir.glob('2*')):
        command += ['-r', 'latest']
    # Small models are fastest on one thread each.
    environment = {'OMP_NUM_THREADS': '1', **os.environ}
    process = subprocess.run(command, env=environment)
    if process.returncode:
        raise SystemExit(process.returncode)
    return sorted(work_dir.glob('2*'))


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
