"""Learn which tokens matter for which benchmark.

    python tools/train_scoring_head.py --runs outputs/mine/2* \\
        --texts texts.jsonl --models models.csv --benchmarks mmlu gsm8k \\
        --scoring-lm internlm/internlm2_5-1_8b --out outputs/predictor

Losses and scores come from OpenCompass --runs; or from --dumps
<model>.parquet with a table of --scores; or from a --collection, such as
OUT/collection of an earlier call. docs/training.md explains every option.
"""
import argparse
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from tqdm import tqdm

from csv_plugin.cli.arguments import (check_folder, exit_code, named_number,
                                      refuse)
from csv_plugin.core.capability_points import capability_points
from csv_plugin.core.conventions import InputError
from csv_plugin.core.study import Study
from csv_plugin.core.training import Training
from csv_plugin.io import model_splits
from csv_plugin.io.collecting import collect, named_benchmarks
from csv_plugin.io.collection import read_collection
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.head.algorithm2 import OPTIMISERS, HeadSettings
from csv_plugin.lm.methods import METHODS, check_validation
from csv_plugin.lm.scoring_lm import load_scoring_lm, target_tokens
from csv_plugin.lm.states.kept_states import kept_states
from csv_plugin.report.training_files import AFTER, BEFORE, TrainingOutcome


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument('--runs', nargs='+', metavar='DIR')
    source.add_argument('--dumps', nargs='+', metavar='FILE')
    source.add_argument('--collection', metavar='DIR', type=Path)
    for name in ('texts', 'models', 'tokenizer'):
        add(f'--{name}', metavar='FILE')
    add('--split', choices=model_splits.SPLITS, default=model_splits.TABLE)
    add('--scores', metavar='CSV|paper')
    add('--benchmarks', nargs='+', metavar='CSV|NAME')
    add('--chance', nargs='+', type=named_number, metavar='NAME=LEVEL')
    add('--scoring-lm', required=True, metavar='PATH')
    add('--trust-remote-code', action='store_true')
    add('--method', choices=('exact', 'paper'), default='exact')
    add('--optimiser', choices=sorted(OPTIMISERS))
    add('--learning-rate', type=float)
    add('--steps', type=int, metavar='N')
    add('--fit', nargs='+', default=(), metavar='SPLIT')
    add('--seed', type=int, default=0)
    add('--out', required=True, metavar='DIR', type=Path)
    return parser.parse_args(argv)


def run(args, command):
    check_folder(args.out)
    settings = head_settings(args)
    collection = collected(args)
    models = collection.models_to_fit(args.fit)
    print(*collection.coverage(models), sep='\n')
    validation = [
        model for model in models
        if collection.info[model].split == 'validation'
    ]
    if settings:  # An error now, not later.
        check_validation(validation, models)
    model, tokenizer = load_scoring_lm(args.scoring_lm, args.tokenizer,
                                       args.trust_remote_code)
    targets = target_tokens(tokenizer, collection.texts)
    args.out.mkdir(parents=True, exist_ok=True)
    states = kept_states(args.out / 'states.safetensors', model, tokenizer,
                         collection.texts, partial(tqdm, desc='hidden states'))
    losses = targets.table({
        name: dump.texts
        for name, dump in collection.losses.items()
    })
    training = Training(
        losses.select(models), collection.texts, collection.accuracies,
        collection.families, targets, args.seed)
    train = METHODS['paper' if settings else 'auto']
    trained = train(training, states, validation, settings,
                    partial(tqdm, desc='fit'))
    name = 'paper' if settings else 'salience'
    predictors = {name: trained.predictor} | training.baselines()
    accuracies, families = collection.accuracies, collection.families
    points = [(step, capability_points(part, losses, accuracies, families))
              for step, part in ((BEFORE, predictors['uniform']),
                                 (AFTER, trained.predictor))]
    outcome = TrainingOutcome(
        Study.of(predictors, losses, accuracies), points, {
            m: known.split
            for m, known in collection.info.items()
        }, [
            benchmark for benchmark in accuracies.benchmarks
            if benchmark not in collection.side
        ], trained.curve)
    print(f'{outcome.write(args.out, command)}\n\nWritten to {args.out}.')


def head_settings(args):
    """Of Algorithm 2; None for the exact method."""
    if args.method == 'exact':
        return refuse(args, '--method exact', 'optimiser', 'learning_rate',
                      'steps')
    given = zip(('optimiser', 'learning_rate', 'n_steps'),
                (args.optimiser, args.learning_rate, args.steps))
    return HeadSettings(**{k: v for k, v in given if v is not None})


def collected(args):
    folder = args.collection or args.out / 'collection'
    if args.collection:
        refuse(args, '--collection', 'texts', 'models', 'scores', 'benchmarks',
               'chance')
    elif not (args.texts and args.benchmarks):
        raise InputError('--runs and --dumps', '--texts and --benchmarks',
                         'not both', 'Name the texts and the benchmarks.')
    else:
        collect(folder, read_texts(args.texts),
                model_splits.named_models(args.models, args.split),
                named_benchmarks(args.benchmarks, dict(args.chance or ())),
                args.runs or (), args.dumps or (), args.scores,
                partial(tqdm, desc='losses'))  # yapf: disable
    collection = read_collection(folder, partial(tqdm, desc='dumps'))
    info = model_splits.split_models(collection.info, args.split)
    return replace(collection, info=info)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    command = shlex.join(['python', 'tools/train_scoring_head.py', *argv])
    return exit_code(run, parse_args(argv), command)


if __name__ == '__main__':
    sys.exit(main())
