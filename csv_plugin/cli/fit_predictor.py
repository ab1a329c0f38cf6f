"""Train a predictor of accuracies on tables of losses, or on token losses.

Train on tables, which docs/formats.md describes. The models in the splits of
--predict are predicted, and if their accuracies are known, errors are shown:

    salience fit --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --predict test --out outputs/study

Or train on token losses, which come from runs of OpenCompass (--runs), from
files beside a table of accuracies (--dumps and --scores), or from an earlier
call (--collection). The predictor then learns which tokens matter for which
benchmark; docs/training.md says more:

    salience fit --runs outputs/mine/2* \\
        --texts texts.jsonl --models models.csv --tasks mmlu gsm8k \\
        --out outputs/predictor
"""
import argparse
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from csv_plugin.cli.arguments import into_folder, refuse
from csv_plugin.cli.fit_from_tables import fit_from_tables
from csv_plugin.cli.options import (LOADING, SPLITS, TEST, add_choice,
                                    add_flag, add_option, add_shared)
from csv_plugin.core.conventions import InputError
from csv_plugin.core.study import MEAN_LOSS, SALIENCE
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.methods import method_names

#: Options that are refused with tables of losses.
_OF_TOKENS = ('texts', 'tasks', 'chance', 'scoring_lm', 'tokenizer',
              'trust_remote_code', 'method', 'learning_rate', 'steps',
              'keep_collection')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_sources(parser.add_argument_group('losses and accuracies'))
    _add_judging(parser.add_argument_group('models'))
    _add_training(parser.add_argument_group('training on token losses'))
    add_shared(parser, '--out', '--wide')


def _add_sources(group: Any) -> None:
    source = group.add_mutually_exclusive_group(required=True)
    add_option(
        source, '--losses', 'FILE', 'table of losses with the column model, '
        'and one column of losses per text or item: .csv, .parquet, or '
        '.safetensors beside units.txt; one of --losses, --runs, --dumps and '
        '--collection is required')
    add_option(
        source, '--runs', 'DIR', 'time-stamped folders of OpenCompass with '
        'token losses and accuracies, in place of a table; if several have '
        'the same result, the last folder counts', str, (), '+')
    add_option(
        source, '--dumps', 'FILE', 'files <model>.safetensors with token '
        'losses, or patterns of such files, in place of a table; needs '
        '--scores', str, (), '+')
    add_option(
        source, '--collection', 'DIR', 'folder that --keep-collection wrote, '
        'in place of a table; the other options of this group are refused '
        'beside it', Path)
    add_option(
        group, '--scores', 'CSV', 'table of accuracies with the column model, '
        'and one column of fractions per benchmark, empty where it was not '
        "run; with token losses, the word paper stands for the paper's Tables "
        '3 and 4 (default: the accuracies of the runs)')
    add_option(
        group, '--models', 'CSV', 'table of models with the columns model, '
        'family and split; with token losses, the word paper stands for the '
        "paper's Table 2 (default: the models of the collection)")
    add_option(
        group, '--benchmarks', 'CSV', 'table of benchmarks with the columns '
        'benchmark, chance, n_items and perhaps main, which is 0 for '
        'benchmarks to leave out of means (default: the benchmarks of --tasks '
        'or of the collection)')
    add_option(group, '--texts', 'FILE',
               'validation set of the runs or dumps (default: none)')
    add_option(
        group, '--tasks', 'NAME',
        'names of benchmarks in OpenCompass, in place of --benchmarks, '
        'with runs or dumps (default: none)', str, (), '+')
    add_shared(group, '--chance')


def _add_judging(group: Any) -> None:
    add_shared(group, *SPLITS, '--leave-family-out')


def _add_training(group: Any) -> None:
    add_option(
        group, '--scoring-lm', 'PATH', 'causal LM whose tokens the predictor '
        'weights, a folder or a name on the hub; required with --method paper '
        '(default: the tokens of the first model)')
    add_shared(group, *LOADING)
    add_choice(
        group, '--method',
        [name for name in method_names() if name != MEAN_LOSS],
        f"{SALIENCE}: one model of all accuracies; paper: the paper's "
        f'Algorithm 2; other packages may add methods (default {SALIENCE})')
    add_option(
        group, '--learning-rate', 'RATE', 'learning rate of --method paper '
        f'(default {HeadSettings.learning_rate:g})', float)
    add_option(
        group, '--steps', 'N', 'largest number of gradient steps of --method '
        f'paper (default {HeadSettings.n_steps})', int)
    add_flag(
        group, '--keep-collection', 'also write losses, accuracies and texts '
        'to OUT/collection, for later calls with --collection (default: no)')


@into_folder
def run(args: argparse.Namespace) -> None:
    if args.losses:
        refuse(args, '--losses', *_OF_TOKENS)
        _check_tables(args)
        # The systems of equations are so small that one thread is fastest:
        # several threads would mostly wait for each other.
        with threadpool_limits(limits=1, user_api='blas'):
            fit_from_tables(args)
        return
    if args.predict is not TEST or args.leave_family_out:
        raise InputError(
            'token losses', 'neither --predict nor --leave-family-out, which '
            'are for tables of losses', 'one of them',
            'Leave the option out. With token losses, every family is left '
            'out once, and all models outside the splits of --fit are '
            'predicted.')
    # This import takes time, because it loads the modules that read dumps.
    from csv_plugin.cli.fit_from_dumps import fit_from_dumps
    fit_from_dumps(args)


def _check_tables(args: argparse.Namespace) -> None:
    """Raise an `InputError` unless all tables beside `--losses` are given."""
    names = '--scores', '--models', '--benchmarks'
    missing = [name for name in names if not getattr(args, name[2:])]
    if missing:
        raise InputError('--losses', f'{", ".join(names)} beside it',
                         f'no {", ".join(missing)}', 'Name all four tables.')
