"""Write a task of lm-evaluation-harness that scores the texts of a set.

    salience lm-eval-task --texts texts.jsonl --out tasks

Run it with any backend of the harness, --include_path and --log_samples;
`salience import` reads what it writes (docs/importing.md).
"""
import argparse

from csv_plugin.cli.arguments import add_out, add_texts, check_folder
from csv_plugin.extras.importers.lm_eval import write_lm_eval_task
from csv_plugin.io.text_sets import read_texts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_texts(parser)
    add_out(parser, 'the task, for --include_path of the harness')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    task = write_lm_eval_task(args.out, read_texts(args.texts))
    print(f'Written to {args.out}. Run the harness with\n'
          f'  --tasks {task} --include_path {args.out} --log_samples\n'
          'and with add_bos_token=False among --model_args.')
