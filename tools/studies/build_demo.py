"""Make the demonstration's files that ship with the package.

    python -m tools.studies.train_demo_zoo --out outputs/zoo
    opencompass configs/eval_csv_collect.py
    python -m tools.studies.build_demo --zoo outputs/zoo \\
        --runs outputs/collect/2*

These are the held-out models, the exams, the dumps, accuracies and label
losses of the whole zoo, and two predictors fitted to the same models: the
default method and the mean loss, the baseline. The baseline alone, from the
collection that ships:

    python -m tools.studies.build_demo --baseline
"""
import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.options import fit_bars
from csv_plugin.core.training import Training
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import models_in
from csv_plugin.io.text_sets import write_texts
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.loading import load_scoring_lm
from csv_plugin.lm.methods import train_auto
from csv_plugin.lm.tokens.tokenization import target_tokens
from tools.studies import world
from tools.studies.options import parser_of
from tools.studies.zoo import building


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--baseline',
        action='store_true',
        help='make the predictor of the baseline alone (default: all files)')
    parser.add_argument(
        '--zoo',
        type=Path,
        metavar='DIR',
        help='folder of the trained zoo (required without --baseline)')
    parser.add_argument(
        '--runs',
        nargs='+',
        type=Path,
        metavar='DIR',
        help="time-stamped folders of the zoo's evaluation\n"
        '(required without --baseline)')
    args = parser.parse_args(argv)
    if not args.baseline and not (args.zoo and args.runs):
        parser.error('expected --zoo and --runs, or --baseline')
    return args


def run(args: argparse.Namespace) -> None:
    if args.baseline:
        save_predictor(shipped_training().mean_loss(), shipped.BASELINE)
        return
    texts = world.validation_texts()
    write_texts(shipped.TEXTS, texts)
    building.write_exams(shipped.EXAMS)
    building.copy_models(args.zoo, shipped.ZOO, args.runs)
    sizes = building.model_sizes(args.zoo)
    building.write_collection(shipped.COLLECTION, args.runs, texts, sizes)
    building.write_label_losses(shipped.LABEL_LOSSES, args.runs)
    train()


def shipped_training() -> Training:
    """Return the training models of the collection that ships."""
    collection = read_collection(shipped.COLLECTION)
    _, tokenizer = load_scoring_lm(shipped.SCORING_LM,
                                   shipped.SCORING_TOKENIZER)
    targets = target_tokens(tokenizer, collection.texts)
    models = models_in(('train', 'validation'), tuple(collection.info),
                       collection.info)
    losses = targets.table(
        {model: collection.losses[model].texts
         for model in models})
    return Training(losses, collection.texts, collection.accuracies,
                    collection.families, targets)


def train() -> None:
    """Fit both predictors to the collection that ships."""
    training = shipped_training()
    scoring_lm, tokenizer = load_scoring_lm(shipped.SCORING_LM,
                                            shipped.SCORING_TOKENIZER)
    states = hidden_states(scoring_lm, tokenizer, training.texts.texts)
    predictor = train_auto(training, states, progress=fit_bars())
    save_predictor(predictor, shipped.PREDICTOR)
    save_predictor(training.mean_loss(), shipped.BASELINE)
    for benchmark in predictor.benchmarks:
        print(f'{benchmark.benchmark}: {benchmark.notes[-1]}')


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(lambda: run(parse_args(argv)))


if __name__ == '__main__':
    sys.exit(main())
