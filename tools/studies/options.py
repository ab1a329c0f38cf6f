"""Options that several studies share."""
import argparse
from functools import partial

from csv_plugin.cli.arguments import whole_number


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Option `--jobs`, for verbs that train models of the zoo."""
    parser.add_argument(
        '--jobs',
        type=partial(whole_number, least=1),
        default=1,
        metavar='N',
        help='models trained at once, one thread each (default 1)')


def two_names(text: str) -> tuple[str, str]:
    """Type of options such as `--own-units arc_challenge=arcc`.

    Raises:
        argparse.ArgumentTypeError: One of the names is missing.
    """
    first, _, second = text.rpartition('=')
    if not first or not second:
        raise argparse.ArgumentTypeError(
            'expected two names such as piqa=core_piqa, found '
            f'{text!r}')
    return first, second
