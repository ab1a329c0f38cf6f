"""Command of the study; see the package."""
import argparse
from pathlib import Path

from tools.studies import real_models
from tools.studies.real_models.collection import Sizes, collect
from tools.studies.real_models.models import MODELS


def main() -> None:
    """Collect, or report."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.studies.real_models',
        description=real_models.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    part = commands.add_parser('collect', help='fetch and run the models')
    part.add_argument('folder', type=Path)
    part.add_argument('--models', nargs='+', choices=MODELS, default=[*MODELS])
    part.add_argument('--items', type=int, default=400)
    part.add_argument('--answers', type=int, default=32)
    part.add_argument('--workers', type=int, default=2)
    part.add_argument(
        '--stages', choices=('infer', 'eval', 'all'), default='all')
    options = parser.parse_args()
    collect(options.folder, options.models,
            Sizes(options.items, options.answers), options.workers,
            options.stages)


if __name__ == '__main__':
    main()
