"""Write a validation set, from this package or from OpenCompass datasets.

The 500 texts that come with the package, which everybody may use:

    salience texts --out outputs/texts --shipped

The 550 texts of the paper:

    salience texts --out outputs/texts

Texts of other benchmarks, by source or by the name of a dataset config:

    salience texts --out outputs/texts \\
        --sample gsm8k=50 --sample ARC_c_ppl_a450bd=200

Or, for lm-evaluation-harness, the task that scores texts (docs/importing.md):

    salience texts --out tasks --lm-eval-task outputs/texts/texts.jsonl

OpenCompass looks for the data in $COMPASS_DATA_CACHE and in
~/.cache/opencompass; nothing is downloaded.
"""
import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_flag, add_option, add_out,
                                      into_folder, print_end)
from csv_plugin.core.conventions import InputError
from csv_plugin.io.text_sets import (MANIFEST, TEXTS, read_texts,
                                     shipped_texts, write_texts,
                                     write_validation_set)
from csv_plugin.report.screen import text_table

#: A small model in the next command that is printed.
MODEL = 'HuggingFaceTB/SmolLM2-135M'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_out(parser, 'texts.jsonl, and manifest.json of drawn texts; or the '
            'task')
    recipe = parser.add_mutually_exclusive_group()
    add_flag(recipe, '--shipped',
             'write the texts of this package (default: draw texts)')
    add_option(
        recipe, '--sample', 'NAME=COUNT', 'a source or dataset config, and '
        'how many texts; may be given several times (default: those of the '
        'paper)', action='append')  # yapf: disable
    add_option(
        recipe, '--lm-eval-task', 'JSONL', 'write a task of '
        'lm-evaluation-harness that scores the texts of this file (default: '
        'draw texts)')
    add_option(parser, '--seed', 'N', 'another seed draws other texts '
               '(default 0)', int, 0)  # yapf: disable
    add_flag(parser, '--skip-missing', 'go on without sources that cannot be '
             'loaded (default: stop)')  # yapf: disable


@into_folder
def run(args: argparse.Namespace) -> None:
    if args.shipped or args.lm_eval_task:
        for name in ('skip_missing', 'seed'):
            if getattr(args, name):
                option = f'--{name.replace("_", "-")}'
                raise InputError(option, 'texts to be drawn', 'none',
                                 f'Leave {option} out.')
    if args.shipped:
        ship(args)
    elif args.lm_eval_task:
        write_task(args)
    else:
        draw(args)


def ship(args: argparse.Namespace) -> None:
    """Write the texts that come with the package."""
    texts = shipped_texts()
    args.out.mkdir(parents=True, exist_ok=True)
    write_texts(args.out / TEXTS, texts)
    print(f'{len(texts)} texts, CC0 1.0, fingerprint {texts.fingerprint}')
    _print_end(args.out / TEXTS)


def write_task(args: argparse.Namespace) -> None:
    """Write a task of lm-evaluation-harness."""
    from csv_plugin.extras.importers.lm_eval import write_lm_eval_task
    task = write_lm_eval_task(args.out, read_texts(args.lm_eval_task))
    print_end([args.out], 'lm_eval', '--model_args',
              f'pretrained={MODEL},add_bos_token=False', '--tasks', task,
              '--include_path', args.out, '--log_samples', '--output_path',
              'outputs/lm_eval')


def draw(args: argparse.Namespace) -> None:
    """Draw texts from benchmarks, and write them."""
    # They load OpenCompass, which takes long and the options do without.
    from csv_plugin.extras.text_sampling.drawing import (PAPER_RECIPE,
                                                         build_validation_set,
                                                         recipe_of_samples)
    recipe = PAPER_RECIPE
    if args.sample:
        recipe = recipe_of_samples(args.sample)
    validation_set = build_validation_set(recipe, args.seed, args.skip_missing,
                                          partial(tqdm, desc='load'))
    write_validation_set(args.out, validation_set)
    print(describe(validation_set.manifest))
    _print_end(args.out / TEXTS, args.out / MANIFEST)


def _print_end(texts: Path, *others: Path) -> None:
    print_end([texts, *others], 'salience', 'losses', MODEL, '--texts', texts,
              '--out', 'outputs/losses')


def describe(manifest: Mapping[str, Any]) -> str:
    columns = ('name', 'dataset', 'n_texts', 'n_subtasks', 'licence')
    rows = [[str(source[column]) for column in columns]
            for source in manifest['sources']]
    lines = [text_table([columns, *rows]), '']
    for source in manifest['sources']:
        for reason, ids in source['passed_over'].items():
            lines.append(f'{source["name"]}: {len(ids)} passed over: {reason}')
    for name, reason in manifest['skipped'].items():
        lines.append(f'{name}: skipped: {reason}')
    lines.append(f'{manifest["n_texts"]} texts, fingerprint '
                 f'{manifest["fingerprint"]}')
    return '\n'.join(lines)
