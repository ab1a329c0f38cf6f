"""Train the demonstration zoo: 36 small Llamas with 7 checkpoints each.

Models that are complete are kept when the same command is run again; a model
whose training was interrupted is trained from the beginning.

Example (about two hours on one core):

    python tools/train_demo_zoo.py --out outputs/zoo
"""
import argparse
import multiprocessing
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, Optional

from csv_plugin.cli.arguments import (add_out, check_folder, exit_code,
                                      whole_number)
from csv_plugin.demo.recipes import MODELS, TrainingRecipe, recipe_of
from csv_plugin.demo.zoo_files import Manifest, model_folder
from csv_plugin.demo.zoo_training import (make_tokenizer, train_model,
                                          use_one_core)

# Arguments of `train`.
Task = tuple[Path, str, TrainingRecipe, str, int]


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
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
    parser.add_argument(
        '--tokens',
        type=partial(whole_number, least=1),
        default=TrainingRecipe.tokens,
        metavar='N',
        help='training tokens of each model (default %(default)s)')
    parser.add_argument(
        '--seed',
        type=int,
        default=TrainingRecipe.seed,
        metavar='N',
        help='another seed, other weights and texts (default %(default)s)')
    parser.add_argument(
        '--jobs',
        type=partial(whole_number, least=1),
        default=1,
        metavar='N',
        help='models trained at once, one thread each (default 1)')
    parser.add_argument(
        '--device',
        default='cpu',
        metavar='NAME',
        help='cpu or cuda (default cpu)')
    add_out(parser, 'the zoo')
    return parser.parse_args(argv)


def model_name(text: str) -> str:
    """Type of an option: the name of a model."""
    try:
        recipe_of(text)
    except KeyError:
        raise argparse.ArgumentTypeError(
            f'expected a model such as a-xs or z7-s; found {text!r}') from None
    return text


def train(zoo: Path, model: str, recipe: TrainingRecipe, device: str,
          line: int) -> tuple[str, dict[str, Any]]:
    """Train a model on one core; its name and its record."""
    use_one_core()
    return model, train_model(zoo, model, recipe, device, line)


def results(tasks: Sequence[Task],
            jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and records of models, in the order in which they complete."""
    if jobs == 1:
        yield from (train(*task) for task in tasks)
        return
    with ProcessPoolExecutor(jobs,
                             multiprocessing.get_context('spawn')) as pool:
        futures = [pool.submit(train, *task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()


def run(args: argparse.Namespace) -> None:
    recipe = TrainingRecipe(tokens=args.tokens, seed=args.seed)
    check_folder(args.out)
    args.out.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(args.out, recipe)
    complete = manifest.models
    missing = [model for model in args.models if model not in complete]
    for model in missing:
        shutil.rmtree(model_folder(args.out, model), ignore_errors=True)
        make_tokenizer(args.out, recipe_of(model)[0].name, recipe)
    tasks = [(args.out, model, recipe, args.device, i % args.jobs)
             for i, model in enumerate(missing)]
    for model, record in results(tasks, args.jobs):
        manifest.add(model, record)
    print(f'{len(missing)} models trained, '
          f'{len(args.models) - len(missing)} were complete: {args.out}')


def main(argv: Optional[Sequence[str]] = None) -> int:
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
