"""The option that names a predictor, the same in every command."""
import argparse
from typing import Any

from csv_plugin.core.predictions import PREDICTED
from csv_plugin.io.model_paths import split_name


def predictor_file(text: str) -> tuple[str, str]:
    """Type of the option `--predictor [LABEL=]FILE`.

    >>> predictor_file('salience=p.safetensors')
    ('salience', 'p.safetensors')
    >>> predictor_file('p.safetensors')
    ('predicted', 'p.safetensors')
    """
    label, path = split_name(text)
    return label or PREDICTED, path


def add_predictor(parser: argparse.ArgumentParser, **settings: Any) -> None:
    """Add the option `--predictor`, of a label and a file.

    Args:
        parser (argparse.ArgumentParser): Of the command.
        settings (Any): Of the option, such as `help`.
    """
    parser.add_argument(
        '--predictor',
        required=True,
        type=predictor_file,
        metavar='[LABEL=]FILE',
        **settings)
