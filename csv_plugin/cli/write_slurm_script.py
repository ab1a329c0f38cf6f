"""Write a script for Slurm by which many tasks score the models of a list.

    salience slurm --tasks 8 --at-once 4 --partition gpu --gpus 1 \\
        --time 04:00:00 --out losses.sbatch -- \\
        --models models.csv --texts texts.jsonl --out outputs/losses

What stands behind the -- are options of salience losses. Submit the script by
sbatch; docs/cluster.md says more.
"""
import argparse
import shlex
import sysconfig
from functools import partial
from pathlib import Path
from typing import NamedTuple

from csv_plugin.cli.arguments import whole_number
from csv_plugin.cli.score_models import add_arguments as add_losses
from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import check_target, write_text


class _Setting(NamedTuple):
    """What a cluster wants to know of a job.

    Args:
        name (str): Option of this command and of sbatch.
        placeholder (str): What stands in the script without it.
        words (str): What it is.
    """
    name: str
    placeholder: str
    words: str


_SETTINGS = (_Setting('partition', 'PARTITION', 'part of the cluster'),
             _Setting('account', 'ACCOUNT', 'who is charged for the time'),
             _Setting('gpus', '1', 'GPUs of each task'),
             _Setting('time', 'HH:MM:SS', 'longest time of each task'))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'options',
        nargs='+',
        metavar='OPTION',
        help='options of salience losses, behind a -- (required):\n'
        '--models, --texts, --out and others, but not --shard')
    parser.add_argument(
        '--out',
        required=True,
        metavar='FILE',
        type=Path,
        help='the script (required)')
    parser.add_argument(
        '--tasks',
        required=True,
        metavar='N',
        type=partial(whole_number, least=1),
        help='number of tasks of the array (required)')
    parser.add_argument(
        '--at-once',
        metavar='M',
        type=partial(whole_number, least=1),
        help='most tasks that run at a time (default: as many as the\n'
        'cluster lets)')
    for setting in _SETTINGS:
        parser.add_argument(
            f'--{setting.name}',
            metavar=setting.placeholder,
            help=f'{setting.words} (default: to be filled in)')


def run(args: argparse.Namespace) -> None:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    losses = _options_of_losses(args.options)
    logs = losses.out / 'logs'
    check_target(args.out)
    environment = Environment(
        loader=PackageLoader('csv_plugin.cli', '.'),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True)
    given = {
        setting.name: getattr(args, setting.name)
        for setting in _SETTINGS
    }
    program = Path(sysconfig.get_path('scripts'), 'salience')
    words = [str(program), 'losses', *args.options, '--shard', 'slurm']
    script = environment.get_template('losses.sbatch.jinja').render(
        file=args.out,
        tasks=args.tasks,
        at_once=args.at_once,
        logs=logs,
        given={
            name: value
            for name, value in given.items() if value
        },
        placeholders={
            setting.name: setting.placeholder
            for setting in _SETTINGS if not given[setting.name]
        },
        command=shlex.join(words))
    # Slurm ends a task whose log cannot be written.
    logs.mkdir(parents=True, exist_ok=True)
    write_text(args.out, script)
    print(f'Written to {args.out}. Fill in what is marked, then: '
          f'sbatch {shlex.quote(str(args.out))}')


def _options_of_losses(options: list[str]) -> argparse.Namespace:
    """What `salience losses` would read.

    Raises:
        InputError: There is no list of models, or a part of it is named.
    """
    parser = argparse.ArgumentParser(
        prog='salience slurm ... --', add_help=False)
    add_losses(parser)
    losses = parser.parse_args(options)
    if not losses.list:
        raise InputError('salience slurm', '--models LIST behind the --',
                         'none', 'Put the models into a file.')
    if losses.shard:
        raise InputError('salience slurm', 'no --shard behind the --', 'one',
                         'Leave it out: each task gets its own.')
    return losses
