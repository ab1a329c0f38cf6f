"""Make the files of the demonstration that ship with the package.

    python tools/train_demo_zoo.py --out outputs/zoo
    opencompass configs/eval_csv_collect.py
    python tools/build_demo.py --zoo outputs/zoo --runs outputs/collect/2*

Held-out models, dumps and scores of the whole zoo, and two predictors: the
default method and the all-token baseline, fitted to the same models.
"""
import argparse
import json
import sys
from pathlib import Path

from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.demo import building, shipped, world
from csv_plugin.demo.studies.zoo_study import TRAIN, VALIDATION, ZooStudy
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.text_sets import write_texts
from csv_plugin.lm.salience_training import Training


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        '--zoo', required=True, type=Path, metavar='DIR', help='trained zoo')
    parser.add_argument(
        '--runs',
        required=True,
        nargs='+',
        type=Path,
        metavar='DIR',
        help='time-stamped folders of its evaluation')
    return parser.parse_args(argv)


def run(args):
    texts = world.validation_texts()
    write_texts(shipped.TEXTS, texts)
    building.copy_models(args.zoo, shipped.ZOO, args.runs)
    manifest = json.loads((args.zoo / 'manifest.json').read_text('utf-8'))
    sizes = {
        model: record['parameters']
        for model, record in manifest['models'].items()
    }
    building.write_collection(shipped.COLLECTION, args.runs, texts, sizes)
    train()


def train():
    """Fit both predictors to what ships."""
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER)
    training = Training(study.collection, study.targets,
                        study.collection.models_in(TRAIN, VALIDATION),
                        study.states)
    predictor = training.auto(tqdm)
    save_predictor(predictor, shipped.PREDICTOR)
    save_predictor(training.all_token_loss(), shipped.BASELINE)
    for known in predictor.benchmarks:
        print(f'{known.benchmark}: {known.notes[-1]}')


def main(argv=None):
    return exit_code(run, parse_args(argv))


if __name__ == '__main__':
    sys.exit(main())
