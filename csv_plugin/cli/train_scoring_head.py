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
from typing import TYPE_CHECKING, NamedTuple, Optional

from tqdm import tqdm

from csv_plugin.cli.arguments import add_out, add_verbose, check_folder, refuse
from csv_plugin.cli.fit_bars import fit_bars
from csv_plugin.cli.source_arguments import (add_sources, check_sources,
                                             collect_sources)
from csv_plugin.core.escaping import one_line
from csv_plugin.core.model_losses import mixed_engines
from csv_plugin.core.training import Training
from csv_plugin.io import model_splits
from csv_plugin.io.collection import MODELS, Collection, read_collection
from csv_plugin.io.tables import ModelInfo, read_models, split_name
from csv_plugin.lm.head.head_settings import OPTIMISERS, HeadSettings
from csv_plugin.lm.methods import METHODS, Trained, check_validation
from csv_plugin.report.notes import shortage_notes, shortages

if TYPE_CHECKING:
    from torch import Tensor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_sources(parser.add_argument_group('losses and accuracies'))
    _add_training(parser)
    add_out(parser, 'the predictor, the report and the pictures')
    parser.add_argument(
        '--keep-collection',
        action='store_true',
        default=None,
        help='write OUT/collection too, the losses and accuracies in\n'
        'one folder, for --collection and for other verbs\n'
        '(default: no)')
    add_verbose(parser)


def _add_training(parser: argparse.ArgumentParser) -> None:
    """Options that say how to train."""
    add = parser.add_argument_group('training').add_argument
    add('--split',
        choices=model_splits.SPLITS,
        default=model_splits.TABLE,
        help='how to split models: by the column of the table, by\n'
        "size within families, or as in the paper's Table 2\n"
        '(default table)')
    add('--fit',
        nargs='+',
        type=split_name,
        default=(),
        metavar='SPLIT',
        help='splits to fit to (default: all but test)')
    add('--scoring-lm',
        required=True,
        metavar='PATH',
        help='causal LM whose hidden states tell tokens apart, a\n'
        'folder or a name on the hub (required)')
    add('--tokenizer',
        metavar='PATH',
        help='its tokenizer (default: that in the folder of the LM)')
    add('--trust-remote-code',
        action='store_true',
        help='run code that comes with the scoring LM (default: no)')
    add('--method',
        choices=('exact', 'paper'),
        default='exact',
        help='exact: the best feature columns by cross-validation;\n'
        'paper: Algorithm 2 by gradient steps (default exact)')
    add('--optimiser',
        choices=sorted(OPTIMISERS),
        help='optimiser of --method paper (default '
        f'{HeadSettings.optimiser})')
    add('--learning-rate',
        type=float,
        metavar='RATE',
        help='step per gradient of --method paper (default '
        f'{HeadSettings.learning_rate:g})')
    add('--steps',
        type=int,
        metavar='N',
        help='most gradient steps of --method paper (default '
        f'{HeadSettings.n_steps})')
    add('--seed',
        type=int,
        default=0,
        metavar='N',
        help='seed of the cross-validation folds (default 0)')


class _Method(NamedTuple):
    """What is fitted, and how.

    Args:
        models (Sequence[str]): Models to fit to.
        validation (Sequence[str]): Those of them that choose the step of
            Algorithm 2.
        settings (Optional[HeadSettings]): Of Algorithm 2; None for the
            exact method.
    """
    models: Sequence[str]
    validation: Sequence[str]
    settings: Optional[HeadSettings]

    @property
    def name(self) -> str:
        return 'paper' if self.settings else 'salience'

    def train(self, training: Training, states: 'Tensor') -> Trained:
        return METHODS['paper' if self.settings else 'auto'](
            training, states, self.validation, self.settings,
            partial(tqdm, desc='steps') if self.settings else fit_bars())


def run(args: argparse.Namespace) -> None:
    # They load torch and matplotlib, which takes seconds and the options do
    # without.
    from csv_plugin.extras.training_files import write_training
    from csv_plugin.lm.scoring_lm import load_scoring_lm, target_tokens
    from csv_plugin.lm.states.kept_states import kept_states
    check_folder(args.out)
    settings = head_settings(args)
    check_sources(args)
    info = model_infos(args)
    method = chosen_method(args, info, settings)
    # Whatever may be wrong is told before the losses are read, and before the
    # scoring LM is run, which takes long.
    model, tokenizer = load_scoring_lm(args.scoring_lm, args.tokenizer,
                                       args.trust_remote_code)
    collection = collected(args, info)
    mixed, few = warn(collection, method.models)
    targets = target_tokens(tokenizer, collection.texts)
    args.out.mkdir(parents=True, exist_ok=True)
    states = kept_states(args.out / 'states.safetensors', model, tokenizer,
                         collection.texts, partial(tqdm, desc='hidden states'))
    losses = targets.table({
        name: dump.texts
        for name, dump in collection.losses.items()
    })
    training = Training(
        losses.select(method.models), collection.texts, collection.accuracies,
        collection.families, targets, args.seed)
    trained = method.train(training, states)
    predictor = replace(
        trained.predictor.noted(
            {name: collection.losses[name].info
             for name in method.models}),
        scoring_lm=args.scoring_lm)
    said = write_training(args.out,
                          {method.name: predictor} | training.baselines(),
                          losses, collection, trained.curve, args.command,
                          mixed, args.verbose, few)
    print(f'{said}\n\nWritten to {args.out}.')


def chosen_method(args: argparse.Namespace, info: Mapping[str, ModelInfo],
                  settings: Optional[HeadSettings]) -> _Method:
    """The models that the options name, and how to fit to them."""
    models = model_splits.models_to_fit(args.fit, tuple(info), info)
    validation = [
        model for model in models if info[model].split == 'validation'
    ]
    if settings:
        check_validation(validation, models)
    return _Method(models, validation, settings)


def warn(collection: Collection,
         models: Sequence[str]) -> tuple[list[str], list[str]]:
    """Print what is there, and what may harm.

    Args:
        collection (Collection): Losses and accuracies.
        models (Sequence[str]): Models to fit to.

    Returns:
        tuple[list[str], list[str]]: As `mixed_engines` says; benchmarks with
        too few models to fit to.
    """
    print(*collection.coverage(models), sep='\n')
    mixed = mixed_engines({
        name: dump.info
        for name, dump in collection.losses.items()
    })
    few = shortages(collection.accuracies, collection.families, models)
    for line in [
            *(f'{note}.' for note in mixed),
            *shortage_notes(few, collection.accuracies.benchmarks)
    ]:
        print(f'warning: {one_line(line)}', flush=True)
    return mixed, list(few)


def head_settings(args: argparse.Namespace) -> Optional[HeadSettings]:
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


def model_infos(args: argparse.Namespace) -> dict[str, ModelInfo]:
    """Families and splits of the models that the options name."""
    if args.collection:
        info = read_models(args.collection / MODELS)
        return model_splits.split_models(info, args.split)
    return model_splits.named_models(args.models, args.split)


def collected(args: argparse.Namespace,
              info: Mapping[str, ModelInfo]) -> Collection:
    """Losses and accuracies of these models from what the options name."""
    if args.collection:
        refuse(args, '--collection', 'keep_collection')
        collection = read_collection(args.collection,
                                     partial(tqdm, desc='dumps'))
        return replace(collection, info=info)
    collection, benchmarks = collect_sources(args, info)
    if args.keep_collection:
        collection.write(args.out / 'collection', benchmarks)
    return collection
