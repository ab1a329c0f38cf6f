"""Learn which tokens matter for which benchmark, and train a predictor.

    salience train --runs outputs/mine/2* \\
        --texts texts.jsonl --models models.csv --tasks mmlu gsm8k \\
        --scoring-lm internlm/internlm2_5-1_8b --trust-remote-code \\
        --out outputs/predictor

Losses and accuracies come from OpenCompass --runs; or from --dumps with a
table of --scores; or from a --collection. docs/training.md says more.
"""
import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Optional

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_loading, add_option, add_out,
                                      add_required, add_several, add_wide,
                                      into_folder, print_end, refuse)
from csv_plugin.cli.table_arguments import (add_seed, add_sources,
                                            check_sources, collect_sources,
                                            fit_bars)
from csv_plugin.core.escaping import one_line
from csv_plugin.core.model_losses import mixed_engines
from csv_plugin.core.training import Training
from csv_plugin.io.collection import MODELS, Collection, read_collection
from csv_plugin.io.paper import SPLITS, TABLE, named_models, split_models
from csv_plugin.io.tables import (ModelInfo, models_to_fit, read_models,
                                  split_name)
from csv_plugin.lm.head import OPTIMISERS, HeadSettings
from csv_plugin.lm.methods import METHODS, check_validation
from csv_plugin.report.notes import family_notes, shortage_notes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_sources(parser.add_argument_group('losses and accuracies'))
    _add_training(parser)
    add_out(parser, 'the predictor, the report and the pictures')
    parser.add_argument(
        '--keep-collection',
        action='store_true',
        default=None,
        help='write OUT/collection too, the losses and accuracies in one '
        'folder, for --collection and for other verbs (default: no)')
    add_wide(parser)


def _add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('training')
    group.add_argument(
        '--split',
        choices=SPLITS,
        default=TABLE,
        help='how to split models: by the column of the table, or as in the '
        "paper's Table 2 (default table)")
    add_several(group, '--fit', 'SPLIT',
                'splits to fit to (default: all but test)', split_name, ())
    add_required(
        group, '--scoring-lm', 'PATH', 'any causal LM, such as one of the '
        'models; its hidden states are the features of tokens; a folder or a '
        'name on the hub')
    add_loading(group, 'scoring LM')
    group.add_argument(
        '--method',
        choices=('exact', 'paper'),
        default='exact',
        help='exact: the best feature columns by cross-validation; '
        'paper: Algorithm 2 by gradient steps (default exact)')
    group.add_argument(
        '--optimiser',
        choices=sorted(OPTIMISERS),
        help='optimiser of --method paper (default '
        f'{HeadSettings.optimiser})')
    add_option(
        group, '--learning-rate', 'RATE', 'step per gradient of --method '
        f'paper (default {HeadSettings.learning_rate:g})', float)
    add_option(
        group, '--steps', 'N', 'most gradient steps of --method paper '
        f'(default {HeadSettings.n_steps})', int)
    add_seed(group)


@into_folder
def run(args: argparse.Namespace) -> None:
    settings = _head_settings(args)
    check_sources(args)
    info = _model_infos(args)
    models = models_to_fit(args.fit, tuple(info), info)
    # They choose the step of Algorithm 2.
    validation = [
        model for model in models if info[model].split == 'validation'
    ]
    if settings:
        check_validation(validation, models)
    # They load torch and matplotlib, which takes seconds.
    from csv_plugin.extras.training_files import PREDICTOR, write_training
    from csv_plugin.lm.hidden_states import states_in_parts
    from csv_plugin.lm.loading import load_scoring_lm
    from csv_plugin.lm.tokens.tokenization import target_tokens

    # Mistakes come up before the losses are read and the scoring LM is run,
    # which takes long.
    model, tokenizer = load_scoring_lm(args.scoring_lm, args.tokenizer,
                                       args.trust_remote_code)
    collection = _collected(args, info)
    mixed = _warn(collection, models)
    targets = target_tokens(tokenizer, collection.texts)
    args.out.mkdir(parents=True, exist_ok=True)
    states = states_in_parts(model, tokenizer, collection.texts.texts,
                             partial(tqdm, desc='hidden states'))
    losses = targets.table({
        name: dump.texts
        for name, dump in collection.losses.items()
    })
    training = Training(
        losses.select(models), collection.texts, collection.accuracies,
        collection.families, targets, args.seed)
    trained = METHODS['paper' if settings else 'auto'](
        training, states, validation, settings,
        partial(tqdm, desc='steps') if settings else fit_bars())
    predictor = replace(
        trained.noted({name: collection.losses[name].info
                       for name in models}),
        scoring_lm=args.scoring_lm)
    said = write_training(args.out,
                          {'paper' if settings else 'salience': predictor}
                          | training.baselines(), losses, collection,
                          args.command, mixed, args.wide)
    print(said)
    print_end([args.out], 'salience', 'predict', 'outputs/losses',
              '--predictor', args.out / PREDICTOR)


def _warn(collection: Collection, models: Sequence[str]) -> list[str]:
    """Print what is there and warnings; notes on losses made differently."""
    print(*collection.coverage(models), sep='\n')
    mixed = mixed_engines({
        name: dump.info
        for name, dump in collection.losses.items()
    })
    for line in [
            *(f'{note}.' for note in mixed),
            *family_notes(collection.families.values()),
            *shortage_notes(collection.accuracies, collection.families, models)
    ]:
        print(f'warning: {one_line(line)}', flush=True)
    return mixed


def _head_settings(args: argparse.Namespace) -> Optional[HeadSettings]:
    """Settings of Algorithm 2; None for the exact method."""
    if args.method == 'exact':
        refuse(args, '--method exact', 'optimiser', 'learning_rate', 'steps')
        return None
    given = zip(('optimiser', 'learning_rate', 'n_steps'),
                (args.optimiser, args.learning_rate, args.steps))
    return HeadSettings(**{
        name: value
        for name, value in given if value is not None
    })


def _model_infos(args: argparse.Namespace) -> dict[str, ModelInfo]:
    if args.collection:
        info = read_models(args.collection / MODELS)
        return split_models(info, args.split)
    return named_models(args.models, args.split)


def _collected(args: argparse.Namespace,
               info: Mapping[str, ModelInfo]) -> Collection:
    if args.collection:
        refuse(args, '--collection', 'keep_collection')
        collection = read_collection(args.collection,
                                     partial(tqdm, desc='dumps'))
        return replace(collection, info=info)
    collection = collect_sources(args, info)
    if args.keep_collection:
        collection.write(args.out / 'collection')
    return collection
