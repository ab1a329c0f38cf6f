"""Run the demonstration: accuracies of seven small models and predictions.

    salience demo

All that it needs comes with the package, and nothing is downloaded. It runs
OpenCompass, as `opencompass eval_csv.py` does with a copy of the config. Its
texts, models, token losses and predictors serve other verbs too:

    D=$(salience demo --where)
    salience predict "$D"/collection/d-*@100.safetensors \\
        --predictor "$D/predictor.safetensors"
"""
import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from csv_plugin.cli.arguments import check_folder
from csv_plugin.cli.copy_configs import RUNS
from csv_plugin.cli.options import add_flag, add_option
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped

#: What happens, and how long it takes.
_PLAN = ('OpenCompass runs seven small models on five exams and 250 texts: '
         'about two minutes on two idle cores.')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, '--work-dir', 'DIR', 'folder of the runs, each in a folder '
        'named after its time (default outputs/csv)', Path,
        Path('outputs/csv'))
    add_flag(
        parser, '--where', 'print the folder of its texts, models, losses '
        'and predictors, and run nothing (default: run)')


def run(args: argparse.Namespace) -> None:
    if args.where:
        print(shipped.FOLDER)
        return
    check_folder(args.work_dir)
    check_opencompass(args.work_dir)
    print(_PLAN, flush=True)
    run_opencompass(RUNS / 'eval_csv.py', args.work_dir)


def check_opencompass(*paths: Path) -> None:
    """Check that OpenCompass can start its tasks with these paths.

    Raises:
        ModuleNotFoundError: It is not installed.
        InputError: A path contains a space.
    """
    if find_spec('opencompass') is None:
        raise ModuleNotFoundError(name='opencompass')
    for path in (os.getcwd(), sys.executable, *map(str, paths)):
        if ' ' in path:
            raise InputError(
                path, 'a path without spaces, from which alone '
                'OpenCompass can start its tasks', 'a space',
                'Go to another folder, or install the package elsewhere.')


def run_opencompass(config: Path, work_dir: Path, *options: str) -> None:
    """Run OpenCompass to its end, as a process of its own.

    Errors are those of `check_opencompass`, or a `SystemExit` if it fails.
    """
    check_opencompass(config, work_dir)
    command = [sys.executable, '-m', 'opencompass.cli.main', str(config)]
    command += ['--work-dir', str(work_dir), *options]
    # Small models are fastest on one thread each.
    environment = {'OMP_NUM_THREADS': '1', **os.environ}
    process = subprocess.run(command, env=environment)
    if process.returncode:
        raise SystemExit(process.returncode)
