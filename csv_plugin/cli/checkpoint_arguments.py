"""Options of the commands that forecast runs from their checkpoints."""
import argparse
from pathlib import Path

from csv_plugin.cli.arguments import positive
from csv_plugin.cli.predictor_argument import add_predictor


def add_forecasts(parser: argparse.ArgumentParser, unit: str) -> None:
    """What forecasts are made with, how often, and where they are logged.

    Args:
        parser (argparse.ArgumentParser): Of the command.
        unit (str): What trainings are measured in.
    """
    add_predictor(parser, help='made from token losses (required)')
    parser.add_argument(
        '--history',
        nargs='+',
        default=[],
        metavar='PLACE',
        help='losses of earlier, finished runs (default: none)')
    parser.add_argument(
        '--budget',
        type=positive,
        default=float('nan'),
        metavar='NUMBER',
        help=f'{unit} at the end of a run (default:\n'
        'those of the earlier runs)')
    parser.add_argument(
        '--interval',
        type=positive,
        default=60,
        metavar='SECONDS',
        help='seconds between two looks (default 60)')
    parser.add_argument(
        '--tensorboard',
        metavar='LOGDIR',
        type=Path,
        help='log predictions and forecasts in this folder\n'
        '(default: no log)')
