"""Run the demonstration: observe and predict accuracies of seven small models.

    salience demo

Everything that it needs comes with the package, and nothing is downloaded. It
runs OpenCompass, as `opencompass eval_csv.py` does with a copy of the config.
Its texts, models, token losses and predictors can be used with other verbs:

    D=$(salience demo --where)
    salience predict "$D"/collection/d-*@100.safetensors \\
        --predictor "$D/predictor.safetensors"

To change its config or another config of the package, copy it, and run the
copy by a command such as `opencompass eval_csv_real.py`. OpenCompass can also
be called without a config, with the names of models, datasets and summarizer:

    salience demo --copy-configs eval_csv_real --out my_configs
    opencompass --models tidewell_zoo --datasets tidewell_exams \\
        salience_texts --summarizer predicted \\
        --config-dir "$(salience demo --where configs)"
"""
import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from csv_plugin.cli.arguments import check_folder, into_folder, refuse
from csv_plugin.cli.copy_configs import PARTS, RUNS, copy_configs
from csv_plugin.cli.options import add_option
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped

#: The text that is printed before the run.
_PLAN = ('OpenCompass runs seven small models on five exams and 250 texts: '
         'about two minutes on two idle cores.')
#: The value of `--where` if the user gives none.
FILES = 'files'
#: Maps each value of `--where` to the folder that is printed.
FOLDERS = {FILES: shipped.FOLDER, 'configs': PARTS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, '--work-dir', 'DIR', 'folder of the runs, each in a folder '
        'named after its time (default outputs/csv)', Path)
    instead = parser.add_mutually_exclusive_group()
    add_option(
        instead,
        '--where',
        'WHAT',
        "run nothing, and print the folder of the demonstration's texts, "
        'models, losses and predictors, or with --where configs the folder '
        'for the option --config-dir of OpenCompass (default: run)',
        nargs='?',
        const=FILES,
        choices=FOLDERS)
    add_option(
        instead, '--copy-configs', 'NAME', 'run nothing, and copy configs for '
        'OpenCompass, by their names without .py, or all configs if no name '
        'is given (default: run)', str, None, '*')
    add_option(parser, '--out', 'DIR',
               'folder for copied configs (default: the '
               'current folder)', Path)


def run(args: argparse.Namespace) -> None:
    if args.copy_configs is not None:
        refuse(args, '--copy-configs', 'work_dir')
        args.out = args.out or Path()
        into_folder(_copy)(args)
        return
    refuse(args, 'no --copy-configs', 'out')
    if args.where:
        refuse(args, '--where', 'work_dir')
        print(FOLDERS[args.where])
        return
    work_dir = args.work_dir or Path('outputs/csv')
    check_folder(work_dir)
    check_opencompass(work_dir)
    print(_PLAN, flush=True)
    run_opencompass(RUNS / 'eval_csv.py', work_dir)


def _copy(args: argparse.Namespace) -> None:
    """Copy the configs that `--copy-configs` names to `--out`."""
    copy_configs(args.copy_configs, args.out)


def check_opencompass(*paths: Path) -> None:
    """Check that OpenCompass can start its tasks with these paths.

    Raises:
        ModuleNotFoundError: OpenCompass is not installed.
        InputError: A path contains a space.
    """
    if find_spec('opencompass') is None:
        raise ModuleNotFoundError(name='opencompass')
    for path in (os.getcwd(), sys.executable, *map(str, paths)):
        if ' ' in path:
            raise InputError(
                path, 'a path without spaces, because OpenCompass cannot '
                'start its tasks otherwise', 'a space',
                'Go to another folder, or install the package elsewhere.')


def run_opencompass(config: Path, work_dir: Path, *options: str) -> None:
    """Run OpenCompass in a process of its own, and wait for its end.

    Raises:
        ModuleNotFoundError: OpenCompass is not installed.
        InputError: A path contains a space.
        SystemExit: OpenCompass fails.
    """
    check_opencompass(config, work_dir)
    command = [sys.executable, '-m', 'opencompass.cli.main', str(config)]
    command += ['--work-dir', str(work_dir), *options]
    # Small models are fastest on one thread each.
    environment = {'OMP_NUM_THREADS': '1', **os.environ}
    process = subprocess.run(command, env=environment)
    if process.returncode:
        raise SystemExit(process.returncode)
