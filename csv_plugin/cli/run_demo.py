"""Run the demonstration: real and predicted accuracies of seven small models.

    salience demo

All that it needs comes with the package, and nothing is downloaded. It runs
OpenCompass, as `opencompass eval_csv.py` does with a copy of the config. Its
texts, models, token losses and predictors serve other verbs too:

    D=$(salience demo --where)
    salience predict "$D"/collection/d-*@100.parquet \\
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
from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--work-dir',
        metavar='DIR',
        type=Path,
        default=Path('outputs/csv'),
        help='folder of the runs, each in a folder named after its\n'
        'time (default outputs/csv)')
    parser.add_argument(
        '--where',
        action='store_true',
        help='print the folder of its texts, models, losses and\n'
        'predictors, and run nothing (default: run)')


def run(args: argparse.Namespace) -> None:
    if args.where:
        print(shipped.FOLDER)
        return
    if find_spec('opencompass') is None:
        raise ModuleNotFoundError(name='opencompass')
    check_folder(args.work_dir)
    for path in (os.getcwd(), sys.executable, str(RUNS), str(args.work_dir)):
        if ' ' in path:
            raise InputError(
                path, 'a path without spaces, from which alone '
                'OpenCompass can start its tasks', 'a space',
                'Go to another folder, or install the package elsewhere.')
    command = [sys.executable, '-m', 'opencompass.cli.main']
    command += [str(RUNS / 'eval_csv.py'), '--work-dir', str(args.work_dir)]
    # Small models are fastest on one thread each.
    environment = {'OMP_NUM_THREADS': '1', **os.environ}
    process = subprocess.run(command, env=environment)
    if process.returncode:
        raise SystemExit(process.returncode)
    runs = sorted(args.work_dir.glob('2*'))
    for run in runs[-1:]:
        print(f'\nA page of this run: salience report {run}')
