"""Learn which tokens matter for which benchmark.

From OpenCompass runs with token losses:

    python tools/train_scoring_head.py --runs outputs/csv/2* \
        --texts texts.jsonl --models models.csv --benchmarks benchmarks.csv \
        --scoring-lm internlm/internlm2_5-1_8b --out outputs/predictor

models.csv names family and split of each model, benchmarks.csv the chance
levels (docs/formats.md). The runs are collected in OUT/collection first; later
calls may start from there with --collection instead of the first four.
"""
import argparse
import shlex
import sys
from functools import partial
from pathlib import Path

from tqdm import tqdm

from csv_plugin.core.errors import InputError
from csv_plugin.core.study import Study
from csv_plugin.io.collections import collect_runs, read_collection
from csv_plugin.io.command_line import check_folder, exit_code
from csv_plugin.io.predictors import save_predictor
from csv_plugin.lm.feature_blocks import (load_scoring_lm, target_tokens,
                                          token_states)
from csv_plugin.lm.salience_training import Training
from csv_plugin.report.study_tables import (error_table, write_leaderboard,
                                            write_predictions, write_report)


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        '--runs', nargs='+', metavar='DIR', help='time-stamped run folders')
    source.add_argument(
        '--collection', metavar='DIR', type=Path, help='collected before')
    for name in ('texts', 'models', 'benchmarks'):
        parser.add_argument(
            f'--{name}', metavar='FILE', help='needed with --runs')
    parser.add_argument(
        '--scoring-lm',
        required=True,
        metavar='PATH',
        help='folder or hub id of a causal LM, such as the\n'
        "paper's internlm/internlm2_5-1_8b")
    parser.add_argument(
        '--tokenizer', metavar='PATH', help='if it lies elsewhere')
    parser.add_argument(
        '--trust-remote-code',
        action='store_true',
        help='run code that comes with the scoring LM')
    parser.add_argument(
        '--fit',
        nargs='+',
        default=['train', 'validation'],
        metavar='SPLIT',
        help='splits to fit to (default: train validation)')
    parser.add_argument('--seed', type=int, default=0, help='of the folds')
    parser.add_argument('--out', required=True, metavar='DIR', type=Path)
    return parser.parse_args(argv)


def run(args, command):
    check_folder(args.out)
    folder = args.collection or args.out / 'collection'
    if args.runs:
        if not (args.texts and args.models and args.benchmarks):
            raise InputError('--runs', '--texts, --models and --benchmarks',
                             'not all three', 'Name the files.')
        collect_runs(folder, args.runs, args.texts, args.models,
                     args.benchmarks, partial(tqdm, desc='collect'))
    collection = read_collection(folder, partial(tqdm, desc='dumps'))
    model, tokenizer = load_scoring_lm(args.scoring_lm, args.tokenizer,
                                       args.trust_remote_code)
    targets = target_tokens(tokenizer, collection.texts)
    states = token_states(model, tokenizer, collection.texts,
                          partial(tqdm, desc='hidden states'))
    training = Training(collection, targets, collection.models_in(*args.fit),
                        states, args.seed)
    predictors = {
        'auto': training.auto(partial(tqdm, desc='fit')),
        'uniform': training.all_token_loss(),
        'constant': training.constant(),
    }
    if label := training.label_token_loss():
        predictors['label-token'] = label
    args.out.mkdir(parents=True, exist_ok=True)
    study = Study.of(predictors, collection.losses, collection.accuracies)
    write(args.out, study, collection, command)


def write(out, study, collection, command):
    """The predictor, what it predicts, and how well."""
    splits = {name: known.split for name, known in collection.info.items()}
    main = study.observed.benchmarks
    fitted = {m for b in study.predictor.benchmarks for m in b.fit_models}
    shown = [model for model in splits if model not in fitted]
    title = f'{len(shown)} models predicted from {len(splits) - len(shown)}'
    save_predictor(study.predictor, out / 'predictor.safetensors')
    write_predictions(out / 'predictions.csv', study, splits)
    write_leaderboard(out / 'leaderboard.md', study, shown)
    write_report(out / 'report.md', study, main, title, command)
    print(title, error_table(study, main), f'Written to {out}.', sep='\n\n')


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    command = shlex.join(['python', 'tools/train_scoring_head.py', *argv])
    return exit_code(run, parse_args(argv), command)


if __name__ == '__main__':
    sys.exit(main())
