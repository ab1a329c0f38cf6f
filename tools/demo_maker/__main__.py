"""Make the demonstration's files that ship with the package.

    python -m tools.demo_maker

trains 36 small Llamas with seven checkpoints each into outputs/zoo, runs
OpenCompass on them with configs/eval_csv_collect.py, and writes the held-out
models, the exams, the losses, accuracies and label-token losses of all models,
and two predictors: the default method and the mean loss, the baseline. That
takes three hours of one core. What is complete is kept when the command is run
again. The predictors alone, from the losses and accuracies that ship:

    python -m tools.demo_maker --predictors

The models that ship were trained with steps of Muon in float32; torch makes
them in bfloat16, so that other models come out.
"""
import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.run_demo import run_opencompass
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import MEAN_LOSS, SALIENCE
from csv_plugin.demo import shipped
from csv_plugin.io.collection import Collection, read_collection
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import models_in
from csv_plugin.io.text_sets import write_texts
from csv_plugin.lm.methods import fit
from tools.demo_maker import building, world
from tools.demo_maker.recipes import MODELS, TrainingRecipe
from tools.demo_maker.training import train_models

#: The config that evaluates the models, and the folders that it names.
CONFIG = Path('configs/eval_csv_collect.py')
MODELS_TRAINED, RUNS = Path('outputs/zoo'), Path('outputs/collect')


def make_all() -> None:
    """Train the models, evaluate them, and write all files."""
    train_models(MODELS_TRAINED, MODELS, TrainingRecipe())
    # A run that was begun is finished by OpenCompass's own means.
    again = ['-r'] if any(RUNS.glob('2*')) else []
    run_opencompass(CONFIG, RUNS, *again)
    runs = sorted(RUNS.glob('2*'))
    texts = world.validation_texts()
    write_texts(shipped.TEXTS, texts)
    building.write_exams(shipped.EXAMS)
    building.copy_models(MODELS_TRAINED, shipped.ZOO, runs)
    sizes = building.model_sizes(MODELS_TRAINED)
    building.write_collection(shipped.COLLECTION, runs, texts, sizes)
    building.write_label_losses(shipped.LABEL_LOSSES, runs)
    fit_predictors()


def fit_predictors() -> None:
    """Fit both predictors to the collection that ships."""
    collection = read_collection(shipped.COLLECTION)
    for method, path in ((SALIENCE, shipped.PREDICTOR), (MEAN_LOSS,
                                                         shipped.BASELINE)):
        save_predictor(shipped_fit(collection, method), path)


def shipped_fit(collection: Collection, method: str) -> Predictor:
    """Fit a method to the models of the collection that are not for test."""
    models = models_in(('train', 'validation'), tuple(collection.info),
                       collection.info)
    return fit(collection.losses, collection.accuracies.select(models),
               collection.families, method)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--predictors',
        action='store_true',
        help='make the two predictors alone (default: all files)')
    args = parser.parse_args(argv)
    return exit_code(fit_predictors if args.predictors else make_all)


if __name__ == '__main__':
    sys.exit(main())
