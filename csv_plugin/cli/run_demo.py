"""Run the demonstration: real and predicted accuracies of seven small models.

    salience demo

All that it needs comes with the package, and nothing is downloaded. It runs
OpenCompass, as `opencompass eval_csv.py` does with a copy of the config. Its
texts, models, token losses and predictors serve other verbs too:

    D=$(salience demo --where)
    salience predict "$D"/collection/d-*@100.safetensors \\
        --predictor "$D/predictor.safetensors"
"""
import argparse
from pathlib import Path

from csv_plugin.cli.arguments import add_flag, add_option, check_folder
from csv_plugin.cli.copy_configs import RUNS
from csv_plugin.cli.running_opencompass import run_opencompass
from csv_plugin.demo import shipped


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
    run_opencompass(RUNS / 'eval_csv.py', args.work_dir)
    runs = sorted(args.work_dir.glob('2*'))
    for run in runs[-1:]:
        print(f'\nA page of this run: salience report {run} \\\n'
              f'    --predictor {shipped.PREDICTOR}')
