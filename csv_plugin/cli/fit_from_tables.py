"""Predict benchmark accuracies from tables of losses and accuracies.

Example (tables as docs/formats.md describes them):

    salience fit --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --predict test --out outputs/study
"""
import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import tqdm

from csv_plugin.cli.arguments import (add_out, add_wide, check_splits,
                                      into_folder, print_end)
from csv_plugin.cli.table_arguments import (add_fit_and_predict, add_folds,
                                            add_tables, fit_bars, models_of)
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import one_line
from csv_plugin.core.formatting import counted
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.core.split_studies import leave_families_out, split_study
from csv_plugin.core.study import Study
from csv_plugin.io.files import file_set
from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.io.predictors import save_predictor
from csv_plugin.report.leaderboards import as_text, write_markdown
from csv_plugin.report.notes import family_notes, shortage_notes
from csv_plugin.report.screen import full_width
from csv_plugin.report.study_tables import (leaderboard, summary,
                                            write_predictions, write_report)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_fit_and_predict(parser)
    add_folds(parser)
    parser.add_argument(
        '--solver',
        choices=sorted(SOLVERS),
        default=DEFAULT_SOLVER,
        help='how salience weights are learned; averaged takes ridges of all '
        'penalties on losses and their logarithms, auto the best of uniform, '
        'ridge and nonnegative by cross-validation, plain is for few columns '
        f'(default {DEFAULT_SOLVER})')
    add_out(parser, 'the predictor and the tables')
    add_wide(parser)


@into_folder
def run(args: argparse.Namespace) -> None:
    if not args.leave_family_out:
        check_splits(args, 'Take it out of one, or use --leave-family-out.')
    tables = read_model_tables(args.losses, args.scores, args.models,
                               args.benchmarks)
    fit, predict = models_of(args, tables)
    tables = tables.select(tuple(dict.fromkeys(fit + predict)))
    fitted = tables.features.models if args.leave_family_out else fit
    run_on = tables.accuracies.select(fitted).benchmarks_run
    if not run_on:
        raise InputError(args.scores, 'a score of a model to fit to', 'none',
                         'Give scores, or name other splits.')
    _warn([
        *family_notes(tables.families[m] for m in tables.features.models),
        *shortage_notes(tables.accuracies, tables.families, fitted)
    ])
    tables = tables.select_benchmarks(run_on)
    title = _title(args, tables, fit, predict)
    study = _study(args, tables, fit)
    _warn(_unpredicted(study, args.scores))
    shown = tables.features.models if args.leave_family_out else predict
    predictor = _write(args, tables, study, title, shown)
    if study.predictions.select(shown).has_real():
        print(summary(study, title, args.wide))
    else:
        print(title, as_text(leaderboard(study, shown), full_width(args.wide)),
              sep='\n\n')  # yapf: disable
    print_end([args.out / 'leaderboard.md', args.out / 'report.md'],
              'salience', 'predict', '--losses', args.losses, '--predictor',
              predictor)


def _warn(lines: Sequence[str]) -> None:
    for line in lines:
        print(f'warning: {one_line(line)}', flush=True)


def _unpredicted(study: Study, scores: str) -> list[str]:
    """Warnings of what cannot be predicted from other families."""
    gaps = np.isnan(study.predictions.values[:, :, 0])
    if gaps[~np.isnan(study.predictions.real)].all():
        raise InputError(
            scores, 'a benchmark on which models of several families were run',
            'none', 'Give scores of other families, or name other splits.')
    return [
        f'{name}: {counted(n, "model")} not predicted, as none of those that '
        'were fitted to was run there.'
        for name, n in zip(study.predictions.benchmarks,
                           gaps.sum(axis=0).tolist()) if n
    ]


def _title(args: argparse.Namespace, tables: ModelTables, fit: Sequence[str],
           predict: Sequence[str]) -> str:
    if args.leave_family_out:
        return (f'{len(tables.features.models)} models, each predicted from '
                'other families')
    return f'{counted(len(predict), "model")} predicted from {len(fit)}'


def _study(args: argparse.Namespace, tables: ModelTables,
           fit: Sequence[str]) -> Study:
    solver = SOLVERS[args.solver]
    if args.leave_family_out:
        return leave_families_out(
            tables.features,
            tables.accuracies,
            tables.families,
            solver,
            args.seed,
            progress=partial(tqdm, desc='folds'))
    return split_study(tables.features, tables.accuracies, tables.families,
                       fit, solver, args.seed, fit_bars())


def _write(args: argparse.Namespace, tables: ModelTables, study: Study,
           title: str, shown: Sequence[str]) -> Path:
    """Write all files; the path of the predictor."""
    splits = {model: row.split for model, row in tables.info.items()}
    predictor: Path = args.out / 'predictor.safetensors'
    with file_set():
        write_predictions(args.out, study, splits)
        write_markdown(args.out / 'leaderboard.md', leaderboard(study, shown))
        write_report(args.out / 'report.md', study, title, args.command)
        save_predictor(study.predictor, predictor)
    return predictor
