"""Learn which tokens matter for which benchmark, and train a predictor.

    salience train --runs outputs/mine/2* \\
        --texts texts.jsonl --models models.csv --tasks mmlu gsm8k \\
        --out outputs/predictor

Losses and accuracies come from OpenCompass --runs; or from --dumps with a
table of --scores; or from a --collection. docs/training.md says more.
"""
import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from csv_plugin.cli.arguments import (into_folder, print_end, print_warnings,
                                      refuse)
from csv_plugin.cli.options import (LOADING, add_choice, add_flag, add_option,
                                    add_shared, bar)
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TextLosses
from csv_plugin.core.model_losses import mixed_engines
from csv_plugin.core.study import BASELINE, METHOD
from csv_plugin.io.collection import (MODELS, Collection, collect,
                                      read_collection)
from csv_plugin.io.files import file_set
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.paper import read_models_or_paper
from csv_plugin.io.tables import (ModelInfo, models_to_fit, read_benchmarks,
                                  split_name)
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.methods import (MEAN_LOSS, ONE_MODEL, PAPER,
                                   check_validation, fit, method_names,
                                   train_paper)
from csv_plugin.report.notes import family_notes, shortage_notes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_sources(parser.add_argument_group('losses and accuracies'))
    _add_training(parser.add_argument_group('training'))
    add_flag(parser, '--keep-collection',
             'write OUT/collection too, for --collection (default: no)')
    add_shared(parser, '--out', '--wide')


def _add_sources(group: Any) -> None:
    source = group.add_mutually_exclusive_group(required=True)
    add_option(
        source, '--runs', 'DIR', 'time-stamped folders of OpenCompass, the '
        'newest last, which counts where several have a result; this, '
        '--dumps or --collection is required', str, (), '+')
    add_option(
        source, '--dumps', 'FILE', 'token losses <model>.safetensors, or '
        'patterns of them, in place of runs; needs --scores', str, (), '+')
    add_option(
        source, '--collection', 'DIR', 'what salience train --keep-collection '
        'wrote, in place of runs; the next six options are refused beside it',
        Path)
    add_option(group, '--texts', 'FILE',
               'validation set of the losses (required with runs and dumps)')
    add_option(
        group, '--models', 'CSV', 'columns model, family and split; '
        "paper for the paper's Table 2 (required with runs and dumps)")
    add_option(
        group, '--benchmarks', 'CSV', 'columns benchmark, chance, n_items '
        '(this or --tasks is required)')
    add_option(group, '--tasks', 'NAME',
               'benchmarks as OpenCompass calls them, in place of a table',
               str, (), '+')
    add_shared(group, '--chance')
    add_option(
        group, '--scores', 'CSV|paper', 'table of accuracies, fractions in '
        '0..1; paper for those of the paper (default: those of the runs)')


def _add_training(group: Any) -> None:
    add_option(group, '--fit', 'SPLIT',
               'splits to fit to (default: all but test)', split_name, (), '+')
    add_option(
        group, '--scoring-lm', 'PATH', 'causal LM whose tokens get the '
        'weights, a folder or a name on the hub; required with --method paper '
        '(default: the tokens of the first model)')
    add_shared(group, *LOADING)
    add_choice(
        group, '--method',
        [name for name in method_names() if name != MEAN_LOSS],
        'one model of all accuracies, Algorithm 2, or a method of another '
        f'package (default {ONE_MODEL})', ONE_MODEL)
    add_option(
        group, '--learning-rate', 'RATE', 'step per gradient of --method '
        f'paper (default {HeadSettings.learning_rate:g})', float)
    add_option(
        group, '--steps', 'N', 'most gradient steps of --method paper '
        f'(default {HeadSettings.n_steps})', int)


@into_folder
def run(args: argparse.Namespace) -> None:
    settings = _head_settings(args)
    _check_sources(args)
    path = args.collection / MODELS if args.collection else args.models
    info = read_models_or_paper(path)
    models, validation = _choose_models(args.fit, info, settings)
    # Mistakes come up before the losses are read, which takes long.
    scoring_lm = _scoring_lm(args)
    collection = _collected(args, info)
    mixed = _warn(collection, models)
    losses = collection.losses
    families = collection.families
    fit_to = collection.accuracies.select(models)
    steps = None
    if settings:
        others = [model for model in collection.info if model not in models]
        trained, steps = train_paper(losses, collection.accuracies, families,
                                     scoring_lm, validation, others, settings,
                                     bar('steps'))
    else:
        trained = fit(losses, fit_to, families, args.method, scoring_lm)
    label = METHOD if args.method == ONE_MODEL else args.method
    predictors = {
        label: trained,
        BASELINE: fit(losses, fit_to, families, MEAN_LOSS, scoring_lm)
    }
    # It loads matplotlib, which takes seconds.
    from csv_plugin.extras.training_files import PREDICTOR, write_training
    with file_set(args.out):
        if args.keep_collection:
            collection.write(args.out / 'collection')
        shown = write_training(args.out, predictors, collection, args.command,
                               mixed, args.wide, steps)
    print(shown)
    print_end(args.out, 'salience', 'predict', 'outputs/losses', '--predictor',
              args.out / PREDICTOR)


def _scoring_lm(args: argparse.Namespace) -> Optional[tuple[Any, Any]]:
    """Load the scoring LM and its tokenizer, if one is given."""
    if args.scoring_lm is None:
        refuse(args, 'no --scoring-lm', 'tokenizer', 'trust_remote_code')
        if args.method == PAPER:
            raise InputError('--method paper', '--scoring-lm beside it',
                             'none', 'Name a scoring LM.')
        return None
    # It loads torch, which takes seconds.
    from csv_plugin.lm.loading import load_scoring_lm
    return load_scoring_lm(args.scoring_lm, args.tokenizer,
                           args.trust_remote_code)


def _choose_models(
        splits: Sequence[str], info: Mapping[str, ModelInfo],
        settings: Optional[HeadSettings]) -> tuple[Sequence[str], list[str]]:
    """Return training models, and models that choose the step."""
    models = models_to_fit(splits, tuple(info), info)
    validation = []
    for model in models:
        if info[model].split == 'validation':
            validation.append(model)
    if settings:
        check_validation(validation, models)
    return models, validation


def _head_settings(args: argparse.Namespace) -> Optional[HeadSettings]:
    """Settings of Algorithm 2; None for another method."""
    if args.method != PAPER:
        refuse(args, f'--method {args.method}', 'learning_rate', 'steps')
        return None
    settings = HeadSettings()
    if args.learning_rate is not None:
        settings = replace(settings, learning_rate=args.learning_rate)
    if args.steps is not None:
        settings = replace(settings, n_steps=args.steps)
    return settings


def _check_sources(args: argparse.Namespace) -> None:
    """Refuse options of sources that do not go together."""
    if args.collection:
        refuse(args, '--collection', 'texts', 'models', 'scores', 'benchmarks',
               'tasks', 'chance', 'keep_collection')
        return
    if args.benchmarks:
        refuse(args, '--benchmarks', 'tasks', 'chance')
    if not (args.texts and args.models and (args.benchmarks or args.tasks)):
        raise InputError(
            'runs and --dumps',
            '--texts, --models and --benchmarks or --tasks beside them',
            'fewer', 'Name the texts, the models and the benchmarks.')


def _collected(args: argparse.Namespace,
               info: Mapping[str, ModelInfo]) -> Collection:
    """Read the losses and accuracies of the source."""
    if args.collection:
        return read_collection(args.collection, bar('dumps'))
    if args.benchmarks:
        benchmarks = read_benchmarks(args.benchmarks)
    else:
        benchmarks = benchmark_infos(args.tasks, dict(args.chance))
    return collect(
        read_texts(args.texts), info, benchmarks, args.runs, args.dumps,
        args.scores, bar('losses'))


def _warn(collection: Collection, models: Sequence[str]) -> list[str]:
    """Print what is there and warnings; notes on losses made differently."""
    print(*collection.coverage(models), sep='\n')
    infos = {}
    losses = {}
    for name, dump in collection.losses.items():
        infos[name] = dump.info
        losses[name] = TextLosses.of(dump.texts).losses
    mixed = mixed_engines(infos)
    families = collection.families
    print_warnings([f'{note}.' for note in mixed])
    print_warnings(family_notes(families, losses))
    print_warnings(shortage_notes(collection.accuracies, families, models))
    return mixed
