"""Fit a predictor to tables of losses, for the verb `fit`."""
import argparse
from collections.abc import Sequence
from itertools import compress

import numpy as np

from csv_plugin.cli.arguments import print_end, print_warnings
from csv_plugin.cli.options import bar, benchmarks_run, check_splits, models_of
from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import counted
from csv_plugin.core.study import Study, leave_families_out, split_study
from csv_plugin.core.text_tables import wrapped
from csv_plugin.io.files import file_set
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.io.predictors import save_predictor
from csv_plugin.report.leaderboard_tables import write_markdown
from csv_plugin.report.notes import (chance_notes, copy_notes, family_notes,
                                     shortage_notes, twin_notes)
from csv_plugin.report.screen import full_width
from csv_plugin.report.study_tables import (leaderboard, summary,
                                            write_predictions, write_report)


def fit_from_tables(args: argparse.Namespace) -> None:
    """Fit a predictor to tables, as the options of `fit` say.

    Predictions, a leaderboard, a report on the errors and the predictor are
    written to `--out`.
    """
    if not args.leave_family_out:
        check_splits(
            args, 'Take the split out of one of the options, or use '
            '--leave-family-out.')
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    fit, predict = models_of(args, tables)
    # A model that is in both tuples is selected once.
    models = dict.fromkeys(fit + predict)
    tables = tables.select(tuple(models))
    if args.leave_family_out:
        fit = predict = _scored(tables)
        tables = tables.select(fit)
    run_on = benchmarks_run(args, tables.accuracies.select(fit))
    losses = dict(zip(tables.features.models, tables.features.values))
    fitted = {model: losses[model] for model in fit}
    cautions = [
        *family_notes(tables.families, losses, fit),
        *twin_notes(tables.families, losses, fit),
        *copy_notes(fitted, losses),
        *shortage_notes(tables.accuracies, tables.families, fit),
        *chance_notes(tables.accuracies, fit),
    ]
    print_warnings(cautions)
    tables = tables.select(tables.features.models, run_on)
    title, study = _study(args, tables, fit, predict)
    print_warnings(_unpredicted(study, args.scores))
    predictor = args.out / 'predictor.safetensors'
    fitted_to = _fitted_to(args, len(fit))
    with file_set(args.out):
        write_predictions(args.out, study, tables.info)
        write_markdown(args.out / 'leaderboard.md',
                       leaderboard(study, predict))
        write_report(args.out / 'report.md', study, predict, title,
                     args.command, [*fitted_to, *cautions])
        save_predictor(study.predictor, predictor)
    print(summary(study, predict, title, args.wide))
    if fitted_to:
        print(f'\n{wrapped(fitted_to, full_width(args.wide))}')
    print_end(args.out, 'salience', 'predict', '--losses', 'NEW.csv',
              '--predictor', predictor)


def _study(args: argparse.Namespace, tables: ModelTables, fit: Sequence[str],
           predict: Sequence[str]) -> tuple[str, Study]:
    """Return a title and the study: the predictor and its predictions.

    The models `predict` are predicted by a fit to the models `fit`. With
    `--leave-family-out`, each model is predicted from other families.
    """
    parts = tables.features, tables.accuracies, tables.families
    if args.leave_family_out:
        title = f'{len(fit)} models, each predicted from other families'
        return title, leave_families_out(*parts, bar('steps of the fit'))
    study = split_study(*parts, fit, bar('steps of the fit'))
    # Models of the splits of `--fit` that have no score are not fitted to.
    n_fitted = len(study.predictor.fit_models)
    title = f'{counted(len(predict), "model")} predicted from {n_fitted}'
    return title, study


def _fitted_to(args: argparse.Namespace, n_models: int) -> list[str]:
    """Return a line that the predictor is fitted to the splits of `--predict`.

    With `--leave-family-out`, the predictor that is saved is fitted to all
    `n_models` models. There is no line if nobody would expect otherwise.
    """
    others = [split for split in args.predict if split not in args.fit]
    if not (args.leave_family_out and others):
        return []
    noun = 'split' if len(others) == 1 else 'splits'
    return [
        f'The saved predictor is fitted to all {n_models} models, including '
        f'the {noun} {", ".join(others)}: salience predict marks all of these '
        'models with *.'
    ]


def _scored(tables: ModelTables) -> tuple[str, ...]:
    """Return the models with a score; warn of the models without any."""
    has_score = ~np.isnan(tables.accuracies.values).all(axis=1)
    found = tuple(compress(tables.accuracies.models, has_score))
    n_others = len(has_score) - len(found)
    if n_others:
        print_warnings([
            f'{counted(n_others, "model")} without scores left out, as '
            '--leave-family-out compares predictions with scores. Predict new '
            'models with `salience predict` or --predict.'
        ])
    return found


def _unpredicted(study: Study, scores: str) -> list[str]:
    """Return warnings of accuracies that could not be predicted.

    They are accuracies on benchmarks that only a single family was run on,
    with `--leave-family-out`. There is one warning for each such benchmark.
    """
    known = ~np.isnan(study.predictions.observed)
    gaps = known & np.isnan(study.predictions.values[:, :, 0])
    if known.any() and gaps[known].all():
        raise InputError(
            scores, 'a benchmark on which models of several families were run',
            'none',
            'Add accuracies of other families, or name other splits with '
            '--fit.')
    lines = []
    n_gaps = gaps.sum(axis=0).tolist()
    for name, n_models in zip(study.predictions.benchmarks, n_gaps):
        if n_models:
            lines.append(
                f'{name}: {counted(n_models, "model")} not predicted, because '
                'no model of another family was run on this benchmark.')
    return lines
