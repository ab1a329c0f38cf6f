"""Fit a predictor to token losses, for the verb `fit`."""
import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional

from csv_plugin.cli.arguments import print_end, print_warnings, refuse
from csv_plugin.cli.options import bar
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TextLosses
from csv_plugin.core.model_losses import mixed_engine_notes
from csv_plugin.core.study import MEAN_LOSS, SALIENCE
from csv_plugin.io.collection import (MODELS, Collection, collect,
                                      read_collection)
from csv_plugin.io.files import file_set
from csv_plugin.io.known_benchmarks import benchmark_infos
from csv_plugin.io.paper import read_models_or_paper
from csv_plugin.io.tables import ModelInfo, models_to_fit, read_benchmarks
from csv_plugin.io.text_sets import read_texts
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.methods import PAPER, check_validation, fit, train_paper
from csv_plugin.report.notes import (chance_notes, copy_notes, family_notes,
                                     shortage_notes, twin_notes)


def fit_from_dumps(args: argparse.Namespace) -> None:
    """Fit a predictor to token losses, as the options of `fit` say.

    The predictor, pictures and a report are written to `--out`. In the
    pictures and the report, a baseline that predicts from the mean loss is
    shown, too.
    """
    args.method = args.method or SALIENCE
    settings = _head_settings(args)
    _check_sources(args)
    path = args.collection / MODELS if args.collection else args.models
    info = read_models_or_paper(path)
    models, validation = _choose_models(args.fit, info, settings,
                                        f'{path} (--fit)')
    # The scoring LM is loaded first, so that errors in its options are found
    # before losses are read, which takes long.
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
        trained = fit(
            losses,
            fit_to,
            families,
            args.method,
            scoring_lm,
            progress=bar('steps of the fit'))
    predictors = {
        args.method: trained,
        MEAN_LOSS: fit(losses, fit_to, families, MEAN_LOSS, scoring_lm)
    }
    # This import loads matplotlib, which takes seconds.
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
    """Return the scoring LM and its tokenizer.

    The result is None if `--scoring-lm` is not given.
    """
    if args.scoring_lm is None:
        refuse(args, 'no --scoring-lm', 'tokenizer', 'trust_remote_code')
        if args.method == PAPER:
            raise InputError('--method paper', '--scoring-lm beside it',
                             'none', 'Name a scoring LM with --scoring-lm.')
        return None
    # This import loads torch, which takes seconds.
    from csv_plugin.lm.hub import check_reachable
    from csv_plugin.lm.loading import load_scoring_lm
    check_reachable('scoring LM', args.scoring_lm)
    return load_scoring_lm(args.scoring_lm, args.tokenizer,
                           args.trust_remote_code)


def _choose_models(splits: Sequence[str], info: Mapping[str, ModelInfo],
                   settings: Optional[HeadSettings],
                   where: str) -> tuple[Sequence[str], list[str]]:
    """Return the models to fit to, and the validation models among them.

    Algorithm 2 of the paper, for which `settings` is not None, needs
    validation models: it keeps the training step that is best on them.
    `where` is as in `tables.models_in`.
    """
    models = models_to_fit(splits, tuple(info), info, where=where)
    validation = []
    for model in models:
        if info[model].split == 'validation':
            validation.append(model)
    if settings:
        check_validation(validation, models)
    return models, validation


def _head_settings(args: argparse.Namespace) -> Optional[HeadSettings]:
    """Return the settings of the paper's Algorithm 2, None for other methods.
    """
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
    """Refuse options for losses and accuracies that do not go together."""
    if args.collection:
        refuse(args, '--collection', 'texts', 'models', 'scores', 'benchmarks',
               'tasks', 'chance', 'keep_collection')
        return
    if args.benchmarks:
        refuse(args, '--benchmarks', 'tasks', 'chance')
    if not (args.texts and args.models and (args.benchmarks or args.tasks)):
        raise InputError(
            '--runs or --dumps',
            '--texts, --models and --benchmarks or --tasks beside them',
            'not all of them',
            'Name the texts, the models and the benchmarks.')


def _collected(args: argparse.Namespace,
               info: Mapping[str, ModelInfo]) -> Collection:
    """Return the losses and accuracies that the options name."""
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
    """Print which losses and accuracies the collection has, and warnings.

    Return notes on losses that were measured in different ways for different
    models.
    """
    print(*collection.coverage(models), sep='\n')
    infos = {}
    losses = {}
    for name, dump in collection.losses.items():
        infos[name] = dump.info
        losses[name] = TextLosses.of(dump.texts).losses
    mixed = mixed_engine_notes(infos)
    fitted = {model: losses[model] for model in models if model in losses}
    families = collection.families
    print_warnings([f'{note}.' for note in mixed])
    print_warnings(family_notes(families, losses, models))
    print_warnings([*twin_notes(families, losses, models)])
    print_warnings(copy_notes(fitted, losses))
    print_warnings(shortage_notes(collection.accuracies, families, models))
    print_warnings(chance_notes(collection.accuracies, models))
    return mixed
