"""Make the demonstration's files that ship with the package.

    python -m tools.studies.train_demo_zoo --out outputs/zoo
    opencompass configs/eval_csv_collect.py
    python -m tools.studies.build_demo --zoo outputs/zoo \\
        --runs outputs/collect/2*

These are the held-out models, the exams, the dumps, accuracies and label
losses of the whole zoo, and two predictors fitted to the same models: the
default method and the mean loss, the baseline. The predictors alone, from the
collection that ships:

    python -m tools.studies.build_demo --predictors
"""
import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from csv_plugin.cli.arguments import exit_code
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import MEAN_LOSS, SALIENCE
from csv_plugin.demo import shipped
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import models_in
from csv_plugin.io.text_sets import write_texts
from csv_plugin.lm.methods import fit
from tools.studies import world
from tools.studies.options import parser_of
from tools.studies.zoo import building


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--predictors',
        action='store_true',
        help='make the two predictors alone (default: all files)')
    parser.add_argument(
        '--zoo',
        type=Path,
        metavar='DIR',
        help='folder of the trained zoo (required without --predictors)')
    parser.add_argument(
        '--runs',
        nargs='+',
        type=Path,
        metavar='DIR',
        help="time-stamped folders of the zoo's evaluation\n"
        '(required without --predictors)')
    args = parser.parse_args(argv)
    if not args.predictors and not (args.zoo and args.runs):
        parser.error('expected --zoo and --runs, or --predictors')
    return args


def run(args: argparse.Namespace) -> None:
    if args.predictors:
        fit_predictors()
        return
    texts = world.validation_texts()
    write_texts(shipped.TEXTS, texts)
    building.write_exams(shipped.EXAMS)
    building.copy_models(args.zoo, shipped.ZOO, args.runs)
    sizes = building.model_sizes(args.zoo)
    building.write_collection(shipped.COLLECTION, args.runs, texts, sizes)
    building.write_label_losses(shipped.LABEL_LOSSES, args.runs)
    fit_predictors()


def fit_predictors() -> None:
    """Fit both predictors to the collection that ships."""
    collection = read_collection(shipped.COLLECTION)
    paths = {SALIENCE: shipped.PREDICTOR, MEAN_LOSS: shipped.BASELINE}
    for method, path in paths.items():
        save_predictor(shipped_fit(collection, method), path)


def shipped_fit(collection: Collection, method: str) -> Predictor:
    """Fit a method to the models of the collection that are not for test."""
    models = models_in(('train', 'validation'), tuple(collection.info),
                       collection.info)
    return fit(collection.losses, collection.accuracies.select(models),
               collection.families, method)


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
