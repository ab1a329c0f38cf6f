"""Train a predictor of accuracies on tables of losses, or on token losses.

From tables, as docs/formats.md describes them; the models of other splits are
predicted, and beside observed accuracies the errors are shown:

    salience fit --losses losses.csv --scores scores.csv \\
        --models models.csv --benchmarks benchmarks.csv \\
        --predict test --out outputs/study

From token losses, of OpenCompass --runs, of --dumps with a table of --scores,
or of a --collection. This learns which tokens matter for which benchmark;
docs/training.md says more:

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

#: Options that only token losses have.
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
        source, '--losses', 'FILE', 'column model, and one of losses per text '
        'or item: .csv, .parquet, or .safetensors beside units.txt; this, '
        '--runs, --dumps or --collection is required')
    add_option(
        source, '--runs', 'DIR', 'token losses and accuracies of time-stamped '
        'folders of OpenCompass, the newest last, which counts where several '
        'have a result, in place of a table', str, (), '+')
    add_option(
        source, '--dumps', 'FILE', 'token losses <model>.safetensors, or '
        'patterns of them, in place of a table; needs --scores', str, (), '+')
    add_option(
        source, '--collection', 'DIR', 'what --keep-collection wrote, in '
        'place of a table; the other options of this group are refused beside '
        'it', Path)
    add_option(
        group, '--scores', 'CSV', 'column model, and one of accuracies per '
        'benchmark, fractions; empty where it was not run; with token losses '
        'paper for those of the paper (default: those of the runs)')
    add_option(
        group, '--models', 'CSV', 'columns model, family and split; with '
        "token losses paper for the paper's Table 2 (default: those of the "
        'collection)')
    add_option(
        group, '--benchmarks', 'CSV', 'columns benchmark, chance, n_items and '
        'perhaps main (0 for benchmarks that means leave out; default: those '
        'of --tasks or of the collection)')
    add_option(group, '--texts', 'FILE',
               'validation set of the runs or dumps (default: none)')
    add_option(
        group, '--tasks', 'NAME',
        'benchmarks as OpenCompass calls them, in place of a table, '
        'with runs or dumps (default: none)', str, (), '+')
    add_shared(group, '--chance')


def _add_judging(group: Any) -> None:
    add_shared(group, *SPLITS, '--leave-family-out')


def _add_training(group: Any) -> None:
    add_option(
        group, '--scoring-lm', 'PATH', 'causal LM whose tokens get the '
        'weights, a folder or a name on the hub; required with --method paper '
        '(default: the tokens of the first model)')
    add_shared(group, *LOADING)
    add_choice(
        group, '--method',
        [name for name in method_names() if name != MEAN_LOSS],
        'one model of all accuracies, Algorithm 2, or a method of another '
        f'package (default {SALIENCE})')
    add_option(
        group, '--learning-rate', 'RATE', 'step per gradient of --method '
        f'paper (default {HeadSettings.learning_rate:g})', float)
    add_option(
        group, '--steps', 'N', 'most gradient steps of --method paper '
        f'(default {HeadSettings.n_steps})', int)
    add_flag(group, '--keep-collection',
             'write OUT/collection too, for --collection (default: no)')


@into_folder
def run(args: argparse.Namespace) -> None:
    if args.losses:
        refuse(args, '--losses', *_OF_TOKENS)
        _check_tables(args)
        # Small systems: several threads would wait for each other.
        with threadpool_limits(limits=1, user_api='blas'):
            fit_from_tables(args)
        return
    if args.predict is not TEST or args.leave_family_out:
        raise InputError(
            'token losses', '--predict and --leave-family-out beside tables '
            'alone', 'one of them', 'Leave it out: all models of other splits '
            'are predicted, and a family at a time is left out.')
    # It loads what reads and checks dumps.
    from csv_plugin.cli.fit_from_dumps import fit_from_dumps
    fit_from_dumps(args)


def _check_tables(args: argparse.Namespace) -> None:
    """Refuse fewer tables than a fit to losses in a table needs."""
    names = '--scores', '--models', '--benchmarks'
    missing = [name for name in names if not getattr(args, name[2:])]
    if missing:
        raise InputError('--losses', f'{", ".join(names)} beside it',
                         f'no {", ".join(missing)}', 'Name all four tables.')
