"""Write a validation set, from this package or from OpenCompass datasets.

Write the 500 texts that come with the package, whose license is CC0 1.0:

    salience texts --out outputs/texts --shipped

Draw 550 texts by the recipe of the paper:

    salience texts --out outputs/texts

Draw texts of other benchmarks, named by source or by dataset config:

    salience texts --out outputs/texts \\
        --sample gsm8k=50 --sample ARC_c_ppl_a450bd=200

Or write a task for lm-evaluation-harness that scores existing texts
(docs/importing.md):

    salience texts --out tasks --lm-eval-task outputs/texts/texts.jsonl

Texts are drawn from the data of OpenCompass in $COMPASS_DATA_CACHE or
~/.cache/opencompass; nothing is downloaded.
"""
import argparse

from csv_plugin.cli.arguments import into_folder, print_end, refuse
from csv_plugin.cli.options import (add_flag, add_option, add_shared, bar,
                                    whole_number)
from csv_plugin.io.text_sets import (TEXTS, read_texts, shipped_texts,
                                     write_texts, write_validation_set)

#: A small model for the example command that is printed at the end.
MODEL = 'HuggingFaceTB/SmolLM2-135M'


def sample(text: str) -> tuple[str, int]:
    """Return name and count of the option `--sample NAME=COUNT`.

    >>> sample('gsm8k=50')
    ('gsm8k', 50)
    """
    name, _, count = text.rpartition('=')
    return name, whole_number(count, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, '--out')
    recipe = parser.add_mutually_exclusive_group()
    add_flag(recipe, '--shipped',
             'write the texts of this package (default: draw texts)')
    add_option(
        recipe, '--sample', 'NAME=COUNT', 'draw COUNT texts from a source or '
        'dataset config; may be given several times (default: the sources and '
        'counts of the paper)', sample, action='append')  # yapf: disable
    add_option(
        recipe, '--lm-eval-task', 'JSONL', 'write a task of '
        'lm-evaluation-harness that scores the texts of this file (default: '
        'draw texts)')
    add_option(parser, '--seed', 'N', 'seed of the draw of texts '
               '(default 0)', whole_number, 0)  # yapf: disable


@into_folder
def run(args: argparse.Namespace) -> None:
    if args.lm_eval_task:
        refuse(args, '--lm-eval-task', 'seed')
        _write_task(args)
        return
    if args.shipped:
        refuse(args, '--shipped', 'seed')
        texts = shipped_texts()
        write_texts(args.out / TEXTS, texts)
        print(f'{len(texts)} texts, CC0 1.0, fingerprint {texts.fingerprint}')
    else:
        _draw(args)
    print_end(args.out, 'salience', 'losses', MODEL, '--texts',
              args.out / TEXTS, '--out', 'outputs/losses')


def _write_task(args: argparse.Namespace) -> None:
    """Write a task of lm-evaluation-harness that scores existing texts."""
    from csv_plugin.extras.importers.lm_eval import write_lm_eval_task
    task = write_lm_eval_task(args.out, read_texts(args.lm_eval_task))
    print_end(args.out, 'lm_eval', '--model_args',
              f'pretrained={MODEL},add_bos_token=False', '--tasks', task,
              '--include_path', args.out, '--log_samples', '--output_path',
              'outputs/lm_eval')


def _draw(args: argparse.Namespace) -> None:
    """Draw texts from the datasets of OpenCompass, and write them."""
    # This import takes seconds, so it is not at the top of the file.
    print('Loading OpenCompass, for some seconds.', flush=True)
    from csv_plugin.extras.text_sampling.drawing import (PAPER_RECIPE,
                                                         build_validation_set,
                                                         recipe_of_samples)
    recipe = recipe_of_samples(args.sample) if args.sample else PAPER_RECIPE
    validation_set = build_validation_set(recipe, args.seed, bar('load'))
    write_validation_set(args.out, *validation_set)
    manifest = validation_set.manifest
    for source in manifest['sources']:
        print(f'{source["name"]}: {source["n_texts"]} texts')
        for reason, ids in source['passed_over'].items():
            print(f'{source["name"]}: {len(ids)} passed over: {reason}')
    print(f'{manifest["n_texts"]} texts, fingerprint '
          f'{manifest["fingerprint"]}')
