"""Train the demonstration zoo: 36 small Llamas with 7 checkpoints each.

Models that are complete are kept when the same command is run again; a model
whose training was interrupted is trained from the beginning.

Example (about two hours on one core):

    python -m tools.studies.train_demo_zoo --out outputs/zoo

The models that ship were trained with steps of Muon in float32; torch makes
them in bfloat16, so that other models come out.
"""
import argparse
import sys
import textwrap
from collections.abc import Sequence

from csv_plugin.cli.arguments import check_folder, exit_code
from csv_plugin.cli.options import add_shared
from tools.studies.options import add_jobs, add_number, parser_of
from tools.studies.zoo.recipes import MODELS, TrainingRecipe, recipe_of
from tools.studies.zoo.zoo_training import train_models


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--models',
        nargs='+',
        type=model_name,
        default=MODELS,
        metavar='MODEL',
        help=textwrap.fill(
            f'which of {" ".join(MODELS)} (default all), or a size of a '
            'fresh series, which is z and a number: z7-s',
            width=55,
            break_on_hyphens=False))
    add_number(parser, '--tokens', TrainingRecipe.tokens,
               'training tokens of each model')
    add_jobs(parser)
    add_shared(parser, '--out')
    return parser.parse_args(argv)


def model_name(text: str) -> str:
    """Type of an option: the name of a model."""
    try:
        recipe_of(text)
    except KeyError:
        raise argparse.ArgumentTypeError(
            f'expected a model such as a-xs or z7-s; found {text!r}') from None
    return text


def run(args: argparse.Namespace) -> None:
    recipe = TrainingRecipe(tokens=args.tokens)
    check_folder(args.out)
    n_trained = train_models(args.out, args.models, recipe, jobs=args.jobs)
    print(f'{n_trained} models trained, '
          f'{len(args.models) - n_trained} were complete: {args.out}')


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
